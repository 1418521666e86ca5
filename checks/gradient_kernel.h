/* SPDX-License-Identifier: Apache-2.0
 *
 * gradient_kernel.h - the products of a layer by a kernel under test: its own grouped-forward, grouped-dgrad
 * and grouped-wgrad on operands that the emulator quantised. */
#ifndef CHECKS_GRADIENT_KERNEL_H
#define CHECKS_GRADIENT_KERNEL_H

#include "linear.h"
#include "subject.h"

/* mx_scheme.run with `context` a subject. Each form is one call of the kernel for all experts; for wgrad a
 * group's lanes are padded with zeros to whole blocks, as grouped kernels ask. MX_CANNOT_RUN: no such
 * operation for the recipe, refused, failed, crashed or timed out; the message says which. MX_UNSUPPORTED:
 * recipes whose blocks span rows, or with a second-level scale, have no form in the ABI. One call at a time.
 */
mx_status gradient_kernel_run(void *context, const mx_products *p, mx_error *e);

#endif
