/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "recipe.h"
#include "store.h"

static mx_status read_synthetic(const sweep_input *in, int64_t row0, int64_t rows, float *x, mx_error *e)
{
    (void)e;
    const sweep_synthetic *s = in->context;
    static const mx_cast cast = {MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < in->cols; c++) {
            double v = s->data->value(in->seed, (uint64_t)(row0 + r), (uint64_t)c);
            x[r * in->cols + c] = (float)mx_decode(s->format, mx_encode(s->format, v, &cast, 0));
        }
    return MX_OK;
}

sweep_input sweep_input_synthetic(const sweep_synthetic *s, uint64_t seed, int64_t rows, int64_t cols)
{
    return (sweep_input){s->data->name, rows, cols, read_synthetic, s, seed};
}

static mx_status read_stored(const sweep_input *in, int64_t row0, int64_t rows, float *x, mx_error *e)
{
    const sweep_stored *s = in->context;
    unsigned width = s->array->dtype.bytes;
    size_t n = (size_t)(rows * in->cols);
    void *raw = malloc(n * width + 1);
    if (!raw) return mx_fail(e, MX_NO_MEMORY, in->name, "no memory for a band of %lld rows", (long long)rows);
    mx_status status =
        mx_store_read(s->store, s->array, (uint64_t)row0 * (uint64_t)in->cols * width, raw, n * width, e);
    for (size_t i = 0; !status && i < n; i++)
        x[i] = (float)mx_dtype_value(&s->array->dtype, mx_dtype_bits(&s->array->dtype, raw, (int64_t)i));
    free(raw);
    return status;
}

mx_status sweep_input_stored(const sweep_stored *s, sweep_input *in, mx_error *e)
{
    static const char *const readable[] = {"f32", "bf16", "f16", "f64"};
    bool good = false;
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
        good |= !strcmp(s->array->dtype.name, readable[i]);
    if (!good)
        return mx_fail(e, MX_UNSUPPORTED, s->array->name,
                       "a tensor of %s: f32, bf16, f16 and f64 can be swept", s->array->dtype.name);
    *in = (sweep_input){s->array->name, 0, 0, read_stored, s, 0};
    mx_array_matrix(s->array, &in->rows, &in->cols);
    return MX_OK;
}

/* ---- bands ------------------------------------------------------------------------------------------------
 */

typedef struct scratch {
    float *x, *y; /* a band, and one row more for the tensor's amax */
    uint8_t *codes;
    float *scales;
    mx_stats *stats;
    mx_error error;
} scratch;

static bool scratch_make(scratch *s, int64_t cols, size_t recipes)
{
    size_t n = (size_t)((SWEEP_BAND + 1) * cols) + 1;
    s->x = malloc(n * sizeof *s->x);
    s->y = malloc(n * sizeof *s->y);
    s->codes = malloc(n);
    s->scales = malloc(n * sizeof *s->scales);
    s->stats = malloc(recipes * sizeof *s->stats);
    for (size_t i = 0; s->stats && i < recipes; i++)
        mx_stats_init(&s->stats[i]);
    return s->x && s->y && s->codes && s->scales && s->stats;
}

static void scratch_free(scratch *s)
{
    free(s->x);
    free(s->y);
    free(s->codes);
    free(s->scales);
    free(s->stats);
}

static bool whole_tensor(const mx_recipe *r) { return r->scale && !r->block_rows && !r->block_cols; }

/* One recipe on a band that lies in s->x. A whole-tensor scale is had by a row below the band that holds the
 * tensor's amax: the band's own amax is then the tensor's. */
static mx_status one(const sweep_input *in, const mx_recipe *r, float amax, int64_t row0, int64_t rows,
                     scratch *s, mx_stats *stats)
{
    int64_t all = rows;
    if (whole_tensor(r)) {
        memset(s->x + rows * in->cols, 0, (size_t)in->cols * sizeof *s->x);
        s->x[rows * in->cols] = amax;
        all++;
    }
    mx_matrix m = {mx_format_find("f32"), s->x, all, in->cols, in->cols};
    mx_quantize_options o = {&amax, in->seed + (uint64_t)(row0 / SWEEP_BAND), 1};
    mx_quantized q = {s->codes, s->scales, 1};
    mx_status status = mx_quantize(r, &m, &o, &q, &s->error);
    if (!status) status = mx_dequantize(r, &q, all, in->cols, m.format, s->y, in->cols, &s->error);
    if (!status) status = mx_stats_add(stats, r, s->x, &q, s->y, row0, rows, in->cols, &s->error);
    return status;
}

