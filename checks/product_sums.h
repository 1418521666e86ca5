/* SPDX-License-Identifier: Apache-2.0
 *
 * product_sums.h - plain loops over K that are no row of the model table: accumulators too narrow, K walked
 * backwards, results cut or negated. For the diagnosis of products. */
#ifndef CHECKS_PRODUCT_SUMS_H
#define CHECKS_PRODUCT_SUMS_H

#include "product.h"
#include "result.h"

/* Note every such loop that gives all bits of `got` (dense, of q->p.d_format). `want`: what the right kernel
 * gives. */
void product_sums_explain(const product *q, const void *got, const void *want, causes *all);
void causes_note(causes *all, const char *text); /* nothing where they are full */

#endif
