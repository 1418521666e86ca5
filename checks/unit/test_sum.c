/* SPDX-License-Identifier: Apache-2.0
 * Exact sums against MPFR at a precision that loses nothing, in any order and split. */
#include <math.h>
#include <string.h>

#include <mpfr.h>

#include "random.h"
#include "sum.h"
#include "suite.h"

static double draw(uint64_t seed, uint64_t i)
{
    uint64_t bits = mx_random_u64(seed, 0, i);
    double x;
    memcpy(&x, &bits, sizeof x);
    return isfinite(x) ? x : 0x1p-1074 * (double)(i & 7);
}

static double by_mpfr(uint64_t seed, int n)
{
    mpfr_t sum;
    mpfr_init2(sum, 2300);
    mpfr_set_zero(sum, 1);
    for (int i = 0; i < n; i++)
        mpfr_add_d(sum, sum, draw(seed, (uint64_t)i), MPFR_RNDN);
    double value = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clear(sum);
    return value;
}

START_TEST(equals_mpfr_in_any_split)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        int n = 1 + (int)(seed % 17);
        mx_sum whole = {{0}, 0, 0}, part[3] = {{{0}, 0, 0}};
        for (int i = 0; i < n; i++) {
            mx_sum_add(&whole, draw(seed, (uint64_t)i));
            mx_sum_add(&part[(seed + (uint64_t)i) % 3], draw(seed, (uint64_t)(n - 1 - i)));
        }
        for (int k = 0; k < 2; k++)
            mx_sum_merge(&part[2], &part[k]);
        double want = by_mpfr(seed, n);
        ck_assert_msg(mx_sum_value(&whole) == want, "seed %d: %a, MPFR %a", (int)seed, mx_sum_value(&whole),
                      want);
        char a[MX_SUM_TEXT], b[MX_SUM_TEXT];
        mx_sum_print(&whole, a);
        mx_sum_print(&part[2], b);
        ck_assert_str_eq(a, b);
        mx_sum back;
        ck_assert_int_eq(mx_sum_parse(&back, a), 0);
        ck_assert(mx_sum_value(&back) == want);
    }
}
END_TEST

START_TEST(ties_cancellation_and_specials)
{
    static const struct {
        double x[4], want;
    } rows[] = {
        {{1, 0x1p-53, 0, 0}, 1},                     /* tie to even */
        {{1, 0x1p-53, 0x1p-1074, 0}, 1 + 0x1p-52},   /* a hair above the tie */
        {{1 + 0x1p-52, 0x1p-53, 0, 0}, 1 + 0x1p-51}, /* tie to even, up */
        {{0x1p1023, 1, -0x1p1023, 0}, 1},
        {{0x1p-1074, 0x1p-1074, 0, 0}, 0x1p-1073},
        {{-0x1p-1074, 0, 0, 0}, -0x1p-1074},
        {{INFINITY, 1, 0, 0}, INFINITY},
        {{0x1.FFFFFFFFFFFFFp1023, 0x1.FFFFFFFFFFFFFp1023, 0, 0}, INFINITY},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        mx_sum s = {{0}, 0, 0};
        for (int i = 0; i < 4; i++)
            mx_sum_add(&s, rows[r].x[i]);
        ck_assert_msg(mx_sum_value(&s) == rows[r].want, "row %d: %a", (int)r, mx_sum_value(&s));
    }
    mx_sum s = {{0}, 0, 0};
    mx_sum_add(&s, INFINITY);
    mx_sum_add(&s, -INFINITY);
    ck_assert(isnan(mx_sum_value(&s)));
    ck_assert_int_eq(mx_sum_parse(&s, "0:3:zz"), -1);
    ck_assert_int_eq(mx_sum_parse(&s, "0:3:ffffffffffffffff"), -1);
    ck_assert_int_eq(mx_sum_parse(&s, "0:99:0000000000000001"), -1);
}
END_TEST

Suite *test_sum(void)
{
    Suite *s = suite_create("sum");
    TCase *t = tcase_create("exact");
    tcase_add_test(t, equals_mpfr_in_any_split);
    tcase_add_test(t, ties_cancellation_and_specials);
    suite_add_tcase(s, t);
    return s;
}
