/* SPDX-License-Identifier: Apache-2.0
 * Quantising in parts. */
#include <stdlib.h>
#include <string.h>

#include "band.h"
#include "dtype.h"
#include "f32.h"
#include "plan.h"

static bool whole_tensor(const mx_recipe *r) { return r->scale && !r->block_rows && !r->block_cols; }

bool mx_band_needs_amax(const mx_recipe *r) { return whole_tensor(r) || mx_recipe_has_global(r); }

/* Columns [c0, c0 + n) of row i as fp32. */
static void load_row(const mx_matrix *x, int64_t i, int64_t c0, int64_t n, float *out)
{
    mx_dtype d;
    if (!mx_dtype_find(x->format->name, &d)) return;
    const char *row = (const char *)x->data + (i * x->pitch + c0) * d.bytes;
    if (x->format->bits == 32) {
        memcpy(out, row, (size_t)n * sizeof *out);
        return;
    }
    bool bf16 = x->format->bits == 16 && x->format->exp_bits == 8;
    for (int64_t j = 0; j < n; j++) {
        uint32_t code = (uint32_t)mx_dtype_bits(&d, row, j);
        out[j] = bf16 ? f32_from(code << 16) : (float)mx_decode(x->format, code);
    }
}

/* What is done with each block of a part; (i, j) is its first element, `index` its place in the scale grid.
 */
typedef void (*visit)(const mx_recipe *r, const mx_block *b, int64_t i, int64_t j, int64_t index,
                      void *context);

/* Blocks of the recipe, or single rows where it has none of its own, gathered as mx_quantize does. */
static mx_status for_blocks(const mx_recipe *r, const mx_matrix *x, const mx_band *w, visit f, void *context,
                            mx_error *e)
{
    int64_t rows = 1, cols = x->cols, grid_cols = 1, grid_rows;
    if (r->scale && !whole_tensor(r)) {
        mx_recipe_block(r, x->rows, x->cols, &rows, &cols);
        mx_scale_grid(r, x->rows, x->cols, &grid_rows, &grid_cols);
    }
    if (!x->rows || !x->cols) return MX_OK;
    float *buffer = malloc((size_t)(rows * cols) * sizeof *buffer);
    if (!buffer) return mx_fail(e, MX_NO_MEMORY, r->name, "no memory for a block");
    for (int64_t i = 0; i < x->rows; i += rows)
        for (int64_t j = 0; j < x->cols; j += cols) {
            mx_block b = {.x = buffer,
                          .rows = x->rows - i < rows ? x->rows - i : rows,
                          .cols = x->cols - j < cols ? x->cols - j : cols,
                          .col_stride = 1,
                          .source = x->format,
                          .global_amax = w->amax,
                          .seed = w->seed,
                          /* of the element's place in the whole matrix */
                          .index = (uint64_t)(w->first_row + i) * (uint64_t)w->matrix_cols +
                                   (uint64_t)(w->first_col + j),
                          .index_stride = (uint64_t)w->matrix_cols};
            b.row_stride = b.cols;
            for (int64_t k = 0; k < b.rows; k++)
                load_row(x, i + k, j, b.cols, buffer + k * b.cols);
            if (r->hadamard) mx_hadamard16(buffer, b.rows * b.cols);
            f(r, &b, i, j, i / rows * grid_cols + j / cols, context);
        }
    free(buffer);
    return MX_OK;
}

static void visit_amax(const mx_recipe *r, const mx_block *b, int64_t i, int64_t j, int64_t index,
                       void *context)
{
    (void)i, (void)j, (void)index;
    float *amax = context;
    *amax = mx_amax_join(*amax, mx_block_amax(r, b, 0));
}

mx_status mx_band_amax(const mx_recipe *r, const mx_matrix *part, float *so_far, mx_error *e)
{
    mx_band nowhere = {0};
    return for_blocks(r, part, &nowhere, visit_amax, so_far, e);
}

typedef struct target {
    const mx_plan *plan; /* one scale for the whole matrix; NULL: one a block */
    mx_quantized *out;
    int64_t cols;
} target;

static void visit_quantize(const mx_recipe *r, const mx_block *b, int64_t i, int64_t j, int64_t index,
                           void *context)
{
    const target *t = context;
    uint8_t *codes = t->out->codes + i * t->cols + j;
    uint32_t scale = 0;
    if (t->plan) {
        mx_plan_encode_block(r, t->plan, b, codes, t->cols);
        return;
    }
    scale = mx_quantize_block(r, b, codes, t->cols);
    if (r->scale && r->scale->bits > 8)
        memcpy((char *)t->out->scales + 4 * index, &scale, 4);
    else if (r->scale)
        ((uint8_t *)t->out->scales)[index] = (uint8_t)scale;
}

static void store_whole_scale(const mx_recipe *r, const mx_plan *p, void *scales)
{
    if (r->scale->bits > 8)
        memcpy(scales, &p->stored, 4);
    else
        *(uint8_t *)scales = (uint8_t)p->stored;
}

/* Block by block with each element's own place, for what mx_quantize would draw or scale by the part. */
static mx_status by_blocks(const mx_recipe *r, const mx_matrix *x, const mx_band *w, mx_quantized *out,
                           mx_error *e)
{
    target t = {.out = out, .cols = x->cols};
    mx_plan plan;
    if (whole_tensor(r)) {
        plan = mx_plan_make(r, w->amax, w->amax, x->format, 0);
        t.plan = &plan;
        if (x->rows && x->cols) store_whole_scale(r, &plan, out->scales);
    }
    return for_blocks(r, x, w, visit_quantize, &t, e);
}

mx_status mx_band_quantize(const mx_recipe *r, const mx_matrix *part, const mx_band *where, mx_quantized *out,
                           mx_error *e)
{
    mx_quantize_options options = {
        .global_amax = &where->amax, .seed = where->seed, .threads = where->threads};
    if (!mx_recipe_has_global(r)) options.global_amax = NULL;
    out->global = mx_global_store(r, where->amax);
    if (!whole_tensor(r) && r->cast.rounding != MX_STOCHASTIC) return mx_quantize(r, part, &options, out, e);
    if (r->element->bits > 8)
        return mx_fail(e, MX_UNSUPPORTED, r->name, "codes of %d bits do not fit a byte", r->element->bits);
    return by_blocks(r, part, where, out, e);
}
