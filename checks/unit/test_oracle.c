/* SPDX-License-Identifier: Apache-2.0
 * The first links of the chain of trust: the MPFR oracle checked against MPFR's own rounding, the scalar
 * code against the oracle at every boundary +-2 ulp of every format and rounding, and both against casts
 * recorded on hardware. slow_exhaustive.c goes through all 2^32 inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "recording.h"
#include "suite.h"

/* ---- points: the neighbourhood of a boundary, on the grid of a source format --------------------------- */

static const char *const sources[] = {"f32", "bf16", "f16", "f64"};
#define N_SOURCES (sizeof sources / sizeof *sources)
#define NEAR      2

/* The point `steps` source ulps from x >= 0; NaN where that leaves the non-negative finite numbers. */
static double step_from(const char *source, double x, int steps)
{
    if (!strcmp(source, "f64")) {
        for (int i = 0; i < abs(steps); i++)
            x = nextafter(x, steps < 0 ? -1 : (double)INFINITY);
        return x < 0 ? (double)NAN : x;
    }
    const mx_format *s = mx_format_find(source);
    mx_cast cut = MX_CAST_DEFAULT;
    cut.rounding = MX_RTZ;
    int64_t code = (int64_t)mx_encode(s, x, &cut, 0) + steps;
    return code < 0 || code > s->max_code ? (double)NAN : mx_decode(s, (uint32_t)code);
}

static const uint32_t draws[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x9E3779B9, 0x3C6EF372};
#define N_DRAWS (sizeof draws / sizeof *draws)

static uint64_t compared; /* in this process: one test */

static void compare(mx_oracle *o, const mx_format *f, const mx_cast *cast, double x)
{
    size_t n = cast->rounding == MX_STOCHASTIC ? N_DRAWS : 1;
    for (int negative = 0; negative < 2; negative++)
        for (size_t i = 0; i < n; i++, compared++) {
            double signed_x = negative ? -x : x;
            uint32_t want = mx_oracle_encode(o, cast, signed_x, draws[i]);
            uint32_t got = mx_encode(f, signed_x, cast, draws[i]);
            if (want != got)
                ck_abort_msg("%s %s overflow %d nan %d bits %d of %a, draw %x: scalar %x, oracle %x", f->name,
                             mx_rounding_name(cast->rounding), cast->overflow, cast->nan, cast->random_bits,
                             signed_x, draws[i], got, want);
        }
}

static void compare_near(mx_oracle *o, const mx_format *f, const mx_cast *cast, double x)
{
    for (size_t s = 0; s < N_SOURCES; s++)
        for (int k = -NEAR; k <= NEAR; k++) {
            double near = step_from(sources[s], x, k);
            if (!isnan(near)) compare(o, f, cast, near);
        }
}

/* Every code of up to 8 bits; of wider formats both ends of each binade and a few codes between. */
static uint32_t next_code(const mx_format *f, uint32_t code)
{
    uint32_t fraction = code & (((uint32_t)1 << f->man_bits) - 1), top = (uint32_t)1 << f->man_bits;
    if (f->bits <= 8) return code + 1;
    static const uint32_t corners = 3;
    if (fraction < corners || fraction >= top - corners) return code + 1;
    uint32_t jump = top / 5 + 1;
    return fraction + jump < top - corners ? code + jump : code - fraction + top - corners;
}

START_TEST(scalar_equals_oracle_at_every_boundary)
{
    const mx_format *f = mx_format_at((size_t)_i);
    mx_oracle *o = mx_oracle_new(f);
    ck_assert_uint_eq(mx_oracle_max_code(o), f->max_code);
    for (int rounding = MX_RNE; rounding <= MX_STOCHASTIC; rounding++) {
        mx_cast cast = MX_CAST_DEFAULT;
        cast.rounding = (mx_rounding)rounding;
        cast.random_bits = 8;
        for (uint32_t code = 0; code <= f->max_code + 1; code = next_code(f, code)) {
            compare_near(o, f, &cast, mx_oracle_magnitude(o, code));
            compare_near(o, f, &cast, mx_oracle_midpoint(o, code));
        }
    }
    mx_oracle_free(o);
    ck_assert_uint_gt(compared, 1000);
}
END_TEST

