/* SPDX-License-Identifier: Apache-2.0
 *
 * lm.h - a small character-level language model: a pre-norm transformer whose feed-forward layers are
 * mixtures of experts.
 *
 *   x = token embedding + position embedding
 *   per layer:  x += Wo attention(Wqkv (rms(x) * g1));  x += moe(rms(x) * g2)
 *   logits = head (rms(x) * gf);  loss = mean cross entropy of the next character
 *
 * rms(x) = x / sqrt(mean(x^2) + 1e-5); attention is causal, softmax(q k / sqrt(width of a head)). The scheme
 * rules the products with Wqkv, Wo and the experts; head and router stay in bf16 (fp64 under fp64). All else
 * is fp64: norms, softmax, the attention itself. */
#ifndef CHECKS_LM_H
#define CHECKS_LM_H

#include "moe.h"

typedef struct lm_shape {
    int32_t vocabulary, context, dim, heads, layers, hidden, experts, top;
} lm_shape;

/* A group of parameters in the vector of all of them. */
typedef struct lm_group {
    char name[24];
    int64_t at, n;
    int64_t rows;  /* n / rows columns */
    double spread; /* standard deviation at the start; 0: all ones */
    bool decays;   /* weight decay applies */
} lm_group;

enum { LM_MOST_LAYERS = 8, LM_LAYER_GROUPS = 7, LM_GROUPS = 4 + LM_MOST_LAYERS * LM_LAYER_GROUPS };

typedef struct lm lm;

/* Memory for `sequences` sequences at a time. */
mx_status lm_make(const lm_shape *shape, int32_t sequences, lm **out, mx_error *e);
void lm_free(lm *m);
int64_t lm_parameters(const lm *m);
int lm_groups(const lm *m, const lm_group **groups);
void lm_start(const lm *m, uint64_t seed, float *parameters);

/* tokens: sequences x (context + 1). Adds `weight` times the gradient of the mean loss to grad (NULL: forward
 * alone) and sets *loss. `call` tells calls apart for random draws. */
mx_status lm_step(lm *m, const mx_scheme *s, const double *parameters, const uint8_t *tokens, uint64_t call,
                  double weight, double *grad, double *loss, mx_error *e);

/* Causal attention of one head, for lm_step. q, k, v: t rows of `width`, `stride` apart; p: t x t. */
void lm_attend(const double *q, const double *k, const double *v, int64_t t, int64_t width, int64_t stride,
               double *p, double *out, int64_t out_stride);
void lm_attend_back(const double *q, const double *k, const double *v, const double *p, const double *dout,
                    int64_t t, int64_t width, int64_t stride, int64_t out_stride, double *dq, double *dk,
                    double *dv);

#endif
