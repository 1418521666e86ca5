/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle_dot.h - dot products worked out by MPFR: the judge of exact.h and of the models that round once.
 * Shares no arithmetic with them: values come from the format's row through MPFR, sums are MPFR's. */
#ifndef MX_ORACLE_DOT_H
#define MX_ORACLE_DOT_H

#include "mx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sum over k < n of a[k] * b[k] * scale_a[k] * scale_b[k] + c, rounded once to nearest even: in double, and
 * as bits of binary32 when f32 is not NULL. Scales (NULL: ones) and c are finite doubles. All codes finite.
 */
double mx_oracle_dot(const mx_format *fa, const mx_format *fb, const uint32_t *a, const uint32_t *b,
                     int64_t n, const double *scale_a, const double *scale_b, double c, uint32_t *f32);

#ifdef __cplusplus
}
#endif
#endif
