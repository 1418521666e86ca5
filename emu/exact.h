/* SPDX-License-Identifier: Apache-2.0
 *
 * exact.h - sums without rounding, and dot products rounded once.
 *
 * The accumulator is a fixed-point number wide enough for every product of two formats of the table, scaled
 * by any pair of scales (e8m0, ue4m3, fp32) and of global scales: 2^-1024 up to 2^1024, with room for 2^60
 * terms. After Kulisch, "Computer Arithmetic and Validity" (2013), ch. 8. */
#ifndef MX_EXACT_H
#define MX_EXACT_H

#include "gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MX_EXACT_LIMBS = 66, MX_EXACT_LOW = -1024 }; /* limb i weighs 2^(32 i + MX_EXACT_LOW) */

typedef struct mx_exact {
    int64_t limb[MX_EXACT_LIMBS]; /* carries are put off: a limb may exceed 32 bits, with either sign */
    uint32_t pending;             /* additions since the carries were last settled */
    bool nan, plus_inf, minus_inf;
} mx_exact;

void mx_exact_clear(mx_exact *s);
/* Add man * 2^exp, |man| < 2^62, -1024 <= exp <= 1024. */
void mx_exact_add(mx_exact *s, int64_t man, int exp);
void mx_exact_add_double(mx_exact *s, double x); /* any double of magnitude 0 or >= 2^-970; Inf, NaN noted */
/* Add the products of all lanes, with their scales. fp32 scales are not taken here: see mx_exact_add_scaled.
 */
void mx_exact_add_lanes(mx_exact *s, const mx_lanes *x);
/* Add sum(a[k] * b[k]) * scale_a * scale_b exactly; the scales hold at most 24 bits each. */
void mx_exact_add_scaled(mx_exact *s, const mx_lanes *x, double scale_a, double scale_b);

/* Multiply the sum by two fp32 numbers, exactly. */
void mx_exact_scale(mx_exact *s, float x, float y);

/* The sum rounded once, to nearest even; an exact zero is +0. NaN (also Inf - Inf): 0x7FC00000. */
uint32_t mx_exact_f32(const mx_exact *s);
uint32_t mx_exact_f16(const mx_exact *s);
double mx_exact_f64(const mx_exact *s);

/* The product a b^T with all scales (block scales and globals; alpha, beta, c, bias, model, schedule and d of
 * p are ignored), each output the correctly rounded exact sum: f64[i * pitch + j] in double, and f32 as bits
 * of binary32 rounded once from the exact value. Either may be NULL. Vectors carry each sum as hi + lo
 * without error, and outputs where even that does not hold go through the long accumulator. An output that
 * holds NaN or Inf - Inf is NaN (0x7FC00000). Memory: a few tiles per thread. */
mx_status mx_exact_product(const mx_product *p, double *f64, uint32_t *f32, int64_t pitch, mx_error *e);

#ifdef __cplusplus
}
#endif
#endif
