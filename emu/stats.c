/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows are the unit of summation: within a row, sums run in eight double lanes in a fixed order, 64 elements
 * at a time (stats_chunk.h); each row's sums go into exact accumulators. So the result depends on the data
 * alone. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize.h"
#include "stats_chunk.h"

/* Counts of a call, small and in two copies: consecutive elements often share a bin, and an increment would
 * wait for the one before it. */
typedef struct tally {
    uint32_t codes[2][256], relative[2][MX_CHUNK_NO_RELATIVE + 1], ulps[2][MX_CHUNK_NO_ULP + 1];
    uint32_t elements;
} tally;

/* A band of block rows: per column the inverse of its scale, and the sums of its block so far. */
typedef struct band {
    const mx_chunk_format *format;
    mx_chunk_add add;
    tally *tally;
    const float *x, *y;
    const uint8_t *codes;
    float *inverse;  /* per column; 0 where the scale is 0, NaN or Inf */
    double *e2, *x2; /* per block column */
    int64_t cols, block_cols;
} band;

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

/* A fixed-point format has the spacing of the binade of 1 everywhere. */
static mx_chunk_format chunk_format(const mx_format *f)
{
    bool floating = f->kind == MX_KIND_FLOAT;
    int32_t least = (127 + (floating ? mx_format_emin(f) : 0)) << 23;
    const float within = 1 - 0x1p-10f;
    return (mx_chunk_format){.least = least,
                             .most = floating ? 254 << 23 : least,
                             .twice = (254u + f->man_bits) << 23,
                             .largest = (float)mx_format_max(f) * within,
                             .normal = floating ? ldexpf(within, mx_format_emin(f)) : 0};
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

static void flush_tally(mx_stats *s, tally *t)
{
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 256; i++)
            s->codes[i] += t->codes[k][i];
        for (int i = 0; i < MX_REL_BINS; i++)
            s->relative[i] += t->relative[k][i];
        for (int i = 0; i < MX_ULP_BINS; i++)
            s->ulps[i] += t->ulps[k][i];
    }
    memset(t, 0, sizeof *t);
}

static inline void count_one(tally *t, int copy, uint8_t code, const mx_chunk *k, int i)
{
    t->codes[copy][code]++;
    t->relative[copy][k->relative_bin[i]]++;
    t->ulps[copy][k->ulp_bin[i]]++;
}

static void count_bins(tally *t, const uint8_t *codes, const mx_chunk *k, int n)
{
    int i = 0;
    for (; i + 1 < n; i += 2) {
        count_one(t, 0, codes[i], k, i);
        count_one(t, 1, codes[i + 1], k, i + 1);
    }
    if (i < n) count_one(t, 0, codes[i], k, i);
    t->elements += (uint32_t)n;
}

static double fold(const double *v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* Eight elements of one block are folded before they are added to it. */
static void add_to_blocks(const band *b, const mx_chunk *k, int64_t c0, int n)
{
    bool in_eights = b->block_cols % MX_CHUNK_LANES == 0;
    int step = in_eights ? MX_CHUNK_LANES : 1;
    int64_t block = c0 / b->block_cols, left = b->block_cols - c0 % b->block_cols;
    for (int i = 0; i < n; i += step) {
        b->e2[block] += in_eights ? fold(k->e2 + i) : k->e2[i];
        b->x2[block] += in_eights ? fold(k->x2 + i) : k->x2[i];
        left -= step;
        if (left > 0) continue;
        block++;
        left = b->block_cols;
    }
}

static void add_counters(mx_stats *s, const mx_chunk *k, int n)
{
    s->nonfinite += (uint64_t)k->nonfinite;
    s->zero += (uint64_t)(k->zero - (MX_CHUNK - n)); /* what fills up the last chunk is zero */
    s->flushed += (uint64_t)k->flushed;
    s->saturated += (uint64_t)k->saturated;
    s->subnormal += (uint64_t)k->subnormal;
    s->exact += (uint64_t)k->exact;
    s->u_n += (uint64_t)k->u_n;
}

/* The rest of a row as a whole chunk, filled up with zeros. */
static void add_tail(const band *b, int64_t c0, int n, mx_chunk_lanes *l, mx_chunk *k)
{
    float x[MX_CHUNK] = {0}, y[MX_CHUNK] = {0}, inverse[MX_CHUNK] = {0};
    memcpy(x, b->x + c0, (size_t)n * sizeof *x);
    memcpy(y, b->y + c0, (size_t)n * sizeof *y);
    memcpy(inverse, b->inverse + c0, (size_t)n * sizeof *inverse);
    b->add(b->format, x, y, inverse, l, k);
}

static void add_row(mx_stats *s, const band *b)
{
    mx_chunk_lanes l;
    mx_chunk k;
    memset(&l, 0, sizeof l);
    for (int64_t c = 0; c < b->cols; c += MX_CHUNK) {
        int n = b->cols - c < MX_CHUNK ? (int)(b->cols - c) : MX_CHUNK;
        if (n == MX_CHUNK)
            b->add(b->format, b->x + c, b->y + c, b->inverse + c, &l, &k);
        else
            add_tail(b, c, n, &l, &k);
        count_bins(b->tally, b->codes + c, &k, n);
        add_counters(s, &k, n);
        add_to_blocks(b, &k, c, n);
        if (b->tally->elements > UINT32_MAX / 2) flush_tally(s, b->tally);
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
        if (!isfinite(inverse)) inverse = 0;
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
    mx_chunk_format format = chunk_format(mx_recipe_element(r));
    float *inverse = malloc(sizeof *inverse * (size_t)(cols + 1));
    double *sums = malloc(sizeof *sums * 2 * (size_t)(grid_cols + 1));
    if (!inverse || !sums) {
        free(inverse);
        free(sums);
        return mx_fail(e, MX_NO_MEMORY, mx_recipe_name(r), "out of memory");
    }
    tally counts;
    memset(&counts, 0, sizeof counts);
    band b = {&format, mx_chunk_best(),  &counts, x,         y, q->codes, inverse,
              sums,    sums + grid_cols, cols,    block_cols};
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
    flush_tally(s, &counts);
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
        if (below >= wanted) return ldexp(1 + (i % 8 + 1) / 8.0, MX_REL_LOWEST + i / 8);
    }
    return (double)INFINITY;
}
