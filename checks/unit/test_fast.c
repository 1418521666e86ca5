/* SPDX-License-Identifier: Apache-2.0
 * The fast path's casts against mx_encode() and mx_decode(), for every instruction set of this CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fast_checks.h"
#include "suite.h"

/* One loop index for each instruction set; those that this CPU lacks are passed over. */
#define NEED_ISA(i)                                                                                          \
    if (!mx_fast_select(fast_isas[i]->name)) return

START_TEST(casts_of_every_16_bit_input)
{
    static const char *const sources[] = {"bf16", "f16"};
    for (int s = 0; s < 2; s++)
        for (int half = 0; half < 2; half++) { /* one sign after the other: magnitudes ascend */
            uint16_t x[32768];
            for (size_t i = 0; i < 32768; i++)
                x[i] = (uint16_t)(i | (size_t)half << 15);
            for (int f = 0; fast_elements[f]; f++)
                fast_check_cast(mx_format_find(fast_elements[f]), mx_format_find(sources[s]), x, 32768);
        }
}
END_TEST

static int by_magnitude(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a & 0x7FFFFFFF, y = *(const uint32_t *)b & 0x7FFFFFFF;
    return (x > y) - (x < y);
}

static uint32_t bits_of(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Every value of the format and every midpoint, two ulps to either side, in both signs; and the ends. */
static size_t boundaries(const mx_format *f, uint32_t *x)
{
    size_t n = 0;
    double top = 2 * mx_format_max(f);
    for (uint32_t code = 0; code <= f->max_code; code++) {
        double v = mx_decode(f, code), next = code < f->max_code ? mx_decode(f, code + 1) : top;
        double at[2] = {v, (v + next) / 2};
        for (int k = 0; k < 2; k++)
            for (int d = -2; d <= 2; d++) {
                uint32_t b = bits_of(at[k]) + (uint32_t)d;
                if (at[k] == 0 && d < 0) continue;
                x[n++] = b;
                x[n++] = b | 0x80000000;
            }
    }
    static const uint32_t ends[] = {0x7F800000, 0x7F7FFFFF, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x00800000,
                                    0x007FFFFF, 0x00000001, 0x43E80000, 0x43E80001, 0x5F7FFFFF, 0x5F800000};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        x[n++] = ends[i];
        x[n++] = ends[i] | 0x80000000;
    }
    qsort(x, n, sizeof *x, by_magnitude);
    return n;
}

START_TEST(casts_at_every_boundary)
{
    uint32_t x[128 * 20 + 24];
    for (int f = 0; fast_elements[f]; f++) {
        const mx_format *element = mx_format_find(fast_elements[f]);
        fast_check_cast(element, mx_format_find("f32"), x, boundaries(element, x));
    }
}
END_TEST

/* Bits worked out by hand from the OCP tables, so that fast and scalar code cannot be wrong together. */
START_TEST(casts_known_by_hand)
{
    NEED_ISA(_i);
    static const struct {
        const char *element;
        uint32_t bits, code;
    } known[] = {
        {"e4m3", 0x43E00000, 0x7E}, {"e4m3", 0x43E80000, 0x7E}, {"e4m3", 0xFF800000, 0xFE},
        {"e4m3", 0xFFC00000, 0x7F}, {"e4m3", 0x3A800000, 0x00}, {"e4m3", 0x3A800001, 0x01},
        {"e4m3", 0x80000000, 0x80}, {"e4m3", 0x3F880000, 0x38}, {"e4m3", 0x3F980000, 0x3A},
        {"e5m2", 0x47600000, 0x7B}, {"e5m2", 0x7F800000, 0x7B}, {"e5m2", 0x37000000, 0x00},
        {"e2m1", 0x40A00000, 0x06}, {"e2m1", 0x3E800000, 0x00}, {"e2m1", 0xBF400000, 0x0A},
        {"e2m1", 0x7FC00000, 0x07}, {"e2m3", 0x40F80000, 0x1F}, {"e3m2", 0xC1E00000, 0x3F},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const mx_format *f = mx_format_find(known[i].element);
        fast_encode e = {.source = FAST_F32, .op = FAST_PLAIN};
        uint8_t code;
        ck_assert(mx_fast_cast_for(f, mx_encode(f, (double)NAN, &MX_CAST_DEFAULT, 0), &e.cast));
        mx_fast_current()->encode(&e, &known[i].bits, 1, NULL, 1, &code);
        ck_assert_msg(code == known[i].code, "%s of %08x: %02x, not %02x", f->name, known[i].bits, code,
                      known[i].code);
    }
}
END_TEST

