/* SPDX-License-Identifier: Apache-2.0
 *
 * exact.h - sums without rounding, and dot products rounded once.
 *
 * The accumulator is a fixed-point number wide enough for every product of two formats of the table, scaled
 * by any pair of scales (e8m0, ue4m3, fp32) and of global scales: 2^-1024 up to 2^1024, with room for 2^60
 * terms. After Kulisch, "Computer Arithmetic and Validity" (2013), ch. 8. */
#ifndef MX_EXACT_H
#define MX_EXACT_H

#include "model.h"

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
/* Add sum(a[k] * b[k]) * scale, k < n, exactly. */
void mx_exact_add_scaled(mx_exact *s, const mx_lanes *x, double scale_a, double scale_b);

/* The sum rounded once, to nearest even; an exact zero is +0. NaN (also Inf - Inf): 0x7FC00000. */
uint32_t mx_exact_f32(const mx_exact *s);
uint32_t mx_exact_f16(const mx_exact *s);
double mx_exact_f64(const mx_exact *s);

#ifdef __cplusplus
}
#endif
#endif
