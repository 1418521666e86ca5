/* SPDX-License-Identifier: Apache-2.0
 *
 * digest.h - what a kernel answered, as one line a tensor: enough to judge it again on a machine without the
 * device.
 *
 *   OPERATION-NAME <tab> CASE <tab> MODEL <tab> SCHEDULE <tab> OUTPUT-FORMAT <tab> TENSOR <tab> SHA-256
 *
 * The digest is of the canonical form (no layout, no padding), with every NaN of a floating-point output
 * replaced by the canonical one, as the checks see it. Lines beginning with '#' say where, when and by what
 * it was made. */
#ifndef CHECKS_DIGEST_H
#define CHECKS_DIGEST_H

#include <stdio.h>

#include "file.h"
#include "trial.h"

void digest_tensor(const char *dtype, const void *data, size_t bytes, char hex[MX_SHA256_TEXT]);

/* Write the lines of a trial whose first run ended well. */
void digest_record(const trial *t, FILE *out);

#endif
