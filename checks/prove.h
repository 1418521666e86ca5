/* SPDX-License-Identifier: Apache-2.0
 *
 * prove.h - a quantiser's whole input domain as cases.
 *
 * A cast maps one value to one code: its domain is every bit pattern of the input format. Of a block
 * quantiser the domain that decides the scale is the block's largest magnitude: every pattern is put at a
 * place that moves from block to block, among values that are no larger. The domain is cut into parts, so
 * that it can be shared out. */
#ifndef CHECKS_PROVE_H
#define CHECKS_PROVE_H

#include "case.h"

typedef struct prove_domain {
    const mx_recipe *recipe;
    const mx_format *input;
    int64_t patterns; /* 2^16 or 2^32 */
    int64_t per_part; /* patterns of one part */
    int64_t parts;
} prove_domain;

/* MX_UNSUPPORTED, with the reason, where blocks depend on each other: whole-tensor and second-level scales.
 */
mx_status prove_domain_make(const char *operation, const char *recipe, const char *input, prove_domain *d,
                            mx_error *e);

/* Part `part` as a case, its input filled in and its answer left to the emulator. Free with
 * prove_case_free(). */
mx_status prove_case(const prove_domain *d, int64_t part, mx_case *c, mx_error *e);
void prove_case_free(mx_case *c);

#endif
