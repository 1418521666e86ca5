/* SPDX-License-Identifier: Apache-2.0
 *
 * moe.h - a mixture-of-experts layer, forward and backward, under any scheme of linear.h.
 *
 *   logits = x Wr^T                       [T, E], in fp64 or bf16, never quantised
 *   choice = top k logits of a token, ties to the lower index; gate = softmax over the chosen logits
 *   h = [g | u] = x W13[e]^T              [R, 2H]: R = T * k rows, sorted by expert, then by token
 *   act = silu(g) * u                     silu(z) = z / (1 + exp(-z))
 *   y = act W2[e]^T                       [R, D]
 *   out[t] = sum over the chosen experts, in order of choice, of gate * y
 *
 * Backward gives the gradients of all of these for a loss whose gradient with respect to `out` is `dout`.
 * What is no product is done in fp64; mx_exp keeps it the same on every machine. The choice is a constant to
 * the gradient. */
#ifndef MX_MOE_H
#define MX_MOE_H

#include "linear.h"

typedef struct mx_moe_shape {
    int64_t tokens, dim, hidden;
    int32_t experts, top; /* 1 <= top <= experts */
} mx_moe_shape;

/* Dense, row-major. Weights and their gradients have the same shape. */
typedef struct mx_moe_weights {
    double *router; /* [E, D] */
    double *w13;    /* [E, 2H, D]: gate rows, then up rows */
    double *w2;     /* [E, D, H] */
} mx_moe_weights;

/* Everything a step makes. All arrays belong to `memory`. */
typedef struct mx_moe {
    mx_moe_shape shape;
    int64_t rows;      /* T * k */
    int64_t *offsets;  /* [E + 1]: rows of expert e */
    int32_t *choice;   /* [T, k] */
    int64_t *place;    /* [T, k]: the row of that pair */
    double *logits;    /* [T, E] */
    double *gate;      /* [T, k] */
    double *xs;        /* [R, D] */
    double *h;         /* [R, 2H] */
    double *act;       /* [R, H] */
    double *y;         /* [R, D] */
    double *out;       /* [T, D] */
    double *dy;        /* [R, D] */
    double *dact;      /* [R, H] */
    double *dh;        /* [R, 2H] */
    double *dxs;       /* [R, D] */
    double *dlogits;   /* [T, E] */
    double *dx_router; /* [T, D]: the router's part of dx */
    double *dx;        /* [T, D] */
    mx_moe_weights grad;
    void *memory;
} mx_moe;

mx_status mx_moe_make(const mx_moe_shape *shape, mx_moe *m, mx_error *e);
void mx_moe_free(mx_moe *m);

/* `routed`: experts of each token [T, k] decided by somebody else, or NULL. */
mx_status mx_moe_forward(mx_moe *m, const mx_scheme *s, const mx_moe_weights *w, const double *x,
                         const int32_t *routed, uint64_t call, mx_error *e);
mx_status mx_moe_backward(mx_moe *m, const mx_scheme *s, const mx_moe_weights *w, const double *x,
                          const double *dout, uint64_t call, mx_error *e);

/* The scheme of what is never quantised: fp64 under fp64, bf16 with s's sums under the others. */
mx_scheme mx_scheme_plain(const mx_scheme *s);

double mx_silu(double z);
double mx_silu_grad(double z);

#endif
