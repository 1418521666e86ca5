/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_problem.h - one operation of a kernel library at one size, with all its tensors in device memory and
 * full of plausible data, ready to be timed. */
#ifndef TOOLS_BENCH_PROBLEM_H
#define TOOLS_BENCH_PROBLEM_H

#include "mx_kernel.h"

#include <stdbool.h>

/* Quantisers: rows x cols of the source. Products: a is rows x cols, b has n rows; groups of equal size
 * divide rows (grouped-wgrad: d is n x cols from `rows` summed over in groups). */
typedef struct bench_size {
    int64_t rows, cols, n, groups;
} bench_size;

typedef struct bench_device {
    const mx_kernel_library *library;
    const mx_kernel_timer *timer;
} bench_device;

enum { BENCH_SETS = 4, BENCH_TENSORS = 12 };

typedef struct bench_problem {
    const bench_device *device;
    uint32_t n_calls; /* sets of buffers, which runs take in turns, together far larger than a cache */
    mx_kernel_call calls[BENCH_SETS];
    mx_kernel_tensor in[BENCH_SETS][BENCH_TENSORS], out[BENCH_SETS][BENCH_TENSORS];
    double bytes; /* of one set: each input read once, each output written once */
} bench_problem;

const mx_kernel_op *bench_op(const mx_kernel_library *library, const char *name); /* NULL if there is none */
bool bench_is_product(const mx_kernel_op *op);

/* False, with the reason in `why`, where memory lacks or the operation is not known here. */
bool bench_problem_make(bench_problem *p, const bench_device *device, const mx_kernel_op *op,
                        const bench_size *size, char *why, size_t n);
void bench_problem_free(bench_problem *p);

#endif
