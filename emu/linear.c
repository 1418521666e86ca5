/* SPDX-License-Identifier: Apache-2.0 */
#include "linear.h"

#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "gemm.h"
#include "recipe.h"

/* ---- who multiplies ------------------------------------------------------------------------------------ */

static mx_operand operand_of(const mx_side *s)
{
    if (!s->recipe) return mx_operand_dense(mx_format_find("bf16"), s->bf16, s->rows, s->k);
    int64_t rows, k;
    mx_recipe_block(s->recipe, s->rows, s->k, &rows, &k);
    mx_operand o = s->recipe->scale ? mx_operand_scaled(s->recipe->element, s->codes, s->rows, s->k,
                                                        s->recipe->scale, s->scales, rows, k)
                                    : mx_operand_dense(s->recipe->element, s->codes, s->rows, s->k);
    o.global = mx_recipe_has_global(s->recipe) ? s->global : 0;
    return o;
}

static mx_status by_model(const mx_scheme *s, const mx_side *a, const mx_side *b, float *d, mx_error *e)
{
    mx_product p = mx_product_init(s->model, &s->schedule);
    p.a = operand_of(a);
    p.b = operand_of(b);
    p.d_format = mx_format_find("f32");
    p.d = d;
    p.d_pitch = b->rows;
    p.threads = 1;
    return mx_gemm(&p, e);
}

static mx_status multiply(const mx_scheme *s, const mx_products *p, mx_error *e)
{
    mx_status status = MX_OK;
    if (s->run && s->arith == MX_ARITH_QUANTIZED) return s->run(s->context, p, e);
    for (int64_t i = 0; i < p->experts && !status; i++) {
        const mx_side *a = &p->a[i], *b = &p->b[i];
        if (s->model && s->arith != MX_ARITH_IDEAL)
            status = by_model(s, a, b, p->d[i], e);
        else if (!mx_chain_f32(a->values, b->values, p->d[i], a->rows, b->rows, a->k, s->slices))
            status = mx_fail(e, MX_NO_MEMORY, "product", "no memory");
    }
    return status;
}

/* ---- the three products ---------------------------------------------------------------------------------
 */

/* One product: where each expert's operands lie, how they are made, and where the result goes. */
typedef struct task {
    const mx_scheme *s;
    const mx_linear *l;
    uint64_t call;
    mx_form form;
    const double *a, *b; /* forward: x, w; dgrad: dy, w; wgrad: dy, x */
    double *d;
} task;

static mx_view view_of(const task *t, int64_t expert, bool is_b)
{
    const mx_linear *l = t->l;
    int64_t first = l->offsets[expert], rows = l->offsets[expert + 1] - first;
    const double *x = is_b ? t->b : t->a;
    switch (t->form) {
    case MX_FORWARD:
        return is_b ? (mx_view){x + expert * l->n * l->k, l->n, l->k, l->k, 1}
                    : (mx_view){x + first * l->k, rows, l->k, l->k, 1};
    case MX_DGRAD:
        return is_b ? (mx_view){x + expert * l->n * l->k, l->k, l->n, 1, l->k}
                    : (mx_view){x + first * l->n, rows, l->n, l->n, 1};
    case MX_WGRAD: break;
    }
    int64_t width = is_b ? l->k : l->n;
    return (mx_view){x + first * width, width, rows, 1, width};
}

static double *result_of(const task *t, int64_t expert)
{
    const mx_linear *l = t->l;
    if (t->form == MX_WGRAD) return t->d + expert * l->n * l->k;
    return t->d + l->offsets[expert] * (t->form == MX_FORWARD ? l->n : l->k);
}

static mx_copy copy_of(const task *t, bool is_b)
{
    if (t->form == MX_WGRAD) return t->s->wgrad_copy;
    return t->form == MX_DGRAD && is_b ? t->s->dgrad_copy : MX_COPY_SOURCE;
}

static const mx_recipe *recipe_of(const task *t, bool is_b)
{
    bool from_loss = t->form != MX_FORWARD && !is_b;
    return from_loss && t->s->gradient ? t->s->gradient : t->s->forward;
}