/* Every combination of the cast's other columns, where they matter: specials, zero, and both sides of the
 * largest value. */
START_TEST(scalar_equals_oracle_for_every_policy)
{
    static const uint8_t widths[] = {0, 1, 7, 8, 13, 16, 24, 31, 32};
    for (size_t i = 0; i < mx_format_count(); i++) {
        const mx_format *f = mx_format_at(i);
        mx_oracle *o = mx_oracle_new(f);
        double points[] = {0,
                           (double)INFINITY,
                           (double)NAN,
                           mx_oracle_magnitude(o, 0),
                           mx_oracle_midpoint(o, 0),
                           mx_oracle_midpoint(o, 1),
                           mx_oracle_magnitude(o, f->max_code),
                           mx_oracle_midpoint(o, f->max_code),
                           mx_oracle_magnitude(o, f->max_code + 1),
                           mx_oracle_midpoint(o, f->max_code + 1),
                           0x1p-149,
                           0x1p-1074,
                           0x1.fffffep127,
                           0x1.fffffffffffffp1023};
        for (int policy = 0; policy < 7 * 3 * 2 * 2 * 2; policy++) {
            int p = policy;
            mx_cast cast = MX_CAST_DEFAULT;
            cast.rounding = (mx_rounding)(p % 7), p /= 7;
            cast.overflow = (mx_overflow)(p % 3), p /= 3;
            cast.nan = (mx_nan_policy)(p % 2), p /= 2;
            cast.lose_neg_zero = p % 2, p /= 2;
            if (p % 2) cast.nan_code[0] = 0x3, cast.nan_code[1] = 0xB;
            for (size_t w = 0; w < (cast.rounding == MX_STOCHASTIC ? sizeof widths : 1); w++) {
                cast.random_bits = widths[w];
                for (size_t k = 0; k < sizeof points / sizeof *points; k++)
                    if (isfinite(points[k]))
                        compare_near(o, f, &cast, points[k]);
                    else
                        compare(o, f, &cast, points[k]);
            }
        }
        mx_oracle_free(o);
    }
    ck_assert_uint_gt(compared, 100000);
}
END_TEST

/* Whole domains: all 2^16 bf16 and f16 inputs, NaN and Inf among them. */
START_TEST(scalar_equals_oracle_on_every_16_bit_input)
{
    const mx_format *f = mx_format_at((size_t)_i);
    mx_oracle *o = mx_oracle_new(f);
    static const char *const inputs[] = {"bf16", "f16"};
    for (int rounding = MX_RNE; rounding <= MX_STOCHASTIC; rounding++)
        for (int overflow = MX_SATURATE; overflow <= MX_OVERFLOW; overflow++)
            for (size_t s = 0; s < 2; s++) {
                mx_cast cast = MX_CAST_DEFAULT;
                cast.rounding = (mx_rounding)rounding;
                cast.overflow = (mx_overflow)overflow;
                cast.nan = overflow == MX_OVERFLOW ? MX_NAN_SIGNED : MX_NAN_CANONICAL;
                cast.random_bits = 8;
                for (uint32_t bits = 0; bits < 65536; bits++) {
                    double x = mx_decode(mx_format_find(inputs[s]), bits);
                    uint32_t draw = bits * 2654435761u >> 16;
                    uint32_t got = mx_encode(f, x, &cast, draw), want = mx_oracle_encode(o, &cast, x, draw);
                    if (got != want)
                        ck_abort_msg("%s %s overflow %d of %s %04x: scalar %x, oracle %x", f->name,
                                     mx_rounding_name(cast.rounding), overflow, inputs[s], bits, got, want);
                }
            }
    mx_oracle_free(o);
}
END_TEST

