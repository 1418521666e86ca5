/* SPDX-License-Identifier: Apache-2.0
 * Products by tiles: slices of K, stretches between promotions, chains; then the epilogue. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_load.h"
#include "gemm_tile.h"

enum { FAST_TILE = 256, PLAIN_TILE = 16, CHUNK = 128, MAX_K_AT_ONCE = 1 << 22 };

/* Everything that is decided once for a product. */
typedef struct plan {
    const mx_product *p;
    mx_chain_tile chain;
    mx_scale_place place;
    int64_t m, n, k;
    int64_t tile;    /* rows and columns of a tile */
    int64_t chunk;   /* lanes loaded at a time */
    int64_t stretch; /* lanes between promotions; 0: never promoted */
    size_t scratch;
} plan;

/* One thread's memory: a tile of outputs in every stage of its making. */
typedef struct workspace {
    mx_panel a, b;
    uint32_t *acc;  /* the unit's accumulator */
    float *sum;     /* promoted sums of a slice, or the slice's result */
    float *total;   /* slices added up; for orders other than ascending, one tile per slice */
    float *fa, *fb; /* scales on promotion or in the epilogue, per row and column */
    void *scratch;
} workspace;

typedef struct tile {
    int64_t row, rows, col, cols;
} tile;

mx_product mx_product_init(const mx_model *model, const mx_schedule *schedule)
{
    mx_product p = {.model = model, .alpha = 1};
    if (schedule) p.schedule = *schedule;
    return p;
}

void mx_chain_tile_scalar(const mx_model *m, const mx_panel *a, const mx_panel *b, uint32_t *acc, int64_t ld,
                          void *scratch)
{
    (void)scratch;
    int64_t scales = a->scale_format ? (a->k + a->scale_block - 1) / a->scale_block : 0;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < b->rows; j++) {
            mx_lanes x = {a->format, b->format, a->codes + i * a->k, b->codes + j * b->k, a->k, NULL, NULL,
                          NULL,      0};
            if (a->scale_format) {
                x.scale_format = a->scale_format;
                x.scale_block = a->scale_block;
                x.a_scale = a->scales + i * scales;
                x.b_scale = b->scales + j * scales;
            }
            acc[i * ld + j] = mx_model_chain(m, &x, acc[i * ld + j]);
        }
}

/* ---- planning ---------------------------------------------------------------------------------------- */

static mx_status check_formats(const mx_product *p, mx_error *e)
{
    if (!p->model || !p->a.format || !p->b.format || !p->d_format)
        return mx_fail(e, MX_BAD_USAGE, "product", "a product needs a model and formats of a, b and d");
    const mx_format *a = mx_unit_format(p, &p->a), *b = mx_unit_format(p, &p->b);
    if (!mx_model_accepts(p->model, a) || !mx_model_accepts(p->model, b))
        return mx_fail(e, MX_UNSUPPORTED, "product", "model %s does not take %s x %s", p->model->name,
                       a->name, b->name);
    if (p->a.k != p->b.k || p->a.rows < 0 || p->b.rows < 0 || p->a.k < 0)
        return mx_fail(e, MX_BAD_USAGE, "product", "K differs between a (%lld) and b (%lld), or is negative",
                       (long long)p->a.k, (long long)p->b.k);
    if (p->schedule.c_first && (p->schedule.split > 1 || p->schedule.promote || p->beta != 1))
        return mx_fail(e, MX_UNSUPPORTED, "schedule", "c-first needs a plain chain and beta = 1");
    if (p->schedule.slice > 1 && (p->schedule.split > 1 || p->schedule.promote))
        return mx_fail(e, MX_UNSUPPORTED, "schedule", "slice goes with neither split nor promotion");
    if (p->schedule.residue && p->schedule.split > 1)
        return mx_fail(e, MX_UNSUPPORTED, "schedule", "residue does not go with split");
    if ((p->schedule.residue || p->schedule.slice > 1) && !p->model->k)
        return mx_fail(e, MX_UNSUPPORTED, "schedule", "model %s takes all of K at once", p->model->name);
    if (p->schedule.promote && !p->model->k)
        return mx_fail(e, MX_UNSUPPORTED, "schedule", "model %s has no instructions to promote between",
                       p->model->name);
    return MX_OK;
}

