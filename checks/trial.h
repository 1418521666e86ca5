/* SPDX-License-Identifier: Apache-2.0
 *
 * trial.h - one thing that is checked of a kernel, and what it looks at.
 *
 * Every checks/check_NAME.c defines `const check check_NAME`; its row in check_table.c is all that the
 * runner, the table and the reports need. */
#ifndef CHECKS_TRIAL_H
#define CHECKS_TRIAL_H

#include "noise.h"
#include "result.h"
#include "subject.h"

#define TRIAL_RUNS 16

/* One case under one operation, with the outcomes of all its runs. Run i used the buffers' contents of
 * variants[i % 3]. */
typedef struct trial {
    subject *subject; /* a check may run more: see check_rows.c */
    const job *job;
    int n_runs;
    outcome run[TRIAL_RUNS];
    /* Where runs differ, runs 0 and 1 are repeated as they were: does that change the outputs? */
    bool runs_differ, repeats_differ;
    int differ_out; /* the first output that differs, and where */
    size_t differ_at;
    unsigned char *canon[JOB_MAX_SLOTS]; /* outputs of run 0 on the canonical grid: 1 or 4 bytes an element */
    /* Stochastic recipes whose verdict is no exact one: outputs under several seeds, on the canonical grid.
     * The first is the case's own, run 0. */
    int n_seeds;
    uint64_t seed[NOISE_SEEDS];
    unsigned char *drawn[NOISE_SEEDS][JOB_MAX_SLOTS];
    char seed_message[256]; /* a run under another seed did not end well: why; empty: all did */
    bool explain;           /* search for causes: not in the hundredth case of one fault */
} trial;

typedef struct check {
    const char *name;
    const char *what;   /* one line: what passing means */
    bool needs_done;    /* judged only when every run ended well */
    bool of_bits;       /* judges values, as opposed to what the kernel does to memory */
    bool needs_buffers; /* judged only where the buffers were ours */
    /* Fill text, cause, tensor, counts and elements of `f` when failing. */
    judgement (*judge)(const trial *t, finding *f);
} check;

extern const check *const checks[];
extern const size_t check_count_all;

/* Are the element codes of this case drawn at random, and any draw allowed? */
bool trial_is_random(const trial *t);

/* Compare one output by bits: codes, scales or values. Shared by the checks of that kind. */
judgement judge_part(const trial *t, part p, finding *f);

#endif
