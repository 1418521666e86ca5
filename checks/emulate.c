/* SPDX-License-Identifier: Apache-2.0
 * The emulator as a subject. A new operation is a new row of the table at the end. */
#include "emulate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "swiglu.h"
#include "product.h"

typedef struct answer {
    const mx_case *c;
    const mx_recipe *recipe;
    mx_tensor *out;
    int n;
    mx_error *error;
} answer;

static mx_tensor *output(answer *a, const char *role, const char *dtype, int rank, int64_t n0, int64_t n1)
{
    int64_t shape[2] = {n0, n1};
    if (mx_tensor_make(&a->out[a->n], role, dtype, rank, shape, a->error)) return NULL;
    return &a->out[a->n++];
}

mx_matrix emulate_matrix(const mx_case *c, const mx_tensor *t)
{
    int64_t rows = t->rank > 1 ? t->shape[0] : 1, width = t->rank ? t->shape[t->rank - 1] : 1;
    /* A pitched case stores whole rows; `cols` says how many of them are data. */
    int64_t cols = c->pitch && t->rank > 1 && c->pitch == width ? c->cols : width;
    return (mx_matrix){mx_format_find(t->dtype), t->data, rows, cols, width};
}

static mx_status need(answer *a, const char *role, const mx_tensor **t)
{
    *t = mx_case_in(a->c, role);
    return *t ? MX_OK : mx_fail(a->error, MX_BAD_INPUT, a->c->id, "the case has no input '%s'", role);
}

static mx_status answer_cast(answer *a)
{
    const mx_tensor *x;
    mx_status s = need(a, "x", &x);
    if (s) return s;
    int64_t n = mx_tensor_count(x);
    mx_tensor *q = output(a, "q", mx_recipe_element(a->recipe)->name, 1, n, 1);
    if (!q) return MX_NO_MEMORY;
    mx_matrix m = {mx_format_find(x->dtype), x->data, 1, n, n};
    mx_quantize_options o = {.seed = a->c->seed, .threads = 1};
    return mx_quantize_scalar(a->recipe, &m, &o, &(mx_quantized){q->data, NULL, 1}, a->error);
}

/* Quantise x under r into outputs named q_role, scale_role. */
static mx_status quantize_into(answer *a, const mx_recipe *r, const mx_matrix *m, const char *q_role,
                               const char *scale_role)
{
    int64_t gr, gc;
    mx_scale_grid(r, m->rows, m->cols, &gr, &gc);
    mx_tensor *q = output(a, q_role, mx_recipe_element(r)->name, 2, m->rows, m->cols);
    mx_tensor *scale = q ? output(a, scale_role, mx_recipe_scale(r)->name, 2, gr, gc) : NULL;
    if (!scale) return MX_NO_MEMORY;
    const mx_tensor *amax = mx_case_in(a->c, "global_amax");
    mx_quantize_options o = {amax ? (const float *)(const void *)amax->data : NULL, a->c->seed, 0};
    mx_quantized out = {q->data, scale->data, 1};
    mx_status s = mx_quantize_scalar(r, m, &o, &out, a->error);
    if (s || !mx_recipe_has_global(r)) return s;
    mx_tensor *global = output(a, "global", "f32", 1, 1, 1);
    if (!global) return MX_NO_MEMORY;
    memcpy(global->data, &out.global, sizeof out.global);
    return MX_OK;
}

static mx_status answer_quantize(answer *a)
{
    const mx_tensor *x;
    mx_status s = need(a, "x", &x);
    if (s) return s;
    mx_matrix m = emulate_matrix(a->c, x);
    return quantize_into(a, a->recipe, &m, "q", "scale");
}

static mx_status answer_quantize_both(answer *a)
{
    const mx_recipe *columnwise = mx_recipe_columnwise(a->recipe);
    if (!columnwise)
        return mx_fail(a->error, MX_UNSUPPORTED, a->c->id, "recipe %s has no columnwise twin", a->c->recipe);
    mx_status s = answer_quantize(a);
    if (s) return s;
    mx_matrix m = emulate_matrix(a->c, mx_case_in(a->c, "x"));
    return quantize_into(a, columnwise, &m, "qt", "scalet");
}

