/* SPDX-License-Identifier: Apache-2.0
 * The format table, decoding and encoding, against constants of the specifications. */
#include <math.h>

#include "mx.h"
#include "suite.h"

/* Name, largest value, smallest positive value, exponent of the smallest normal. */
static const struct {
    const char *name;
    double max, tiny;
    int emin;
} limits[] = {
    {"e4m3", 448, 0x1p-9, -6},
    {"e5m2", 57344, 0x1p-16, -14},
    {"e3m2", 28, 0x1p-4, -2},
    {"e2m3", 7.5, 0x1p-3, 0},
    {"e2m1", 6, 0.5, 0},
    {"int8", 127.0 / 64, 0x1p-6, -6},
    {"e8m0", 0x1p127, 0x1p-127, -127},
    {"ue4m3", 448, 0x1p-9, -6},
    {"e4m3fnuz", 240, 0x1p-10, -7},
    {"e5m2fnuz", 57344, 0x1p-17, -15},
    {"f16", 65504, 0x1p-24, -14},
    {"bf16", 0x1.FEp127, 0x1p-133, -126},
    {"tf32", 0x1.FFCp127, 0x1p-136, -126},
    {"f32", 0x1.FFFFFEp127, 0x1p-149, -126},
};

START_TEST(limits_follow_the_specifications)
{
    ck_assert_uint_eq(sizeof limits / sizeof *limits, mx_format_count());
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const mx_format *f = mx_format_find(limits[i].name);
        ck_assert_msg(f, "%s", limits[i].name);
        ck_assert_msg(mx_format_max(f) == limits[i].max, "%s max %g", f->name, mx_format_max(f));
        ck_assert_msg(mx_format_tiny(f) == limits[i].tiny, "%s tiny %g", f->name, mx_format_tiny(f));
        ck_assert_msg(mx_format_emin(f) == limits[i].emin, "%s emin %d", f->name, mx_format_emin(f));
    }
}
END_TEST

START_TEST(every_finite_code_round_trips)
{
    for (size_t i = 0; i < mx_format_count(); i++) {
        const mx_format *f = mx_format_at(i);
        uint64_t step = f->bits > 24 ? 65521 : 1; /* f32: a prime stride; the others whole */
        for (int mode = MX_RNE; mode < MX_STOCHASTIC; mode++) {
            mx_cast cast = MX_CAST_DEFAULT;
            cast.rounding = (mx_rounding)mode;
            for (uint64_t code = 0; code < (uint64_t)1 << f->bits; code += step) {
                double x = mx_decode(f, (uint32_t)code);
                if (!isfinite(x)) continue;
                uint32_t back = mx_encode(f, x, &cast, 0);
                if (f->kind == MX_KIND_FIXED && code == 0x80) {
                    ck_assert_uint_eq(back, 0x81); /* -2 is legal to read; writers stay symmetric */
                    continue;
                }
                ck_assert_msg(back == code, "%s %s code %x -> %g -> %x", f->name,
                              mx_rounding_name((mx_rounding)mode), (unsigned)code, x, back);
            }
        }
    }
}
END_TEST

Suite *test_formats(void)
{
    Suite *s = suite_create("formats");
    TCase *t = tcase_create("table");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, limits_follow_the_specifications);
    tcase_add_test(t, every_finite_code_round_trips);
    suite_add_tcase(s, t);
    return s;
}
