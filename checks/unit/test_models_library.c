/* SPDX-License-Identifier: Apache-2.0
 * Whole products of closed libraries and of compilers, recorded on an H200, against the model and schedule
 * that explain them: every bit of every output. Cases whose verdict is open are known not to be explained.
 * MX_SHOW_COUNTS=1 prints the counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "gemm.h"
#include "identify.h"
#include "suite.h"

/* An operand with its scales: one for all, one a row, or one a stretch of K of each row. */
static mx_operand operand(const mx_case *c, const char *role)
{
    char scale_role[16];
    const mx_tensor *t = mx_case_in(c, role);
    snprintf(scale_role, sizeof scale_role, "%s_scale", role);
    const mx_tensor *s = mx_case_in(c, scale_role);
    int64_t rows = t->shape[t->rank - 2], k = t->shape[t->rank - 1];
    if (!s) return mx_operand_dense(mx_format_find(t->dtype), t->data, rows, k);
    int64_t scale_rows = s->shape[s->rank - 2], blocks = s->shape[s->rank - 1];
    mx_operand x = mx_operand_scaled(mx_format_find(t->dtype), t->data, rows, k, mx_format_find(s->dtype),
                                     s->data, scale_rows == 1 ? rows : 1, (k + blocks - 1) / blocks);
    x.scale_row_stride = blocks;
    return x;
}

static mx_product product_of(const mx_case *c)
{
    mx_schedule s;
    mx_error e = {0};
    ck_assert_msg(!mx_schedule_parse(c->schedule, &s, &e), "%s: %s", c->id, e.message);
    mx_product p = mx_product_init(mx_model_find(c->model), &s);
    const mx_tensor *bias = mx_case_in(c, "bias"), *want = mx_case_want(c, "d");
    if (bias) {
        p.bias_format = mx_format_find(bias->dtype);
        p.bias = bias->data;
    }
    p.d_format = mx_format_find(want->dtype);
    p.d_pitch = want->shape[want->rank - 1];
    return p;
}

static void run_gemm(const mx_case *c, mx_product *p)
{
    mx_error e = {0};
    p->a = operand(c, "a");
    p->b = operand(c, "b");
    ck_assert_msg(!mx_gemm(p, &e), "%s: %s", c->id, e.message);
}

/* Row-wise scales of one expert's rows. */
static void scale_rows(mx_operand *x, const mx_tensor *scales, int64_t first)
{
    if (!scales) return;
    x->scale_format = mx_format_find(scales->dtype);
    x->scales = scales->data + first * 4;
    x->block_rows = 1;
    x->block_k = x->k;
    x->scale_row_stride = 1;
}

/* The recording holds the first rows of a and d, and the first rows of each expert's b. */
static void run_grouped_rows(const mx_case *c, mx_product *p)
{
    const mx_tensor *a = mx_case_in(c, "a"), *b = mx_case_in(c, "b"), *o = mx_case_in(c, "offsets");
    const int64_t *offsets = (const int64_t *)(const void *)o->data;
    char *d = p->d;
    int64_t k = a->shape[1], n = b->shape[1], size = (int64_t)mx_dtype_bytes(a->dtype);
    for (int64_t e = 0; e < b->shape[0]; e++) {
        int64_t first = offsets[e], end = offsets[e + 1] < a->shape[0] ? offsets[e + 1] : a->shape[0];
        if (first >= end) continue;
        p->a = mx_operand_dense(mx_format_find(a->dtype), a->data + first * k * size, end - first, k);
        p->b = mx_operand_dense(mx_format_find(b->dtype), b->data + e * n * k * size, n, k);
        scale_rows(&p->a, mx_case_in(c, "a_scale"), first);
        scale_rows(&p->b, mx_case_in(c, "b_scale"), e * n);
        p->d = d + first * p->d_pitch * (int64_t)mx_dtype_bytes(c->output);
        ck_assert_msg(!mx_gemm(p, NULL), "%s", c->id);
    }
    p->d = d;
}

static void run_grouped_k(const mx_case *c, mx_product *p)
{
    const mx_tensor *a = mx_case_in(c, "a"), *b = mx_case_in(c, "b"), *o = mx_case_in(c, "offsets");
    const int64_t *offsets = (const int64_t *)(const void *)o->data;
    char *d = p->d;
    int64_t m = a->shape[0], n = b->shape[0];
    mx_operand whole_a = mx_operand_dense(mx_format_find(a->dtype), a->data, m, a->shape[1]);
    mx_operand whole_b = mx_operand_dense(mx_format_find(b->dtype), b->data, n, b->shape[1]);
    for (int64_t e = 0; e + 1 < o->shape[0]; e++) {
        int64_t lanes = offsets[e + 1] - offsets[e];
        ck_assert(!mx_operand_lanes(&whole_a, offsets[e], lanes, &p->a, NULL));
        ck_assert(!mx_operand_lanes(&whole_b, offsets[e], lanes, &p->b, NULL));
        if (lanes) scale_rows(&p->a, mx_case_in(c, "a_scale"), e * m);
        if (lanes) scale_rows(&p->b, mx_case_in(c, "b_scale"), e * n);
        p->d = d + e * m * p->d_pitch * (int64_t)mx_dtype_bytes(c->output);
        ck_assert_msg(!mx_gemm(p, NULL), "%s", c->id);
    }
    p->d = d;
}