/* ---- activations: computed in fp32, rounded to the inputs' type, then quantised
 * ------------------------------- */

static float value_at(const mx_tensor *t, int64_t i)
{
    mx_dtype d;
    return mx_dtype_find(t->dtype, &d) ? (float)mx_dtype_value(&d, mx_dtype_bits(&d, t->data, i)) : 0;
}

/* The inputs' matrices by role; they must be alike. */
static mx_status need_alike(answer *a, const char *const *roles, int n, const mx_tensor **t)
{
    for (int i = 0; i < n; i++) {
        mx_status s = need(a, roles[i], &t[i]);
        if (s) return s;
        if (t[i]->rank != 2 || t[i]->shape[0] != t[0]->shape[0] || t[i]->shape[1] != t[0]->shape[1] ||
            strcmp(t[i]->dtype, t[0]->dtype))
            return mx_fail(a->error, MX_BAD_INPUT, a->c->id, "'%s' and '%s' are not alike", roles[0],
                           roles[i]);
    }
    return MX_OK;
}

/* Quantise the activation `y`, rows x cols of fp32, rounded to the inputs' type first; both ways if asked to.
 */
static mx_status quantize_activation(answer *a, const mx_tensor *like, float *y, int64_t rows, int64_t cols,
                                     bool both)
{
    static const mx_cast cast = {MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};
    const mx_format *f = mx_format_find(like->dtype);
    for (int64_t i = 0; i < rows * cols; i++)
        y[i] = (float)mx_decode(f, mx_encode(f, (double)y[i], &cast, 0));
    mx_matrix m = {mx_format_find("f32"), y, rows, cols, cols};
    const mx_recipe *columnwise = both ? mx_recipe_columnwise(a->recipe) : NULL;
    if (both && !columnwise)
        return mx_fail(a->error, MX_UNSUPPORTED, a->c->id, "recipe %s has no columnwise twin", a->c->recipe);
    mx_status s = quantize_into(a, a->recipe, &m, "q", "scale");
    return s || !both ? s : quantize_into(a, columnwise, &m, "qt", "scalet");
}

static mx_status answer_swiglu_way(answer *a, bool both)
{
    static const char *const roles[] = {"gate", "up"};
    const mx_tensor *t[2];
    mx_status s = need_alike(a, roles, 2, t);
    if (s) return s;
    mx_matrix m = emulate_matrix(a->c, t[0]);
    float *y = malloc((size_t)(m.rows * m.cols) * sizeof *y + 1);
    if (!y) return mx_fail(a->error, MX_NO_MEMORY, a->c->id, "out of memory");
    for (int64_t r = 0; r < m.rows; r++)
        for (int64_t c = 0; c < m.cols; c++)
            y[r * m.cols + c] = mx_swiglu(value_at(t[0], r * m.pitch + c), value_at(t[1], r * m.pitch + c));
    s = quantize_activation(a, t[0], y, m.rows, m.cols, both);
    free(y);
    return s;
}

static mx_status answer_swiglu(answer *a) { return answer_swiglu_way(a, false); }
static mx_status answer_swiglu_both(answer *a) { return answer_swiglu_way(a, true); }

static mx_status answer_swiglu_grad(answer *a)
{
    static const char *const roles[] = {"gate", "up", "dy"};
    const mx_tensor *t[3];
    mx_status s = need_alike(a, roles, 3, t);
    if (s) return s;
    mx_matrix m = emulate_matrix(a->c, t[0]);
    float *y = malloc((size_t)(m.rows * m.cols) * 2 * sizeof *y + 1);
    if (!y) return mx_fail(a->error, MX_NO_MEMORY, a->c->id, "out of memory");
    for (int64_t r = 0; r < m.rows; r++)
        for (int64_t c = 0; c < m.cols; c++) {
            int64_t i = r * m.pitch + c;
            float *row = y + r * 2 * m.cols;
            mx_swiglu_grad(value_at(t[0], i), value_at(t[1], i), value_at(t[2], i), &row[c],
                           &row[m.cols + c]);
        }
    s = quantize_activation(a, t[0], y, m.rows, 2 * m.cols, true);
    free(y);
    return s;
}

