/* SPDX-License-Identifier: Apache-2.0
 *
 * bound_fuzz.h - random and adversarial dot products against every bound. */
#ifndef UNIT_BOUND_FUZZ_H
#define UNIT_BOUND_FUZZ_H

#include <stdint.h>

#include "bound.h"

typedef struct fuzz_counts {
    int64_t products, certified, one_sided, running, open;
    double largest; /* |d - exact| over half the width of the a priori interval */
    double largest_running;
    char violation[256]; /* empty if none */
} fuzz_counts;

/* Dot products `first` .. `first + n` of a model, a pure function of their index. */
fuzz_counts fuzz_bounds(const mx_model *m, uint64_t first, int64_t n);

#endif
