/* SPDX-License-Identifier: Apache-2.0
 * Shared by the fast and the exhaustive suite of the fast path. */
#ifndef UNIT_FAST_CHECKS_H
#define UNIT_FAST_CHECKS_H

#include "fast.h"
#include "fast_plan.h"

/* Checks a cast of n codes of `source` at x, in ascending magnitude, with every instruction set of this CPU
 * against mx_encode(): the plain cast, the scaled one (factor 1), and the tame one on those below 2^64.
 * Returns how many instruction sets were run; 0 proves nothing. */
int fast_check_cast(const mx_format *element, const mx_format *source, const void *x, size_t n);

uint32_t fast_code_at(const mx_format *source, const void *x, size_t i);

extern const fast_isa *const fast_isas[]; /* NULL at the end, like the next */
extern const char *const fast_elements[];

#endif
