/* SPDX-License-Identifier: Apache-2.0
 *
 * explain_product.h - diagnosis of products: the simplest fault, model or schedule that gives every bit seen.
 */
#ifndef CHECKS_EXPLAIN_PRODUCT_H
#define CHECKS_EXPLAIN_PRODUCT_H

#include "product.h"
#include "trial.h"

/* Why do the outputs `got` of product q differ from `want`? Both dense. Tried: zeros, unwritten and moved
 * outputs; the faults of product_faults.h, each computed in full; loops of product_sums.h; other models and
 * schedules by search (emu/identify.h). Every one that gives all bits seen is noted in f->causes, from which
 * the result chooses what fits most cases; where none does, f->cause holds what comes nearest. */
void explain_product(const trial *t, const product *q, const void *got, const void *want, finding *f);

/* Does the output keep what it held before, as a sum that starts from it would? Told by the runs: NaN before,
 * NaN after; zero before, and the result is right. */
extern const char explain_stale_sum[];
bool explain_is_stale_sum(const trial *t);

#endif
