/* SPDX-License-Identifier: Apache-2.0
 *
 * explain.h - diagnosis is search: what simple fault reproduces all the bits seen?
 *
 * Tried, in this order: faults of placement (unwritten, zeros, transposed, another layout, nibbles swapped,
 * a neighbour's block), faults of arithmetic (the table in explain_faults.c, each the claimed recipe with
 * one column changed), every other recipe, and scales off by a constant. The first that reproduces every
 * wrong block is the answer; where none does, the one that explains most of them, with the count. */
#ifndef CHECKS_EXPLAIN_H
#define CHECKS_EXPLAIN_H

#include "trial.h"
#include "recipe.h"

/* The likely cause of the mismatch of output `out`, in words; empty if nothing fits. */
void explain(const trial *t, int out, char *cause, size_t size);

/* Shape of a block on the grid of a code tensor; left alone where there is none. */
void explain_block(const trial *t, const slot *codes, int64_t *rows, int64_t *cols);

/* One row of the fault table: the recipe with one thing broken. false: the fault does not apply to it. */
typedef struct recipe_fault {
    const char *cause;
    bool (*plant)(mx_recipe *r);
} recipe_fault;

extern const recipe_fault recipe_faults[];
extern const size_t recipe_fault_count;

#endif
