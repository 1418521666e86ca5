/* SPDX-License-Identifier: Apache-2.0
 * Products: right results that were worked out by hand, and a judge that must not let wrong ones pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "emulate.h"
#include "generate.h"
#include "judge.h"
#include "product.h"
#include "suite.h"

static gen made;

static void set_up(void)
{
    static mx_error e;
    gen_init(&made, &e);
    gen_products(&made);
    ck_assert_msg(made.status == MX_OK, "%s: %s", e.place, e.message);
}

static void tear_down(void) { gen_free(&made); }

static const mx_case *case_of(const char *start)
{
    for (size_t i = 0; i < made.n; i++)
        if (!strncmp(made.cases[i].id, start, strlen(start))) return &made.cases[i];
    ck_abort_msg("no case %s", start);
    return NULL;
}

static float answer_at(const char *start, int64_t i)
{
    mx_tensor out[MX_MAX_TENSORS];
    int n = 0;
    mx_error e = {0};
    ck_assert_msg(emulate_case(case_of(start), out, &n, &e) == MX_OK, "%s", e.message);
    ck_assert_int_eq(n, 1);
    ck_assert_int_lt(i, mx_tensor_count(&out[0]));
    float x;
    memcpy(&x, out[0].data + 4 * i, sizeof x);
    mx_tensor_free(&out[0]);
    return x;
}

START_TEST(results_worked_out_by_hand)
{
    ck_assert_float_eq(answer_at("products:b82:", 0), 288);         /* 32 * 1 + 32 * 8 */
    ck_assert_float_eq(answer_at("products:b45:", 5), 1);           /* 128 * 2^8 * 2^-127 * 2^112 */
    ck_assert_float_eq(answer_at("products:b86:", 0), 256);         /* 128 * 2 * 1 */
    ck_assert_float_eq(answer_at("products:b86:", 128 * 128), 512); /* 128 * 4 * 1 */
    ck_assert_float_eq(answer_at("products:b86:", 64), 512);        /* 128 * 2 * 2 */
    ck_assert_float_eq(answer_at("products:ones:gemm:mxfp4", 9), 64);
    ck_assert_float_eq(answer_at("products:b101:", 0), 1 + 0x1p-15f);
    ck_assert_float_eq(answer_at("products:one-hot:gemm:mxfp8:hot-a", 2 * 6 + 3), 160); /* row 2 */
    ck_assert_float_eq(answer_at("products:one-hot:gemm:mxfp8:hot-a", 3 * 6 + 2), 128);
    ck_assert_float_eq(answer_at("products:one-hot:gemm:mxfp8:hot-b", 2 * 6 + 3), 160); /* column 3 */
    ck_assert_float_eq(answer_at("products:b91:", 20), 0); /* expert 1 has no tokens */
    ck_assert_float_eq(answer_at("products:scale-00:", 4), 32 * 0x1p-127f);
    ck_assert_float_eq(answer_at("products:scale-00:", 4 + 2), 32);
    ck_assert(isnan(answer_at("products:nan-zero:", 6)));
    ck_assert(isnan(answer_at("products:inf:", 5 * 6)) || isinf(answer_at("products:inf:", 5 * 6)));
}
END_TEST

START_TEST(most_cases_are_certified)
{
    size_t exact = 0;
    for (size_t i = 0; i < made.n; i++)
        exact += made.cases[i].verdict == MX_VERDICT_EXACT;
    ck_assert_msg(2 * exact > made.n, "%zu of %zu", exact, made.n);
    ck_assert_int_eq(case_of("products:depth:")->verdict, MX_VERDICT_EXACT);
    ck_assert_int_eq(case_of("products:split:gemm:mxfp8:few")->verdict, MX_VERDICT_EXACT);
    ck_assert_int_eq(case_of("products:normal:gemm:mxfp8:")->verdict, MX_VERDICT_BOUND);
}
END_TEST

/* ---- a subject that answers exactly, then spoils the answer
 * ------------------------------------------------ */

typedef void (*spoiler)(float *d, int64_t n, int64_t cols);

static void as_it_is(float *d, int64_t n, int64_t cols) { (void)d, (void)n, (void)cols; }
static void zeros(float *d, int64_t n, int64_t cols) { memset(d, 0, (size_t)n * sizeof *d), (void)cols; }
static void negated(float *d, int64_t n, int64_t cols)
{
    for (int64_t i = 0; i < n; i++)
        d[i] = -d[i];
    (void)cols;
}
static void smaller(float *d, int64_t n, int64_t cols)
{
    for (int64_t i = 0; i < n; i++)
        d[i] *= 0.72f;
    (void)cols;
}
static void moved(float *d, int64_t n, int64_t cols)
{
    if (n > cols) memmove(d + cols, d, (size_t)(n - cols) * sizeof *d);
}
static void not_a_number(float *d, int64_t n, int64_t cols)
{
    if (n) d[n - 1] = NAN;
    (void)cols;
}
static void infinite(float *d, int64_t n, int64_t cols)
{
    if (n) d[n - 1] = INFINITY;
    (void)cols;
}
static void numbers(float *d, int64_t n, int64_t cols)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(d[i])) d[i] = 0;
    (void)cols;
}

