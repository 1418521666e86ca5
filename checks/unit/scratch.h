/* SPDX-License-Identifier: Apache-2.0
 * scratch.h - a fresh folder for tests that write files. Check runs each test in its own process, which
 * may end anywhere: the folder is removed by the parent's unchecked fixture. */
#ifndef UNIT_SCRATCH_H
#define UNIT_SCRATCH_H

#include <stddef.h>

/* Unchecked fixtures for tcase_add_unchecked_fixture(). */
void scratch_make(void);
void scratch_remove(void);
/* Path of `name` in the folder; valid until the fourth call from now. */
const char *scratch_path(const char *name);
const char *scratch_write(const char *name, const void *data, size_t n);

#endif
