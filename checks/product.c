/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "recipe.h"

static const struct {
    const char *operation;
    bool grouped;
    mx_grouped_form form;
} forms[] = {
    {"gemm", false, MX_GROUPED_ROWS},
    {"grouped-forward", true, MX_GROUPED_ROWS},
    {"grouped-dgrad", true, MX_GROUPED_ROWS},
    {"grouped-wgrad", true, MX_GROUPED_K},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

enum { SMALL = 1 << 22 };

static int form_of(const char *operation)
{
    for (int i = 0; i < N_FORMS; i++)
        if (!strcmp(operation, forms[i].operation)) return i;
    return -1;
}

bool product_is(const char *operation) { return form_of(operation) >= 0; }

static int64_t blocks(int64_t n, int64_t block) { return n / block + (n % block != 0); }

/* ---- operands ---------------------------------------------------------------------------------------- */

static mx_status bad_shape(const mx_case *c, const char *role, mx_error *e)
{
    return mx_fail(e, MX_BAD_INPUT, c->id, "'%s' does not fit the other tensors of the product", role);
}

/* Does the tensor hold what its shape says, `unit` bytes each? */
static bool is_whole(const mx_tensor *t, size_t unit)
{
    int64_t n = (int64_t)unit;
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] < 0 || __builtin_mul_overflow(n, t->shape[i], &n)) return false;
    return (size_t)n == t->bytes;
}

/* Rows that share a scale: one, or as many as a block has lanes. 0: the grid fits neither. */
static int64_t rows_of_block(int64_t rows, int64_t grid_rows, int64_t block_k, int64_t recipe_rows)
{
    if (grid_rows == rows && recipe_rows == 1) return 1;
    if (recipe_rows > 0 && grid_rows == blocks(rows, recipe_rows)) return recipe_rows;
    return grid_rows == blocks(rows, block_k) ? block_k : 0;
}

/* One operand with its scales: rows x k of each of `experts` matrices that lie one after the other. */
static mx_status take_operand(const mx_case *c, const char *name, int rank, mx_operand *out,
                              int64_t *scale_stride, mx_error *e)
{
    char scale_name[24];
    snprintf(scale_name, sizeof scale_name, "%s_scale", name);
    const mx_tensor *t = mx_case_in(c, name), *s = mx_case_in(c, scale_name);
    const mx_recipe *r = mx_recipe_find(c->recipe);
    if (!r || !r->scale) return mx_fail(e, MX_UNSUPPORTED, c->id, "recipe '%s' has no scales", c->recipe);
    if (!t || !s) return mx_fail(e, MX_BAD_INPUT, c->id, "a product needs '%s' and '%s'", name, scale_name);
    if (t->rank != rank || s->rank != rank || (rank == 3 && t->shape[0] != s->shape[0]))
        return bad_shape(c, name, e);
    const mx_format *f = mx_format_find(t->dtype);
    if (!f || f->bits > 8) f = r->element;
    if (!is_whole(t, 1)) return bad_shape(c, name, e);
    int64_t rows = t->shape[rank - 2], k = t->shape[rank - 1], block_rows, block_k;
    mx_recipe_block(r, rows, k, &block_rows, &block_k);
    if (block_k < 1) block_k = 1;
    block_rows = rows_of_block(rows, s->shape[rank - 2], block_k, block_rows);
    size_t unit = r->scale->bits == 32 ? 4 : 1;
    if (!block_rows || s->shape[rank - 1] != blocks(k, block_k) || !is_whole(s, unit))
        return bad_shape(c, scale_name, e);
    *out = mx_operand_scaled(f, t->data, rows, k, r->scale, s->data, block_rows, block_k);
    *scale_stride = s->shape[rank - 2] * s->shape[rank - 1];
    return MX_OK;
}

