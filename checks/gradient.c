/* SPDX-License-Identifier: Apache-2.0 */
#include "gradient.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "scheme.h"

/* ---- tensors of a run ------------------------------------------------------------------------------------
 */

const char *const gradient_tensors[GRADIENT_TENSORS] = {"h",  "act", "output", "dact",    "dW2",
                                                        "dh", "dW1", "dW3",    "drouter", "dx"};

tensor_view gradient_view(const mx_moe *m, int tensor)
{
    int64_t t = m->shape.tokens, d = m->shape.dim, h = m->shape.hidden, n = m->shape.experts, r = m->rows;
    const tensor_view views[GRADIENT_TENSORS] = {
        {m->h, r, 2 * h, 0, 0},
        {m->act, r, h, 0, 0},
        {m->out, t, d, 0, 0},
        {m->dact, r, h, 0, 0},
        {m->grad.w2, n * d, h, 0, 0},
        {m->dh, r, 2 * h, 0, 0},
        {m->grad.w13, n * h, d, h, 2 * h},
        {m->grad.w13 + h * d, n * h, d, h, 2 * h},
        {m->grad.router, n, d, 0, 0},
        {m->dx, t, d, 0, 0},
    };
    return views[tensor];
}

/* ---- the scene -------------------------------------------------------------------------------------------
 */

static void fill(const mx_data *data, uint64_t seed, int64_t rows, int64_t cols, double scale, double *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[i * cols + j] = (double)(float)(scale * data->value(seed, (uint64_t)i, (uint64_t)j));
}

static int threads_of(const gradient_scene *s)
{
    return s->setup.threads > 0 ? s->setup.threads : omp_get_max_threads();
}

static mx_status run_layer(const gradient_scene *s, const mx_scheme *scheme, mx_moe *m, mx_error *e)
{
    const int32_t *routed = m == &s->reference ? NULL : s->reference.choice;
    mx_status status = mx_moe_make(&s->setup.shape, m, e);
    if (!status) status = mx_moe_forward(m, scheme, &s->w, s->x, routed, 0, e);
    if (!status) status = mx_moe_backward(m, scheme, &s->w, s->x, s->dout, 0, e);
    return status;
}

static int64_t count_rerouted(const gradient_scene *s, const mx_scheme *bf16, mx_error *e)
{
    mx_moe free_choice;
    int64_t count = 0, top = s->setup.shape.top;
    mx_status status = mx_moe_make(&s->setup.shape, &free_choice, e);
    if (!status) status = mx_moe_forward(&free_choice, bf16, &s->w, s->x, NULL, 0, e);
    for (int64_t t = 0; !status && t < s->setup.shape.tokens; t++)
        count += memcmp(free_choice.choice + t * top, s->reference.choice + t * top,
                        (size_t)top * sizeof(int32_t)) != 0;
    mx_moe_free(&free_choice);
    return count;
}

static mx_status make_inputs(gradient_scene *s, mx_error *e)
{
    const mx_moe_shape *p = &s->setup.shape;
    const mx_data *x = mx_data_find(s->setup.x_data), *dout = mx_data_find(s->setup.dout_data),
                  *normal = mx_data_find("normal");
    if (!x || !dout)
        return mx_fail(e, MX_BAD_USAGE, x ? s->setup.dout_data : s->setup.x_data,
                       "no such distribution; `mxcheck list data` has them all");
    int64_t td = p->tokens * p->dim, ed = p->experts * p->dim, ehd = ed * p->hidden;
    double *at = s->memory = malloc((size_t)(2 * td + ed + 3 * ehd + 1) * sizeof *at);
    if (!at) return mx_fail(e, MX_NO_MEMORY, "gradient", "no memory for the inputs");
    s->x = at;
    s->dout = s->x + td;
    s->w = (mx_moe_weights){s->dout + td, s->dout + td + ed, s->dout + td + ed + 2 * ehd};
    double by_dim = 1 / sqrt((double)p->dim), by_hidden = 1 / sqrt((double)p->hidden);
    uint64_t seed = s->setup.seed * 8;
    fill(x, seed, p->tokens, p->dim, 1, s->x);
    fill(dout, seed + 1, p->tokens, p->dim, GRADIENT_LOSS_SCALE, s->dout);
    fill(normal, seed + 2, p->experts, p->dim, by_dim, s->w.router);
    fill(normal, seed + 3, p->experts * 2 * p->hidden, p->dim, by_dim, s->w.w13);
    fill(normal, seed + 4, p->experts * p->dim, p->hidden, by_hidden, s->w.w2);
    return MX_OK;
}

static agreement twin_agreement(const gradient_scene *s, const mx_moe *twin, int tensor)
{
    tensor_view x = gradient_view(&s->reference, tensor), y = gradient_view(twin, tensor);
    return agree(&x, &y);
}

