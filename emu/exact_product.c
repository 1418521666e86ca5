/* SPDX-License-Identifier: Apache-2.0
 * Whole products, every output the exact sum rounded once. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "exact_tile.h"
#include "fast.h"
#include "gemm_load.h"

#define EXACT_BYTES 16
#include "exact_tile_body.h"

void mx_exact_columns_plain(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums)
{
    add_columns(a, b, n, block, sums);
}

static mx_exact_add_columns best_columns(void)
{
    if (!strcmp(mx_fast_isa(), "avx512")) return mx_exact_columns_avx512;
    if (!strcmp(mx_fast_isa(), "avx2")) return mx_exact_columns_avx2;
    return mx_exact_columns_plain;
}

enum { ROWS = 64, CHUNK = 256, WIDTH = MX_EXACT_WIDTH, GROUPS = 8, COLS = GROUPS * WIDTH };

typedef struct job {
    const mx_product *p;
    double *f64;
    uint32_t *f32;
    int64_t pitch;
    int block;     /* products whose sum is exact in double; 0: not even one is */
    double global; /* product of second-level scales */
    mx_exact_add_columns add;
} job;

typedef struct tile_memory {
    double a[CHUNK], b[GROUPS][CHUNK * WIDTH];
    mx_exact_sums sums[ROWS][GROUPS];
} tile_memory;

/* Bits from the largest to the smallest that an element can have. */
static int span_of(const mx_format *f)
{
    return mx_format_emax(f) - mx_format_emin(f) + mx_unpack_frac(f) + 1;
}

/* Does the operand's scale stay the same over every aligned stretch of n lanes? */
static bool constant_over(const mx_operand *x, int n)
{
    return !x->scale_format || x->block_k >= x->k || x->block_k % n == 0;
}

/* How many products may be added in double before anything can be lost; 0: not even one. */
static int exact_block(const mx_product *p)
{
    int bits = span_of(p->a.format) + span_of(p->b.format), block = 1;
    int significand = mx_unpack_frac(p->a.format) + mx_unpack_frac(p->b.format) + 2;
    const mx_format *scales[] = {p->a.scale_format, p->b.scale_format};
    for (int i = 0; i < 2; i++) {
        int wider = scales[i] && mx_unpack_frac(scales[i]) ? mx_unpack_frac(scales[i]) + 1 : 0;
        bits += wider;
        significand += wider;
    }
    if (significand > 53) return 0;
    while (bits + 1 <= 53 && 2 * block <= CHUNK && constant_over(&p->a, 2 * block) &&
           constant_over(&p->b, 2 * block)) {
        block *= 2;
        bits++;
    }
    return block;
}

static double element(const mx_operand *x, const double *table, int64_t row, int64_t lane)
{
    int64_t at = row * x->row_stride + lane * x->k_stride;
    double value = x->format->bits <= 8    ? table[((const uint8_t *)x->data)[at]]
                   : x->format->bits <= 16 ? mx_decode(x->format, ((const uint16_t *)x->data)[at])
                                           : mx_decode(x->format, ((const uint32_t *)x->data)[at]);
    return value;
}

static double scale(const mx_operand *x, int64_t row, int64_t lane)
{
    float factor;
    mx_load_factors(x, row, 1, lane, &factor);
    return (double)factor;
}

/* n lanes of one row, `step` doubles apart, scales applied (exact: powers of two, or 4 bits). */
static void load_row(const mx_operand *x, const double *table, int64_t row, int64_t lane, int64_t n,
                     double *to, int64_t step)
{
    for (int64_t k = 0; k < n;) {
        int64_t end = n;
        double factor = 1;
        if (x->scale_format) {
            factor = scale(x, row, lane + k);
            int64_t rest = x->block_k - (lane + k) % x->block_k;
            if (rest < n - k) end = k + rest;
        }
        for (; k < end; k++)
            to[k * step] = element(x, table, row, lane + k) * factor;
    }
}

static int64_t to_next_block(const mx_operand *x, int64_t lane)
{
    return x->scale_format ? x->block_k - lane % x->block_k : x->k - lane;
}

