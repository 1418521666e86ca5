/* SPDX-License-Identifier: Apache-2.0
 * Operands of products: rounded, quantised, transposed. */
#include <stdlib.h>
#include <string.h>

#include "ideal.h"
#include "linear.h"
#include "recipe.h"

/* To fp32, as a kernel stores its sums, then to bf16, each to nearest even; a NaN stays one. */
static uint16_t to_bf16(double x)
{
    float f = (float)x;
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    if ((b & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(b >> 16 | 0x40);
    return (uint16_t)((b + 0x7FFF + (b >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t x)
{
    uint32_t b = (uint32_t)x << 16;
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static void *room(int64_t n, size_t size) { return malloc((size_t)(n > 0 ? n : 1) * size); }

void mx_side_free(mx_side *s)
{
    free(s->bf16);
    free(s->codes);
    free(s->scales);
    free(s->values);
    *s = (mx_side){0};
}

static mx_status no_memory(const mx_view *v, mx_error *e)
{
    return mx_fail(e, MX_NO_MEMORY, "operand", "no memory for %lld x %lld values", (long long)v->rows,
                   (long long)v->k);
}

static mx_status side_begin(const mx_view *v, const mx_recipe *r, mx_side *s, mx_error *e)
{
    int64_t n = v->rows * v->k;
    *s = (mx_side){.recipe = r, .rows = v->rows, .k = v->k, .global = 1};
    s->bf16 = room(n, sizeof *s->bf16);
    s->values = room(n, sizeof *s->values);
    if (r) {
        int64_t grid_rows, grid_cols;
        mx_scale_grid(r, v->rows, v->k, &grid_rows, &grid_cols);
        s->codes = room(n, 1);
        s->scales = room(grid_rows * grid_cols, 4);
    }
    return s->bf16 && s->values && (!r || (s->codes && s->scales)) ? MX_OK : no_memory(v, e);
}

static void load_bf16(const mx_view *v, uint16_t *to)
{
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++)
            to[i * v->k + j] = to_bf16(v->x[i * v->row_stride + j * v->k_stride]);
}

static mx_status read_back(mx_side *s, mx_error *e)
{
    mx_quantized q = {s->codes, s->scales, s->global};
    return mx_dequantize(s->recipe, &q, s->rows, s->k, mx_format_find("f32"), s->values, s->k, e);
}

static mx_status quantize(mx_side *s, uint64_t seed, mx_error *e)
{
    mx_matrix m = {mx_format_find("bf16"), s->bf16, s->rows, s->k, s->k};
    mx_quantize_options o = {.seed = seed, .threads = 1};
    mx_quantized q = {s->codes, s->scales, 1};
    mx_status status = mx_quantize(s->recipe, &m, &o, &q, e);
    s->global = q.global;
    return status ? status : read_back(s, e);
}

static void transpose(const mx_side *from, mx_side *to)
{
    for (int64_t i = 0; i < to->rows; i++)
        for (int64_t j = 0; j < to->k; j++) {
            to->codes[i * to->k + j] = from->codes[j * from->k + i];
            to->bf16[i * to->k + j] = to_bf16(from->values[j * from->k + i]);
        }
}

/* Scale of the block whose first element lies at (i, j) here and at (j, i) there. */
static void reuse_scales(const mx_side *from, mx_side *to)
{
    int64_t rows, cols, grid_rows, grid_cols, there_rows, there_cols, there_grid_rows, there_grid_cols;
    mx_recipe_block(to->recipe, to->rows, to->k, &rows, &cols);
    mx_scale_grid(to->recipe, to->rows, to->k, &grid_rows, &grid_cols);
    mx_recipe_block(from->recipe, from->rows, from->k, &there_rows, &there_cols);
    mx_scale_grid(from->recipe, from->rows, from->k, &there_grid_rows, &there_grid_cols);
    size_t width = to->recipe->scale->bits > 8 ? 4 : 1;
    for (int64_t i = 0; i < grid_rows; i++)
        for (int64_t j = 0; j < grid_cols; j++) {
            int64_t at = j * cols / there_rows * there_grid_cols + i * rows / there_cols;
            memcpy((char *)to->scales + (size_t)(i * grid_cols + j) * width,
                   (const char *)from->scales + (size_t)at * width, width);
        }
    to->global = from->global;
}

static mx_status from_rowwise(const mx_view *v, mx_copy copy, uint64_t seed, mx_side *s, mx_error *e)
{
    mx_view other = {v->x, v->k, v->rows, v->k_stride, v->row_stride};
    mx_side row;
    mx_status status = side_begin(&other, s->recipe, &row, e);
    if (!status) {
        load_bf16(&other, row.bf16);
        status = quantize(&row, seed, e);
    }
    if (!status) {
        transpose(&row, s);
        if (copy == MX_COPY_ROWWISE && s->recipe->scale) reuse_scales(&row, s);
        status = copy == MX_COPY_ROWWISE ? read_back(s, e) : quantize(s, seed + 1, e);
    }
    mx_side_free(&row);
    return status;
}

mx_status mx_side_make(const mx_scheme *s, const mx_recipe *r, const mx_view *v, mx_copy copy, uint64_t seed,
                       mx_side *out, mx_error *e)
{
    mx_status status = side_begin(v, s->arith == MX_ARITH_QUANTIZED ? r : NULL, out, e);
    if (status || !v->rows || !v->k) return status;
    if (out->recipe && copy != MX_COPY_SOURCE) return from_rowwise(v, copy, seed, out, e);
    load_bf16(v, out->bf16);
    if (out->recipe) return quantize(out, seed, e);
    for (int64_t i = 0; i < v->rows * v->k; i++)
        out->values[i] = from_bf16(out->bf16[i]);
    if (s->arith == MX_ARITH_IDEAL) mx_ideal_noise(r, v->rows, v->k, seed, out->values);
    return MX_OK;
}
