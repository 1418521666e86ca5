/* SPDX-License-Identifier: Apache-2.0
 *
 * bands.h - cases whose input is made, not stored: judged in bands of rows, in memory that does not grow
 * with the tensor. */
#ifndef CHECKS_BANDS_H
#define CHECKS_BANDS_H

#include "judge.h"

/* Judge a case with make_digest: the verdict over all bands, as one case. The wanted bytes come from
 * mx_quantize (the fast path), which the unit tests hold to the scalar code. Bands do not show a kernel's
 * index arithmetic beyond one band. */
void judge_made(result *r, subject_result *to, subject *s, int op, const mx_case *c, const judge_options *o,
                case_row *row);

/* One case whose tensors are in memory (judge.c). */
void judge_stored(result *r, subject_result *to, subject *s, int op, const mx_case *c, const judge_options *o,
                  case_row *row);

#endif
