/* SPDX-License-Identifier: Apache-2.0
 *
 * flags.h - why a case exists. A flag says which kind of fault the case was made to catch, what such a
 * fault does, and where that is known from. case.h has the look-up by name. */
#ifndef MX_FLAGS_H
#define MX_FLAGS_H

#include <stddef.h>

typedef struct mx_flag {
    const char *name;   /* "midpoint"; public faults are "bug-B01" and so on */
    const char *kind;   /* of fault: rounding, subnormal, saturation, special, sign, scale, ... */
    const char *effect; /* what goes wrong where the fault is present */
    const char *source; /* specification section, or owner/repository#number of a public report */
} mx_flag;

extern const mx_flag mx_bug_flags[]; /* faults that people reported in public, one row each */
extern const size_t mx_bug_flag_count;

const mx_flag *mx_flag_find(const char *name); /* NULL if unknown */
const mx_flag *mx_flag_row(size_t i);          /* NULL past the end; mx_flag_count() of case.h counts */

#endif
