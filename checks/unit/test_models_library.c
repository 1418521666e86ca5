/* SPDX-License-Identifier: Apache-2.0
 * Whole products of closed libraries, recorded on an H200, against the model and schedule that explain them:
 * every bit of every output. MX_SHOW_COUNTS=1 prints the counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "gemm.h"
#include "suite.h"

static mx_operand operand(const mx_tensor *t)
{
    return mx_operand_dense(mx_format_find(t->dtype), t->data, t->shape[0], t->shape[1]);
}

static void product_of(const mx_case *c, const char *schedule, mx_tensor *d)
{
    mx_schedule s;
    mx_error e = {0};
    ck_assert_msg(!mx_schedule_parse(schedule, &s, &e), "%s", e.message);
    mx_product p = mx_product_init(mx_model_find(c->model), &s);
    p.a = operand(mx_case_in(c, "a"));
    p.b = operand(mx_case_in(c, "b"));
    const mx_tensor *want = mx_case_want(c, "d");
    ck_assert(!mx_tensor_make(d, "d", want->dtype, 2, want->shape, &e));
    p.d_format = mx_format_find(want->dtype);
    p.d = d->data;
    p.d_pitch = want->shape[1];
    ck_assert_msg(!mx_gemm(&p, &e), "%s: %s", c->id, e.message);
}

static int64_t differing(const mx_case *c, const char *schedule)
{
    const mx_tensor *want = mx_case_want(c, "d");
    size_t size = want->bytes / (size_t)(want->shape[0] * want->shape[1]);
    mx_tensor d = {0};
    int64_t n = 0;
    product_of(c, schedule, &d);
    for (size_t i = 0; i < want->bytes; i += size)
        n += memcmp(d.data + i, want->data + i, size) != 0;
    mx_tensor_free(&d);
    return n;
}

START_TEST(cublaslt_is_explained_to_the_last_bit)
{
    mx_case_set *set;
    mx_error e = {0};
    ck_assert_msg(!mx_cases_load("vectors/seen/cublaslt-h200.safetensors", &set, &e), "%s", e.message);
    ck_assert_uint_eq(mx_cases_count(set), 12);
    for (size_t i = 0; i < mx_cases_count(set); i++) {
        const mx_case *c = mx_cases_at(set, i);
        int64_t wrong = differing(c, c->schedule);
        const char *other = strcmp(c->schedule, "chain") ? "chain" : "promote:4";
        int64_t rival = differing(c, other);
        if (getenv("MX_SHOW_COUNTS"))
            printf("%-36s %-20s %-12s %lld of 1024 differ; %s: %lld\n", c->id, c->model, c->schedule,
                   (long long)wrong, other, (long long)rival);
        ck_assert_msg(wrong == 0, "%s: %lld differ", c->id, (long long)wrong);
        if (!strcmp(c->output, "f32")) ck_assert_msg(rival > 0, "%s: %s fits too", c->id, other);
    }
    mx_cases_free(set);
}
END_TEST

Suite *test_models_library(void)
{
    Suite *s = suite_create("models against libraries");
    TCase *t = tcase_create("recordings");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, cublaslt_is_explained_to_the_last_bit);
    suite_add_tcase(s, t);
    return s;
}