typedef struct bands {
    const sweep_input *in;
    const mx_recipe *const *recipes;
    size_t n;
    const sweep_run *run;
    int64_t done, total;
} bands;

static void advance(bands *b)
{
#pragma omp critical(sweep_progress)
    {
        b->done++;
        if (b->run->progress) b->run->progress(b->run->progress_context, (double)b->done / (double)b->total);
    }
}

static int64_t band_rows(const sweep_input *in, int64_t band)
{
    int64_t left = in->rows - band * SWEEP_BAND;
    return left < SWEEP_BAND ? left : SWEEP_BAND;
}

/* The largest finite magnitude of the tensor. */
static mx_status find_amax(bands *b, float *amax, mx_error *e)
{
    int64_t count = (b->in->rows + SWEEP_BAND - 1) / SWEEP_BAND;
    mx_status status = MX_OK;
    float top = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : top)
    for (int64_t band = 0; band < count; band++) {
        int64_t n = band_rows(b->in, band) * b->in->cols;
        float *x = malloc((size_t)n * sizeof *x + 1);
        mx_error error = {MX_OK, "", ""};
        mx_status s = x ? b->in->read(b->in, band * SWEEP_BAND, band_rows(b->in, band), x, &error)
                        : mx_fail(&error, MX_NO_MEMORY, b->in->name, "no memory for a band");
        for (int64_t i = 0; !s && i < n; i++) {
            float v = fabsf(x[i]);
            if (v > top && v <= 3.402823466e38f) top = v;
        }
        free(x);
        if (s) {
#pragma omp critical
            {
                status = s;
                if (e) *e = error;
            }
        }
    }
    *amax = top;
    return status;
}

static mx_status visit(bands *b, int64_t band, float amax, scratch *s)
{
    int64_t row0 = band * SWEEP_BAND, rows = band_rows(b->in, band);
    mx_status status = b->in->read(b->in, row0, rows, s->x, &s->error);
    for (size_t i = 0; !status && i < b->n; i++)
        status = one(b->in, b->recipes[i], amax, row0, rows, s, &s->stats[i]);
    return status;
}

mx_status sweep_tensor(const sweep_input *in, const mx_recipe *const *recipes, size_t n, const sweep_run *run,
                       mx_stats *stats, mx_error *e)
{
    int64_t count = (in->rows + SWEEP_BAND - 1) / SWEEP_BAND;
    bands b = {in, recipes, n, run, 0, (count + run->shards - 1 - run->shard) / run->shards};
    for (size_t i = 0; i < n; i++)
        mx_stats_init(&stats[i]);
    bool need_amax = false;
    for (size_t i = 0; i < n; i++)
        need_amax |= whole_tensor(recipes[i]) || mx_recipe_has_global(recipes[i]);
    float amax = 0;
    mx_status status = need_amax && in->cols ? find_amax(&b, &amax, e) : MX_OK;
    if (status || !in->cols) return status;

    int threads = run->threads > 0 ? run->threads : omp_get_max_threads();
#pragma omp parallel num_threads(threads)
    {
        scratch s = {0};
        mx_status mine =
            scratch_make(&s, in->cols, n) ? MX_OK : mx_fail(&s.error, MX_NO_MEMORY, in->name, "no memory");
#pragma omp for schedule(dynamic)
        for (int64_t band = run->shard; band < count; band += run->shards)
            if (!mine) {
                mine = visit(&b, band, amax, &s);
                advance(&b);
            }
#pragma omp critical
        {
            if (mine) {
                status = mine;
                if (e) *e = s.error;
            } else {
                for (size_t i = 0; i < n; i++)
                    mx_stats_merge(&stats[i], &s.stats[i]);
            }
        }
        scratch_free(&s);
    }
    return status;
}
