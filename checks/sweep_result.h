/* SPDX-License-Identifier: Apache-2.0
 *
 * sweep_result.h - the cells of a sweep as one value: made, merged, written as JSON, read back, printed. */
#ifndef CHECKS_SWEEP_RESULT_H
#define CHECKS_SWEEP_RESULT_H

#include <jansson.h>
#include <stdio.h>

#include "stats.h"

typedef struct sweep_cell {
    char data[96]; /* distribution, or tensor of a file */
    char recipe[64];
    int64_t rows, cols;
    uint64_t seed;
    mx_stats stats;
} sweep_cell;

typedef struct sweep_result {
    int shards;         /* how many parts the whole was cut into */
    uint8_t have[4096]; /* which of them are in here */
    sweep_cell *cells;
    size_t n, room;
} sweep_result;

enum { SWEEP_MOST_SHARDS = 4096 };

/* Room for n more cells, zeroed; NULL: no memory. */
sweep_cell *sweep_result_add(sweep_result *r, size_t n);
void sweep_result_free(sweep_result *r);

/* Add the parts of `other`, which must be of the same sweep and none of them in `r` already. */
mx_status sweep_result_merge(sweep_result *r, const sweep_result *other, const char *place, mx_error *e);

json_t *sweep_result_to_json(const sweep_result *r);
mx_status sweep_result_from_json(const json_t *o, sweep_result *r, const char *place, mx_error *e);

/* First a line that says what there is, then one table a tensor. */
void sweep_result_print(const sweep_result *r, FILE *out);

#endif
