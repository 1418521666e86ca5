/* SPDX-License-Identifier: Apache-2.0
 *
 * operations.h - the table of mx_kernel.h as data: which tensors an operation reads and writes, and what
 * they hold. A new operation is a new row. */
#ifndef CHECKS_OPERATIONS_H
#define CHECKS_OPERATIONS_H

#include "subject.h"

typedef struct role {
    const char *name;
    part part;
    bool optional;
} role;

typedef struct operation {
    const char *name;
    role in[8], out[8]; /* ended by a NULL name */
    bool product;       /* judged against a bound, not bit for bit */
    bool flat;          /* tensors are vectors, in whatever shape a case has them */
} operation;

const operation *operation_find(const char *name); /* NULL if unknown */

#endif
