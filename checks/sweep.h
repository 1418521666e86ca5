/* SPDX-License-Identifier: Apache-2.0
 *
 * sweep.h - what recipes do to the numbers of a tensor: every cell is one recipe on one tensor.
 *
 * A tensor is visited in bands of SWEEP_BAND rows; each band is read once, and all recipes quantise it while
 * it is in cache. Band b belongs to shard b mod N; statistics merge to the same bits for any N and number of
 * threads. */
#ifndef CHECKS_SWEEP_H
#define CHECKS_SWEEP_H

#include "stats.h"

enum { SWEEP_BAND = 256 }; /* a multiple of every block height */

typedef struct sweep_input {
    const char *name;
    int64_t rows, cols;
    /* Rows [row0, row0 + rows) as fp32, dense. Called from several threads at once. */
    mx_status (*read)(const struct sweep_input *in, int64_t row0, int64_t rows, float *x, mx_error *e);
    const void *context;
    uint64_t seed;
} sweep_input;

/* A synthetic tensor (a row of data.h), each element rounded to `format`. */
typedef struct sweep_synthetic {
    const struct mx_data *data;
    const mx_format *format;
} sweep_synthetic;
sweep_input sweep_input_synthetic(const sweep_synthetic *s, uint64_t seed, int64_t rows, int64_t cols);

/* A tensor of a file: f32, bf16, f16 or f64, all axes but the last taken as rows. */
struct mx_store;
struct mx_array;
typedef struct sweep_stored {
    const struct mx_store *store;
    const struct mx_array *array;
} sweep_stored;
mx_status sweep_input_stored(const sweep_stored *s, sweep_input *in, mx_error *e);

typedef struct sweep_run {
    int shard, shards;                            /* this part of how many */
    int threads;                                  /* 0: all */
    void (*progress)(void *context, double done); /* 0 to 1; NULL: none. One thread at a time */
    void *progress_context;
} sweep_run;

/* Quantise `in` under each of n recipes and fill stats[0..n). Whole-tensor scales and second-level scales
 * come from a first pass over the whole tensor, whatever the shard. */
mx_status sweep_tensor(const sweep_input *in, const mx_recipe *const *recipes, size_t n, const sweep_run *run,
                       mx_stats *stats, mx_error *e);

#endif
