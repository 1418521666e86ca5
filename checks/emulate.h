/* SPDX-License-Identifier: Apache-2.0
 *
 * emulate.h - the emulator as a subject: it answers any case in canonical form. */
#ifndef CHECKS_EMULATE_H
#define CHECKS_EMULATE_H

#include "case.h"

/* Answer case c. out[0..*n_out) are allocated here, named by role as in mx_kernel.h, and freed by the caller
 * with mx_tensor_free(). Codes and scales are canonical: dense, unpacked, no layout applied; qt and scalet
 * are on the grid of x, not transposed. Products follow the case's model and schedule, or are exact without
 * one; d is f32 where the case leaves it open. A case with no such operation or recipe is MX_UNSUPPORTED. */
mx_status emulate_case(const mx_case *c, mx_tensor out[MX_MAX_TENSORS], int *n_out, mx_error *e);

/* x of a case as a matrix; its pitch is the tensor's last axis, of which the first `cols` are data. */
mx_matrix emulate_matrix(const mx_case *c, const mx_tensor *t);

#endif
