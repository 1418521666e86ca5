/* SPDX-License-Identifier: Apache-2.0 */
#include "moe.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

/* Products of one step, for the draws of linear.h. */
enum { CALL_ROUTER, CALL_13, CALL_2, CALLS = 16 };

static double logistic(double z)
{
    if (z < -700) return 0;
    if (z > 700) return 1;
    return 1 / (1 + mx_exp(-z));
}

double mx_silu(double z) { return z * logistic(z); }

double mx_silu_grad(double z)
{
    double p = logistic(z);
    return p * (1 + z * (1 - p));
}

mx_scheme mx_scheme_plain(const mx_scheme *s)
{
    return (mx_scheme){.name = s->name,
                       .arith = s->arith == MX_ARITH_F64 ? MX_ARITH_F64 : MX_ARITH_BF16,
                       .slices = s->slices};
}

/* ---- memory ---------------------------------------------------------------------------------------------
 */

typedef struct part {
    double **to;
    int64_t n;
} part;

mx_status mx_moe_make(const mx_moe_shape *shape, mx_moe *m, mx_error *e)
{
    int64_t t = shape->tokens, d = shape->dim, h = shape->hidden, n = shape->experts, k = shape->top;
    if (t < 0 || d < 1 || h < 1 || k < 1 || k > n || n > 64 || t > 1 << 24 || d > 1 << 16 || h > 1 << 16)
        return mx_fail(e, MX_BAD_USAGE, "moe", "impossible shape");
    int64_t r = t * k;
    *m = (mx_moe){.shape = *shape, .rows = r};
    part parts[] = {
        {&m->logits, t * n},     {&m->gate, t * k},   {&m->xs, r * d},          {&m->h, r * 2 * h},
        {&m->act, r * h},        {&m->y, r * d},      {&m->out, t * d},         {&m->dy, r * d},
        {&m->dact, r * h},       {&m->dh, r * 2 * h}, {&m->dxs, r * d},         {&m->dlogits, t * n},
        {&m->dx_router, t * d},  {&m->dx, t * d},     {&m->grad.router, n * d}, {&m->grad.w13, n * 2 * h * d},
        {&m->grad.w2, n * d * h}};
    size_t doubles = 0, count = sizeof parts / sizeof *parts;
    for (size_t i = 0; i < count; i++)
        doubles += (size_t)parts[i].n;
    size_t bytes = (doubles + (size_t)n + 1 + (size_t)r) * 8 + (size_t)r * 4;
    char *memory = m->memory = calloc(1, bytes);
    if (!memory) return mx_fail(e, MX_NO_MEMORY, "moe", "no memory for %zu bytes", bytes);
    for (size_t i = 0; i < count; i++) {
        *parts[i].to = (double *)(void *)memory;
        memory += (size_t)parts[i].n * 8;
    }
    m->offsets = (int64_t *)(void *)memory;
    m->place = m->offsets + n + 1;
    m->choice = (int32_t *)(void *)(m->place + r);
    return MX_OK;
}

void mx_moe_free(mx_moe *m)
{
    free(m->memory);
    *m = (mx_moe){0};
}

/* ---- routing --------------------------------------------------------------------------------------------
 */

static void choose(const double *logits, int32_t experts, int32_t top, int32_t *choice)
{
    uint64_t taken = 0;
    for (int32_t i = 0; i < top; i++) {
        int32_t best = 0;
        while (taken >> best & 1)
            best++;
        for (int32_t e = best + 1; e < experts; e++)
            if (!(taken >> e & 1) && logits[e] > logits[best]) best = e;
        choice[i] = best;
        taken |= (uint64_t)1 << best;
    }
}

static void gates(const double *logits, const int32_t *choice, int32_t top, double *gate)
{
    double most = logits[choice[0]], sum = 0;
    for (int32_t i = 1; i < top; i++)
        if (logits[choice[i]] > most) most = logits[choice[i]];
    for (int32_t i = 0; i < top; i++) {
        double below = logits[choice[i]] - most;
        sum += gate[i] = below < -700 ? 0 : mx_exp(below);
    }
    for (int32_t i = 0; i < top; i++)
        gate[i] /= sum;
}

/* Sort the pairs (token, choice) by expert: row numbers and group offsets. */
static void place_rows(mx_moe *m)
{
    int32_t n = m->shape.experts;
    memset(m->offsets, 0, (size_t)(n + 1) * sizeof *m->offsets);
    for (int64_t i = 0; i < m->rows; i++)
        m->offsets[m->choice[i] + 1]++;
    for (int32_t e = 0; e < n; e++)
        m->offsets[e + 1] += m->offsets[e];
    int64_t next[64];
    memcpy(next, m->offsets, (size_t)n * sizeof *next);
    for (int64_t i = 0; i < m->rows; i++)
        m->place[i] = next[m->choice[i]]++;
}

static void route(mx_moe *m, const int32_t *routed)
{
    const mx_moe_shape *s = &m->shape;
    for (int64_t t = 0; t < s->tokens; t++) {
        const double *logits = m->logits + t * s->experts;
        int32_t *choice = m->choice + t * s->top;
        if (routed)
            memcpy(choice, routed + t * s->top, (size_t)s->top * sizeof *choice);
        else
            choose(logits, s->experts, s->top, choice);
        gates(logits, choice, s->top, m->gate + t * s->top);
    }
    place_rows(m);
}

/* ---- forward --------------------------------------------------------------------------------------------
 */

