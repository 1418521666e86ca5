/* SPDX-License-Identifier: Apache-2.0
 * fail.h - one message a mistake, and the exit status that goes with it. */
#ifndef TOOLS_FAIL_H
#define TOOLS_FAIL_H

#include "mx.h"

/* Prints "mxcheck WHO: PLACE: MESSAGE" to stderr and returns EXIT_USAGE, or EXIT_CANNOT_RUN for
 * MX_CANNOT_RUN. */
int fail_with(const char *who, const mx_error *e);
/* The same for a message made here; returns EXIT_USAGE. */
int fail_usage(const char *who, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text of a stranger's file, fit for a terminal: control characters become '?'. Valid until the fourth call
 * from now; cut at 200 bytes. */
const char *printable(const char *text);

#endif
