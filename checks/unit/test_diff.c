/* SPDX-License-Identifier: Apache-2.0
 * Comparing by class first: one row per pair of classes, distances counted by hand. */
#include <string.h>

#include "diff.h"
#include "suite.h"

#define NO MX_DIFF_NO_DISTANCE

static const struct {
    const char *dtype;
    uint64_t got, want;
    bool pin;
    mx_diff_kind kind;
    uint64_t ulps;
} pairs[] = {
    {"e4m3", 0x38, 0x38, false, MX_DIFF_NONE, 0},
    {"e4m3", 0x38, 0x39, false, MX_DIFF_VALUE, 1},
    {"e4m3", 0x00, 0x80, false, MX_DIFF_ZERO_SIGN, 0},
    {"e4m3", 0x01, 0x81, false, MX_DIFF_SIGN, 2},
    {"e4m3", 0x7F, 0xFF, false, MX_DIFF_NONE, 0},
    {"e4m3", 0x7F, 0xFF, true, MX_DIFF_NAN, NO},
    {"e4m3", 0x7F, 0x7E, false, MX_DIFF_NAN, NO},
    {"e4m3", 0x00, 0x7F, false, MX_DIFF_NAN, NO},
    {"e4m3fnuz", 0x80, 0x00, false, MX_DIFF_NAN, NO}, /* the code of -0 is NaN there */
    {"e4m3fnuz", 0x80, 0x80, true, MX_DIFF_NONE, 0},
    {"e5m2", 0x7C, 0x7B, false, MX_DIFF_INF, NO},
    {"e5m2", 0x7C, 0xFC, false, MX_DIFF_INF, NO},
    {"e5m2", 0x7C, 0x7D, false, MX_DIFF_NAN, NO},
    {"e2m1", 0x0, 0x8, false, MX_DIFF_ZERO_SIGN, 0},
    {"e2m1", 0x7, 0x17, false, MX_DIFF_PAD_BITS, 0},
    {"e2m1", 0x7, 0xF, false, MX_DIFF_SIGN, 14},
    {"e8m0", 0x7F, 0x80, false, MX_DIFF_VALUE, 1},
    {"e8m0", 0x00, 0xFE, false, MX_DIFF_VALUE, 254}, /* no sign: bit 7 is part of the exponent */
    {"e8m0", 0xFF, 0xFE, false, MX_DIFF_NAN, NO},
    {"int8", 0xFF, 0x01, false, MX_DIFF_SIGN, 2}, /* -1/64 against 1/64 */
    {"int8", 0x80, 0x7F, false, MX_DIFF_SIGN, 255},
    {"f32", 0x7F800000, 0x7F7FFFFF, false, MX_DIFF_INF, NO},
    {"f32", 0x3F800000, 0x3F800003, false, MX_DIFF_VALUE, 3},
    {"f32", 0x7FC00000, 0xFFC00001, false, MX_DIFF_NONE, 0},
    {"bf16", 0x8000, 0x0000, false, MX_DIFF_ZERO_SIGN, 0},
    {"f64", 0x8000000000000000, 0, false, MX_DIFF_ZERO_SIGN, 0},
    {"f64", 0x7FF0000000000000, 0x7FEFFFFFFFFFFFFF, false, MX_DIFF_INF, NO},
    {"i64", 0x8000000000000000, 0x7FFFFFFFFFFFFFFF, false, MX_DIFF_SIGN, UINT64_MAX},
    {"i32", 0xFFFFFFFF, 0xFFFFFFFE, false, MX_DIFF_VALUE, 1},
    {"u8", 0xFF, 0x00, false, MX_DIFF_VALUE, 255},
};

START_TEST(pairs_fall_into_their_class)
{
    mx_dtype d;
    ck_assert(mx_dtype_find(pairs[_i].dtype, &d));
    for (int swap = 0; swap < 2; swap++) {
        uint64_t ulps = 12345, got = pairs[_i].got, want = pairs[_i].want;
        mx_diff_kind kind = swap ? mx_diff_one(&d, want, got, pairs[_i].pin, &ulps)
                                 : mx_diff_one(&d, got, want, pairs[_i].pin, &ulps);
        ck_assert_msg(kind == pairs[_i].kind && ulps == pairs[_i].ulps, "%s %lx %lx: %s %lu", d.name,
                      (long)got, (long)want, mx_diff_kind_name(kind), (long)ulps);
    }
}
END_TEST

START_TEST(parts_add_up_to_the_whole)
{
    enum { N = 1000 };
    unsigned char got[N], want[N];
    for (int i = 0; i < N; i++) {
        want[i] = (unsigned char)(i * 7);
        got[i] = i % 9 ? want[i] : (unsigned char)(want[i] ^ (i & 0x81));
    }
    mx_dtype d;
    ck_assert(mx_dtype_find("e4m3", &d));
    mx_diff whole = {0}, parts = {0}, tail = {0};
    mx_diff_add(&whole, &d, got, want, N, 0, true);
    mx_diff_add(&parts, &d, got, want, 333, 0, true);
    mx_diff_add(&tail, &d, got + 333, want + 333, N - 333, 333, true);
    mx_diff_merge(&parts, &tail);
    ck_assert_int_gt(mx_diff_total(&whole), MX_DIFF_KEPT);
    ck_assert_int_eq(whole.n_first, MX_DIFF_KEPT);
    ck_assert_mem_eq(whole.count, parts.count, sizeof whole.count);
    ck_assert_mem_eq(whole.bins, parts.bins, sizeof whole.bins);
    ck_assert_int_eq(whole.max_index, parts.max_index);
    for (int i = 0; i < MX_DIFF_KEPT; i++)
        ck_assert_int_eq(whole.first[i].index, parts.first[i].index);
    ck_assert_int_eq(whole.first[0].index, 9); /* 9 = 0b1001: first index with i % 9 == 0, i & 0x81 != 0 */
}
END_TEST

START_TEST(equal_arrays_have_no_difference)
{
    float x[4] = {0, 1, -1, 2};
    mx_dtype d;
    ck_assert(mx_dtype_find("f32", &d));
    mx_diff r = {0};
    mx_diff_add(&r, &d, x, x, 4, 0, true);
    mx_diff_add(&r, &d, NULL, NULL, 0, 4, true);
    ck_assert_int_eq(mx_diff_total(&r), 0);
    ck_assert_int_eq(r.count[MX_DIFF_NONE], 4);
}
END_TEST

Suite *test_diff(void)
{
    Suite *s = suite_create("diff");
    TCase *t = tcase_create("diff");
    tcase_add_loop_test(t, pairs_fall_into_their_class, 0, sizeof pairs / sizeof *pairs);
    tcase_add_test(t, parts_add_up_to_the_whole);
    tcase_add_test(t, equal_arrays_have_no_difference);
    suite_add_tcase(s, t);
    return s;
}
