/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows are the unit of summation: within a row, sums run in eight double lanes in a fixed order; each row's
 * sums go into exact accumulators. So the result depends on the data alone. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize.h"

enum { LANES = 8, SEGMENT = 64, REL_LOWEST = -28 };

/* What a code means, looked up once per element format. */
typedef struct code_table {
    float inverse_ulp[2][256]; /* 1 / spacing beyond the code's magnitude; [1]: before it */
    uint8_t subnormal[256], largest[256];
} code_table;

/* A band of block rows: per column the inverse of its scale, and the sums of its block so far. */
typedef struct band {
    const code_table *table;
    const float *x, *y;
    const uint8_t *codes;
    float *inverse;  /* per column; 0 where the scale is 0, NaN or Inf */
    double *e2, *x2; /* per block column */
    int64_t cols, block_cols;
} band;

typedef struct lanes {
    double x2[LANES], y2[LANES], xy[LANES], e2[LANES], e[LANES], u[LANES], u2[LANES];
} lanes;

void mx_stats_init(mx_stats *s)
{
    memset(s, 0, sizeof *s);
    s->worst_ratio = -1;
    s->worst_row = s->worst_col = -1;
}

static void keep_worst(mx_stats *s, double ratio, int64_t row, int64_t col)
{
    bool earlier = row < s->worst_row || (row == s->worst_row && col < s->worst_col);
    if (ratio < s->worst_ratio || (ratio == s->worst_ratio && !earlier)) return;
    s->worst_ratio = ratio;
    s->worst_row = row;
    s->worst_col = col;
}