/* Every code under every e8m0 scale, to each output format. */
static void check_decode(const mx_format *element, const mx_format *to, unsigned scale)
{
    uint8_t codes[256];
    uint32_t words[256];
    float factor = scale == 255 ? NAN : (float)ldexp(1, (int)scale - 127);
    fast_decode d = {.to = mx_fast_source(to)};
    ck_assert(mx_fast_uncast_for(element, &d.cast));
    for (unsigned i = 0; i < 256; i++)
        codes[i] = (uint8_t)i;
    for (int exact = 0; exact <= (scale > 27 && scale < 227); exact++) {
        float own = exact ? factor * d.cast.rescale : factor;
        d.exact = exact;
        mx_fast_current()->decode(&d, codes, 256, &own, 256, words);
        for (unsigned i = 0; i < 256; i++) {
            double v = mx_decode(element, i) * (double)factor;
            mx_cast plain = MX_CAST_DEFAULT;
            plain.overflow = MX_OVERFLOW;
            uint32_t want = mx_encode(to, v, &plain, 0), got = fast_code_at(to, words, i);
            ck_assert_msg(got == want, "%s %s code %02x scale %02x -> %s: %x, scalar %x", mx_fast_isa(),
                          element->name, i, scale, to->name, got, want);
        }
    }
}

START_TEST(every_code_under_every_scale_decodes)
{
    NEED_ISA(_i);
    static const char *const outputs[] = {"f32", "bf16", "f16"};
    for (int f = 0; fast_elements[f]; f++)
        for (int o = 0; o < 3; o++)
            for (unsigned scale = 0; scale < 256; scale++)
                check_decode(mx_format_find(fast_elements[f]), mx_format_find(outputs[o]), scale);
}
END_TEST

/* Lengths around the vector and unit sizes, at odd addresses; guards on both sides stay untouched. */
START_TEST(tails_touch_nothing_else)
{
    NEED_ISA(_i);
    fast_encode e = {.source = FAST_BF16, .op = FAST_PLAIN};
    ck_assert(mx_fast_cast_for(mx_format_find("e4m3"), 0x7F, &e.cast));
    const uint16_t one = 0x3F80; /* its code is 38 */
    for (size_t n = 0; n < 200; n++) {
        char x[402];
        uint8_t out[202];
        memset(out, 0xEE, sizeof out);
        for (size_t i = 0; i < n; i++)
            memcpy(x + 1 + 2 * i, &one, 2);
        mx_fast_current()->encode(&e, x + 1, n, NULL, 1, out + 1);
        ck_assert_uint_eq(out[0], 0xEE);
        for (size_t i = 1; i <= n; i++)
            ck_assert_uint_eq(out[i], 0x38);
        ck_assert_uint_eq(out[n + 1], 0xEE);
    }
}
END_TEST

START_TEST(nibbles_pack_low_first)
{
    static const uint8_t codes[5] = {0x1, 0xF2, 0x3, 0x4, 0x5}, want[3] = {0x21, 0x43, 0x05};
    if (_i < 2) {
        NEED_ISA(_i);
    } else
        ck_assert(mx_fast_select("scalar"));
    uint8_t out[4] = {0, 0, 0, 0xEE};
    mx_fast_pack_nibbles(codes, 5, out);
    ck_assert(!memcmp(out, want, 3) && out[3] == 0xEE);
}
END_TEST

START_TEST(selection_is_checked)
{
    ck_assert(!mx_fast_select("mmx"));
    ck_assert(mx_fast_select("scalar"));
    ck_assert_str_eq(mx_fast_isa(), "scalar");
    ck_assert(!mx_fast_current());
    ck_assert(mx_fast_select(NULL));
}
END_TEST

Suite *test_fast(void)
{
    Suite *s = suite_create("fast");
    TCase *t = tcase_create("casts");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, casts_of_every_16_bit_input);
    tcase_add_test(t, casts_at_every_boundary);
    tcase_add_loop_test(t, casts_known_by_hand, 0, 2);
    tcase_add_loop_test(t, every_code_under_every_scale_decodes, 0, 2);
    tcase_add_loop_test(t, tails_touch_nothing_else, 0, 2);
    tcase_add_loop_test(t, nibbles_pack_low_first, 0, 3);
    tcase_add_test(t, selection_is_checked);
    suite_add_tcase(s, t);
    return s;
}