static void run_spoilt(subject *s, const job *j, const variant *v, outcome *o)
{
    mx_tensor out[MX_MAX_TENSORS];
    int n = 0;
    mx_error e = {0};
    (void)v;
    ck_assert(emulate_case(j->c, out, &n, &e) == MX_OK);
    (*(spoiler *)s->impl)((float *)(void *)out[0].data, mx_tensor_count(&out[0]),
                          out[0].shape[out[0].rank - 1]);
    answers_take(o, j, out, n);
    mx_tensor_free(&out[0]);
}

static int64_t failures(const char *id, spoiler how, const char *model, check_count *claim)
{
    const mx_case *c = case_of(id);
    offer only = {.name = "spoilt", .runnable = true};
    strcpy(only.operation, c->operation);
    strcpy(only.recipe, c->recipe);
    strcpy(only.model, model);
    subject s = {.name = "spoilt", .offers = &only, .n_offers = 1, .run = run_spoilt, .batch = true};
    s.impl = &how;
    result r = {.max_findings = 10};
    judge_options o = {.repeat = 1, .vectors = "V", .argument = ""};
    ck_assert(result_add_subject(&r, s.name));
    judge_subject(&r, &s, &c, 1, &o);
    int64_t failed = 0;
    for (size_t i = 0; i < check_count_all; i++) {
        if (!strcmp(checks[i]->name, "product")) {
            failed = r.subjects[0].counts[i].failed;
            ck_assert_int_eq(failed + r.subjects[0].counts[i].passed, 1);
        }
        if (!strcmp(checks[i]->name, "claim") && claim) *claim = r.subjects[0].counts[i];
    }
    result_free(&r);
    return failed;
}

/* bug-B113: a check that cannot fail checks nothing. No model is claimed: the bound judges. */
START_TEST(wrong_results_fail)
{
    static const char *const ids[] = {
        "products:normal:gemm:mxfp8:", "products:integers:gemm:mxfp8:", "products:b53:gemm:fp8-1x128:",
        "products:experts:grouped-forward:mxfp8:normal", "products:experts:grouped-wgrad:mxfp8:normal"};
    static const spoiler spoilers[] = {zeros, negated, smaller, moved, not_a_number, infinite};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        ck_assert_msg(failures(ids[i], as_it_is, "", NULL) == 0, "%s", ids[i]);
        for (size_t k = 0; k < (i ? 3 : sizeof spoilers / sizeof *spoilers); k++)
            ck_assert_msg(failures(ids[i], spoilers[k], "", NULL) == 1, "%s: spoiler %zu passes", ids[i], k);
    }
    ck_assert_int_eq(failures("products:nan:", as_it_is, "", NULL), 0);
    ck_assert_int_eq(failures("products:nan:", numbers, "", NULL), 1);
}
END_TEST

START_TEST(claims_are_held_to)
{
    check_count claim;
    ck_assert_int_eq(failures("products:normal:gemm:mxfp8:", as_it_is, "no-such-unit", &claim), 0);
    ck_assert_int_eq(claim.not_run, 1);
    /* The exact result is not what a unit of 13 bits gives. */
    ck_assert_int_eq(failures("products:normal:gemm:mxfp8:", as_it_is, "exact", &claim), 0);
    ck_assert_int_eq(claim.passed, 1);
}
END_TEST

/* ---- cases from strangers ---------------------------------------------------------------------------------
 */

START_TEST(bad_shapes_are_refused)
{
    mx_case c = *case_of("products:experts:grouped-forward:mxfp8:blocks:16x9x96");
    product q;
    mx_error e = {0};
    ck_assert(product_make(&q, &c, "f32", &e) == MX_OK);
    product_free(&q);
    ck_assert(product_make(&q, &c, "e4m3", &e) == MX_UNSUPPORTED);
    for (int i = 0; i < c.n_in; i++) {
        mx_case bad = c;
        bad.in[i].shape[bad.in[i].rank - 1]++;
        ck_assert_msg(product_make(&q, &bad, "f32", &e) == MX_BAD_INPUT, "%s", c.in[i].name);
        bad = c;
        bad.in[i].name[0] = 'z';
        ck_assert_msg(product_make(&q, &bad, "f32", &e) == MX_BAD_INPUT, "%s", c.in[i].name);
    }
    int64_t offsets[5] = {0, 5, 4, 6, 16};
    for (int i = 0; i < c.n_in; i++)
        if (!strcmp(c.in[i].name, "offsets")) c.in[i].data = (unsigned char *)offsets;
    ck_assert(product_make(&q, &c, "f32", &e) == MX_BAD_INPUT);
}
END_TEST

Suite *test_products(void)
{
    Suite *s = suite_create("products");
    TCase *t = tcase_create("products");
    tcase_set_timeout(t, 120);
    tcase_add_unchecked_fixture(t, set_up, tear_down);
    tcase_add_test(t, results_worked_out_by_hand);
    tcase_add_test(t, most_cases_are_certified);
    tcase_add_test(t, wrong_results_fail);
    tcase_add_test(t, claims_are_held_to);
    tcase_add_test(t, bad_shapes_are_refused);
    suite_add_tcase(s, t);
    return s;
}