/* How far do runs with ideal noise of other seeds differ? */
static mx_status measure_chance(gradient_scene *s, mx_error *e)
{
    double error[GRADIENT_TWINS][GRADIENT_TENSORS], slope[GRADIENT_TWINS][GRADIENT_TENSORS];
    mx_status status = MX_OK;
#pragma omp parallel for schedule(dynamic) num_threads(threads_of(s))
    for (int i = 0; i < GRADIENT_TWINS; i++) {
        mx_scheme ideal = {.name = "ideal",
                           .arith = MX_ARITH_IDEAL,
                           .forward = mx_recipe_find("mxfp8"),
                           .seed = s->setup.seed + ((uint64_t)(i + 1) << 32)};
        mx_moe twin;
        mx_error mine;
        mx_status one = run_layer(s, &ideal, &twin, &mine);
        for (int t = 0; !one && t < GRADIENT_TENSORS; t++) {
            agreement a = twin_agreement(s, &twin, t);
            error[i][t] = a.relative;
            slope[i][t] = a.projection;
        }
        mx_moe_free(&twin);
        if (one) {
#pragma omp critical
            {
                status = one;
                if (e) *e = mine;
            }
        }
    }
    for (int t = 0; !status && t < GRADIENT_TENSORS; t++) {
        double mean = gsl_stats_mean(&error[0][t], GRADIENT_TENSORS, GRADIENT_TWINS);
        s->scatter[t] = mean > 0 ? gsl_stats_sd(&error[0][t], GRADIENT_TENSORS, GRADIENT_TWINS) / mean : 0;
        s->drift[t] = mean > 0 ? gsl_stats_sd(&slope[0][t], GRADIENT_TENSORS, GRADIENT_TWINS) / mean : 0;
    }
    return status;
}

mx_status gradient_begin(const gradient_setup *setup, gradient_scene *s, mx_error *e)
{
    const mx_scheme fp64 = {.name = "fp64"}, bf16 = {.name = "bf16", .arith = MX_ARITH_BF16};
    *s = (gradient_scene){.setup = *setup};
    if (setup->shape.tokens < 1) return mx_fail(e, MX_BAD_USAGE, "gradient", "no tokens");
    mx_status status = make_inputs(s, e);
    if (!status) status = run_layer(s, &fp64, &s->reference, e);
    if (!status) status = run_layer(s, &bf16, &s->bf16, e);
    if (!status) s->rerouted = count_rerouted(s, &bf16, e);
    for (int i = 0; !status && i < GRADIENT_TENSORS; i++) {
        tensor_view x = gradient_view(&s->reference, i), y = gradient_view(&s->bf16, i);
        s->floor[i] = agree(&x, &y);
    }
    if (!status) status = measure_chance(s, e);
    return status;
}

void gradient_end(gradient_scene *s)
{
    mx_moe_free(&s->reference);
    mx_moe_free(&s->bf16);
    free(s->memory);
    *s = (gradient_scene){0};
}

/* ---- judging ---------------------------------------------------------------------------------------------
 */

static gradient_fault fault_of(const agreement *a, double gate, double drift)
{
    double allowed = 3 * gate * gate + 6 * drift * gate;
    if (a->nonfinite) return GRADIENT_NOT_FINITE;
    double off = fabs(a->projection - 1);
    bool noise = !(a->relative <= gate);
    /* Where the rest of the error is far larger than what is wrong with the size, name that. */
    if (!(off <= allowed) && (!noise || off > a->relative / 3)) return GRADIENT_MAGNITUDE;
    return noise ? GRADIENT_ERROR : GRADIENT_GOOD;
}

static mx_status measure(const gradient_scene *s, gradient_row *row, const mx_moe *seen)
{
    mx_scheme ideal = *row->scheme;
    scheme_vary(&ideal, scheme_variant_at(0)); /* what the right way would have lost */
    ideal.arith = MX_ARITH_IDEAL;
    mx_moe twin;
    mx_status status = run_layer(s, &ideal, &twin, &row->error);
    row->first = -1;
    for (int i = 0; !status && i < GRADIENT_TENSORS; i++) {
        tensor_view x = gradient_view(&s->reference, i), y = gradient_view(seen, i),
                    b = gradient_view(&s->bf16, i);
        double expected = twin_agreement(s, &twin, i).relative;
        row->to_reference[i] = agree(&x, &y);
        row->to_bf16[i] = agree(&b, &y);
        row->expected[i] = hypot(expected, s->floor[i].relative);
        row->gate[i] = GRADIENT_MARGIN * (1 + 6 * s->scatter[i]) * row->expected[i];
        row->fault[i] = fault_of(&row->to_reference[i], row->gate[i], s->drift[i]);
        if (row->fault[i] && row->first < 0) row->first = i;
    }
    mx_moe_free(&twin);
    return status;
}

/* Are the two runs one, but for the order of sums and results rounded to bf16? */
static bool same_results(const mx_moe *a, const mx_moe *b)
{
    for (int i = 0; i < GRADIENT_TENSORS; i++) {
        tensor_view x = gradient_view(a, i), y = gradient_view(b, i);
        agreement g = agree(&x, &y);
        if (g.nonfinite || !(g.relative <= 5e-3)) return false;
    }
    return true;
}

/* Diagnosis is search: which variant of the scheme gives these results? */
static const char *name_fault(const gradient_scene *s, const gradient_row *row, const mx_moe *seen)
{
    const char *found = NULL;
    for (size_t i = 0; i < scheme_variant_count() && !found; i++) {
        mx_scheme guess = *row->scheme;
        guess.run = NULL;
        scheme_vary(&guess, scheme_variant_at(i));
        mx_moe m;
        if (!run_layer(s, &guess, &m, NULL) && same_results(&m, seen)) found = scheme_variant_at(i)->name;
        mx_moe_free(&m);
    }
    return found;
}

static void judge(const gradient_scene *s, gradient_row *row)
{
    mx_moe seen;
    row->status = run_layer(s, row->scheme, &seen, &row->error);
    if (!row->status) row->status = measure(s, row, &seen);
    if (!row->status && row->first >= 0) row->named = name_fault(s, row, &seen);
    mx_moe_free(&seen);
}

void gradient_judge(const gradient_scene *s, gradient_row *rows, size_t n,
                    void (*progress)(void *context, double done, double all), void *context)
{
    int threads = threads_of(s);
    size_t done = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        judge(s, &rows[i]);
#pragma omp critical(gradient_progress)
        if (progress) progress(context, (double)++done, (double)n);
    }
}
