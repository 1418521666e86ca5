/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck bench`: speed against the machine's own limits. Never a verdict: it exits 0 whatever it measures.
 */
#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "command.h"
#include "fast.h"

/* A new section is a new row. */
static const bench_section *const sections[] = {&bench_cpu, &bench_gpu, &bench_models, &bench_layers};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

bench_row *bench_add(bench_report *report, const char *section)
{
    size_t i = report->count < BENCH_MAX_ROWS - 1 ? report->count++ : BENCH_MAX_ROWS - 1;
    report->rows[i] = (bench_row){.section = section};
    return &report->rows[i];
}

double bench_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void print_row(const bench_row *r)
{
    if (*r->not_run) {
        printf("%-4s %-36s %-18s not run: %s\n", r->section, r->what, r->where, r->not_run);
        return;
    }
    printf("%-4s %-36s %-18s %9.2f %-8s %9.2f %-16s %7.2f", r->section, r->what, r->where, r->rate, r->unit,
           r->base, r->limit, r->rate / r->base);
    if (r->aim > 0) printf("  %6.2f%s", r->aim, r->rate / r->base >= r->aim ? "" : "  below");
    putchar('\n');
}

static void print_table(const bench_report *report)
{
    printf("%-4s %-36s %-18s %9s %-8s %9s %-16s %7s  %6s\n", "", "what", "where", "rate", "", "limit", "",
           "ratio", "aim");
    for (size_t i = 0; i < report->count; i++)
        print_row(&report->rows[i]);
}

static json_t *row_json(const bench_row *r)
{
    json_t *o = json_pack("{s:s, s:s, s:s}", "section", r->section, "what", r->what, "where", r->where);
    if (*r->not_run)
        json_object_set_new(o, "not_run", json_string(r->not_run));
    else
        json_object_update_new(o, json_pack("{s:s, s:f, s:s, s:f, s:f, s:f}", "unit", r->unit, "rate",
                                            r->rate, "limit", r->limit, "limit_rate", r->base, "ratio",
                                            r->rate / r->base, "aim", r->aim));
    return o;
}

static int write_json(const bench_report *report, const char *path)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(rows, row_json(&report->rows[i]));
    json_t *root =
        json_pack("{s:s, s:s, s:o}", "mxcheck", MX_VERSION, "cpu_isa", mx_fast_isa(), "rows", rows);
    if (*report->device_before)
        json_object_set_new(
            root, "device_state",
            json_pack("{s:s, s:s}", "before", report->device_before, "after", report->device_after));
    int failed = json_dump_file(root, path, JSON_INDENT(2));
    json_decref(root);
    if (failed) fprintf(stderr, "mxcheck bench: %s: cannot write\n", path);
    return failed;
}

typedef struct arguments {
    bench_options options;
    const char *json, *earlier;
    unsigned chosen; /* bit i: section i; none: all */
} arguments;

enum { SECTION_KEY = 0x1000 };

static const struct argp_option options[] = {
    {"cpu", SECTION_KEY, 0, 0, "the CPU section", 1},
    {"gpu", SECTION_KEY + 1, 0, 0, "the GPU section", 1},
    {"models", SECTION_KEY + 2, 0, 0, "emulated matrix instructions and products", 1},
    {"layers", SECTION_KEY + 3, 0, 0, "a MoE layer's gradient, a training step", 1},
    {"kernel", 'k', "LIB", 0, "GPU: a library with kernels and a timer (default: the bundled one)", 2},
    {"only", 'o', "TEXT", 0, "GPU: the operations whose name holds TEXT, instead of the usual ones", 2},
    {"earlier", 'e', "FILE", 0, "compare with the rows that --json wrote earlier", 2},
    {"json", 'j', "FILE", 0, "also write the rows to FILE", 2},
    {"repeats", 'r', "N", 0, "measurements of each row, interleaved with its limit's (default 7)", 2},
    {"size", 's', "MIB", 0, "size of an input in MiB (default: 1.25 last-level caches, at least 64 MiB)", 2},
    {"against", 'a', "COMMAND", 0, "time another library's fp32 to e4m3 cast: COMMAND ELEMENTS REPEATS", 2},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    if (key >= SECTION_KEY && key < SECTION_KEY + N_SECTIONS) {
        a->chosen |= 1u << (key - SECTION_KEY);
        return 0;
    }
    switch (key) {
    case 'j': a->json = arg; return 0;
    case 'a': a->options.against = arg; return 0;
    case 'k': a->options.kernel = arg; return 0;
    case 'o': a->options.only = arg; return 0;
    case 'e': a->earlier = arg; return 0;
    case 'r':
        a->options.repeats = atoi(arg);
        if (a->options.repeats < 1 || a->options.repeats > 999) argp_error(state, "--repeats: 1 to 999");
        return 0;
    case 's':
        a->options.mebibytes = atof(arg);
        if (!(a->options.mebibytes >= 1 && a->options.mebibytes <= 1 << 20))
            argp_error(state, "--size: 1 to 1048576 MiB");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Measure speed against the machine's own limits, in one run.\v"
               "Every rate stands beside its limit's, measured in turns with it; medians. Sections: --cpu, "
               "--gpu, --models, --layers; "
               "all without an option.\n\nExample: mxcheck bench --cpu --json bench.json"};
    static bench_report report;
    arguments a = {.options = {.repeats = 7}};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    for (unsigned i = 0; i < N_SECTIONS; i++)
        if (!a.chosen || a.chosen >> i & 1) {
            fprintf(stderr, "mxcheck bench: %s\n", sections[i]->about);
            sections[i]->run(&a.options, &report);
        }
    print_table(&report);
    if (*report.device_before) printf("device: %s; after: %s\n", report.device_before, report.device_after);
    if (a.earlier && !bench_compare(&report, a.earlier)) return EXIT_USAGE;
    return a.json && write_json(&report, a.json) ? EXIT_USAGE : EXIT_PASSED;
}

const command command_bench = {"bench", "speed of kernels against the machine's own limits", 60, run};
