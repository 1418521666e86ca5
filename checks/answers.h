/* SPDX-License-Identifier: Apache-2.0
 *
 * answers.h - outputs that came as a case set (from a program, a recording): finding and copying them. */
#ifndef CHECKS_ANSWERS_H
#define CHECKS_ANSWERS_H

#include "subject.h"

/* The answer to the job's case among tensors named by role: fills the outcome, or says what is missing or
 * of a wrong size. Tensors are canonical; the job's own layout is applied. */
void answers_take(outcome *o, const job *j, const mx_tensor *tensors, int n);

#endif
