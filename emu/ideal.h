/* SPDX-License-Identifier: Apache-2.0
 *
 * ideal.h - the error that a format must make, without any quantiser: what theory expects of a recipe.
 *
 * An ideal quantiser has unbiased independent errors, uniform over one step of the grid (Widrow and Kollar,
 * "Quantization Noise", 2008, section 1; variance step^2 / 12, and twice that for stochastic rounding). The
 * step at x is 2^(max(exponent of x / s, least exponent) - mantissa bits) * s, with s the ideal scale of x's
 * block: amax / max, for e8m0 the next power of two at or above it. Values below half a step become zero.
 * Only the element format, the kind of scale and the block shape are taken from the recipe: no code is made
 * and no rule of it is followed, so that a fault in a recipe or quantiser cannot hide in what is expected of
 * it. */
#ifndef MX_IDEAL_H
#define MX_IDEAL_H

#include "mx.h"

/* rows x cols values, dense, in place. r NULL: bf16. Draws are a function of (seed, index). */
void mx_ideal_noise(const mx_recipe *r, int64_t rows, int64_t cols, uint64_t seed, float *x);

#endif
