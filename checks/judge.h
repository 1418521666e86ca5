/* SPDX-License-Identifier: Apache-2.0
 *
 * judge.h - a subject, its cases, and the checks: runs everything and fills the result. */
#ifndef CHECKS_JUDGE_H
#define CHECKS_JUDGE_H

#include "trial.h"

typedef struct judge_options {
    int repeat;           /* runs of each case, 1 to TRIAL_RUNS; three see all three variants */
    const char *only;     /* id, operation, recipe or flag; NULL: all */
    int shard, shards;    /* case i is run where i % shards == shard */
    const char *argument; /* how the command line names the subject, for reproducers */
    const char *vectors;
    size_t band_bytes; /* of an input that is made: how much at a time; 0: 32 MiB */
    void (*progress)(void *context, size_t done, size_t all); /* NULL: none */
    void *context;
    FILE *record; /* gets a line for every output of a case that passed (digest.h); NULL: none */
} judge_options;

/* Is the case asked for? `only` names its id, operation, recipe, or one of its flags. */
bool judge_wants(const judge_options *o, const mx_case *c, size_t index);

/* Run every wanted case under every operation of the subject that takes it; adds to the last subject of
 * the result. */
void judge_subject(result *r, subject *s, const mx_case *const *cases, size_t n, const judge_options *o);

/* One case under one operation. */
void judge_case(result *r, subject_result *to, subject *s, int op, const mx_case *c, const judge_options *o);

#endif
