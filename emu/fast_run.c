/* SPDX-License-Identifier: Apache-2.0
 * Walks a matrix with the kernels of one instruction set: tiles of one block's height and at most
 * FAST_CHUNK columns, in parallel; every tile writes its own bytes, so the number of threads is unseen. */
#include <omp.h>
#include <string.h>

#include "fast_plan.h"

enum {
    TALL_CHUNK = 512,     /* columns at a time where blocks span rows: 32 rows of fp32 are 64 KiB */
    FETCH_AHEAD = 4096,   /* bytes of a row: measured with `make bench`, 2 to 8 KiB are alike */
    STREAM_FROM = 1 << 22 /* outputs of 4 MiB and more are written around the cache */
};

typedef struct walk {
    const fast_isa *isa;
    const fast_plan *plan;
    const mx_matrix *x;
    const mx_quantized *out;
    fast_source source;
    size_t element; /* bytes of one */
    int64_t grid_cols, chunk;
    bool stream;
} walk;

/* Rows r0 .. r1 of one block row, n columns from c. */
typedef struct span {
    int64_t r0, r1, c;
    size_t n;
} span;

static const void *row_at(const walk *w, int64_t r, int64_t c)
{
    return (const char *)w->x->data + ((size_t)r * (size_t)w->x->pitch + (size_t)c) * w->element;
}

/* Largest of each run of `block` column maxima, in place. */
static size_t fold_columns(uint32_t *amax, size_t n, size_t block)
{
    size_t blocks = 0;
    for (size_t i = 0; i < n; blocks++) {
        size_t end = n - i < block ? n : i + block;
        uint32_t m = 0;
        for (; i < end; i++)
            m = amax[i] > m ? amax[i] : m;
        amax[blocks] = m;
    }
    return blocks;
}

static size_t tile_amax(const walk *w, const span *t, bool skip_nan, uint32_t *amax)
{
    size_t block = (size_t)w->plan->block_cols;
    if (t->r1 - t->r0 == 1) {
        w->isa->amax_row(w->source, row_at(w, t->r0, t->c), t->n, block, skip_nan, amax);
        return (t->n + block - 1) / block;
    }
    memset(amax, 0, t->n * sizeof *amax);
    for (int64_t r = t->r0; r < t->r1; r++)
        w->isa->amax_fold(w->source, row_at(w, r, t->c), t->n, skip_nan, amax);
    return block == 1 ? t->n : fold_columns(amax, t->n, block);
}

static void scale_fp32(const fast_fp32 *s, size_t n, const uint32_t *bits, float *scale, float *factor)
{
    for (size_t i = 0; i < n; i++) {
        float amax;
        memcpy(&amax, &bits[i], sizeof amax);
        if (amax < s->least) amax = s->least;
        float v = s->op == FAST_OVER ? amax / s->ratio : s->op == FAST_TIMES ? amax * s->ratio : amax;
        scale[i] = v;
        factor[i] = s->reciprocal ? 1 / v : v;
    }
}

/* Scales of n blocks into the grid at `at`, and what the elements meet; true if all products are tame. */
static bool block_scales(const walk *w, size_t n, uint32_t *amax, size_t at, float *factor)
{
    const fast_plan *p = w->plan;
    if (p->scale == FAST_FP32) {
        scale_fp32(&p->fp32, n, amax, (float *)w->out->scales + at, factor);
        return false;
    }
    uint8_t bytes[FAST_CHUNK];
    size_t padded = (n + 63) / 64 * 64;
    memset(amax + n, 0, (padded - n) * sizeof *amax);
    bool tame = w->isa->scale_e8m0(&p->e8m0, n, amax, bytes, factor);
    memcpy((uint8_t *)w->out->scales + at, bytes, n);
    return tame;
}

/* NaN is rare: look for it only in a tile whose amax it has reached. */
static bool has_nan(size_t n, const uint32_t *amax)
{
    bool nan = false;
    for (size_t i = 0; i < n; i++)
        nan |= amax[i] > 0x7F800000;
    return nan;
}

static void tile(const walk *w, int64_t grid_row, int64_t c)
{
    const fast_plan *p = w->plan;
    _Alignas(64) uint32_t amax[FAST_CHUNK];
    _Alignas(64) float factor[FAST_CHUNK];
    span t = {.r0 = grid_row * p->block_rows, .c = c};
    t.r1 = w->x->rows - t.r0 < p->block_rows ? w->x->rows : t.r0 + p->block_rows;
    t.n = (size_t)(w->x->cols - c < w->chunk ? w->x->cols - c : w->chunk);
    bool tame = false;
    if (p->scale != FAST_UNSCALED) {
        size_t blocks = tile_amax(w, &t, false, amax);
        bool again = p->skip_nan && has_nan(blocks, amax);
        if (again) tile_amax(w, &t, true, amax);
        size_t at = (size_t)grid_row * (size_t)w->grid_cols + (size_t)(c / p->block_cols);
        tame = block_scales(w, blocks, amax, at, factor) && !again;
    }
    fast_encode e = {.cast = p->cast, .source = w->source, .op = p->op, .tame = tame};
    e.ahead = p->block_rows > 1 ? t.n * w->element : FETCH_AHEAD;
    for (int64_t r = t.r0; r < t.r1; r++) {
        uint8_t *out = w->out->codes + (size_t)r * (size_t)w->x->cols + (size_t)c;
        e.stream = w->stream && (uintptr_t)out % 64 == 0;
        w->isa->encode(&e, row_at(w, r, c), t.n, factor, (size_t)p->block_cols, out);
    }
}

static fast_source source_of(const mx_format *f)
{
    return f->bits == 32 ? FAST_F32 : f->exp_bits == 8 ? FAST_BF16 : FAST_F16;
}

void mx_fast_run(const fast_isa *isa, const fast_plan *plan, const mx_matrix *x, int threads,
                 const mx_quantized *out)
{
    if (x->rows <= 0 || x->cols <= 0) return;
    walk w = {.isa = isa, .plan = plan, .x = x, .out = out, .source = source_of(x->format)};
    w.element = w.source == FAST_F32 ? 4 : 2;
    w.grid_cols = (x->cols + plan->block_cols - 1) / plan->block_cols;
    w.chunk = plan->block_rows > 1 ? TALL_CHUNK : FAST_CHUNK;
    w.chunk = w.chunk < plan->block_cols ? plan->block_cols : w.chunk / plan->block_cols * plan->block_cols;
    w.stream = x->cols >= STREAM_FROM / x->rows;
    int64_t across = (x->cols + w.chunk - 1) / w.chunk;
    int64_t down = (x->rows + plan->block_rows - 1) / plan->block_rows;
#pragma omp parallel num_threads(threads > 0 ? threads : omp_get_max_threads())
    {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < across * down; t++)
            tile(&w, t / across, t % across * w.chunk);
        if (w.stream) isa->finish();
    }
}
