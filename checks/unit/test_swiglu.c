/* SPDX-License-Identifier: Apache-2.0
 * SwiGLU against fp64: the error that the stated sequence may have, special values, and the gradient against
 * a difference quotient. */
#include <math.h>

#include "random.h"
#include "suite.h"
#include "swiglu.h"

START_TEST(sigma_is_close_to_fp64)
{
    double worst = 0;
    for (int i = 0; i < 200000; i++) {
        float g = (float)(160 * (mx_random_uniform(5, 0, (uint64_t)i) - 0.5));
        double want = 1 / (1 + exp(-(double)g)), error = fabs((double)mx_sigma(g) / want - 1);
        if (g > -87) worst = fmax(worst, error);
    }
    ck_assert_msg(worst < 1e-5, "relative error %g",
                  worst); /* |g| 2^-24 of the exponent's argument, up to g = -80 */
    ck_assert(mx_sigma(0) == 0.5f);
    ck_assert(mx_sigma(INFINITY) == 1 && mx_sigma(-INFINITY) == 0);
}
END_TEST

START_TEST(specials_come_through)
{
    ck_assert(isnan(mx_swiglu(NAN, 1)));
    ck_assert(isnan(mx_swiglu(1, NAN)));
    ck_assert(isnan(mx_swiglu(-INFINITY, 1))); /* as x * sigmoid(x) */
    ck_assert(isinf(mx_swiglu(INFINITY, 1)));
    ck_assert(signbit(mx_swiglu(-0.0f, 1)));
}
END_TEST

START_TEST(gradient_is_the_slope)
{
    for (int i = 0; i < 2000; i++) {
        double g = 12 * (mx_random_uniform(6, 0, (uint64_t)i) - 0.5), u = 1.5, dy = 0.75, step = 1e-4;
        double up = (g + step) / (1 + exp(-(g + step))), down = (g - step) / (1 + exp(-(g - step)));
        float dgate, dup;
        mx_swiglu_grad((float)g, (float)u, (float)dy, &dgate, &dup);
        ck_assert(fabs((double)dgate - dy * u * (up - down) / (2 * step)) < 1e-5);
        ck_assert(fabs((double)dup - dy * g / (1 + exp(-g))) < 1e-5);
    }
}
END_TEST

Suite *test_swiglu(void)
{
    Suite *s = suite_create("swiglu");
    TCase *t = tcase_create("activation");
    tcase_add_test(t, sigma_is_close_to_fp64);
    tcase_add_test(t, specials_come_through);
    tcase_add_test(t, gradient_is_the_slope);
    suite_add_tcase(s, t);
    return s;
}
