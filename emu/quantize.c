/* SPDX-License-Identifier: Apache-2.0
 * Whole matrices, block by block: gather a block's values, then quantize.h. */
#include <omp.h>
#include <stdlib.h>

#include "f32.h"
#include "fast.h"
#include "plan.h"

typedef struct job {
    const mx_recipe *r;
    const mx_matrix *x;
    mx_quantized *out;
    int64_t block_rows, block_cols, grid_rows, grid_cols;
    uint64_t seed;
    float global_amax;
    int threads;
} job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static mx_status check_matrix(const mx_recipe *r, const mx_matrix *x, mx_error *e)
{
    if (!r || !x || !x->format) return mx_fail(e, MX_BAD_USAGE, "quantize", "a null argument");
    if (x->rows < 0 || x->cols < 0 || (x->rows > 1 && x->pitch < x->cols))
        return mx_fail(e, MX_BAD_USAGE, "x", "shape %lld x %lld with pitch %lld", (long long)x->rows,
                       (long long)x->cols, (long long)x->pitch);
    int64_t last = 0;
    if (__builtin_mul_overflow(x->rows, x->pitch > x->cols ? x->pitch : x->cols, &last) ||
        last > INT64_MAX / 8)
        return mx_fail(e, MX_BAD_USAGE, "x", "the shape overflows");
    return MX_OK;
}

static mx_status check(const mx_recipe *r, const mx_matrix *x, const mx_quantized *out, mx_error *e)
{
    mx_status status = check_matrix(r, x, e);
    if (status != MX_OK) return status;
    if (!out) return mx_fail(e, MX_BAD_USAGE, "quantize", "a null argument");
    if (r->element->bits > 8)
        return mx_fail(e, MX_UNSUPPORTED, r->name, "codes of %d bits do not fit a byte", r->element->bits);
    if (x->rows && x->cols && (!x->data || !out->codes || (r->scale && !out->scales)))
        return mx_fail(e, MX_BAD_USAGE, "quantize", "no memory given for a matrix that is not empty");
    return MX_OK;
}

/* Element (i, j) of any format that fits fp32; the base may have any alignment. */
static float load(const mx_matrix *x, int64_t i, int64_t j)
{
    const mx_format *f = x->format;
    int bytes = f->bits > 16 ? 4 : f->bits > 8 ? 2 : 1;
    uint32_t code = 0;
    memcpy(&code, (const char *)x->data + (i * x->pitch + j) * bytes, (size_t)bytes);
    if (f->bits == 32) return f32_from(code);
    if (f->bits == 16 && f->exp_bits == 8) return f32_from(code << 16);
    return (float)mx_decode(f, code);
}

/* Block (bi, bj) as dense fp32 rows in `buffer`, the pre-step done. */
static mx_block gather(const job *q, int64_t bi, int64_t bj, float *buffer)
{
    int64_t r0 = bi * q->block_rows, c0 = bj * q->block_cols;
    mx_block b = {.x = buffer,
                  .rows = least(q->block_rows, q->x->rows - r0),
                  .cols = least(q->block_cols, q->x->cols - c0),
                  .col_stride = 1,
                  .source = q->x->format,
                  .global_amax = q->global_amax,
                  .seed = q->seed,
                  .index = (uint64_t)r0 * (uint64_t)q->x->cols + (uint64_t)c0,
                  .index_stride = (uint64_t)q->x->cols};
    b.row_stride = b.cols;
    for (int64_t i = 0; i < b.rows; i++)
        for (int64_t j = 0; j < b.cols; j++)
            buffer[i * b.cols + j] = load(q->x, r0 + i, c0 + j);
    if (q->r->hadamard) mx_hadamard16(buffer, b.rows * b.cols);
    return b;
}

static void store_scale(const job *q, int64_t index, uint32_t scale)
{
    if (!q->r->scale) return;
    if (q->r->scale->bits > 8)
        memcpy((char *)q->out->scales + 4 * index, &scale, 4);
    else
        ((uint8_t *)q->out->scales)[index] = (uint8_t)scale;
}

/* What is done with each block; returns a value that is joined by mx_amax_join. */
typedef float (*visit)(const job *q, const mx_block *b, int64_t bi, int64_t bj, const void *context);

static float visit_quantize(const job *q, const mx_block *b, int64_t bi, int64_t bj, const void *context)
{
    (void)context;
    uint8_t *codes = q->out->codes + bi * q->block_rows * q->x->cols + bj * q->block_cols;
    store_scale(q, bi * q->grid_cols + bj, mx_quantize_block(q->r, b, codes, q->x->cols));
    return 0;
}

static float visit_amax(const job *q, const mx_block *b, int64_t bi, int64_t bj, const void *context)
{
    (void)bi, (void)bj, (void)context;
    return mx_block_amax(q->r, b, 0);
}

static float visit_encode(const job *q, const mx_block *b, int64_t bi, int64_t bj, const void *plan)
{
    uint8_t *codes = q->out->codes + bi * q->block_rows * q->x->cols + bj * q->block_cols;
    mx_plan_encode_block(q->r, plan, b, codes, q->x->cols);
    return 0;
}

