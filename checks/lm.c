/* SPDX-License-Identifier: Apache-2.0 */
#include "lm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* Groups of a layer, in the order of the parameter vector, after tok and pos. */
enum { G1, WQKV, WO, G2, ROUTER, W13, W2 };
enum { CALLS_OF_LAYER = 4, CALL_QKV = 0, CALL_O, CALL_HEAD, CALL_MOE };

/* What the backward pass needs of a layer. */
typedef struct layer {
    double *in, *norm1, *scale1, *qkv, *p, *mixed, *attended; /* attended: x after attention */
    double *norm2, *scale2;
    mx_moe moe;
} layer;

struct lm {
    lm_shape shape;
    int32_t sequences;
    int64_t tokens, parameters;
    lm_group groups[LM_GROUPS];
    int n_groups;
    layer layers[LM_MOST_LAYERS];
    double *out, *norm, *scale, *logits, *dlogits, *dx, *dnorm, *dqkv, *dmixed, *scratch;
    double *memory;
};

/* ---- making ----------------------------------------------------------------------------------------------
 */

static void add_group(lm *m, const char *name, int64_t rows, int64_t cols, double spread)
{
    lm_group *g = &m->groups[m->n_groups++];
    snprintf(g->name, sizeof g->name, "%s", name);
    g->at = m->parameters;
    g->n = rows * cols;
    g->rows = rows;
    g->spread = spread;
    g->decays = rows > 1;
    m->parameters += g->n;
}

static void make_groups(lm *m)
{
    const lm_shape *s = &m->shape;
    int64_t d = s->dim, h = s->hidden, e = s->experts;
    double by_d = 1 / sqrt((double)d), depth = 1 / sqrt(2.0 * s->layers);
    add_group(m, "token", s->vocabulary, d, 0.5);
    add_group(m, "position", s->context, d, 0.1);
    for (int i = 0; i < s->layers; i++) {
        char name[24];
        static const char *const names[] = {"norm1", "qkv", "o", "norm2", "router", "w13", "w2"};
        const int64_t rows[] = {1, 3 * d, d, 1, e, e * 2 * h, e * d}, cols[] = {d, d, d, d, d, d, h};
        const double spread[] = {0, by_d, by_d * depth, 0, by_d, by_d, depth / sqrt((double)h)};
        for (int g = 0; g < LM_LAYER_GROUPS; g++) {
            snprintf(name, sizeof name, "layer%d.%s", i, names[g]);
            add_group(m, name, rows[g], cols[g], spread[g]);
        }
    }
    add_group(m, "norm", 1, d, 0);
    add_group(m, "head", s->vocabulary, d, by_d);
}

static mx_status make_memory(lm *m, mx_error *e)
{
    const lm_shape *s = &m->shape;
    int64_t t = m->tokens, d = s->dim, v = s->vocabulary;
    int64_t p = (int64_t)m->sequences * s->heads * s->context * s->context;
    int64_t per_layer = 5 * t * d + 2 * t + 3 * t * d + p, shared = 5 * t * d + t + 2 * t * v + 3 * t * d;
    double *at = m->memory = calloc((size_t)(s->layers * per_layer + shared), sizeof *at);
    if (!at) return mx_fail(e, MX_NO_MEMORY, "model", "no memory");
    for (int i = 0; i < s->layers; i++) {
        layer *l = &m->layers[i];
        double **parts[] = {&l->in,  &l->norm1,  &l->mixed,  &l->attended, &l->norm2,
                            &l->qkv, &l->scale1, &l->scale2, &l->p};
        const int64_t sizes[] = {t * d, t * d, t * d, t * d, t * d, 3 * t * d, t, t, p};
        for (int j = 0; j < 9; j++) {
            *parts[j] = at;
            at += sizes[j];
        }
        mx_moe_shape moe = {t, d, s->hidden, s->experts, s->top};
        mx_status status = mx_moe_make(&moe, &l->moe, e);
        if (status) return status;
    }
    double **parts[] = {&m->out,   &m->norm, &m->dx,     &m->dnorm,  &m->dmixed,
                        &m->scale, &m->dqkv, &m->logits, &m->dlogits};
    const int64_t sizes[] = {t * d, t * d, t * d, t * d, t * d, t, 3 * t * d, t * v, t * v};
    for (int j = 0; j < 9; j++) {
        *parts[j] = at;
        at += sizes[j];
    }
    return MX_OK;
}

