/* SPDX-License-Identifier: Apache-2.0
 *
 * product_faults.h - faults of product kernels as changes of operands or epilogue: rows of one table, each
 * computed in full and compared. */
#ifndef CHECKS_PRODUCT_FAULTS_H
#define CHECKS_PRODUCT_FAULTS_H

#include "product.h"

/* One operand that may be spoilt: rows x k codes, and its scales, grid_rows x grid_cols; all experts. */
typedef struct plain_operand {
    mx_operand *x;
    unsigned char *codes, *scales;               /* owned */
    int64_t rows, k, grid_rows, grid_cols, unit; /* unit: bytes of a scale */
} plain_operand;

typedef struct planted {
    product q; /* its operands point into a and b */
    plain_operand a, b;
    int64_t *offsets; /* owned; NULL: not grouped */
} planted;

bool planted_make(planted *p, const product *q); /* false: no memory */
void planted_free(planted *p);

/* Plant fault n (from..to) of a row; false: it does not apply. */
typedef struct product_fault {
    const char *cause; /* may hold one %d for n; equal texts are one cause */
    bool (*plant)(planted *p, int n);
    int from, to;
} product_fault;

extern const product_fault product_faults[];
extern const size_t product_fault_count;

#endif
