/* SPDX-License-Identifier: Apache-2.0
 *
 * linear.h - the three products of a linear layer, grouped by expert, each with its operands rounded as a
 * training kernel does it:
 *
 *   forward  y = x w^T        x [R, K], w [E, N, K]   blocks along K
 *   dgrad    dx = dy w        dy [R, N], w            blocks along N: w transposed
 *   wgrad    dw = dy^T x      dy, x                   blocks along R: both transposed
 *
 * Rows offsets[e] .. offsets[e + 1] belong to expert e. Every expert's part is a tensor of its own: blocks
 * start anew at a group, and per-tensor scales are per expert. Tensors travel as doubles, dense and
 * row-major; what is rounded is the operands of a product, and its sums. */
#ifndef MX_LINEAR_H
#define MX_LINEAR_H

#include "mx.h"
#include "schedule.h"

struct mx_model;

typedef enum mx_arith {
    MX_ARITH_F64,       /* nothing is rounded but fp64 sums: the reference */
    MX_ARITH_BF16,      /* operands to bf16, sums in fp32 */
    MX_ARITH_QUANTIZED, /* operands to bf16, then by a recipe; sums in fp32 or by a model */
    MX_ARITH_IDEAL      /* as QUANTIZED, with the error of an ideal quantiser drawn at random: ideal.h */
} mx_arith;

/* How the transposed operand of a product is made. */
typedef enum mx_copy {
    MX_COPY_SOURCE, /* quantised from the high-precision tensor, along the new axis */
    MX_COPY_TWICE,  /* from the dequantised rowwise copy: rounded twice */
    MX_COPY_ROWWISE /* the codes of the rowwise copy, and for the scale of a block that of the rowwise block
                       that its first element lay in: rowwise scales reused */
} mx_copy;

typedef enum mx_form { MX_FORWARD, MX_DGRAD, MX_WGRAD } mx_form;

/* One operand of a product, reduction axis last: rows x k, dense. */
typedef struct mx_side {
    const mx_recipe *recipe; /* NULL: bf16, or fp64 */
    int64_t rows, k;
    uint16_t *bf16;
    uint8_t *codes; /* recipe's canonical form, as mx_quantized */
    void *scales;
    float global;
    float *values; /* what codes and scales stand for */
} mx_side;

/* One product of every expert: d[e] = a[e] b[e]^T. */
typedef struct mx_products {
    mx_form form;
    int64_t experts;
    const mx_side *a, *b;
    float *const *d; /* a[e].rows x b[e].rows, dense */
} mx_products;

/* A way of doing linear layers. */
typedef struct mx_scheme {
    const char *name;
    mx_arith arith;
    const mx_recipe *forward;  /* of activations and weights */
    const mx_recipe *gradient; /* of what comes back from the loss; NULL: as forward */
    mx_copy dgrad_copy;        /* of w */
    mx_copy wgrad_copy;        /* of dy and x */
    double backward_factor; /* results of dgrad and wgrad are multiplied with it: 1, but for a planted fault.
                               0 means 1 */
    int slices;             /* sums of K cut into that many slices; 0 means 1 */
    const struct mx_model *model; /* NULL: chain.h; QUANTIZED and BF16 */
    mx_schedule schedule;
    uint64_t seed; /* stochastic rounding and ideal noise */
    /* Who multiplies quantised operands; NULL: the emulator, by `model`. */
    mx_status (*run)(void *context, const mx_products *p, mx_error *e);
    void *context;
} mx_scheme;

typedef struct mx_linear {
    int64_t experts;
    const int64_t *offsets; /* experts + 1 */
    int64_t n, k;
} mx_linear;

/* Errors: no memory; MX_UNSUPPORTED where recipe and model do not go together. `call` tells the products of
 * one step apart for the random draws. */
mx_status mx_linear_forward(const mx_scheme *s, const mx_linear *l, uint64_t call, const double *x,
                            const double *w, double *y, mx_error *e);
mx_status mx_linear_dgrad(const mx_scheme *s, const mx_linear *l, uint64_t call, const double *dy,
                          const double *w, double *dx, mx_error *e);
mx_status mx_linear_wgrad(const mx_scheme *s, const mx_linear *l, uint64_t call, const double *dy,
                          const double *x, double *dw, mx_error *e);

/* A matrix of rows x k: element (r, c) lies at x[r * row_stride + c * k_stride]. Transposed: rowwise blocks
 * run along the other axis. */
typedef struct mx_view {
    const double *x;
    int64_t rows, k, row_stride, k_stride;
} mx_view;

/* The operand made of v under r (NULL: bf16), made as `copy` says. mx_side_free() when done, also after an
 * error. */
mx_status mx_side_make(const mx_scheme *s, const mx_recipe *r, const mx_view *v, mx_copy copy, uint64_t seed,
                       mx_side *out, mx_error *e);
void mx_side_free(mx_side *s);

#endif
