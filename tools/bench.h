/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h - `mxcheck bench` is a list of sections, each of which adds rows to one report. A row is a rate and
 * the rate of the machine's own limit (a copy, a dense product), measured in the same run. */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_MAX_ROWS = 256 };

typedef struct bench_row {
    const char *section;
    char what[64];     /* "quantize mxfp8 from f32" */
    char where[48];    /* "avx512, 1 thread"; a device's name */
    char unit[16];     /* "GB/s", "TFLOP/s" */
    char limit[32];    /* what `base` is: "memcpy" */
    double rate, base; /* both in `unit`; the ratio is rate / base */
    double aim;        /* ratio aimed at; 0: none */
    char not_run[128]; /* why there is no measurement; empty: there is one */
} bench_row;

typedef struct bench_report {
    size_t count;
    bench_row rows[BENCH_MAX_ROWS];
    char device_before[160], device_after[160]; /* driver and clocks of a device; empty: none was used */
} bench_report;

typedef struct bench_options {
    int repeats;         /* interleaved measurements of each row; the median counts */
    double mebibytes;    /* size of an input; 0: larger than the last-level cache */
    const char *against; /* command that times another library's cast: see bench_cpu.c; NULL: none */
    const char *kernel;  /* library of GPU kernels; NULL: the one beside the command */
    const char *only;    /* GPU: time the operations whose name holds this; NULL: the usual ones */
} bench_options;

/* Append a row (zeroed but for `section`) to fill in. */
bench_row *bench_add(bench_report *report, const char *section);
double bench_seconds(void); /* a monotonic clock */
double bench_median(double *values, int n);

typedef struct bench_section {
    const char *name; /* also its option: --cpu */
    const char *about;
    void (*run)(const bench_options *o, bench_report *report);
} bench_section;

extern const bench_section bench_cpu, bench_models, bench_gpu, bench_layers;

/* Print each row's rate against that of the same row in an earlier --json file; false, with a message on
 * stderr, where the file cannot be read. */
bool bench_compare(const bench_report *report, const char *path);

#endif