static const struct {
    const char *operation;
    void (*run)(const mx_case *c, mx_product *p);
} operations[] = {
    {"gemm", run_gemm}, {"grouped-forward", run_grouped_rows}, {"grouped-wgrad", run_grouped_k}};

static int64_t differing(const mx_case *c)
{
    const mx_tensor *want = mx_case_want(c, "d");
    size_t size = mx_dtype_bytes(want->dtype), i = 0;
    mx_product p = product_of(c);
    unsigned char *d = calloc(want->bytes, 1);
    p.d = d;
    while (strcmp(operations[i].operation, c->operation))
        ck_assert_msg(++i < sizeof operations / sizeof *operations, "%s: %s", c->id, c->operation);
    operations[i].run(c, &p);
    int64_t n = 0;
    for (size_t at = 0; at < want->bytes; at += size)
        n += memcmp(d + at, want->data + at, size) != 0;
    free(d);
    return n;
}

static const struct {
    const char *path;
    size_t cases, open;
} files[] = {
    {"vectors/seen/cublaslt-h200.safetensors", 12, 0},
    {"vectors/seen/products-fp8-h200.safetensors", 44, 0},
    {"vectors/seen/products-half-h200.safetensors", 39, 10},
    {"vectors/seen/products-grouped-h200.safetensors", 5, 0},
    {"vectors/seen/products-triton-h200.safetensors", 23, 0},
};

START_TEST(recorded_products_are_explained_to_the_last_bit)
{
    mx_case_set *set;
    mx_error e = {0};
    ck_assert_msg(!mx_cases_load(files[_i].path, &set, &e), "%s: %s", e.place, e.message);
    ck_assert_uint_eq(mx_cases_count(set), files[_i].cases);
    size_t open = 0;
    for (size_t i = 0; i < mx_cases_count(set); i++) {
        const mx_case *c = mx_cases_at(set, i);
        open += c->verdict == MX_VERDICT_OPEN;
        if (c->verdict == MX_VERDICT_OPEN) continue;
        int64_t wrong = differing(c);
        if (getenv("MX_SHOW_COUNTS"))
            printf("%-60s %-26s %-22s %lld of %lld differ\n", c->id, c->model, c->schedule, (long long)wrong,
                   (long long)mx_tensor_count(mx_case_want(c, "d")));
        ck_assert_msg(wrong == 0, "%s: %lld differ from %s, %s", c->id, (long long)wrong, c->model,
                      c->schedule);
    }
    ck_assert_uint_eq(open, files[_i].open);
    mx_cases_free(set);
}
END_TEST

/* What no explanation may do: fit everything. The chain fits no promoted or split product in fp32. */
START_TEST(other_schedules_are_rejected)
{
    mx_case_set *set;
    ck_assert(!mx_cases_load(files[0].path, &set, NULL));
    for (size_t i = 0; i < mx_cases_count(set); i++) {
        mx_case c = *mx_cases_at(set, i);
        if (strcmp(c.output, "f32")) continue;
        snprintf(c.schedule, sizeof c.schedule, "%s", strcmp(c.schedule, "chain") ? "chain" : "promote:4");
        int64_t wrong = differing(&c);
        ck_assert_msg(wrong > 300, "%s: %s differs in only %lld", c.id, c.schedule, (long long)wrong);
    }
    mx_cases_free(set);
}
END_TEST

/* From the bits alone. */
static void identify_case(const mx_case *c)
{
    mx_hypothesis found[4];
    size_t n, exact;
    char text[200];
    mx_error e = {0};
    mx_product p = product_of(c);
    p.a = operand(c, "a");
    p.b = operand(c, "b");
    p.d = mx_case_want(c, "d")->data;
    p.model = NULL;
    memset(&p.schedule, 0, sizeof p.schedule);
    ck_assert_msg(!mx_identify_product(&p, found, 4, &n, &exact, &e), "%s: %s", c->id, e.message);
    ck_assert_msg(exact > 0, "%s: nearest %s", c->id, mx_hypothesis_text(&found[0], text, sizeof text));
    mx_schedule_text(&found[0].schedule, text, sizeof text);
    ck_assert_msg(!strcmp(found[0].model->name, c->model) && !strcmp(text, c->schedule), "%s: found %s, %s",
                  c->id, found[0].model->name, text);
}

static const char *const to_identify[] = {
    "cublaslt-e4m3-fast0-f32-64x64x512",
    "cublaslt-e4m3-fast1-f32-64x64x512",
    "cublaslt-bf16-f32-64x64x512",
    "cublaslt-bf16-f32-128x128x4096",
};

START_TEST(identify_names_model_and_schedule)
{
    mx_case_set *set;
    ck_assert(!mx_cases_load(files[0].path, &set, NULL));
    size_t tried = 0;
    for (size_t i = 0; i < mx_cases_count(set); i++)
        if (!strcmp(mx_cases_at(set, i)->id, to_identify[_i])) {
            identify_case(mx_cases_at(set, i));
            tried++;
        }
    ck_assert_uint_eq(tried, 1);
    mx_cases_free(set);
}
END_TEST

Suite *test_models_library(void)
{
    Suite *s = suite_create("models against libraries");
    TCase *t = tcase_create("recordings");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, recorded_products_are_explained_to_the_last_bit, 0,
                        (int)(sizeof files / sizeof *files));
    tcase_add_test(t, other_schedules_are_rejected);
    tcase_add_loop_test(t, identify_names_model_and_schedule, 0,
                        (int)(sizeof to_identify / sizeof *to_identify));
    suite_add_tcase(s, t);
    return s;
}
