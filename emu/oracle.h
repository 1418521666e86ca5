/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle.h - a second, slow opinion on decoding and rounding, computed with MPFR. oracle.c and
 * oracle_block.c are MPFR's only doors.
 *
 * It reads a format's row (kind, specials, field widths, bias) and nothing else of lib: no code, limit or
 * rounding is taken from lib/formats.c or lib/encode.c. Rounding follows its definition instead of a
 * recipe: find the two neighbours around |x| among the values of the codes, and choose between them by
 * exact comparison with their midpoint. An oracle belongs to one thread. */
#ifndef MX_ORACLE_H
#define MX_ORACLE_H

#include "mx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_oracle mx_oracle;

mx_oracle *mx_oracle_new(const mx_format *f); /* NULL: no memory */
void mx_oracle_free(mx_oracle *o);            /* NULL allowed */

/* What mx_encode() and mx_decode() of mx.h promise, worked out again. */
uint32_t mx_oracle_encode(mx_oracle *o, const mx_cast *cast, double x, uint32_t random);
double mx_oracle_decode(mx_oracle *o, uint32_t code);

const mx_format *mx_oracle_format(const mx_oracle *o);
/* Largest finite positive code, counted from the field widths and specials. */
uint32_t mx_oracle_max_code(const mx_oracle *o);

/* Where casts change their answer: the magnitude of a code, and the one halfway to the next code. `code`
 * may be the largest one or one more: codes go on counting past the largest as if they were finite. */
double mx_oracle_magnitude(mx_oracle *o, uint32_t code);
double mx_oracle_midpoint(mx_oracle *o, uint32_t code);

/* x rounded by MPFR's own rounding and subnormalisation to the precision and exponent range of a float
 * format, without its largest value: the oracle's own check. MX_RNE, MX_RTZ, MX_RUP and MX_RDN only; other
 * modes and kinds give NaN. */
double mx_oracle_native(mx_oracle *o, mx_rounding rounding, double x);

#ifdef __cplusplus
}
#endif
#endif