/* Sums that are added up at the end. */
static int32_t parts_of(const mx_schedule *s)
{
    return s->slice > 1 ? s->slice : s->split > 1 ? s->split : 1;
}

static mx_status make_plan(plan *w, const mx_product *p, mx_error *e)
{
    mx_status status = check_formats(p, e);
    *w = (plan){.p = p, .chain = mx_chain_tile_scalar};
    if (!status) status = mx_scale_place_find(p, &w->place, e);
    if (status) return status;
    w->m = p->a.rows;
    w->n = p->b.rows;
    w->k = p->a.k;
    if (!w->k) w->place = MX_PLACE_NONE; /* no lanes, no scales to read */
    w->stretch = p->schedule.promote ? (int64_t)p->schedule.promote * p->model->k : 0;
    w->tile = PLAIN_TILE;
    w->chunk = CHUNK;
    if (!p->model->k) { /* one step takes all lanes there are */
        w->chunk = w->k > 0 ? w->k : 1;
        if (w->chunk > MAX_K_AT_ONCE)
            return mx_fail(e, MX_UNSUPPORTED, "product", "model %s holds whole rows: K above 2^22 is refused",
                           p->model->name);
        return MX_OK;
    }
    const mx_format *a = mx_unit_format(p, &p->a), *b = mx_unit_format(p, &p->b);
    mx_chain_tile fast = p->scalar ? NULL : mx_chain_tile_fast(p->model, a, b, FAST_TILE, CHUNK, &w->scratch);
    if (fast) {
        w->chain = fast;
        w->tile = parts_of(&p->schedule) > 1 && p->schedule.order != MX_SPLIT_UP ? 4 * PLAIN_TILE : FAST_TILE;
    }
    return MX_OK;
}

static void free_workspace(workspace *w)
{
    mx_panel_free(&w->a);
    mx_panel_free(&w->b);
    free(w->acc);
    free(w->sum);
    free(w->total);
    free(w->fa);
    free(w->fb);
    free(w->scratch);
}

static bool make_workspace(workspace *w, const plan *q)
{
    size_t cells = (size_t)(q->tile * q->tile);
    size_t totals = q->p->schedule.order == MX_SPLIT_UP ? 1 : (size_t)parts_of(&q->p->schedule);
    memset(w, 0, sizeof *w);
    bool panels = mx_panel_make(&w->a, q->p, &q->p->a, q->place, q->tile, q->chunk) &&
                  mx_panel_make(&w->b, q->p, &q->p->b, q->place, q->tile, q->chunk);
    w->acc = malloc(cells * sizeof *w->acc);
    w->sum = malloc(cells * sizeof *w->sum);
    w->total = malloc(cells * (totals ? totals : 1) * sizeof *w->total);
    w->fa = malloc((size_t)q->tile * sizeof *w->fa);
    w->fb = malloc((size_t)q->tile * sizeof *w->fb);
    w->scratch = q->scratch ? aligned_alloc(64, (q->scratch + 63) / 64 * 64) : NULL;
    return panels && w->acc && w->sum && w->total && w->fa && w->fb && (w->scratch || !q->scratch);
}

/* ---- one tile ---------------------------------------------------------------------------------------- */

static float acc_value(const plan *q, uint32_t acc)
{
    float x;
    if (q->p->model->output == MX_OUT_F16_RNE) return (float)mx_decode(mx_model_format(q->p->model), acc);
    memcpy(&x, &acc, sizeof x);
    return x;
}

static float c_value(const mx_product *p, int64_t row, int64_t col)
{
    return mx_load_value(p->c_format, p->c, row * p->c_pitch + col);
}

static void start_chain(const plan *q, workspace *w, tile t)
{
    const mx_product *p = q->p;
    for (int64_t i = 0; i < t.rows; i++)
        for (int64_t j = 0; j < t.cols; j++)
            w->acc[i * q->tile + j] =
                p->schedule.c_first && p->c_format
                    ? mx_encode(mx_model_format(p->model), (double)c_value(p, t.row + i, t.col + j),
                                &(mx_cast){MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0}, 0)
                    : 0;
}