static mx_status answer_dequantize(answer *a)
{
    const mx_tensor *q, *scale;
    mx_status s = need(a, "q", &q);
    if (!s) s = need(a, "scale", &scale);
    if (s) return s;
    const mx_format *to = mx_format_find(a->c->output);
    if (!to) return mx_fail(a->error, MX_BAD_INPUT, a->c->id, "unknown output format '%s'", a->c->output);
    mx_tensor *y = output(a, "y", to->name, 2, q->shape[0], q->shape[1]);
    if (!y) return MX_NO_MEMORY;
    const mx_tensor *global = mx_case_in(a->c, "global");
    mx_quantized in = {q->data, scale->data, 1};
    if (global) memcpy(&in.global, global->data, sizeof in.global);
    return mx_dequantize(a->recipe, &in, q->shape[0], q->shape[1], to, y->data, q->shape[1], a->error);
}

/* A grid of units and where its layout puts them. */
static mx_status answer_place(answer *a)
{
    const mx_tensor *grid, *offsets = mx_case_in(a->c, "offsets");
    mx_status s = need(a, "grid", &grid);
    if (s) return s;
    bool scales = *a->c->scale_layout;
    const char *name = scales ? a->c->scale_layout : a->c->data_layout;
    const mx_layout *l = mx_layout_find_for(name, scales, (int)mx_dtype_bytes(grid->dtype) * 8);
    if (!l) return mx_fail(a->error, MX_BAD_INPUT, a->c->id, "unknown layout '%s'", name);
    mx_grid g = {grid->shape[0], grid->shape[1], 0, NULL, 0};
    if (offsets) {
        g.groups = (const int64_t *)(const void *)offsets->data;
        g.n_groups = mx_tensor_count(offsets) - 1;
    }
    mx_tensor *packed = output(a, "packed", "u8", 1, mx_layout_bytes(l, &g), 1);
    return packed ? mx_layout_pack(l, &g, grid->data, packed->data, a->error) : MX_NO_MEMORY;
}

/* A case without a model is answered with the exact results, rounded once. */
static mx_status answer_product(answer *a)
{
    product q;
    mx_status s = product_make(&q, a->c, a->c->output, a->error);
    if (!s && *a->c->model) s = product_claim(&q, a->c->model, a->c->schedule, a->error);
    if (!s) {
        bool each = q.grouped && q.form == MX_GROUPED_K; /* a matrix for each expert */
        int64_t shape[3] = {q.experts, q.p.a.rows, q.cols};
        s = mx_tensor_make(&a->out[a->n], "d", q.p.d_format->name, each ? 3 : 2, shape + !each, a->error);
        if (!s) s = product_run(&q, a->out[a->n++].data, a->error);
    }
    product_free(&q);
    return s;
}

static const struct {
    bool needs_recipe;
    const char *operation;
    mx_status (*run)(answer *a);
} operations[] = {
    {true, "cast", answer_cast},
    {true, "quantize", answer_quantize},
    {true, "quantize-both", answer_quantize_both},
    {true, "dequantize", answer_dequantize},
    {true, "swiglu-quantize", answer_swiglu},
    {true, "swiglu-quantize-both", answer_swiglu_both},
    {true, "swiglu-grad-quantize", answer_swiglu_grad},
    {false, "place", answer_place},
    {true, "gemm", answer_product},
    {true, "grouped-forward", answer_product},
    {true, "grouped-dgrad", answer_product},
    {true, "grouped-wgrad", answer_product},
};

mx_status emulate_case(const mx_case *c, mx_tensor out[MX_MAX_TENSORS], int *n_out, mx_error *e)
{
    answer a = {c, mx_recipe_find(c->recipe), out, 0, e};
    mx_status s = mx_fail(e, MX_UNSUPPORTED, c->id, "the emulator has no operation '%s'", c->operation);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(c->operation, operations[i].operation)) continue;
        s = operations[i].needs_recipe && !a.recipe
                ? mx_fail(e, MX_BAD_USAGE, c->id, "no recipe '%s'", c->recipe)
                : operations[i].run(&a);
    }
    if (s)
        while (a.n)
            mx_tensor_free(&out[--a.n]);
    *n_out = a.n;
    return s;
}
