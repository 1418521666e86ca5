/* SPDX-License-Identifier: Apache-2.0 */
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* ---- text -------------------------------------------------------------------------------------------------
 */

mx_status train_text_make(const char *bytes, size_t n, train_text *out, mx_error *e)
{
    int16_t number[256];
    bool seen[256] = {false};
    *out = (train_text){0};
    for (size_t i = 0; i < n; i++)
        seen[(unsigned char)bytes[i]] = true;
    for (int c = 0; c < 256; c++)
        number[c] = seen[c] ? (int16_t)out->vocabulary++ : -1;
    if (n > INT32_MAX || out->vocabulary < 2)
        return mx_fail(e, MX_BAD_INPUT, "text", "a text of at least two different characters is wanted");
    out->memory = malloc(n);
    if (!out->memory) return mx_fail(e, MX_NO_MEMORY, "text", "no memory");
    for (size_t i = 0; i < n; i++)
        out->memory[i] = (uint8_t)number[(unsigned char)bytes[i]];
    out->symbol = out->memory;
    out->n = (int64_t)n;
    return MX_OK;
}

void train_text_free(train_text *t)
{
    free(t->memory);
    *t = (train_text){0};
}

/* The sequences of one micro-batch of a step: where they start is drawn by (data seed, step, sequence). */
static void pick(const train_setup *s, const train_text *text, int32_t step, int32_t micro, uint8_t *tokens)
{
    int32_t each = s->batch / s->micro, width = s->shape.context + 1;
    for (int32_t i = 0; i < each; i++) {
        uint64_t index = (uint64_t)step * (uint64_t)s->batch + (uint64_t)(micro * each + i);
        uint64_t at = mx_random_u64(s->data_seed, 0, index) % (uint64_t)(text->n - width + 1);
        memcpy(tokens + (int64_t)i * width, text->symbol + at, (size_t)width);
    }
}

/* ---- state ------------------------------------------------------------------------------------------------
 */

mx_status train_run_make(const train_setup *setup, train_run *r, mx_error *e)
{
    lm *model;
    if (setup->steps < 1 || setup->micro < 1 || setup->batch < setup->micro || setup->batch % setup->micro)
        return mx_fail(e, MX_BAD_USAGE, "training", "micro-batches must divide the batch");
    mx_status status = lm_make(&setup->shape, 1, &model, e);
    if (status) return status;
    size_t n = (size_t)lm_parameters(model);
    r->parameters = (int64_t)n;
    r->step = 0;
    r->p = malloc(n * sizeof *r->p);
    r->m = calloc(n, sizeof *r->m);
    r->v = calloc(n, sizeof *r->v);
    r->loss = calloc((size_t)setup->steps, sizeof *r->loss);
    if (r->p && r->m && r->v && r->loss)
        lm_start(model, r->seed, r->p);
    else
        status = mx_fail(e, MX_NO_MEMORY, "training", "no memory");
    lm_free(model);
    if (r->reordered) r->scheme.slices = 2;
    r->scheme.seed = r->seed << 40;
    return status;
}

void train_run_free(train_run *r)
{
    free(r->p);
    free(r->m);
    free(r->v);
    free(r->loss);
    r->p = r->m = r->v = NULL;
    r->loss = NULL;
}

/* ---- a step -----------------------------------------------------------------------------------------------
 */

typedef struct worker {
    lm *model;
    double *w, *grad;
    uint8_t *tokens;
} worker;

static mx_status worker_make(const train_setup *s, int64_t parameters, worker *w, mx_error *e)
{
    int32_t each = s->batch / s->micro;
    *w = (worker){.w = malloc((size_t)parameters * sizeof(double)),
                  .grad = malloc((size_t)parameters * sizeof(double)),
                  .tokens = malloc((size_t)each * (size_t)(s->shape.context + 1))};
    mx_status status = lm_make(&s->shape, each, &w->model, e);
    if (!status && (!w->w || !w->grad || !w->tokens))
        status = mx_fail(e, MX_NO_MEMORY, "training", "no memory");
    return status;
}

static void worker_free(worker *w)
{
    lm_free(w->model);
    free(w->w);
    free(w->grad);
    free(w->tokens);
}