START_TEST(every_code_decodes_alike)
{
    for (size_t i = 0; i < mx_format_count(); i++) {
        const mx_format *f = mx_format_at(i);
        mx_oracle *o = mx_oracle_new(f);
        for (uint64_t code = 0; code >> f->bits == 0; code += f->bits > 24 ? 4093 : 1) {
            double want = mx_oracle_decode(o, (uint32_t)code), got = mx_decode(f, (uint32_t)code);
            bool same = isnan(want) ? isnan(got) : want == got;
            if (!same || signbit(want) != signbit(got))
                ck_abort_msg("%s code %x: %a, oracle %a", f->name, (unsigned)code, got, want);
            if (mx_code_is_nan(f, (uint32_t)code) != !!isnan(want) ||
                mx_code_is_inf(f, (uint32_t)code) != !!isinf(want))
                ck_abort_msg("%s code %x: class", f->name, (unsigned)code);
        }
        mx_oracle_free(o);
    }
}
END_TEST

/* The oracle's choice between neighbours against MPFR's own correctly rounded conversion. */
START_TEST(oracle_equals_mpfrs_own_rounding)
{
    static const mx_rounding roundings[] = {MX_RNE, MX_RTZ, MX_RUP, MX_RDN};
    for (size_t i = 0; i < mx_format_count(); i++) {
        const mx_format *f = mx_format_at(i);
        if (f->kind != MX_KIND_FLOAT || !f->is_signed) continue;
        mx_oracle *o = mx_oracle_new(f);
        for (size_t m = 0; m < 4; m++) {
            mx_cast cast = MX_CAST_DEFAULT;
            cast.rounding = roundings[m];
            for (uint32_t code = 0; code <= f->max_code; code = next_code(f, code))
                for (int k = -6; k <= 6; k++)
                    for (int sign = -1; sign <= 1; sign += 2) {
                        double x = k <= 0 ? mx_oracle_magnitude(o, code) : mx_oracle_midpoint(o, code);
                        x = step_from(k % 2 ? "f64" : "f32", x, k / 2);
                        double native = mx_oracle_native(o, roundings[m], sign * x);
                        if (isnan(x) || fabs(native) > mx_oracle_magnitude(o, f->max_code)) continue;
                        double chosen = mx_oracle_decode(o, mx_oracle_encode(o, &cast, sign * x, 0));
                        compared++;
                        if (chosen != native)
                            ck_abort_msg("%s %s of %a: oracle %a, MPFR %a", f->name,
                                         mx_rounding_name(roundings[m]), sign * x, chosen, native);
                    }
        }
        mx_oracle_free(o);
    }
    ck_assert_uint_gt(compared, 100000);
}
END_TEST

START_TEST(scalar_and_oracle_equal_recorded_hardware_at_every_step)
{
    char path[16][256];
    int n = recording_paths(path, 16);
    static recording r;
    ck_assert_int_ge(n, 6);
    for (int i = 0; i < n; i++) {
        recording_read(path[i], &r);
        mx_oracle *o = mx_oracle_new(r.format);
        for (int s = 0; s < r.n_steps; s++)
            for (int k = -NEAR; k <= NEAR; k++) {
                uint32_t pattern = r.first[s] + (uint32_t)k; /* before 0 comes the last NaN: also right */
                uint32_t seen = recording_code(&r, pattern, NULL);
                uint32_t scalar = mx_encode(r.format, value_of_f32(pattern), &r.cast, 0);
                uint32_t oracle = mx_oracle_encode(o, &r.cast, value_of_f32(pattern), 0);
                if (scalar != seen || oracle != seen)
                    ck_abort_msg("%s: %08x -> seen %x, scalar %x, oracle %x", path[i], pattern, seen, scalar,
                                 oracle);
            }
        mx_oracle_free(o);
    }
}
END_TEST

Suite *test_oracle(void)
{
    Suite *s = suite_create("oracle");
    TCase *t = tcase_create("chain of trust");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, scalar_equals_oracle_at_every_boundary, 0, (int)mx_format_count());
    tcase_add_test(t, scalar_equals_oracle_for_every_policy);
    tcase_add_loop_test(t, scalar_equals_oracle_on_every_16_bit_input, 0, (int)mx_format_count());
    tcase_add_test(t, every_code_decodes_alike);
    tcase_add_test(t, oracle_equals_mpfrs_own_rounding);
    tcase_add_test(t, scalar_and_oracle_equal_recorded_hardware_at_every_step);
    suite_add_tcase(s, t);
    return s;
}
