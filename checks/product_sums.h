/* SPDX-License-Identifier: Apache-2.0
 *
 * product_sums.h - plain loops over K that are no row of the model table: accumulators too narrow, K walked
 * backwards, results cut or negated. For the diagnosis of products. */
#ifndef CHECKS_PRODUCT_SUMS_H
#define CHECKS_PRODUCT_SUMS_H

#include "product.h"

/* The first such loop that gives every bit of `got` (dense, of q->p.d_format), in words; false: none.
 * `want`: what the right kernel gives. */
bool product_sums_explain(const product *q, const void *got, const void *want, char *cause, size_t size);

#endif
