/* SPDX-License-Identifier: Apache-2.0
 *
 * product.h - a case of gemm, grouped-forward, grouped-dgrad or grouped-wgrad as a product of emu/gemm.h. */
#ifndef CHECKS_PRODUCT_H
#define CHECKS_PRODUCT_H

#include "case.h"
#include "gemm.h"

/* Shapes as in mx_kernel.h. Operands borrow the case's tensors. Scales lie on the grid of their operand:
 * blocks of the recipe along K; along the rows one each, or one for as many rows as a block has lanes. */
typedef struct product {
    mx_product p; /* operands over all experts; model and schedule: product_claim(); d_format; no d */
    bool grouped;
    mx_grouped_form form;
    const int64_t *offsets;
    int64_t experts, b_stride, b_scale_stride;
    int64_t rows, cols; /* of d as a matrix: [M, N], [R, N] or [E * M, N] */
    void *owned[2];     /* scales, one a lane, where groups share a block */
} product;

/* True for the operations that a product answers. */
bool product_is(const char *operation);

/* `output`: format of d; NULL or "": f32. Shapes, scale grids and offsets are checked: MX_BAD_INPUT. */
mx_status product_make(product *q, const mx_case *c, const char *output, mx_error *e);
void product_free(product *q);

/* Take model and schedule by name. MX_UNSUPPORTED: no such row; MX_BAD_USAGE: no such schedule. */
mx_status product_claim(product *q, const char *model, const char *schedule, mx_error *e);

/* All outputs by the claimed model into dense d; without a claim, the correctly rounded exact results. */
mx_status product_run(const product *q, void *d, mx_error *e);

/* The product that row `row` of d belongs to, and which row of it that is. */
mx_status product_of_row(const product *q, int64_t row, mx_product *one, int64_t *local, mx_error *e);

#endif
