/* SPDX-License-Identifier: Apache-2.0
 *
 * result.h - what a run of `mxcheck kernel` found: one structure, from which every report is written. */
#ifndef CHECKS_RESULT_H
#define CHECKS_RESULT_H

#include <stdio.h>

#include "mismatch.h"
#include "mx.h"

typedef enum judgement {
    JUDGED_PASSED,
    JUDGED_FAILED,
    JUDGED_OPEN,    /* the case's verdict is open, and the answer is another than the recipe's */
    JUDGED_NOT_RUN, /* never a pass */
    JUDGED_NOTHING  /* the check does not concern this case */
} judgement;

/* One wrong element, with everything that a kernel's author asks first. Empty texts: not applicable. */
typedef struct wrong_element {
    int64_t row, col, block; /* of x; block: index in the scale grid, -1 without one */
    char input[32];          /* bits and value of x there */
    char got[32], want[32];  /* code and decoded value */
    char scale_got[32], scale_want[32];
    uint64_t ulps; /* UINT64_MAX: no distance */
} wrong_element;

#define FINDING_ELEMENTS 4
#define FINDING_CAUSES   12

/* Causes that each reproduce every bit of a case, simplest first. */
typedef struct causes {
    int n;
    char text[FINDING_CAUSES][160];
} causes;

typedef struct finding {
    const char *check; /* name of the check */
    char op[64], case_id[96], recipe[64], tensor[24];
    char flags[160], reason[200]; /* of the case: why it exists */
    char text[512];               /* what is wrong */
    char cause[320];              /* the likely cause in words; empty: none found */
    char aside[80];               /* said after it */
    causes causes;                /* from which the result chooses; none: `cause` is a guess or partial */
    int rank;                     /* of the check: its place in the table */
    int order;                    /* in which it was found */
    char command[512];            /* reproduces it alone */
    int64_t wrong, total;         /* elements, where the check counts them */
    int n_elements;
    wrong_element element[FINDING_ELEMENTS];
    mismatch_map map; /* where the wrong elements lie; height 0: none */
} finding;

typedef struct check_count {
    int64_t passed, failed, open, not_run;
} check_count;

/* One case under one operation: a row of JUnit. */
typedef struct case_row {
    char op[64];
    const char *id; /* borrowed from the case */
    judgement verdict;
    int finding;     /* index of its first finding, -1 */
    int reason;      /* index into reasons, -1 */
    int64_t checked; /* checks that passed or failed */
    double seconds;
} case_row;

/* In how many findings a cause reproduces every bit. */
typedef struct cause_count {
    char text[160];
    int64_t findings;
} cause_count;

/* Why cases were not run, and how many. */
typedef struct not_run_reason {
    char text[240];
    int64_t cases;
} not_run_reason;

typedef struct subject_result {
    char name[96], version[64], device[96];
    char cannot[400];   /* why it did not run at all */
    int status;         /* mx_status behind `cannot` */
    char argument[512]; /* how the command line names it: "--kernel build/mxcheck-cpu.so" */
    int n_ops;
    check_count *counts; /* one per check */
    case_row *rows;
    size_t n_rows, room_rows;
    finding *findings;
    size_t n_findings, room_findings, dropped; /* dropped: counted, not kept */
    not_run_reason *reasons;
    size_t n_reasons, room_reasons;
    cause_count *causes;
    size_t n_causes, room_causes;
    size_t untaken; /* cases that no operation of the subject takes */
    double seconds;
} subject_result;

typedef struct result {
    char vectors[512];
    size_t n_cases;
    size_t max_findings; /* kept per subject */
    subject_result *subjects;
    size_t n_subjects;
    int shard, shards; /* the part of the run that this is; 0 of 0: all of it */
    double seconds;
} result;

typedef struct result_totals {
    int64_t passed, failed, open, not_run;             /* checks */
    int64_t cases_passed, cases_failed, cases_not_run; /* pairs of operation and case */
    size_t subjects_passed, subjects_failed, subjects_not_run;
} result_totals;

bool result_add_subject(result *r, const char *name); /* false: out of memory */
subject_result *result_last(result *r);
bool result_add_row(subject_result *s, const case_row *row);
void result_add_finding(result *r, subject_result *s, const finding *f, case_row *row);
void result_not_run(subject_result *s, const char *reason, case_row *row);
/* Choose each finding's cause, and put the most telling first: what memory suffered in the order of the
 * checks, then bits by certainty of the cause; no more than `max` stay. */
void result_settle_findings(subject_result *s, size_t max);
result_totals result_count(const result *r);
result_totals subject_count(const subject_result *s);
void result_free(result *r);

/* The verdict in words with counts: one line, no newline. */
void result_verdict(const result *r, char *text, size_t size);

/* Reports. Text goes to a terminal or log; JSON and JUnit XML to a file; GitHub's are workflow commands. */
void report_text(const result *r, FILE *out);
mx_status report_json(const result *r, const char *path, mx_error *e);
mx_status report_junit(const result *r, const char *path, mx_error *e);
void report_github(const result *r, FILE *out);

#endif
