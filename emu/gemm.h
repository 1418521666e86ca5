/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm.h - whole products, predicted to the last bit: d = alpha * a b^T + beta * c + bias.
 *
 * What a product computes is an accumulation model (model.h) and a schedule (schedule.h). Where the block
 * scales enter follows from both:
 *   inside the unit  the model takes the scale format (sm100-mxf8f6f4, sm100-mxf4nvf4, exact)
 *   on promotion     the schedule promotes, and every promoted stretch of K lies within one scale block:
 *                    sum += partial * s, or fma(partial, s, sum), with s = a_scale * b_scale in fp32, RNE
 *   in the epilogue  the scales are constant along K
 *   before           schedule "dequant-bf16": element * scale (* global) rounded once to bf16, RNE. With e4m3
 *                    elements this is exact for e8m0 bytes 3 to 246; outside, small results round on bf16's
 *                    subnormal grid and large ones become Inf. mx_operand_inexact_bf16() counts them.
 * Anything else is refused with MX_UNSUPPORTED.
 *
 * Epilogue, in fp32, RNE: x = sum; x *= scales constant along K; x *= a.global * b.global (one rounded
 * factor; left out when it is 1); x = fma(alpha, x, beta * c) (x *= alpha when beta is 0); x += bias[n];
 * then one RNE cast to the output format: f16 and bf16 overflow to Inf, fp8 saturates, NaN is canonical.
 *
 * Cost is linear in M, N and K; memory is bounded by a few tiles per thread, except for models that need a
 * whole stretch of K at once (exact, pairwise-f32), whose tiles are 16 x 16 x K. Results do not depend on
 * the number of threads, nor on whether a fast path ran. */
#ifndef MX_GEMM_H
#define MX_GEMM_H

#include "model.h"
#include "schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rows x k codes: 1 byte each for formats of up to 8 bits, 2 bytes for bf16 and f16, 4 for tf32 and f32.
 * Strides say whether it is stored transposed. */
typedef struct mx_operand {
    const mx_format *format;
    const void *data;
    int64_t rows, k;
    int64_t row_stride, k_stride;             /* elements */
    const mx_format *scale_format;            /* e8m0, ue4m3 or f32; NULL: unscaled */
    const void *scales;                       /* 1 byte each, or one fp32 */
    int64_t scale_row_stride, scale_k_stride; /* scales, from one block to the next */
    int64_t block_rows, block_k;
    float global; /* second-level scale (NVFP4); 0 means 1 */
} mx_operand;

/* Dense row-major operand without scales. */
mx_operand mx_operand_dense(const mx_format *format, const void *data, int64_t rows, int64_t k);
/* The same with a dense row-major scale grid of ceil(rows / block_rows) x ceil(k / block_k). */
mx_operand mx_operand_scaled(const mx_format *format, const void *data, int64_t rows, int64_t k,
                             const mx_format *scale_format, const void *scales, int64_t block_rows,
                             int64_t block_k);
/* n rows from `first`, or n lanes from `first`. Where first is no multiple of the block the scales would
 * shift: MX_UNSUPPORTED. */
mx_status mx_operand_rows(const mx_operand *x, int64_t first, int64_t n, mx_operand *out, mx_error *e);
mx_status mx_operand_lanes(const mx_operand *x, int64_t first, int64_t n, mx_operand *out, mx_error *e);
/* Elements whose dequantised value is no bf16 number. */
int64_t mx_operand_inexact_bf16(const mx_operand *x);

typedef struct mx_product {
    const mx_model *model;
    mx_schedule schedule;
    mx_operand a, b; /* a: M x K, b: N x K */
    double alpha, beta;
    const mx_format *c_format; /* NULL: no c; f32, bf16 or f16 */
    const void *c;
    int64_t c_pitch;
    const mx_format *bias_format; /* NULL: no bias */
    const void *bias;             /* N values */
    const mx_format *d_format;    /* f32, bf16, f16, e4m3, e5m2 */
    void *d;
    int64_t d_pitch;
    int threads; /* 0: all that OpenMP has */
    bool scalar; /* keep to the plain code, as judge of the fast path */
} mx_product;

/* Zeroed, with alpha = 1. */
mx_product mx_product_init(const mx_model *model, const mx_schedule *schedule);

/* M, N or K may be 0: K = 0 gives sums of zero, then the epilogue. */
mx_status mx_gemm(const mx_product *p, mx_error *e);

typedef enum mx_grouped_form {
    MX_GROUPED_ROWS, /* forward and dgrad: a [R, K], b [E, N, K], d [R, N] */
    MX_GROUPED_K     /* wgrad: a [M, R], b [N, R], d [E, M, N] */
} mx_grouped_form;

/* One product per expert: rows (or lanes) offsets[e] .. offsets[e + 1]. `p` describes the whole: a, and for
 * MX_GROUPED_K b and d too, over all experts; for MX_GROUPED_ROWS p->b is expert 0 and expert e's data and
 * scales lie e * b_stride elements and e * b_scale_stride scales further; for MX_GROUPED_K expert e's d lies
 * e * M * d_pitch further. An empty group writes nothing in the first form and zeros in the second (no c, no
 * bias). Offsets must ascend from 0 to R. */
mx_status mx_gemm_grouped(const mx_product *p, mx_grouped_form form, const int64_t *offsets, int64_t experts,
                          int64_t b_stride, int64_t b_scale_stride, mx_error *e);

#ifdef __cplusplus
}
#endif
#endif
