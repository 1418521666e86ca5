/* SPDX-License-Identifier: Apache-2.0
 * Walks a matrix with the kernels of one instruction set: tiles of one block's height and at most
 * FAST_CHUNK columns, in parallel; every tile writes its own bytes, so the number of threads is unseen. */
#include <omp.h>
#include <string.h>

#include "f32.h"
#include "fast_plan.h"
#include "plan.h"

enum {
    INF_BITS = 0x7F800000,
    TALL_CHUNK = 512,     /* columns at a time where blocks span rows: 32 rows of fp32 are 64 KiB */
    FETCH_AHEAD = 4096,   /* bytes of a row; `mxcheck bench --cpu` shows what a change does */
    GRAIN = 1 << 15,      /* elements that are worth a thread */
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

/* A team costs more than a small matrix, above all where other work holds the cores. */
static int team(int threads, int64_t rows, int64_t cols)
{
    int64_t most = 1 + (rows > GRAIN || cols > GRAIN ? INT32_MAX / 2 : rows * cols / GRAIN);
    return threads < most ? threads : (int)most;
}

fast_source mx_fast_source(const mx_format *f)
{
    return f->bits == 32 ? FAST_F32 : f->exp_bits == 8 ? FAST_BF16 : FAST_F16;
}

static const void *row_at(const mx_matrix *x, int64_t r, int64_t c)
{
    return (const char *)x->data + (r * x->pitch + c) * (x->format->bits / 8);
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
    if (w->plan->block_rows == 1) {
        w->isa->amax_row(w->source, row_at(w->x, t->r0, t->c), t->n, block, skip_nan, amax);
        return (t->n + block - 1) / block;
    }
    memset(amax, 0, t->n * sizeof *amax);
    for (int64_t r = t->r0; r < t->r1; r++)
        w->isa->amax_fold(w->source, row_at(w->x, r, t->c), t->n, skip_nan, amax);
    return block == 1 ? t->n : fold_columns(amax, t->n, block);
}

/* The kernels let NaN win. It is rare: only a tile that it has reached is looked at again. */
static size_t amax_by_policy(const walk *w, const span *t, uint32_t *amax, bool *nan)
{
    size_t blocks = tile_amax(w, t, false, amax);
    mx_amax_nan policy = w->plan->recipe->amax_nan;
    uint32_t top = 0;
    for (size_t i = 0; i < blocks; i++)
        top = amax[i] > top ? amax[i] : top;
    *nan = top > INF_BITS;
    if (!*nan || policy == MX_AMAX_PROPAGATE) return blocks;
    if (policy == MX_AMAX_IGNORE) return tile_amax(w, t, true, amax);
    for (size_t i = 0; i < blocks; i++)
        amax[i] = amax[i] > INF_BITS ? INF_BITS : amax[i];
    return blocks;
}

static void scales_by_plan(const fast_plan *p, size_t n, const uint32_t *amax, void *scales, size_t at,
                           float *factor)
{
    for (size_t i = 0; i < n; i++) {
        mx_plan plan = mx_plan_make(p->recipe, f32_from(amax[i]), p->global_amax, p->source, 0);
        factor[i] = plan.multiplier;
        if (p->recipe->scale->bits > 8)
            memcpy((char *)scales + 4 * (at + i), &plan.stored, 4);
        else
            ((uint8_t *)scales)[at + i] = (uint8_t)plan.stored;
    }
}

/* Scales of a tile's blocks and what the elements meet; true if all products are tame. */
static bool tile_scales(const walk *w, const span *t, float *factor)
{
    const fast_plan *p = w->plan;
    _Alignas(64) uint32_t amax[FAST_CHUNK];
    if (p->scale == FAST_UNSCALED) return false;
    if (p->scale == FAST_FIXED) {
        factor[0] = p->fixed;
        return false;
    }
    bool nan;
    size_t n = amax_by_policy(w, t, amax, &nan);
    size_t at = (size_t)(t->r0 / p->block_rows * w->grid_cols + t->c / p->block_cols);
    if (p->scale == FAST_PLANNED) {
        scales_by_plan(p, n, amax, w->out->scales, at, factor);
        return false;
    }
    uint8_t bytes[FAST_CHUNK];
    memset(amax + n, 0, (64 - n % 64) % 64 * sizeof *amax);
    bool tame = w->isa->scale_e8m0(&p->e8m0, n, amax, bytes, factor);
    memcpy((uint8_t *)w->out->scales + at, bytes, n);
    return tame && !nan;
}

static void tile(const walk *w, int64_t grid_row, int64_t c)
{
    const fast_plan *p = w->plan;
    _Alignas(64) float factor[FAST_CHUNK];
    span t = {.r0 = grid_row * p->block_rows, .c = c};
    t.r1 = w->x->rows - t.r0 < p->block_rows ? w->x->rows : t.r0 + p->block_rows;
    t.n = (size_t)(w->x->cols - c < w->chunk ? w->x->cols - c : w->chunk);
    fast_encode e = {.cast = p->cast, .source = w->source, .op = p->op};
    e.tame = tile_scales(w, &t, factor);
    e.ahead = p->block_rows > 1 ? t.n * w->element : FETCH_AHEAD;
    for (int64_t r = t.r0; r < t.r1; r++) {
        uint8_t *out = w->out->codes + r * w->x->cols + c;
        e.stream = w->stream && (uintptr_t)out % 64 == 0;
        w->isa->encode(&e, row_at(w->x, r, c), t.n, factor, (size_t)p->block_cols, out);
    }
}

void mx_fast_run(const fast_isa *isa, const fast_plan *plan, const mx_matrix *x, int threads,
                 const mx_quantized *out)
{
    if (x->rows <= 0 || x->cols <= 0) return;
    walk w = {.isa = isa, .plan = plan, .x = x, .out = out, .source = mx_fast_source(x->format)};
    w.element = x->format->bits / 8;
    w.grid_cols = (x->cols - 1) / plan->block_cols + 1;
    w.chunk = plan->block_rows > 1 && plan->block_cols < TALL_CHUNK ? TALL_CHUNK : FAST_CHUNK;
    w.stream = x->cols >= STREAM_FROM / x->rows;
    int64_t across = (x->cols - 1) / w.chunk + 1, down = (x->rows - 1) / plan->block_rows + 1;
#pragma omp parallel num_threads(team(threads, x->rows, x->cols))
    {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < across * down; t++)
            tile(&w, t / across, t % across * w.chunk);
        if (w.stream) isa->finish();
    }
}