static mx_linear router_of(const mx_moe *m, const int64_t *one)
{
    return (mx_linear){1, one, m->shape.experts, m->shape.dim};
}
static mx_linear first_of(const mx_moe *m)
{
    return (mx_linear){m->shape.experts, m->offsets, 2 * m->shape.hidden, m->shape.dim};
}
static mx_linear second_of(const mx_moe *m)
{
    return (mx_linear){m->shape.experts, m->offsets, m->shape.dim, m->shape.hidden};
}

static void activate(mx_moe *m)
{
    int64_t hidden = m->shape.hidden;
    for (int64_t r = 0; r < m->rows; r++)
        for (int64_t j = 0; j < hidden; j++)
            m->act[r * hidden + j] = mx_silu(m->h[r * 2 * hidden + j]) * m->h[r * 2 * hidden + hidden + j];
}

static void combine(mx_moe *m)
{
    int64_t d = m->shape.dim, top = m->shape.top;
    memset(m->out, 0, (size_t)(m->shape.tokens * d) * sizeof *m->out);
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < d; j++)
            m->out[i / top * d + j] += m->gate[i] * m->y[m->place[i] * d + j];
}

mx_status mx_moe_forward(mx_moe *m, const mx_scheme *s, const mx_moe_weights *w, const double *x,
                         const int32_t *routed, uint64_t call, mx_error *e)
{
    int64_t one[] = {0, m->shape.tokens}, d = m->shape.dim;
    mx_scheme plain = mx_scheme_plain(s);
    mx_linear router = router_of(m, one);
    mx_status status =
        mx_linear_forward(&plain, &router, call * CALLS + CALL_ROUTER, x, w->router, m->logits, e);
    if (status) return status;
    route(m, routed);
    for (int64_t i = 0; i < m->rows; i++)
        memcpy(m->xs + m->place[i] * d, x + i / m->shape.top * d, (size_t)d * sizeof *x);
    mx_linear first = first_of(m), second = second_of(m);
    status = mx_linear_forward(s, &first, call * CALLS + CALL_13, m->xs, w->w13, m->h, e);
    if (status) return status;
    activate(m);
    status = mx_linear_forward(s, &second, call * CALLS + CALL_2, m->act, w->w2, m->y, e);
    if (!status) combine(m);
    return status;
}

/* ---- backward -------------------------------------------------------------------------------------------
 */

/* dy of every row, and the gradient of the logits: softmax over the chosen ones. */
static void uncombine(mx_moe *m, const double *dout)
{
    const mx_moe_shape *s = &m->shape;
    double dgate[64];
    memset(m->dlogits, 0, (size_t)(s->tokens * s->experts) * sizeof *m->dlogits);
    for (int64_t t = 0; t < s->tokens; t++) {
        const double *g = dout + t * s->dim, *gate = m->gate + t * s->top;
        double mean = 0;
        for (int32_t i = 0; i < s->top; i++) {
            int64_t row = m->place[t * s->top + i];
            dgate[i] = 0;
            for (int64_t j = 0; j < s->dim; j++) {
                dgate[i] += g[j] * m->y[row * s->dim + j];
                m->dy[row * s->dim + j] = gate[i] * g[j];
            }
            mean += gate[i] * dgate[i];
        }
        for (int32_t i = 0; i < s->top; i++)
            m->dlogits[t * s->experts + m->choice[t * s->top + i]] = gate[i] * (dgate[i] - mean);
    }
}

static void deactivate(mx_moe *m)
{
    int64_t hidden = m->shape.hidden;
    for (int64_t r = 0; r < m->rows; r++) {
        const double *h = m->h + r * 2 * hidden, *d = m->dact + r * hidden;
        double *dh = m->dh + r * 2 * hidden;
        for (int64_t j = 0; j < hidden; j++) {
            dh[j] = d[j] * h[hidden + j] * mx_silu_grad(h[j]);
            dh[hidden + j] = d[j] * mx_silu(h[j]);
        }
    }
}

static void gather_dx(mx_moe *m)
{
    int64_t d = m->shape.dim, top = m->shape.top;
    memcpy(m->dx, m->dx_router, (size_t)(m->shape.tokens * d) * sizeof *m->dx);
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < d; j++)
            m->dx[i / top * d + j] += m->dxs[m->place[i] * d + j];
}

mx_status mx_moe_backward(mx_moe *m, const mx_scheme *s, const mx_moe_weights *w, const double *x,
                          const double *dout, uint64_t call, mx_error *e)
{
    int64_t one[] = {0, m->shape.tokens};
    mx_scheme plain = mx_scheme_plain(s);
    mx_linear router = router_of(m, one), first = first_of(m), second = second_of(m);
    uint64_t back = call * CALLS + CALLS / 2, weights = back + CALLS / 4;
    uncombine(m, dout);
    mx_status status = mx_linear_dgrad(s, &second, back + CALL_2, m->dy, w->w2, m->dact, e);
    if (!status) status = mx_linear_wgrad(s, &second, weights + CALL_2, m->dy, m->act, m->grad.w2, e);
    if (status) return status;
    deactivate(m);
    status = mx_linear_dgrad(s, &first, back + CALL_13, m->dh, w->w13, m->dxs, e);
    if (!status) status = mx_linear_wgrad(s, &first, weights + CALL_13, m->dh, m->xs, m->grad.w13, e);
    if (!status) status = mx_linear_wgrad(&plain, &router, weights, m->dlogits, x, m->grad.router, e);
    if (!status) status = mx_linear_dgrad(&plain, &router, back, m->dlogits, w->router, m->dx_router, e);
    if (!status) gather_dx(m);
    return status;
}