static void add_counts(uint64_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

void mx_stats_merge(mx_stats *s, const mx_stats *o)
{
    uint64_t *const counters[] = {&s->n,         &s->nonfinite, &s->zero, &s->flushed, &s->saturated,
                                  &s->subnormal, &s->exact,     &s->u_n,  &s->blocks,  &s->zero_blocks};
    const uint64_t others[] = {o->n,         o->nonfinite, o->zero, o->flushed, o->saturated,
                               o->subnormal, o->exact,     o->u_n,  o->blocks,  o->zero_blocks};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        *counters[i] += others[i];
    mx_sum *const sums[] = {&s->x2, &s->y2, &s->xy, &s->e2, &s->e, &s->u, &s->u2};
    const mx_sum *const other_sums[] = {&o->x2, &o->y2, &o->xy, &o->e2, &o->e, &o->u, &o->u2};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        mx_sum_merge(sums[i], other_sums[i]);
    add_counts(s->relative, o->relative, MX_REL_BINS);
    add_counts(s->ulps, o->ulps, MX_ULP_BINS);
    add_counts(s->codes, o->codes, 256);
    add_counts(s->scales, o->scales, 256);
    add_counts(s->spread, o->spread, MX_SPREAD_BINS);
    if (o->worst_row >= 0) keep_worst(s, o->worst_ratio, o->worst_row, o->worst_col);
}

/* Spacing of the format just beyond |v|, or just before it: at a power of two these differ. */
static double spacing(const mx_format *f, double v, bool before)
{
    if (f->kind != MX_KIND_FLOAT || !isfinite(v) || !(v > 0)) return mx_format_tiny(f);
    int exponent = ilogb(v);
    if (before && v == ldexp(1, exponent)) exponent--;
    int emin = mx_format_emin(f);
    return ldexp(1, (exponent < emin ? emin : exponent) - f->man_bits);
}

static void make_table(const mx_format *f, code_table *t)
{
    for (uint32_t code = 0; code < 256; code++) {
        double v = fabs(mx_decode(f, code));
        for (int before = 0; before < 2; before++)
            t->inverse_ulp[before][code] = (float)(1 / spacing(f, v, before));
        t->subnormal[code] = f->kind == MX_KIND_FLOAT && v > 0 && v < ldexp(1, mx_format_emin(f));
        t->largest[code] = v == mx_format_max(f);
    }
}

static double scale_value(const mx_recipe *r, const mx_quantized *q, int64_t i)
{
    const mx_format *f = mx_recipe_scale(r);
    if (f->bits == 32) return (double)((const float *)q->scales)[i];
    double v = mx_scale_value(r, ((const uint8_t *)q->scales)[i]);
    return mx_recipe_has_global(r) ? v * (double)mx_global_value(r, q->global) : v;
}

static uint8_t scale_byte(const mx_recipe *r, const mx_quantized *q, int64_t i)
{
    if (mx_recipe_scale(r)->bits != 32) return ((const uint8_t *)q->scales)[i];
    uint32_t bits;
    memcpy(&bits, (const float *)q->scales + i, 4);
    return (uint8_t)(bits >> 23);
}

/* One element: the rare classes first, then the sums of its lane. */
static void element(mx_stats *s, const band *b, lanes *l, int64_t c, double *segment_e2, double *segment_x2)
{
    float x = b->x[c], y = b->y[c];
    uint8_t code = b->codes[c];
    s->codes[code]++;
    if (!isfinite(x) || !isfinite(y)) {
        s->nonfinite++;
        return;
    }
    double dx = (double)x, dy = (double)y, e = dy - dx;
    int k = (int)(c % LANES);
    l->x2[k] += dx * dx;
    l->y2[k] += dy * dy;
    l->xy[k] += dx * dy;
    l->e2[k] += e * e;
    l->e[k] += e;
    *segment_e2 += e * e * (double)b->inverse[c] * (double)b->inverse[c];
    *segment_x2 += dx * dx * (double)b->inverse[c] * (double)b->inverse[c];
    s->subnormal += b->table->subnormal[code];
    if (x == 0) {
        s->zero++;
        return;
    }
    s->flushed += y == 0;
    double away = x < 0 ? -e : e;
    double ulps = away * (double)(b->inverse[c] * b->table->inverse_ulp[away > 0][code]);
    if (b->table->largest[code] && ulps < -0.5) {
        s->saturated++;
    } else {
        l->u[k] += ulps;
        l->u2[k] += ulps * ulps;
        s->u_n++;
    }
    double bin = floor(ulps * (MX_ULP_BINS / 2)) + MX_ULP_BINS / 2;
    s->ulps[bin < 0 ? 0 : bin >= MX_ULP_BINS ? MX_ULP_BINS - 1 : (int)bin]++;
    if (e == 0) {
        s->exact++;
        return;
    }
    float relative = (float)fabs(e / dx);
    uint32_t bits;
    memcpy(&bits, &relative, 4);
    int at = (int)(bits >> 20) - ((127 + REL_LOWEST) << 3);
    s->relative[at < 0 ? 0 : at >= MX_REL_BINS ? MX_REL_BINS - 1 : at]++;
}

static double fold(const double *v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

static void add_row(mx_stats *s, const band *b)
{
    lanes l;
    memset(&l, 0, sizeof l);
    for (int64_t c0 = 0; c0 < b->cols;) {
        int64_t in_block = b->block_cols - c0 % b->block_cols;
        int64_t end = c0 + (in_block < SEGMENT ? in_block : SEGMENT);
        if (end > b->cols) end = b->cols;
        double e2 = 0, x2 = 0;
        for (int64_t c = c0; c < end; c++)
            element(s, b, &l, c, &e2, &x2);
        b->e2[c0 / b->block_cols] += e2;
        b->x2[c0 / b->block_cols] += x2;
        c0 = end;
    }
    s->n += (uint64_t)b->cols;
    mx_sum_add(&s->x2, fold(l.x2));
    mx_sum_add(&s->y2, fold(l.y2));
    mx_sum_add(&s->xy, fold(l.xy));
    mx_sum_add(&s->e2, fold(l.e2));
    mx_sum_add(&s->e, fold(l.e));
    mx_sum_add(&s->u, fold(l.u));
    mx_sum_add(&s->u2, fold(l.u2));
}

/* Scale bytes of one row of the grid: histogram and spread; and the inverse scale of each column. */
static void open_band(mx_stats *s, const mx_recipe *r, const mx_quantized *q, int64_t grid_row,
                      int64_t grid_cols, band *b)
{
    int low = 256, high = -1;
    for (int64_t k = 0; k < grid_cols; k++) {
        int64_t i = grid_row * grid_cols + k;
        double value = scale_value(r, q, i);
        float inverse = isfinite(value) && value > 0 ? (float)(1 / value) : 0;
        uint8_t byte = scale_byte(r, q, i);
        s->scales[byte]++;
        if (byte) {
            low = byte < low ? byte : low;
            high = byte > high ? byte : high;
        }
        int64_t end = (k + 1) * b->block_cols;
        for (int64_t c = k * b->block_cols; c < end && c < b->cols; c++)
            b->inverse[c] = inverse;
        b->e2[k] = b->x2[k] = 0;
    }
    if (high >= 0) s->spread[high - low < MX_SPREAD_BINS ? high - low : MX_SPREAD_BINS - 1]++;
}

static void close_band(mx_stats *s, const band *b, int64_t row, int64_t grid_cols)
{
    for (int64_t k = 0; k < grid_cols; k++) {
        s->blocks++;
        if (b->x2[k] > 0)
            keep_worst(s, b->e2[k] / b->x2[k], row, k * b->block_cols);
        else
            s->zero_blocks++;
    }
}

mx_status mx_stats_add(mx_stats *s, const mx_recipe *r, const float *x, const mx_quantized *q, const float *y,
                       int64_t row0, int64_t rows, int64_t cols, mx_error *e)
{
    int64_t block_rows, block_cols, grid_rows, grid_cols;
    if (!mx_recipe_scale(r))
        return mx_fail(e, MX_UNSUPPORTED, mx_recipe_name(r), "a plain cast has no blocks");
    mx_recipe_block(r, rows, cols, &block_rows, &block_cols);
    mx_scale_grid(r, rows, cols, &grid_rows, &grid_cols);
    code_table table;
    make_table(mx_recipe_element(r), &table);
    float *inverse = malloc(sizeof *inverse * (size_t)(cols + 1));
    double *sums = malloc(sizeof *sums * 2 * (size_t)(grid_cols + 1));
    if (!inverse || !sums) {
        free(inverse);
        free(sums);
        return mx_fail(e, MX_NO_MEMORY, mx_recipe_name(r), "out of memory");
    }
    band b = {&table, x, y, q->codes, inverse, sums, sums + grid_cols, cols, block_cols};
    for (int64_t g = 0; cols && g < grid_rows; g++) {
        open_band(s, r, q, g, grid_cols, &b);
        int64_t end = (g + 1) * block_rows < rows ? (g + 1) * block_rows : rows;
        for (int64_t row = g * block_rows; row < end; row++) {
            b.x = x + row * cols;
            b.y = y + row * cols;
            b.codes = q->codes + row * cols;
            add_row(s, &b);
        }
        close_band(s, &b, row0 + g * block_rows, grid_cols);
    }
    free(inverse);
    free(sums);
    return MX_OK;
}

double mx_stats_sqnr(const mx_stats *s) { return 10 * log10(mx_sum_value(&s->x2) / mx_sum_value(&s->e2)); }

double mx_stats_cosine(const mx_stats *s)
{
    return mx_sum_value(&s->xy) / sqrt(mx_sum_value(&s->x2) * mx_sum_value(&s->y2));
}

double mx_stats_norm_ratio(const mx_stats *s) { return sqrt(mx_sum_value(&s->y2) / mx_sum_value(&s->x2)); }

double mx_stats_bias(const mx_stats *s, double *half_width)
{
    double n = (double)s->u_n, mean = mx_sum_value(&s->u) / n;
    double variance = mx_sum_value(&s->u2) / n - mean * mean;
    *half_width = 1.959963984540054 * sqrt((variance > 0 ? variance : 0) / n);
    return mean;
}

double mx_stats_relative_quantile(const mx_stats *s, double p)
{
    uint64_t total = s->exact;
    for (int i = 0; i < MX_REL_BINS; i++)
        total += s->relative[i];
    uint64_t below = s->exact, wanted = (uint64_t)ceil(p * (double)total);
    if (below >= wanted) return 0;
    for (int i = 0; i < MX_REL_BINS; i++) {
        below += s->relative[i];
        if (below >= wanted) return ldexp(1 + (i % 8 + 1) / 8.0, REL_LOWEST + i / 8);
    }
    return (double)INFINITY;
}
