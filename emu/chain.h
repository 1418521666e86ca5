/* SPDX-License-Identifier: Apache-2.0
 *
 * chain.h - plain products for studies that need many of them: d = a b^T, with every dot product added up in
 * one fixed order, whatever the vectors of the CPU are.
 *
 * Each element is d = round(d + round(a * b)), k ascending from zero: the row mul-add-f32 of model.h, and its
 * fp64 counterpart. Products of two bf16 (or narrower) numbers are exact in fp32, so there it is fma-f32 too.
 */
#ifndef MX_CHAIN_H
#define MX_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

/* a: m x k, b: n x k, d: m x n, all dense and row-major. `slices` > 1 cuts K into that many stretches of
 * ceil(k / slices) lanes, each summed alone from zero and then added in ascending order (split-K). k = 0
 * gives zeros. One thread. False: no memory. */
bool mx_chain_f32(const float *a, const float *b, float *d, int64_t m, int64_t n, int64_t k, int slices);
bool mx_chain_f64(const double *a, const double *b, double *d, int64_t m, int64_t n, int64_t k, int slices);

/* The same for one instruction set: chosen by mx_chain_f32 and mx_chain_f64. */
typedef struct mx_chain_isa {
    bool (*f32)(const float *, const float *, float *, int64_t, int64_t, int64_t, int);
    bool (*f64)(const double *, const double *, double *, int64_t, int64_t, int64_t, int);
} mx_chain_isa;
extern const mx_chain_isa mx_chain_avx2, mx_chain_avx512;

#endif