/* The chain goes on over lanes [begin, end), loaded in chunks. */
static void continue_chain(const plan *q, workspace *w, tile t, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k += q->chunk) {
        int64_t n = end - k < q->chunk ? end - k : q->chunk;
        mx_panel_load(&w->a, q->p, &q->p->a, t.row, t.rows, k, n);
        mx_panel_load(&w->b, q->p, &q->p->b, t.col, t.cols, k, n);
        q->chain(q->p->model, &w->a, &w->b, w->acc, q->tile, w->scratch);
    }
}

/* One chain over lanes [begin, end), or over those that accumulator `slice` takes of each tile. */
static void run_chain(const plan *q, workspace *w, tile t, int64_t begin, int64_t end, int slice)
{
    const mx_schedule *s = &q->p->schedule;
    int64_t width = s->slice > 1 ? s->slice_tile : end - begin,
            k_tile = s->slice > 1 ? s->slice * width : width;
    int64_t length = s->residue && (end - begin) % s->residue ? (end - begin) % s->residue : k_tile;
    start_chain(q, w, t);
    for (int64_t k = begin; k < end; k += length, length = k_tile) {
        int64_t stop = end - k < length ? end : k + length, first = k + slice * width;
        continue_chain(q, w, t, first, stop - first < width ? stop : first + width);
    }
}

static void load_factors(const plan *q, workspace *w, tile t, int64_t k)
{
    mx_load_factors(&q->p->a, t.row, t.rows, k, w->fa);
    mx_load_factors(&q->p->b, t.col, t.cols, k, w->fb);
}

/* x * scale, split into a finished factor and the one that an FFMA may take. */
static float promoted_scale(mx_scale_order order, float fa, float fb, float *x)
{
    switch (order) {
    case MX_SCALE_AB: return fa * fb;
    case MX_SCALE_A_B: *x *= fa; return fb;
    case MX_SCALE_B_A: *x *= fb; return fa;
    }
    return 1;
}

static void promote(const plan *q, workspace *w, tile t, int64_t k)
{
    const mx_schedule *s = &q->p->schedule;
    bool scaled = q->place == MX_PLACE_PROMOTION;
    if (scaled) load_factors(q, w, t, k);
    for (int64_t i = 0; i < t.rows; i++)
        for (int64_t j = 0; j < t.cols; j++) {
            float x = acc_value(q, w->acc[i * q->tile + j]), scale = 1;
            float *sum = &w->sum[i * q->tile + j];
            if (scaled) scale = promoted_scale(s->scale_order, w->fa[i], w->fb[j], &x);
            *sum = s->ffma ? fmaf(x, scale, *sum) : scaled ? *sum + x * scale : *sum + x;
        }
}

/* The result of one slice of K, into w->sum. */
static void run_slice(const plan *q, workspace *w, tile t, int64_t begin, int64_t end, int slice)
{
    int64_t cells = t.rows * q->tile;
    if (!q->stretch) {
        run_chain(q, w, t, begin, end, slice);
        for (int64_t i = 0; i < cells; i++)
            w->sum[i] = i % q->tile < t.cols ? acc_value(q, w->acc[i]) : 0;
        return;
    }
    memset(w->sum, 0, (size_t)cells * sizeof *w->sum);
    int64_t rest = q->p->schedule.residue ? (end - begin) % q->p->schedule.residue : 0;
    int64_t length = rest ? rest : q->stretch;
    for (int64_t k = begin; k < end; k += length, length = q->stretch) {
        if (length > end - k) length = end - k;
        run_chain(q, w, t, k, k + length, 0);
        promote(q, w, t, k);
    }
}

/* Add the n slice results at `part`, `step` floats apart. */
static float add_slices(const float *part, int64_t step, int n, mx_split_order order)
{
    if (n == 1) return part[0];
    if (order == MX_SPLIT_TREE)
        return add_slices(part, step, n / 2, order) + add_slices(part + n / 2 * step, step, n - n / 2, order);
    float sum = part[(n - 1) * step]; /* MX_SPLIT_DOWN; ascending sums are formed on the way */
    for (int i = n - 2; i >= 0; i--)
        sum += part[i * step];
    return sum;
}