mx_status lm_make(const lm_shape *shape, int32_t sequences, lm **out, mx_error *e)
{
    *out = NULL;
    if (shape->layers < 1 || shape->layers > LM_MOST_LAYERS || shape->heads < 1 ||
        shape->dim % shape->heads || shape->vocabulary < 2 || shape->vocabulary > 256 || shape->context < 1 ||
        sequences < 1)
        return mx_fail(e, MX_BAD_USAGE, "model", "impossible shape");
    lm *m = calloc(1, sizeof *m);
    if (!m) return mx_fail(e, MX_NO_MEMORY, "model", "no memory");
    m->shape = *shape;
    m->sequences = sequences;
    m->tokens = (int64_t)sequences * shape->context;
    make_groups(m);
    int64_t widest = 0;
    for (int i = 0; i < m->n_groups; i++)
        widest = m->groups[i].n > widest ? m->groups[i].n : widest;
    m->scratch = malloc((size_t)widest * sizeof *m->scratch);
    mx_status status = m->scratch ? make_memory(m, e) : mx_fail(e, MX_NO_MEMORY, "model", "no memory");
    if (status)
        lm_free(m);
    else
        *out = m;
    return status;
}

void lm_free(lm *m)
{
    if (!m) return;
    for (int i = 0; i < LM_MOST_LAYERS; i++)
        mx_moe_free(&m->layers[i].moe);
    free(m->memory);
    free(m->scratch);
    free(m);
}

int64_t lm_parameters(const lm *m) { return m->parameters; }

int lm_groups(const lm *m, const lm_group **groups)
{
    *groups = m->groups;
    return m->n_groups;
}

void lm_start(const lm *m, uint64_t seed, float *parameters)
{
    for (int g = 0; g < m->n_groups; g++)
        for (int64_t i = 0; i < m->groups[g].n; i++)
            parameters[m->groups[g].at + i] =
                m->groups[g].spread > 0
                    ? (float)(m->groups[g].spread * mx_random_normal(seed, (uint32_t)g, (uint64_t)i))
                    : 1;
}

/* ---- parts of a step --------------------------------------------------------------------------------------
 */

static int64_t group_of(const lm *m, int l, int g) { return m->groups[2 + l * LM_LAYER_GROUPS + g].at; }
static int64_t last_group(const lm *m, int g)
{
    return m->groups[2 + m->shape.layers * LM_LAYER_GROUPS + g].at;
}

static void normalise(const double *x, const double *gain, int64_t rows, int64_t d, double *scale, double *y)
{
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t j = 0; j < d; j++)
            sum += x[r * d + j] * x[r * d + j];
        scale[r] = 1 / sqrt(sum / (double)d + 1e-5);
        for (int64_t j = 0; j < d; j++)
            y[r * d + j] = x[r * d + j] * scale[r] * gain[j];
    }
}

/* Adds to dx and dgain. */
static void normalise_back(const double *x, const double *gain, const double *scale, const double *dy,
                           int64_t rows, int64_t d, double *dx, double *dgain)
{
    for (int64_t r = 0; r < rows; r++) {
        double along = 0;
        for (int64_t j = 0; j < d; j++)
            along += dy[r * d + j] * gain[j] * x[r * d + j];
        along *= scale[r] * scale[r] / (double)d;
        for (int64_t j = 0; j < d; j++) {
            dgain[j] += dy[r * d + j] * x[r * d + j] * scale[r];
            dx[r * d + j] += scale[r] * (dy[r * d + j] * gain[j] - x[r * d + j] * along);
        }
    }
}

static void embed(const lm *m, const double *w, const uint8_t *tokens, double *x)
{
    int64_t d = m->shape.dim, t = m->shape.context;
    for (int64_t i = 0; i < m->tokens; i++) {
        const double *token = w + m->groups[0].at + tokens[i / t * (t + 1) + i % t] * d;
        const double *position = w + m->groups[1].at + i % t * d;
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = token[j] + position[j];
    }
}

static void embed_back(const lm *m, const uint8_t *tokens, double *grad)
{
    int64_t d = m->shape.dim, t = m->shape.context;
    for (int64_t i = 0; i < m->tokens; i++) {
        double *token = grad + m->groups[0].at + tokens[i / t * (t + 1) + i % t] * d;
        double *position = grad + m->groups[1].at + i % t * d;
        for (int64_t j = 0; j < d; j++) {
            token[j] += m->dx[i * d + j];
            position[j] += m->dx[i * d + j];
        }
    }
}

