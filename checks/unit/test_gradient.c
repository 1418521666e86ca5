/* SPDX-License-Identifier: Apache-2.0
 * Agreement of tensors by hand; gates of the gradient check: right recipes pass, faults fail and are named.
 */
#include <math.h>
#include <string.h>

#include "gradient.h"
#include "gradient_result.h"
#include "model.h"
#include "recipe.h"
#include "scheme.h"
#include "suite.h"

START_TEST(agreement_by_hand)
{
    /* Norms 5 and 0; the second row of y is wrong although x is zero there. */
    const double x[] = {3, 4, 0, 0}, y[] = {3, 2, 0, 1};
    tensor_view a = {x, 2, 2, 0, 0}, b = {y, 2, 2, 0, 0};
    agreement g = agree(&a, &b);
    ck_assert_double_eq_tol(g.relative, sqrt(5) / 5, 1e-15);
    ck_assert_double_eq_tol(g.cosine, 17 / (5 * sqrt(14)), 1e-15);
    ck_assert_double_eq_tol(g.norm_ratio, sqrt(14) / 5, 1e-15);
    ck_assert_double_eq_tol(g.projection, 17.0 / 25, 1e-15);
    ck_assert_double_eq_tol(g.sqnr, 20 * log10(sqrt(5)), 1e-12);
    ck_assert(g.signs == 1 && g.worst_row == 0 && g.worst_block_row == 0);
    ck_assert_double_eq_tol(g.worst_row_relative, 0.4, 1e-15);
}
END_TEST

START_TEST(agreement_of_specials)
{
    const double x[] = {1, 1, INFINITY, 1}, y[] = {1, NAN, INFINITY, -1}, zero[4] = {0};
    tensor_view a = {x, 1, 4, 0, 0}, b = {y, 1, 4, 0, 0}, z = {zero, 1, 4, 0, 0}, same = {x, 1, 2, 0, 0};
    ck_assert_int_eq(agree(&a, &b).nonfinite, 1); /* Inf where x is Inf is no fault */
    agreement g = agree(&z, &z);
    ck_assert(g.relative == 0 && g.cosine == 1 && g.norm_ratio == 1 && g.projection == 1);
    g = agree(&same, &z);
    ck_assert(g.relative == 1 && g.norm_ratio == 0 && g.projection == 0 && g.signs == 0);
    ck_assert(!(agree(&z, &same).relative <= 1e9));
}
END_TEST

START_TEST(every_second_half_of_a_stack)
{
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8}; /* two experts of two gate and two up rows, one column */
    tensor_view up = {x + 2, 4, 1, 2, 4}, want = {(const double[]){3, 4, 7, 8}, 4, 1, 0, 0};
    ck_assert(agree(&want, &up).relative == 0);
}
END_TEST

START_TEST(scheme_names)
{
    mx_scheme s;
    mx_error e;
    ck_assert_int_eq(scheme_parse("mxfp8+mxfp8-e5m2@wgrad-rowwise", &s, &e), MX_OK);
    ck_assert(s.forward == mx_recipe_find("mxfp8") && s.gradient == mx_recipe_find("mxfp8-e5m2"));
    ck_assert(s.wgrad_copy == MX_COPY_ROWWISE && s.dgrad_copy == MX_COPY_SOURCE);
    ck_assert_int_eq(scheme_parse("study:e4m3/e8m0/1x64/rceil/rne", &s, &e), MX_OK);
    ck_assert_int_eq(scheme_parse("bf16", &s, &e), MX_OK);
    ck_assert_int_eq(s.arith, MX_ARITH_BF16);
    ck_assert_int_eq(scheme_parse("bf16+e5m2-unscaled-flushed", &s, &e), MX_OK);
    ck_assert(!s.forward && s.gradient && s.arith == MX_ARITH_QUANTIZED);
    ck_assert_int_eq(scheme_parse("mxfp9", &s, &e), MX_BAD_USAGE);
    ck_assert_int_eq(scheme_parse("mxfp8@sideways", &s, &e), MX_BAD_USAGE);
    ck_assert_int_eq(scheme_parse("mxfp8+bf16", &s, &e), MX_BAD_USAGE);
}
END_TEST

/* ---- the check itself
 * -------------------------------------------------------------------------------------- */

static gradient_setup small(int threads)
{
    return (gradient_setup){{192, 96, 64, 4, 2}, 3, "outliers", "laplace", threads};
}

static void judge_names(const char *const *names, size_t n, int threads, mx_scheme *schemes,
                        gradient_row *rows)
{
    gradient_scene s;
    gradient_setup setup = small(threads);
    ck_assert_int_eq(gradient_begin(&setup, &s, NULL), MX_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(scheme_parse(names[i], &schemes[i], NULL), MX_OK);
        rows[i] = (gradient_row){.scheme = &schemes[i], .right = true};
    }
    gradient_judge(&s, rows, n, NULL, NULL);
    gradient_end(&s);
}