/* One output by the long accumulator. */
static void slow_output(const job *q, int64_t row, int64_t col, double *f64, uint32_t *f32)
{
    const mx_product *p = q->p;
    uint32_t a[CHUNK], b[CHUNK];
    mx_exact sum;
    mx_exact_clear(&sum);
    for (int64_t k = 0, n; k < p->a.k; k += n) {
        int64_t na = to_next_block(&p->a, k), nb = to_next_block(&p->b, k);
        n = p->a.k - k < CHUNK ? p->a.k - k : CHUNK;
        n = na < n ? na : n;
        n = nb < n ? nb : n;
        mx_load_codes(&p->a, row, k, n, a);
        mx_load_codes(&p->b, col, k, n, b);
        mx_lanes x = {.a_format = p->a.format, .b_format = p->b.format, .a = a, .b = b, .n = n};
        mx_exact_add_scaled(&sum, &x, scale(&p->a, row, k), scale(&p->b, col, k));
    }
    mx_exact_scale(&sum, p->a.global == 0 ? 1 : p->a.global, p->b.global == 0 ? 1 : p->b.global);
    *f64 = mx_exact_f64(&sum);
    *f32 = mx_exact_f32(&sum);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* hi + lo, |lo| at most half an ulp of hi, as binary32: hi is moved to an odd neighbour when lo is not zero,
 * so that the second rounding sees a sticky bit (Boldo and Melquiond, IEEE TC 57(4), 2008). */
static uint32_t pair_to_f32(double hi, double lo)
{
    uint64_t bits = bits_of(hi);
    if (lo != 0 && !(bits & 1)) bits += (lo > 0) == (hi > 0) ? 1 : (uint64_t)-1;
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    float x = (float)odd;
    uint32_t code;
    memcpy(&code, &x, sizeof code);
    return code;
}

static void finish(const job *q, const mx_exact_sums *s, int64_t row, int64_t col, int j)
{
    double sum = s->hi[j] + s->lo[j], part = sum - s->hi[j];
    double error = (s->hi[j] - (sum - part)) + (s->lo[j] - part); /* two_sum of one */
    uint32_t code;
    /* The slow way for specials, for sums that lost something, and where a double may be subnormal. */
    bool plain = s->lost[j] == 0 && isfinite(sum) && q->global == 1 && (sum == 0 || fabs(sum) > 0x1p-900);
    if (plain)
        code = sum == 0 ? 0 : pair_to_f32(sum, error);
    else
        slow_output(q, row, col, &sum, &code);
    if (q->f64) q->f64[row * q->pitch + col] = sum == 0 ? 0 : sum;
    if (q->f32) q->f32[row * q->pitch + col] = code;
}

/* Lanes [lane, lane + n) of a tile of rows x cols outputs. */
static void add_chunk(const job *q, tile_memory *w, const double *ta, const double *tb, int64_t row,
                      int64_t rows, int64_t col, int64_t cols, int64_t lane, int64_t n)
{
    memset(w->b, 0, sizeof w->b);
    for (int64_t j = 0; j < cols; j++)
        load_row(&q->p->b, tb, col + j, lane, n, w->b[j / WIDTH] + j % WIDTH, WIDTH);
    for (int64_t i = 0; i < rows; i++) {
        load_row(&q->p->a, ta, row + i, lane, n, w->a, 1);
        for (int64_t g = 0; g * WIDTH < cols; g++)
            q->add(w->a, w->b[g], n, q->block, &w->sums[i][g]);
    }
}

static void run_tile(const job *q, tile_memory *w, const double *ta, const double *tb, int64_t row,
                     int64_t col)
{
    const mx_product *p = q->p;
    int64_t rows = p->a.rows - row < ROWS ? p->a.rows - row : ROWS;
    int64_t cols = p->b.rows - col < COLS ? p->b.rows - col : COLS;
    memset(w->sums, 0, sizeof w->sums);
    for (int64_t k = 0; q->block && k < p->a.k; k += CHUNK)
        add_chunk(q, w, ta, tb, row, rows, col, cols, k, p->a.k - k < CHUNK ? p->a.k - k : CHUNK);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            mx_exact_sums *s = &w->sums[i][j / WIDTH];
            if (!q->block) s->lost[j % WIDTH] = 1;
            finish(q, s, row + i, col + j, (int)(j % WIDTH));
        }
}

static void make_table(const mx_format *f, double *table)
{
    for (uint32_t code = 0; code < 256; code++)
        table[code] = f->bits <= 8 ? mx_decode(f, code) : 0;
}

mx_status mx_exact_product(const mx_product *p, double *f64, uint32_t *f32, int64_t pitch, mx_error *e)
{
    if (!p->a.format || !p->b.format || p->a.k != p->b.k)
        return mx_fail(e, MX_BAD_USAGE, "product", "an exact product needs formats, and one K");
    double global =
        (p->a.global == 0 ? 1 : (double)p->a.global) * (p->b.global == 0 ? 1 : (double)p->b.global);
    job q = {p, f64, f32, pitch, exact_block(p), global, best_columns()};
    int64_t down = (p->a.rows + ROWS - 1) / ROWS, across = (p->b.rows + COLS - 1) / COLS;
    double ta[256], tb[256];
    make_table(p->a.format, ta);
    make_table(p->b.format, tb);
    bool failed = false;
    int threads = p->threads > 0 ? p->threads : omp_get_max_threads();
    if (threads > down * across) threads = down && across ? (int)(down * across) : 1;
#pragma omp parallel num_threads(threads)
    {
        tile_memory *w = malloc(sizeof *w);
        if (!w) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < down * across; i++)
            if (w) run_tile(&q, w, ta, tb, i / across * ROWS, i % across * COLS);
        free(w);
    }
    return failed ? mx_fail(e, MX_NO_MEMORY, "product", "no memory for a tile") : MX_OK;
}