/* The mean gradient over the micro-batches of a step into w->grad, and the mean loss. */
static mx_status accumulate(const train_setup *s, const train_text *text, const train_run *r, worker *w,
                            int32_t step, int32_t skip, double *loss, mx_error *e)
{
    memset(w->grad, 0, (size_t)r->parameters * sizeof *w->grad);
    for (int64_t i = 0; i < r->parameters; i++)
        w->w[i] = r->p[i];
    *loss = 0;
    mx_status status = MX_OK;
    for (int32_t i = 0; i < s->micro && !status; i++) {
        bool left_out = i == skip || (r->drops && i == s->micro - 1);
        double one, weight = 1 / (double)s->micro;
        pick(s, text, step, i, w->tokens);
        uint64_t call = (uint64_t)step * (uint64_t)s->micro + (uint64_t)i;
        status =
            lm_step(w->model, &r->scheme, w->w, w->tokens, call, weight, left_out ? NULL : w->grad, &one, e);
        *loss += weight * one;
    }
    return status;
}

static double rate_at(const train_setup *s, int32_t step)
{
    double warm = s->steps / 10.0, t = step + 1;
    if (t < warm) return s->rate * t / warm;
    return s->rate * (1 - 0.9 * (t - warm) / (s->steps - warm + 1));
}

static void adamw(const train_setup *s, const lm *model, train_run *r, const double *grad)
{
    const lm_group *groups;
    int n = lm_groups(model, &groups);
    double norm = 0;
    for (int64_t i = 0; i < r->parameters; i++)
        norm += grad[i] * grad[i];
    float clip = norm > 1 ? (float)(1 / sqrt(norm)) : 1, b1 = 0.9f, b2 = 0.95f;
    double left1 = 1, left2 = 1; /* b1^t and b2^t by products, the same on every machine */
    for (int32_t t = 0; t <= r->step; t++) {
        left1 *= 0.9;
        left2 *= 0.95;
    }
    float rate = (float)rate_at(s, r->step), by1 = (float)(1 / (1 - left1)), by2 = (float)(1 / (1 - left2));
    for (int g = 0; g < n; g++) {
        float decay = groups[g].decays ? 0.1f : 0;
        for (int64_t i = groups[g].at; i < groups[g].at + groups[g].n; i++) {
            float d = (float)grad[i] * clip;
            r->m[i] = b1 * r->m[i] + (1 - b1) * d;
            r->v[i] = b2 * r->v[i] + (1 - b2) * d * d;
            float move = r->m[i] * by1 / (sqrtf(r->v[i] * by2) + 1e-8f);
            r->p[i] -= rate * (move + decay * r->p[i]);
        }
    }
}

static void give_up(const train_setup *s, train_run *r)
{
    for (; r->step < s->steps; r->step++)
        r->loss[r->step] = NAN;
}

void train_run_to(const train_setup *s, const train_text *text, train_run *r, int32_t until,
                  void (*tick)(void *), void *context)
{
    worker w;
    r->status = worker_make(s, r->parameters, &w, &r->error);
    while (!r->status && r->step < until && r->step < s->steps) {
        double loss;
        r->status = accumulate(s, text, r, &w, r->step, -1, &loss, &r->error);
        if (r->status) break;
        r->loss[r->step] = loss;
        adamw(s, w.model, r, w.grad);
        r->step++;
        if (!isfinite(loss)) give_up(s, r);
        if (tick) tick(context);
    }
    worker_free(&w);
}

mx_status train_first_gradient(const train_setup *s, const train_text *text, const train_run *r, int32_t skip,
                               double *grad, mx_error *e)
{
    worker w;
    train_run first = *r;
    double loss;
    mx_status status = worker_make(s, r->parameters, &w, e);
    first.p = malloc((size_t)r->parameters * sizeof *first.p);
    if (!status && !first.p) status = mx_fail(e, MX_NO_MEMORY, "training", "no memory");
    if (!status) {
        lm_start(w.model, r->seed, first.p);
        status = accumulate(s, text, &first, &w, 0, skip, &loss, e);
    }
    if (!status) memcpy(grad, w.grad, (size_t)r->parameters * sizeof *grad);
    free(first.p);
    worker_free(&w);
    return status;
}
