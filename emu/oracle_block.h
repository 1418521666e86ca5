/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle_block.h - whole blocks by their mathematical definition, in MPFR.
 *
 * Scale rules as real-number formulas, without any step in fp32: what a recipe's bit tricks are meant to
 * compute. A recipe may differ from its ideal where its own arithmetic is part of the convention; the tests
 * name those inputs. Finite inputs only: what NaN and Inf do is convention, not mathematics. */
#ifndef MX_ORACLE_BLOCK_H
#define MX_ORACLE_BLOCK_H

#include "oracle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* amax > 0; max and emax are those of the element format, m its mantissa bits. */
typedef enum mx_oracle_rule {
    MX_ORACLE_FLOOR,    /* floor(log2(amax)) - emax: OCP MX v1.0, section 6.3 */
    MX_ORACLE_CEIL,     /* ceil(log2(amax)) - emax */
    MX_ORACLE_ROUND_UP, /* ceil(log2(amax / max)): the least power of two at which nothing clips */
    MX_ORACLE_EVEN,     /* floor(log2(a)) - emax, a = amax rounded to m + 1 significant bits, ties to even */
    MX_ORACLE_NEAR      /* log2(amax / max) rounded to nearest */
} mx_oracle_rule;

/* The exponent of the scale, before any limit. */
int mx_oracle_scale_exponent(const mx_format *element, mx_oracle_rule rule, double amax);

/* One block with an e8m0 scale: the rule's exponent, limited to bytes 00..FE (00 for a block of zeros), and
 * each x / 2^(byte - 127) rounded once as `cast` says. `element` belongs to the caller's thread. MX_BAD_INPUT
 * where x is not finite. */
mx_status mx_oracle_block_e8m0(mx_oracle *element, mx_oracle_rule rule, const mx_cast *cast, const float *x,
                               int64_t n, uint8_t *codes, uint8_t *scale, mx_error *e);

/* One block with an fp32 scale, every step rounded to fp32 nearest even, as the two conventions in use
 * compute it: s = fl(amax / max) is stored, and elements are fl(x / s), or (reciprocal) fl(x * fl(1 / s)),
 * then cast. MX_BAD_INPUT where x is not finite or all zero. */
mx_status mx_oracle_block_f32(mx_oracle *element, bool reciprocal, const mx_cast *cast, const float *x,
                              int64_t n, uint8_t *codes, float *scale, mx_error *e);

#ifdef __cplusplus
}
#endif
#endif