static void run_slices(const plan *q, workspace *w, tile t)
{
    const mx_schedule *s = &q->p->schedule;
    int64_t cells = t.rows * q->tile, begin, end;
    int n = 0;
    for (int i = 0; i < parts_of(s); i++) {
        mx_schedule_slice(s, q->k, i, &begin, &end);
        if (begin == end && i) continue; /* a slice without lanes adds nothing */
        run_slice(q, w, t, begin, end, s->slice > 1 ? i : 0);
        float *to = w->total + (s->order == MX_SPLIT_UP ? 0 : n * cells);
        for (int64_t c = 0; c < cells; c++)
            to[c] = n && s->order == MX_SPLIT_UP ? to[c] + w->sum[c] : w->sum[c];
        n++;
    }
    if (s->order == MX_SPLIT_UP) return;
    for (int64_t c = 0; c < cells; c++)
        w->total[c] = add_slices(w->total + c, cells, n, s->order);
}

/* ---- epilogue ---------------------------------------------------------------------------------------- */

static float scaled_sum(const plan *q, const workspace *w, float x, int64_t i, int64_t j)
{
    if (q->place != MX_PLACE_EPILOGUE) return x;
    switch (q->p->schedule.scale_order) {
    case MX_SCALE_AB: return x * (w->fa[i] * w->fb[j]);
    case MX_SCALE_A_B: return x * w->fa[i] * w->fb[j];
    case MX_SCALE_B_A: return x * w->fb[j] * w->fa[i];
    }
    return x;
}

static void finish_tile(const plan *q, workspace *w, tile t)
{
    const mx_product *p = q->p;
    float ga = p->a.global == 0 ? 1 : p->a.global, gb = p->b.global == 0 ? 1 : p->b.global;
    float global = q->place == MX_PLACE_BEFORE ? 1 : ga * gb, alpha = (float)p->alpha, beta = (float)p->beta;
    if (q->place == MX_PLACE_EPILOGUE) load_factors(q, w, t, 0);
    for (int64_t i = 0; i < t.rows; i++)
        for (int64_t j = 0; j < t.cols; j++) {
            float x = scaled_sum(q, w, w->total[i * q->tile + j], i, j);
            if (global != 1) x *= global;
            if (p->c_format && beta != 0 && !p->schedule.c_first)
                x = fmaf(alpha, x, beta * c_value(p, t.row + i, t.col + j));
            else if (alpha != 1)
                x *= alpha;
            if (p->bias_format) x += mx_load_value(p->bias_format, p->bias, t.col + j);
            mx_store_value(p->d_format, p->d, (t.row + i) * p->d_pitch + t.col + j, x);
        }
}

mx_status mx_gemm(const mx_product *p, mx_error *e)
{
    plan q;
    mx_status status = make_plan(&q, p, e);
    if (status || !q.m || !q.n) return status;
    int threads = p->threads > 0 ? p->threads : omp_get_max_threads();
    /* Small products: smaller tiles, so that every thread has some. */
    while (q.tile > 4 * PLAIN_TILE && (q.m / q.tile + 1) * (q.n / q.tile + 1) < 2 * threads)
        q.tile /= 2;
    int64_t down = (q.m + q.tile - 1) / q.tile, across = (q.n + q.tile - 1) / q.tile;
    if (threads > down * across) threads = (int)(down * across);
    bool failed = false;
#pragma omp parallel num_threads(threads)
    {
        workspace w;
        bool ready = make_workspace(&w, &q);
        if (!ready) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < down * across; i++) {
            if (!ready) continue;
            tile t = {.row = i / across * q.tile, .col = i % across * q.tile};
            t.rows = q.m - t.row < q.tile ? q.m - t.row : q.tile;
            t.cols = q.n - t.col < q.tile ? q.n - t.col : q.tile;
            run_slices(&q, &w, t);
            finish_tile(&q, &w, t);
        }
        free_workspace(&w);
    }
    return failed ? mx_fail(e, MX_NO_MEMORY, "product", "no memory for a tile") : MX_OK;
}