float mx_fast_amax(const fast_isa *isa, mx_amax_nan nan, const mx_matrix *x, int threads)
{
    fast_source source = mx_fast_source(x->format);
    uint32_t top = 0;
    if (x->rows <= 0 || x->cols <= 0) return 0;
#pragma omp parallel for schedule(static) num_threads(team(threads, x->rows, x->cols)) reduction(max : top)
    for (int64_t r = 0; r < x->rows; r++) {
        uint32_t m;
        isa->amax_row(source, row_at(x, r, 0), (size_t)x->cols, (size_t)x->cols, nan == MX_AMAX_IGNORE, &m);
        top = m > top ? m : top;
    }
    if (top > INF_BITS && nan == MX_AMAX_AS_INF) top = INF_BITS;
    return top > INF_BITS ? f32_result(f32_from(top)) : f32_from(top);
}

/* ---- reading back ----------------------------------------------------------------------------------- */

typedef struct reading {
    int64_t cols, pitch, block_rows, block_cols, grid_cols;
    void *y;
    bool stream;
    float values[256]; /* of e8m0 bytes */
} reading;

/* Values of n scales from the one at `at`. */
static void read_scales(const mx_recipe *r, const void *scales, size_t at, size_t n, const float *values,
                        float *factor)
{
    if (r->scale->bits > 8) {
        memcpy(factor, (const char *)scales + 4 * at, 4 * n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        factor[i] = values[((const uint8_t *)scales)[at + i]];
}

/* Powers of two far from the ends leave every product exact, in fp32 and bf16 alike: then the format's own
 * power joins them. fp16 is rounded by its converter in any case. */
static bool make_exact(const fast_reader *p, size_t n, float *factor)
{
    const mx_recipe *r = p->recipe;
    bool middling = true;
    if (r->scale && r->scale->kind != MX_KIND_EXPONENT) return false;
    for (size_t i = 0; i < n; i++)
        middling &= factor[i] >= 0x1p-100f && factor[i] <= 0x1p100f;
    for (size_t i = 0; middling && i < n; i++)
        factor[i] *= p->uncast.rescale;
    return middling;
}

static void read_tile(const fast_isa *isa, const fast_reader *p, const mx_quantized *q, const reading *t,
                      int64_t row, int64_t c)
{
    const mx_recipe *r = p->recipe;
    int64_t n = t->cols - c < FAST_CHUNK ? t->cols - c : FAST_CHUNK;
    size_t blocks = (size_t)((n - 1) / t->block_cols + 1);
    size_t at = (size_t)(row / t->block_rows * t->grid_cols + c / t->block_cols);
    float factor[FAST_CHUNK] = {1};
    char *out = (char *)t->y + (row * t->pitch + c) * (p->to->bits / 8);
    if (r->scale) read_scales(r, q->scales, at, blocks, t->values, factor);
    fast_decode d = {.cast = p->uncast, .to = mx_fast_source(p->to)};
    d.exact = make_exact(p, blocks, factor);
    d.stream = t->stream && (uintptr_t)out % 64 == 0;
    isa->decode(&d, q->codes + row * t->cols + c, (size_t)n, factor, (size_t)t->block_cols, out);
}

void mx_fast_read(const fast_isa *isa, const fast_reader *p, const mx_quantized *q, int64_t rows,
                  int64_t cols, void *y, int64_t pitch, int threads)
{
    if (rows <= 0 || cols <= 0) return;
    const mx_recipe *r = p->recipe;
    reading t = {.cols = cols, .pitch = pitch, .block_rows = 1, .block_cols = FAST_CHUNK, .y = y};
    if (r->scale) t.block_rows = r->block_rows, t.block_cols = r->block_cols;
    t.grid_cols = (cols - 1) / t.block_cols + 1;
    t.stream = cols >= STREAM_FROM / rows;
    for (uint32_t i = 0; i < 256; i++)
        t.values[i] = (float)mx_scale_value(r, i);
    int64_t across = (cols - 1) / FAST_CHUNK + 1;
#pragma omp parallel num_threads(team(threads, rows, cols))
    {
#pragma omp for schedule(static)
        for (int64_t k = 0; k < across * rows; k++)
            read_tile(isa, p, q, &t, k / across, k % across * FAST_CHUNK);
        if (t.stream) isa->finish();
    }
}