/* Visit every block, in any order and by q->threads threads; false if memory ran out. */
static bool for_blocks(const job *q, visit f, const void *context, float *joined)
{
    bool good = true;
    float all = 0;
    size_t room =
        (size_t)(least(q->block_rows, q->x->rows) * least(q->block_cols, q->x->cols)) * sizeof(float);
#pragma omp parallel num_threads(q->threads)
    {
        float *buffer = malloc(room), mine = 0;
#pragma omp for schedule(static)
        for (int64_t k = 0; k < q->grid_rows * q->grid_cols; k++) {
            if (!buffer) continue;
            int64_t bi = k / q->grid_cols, bj = k % q->grid_cols;
            mx_block b = gather(q, bi, bj, buffer);
            mine = mx_amax_join(mine, f(q, &b, bi, bj, context));
        }
#pragma omp critical
        {
            all = mx_amax_join(all, mine);
            good = good && buffer;
        }
        free(buffer);
    }
    if (joined) *joined = all;
    return good;
}

/* A job over pieces of the matrix that are no blocks of the recipe: rows in strips of columns. */
static job in_strips(const job *q)
{
    job s = *q;
    s.block_rows = 1;
    s.block_cols = least(q->x->cols, 4096);
    s.grid_rows = q->x->rows;
    s.grid_cols = (q->x->cols - 1) / s.block_cols + 1;
    return s;
}

/* One scale for everything: amax first, then the elements. */
static bool whole_tensor(const job *q)
{
    job s = in_strips(q);
    float amax = 0;
    if (q->r->scale && !for_blocks(&s, visit_amax, NULL, &amax)) return false;
    mx_plan p = mx_plan_make(q->r, amax, q->global_amax, q->x->format, 0);
    store_scale(q, 0, p.stored);
    return for_blocks(&s, visit_encode, &p, NULL);
}

static bool empty_matrix(const mx_matrix *x) { return x->rows == 0 || x->cols == 0; }

/* The grid of blocks, and the tensor's amax where the recipe has a second level; false: out of memory. */
static bool job_make(job *q, const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                     int threads)
{
    *q = (job){.r = r, .x = x, .seed = options ? options->seed : 0, .threads = threads};
    mx_recipe_block(r, x->rows, x->cols, &q->block_rows, &q->block_cols);
    bool empty = empty_matrix(x);
    if (!empty) {
        q->grid_rows = (x->rows - 1) / q->block_rows + 1;
        q->grid_cols = (x->cols - 1) / q->block_cols + 1;
    }
    if (options && options->global_amax)
        q->global_amax = *options->global_amax;
    else if (mx_recipe_has_global(r) && !empty)
        return for_blocks(q, visit_amax, NULL, &q->global_amax);
    return true;
}

/* ---- the value that each cast meets ------------------------------------------------------------------- */

typedef struct scaled {
    float *y;
    const mx_plan *plan; /* of the whole tensor; NULL: each block has its own */
} scaled;

static float visit_scaled(const job *q, const mx_block *b, int64_t bi, int64_t bj, const void *context)
{
    const scaled *to = context;
    float *y = to->y + bi * q->block_rows * q->x->cols + bj * q->block_cols;
    mx_plan p = to->plan ? *to->plan
                         : mx_plan_make(q->r, q->r->scale ? mx_block_amax(q->r, b, 0) : 0, b->global_amax,
                                        b->source, 0);
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->cols; j++)
            y[i * q->x->cols + j] = mx_plan_product(q->r, &p, b->x[i * b->row_stride + j]);
    return 0;
}

mx_status mx_scaled_values(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                           float *y, mx_error *e)
{
    mx_status status = check_matrix(r, x, e);
    if (status != MX_OK || empty_matrix(x)) return status;
    if (r->global_form != MX_GLOBAL_NONE && r->nv_scale == MX_NV_FOUR_SIX)
        return mx_fail(e, MX_UNSUPPORTED, r->name, "the scale depends on how its elements round");
    job q;
    bool good = job_make(&q, r, x, options, 1), one = !r->block_rows && !r->block_cols;
    float amax = 0;
    job strips = in_strips(&q);
    if (good && one && r->scale) good = for_blocks(&strips, visit_amax, NULL, &amax);
    mx_plan p = mx_plan_make(r, amax, q.global_amax, x->format, 0);
    if (good) good = for_blocks(one ? &strips : &q, visit_scaled, &(scaled){y, one ? &p : NULL}, NULL);
    return good ? MX_OK : mx_fail(e, MX_NO_MEMORY, r->name, "no memory for a block");
}

/* ---- whole matrices ----------------------------------------------------------------------------------- */

static mx_status quantize(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                          int threads, mx_quantized *out, mx_error *e)
{
    mx_status status = check(r, x, out, e);
    if (status != MX_OK) return status;
    job q;
    bool good = job_make(&q, r, x, options, threads), empty = empty_matrix(x);
    q.out = out;
    out->global = mx_global_store(r, q.global_amax);
    if (!empty && good) {
        bool one = !r->block_rows && !r->block_cols;
        good = one ? whole_tensor(&q) : for_blocks(&q, visit_quantize, NULL, NULL);
    }
    return good ? MX_OK : mx_fail(e, MX_NO_MEMORY, r->name, "no memory for a block");
}

mx_status mx_quantize_scalar(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                             mx_quantized *out, mx_error *e)
{
    return quantize(r, x, options, 1, out, e);
}

mx_status mx_quantize(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                      mx_quantized *out, mx_error *e)
{
    int threads = options && options->threads > 0 ? options->threads : omp_get_max_threads();
    if (check(r, x, out, NULL) == MX_OK && mx_fast_supports(r, x->format))
        return mx_quantize_fast(r, x, options, out, e);
    return quantize(r, x, options, threads, out, e);
}