/* Visit every head of every sequence. */
static void attend(const lm *m, layer *l)
{
    int64_t t = m->shape.context, d = m->shape.dim, width = d / m->shape.heads;
    for (int64_t i = 0; i < (int64_t)m->sequences * m->shape.heads; i++) {
        int64_t row = i / m->shape.heads * t, at = i % m->shape.heads * width;
        const double *q = l->qkv + row * 3 * d + at;
        lm_attend(q, q + d, q + 2 * d, t, width, 3 * d, l->p + i * t * t, l->mixed + row * d + at, d);
    }
}

static void attend_back(const lm *m, const layer *l)
{
    int64_t t = m->shape.context, d = m->shape.dim, width = d / m->shape.heads;
    for (int64_t i = 0; i < (int64_t)m->sequences * m->shape.heads; i++) {
        int64_t row = i / m->shape.heads * t, at = i % m->shape.heads * width;
        const double *q = l->qkv + row * 3 * d + at;
        double *dq = m->dqkv + row * 3 * d + at;
        lm_attend_back(q, q + d, q + 2 * d, l->p + i * t * t, m->dmixed + row * d + at, t, width, 3 * d, d,
                       dq, dq + d, dq + 2 * d);
    }
}

/* Mean cross entropy, and weight times its gradient. */
static double entropy(const lm *m, const uint8_t *tokens, double weight)
{
    int64_t v = m->shape.vocabulary, t = m->shape.context;
    double loss = 0, share = 1 / (double)m->tokens;
    for (int64_t i = 0; i < m->tokens; i++) {
        const double *z = m->logits + i * v;
        double *d = m->dlogits + i * v, most = z[0], sum = 0;
        int want = tokens[i / t * (t + 1) + i % t + 1];
        for (int64_t j = 1; j < v; j++)
            most = z[j] > most ? z[j] : most;
        for (int64_t j = 0; j < v; j++)
            sum += d[j] = z[j] - most < -700 ? 0 : mx_exp(z[j] - most);
        loss += share * (mx_ln(sum) + most - z[want]);
        for (int64_t j = 0; j < v; j++)
            d[j] = weight * share * (d[j] / sum - (j == want));
    }
    return loss;
}

static mx_moe_weights experts_at(const lm *m, int l, double *w)
{
    return (mx_moe_weights){w + group_of(m, l, ROUTER), w + group_of(m, l, W13), w + group_of(m, l, W2)};
}

/* ---- forward and backward
 * ---------------------------------------------------------------------------------- */

typedef struct pass {
    lm *m;
    const mx_scheme *s;
    mx_scheme plain;
    double *w; /* parameters, not written to */
    double *grad;
    uint64_t call;
    int64_t one[2];
    mx_error *e;
} pass;

static uint64_t call_of(const pass *p, int layer_index, int what)
{
    return (p->call * 16 + (uint64_t)layer_index) * CALLS_OF_LAYER + (uint64_t)what;
}

static mx_status layer_forward(pass *p, int i, double *x)
{
    lm *m = p->m;
    layer *l = &m->layers[i];
    int64_t t = m->tokens, d = m->shape.dim;
    mx_linear qkv = {1, p->one, 3 * d, d}, o = {1, p->one, d, d};
    memcpy(l->in, x, (size_t)(t * d) * sizeof *x);
    normalise(x, p->w + group_of(m, i, G1), t, d, l->scale1, l->norm1);
    mx_status status = mx_linear_forward(p->s, &qkv, call_of(p, i, CALL_QKV), l->norm1,
                                         p->w + group_of(m, i, WQKV), l->qkv, p->e);
    if (status) return status;
    attend(m, l);
    status = mx_linear_forward(p->s, &o, call_of(p, i, CALL_O), l->mixed, p->w + group_of(m, i, WO),
                               l->attended, p->e);
    for (int64_t j = 0; !status && j < t * d; j++)
        l->attended[j] += x[j];
    normalise(l->attended, p->w + group_of(m, i, G2), t, d, l->scale2, l->norm2);
    mx_moe_weights w = experts_at(m, i, p->w);
    if (!status) status = mx_moe_forward(&l->moe, p->s, &w, l->norm2, NULL, call_of(p, i, CALL_MOE), p->e);
    for (int64_t j = 0; !status && j < t * d; j++)
        x[j] = l->attended[j] + l->moe.out[j];
    return status;
}

static void add(double *to, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += x[i];
}

/* grad += dy^T x for one of the layer's own linear maps. */
static mx_status add_wgrad(pass *p, const mx_scheme *s, const mx_linear *l, uint64_t call, const double *dy,
                           const double *x, int64_t at)
{
    mx_status status = mx_linear_wgrad(s, l, call, dy, x, p->m->scratch, p->e);
    if (!status) add(p->grad + at, p->m->scratch, l->n * l->k);
    return status;
}

