/* SPDX-License-Identifier: Apache-2.0
 *
 * product_avx2.h - one row of a product against all columns, eight columns at a time. Written apart from the
 * emulator: no tables, types or functions are shared. */
#ifndef KERNELS_PRODUCT_AVX2_H
#define KERNELS_PRODUCT_AVX2_H

#include <stdbool.h>
#include <stdint.h>

#define PRODUCT_WIDTH 8

/* fp32 FMA, k ascending: sums[c] = fma(a[k], b[k][c], sums[c]), from 0. b is [k][stride], stride a multiple
 * of PRODUCT_WIDTH. */
void product_fma_row(const float *a, const float *b, int64_t k, int64_t stride, float *sums);

/* fp8 operands taken apart, for integer sums. */
typedef struct product_lane {
    int32_t
        significand;  /* signed: with the hidden bit, in units of the last mantissa bit; 0: zero or special */
    int32_t exponent; /* of the value; that of the smallest normal for subnormals */
    int8_t special;   /* 0: finite; 1: +Inf; -1: -Inf; 2: NaN */
} product_lane;

/* Columns of one block of up to 32 lanes: [lane][stride]. */
typedef struct product_block {
    const int32_t *significand, *exponent;
    const int8_t *special; /* [lane][stride] */
    const bool *any;       /* [stride]: does the column hold a special? */
    const float *scale;    /* [stride] */
    int64_t lanes, stride;
} product_block;

/* sums[c] = fma(step(a, b[c]), a_scale * b.scale[c], sums[c]), where a step aligns all products to the
 * largest exponent, cuts them toward zero below 13 fraction bits, adds them, and keeps 14 bits of the sum.
 * `mantissa`: bits of the fp8 mantissa field (3 or 2). */
void product_step_row(const product_lane *a, float a_scale, const product_block *b, int mantissa,
                      float *sums);

#endif
