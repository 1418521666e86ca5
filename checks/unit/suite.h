/* SPDX-License-Identifier: Apache-2.0
 * Every unit test file includes this: Check, and the declarations of all suites. */
#ifndef UNIT_SUITE_H
#define UNIT_SUITE_H

#include <check.h>

#define SUITE(name) Suite *name(void);
#include "suites.h"
#undef SUITE

#endif
