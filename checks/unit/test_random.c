/* SPDX-License-Identifier: Apache-2.0
 * Draws: known answers, distribution, and that the real functions agree with libm and GSL. */
#include <math.h>

#include <gsl/gsl_cdf.h>

#include "random.h"
#include "suite.h"

/* Random123's known-answer file, philox 4x32 10: counter and key all zeros give 6627e8d5 e169c58d ... */
START_TEST(philox_known_answer)
{
    ck_assert_uint_eq(mx_random_u32(0, 0, 0), 0x6627E8D5u);
    ck_assert_uint_eq(mx_random_u64(0, 0, 0), 0xE169C58D6627E8D5u);
    ck_assert_uint_ne(mx_random_u32(0, 1, 0), mx_random_u32(0, 0, 1));
}
END_TEST

START_TEST(functions_agree_with_libm)
{
    for (int i = 0; i < 20000; i++) {
        double u = mx_random_uniform(1, 0, (uint64_t)i);
        ck_assert(u > 0 && u < 1);
        double x = ldexp(0.5 + u, i % 1900 - 950), y = (u - 0.5) * 1400;
        ck_assert_msg(fabs(mx_ln(x) - log(x)) <= 1e-15 * fabs(log(x)), "ln %a", x);
        ck_assert_msg(fabs(mx_exp(y) / exp(y) - 1) < 1e-15, "exp %a", y);
        ck_assert_msg(fabs(mx_normal_quantile(u) - gsl_cdf_ugaussian_Pinv(u)) < 1e-13, "quantile %a", u);
    }
    ck_assert(fabs(mx_normal_quantile(1e-12) - gsl_cdf_ugaussian_Pinv(1e-12)) < 1e-13);
    ck_assert(mx_exp(-800) == 0 && isinf(mx_exp(800)));
}
END_TEST

START_TEST(normal_draws_have_the_moments)
{
    enum { N = 200000 };
    double m1 = 0, m2 = 0, m4 = 0;
    for (int i = 0; i < N; i++) {
        double x = mx_random_normal(7, 3, (uint64_t)i);
        m1 += x;
        m2 += x * x;
        m4 += x * x * x * x;
    }
    ck_assert_msg(fabs(m1 / N) < 5 / sqrt(N), "mean %g", m1 / N); /* five standard errors each */
    ck_assert_msg(fabs(m2 / N - 1) < 5 * sqrt(2.0 / N), "variance %g", m2 / N);
    ck_assert_msg(fabs(m4 / N - 3) < 5 * sqrt(96.0 / N), "fourth moment %g", m4 / N);
}
END_TEST

Suite *test_random(void)
{
    Suite *s = suite_create("random");
    TCase *t = tcase_create("draws");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, philox_known_answer);
    tcase_add_test(t, functions_agree_with_libm);
    tcase_add_test(t, normal_draws_have_the_moments);
    suite_add_tcase(s, t);
    return s;
}
