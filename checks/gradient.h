/* SPDX-License-Identifier: Apache-2.0
 *
 * gradient.h - an MoE layer forward and backward under many schemes, judged against fp64 and against BF16.
 *
 * Gates come from theory and from BF16, never from the quantiser under judgement. For every scheme the layer
 * is run once more with the error of an ideal quantiser of that format and block shape drawn at random
 * (ideal.h): that gives the expected relative error of every tensor. With b the error of BF16 itself,
 *
 *   expected   sqrt(ideal^2 + b^2)
 *   gate       GRADIENT_MARGIN * (1 + 6 scatter) * expected, on the relative L2 error
 *   magnitude  |projection - 1| <= 3 gate^2 + 6 drift * gate
 *
 * scatter and drift say how much chance there is in a tensor of this layer: the relative standard deviation
 * of its error, and that of its projection in units of its error, over GRADIENT_TWINS runs with ideal e4m3
 * noise of different seeds. Where an outlier channel carries a small layer both are large. The second-order
 * part of the magnitude gate allows for coarse grids, whose errors are not quite independent of the value.
 *
 * The angle alone decides nothing: 2^-3 times the right gradient has cosine 1, and fails by its magnitude.
 * Routing is that of fp64 in every run; how many tokens BF16 would have sent elsewhere is counted. */
#ifndef CHECKS_GRADIENT_H
#define CHECKS_GRADIENT_H

#include "agreement.h"
#include "moe.h"

/* On large tensors right quantisers come within 0.92 to 1.06 of theory (`mxcheck gradient --x-data normal
 * --seed 5`, column "theory"); a second rounding of both operands of a product costs up to sqrt(2). */
#define GRADIENT_MARGIN 1.12

enum { GRADIENT_TWINS = 8 };

/* In the order of computation: the first that goes bad is where to look. */
enum { GRADIENT_TENSORS = 10 };
extern const char *const gradient_tensors[GRADIENT_TENSORS];

/* dout is this times a row of data.h: the loss is a mean over 4096 tokens. */
#define GRADIENT_LOSS_SCALE (1.0 / 4096)

typedef struct gradient_setup {
    mx_moe_shape shape;
    uint64_t seed;
    const char *x_data, *dout_data; /* rows of data.h */
    int threads;                    /* 0: all; the result does not depend on it */
} gradient_setup;

/* The layer's inputs and the two references. */
typedef struct gradient_scene {
    gradient_setup setup;
    double *x, *dout;
    mx_moe_weights w;
    mx_moe reference, bf16;
    int64_t rerouted; /* tokens that bf16 routes to other experts */
    double scatter[GRADIENT_TENSORS], drift[GRADIENT_TENSORS];
    agreement floor[GRADIENT_TENSORS]; /* bf16 against fp64 */
    double *memory;
} gradient_scene;

typedef enum gradient_fault {
    GRADIENT_GOOD,
    GRADIENT_NOT_FINITE,
    GRADIENT_MAGNITUDE, /* the direction may be right */
    GRADIENT_ERROR      /* larger than the format explains */
} gradient_fault;

/* One scheme. */
typedef struct gradient_row {
    const mx_scheme *scheme;
    bool right; /* the scheme is meant to be right: a fault is a finding */
    agreement to_reference[GRADIENT_TENSORS], to_bf16[GRADIENT_TENSORS];
    double expected[GRADIENT_TENSORS], gate[GRADIENT_TENSORS];
    gradient_fault fault[GRADIENT_TENSORS];
    int first;         /* tensor that goes bad first; -1: none */
    const char *named; /* variant of scheme.h whose results these are, where one is found; NULL */
    mx_status status;  /* could not run: `error` says why */
    mx_error error;
} gradient_row;

mx_status gradient_begin(const gradient_setup *setup, gradient_scene *s, mx_error *e);
void gradient_end(gradient_scene *s);

/* Fill rows[0..n) whose `scheme` and `right` are set. `progress` (NULL: none) is called by one thread at a
 * time. */
void gradient_judge(const gradient_scene *s, gradient_row *rows, size_t n,
                    void (*progress)(void *context, double done, double all), void *context);

/* The tensor of one run. */
tensor_view gradient_view(const mx_moe *m, int tensor);

#endif
