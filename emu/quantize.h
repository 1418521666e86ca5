/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize.h - quantising block by block, for searches and for other parts of the emulator. mx.h has the
 * functions for whole matrices. */
#ifndef EMU_QUANTIZE_H
#define EMU_QUANTIZE_H

#include "recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of fp32 values (any source format is a subset) of rows x cols elements. */
typedef struct mx_block {
    const float *x;
    int64_t rows, cols, row_stride, col_stride; /* strides in elements */
    const mx_format *source;                    /* what the values were stored as; NULL: f32 */
    float global_amax;                          /* recipes with a second level; else not read */
    uint64_t seed;                              /* stochastic rounding: element (r, c) draws */
    uint64_t index, index_stride;               /*   mx_random_u32(seed, 0, index + r * index_stride + c) */
} mx_block;

/* Quantise one block. codes: element (r, c) at codes[r * code_stride + c]. Returns the stored scale: the
 * byte of e8m0 or ue4m3, the bits of an f32 scale, 0 for a plain cast. Total: no input is refused. The
 * Hadamard pre-step is not part of it: see mx_hadamard16. Thread-safe. */
uint32_t mx_quantize_block(const mx_recipe *r, const mx_block *b, uint8_t *codes, int64_t code_stride);

/* The stored scale that a block of this amax gets, NaN and Inf allowed (as in mx_quantize_block; for 4/6
 * the map-6 candidate). `source` as in mx_block. */
uint32_t mx_block_scale(const mx_recipe *r, float amax, float global_amax, const mx_format *source);

/* One value as the recipe casts it, at scale 1: the element step from the clamp on. */
uint32_t mx_cast_element(const mx_recipe *r, float x, uint32_t random);

/* What the cast of each element meets, after the pre-step and the product with its block's multiplier: y is
 * [rows, cols], dense. MX_UNSUPPORTED for 4/6, whose scale depends on how the elements round. */
mx_status mx_scaled_values(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                           float *y, mx_error *e);

/* The stored scale (a byte, or the bits of an f32) as the recipe's owner reads it. */
double mx_scale_value(const mx_recipe *r, uint32_t scale);

/* mx_quantized.global for a tensor of this amax (1 where the recipe has no second level), and the factor
 * that it stands for on reading. */
float mx_global_store(const mx_recipe *r, float global_amax);
float mx_global_value(const mx_recipe *r, float global);

/* The Hadamard pre-step: 16 values, at most n of them present (the rest count as 0), replaced by their
 * transform, each rounded to bf16. */
void mx_hadamard16(float *x, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
