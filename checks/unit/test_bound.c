/* SPDX-License-Identifier: Apache-2.0
 * Bounds: hand-worked values, and thousands of dot products of every model. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bound.h"
#include "bound_fuzz.h"
#include "suite.h"

START_TEST(bounds_hold)
{
    const mx_model *m = mx_model_at((size_t)_i);
    fuzz_counts c = fuzz_bounds(m, 0, 1500);
    if (getenv("MX_SHOW_COUNTS"))
        printf("%-20s %lld products, %lld certified, %lld one-sided, %lld running; largest share of a bound "
               "%.2f, "
               "running %.2f\n",
               m->name, (long long)c.products, (long long)c.certified, (long long)c.one_sided,
               (long long)c.running, c.largest, c.largest_running);
    ck_assert_msg(!*c.violation, "%s", c.violation);
    ck_assert_msg(c.certified > 20, "%s: only %lld certified", m->name, (long long)c.certified);
    ck_assert_msg(c.open < c.products / 2, "%s: %lld open", m->name, (long long)c.open);
}
END_TEST

/* A dot product that a bound with one rounding too few let out. */
START_TEST(late_addition_of_f16_is_counted)
{
    fuzz_counts c = fuzz_bounds(mx_model_find("sm90-mma-fp8-f16"), 5062301, 1);
    ck_assert_msg(!*c.violation, "%s", c.violation);
}
END_TEST

/* K = 128 on Hopper's fp8 unit, all products 1: T = 128, (128 + 4) 2^-13 + 4 2^-13 = 1.66 % of M. */
START_TEST(a_priori_is_as_worked_out)
{
    uint32_t one[128];
    const mx_format *f = mx_format_find("e4m3");
    for (int i = 0; i < 128; i++)
        one[i] = 0x38;
    mx_lanes x = {f, f, one, one, 128, NULL, NULL, NULL, 0};
    mx_dot_facts facts = mx_dot_facts_of(&x, 0);
    mx_unit u = mx_unit_of(mx_model_find("sm90-wgmma-fp8-f32"));
    mx_bound b = mx_bound_a_priori(&u, &facts, 4);
    ck_assert_double_eq(facts.exact, 128);
    ck_assert_int_eq(facts.max_exponent, 0);
    ck_assert_int_eq(facts.granule, 0);
    ck_assert(facts.nonnegative);
    ck_assert_double_eq_tol((b.high - b.low) / 2 / 128, 136.0 / 8192, 1e-9);
    ck_assert(mx_bound_certified(&u, &facts, &b) && b.low == 128 && b.high == 128);
    /* 2^14 + 1 terms of 1 no longer fit 14 bits; a small c with a bit below leaves the grid. */
    facts = mx_dot_facts_of(&x, 16384);
    ck_assert(!mx_bound_certified(&u, &facts, &b));
    facts = mx_dot_facts_of(&x, 0x1p-7);
    ck_assert(!mx_bound_certified(&u, &facts, &b)); /* 128 needs 7 + 7 + 1 bits */
}
END_TEST

START_TEST(classes_come_first)
{
    const mx_format *f = mx_format_find("bf16");
    uint32_t a[2] = {0x7F80, 0x3F80}, b[2] = {0x3F80, 0x3F80};
    mx_lanes x = {f, f, a, b, 2, NULL, NULL, NULL, 0};
    mx_unit u = mx_unit_of(mx_model_find("sm90-f16-f32"));
    mx_dot_facts facts = mx_dot_facts_of(&x, 0);
    mx_bound bound = mx_bound_a_priori(&u, &facts, 1);
    ck_assert(isinf(bound.low) && bound.low > 0 && bound.high == bound.low);
    b[0] = 0;
    facts = mx_dot_facts_of(&x, 0);
    bound = mx_bound_a_priori(&u, &facts, 1);
    ck_assert(facts.nan && isnan(bound.low));
    ck_assert(!mx_bound_certified(&u, &facts, &bound));
}
END_TEST

/* Every model, promoted or not, lies in the interval of the weakest unit; certified outputs are exact. */
START_TEST(products_lie_in_their_interval)
{
    enum { M = 4, N = 5, K = 96 };
    uint8_t a[M * K], b[N * K];
    float d[M * N], scales[M * K];
    for (int i = 0; i < N * K; i++) {
        if (i < M * K) a[i] = (uint8_t)(0x28 + (i * 37 + 11) % 48 + (i % 3 ? 0 : 128));
        b[i] = (uint8_t)(0x28 + (i * 53 + 5) % 48 + (i % 5 ? 0 : 128));
        if (i < M * K) scales[i] = 0.5f + (float)(i % 13) / 16;
    }
    static const char *const schedules[] = {"chain", "promote:1", "promote-ffma:1,scale-a-b"};
    static const char *const names[] = {"sm90-wgmma-fp8-f32", "sm90-mma-fp8-f32", "sm100-f8f6f4-f32"};
    const mx_format *e4m3 = mx_format_find("e4m3"), *f32 = mx_format_find("f32");
    for (int i = 0; i < 9; i++) {
        mx_schedule s;
        ck_assert(!mx_schedule_parse(schedules[i % 3], &s, NULL));
        mx_product p = mx_product_init(mx_model_find(names[i / 3]), &s);
        bool scaled = i % 3 == 2;
        p.a = scaled ? mx_operand_scaled(e4m3, a, M, K, f32, scales, 1, 32) : mx_operand_dense(e4m3, a, M, K);
        p.b = mx_operand_dense(e4m3, b, N, K);
        p.d_format = f32;
        p.d = d;
        p.d_pitch = N;
        ck_assert(!mx_gemm(&p, NULL));
        for (int j = 0; j < M * N; j++) {
            mx_bound bound;
            ck_assert(!mx_bound_product(&p, NULL, j / N, j % N, &bound, NULL, NULL));
            ck_assert_msg((double)d[j] >= bound.low && (double)d[j] <= bound.high,
                          "%s %s: %a not in [%a, %a]", names[i / 3], schedules[i % 3], (double)d[j],
                          bound.low, bound.high);
            ck_assert(isfinite(bound.low));
        }
    }
}
END_TEST

Suite *test_bound(void)
{
    Suite *s = suite_create("bounds");
    TCase *t = tcase_create("proved");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, bounds_hold, 0, (int)mx_model_count());
    tcase_add_test(t, late_addition_of_f16_is_counted);
    tcase_add_test(t, a_priori_is_as_worked_out);
    tcase_add_test(t, classes_come_first);
    tcase_add_test(t, products_lie_in_their_interval);
    suite_add_tcase(s, t);
    return s;
}
