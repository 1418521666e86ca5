/* SPDX-License-Identifier: Apache-2.0
 *
 * model_fast.h - fused steps on vectors: the same bits as mx_model_step(), many columns at a time.
 *
 * For one row and a group of columns, products are made in fp32 lanes, where all of them are exact; the vote
 * runs on int16 exponents; each product is multiplied by the power of two that brings the common grid to 1
 * and converted to an integer toward zero: that is the cut. Integers are added exactly, and the one
 * conversion back cuts toward zero too. Lanes that leave this scheme's range (Inf, NaN, exponents near the
 * ends of fp32) are found and done again by the scalar code. */
#ifndef MX_MODEL_FAST_H
#define MX_MODEL_FAST_H

#include "gemm_tile.h"

/* What a vector kernel needs of a model. */
typedef struct mx_fast_rule {
    int lanes;    /* L */
    int fraction; /* F */
    int part;     /* lanes whose sum is sure to fit 32 bits; == lanes: one part */
    bool e8m13;   /* result keeps 13 fraction bits */
    bool late_c;  /* pairs of groups chain from zero, then C is added */
} mx_fast_rule;

enum { MX_FAST_NONE = -16384 }; /* exponent of a zero */

/* Packed operands. Rows: float and exponent (twice, in both halves of a word) per lane. Columns: groups of
 * `width` interleaved. Scale exponents per group of lanes. */
typedef struct mx_fast_row {
    const float *value;
    const uint32_t *exponent2;
    const int32_t *scale; /* one per step; NULL: unscaled */
} mx_fast_row;
typedef struct mx_fast_group {
    const float *value;      /* [lane][width] */
    const int16_t *exponent; /* [lane][width] */
    const int32_t *scale;    /* [step][width] */
} mx_fast_group;

/* `steps` steps of L lanes for one row and `width` columns. acc holds fp32 bits. Returns a mask of columns
 * whose acc is not to be trusted. */
typedef uint32_t (*mx_fast_kernel)(const mx_fast_rule *rule, const mx_fast_row *row,
                                   const mx_fast_group *group, int steps, uint32_t *acc);

uint32_t mx_fast_chain_avx512(const mx_fast_rule *rule, const mx_fast_row *row, const mx_fast_group *group,
                              int steps, uint32_t *acc); /* width 32 */
uint32_t mx_fast_chain_avx2(const mx_fast_rule *rule, const mx_fast_row *row, const mx_fast_group *group,
                            int steps, uint32_t *acc); /* width 16 */

#endif