static mx_status take_offsets(product *q, const mx_case *c, int64_t total, mx_error *e)
{
    const mx_tensor *t = mx_case_in(c, "offsets");
    if (!t || strcmp(t->dtype, "i64") || mx_tensor_count(t) < 2 || !is_whole(t, sizeof(int64_t)))
        return mx_fail(e, MX_BAD_INPUT, c->id, "a grouped product needs 'offsets', i64 [experts + 1]");
    q->offsets = (const int64_t *)(const void *)t->data;
    q->experts = mx_tensor_count(t) - 1;
    bool good = q->offsets[0] == 0 && q->offsets[q->experts] == total;
    for (int64_t i = 0; i < q->experts; i++)
        good &= q->offsets[i] <= q->offsets[i + 1];
    return good ? MX_OK : bad_shape(c, "offsets", e);
}

static bool share_blocks(const product *q)
{
    for (int64_t i = 0; i < q->experts; i++)
        if (q->offsets[i] % q->p.a.block_k && q->offsets[i] != q->p.a.k) return true;
    return false;
}

/* Groups that begin inside a scale block: give every lane the scale of its own. */
static mx_status one_scale_a_lane(mx_operand *x, void **owned, mx_error *e)
{
    size_t unit = x->scale_format->bits == 32 ? 4 : 1;
    char *to = calloc((size_t)(x->rows * x->k) + 1, unit);
    if (!to) return mx_fail(e, MX_NO_MEMORY, "product", "no memory for scales");
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t k = 0; k < x->k; k++)
            memcpy(to + (size_t)(r * x->k + k) * unit,
                   (const char *)x->scales +
                       (size_t)(r / x->block_rows * x->scale_row_stride + k / x->block_k) * unit,
                   unit);
    *owned = to;
    x->scales = to;
    x->block_rows = x->block_k = 1;
    x->scale_row_stride = x->k;
    return MX_OK;
}

static mx_status take_epilogue(product *q, const mx_case *c, mx_error *e)
{
    const mx_tensor *added = mx_case_in(c, "c"), *bias = mx_case_in(c, "bias");
    q->p.alpha = c->alpha;
    q->p.beta = added ? c->beta : 0;
    if (added) {
        q->p.c_format = mx_format_find(added->dtype);
        q->p.c = added->data;
        q->p.c_pitch = q->cols;
        if (!q->p.c_format || q->p.c_format->bits < 16 || mx_tensor_count(added) != q->rows * q->cols)
            return bad_shape(c, "c", e);
    }
    if (bias) {
        q->p.bias_format = mx_format_find(bias->dtype);
        q->p.bias = bias->data;
        if (!q->p.bias_format || q->p.bias_format->bits < 16 || mx_tensor_count(bias) != q->cols)
            return bad_shape(c, "bias", e);
    }
    return MX_OK;
}

mx_status product_make(product *q, const mx_case *c, const char *output, mx_error *e)
{
    int i = form_of(c->operation);
    *q = (product){.p = mx_product_init(NULL, NULL)};
    if (i < 0) return mx_fail(e, MX_UNSUPPORTED, c->id, "'%s' is no product", c->operation);
    q->grouped = forms[i].grouped;
    q->form = forms[i].form;
    q->p.d_format = mx_format_find(output && *output ? output : "f32");
    if (!q->p.d_format || q->p.d_format->bits < 16)
        return mx_fail(e, MX_UNSUPPORTED, c->id, "outputs in '%s' are not known here", output);
    bool by_rows = q->grouped && q->form == MX_GROUPED_ROWS;
    int64_t unused;
    mx_status s = take_operand(c, "a", 2, &q->p.a, &unused, e);
    if (!s) s = take_operand(c, "b", by_rows ? 3 : 2, &q->p.b, &q->b_scale_stride, e);
    if (!s && q->p.a.k != q->p.b.k) s = bad_shape(c, "b", e);
    if (!s && q->grouped) s = take_offsets(q, c, by_rows ? q->p.a.rows : q->p.a.k, e);
    if (!s && by_rows && mx_case_in(c, "b")->shape[0] != q->experts) s = bad_shape(c, "b", e);
    if (s) return s;
    q->b_stride = q->p.b.rows * q->p.b.k;
    if (q->p.a.rows * q->p.b.rows <= SMALL / (q->p.a.k + 1))
        q->p.threads = 1; /* starting threads costs more */
    q->cols = q->p.b.rows;
    q->rows = q->p.a.rows;
    if (q->grouped && !by_rows && __builtin_mul_overflow(q->p.a.rows, q->experts, &q->rows))
        return bad_shape(c, "offsets", e);
    if (q->grouped && !by_rows && share_blocks(q)) {
        s = one_scale_a_lane(&q->p.a, &q->owned[0], e);
        if (!s) s = one_scale_a_lane(&q->p.b, &q->owned[1], e);
    }
    return s ? s : take_epilogue(q, c, e);
}