/* dx holds the gradient of the layer's output, and then that of its input. */
static mx_status experts_back(pass *p, int i)
{
    lm *m = p->m;
    layer *l = &m->layers[i];
    mx_moe_weights w = experts_at(m, i, p->w), g = experts_at(m, i, p->grad);
    int64_t e = m->shape.experts, d = m->shape.dim, h = m->shape.hidden;
    mx_status status = mx_moe_backward(&l->moe, p->s, &w, l->norm2, m->dx, call_of(p, i, CALL_MOE), p->e);
    if (status) return status;
    add(g.router, l->moe.grad.router, e * d);
    add(g.w13, l->moe.grad.w13, e * 2 * h * d);
    add(g.w2, l->moe.grad.w2, e * d * h);
    normalise_back(l->attended, p->w + group_of(m, i, G2), l->scale2, l->moe.dx, m->tokens, d, m->dx,
                   p->grad + group_of(m, i, G2));
    return MX_OK;
}

static mx_status layer_backward(pass *p, int i)
{
    lm *m = p->m;
    layer *l = &m->layers[i];
    int64_t d = m->shape.dim;
    mx_linear qkv = {1, p->one, 3 * d, d}, o = {1, p->one, d, d};
    uint64_t call_o = call_of(p, i, CALL_O), call_qkv = call_of(p, i, CALL_QKV);
    int64_t wo = group_of(m, i, WO), wqkv = group_of(m, i, WQKV);
    mx_status status = experts_back(p, i);
    if (!status) status = mx_linear_dgrad(p->s, &o, call_o, m->dx, p->w + wo, m->dmixed, p->e);
    if (!status) status = add_wgrad(p, p->s, &o, call_o, m->dx, l->mixed, wo);
    if (status) return status;
    attend_back(m, l);
    status = mx_linear_dgrad(p->s, &qkv, call_qkv, m->dqkv, p->w + wqkv, m->dnorm, p->e);
    if (!status) status = add_wgrad(p, p->s, &qkv, call_qkv, m->dqkv, l->norm1, wqkv);
    if (!status)
        normalise_back(l->in, p->w + group_of(m, i, G1), l->scale1, m->dnorm, m->tokens, d, m->dx,
                       p->grad + group_of(m, i, G1));
    return status;
}

static mx_status backward(pass *p, const uint8_t *tokens)
{
    lm *m = p->m;
    int64_t d = m->shape.dim, head = last_group(m, 1), gain = last_group(m, 0);
    mx_linear top = {1, p->one, m->shape.vocabulary, d};
    uint64_t call = call_of(p, 15, CALL_HEAD);
    mx_status status = mx_linear_dgrad(&p->plain, &top, call, m->dlogits, p->w + head, m->dnorm, p->e);
    if (!status) status = add_wgrad(p, &p->plain, &top, call, m->dlogits, m->norm, head);
    if (status) return status;
    memset(m->dx, 0, (size_t)(m->tokens * d) * sizeof *m->dx);
    normalise_back(m->out, p->w + gain, m->scale, m->dnorm, m->tokens, d, m->dx, p->grad + gain);
    for (int i = m->shape.layers - 1; i >= 0 && !status; i--)
        status = layer_backward(p, i);
    if (!status) embed_back(m, tokens, p->grad);
    return status;
}

mx_status lm_step(lm *m, const mx_scheme *s, const double *parameters, const uint8_t *tokens, uint64_t call,
                  double weight, double *grad, double *loss, mx_error *e)
{
    /* The MoE's struct of weights serves for gradients too, hence the cast; nothing writes through it. */
    pass p = {m, s, mx_scheme_plain(s), (double *)(uintptr_t)parameters, grad, call, {0, m->tokens}, e};
    mx_linear top = {1, p.one, m->shape.vocabulary, m->shape.dim};
    mx_status status = MX_OK;
    embed(m, parameters, tokens, m->out);
    for (int i = 0; i < m->shape.layers && !status; i++)
        status = layer_forward(&p, i, m->out);
    if (status) return status;
    normalise(m->out, parameters + last_group(m, 0), m->tokens, m->shape.dim, m->scale, m->norm);
    status = mx_linear_forward(&p.plain, &top, call_of(&p, 15, CALL_HEAD), m->norm,
                               parameters + last_group(m, 1), m->logits, e);
    if (status) return status;
    *loss = entropy(m, tokens, weight);
    return grad ? backward(&p, tokens) : MX_OK;
}
