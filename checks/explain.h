/* SPDX-License-Identifier: Apache-2.0
 *
 * explain.h - diagnosis is search: what simple fault reproduces all the bits seen?
 *
 * Tried, in this order: faults of placement (unwritten, zeros, transposed, another layout, nibbles swapped),
 * faults of arithmetic (the table in explain_faults.c, each the claimed recipe with one column changed),
 * scales off by a constant, every other recipe, a neighbour's block. One case may leave several that
 * reproduce every bit; the result picks the one that does so in most cases. Where none does, the one that
 * explains most of the wrong blocks is told with the count. */
#ifndef CHECKS_EXPLAIN_H
#define CHECKS_EXPLAIN_H

#include "trial.h"
#include "recipe.h"

/* Fill in the causes of the mismatch of output `out`: f->causes, or f->cause where it is but partial. */
void explain(const trial *t, int out, finding *f);

/* Shape of a block of x, by its codes; false where there is none. */
bool explain_block(const trial *t, const slot *codes, int64_t *rows, int64_t *cols);

/* One row of the fault table: the recipe with one thing broken. false: the fault does not apply to it. */
typedef struct recipe_fault {
    const char *cause;
    bool (*plant)(mx_recipe *r);
} recipe_fault;

extern const recipe_fault recipe_faults[];
extern const size_t recipe_fault_count;

#endif
