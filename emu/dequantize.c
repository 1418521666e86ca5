/* SPDX-License-Identifier: Apache-2.0
 * Codes and scales back to values. Code, block scale and global factor have 4, 4 and 24 significant bits at
 * most (or 4 and 24), so their product is exact in fp64 and is rounded once. */
#include "f32.h"
#include "fast.h"
#include "quantize.h"

static uint32_t load_scale(const mx_recipe *r, const void *scales, int64_t i)
{
    uint32_t scale = 0;
    if (r->scale->bits <= 8) return ((const uint8_t *)scales)[i];
    memcpy(&scale, (const char *)scales + 4 * i, 4);
    return scale;
}

static void store(const mx_format *f, void *y, int64_t i, double value)
{
    mx_cast cast = MX_CAST_DEFAULT;
    cast.overflow = MX_OVERFLOW;
    uint32_t code = mx_encode(f, value, &cast, 0);
    size_t bytes = f->bits > 16 ? 4 : f->bits > 8 ? 2 : 1;
    memcpy((char *)y + i * (int64_t)bytes, &code, bytes);
}

mx_status mx_dequantize(const mx_recipe *r, const mx_quantized *q, int64_t rows, int64_t cols,
                        const mx_format *format, void *y, int64_t pitch, mx_error *e)
{
    if (!r || !q || !format) return mx_fail(e, MX_BAD_USAGE, "dequantize", "a null argument");
    int64_t total = 0;
    if (rows < 0 || cols < 0 || (rows > 1 && pitch < cols) ||
        __builtin_mul_overflow(rows, pitch > cols ? pitch : cols, &total) || total > INT64_MAX / 8)
        return mx_fail(e, MX_BAD_USAGE, "y", "shape %lld x %lld with pitch %lld", (long long)rows,
                       (long long)cols, (long long)pitch);
    if (rows == 0 || cols == 0) return MX_OK;
    if (!y || !q->codes || (r->scale && !q->scales))
        return mx_fail(e, MX_BAD_USAGE, "dequantize", "no memory given for a matrix that is not empty");

    if (mx_fast_reads(r, format)) return mx_dequantize_fast(r, q, rows, cols, format, y, pitch, e);

    int64_t block_rows, block_cols, grid_rows, grid_cols;
    mx_recipe_block(r, rows, cols, &block_rows, &block_cols);
    mx_scale_grid(r, rows, cols, &grid_rows, &grid_cols);
    double global = (double)mx_global_value(r, q->global);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double value = mx_decode(r->element, q->codes[i * cols + j]);
            if (r->scale) {
                int64_t block = i / block_rows * grid_cols + j / block_cols;
                value *= mx_scale_value(r, load_scale(r, q->scales, block)) * global;
            }
            store(format, y, i * pitch + j, value);
        }
    return MX_OK;
}
