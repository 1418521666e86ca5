/* SPDX-License-Identifier: Apache-2.0
 *
 * explain_product.h - diagnosis of products: the simplest fault, model or schedule that gives every bit seen.
 */
#ifndef CHECKS_EXPLAIN_PRODUCT_H
#define CHECKS_EXPLAIN_PRODUCT_H

#include "product.h"
#include "trial.h"

/* Why do the outputs `got` of product q differ from `want`? Both dense. Tried in this order: a race or
 * unwritten outputs; the planted faults of the table, each computed in full; other models and schedules
 * by search (emu/identify.h). `cause` is left empty where nothing fits. */
void explain_product(const trial *t, const product *q, const void *got, const void *want, char *cause,
                     size_t size);

#endif
