/* SPDX-License-Identifier: Apache-2.0
 *
 * bound.h - proved limits on the result of a dot product, for kernels whose unit or order is not known, and a
 * certificate that makes any of them exact.
 *
 * All bounds are derived from the rule of model.h, in the style of Higham, "Accuracy and Stability of
 * Numerical Algorithms" (2002), ch. 3 and 4; every formula is stored as text beside its value. Doubles are
 * pushed outward, so that their own rounding cannot make a bound too small. Compare with !(d <= bound). */
#ifndef MX_BOUND_H
#define MX_BOUND_H

#include "gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is assumed of a unit: how much a term, a step and a result can lose. */
typedef struct mx_unit {
    double term;      /* relative to M, per product and C of each step: cutting to the common grid */
    double step;      /* relative, per step: the conversion of its result */
    double growth;    /* relative, per step: how much a partial result can exceed the sum of magnitudes */
    double quantum;   /* absolute, per step: conversions in the subnormal range, flushing */
    int lanes;        /* products per step */
    int precision;    /* significant bits of a result */
    int fraction;     /* bits kept below the largest exponent; large where sums are exact */
    int emin;         /* smallest normal exponent of the accumulator */
    bool toward_zero; /* no partial result is larger in magnitude than the exact partial sum of magnitudes */
    bool flushes;     /* subnormal operands count as zero */
    bool tf32;        /* fp32 words lose their low 13 bits */
} mx_unit;

/* The unit of a row of the model table. */
mx_unit mx_unit_of(const mx_model *m);
/* The weakest of all rows with an fp32 accumulator that take these operand formats: for a kernel of which
 * nothing is known. fp32 words are taken to be multiplied as fp32: for a tf32 kernel name its unit. */
mx_unit mx_unit_weakest(const mx_format *a, const mx_format *b);

/* Exact facts about one dot product, C included. */
typedef struct mx_dot_facts {
    double exact;     /* the sum, rounded once */
    double magnitude; /* T = |c| + sum |a b|, rounded up */
    double subnormal; /* sum of |a b| with a subnormal operand, rounded up */
    int max_exponent; /* Ep: largest exponent sum of a nonzero product, operands unnormalised */
    int granule;      /* every nonzero term and c is a multiple of 2^granule; INT_MAX: all zero */
    int64_t products; /* K */
    bool nonnegative; /* all terms and c are >= 0 */
    bool nan;         /* the exact result is NaN, or Inf with this sign */
    int infinite;     /* +1, -1, or 0 */
} mx_dot_facts;

/* Codes are taken at their full value: for a tf32 unit, clear the low 13 bits of fp32 words first. */
mx_dot_facts mx_dot_facts_of(const mx_lanes *x, double c);

typedef struct mx_bound {
    double low, high; /* the result lies in [low, high]; both NaN: it must be NaN; both the same infinity: it
                         must be that; opposite infinities: nothing is promised, NaN is possible */
    const char *name; /* "a priori", "running", "one-sided", "exact" */
    const char *formula;
} mx_bound;

/* Any order, any grouping into m steps: |d - exact| <= ((K + m) term + m step) M (1 + growth)^m + ... */
mx_bound mx_bound_a_priori(const mx_unit *u, const mx_dot_facts *f, int64_t steps);
/* The same after `adds` further fp32 additions or multiplications to nearest (promotion, split-K, scales,
 * epilogue) on the path of a result. */
mx_bound mx_bound_after_adds(mx_bound b, const mx_dot_facts *f, int64_t adds);
/* The same after one cast to a format, to nearest; `truncating`: whatever the rounding. */
mx_bound mx_bound_after_cast(mx_bound b, const mx_format *to, bool truncating);
/* All terms >= 0 and a unit that works toward zero: 0 <= d <= exact. False where it does not apply. */
bool mx_bound_one_sided(const mx_unit *u, const mx_dot_facts *f, mx_bound *out);
/* Order-free exactness: d = exact in every order, grouping, split and promotion. False: not certified. */
bool mx_bound_certified(const mx_unit *u, const mx_dot_facts *f, mx_bound *out);

/* Order known: one pass with the emulator over a chain of fused steps, with the C that is in the register.
 * *d is the emulated result. False for kinds other than fused. */
bool mx_bound_running(const mx_model *m, const mx_lanes *x, uint32_t c, uint32_t *d, mx_bound *out);

/* The tightest proved interval for output (row, col) of a product by a unit in unknown order, epilogue and
 * cast included: certificate, else one-sided and a priori together. p->model and p->schedule are ignored;
 * NULL unit: the weakest. `facts` may be NULL. Scales are taken as their exact values. */
mx_status mx_bound_product(const mx_product *p, const mx_unit *unit, int64_t row, int64_t col, mx_bound *out,
                           mx_dot_facts *facts, mx_error *e);

#ifdef __cplusplus
}
#endif
#endif
