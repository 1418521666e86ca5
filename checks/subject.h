/* SPDX-License-Identifier: Apache-2.0
 *
 * subject.h - a subject is anything that can run a case: a kernel in a shared library, an external program,
 * a recording of what hardware once answered, the emulator. What follows compares outputs and does not
 * know which of them it is looking at. */
#ifndef CHECKS_SUBJECT_H
#define CHECKS_SUBJECT_H

#include "case.h"
#include "mx.h"

#define SUBJECT_MAX_OPS 512
#define JOB_MAX_SLOTS   12

/* What a subject says it computes: a row of mx_kernel.h's table, copied out of the library. An empty
 * `inputs` takes any format, an empty layout is row-major, the recipe "*" is any. */
typedef struct offer {
    char name[64], operation[32], recipe[64], inputs[64], output[16];
    char data_layout[32], scale_layout[32], data_layout_t[32], scale_layout_t[32];
    char model[48], schedule[48], note[160];
    bool runnable;
} offer;

/* What a tensor holds, which decides how it is laid out and judged. */
typedef enum part {
    PART_SOURCE,   /* x, gate, up, dy, y, d: values; row-major with a pitch */
    PART_CODES,    /* q: element codes in data_layout */
    PART_SCALES,   /* scale: in scale_layout */
    PART_CODES_T,  /* qt: columnwise copy in data_layout_t */
    PART_SCALES_T, /* scalet: in scale_layout_t */
    PART_PLAIN,    /* global, offsets: dense */
    PART_PLACED    /* packed: the grid input, placed by scale_layout or data_layout */
} part;

/* One tensor of a job, laid out as the kernel sees it. */
typedef struct slot {
    char role[24], dtype[12];
    part part;
    int rank;
    int64_t shape[MX_MAX_RANK]; /* logical */
    int64_t pitch;              /* elements between rows; 0 for packed layouts */
    int misalign;               /* bytes that the base is off its alignment */
    const mx_layout *layout;    /* NULL: rows of `row_bytes`, `pitch_bytes` apart */
    mx_grid grid;
    bool turned; /* the grid is that of x, transposed */
    size_t rows, row_bytes, pitch_bytes;
    size_t bytes;               /* of the buffer */
    unsigned char *data;        /* inputs: rows one after the other, or the packed bytes. Owned */
    const unsigned char *canon; /* the case's own tensor: inputs as given, outputs as wanted; NULL: no want */
    size_t canon_bytes;
} slot;

/* One case, prepared for one offer. */
typedef struct job {
    const offer *offer;
    const mx_case *c;
    int op_index; /* of the offer in its subject */
    int n_in, n_out;
    slot in[JOB_MAX_SLOTS], out[JOB_MAX_SLOTS];
    mx_tensor computed[2 * JOB_MAX_SLOTS]; /* wants that the case left to the emulator. Owned */
    int n_computed;
} job;

typedef enum run_state {
    RUN_DONE,
    RUN_REFUSED,   /* the kernel says that it does not support this */
    RUN_FAILED,    /* the kernel reports an error */
    RUN_CRASHED,   /* signal, exit or device fault */
    RUN_TIMED_OUT, /* killed */
    RUN_ABSENT     /* the subject has no answer to this case */
} run_state;

/* A byte that changed although nothing may write there. */
typedef struct stray {
    bool seen;
    bool in_input; /* inside an input's own data; otherwise in a guard zone or pitch gap */
    bool is_input; /* the tensor concerned is an input */
    int slot;
    int64_t at; /* bytes from the start of the tensor's data; negative: before it */
    unsigned char before, after;
    size_t count; /* how many bytes of this tensor changed */
} stray;

typedef struct outcome {
    run_state state;
    char message[512];
    char printed[256];                 /* the first bytes that the kernel wrote to stdout or stderr */
    unsigned char *out[JOB_MAX_SLOTS]; /* a copy of each output buffer; NULL unless RUN_DONE. Owned */
    stray strays[2 * JOB_MAX_SLOTS];
    int n_strays;
    int left_processes; /* the kernel forked and left a child running */
} outcome;

void outcome_free(outcome *o, const job *j);

/* How one run differs from the next: what outputs, pads, pitch gaps and guard zones hold before it. */
typedef struct variant {
    unsigned char poison; /* every byte of every output */
    unsigned char pad;    /* guard zones, gaps between pitched rows */
    int run;              /* 0, 1, ... */
} variant;

extern const variant variants[3]; /* A5/00, FF/FF (NaN), 00/7F (huge) */

typedef struct subject subject;
struct subject {
    char name[96], version[64], device[96];
    char cannot[400]; /* why it cannot run at all; empty if it can */
    int status; /* when it cannot: MX_CANNOT_RUN (device, file missing) or MX_BAD_INPUT (wrong library) */
    offer *offers;
    int n_offers;
    /* Run one job. Problems of the kernel are outcomes, never errors. */
    void (*run)(subject *, const job *, const variant *, outcome *);
    void (*close)(subject *); /* releases `impl` */
    bool batch;               /* has no buffers of ours: guards and poison say nothing */
    void *impl;
};

void subject_close(subject *s);

typedef struct subject_limits {
    double seconds; /* per case */
} subject_limits;

/* Each opens a subject; what prevents running is in `cannot`, so that it can be reported as a row. */
void subject_open_library(subject *s, const char *path, const subject_limits *limits);
void subject_open_program(subject *s, const char *command, const mx_case *const *cases, size_t n,
                          const subject_limits *limits);
void subject_open_seen(subject *s, const char *directory, const mx_case *const *cases, size_t n);
void subject_open_emulator(subject *s, const mx_case *const *cases, size_t n);

/* One offer per operation and recipe of the cases, taking any format, row-major: for subjects that are
 * asked case by case. */
void subject_offer_all(subject *s, const mx_case *const *cases, size_t n);

/* Does the offer take the case? If not, `why` (NULL allowed) is a reason worth telling, or NULL where the
 * case is simply another operation or recipe. */
bool offer_takes(const offer *o, const mx_case *c, const char **why);

/* Lay the case out for the offer. MX_UNSUPPORTED: layout or operation unknown. */
mx_status job_make(job *j, const offer *o, int op_index, const mx_case *c, mx_error *e);
void job_free(job *j);

#endif
