/* SPDX-License-Identifier: Apache-2.0
 * merge_kernel.h - parts of one `mxcheck kernel` or `mxcheck prove` run, made with --shard, as one report. */
#ifndef TOOLS_MERGE_KERNEL_H
#define TOOLS_MERGE_KERNEL_H

#include <jansson.h>

#include "mx.h"

/* Add part `other` to `whole`. Refused: parts of different runs (another number of parts, other vectors,
 * other kernels), and a part that is there already. */
mx_status merge_kernel(json_t *whole, const json_t *other, const char *place, mx_error *e);

/* Once all parts are there: the verdict over all of them, with the exit status that goes with it. A missing
 * part is MX_BAD_INPUT: what was not run is never a pass. */
mx_status merge_kernel_finish(json_t *whole, const char *place, int *exit_status, mx_error *e);

#endif