START_TEST(right_recipes_pass)
{
    static const char *const names[] = {"bf16",  "mxfp8", "mxfp8-e5m2",       "mxfp6-e2m3", "mxint8",
                                        "mxfp4", "nvfp4", "mxfp8+mxfp8-e5m2", "fp8-1x128",  "fp8-tensor"};
    enum { N = sizeof names / sizeof *names };
    mx_scheme schemes[N];
    static gradient_row rows[N];
    char why[320];
    judge_names(names, N, 0, schemes, rows);
    for (int i = 0; i < N; i++) {
        gradient_reason(&rows[i], why, sizeof why);
        ck_assert_msg(!rows[i].status && rows[i].first < 0, "%s: %s", names[i], why);
        ck_assert(rows[i].to_bf16[2].relative < rows[i].gate[2] * 1.1);
    }
    ck_assert(gradient_passed(rows, N));
}
END_TEST

/* Each fault is caught at the first tensor that it touches, and its name found by search. */
START_TEST(faults_are_caught_and_named)
{
    static const struct {
        const char *name, *first, *words;
    } faults[] = {
        {"mxfp8@gradients-scaled", "dact", "magnitude fault: 0.1"},
        {"mxfp8@wgrad-rowwise", "dW2", "rowwise scales reused for the transposed operands of wgrad"},
        {"mxfp8@dgrad-rowwise", "dact", "transposed weights of dgrad"},
        {"mxfp8@rowwise-reused", "dact", "operands of dgrad and wgrad"},
        {"nvfp4@double-quantised", "dact", "dequantised rowwise copies"},
    };
    enum { N = sizeof faults / sizeof *faults };
    const char *names[N];
    mx_scheme schemes[N];
    static gradient_row rows[N];
    for (int i = 0; i < N; i++)
        names[i] = faults[i].name;
    judge_names(names, N, 0, schemes, rows);
    for (int i = 0; i < N; i++) {
        char why[320];
        gradient_reason(&rows[i], why, sizeof why);
        ck_assert_msg(rows[i].first >= 0, "%s passes", names[i]);
        ck_assert_str_eq(gradient_tensors[rows[i].first], faults[i].first);
        ck_assert_str_eq(rows[i].named, strchr(names[i], '@') + 1);
        ck_assert_msg(strstr(why, faults[i].words) != NULL, "%s: %s", names[i], why);
    }
    /* The angle of what is wrong by 2^-3 is as good as that of what is right. */
    ck_assert(rows[0].to_reference[4].cosine > 0.99 && rows[0].fault[4] == GRADIENT_MAGNITUDE);
    ck_assert(!gradient_passed(rows, N));
}
END_TEST

START_TEST(threads_do_not_matter)
{
    static const char *const names[] = {"mxfp8", "nvfp4@double-quantised", "study:e4m3/e8m0/1x32/rceil/sr16"};
    mx_scheme schemes[3];
    static gradient_row one[3], many[3];
    judge_names(names, 3, 1, schemes, one);
    judge_names(names, 3, 4, schemes, many);
    for (int i = 0; i < 3; i++)
        ck_assert(!memcmp(one[i].to_reference, many[i].to_reference, sizeof one[i].to_reference) &&
                  !memcmp(one[i].gate, many[i].gate, sizeof one[i].gate));
}
END_TEST

START_TEST(what_cannot_run_is_no_pass)
{
    mx_scheme s;
    ck_assert_int_eq(scheme_parse("mxfp8", &s, NULL), MX_OK);
    s.model = mx_model_find("sm90-f16-f32"); /* takes no e4m3 */
    gradient_row row = {.scheme = &s, .right = true};
    gradient_scene scene;
    gradient_setup setup = small(1);
    ck_assert_int_eq(gradient_begin(&setup, &scene, NULL), MX_OK);
    gradient_judge(&scene, &row, 1, NULL, NULL);
    gradient_end(&scene);
    ck_assert_int_eq(row.status, MX_UNSUPPORTED);
    ck_assert(!gradient_passed(&row, 1));
}
END_TEST

Suite *test_gradient(void)
{
    Suite *s = suite_create("gradient");
    TCase *c = tcase_create("gradient");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, agreement_by_hand);
    tcase_add_test(c, agreement_of_specials);
    tcase_add_test(c, every_second_half_of_a_stack);
    tcase_add_test(c, scheme_names);
    tcase_add_test(c, right_recipes_pass);
    tcase_add_test(c, faults_are_caught_and_named);
    tcase_add_test(c, threads_do_not_matter);
    tcase_add_test(c, what_cannot_run_is_no_pass);
    suite_add_tcase(s, c);
    return s;
}