static double *gather(const mx_view *v)
{
    double *x = malloc((size_t)(v->rows * v->k + 1) * sizeof *x);
    for (int64_t i = 0; x && i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++)
            x[i * v->k + j] = v->x[i * v->row_stride + j * v->k_stride];
    return x;
}

static mx_status exactly(const task *t, int64_t expert, mx_error *e)
{
    mx_view a = view_of(t, expert, false), b = view_of(t, expert, true);
    double *x = gather(&a), *y = gather(&b);
    bool done = x && y && mx_chain_f64(x, y, result_of(t, expert), a.rows, b.rows, a.k, 1);
    free(x);
    free(y);
    return done ? MX_OK : mx_fail(e, MX_NO_MEMORY, "product", "no memory");
}

/* Operands and results of all experts. */
typedef struct bench {
    mx_side *a, *b;
    float **d;
} bench;

static mx_status bench_make(const task *t, bench *w, mx_error *e)
{
    size_t n = (size_t)t->l->experts;
    *w = (bench){calloc(n, sizeof *w->a), calloc(n, sizeof *w->b), calloc(n, sizeof *w->d)};
    if (!w->a || !w->b || !w->d) return mx_fail(e, MX_NO_MEMORY, "product", "no memory");
    mx_status status = MX_OK;
    for (size_t i = 0; i < n && !status; i++) {
        mx_view a = view_of(t, (int64_t)i, false), b = view_of(t, (int64_t)i, true);
        uint64_t seed = t->s->seed + (t->call * 64 + i) * 4;
        status = mx_side_make(t->s, recipe_of(t, false), &a, copy_of(t, false), seed, &w->a[i], e);
        if (!status)
            status = mx_side_make(t->s, recipe_of(t, true), &b, copy_of(t, true), seed + 2, &w->b[i], e);
        w->d[i] = malloc((size_t)(a.rows * b.rows + 1) * sizeof(float));
        if (!status && !w->d[i]) status = mx_fail(e, MX_NO_MEMORY, "product", "no memory");
    }
    return status;
}

static void bench_free(const task *t, bench *w)
{
    for (int64_t i = 0; w->a && w->b && w->d && i < t->l->experts; i++) {
        mx_side_free(&w->a[i]);
        mx_side_free(&w->b[i]);
        free(w->d[i]);
    }
    free(w->a);
    free(w->b);
    free(w->d);
}

static void store(const task *t, const bench *w)
{
    double factor = t->form != MX_FORWARD && t->s->backward_factor != 0 ? t->s->backward_factor : 1;
    for (int64_t i = 0; i < t->l->experts; i++) {
        double *d = result_of(t, i);
        for (int64_t j = 0; j < w->a[i].rows * w->b[i].rows; j++)
            d[j] = factor * (double)w->d[i][j];
    }
}

static mx_status perform(const task *t, mx_error *e)
{
    mx_status status = MX_OK;
    if (t->s->arith == MX_ARITH_F64) {
        for (int64_t i = 0; i < t->l->experts && !status; i++)
            status = exactly(t, i, e);
        return status;
    }
    bench w;
    status = bench_make(t, &w, e);
    mx_products p = {t->form, t->l->experts, w.a, w.b, w.d};
    if (!status) status = multiply(t->s, &p, e);
    if (!status) store(t, &w);
    bench_free(t, &w);
    return status;
}

mx_status mx_linear_forward(const mx_scheme *s, const mx_linear *l, uint64_t call, const double *x,
                            const double *w, double *y, mx_error *e)
{
    return perform(&(task){s, l, call, MX_FORWARD, x, w, y}, e);
}

mx_status mx_linear_dgrad(const mx_scheme *s, const mx_linear *l, uint64_t call, const double *dy,
                          const double *w, double *dx, mx_error *e)
{
    return perform(&(task){s, l, call, MX_DGRAD, dy, w, dx}, e);
}

mx_status mx_linear_wgrad(const mx_scheme *s, const mx_linear *l, uint64_t call, const double *dy,
                          const double *x, double *dw, mx_error *e)
{
    return perform(&(task){s, l, call, MX_WGRAD, dy, x, dw}, e);
}
