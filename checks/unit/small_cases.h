/* SPDX-License-Identifier: Apache-2.0
 *
 * small_cases.h - a few dozen cases made in memory, with the emulator's answers: for tests of the runner and
 * of the diagnosis that must not depend on the committed vectors. */
#ifndef UNIT_SMALL_CASES_H
#define UNIT_SMALL_CASES_H

#include "case.h"

#define SMALL_CASES 32

typedef struct small_cases {
    mx_case *cases;
    const mx_case *list[SMALL_CASES];
    size_t n;
} small_cases;

/* NULL-safe to free; n is 0 where memory ran out or the emulator refused. */
small_cases small_cases_make(void);
void small_cases_free(small_cases *s);
const mx_case *small_case(const small_cases *s, const char *id); /* NULL if unknown */

#endif
