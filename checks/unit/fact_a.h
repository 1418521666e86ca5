/* SPDX-License-Identifier: Apache-2.0
 *
 * fact_a.h - round-up scales as integer arithmetic. For every finite fp32 amax the byte of RN(amax *
 * fl(1/max)) or RN(amax / max), rounded up to a power of two, is max(0, e - emax + (m > limit)), but for one
 * amax: one ulp above max * 2^-127, where the product rounds down to 2^-127 and gives 00. Shared by the
 * sampled and the exhaustive suite. */
#ifndef UNIT_FACT_A_H
#define UNIT_FACT_A_H

#include <stdint.h>

typedef struct fact_a {
    const char *element;
    int emax;
    uint32_t limit;     /* mantissa field of the largest value */
    uint32_t exception; /* bits of the one amax that differs */
} fact_a;

extern const fact_a facts_a[];
extern const int facts_a_count;

/* What follows of amax: bits first, first + step, ... below 7F800000. */
typedef struct tally {
    uint64_t tried;
    uint64_t wrong;      /* round-up against the integer rule, the exception counted apart */
    uint64_t exceptions; /* times the exception was seen and was one */
    uint64_t up_wrong;   /* e4m3: U differs from R for other amax than 000000E1..04600001 */
    uint64_t
        flush_wrong; /* e4m3: flushing differs from the integer rule for others than 04600001..04DFFFFE */
    uint64_t mul_div_apart; /* multiplying and dividing give different bytes */
} tally;

tally fact_a_try(const fact_a *f, uint32_t first, uint32_t step, uint64_t count);

#endif
