/* SPDX-License-Identifier: Apache-2.0 */
#include "ideal.h"

#include <math.h>

#include "random.h"
#include "recipe.h"

typedef struct grid {
    int least, man; /* exponent of the smallest normal, mantissa bits */
    double spread;  /* width of the error in steps */
    double exact;   /* magnitude that has no error: the largest, where the scale brings amax to it; 0: none */
} grid;

static double noisy(const grid *g, double scale, double x, double u)
{
    double v = fabs(x) / scale;
    if (!(v > 0) || isinf(v) || fabs(v - g->exact) < 1e-12 * v) return x;
    int exponent = ilogb(v);
    double step = ldexp(1, (exponent < g->least ? g->least : exponent) - g->man);
    if (v < step / 2 && g->spread == 1) return 0;
    return x + scale * step * g->spread * (u - 0.5);
}

static double ideal_scale(const mx_recipe *r, double amax)
{
    double s = amax / mx_format_max(r->element);
    if (!r->scale || !(s > 0)) return 1;
    if (r->scale->kind != MX_KIND_EXPONENT) return s;
    int exponent;
    double fraction = frexp(s, &exponent);
    return ldexp(1, fraction == 0.5 ? exponent - 1 : exponent);
}

static void block(const mx_recipe *r, const grid *g, float *x, int64_t rows, int64_t cols, int64_t pitch,
                  uint64_t seed, uint64_t first)
{
    double amax = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            amax = fmax(amax, fabs(x[i * pitch + j]));
    double scale = r ? ideal_scale(r, amax) : 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            uint64_t at = (uint64_t)(i * pitch + j);
            x[at] = (float)noisy(g, scale, x[at], mx_random_uniform(seed, 7, first + at));
        }
}

void mx_ideal_noise(const mx_recipe *r, int64_t rows, int64_t cols, uint64_t seed, float *x)
{
    const mx_format *f = r ? r->element : mx_format_find("bf16");
    grid g = {f->kind == MX_KIND_FIXED ? 0 : mx_format_emin(f), f->man_bits,
              r && r->cast.rounding == MX_STOCHASTIC ? sqrt(2) : 1,
              r && r->scale && r->scale->kind != MX_KIND_EXPONENT ? mx_format_max(f) : 0};
    int64_t block_rows = 1, block_cols = cols;
    if (r) mx_recipe_block(r, rows, cols, &block_rows, &block_cols);
    for (int64_t i = 0; i < rows; i += block_rows)
        for (int64_t j = 0; j < cols; j += block_cols)
            block(r, &g, x + i * cols + j, rows - i < block_rows ? rows - i : block_rows,
                  cols - j < block_cols ? cols - j : block_cols, cols, seed, (uint64_t)(i * cols + j));
}
