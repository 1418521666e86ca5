/* SPDX-License-Identifier: Apache-2.0
 * The emulator as a subject. A new operation is a new row of the table at the end. */
#include "emulate.h"

#include <stdint.h>
#include <string.h>

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

static const struct {
    bool needs_recipe;
    const char *operation;
    mx_status (*run)(answer *a);
} operations[] = {
    {true, "cast", answer_cast},
    {true, "quantize", answer_quantize},
    {true, "quantize-both", answer_quantize_both},
    {true, "dequantize", answer_dequantize},
    {false, "place", answer_place},
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