void product_free(product *q)
{
    free(q->owned[0]);
    free(q->owned[1]);
    q->owned[0] = q->owned[1] = NULL;
}

/* ---- results ----------------------------------------------------------------------------------------- */

mx_status product_claim(product *q, const char *model, const char *schedule, mx_error *e)
{
    q->p.model = mx_model_find(model);
    if (!q->p.model)
        return mx_fail(e, MX_UNSUPPORTED, model, "no accumulation model '%s': see mxcheck list models",
                       model);
    mx_status s = mx_schedule_parse(schedule, &q->p.schedule, e);
    if (s) q->p.model = NULL;
    return s;
}

static size_t code_bytes(const mx_format *f) { return f->bits <= 16 ? 2 : 4; }

mx_status product_of_row(const product *q, int64_t row, mx_product *one, int64_t *local, mx_error *e)
{
    *one = q->p;
    *local = row;
    if (!q->grouped) return MX_OK;
    if (q->form == MX_GROUPED_K) {
        int64_t expert = row / q->p.a.rows, first = q->offsets[expert];
        int64_t n = q->offsets[expert + 1] - first;
        *local = row % q->p.a.rows;
        mx_status s = mx_operand_lanes(&q->p.a, first, n, &one->a, e);
        return s ? s : mx_operand_lanes(&q->p.b, first, n, &one->b, e);
    }
    int64_t expert = 0;
    while (expert + 1 < q->experts && row >= q->offsets[expert + 1])
        expert++;
    one->b.data = (const char *)q->p.b.data + expert * q->b_stride;
    one->b.scales =
        (const char *)q->p.b.scales + expert * q->b_scale_stride * (q->p.b.scale_format->bits == 32 ? 4 : 1);
    return MX_OK;
}

static void store(const mx_format *f, void *d, int64_t at, double x)
{
    static const mx_cast cast = {MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};
    uint32_t code = mx_encode(f, x, &cast, 0);
    memcpy((char *)d + (size_t)at * code_bytes(f), &code, code_bytes(f));
}

/* Without a model: every output the exact result, rounded once to double and once to the output. */
static mx_status run_exact(const product *q, void *d, mx_error *e)
{
    mx_status s = MX_OK;
    for (int64_t r = 0; r < q->rows && !s; r++) {
        mx_product one;
        int64_t local;
        s = product_of_row(q, r, &one, &local, e);
        for (int64_t c = 0; c < q->cols && !s; c++) {
            mx_bound b;
            mx_dot_facts f;
            s = mx_bound_product(&one, NULL, local, c, &b, &f, e);
            double x = f.nan ? (double)NAN : f.infinite ? f.infinite * (double)INFINITY : f.exact;
            if (!s) store(q->p.d_format, d, r * q->cols + c, x);
        }
    }
    return s;
}

mx_status product_run(const product *q, void *d, mx_error *e)
{
    if (!q->p.model) return run_exact(q, d, e);
    mx_product p = q->p;
    p.d = d;
    p.d_pitch = q->cols;
    if (!q->grouped) return mx_gemm(&p, e);
    return mx_gemm_grouped(&p, q->form, q->offsets, q->experts, q->b_stride, q->b_scale_stride, e);
}
