/* SPDX-License-Identifier: Apache-2.0
 * The CPU section: quantise and dequantise against memcpy of the wide side, and a cast against another
 * library's. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "fast.h"
#include "random.h"

enum { COLS = 8192, MAX_REPEATS = 999 };

/* `wide` holds values, `copy` receives memcpy's and dequantise's, `codes` and `scales` the narrow form. */
typedef struct buffers {
    char *wide, *copy;
    uint8_t *codes, *scales;
    size_t bytes;
} buffers;

static size_t size_of_input(const bench_options *o)
{
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t pages = (size_t)sysconf(_SC_PHYS_PAGES), page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = cache > 0 ? (size_t)cache / 4 * 5 : 0, most = pages / 8 * page;
    if (bytes < (size_t)64 << 20) bytes = (size_t)64 << 20;
    if (bytes > most) bytes = most;
    if (o->mebibytes > 0) bytes = (size_t)(o->mebibytes * (1 << 20));
    return bytes / (COLS * 4) * (COLS * 4);
}

static bool make_buffers(const bench_options *o, buffers *b)
{
    b->bytes = size_of_input(o);
    size_t elements = b->bytes / 2; /* of the 16-bit formats */
    b->wide = aligned_alloc(4096, b->bytes);
    b->copy = aligned_alloc(4096, b->bytes);
    b->codes = aligned_alloc(4096, elements);
    b->scales = aligned_alloc(4096, (elements / 32 + 4095) / 4096 * 4096);
    if (!b->wide || !b->copy || !b->codes || !b->scales) return false;
    memset(b->copy, 0, b->bytes); /* every page is touched before the clock starts */
    memset(b->codes, 0, elements);
    memset(b->scales, 0, elements / 32);
    return true;
}

static void free_buffers(buffers *b)
{
    free(b->wide);
    free(b->copy);
    free(b->codes);
    free(b->scales);
}

/* Normal values, a stretch of them repeated. */
static void fill(const mx_format *f, buffers *b)
{
    size_t bytes = f->bits / 8, stretch = (size_t)1 << 20, done = stretch;
    for (size_t i = 0; i < stretch / bytes; i++) {
        uint32_t code = mx_encode(f, mx_random_normal(1, 0, i), &MX_CAST_DEFAULT, 0);
        memcpy(b->wide + i * bytes, &code, bytes);
    }
    for (; done < b->bytes; done += stretch)
        memcpy(b->wide + done, b->wide, b->bytes - done < stretch ? b->bytes - done : stretch);
}

static void copy_all(const buffers *b, int threads)
{
    size_t share = b->bytes / (size_t)threads / 4096 * 4096;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < threads; i++) {
        size_t from = share * (size_t)i, n = i == threads - 1 ? b->bytes - from : share;
        memcpy(b->copy + from, b->wide + from, n);
    }
}

typedef struct job {
    const mx_recipe *recipe;
    const mx_format *format;
    bool back; /* dequantise */
    int threads;
} job;

static void run_job(const job *j, const buffers *b)
{
    int64_t rows = (int64_t)(b->bytes / (j->format->bits / 8) / COLS);
    mx_quantized q = {b->codes, b->scales, 1};
    if (j->back) {
        omp_set_num_threads(j->threads);
        mx_dequantize(j->recipe, &q, rows, COLS, j->format, b->copy, COLS, NULL);
        return;
    }
    mx_matrix x = {j->format, b->wide, rows, COLS, COLS};
    mx_quantize_options options = {.threads = j->threads};
    mx_quantize(j->recipe, &x, &options, &q, NULL);
}

/* Medians of `repeats` turns of memcpy and the job; one turn before them is not counted. */
static void measure(const bench_options *o, const buffers *b, const job *j, bench_row *row)
{
    double copy[MAX_REPEATS], own[MAX_REPEATS];
    for (int i = -1; i < o->repeats; i++) {
        double t0 = bench_seconds();
        copy_all(b, j->threads);
        double t1 = bench_seconds();
        run_job(j, b);
        double t2 = bench_seconds();
        if (i >= 0) copy[i] = t1 - t0, own[i] = t2 - t1;
    }
    row->rate = (double)b->bytes / bench_median(own, o->repeats) * 1e-9;
    row->base = (double)b->bytes / bench_median(copy, o->repeats) * 1e-9;
}

static const struct {
    const char *recipe, *format;
    bool back;
    double aim; /* on one AVX-512 core; half of it on AVX2 */
} work[] = {
    {"mxfp8", "f32", false, 1.0},   {"mxfp8", "bf16", false, 0.6},   {"mxfp8", "f16", false, 0.6},
    {"mxfp8-col", "f32", false, 0}, {"mxfp8-col", "bf16", false, 0}, {"mxfp4", "bf16", false, 0},
    {"mxfp8", "f32", true, 0},      {"mxfp8", "bf16", true, 0},      {"mxfp8", "f16", true, 0},
};

static void measure_all(const bench_options *o, buffers *b, const char *isa, int threads,
                        bench_report *report)
{
    const char *filled = "";
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        job j = {mx_recipe_find(work[i].recipe), mx_format_find(work[i].format), work[i].back, threads};
        bench_row *row = bench_add(report, bench_cpu.name);
        snprintf(row->what, sizeof row->what, "%s %s %s %s", work[i].back ? "dequantize" : "quantize",
                 work[i].recipe, work[i].back ? "to" : "from", work[i].format);
        snprintf(row->where, sizeof row->where, "%s, %d thread%s", isa, threads, threads > 1 ? "s" : "");
        snprintf(row->unit, sizeof row->unit, "GB/s");
        snprintf(row->limit, sizeof row->limit, "memcpy");
        if (threads == 1) row->aim = !strcmp(isa, "avx512") ? work[i].aim : work[i].aim / 2;
        if (strcmp(filled, work[i].format)) fill(j.format, b);
        filled = work[i].format;
        measure(o, b, &j, row);
    }
}

/* Against another library: `COMMAND ELEMENTS REPEATS` prints "NAME SECONDS-PER-ELEMENT" on one line, or a
 * reason and a nonzero exit status. */
static void measure_against(const bench_options *o, buffers *b, bench_report *report)
{
    enum { ELEMENTS = 1 << 24 };
    char command[512], line[128] = "", name[64] = "";
    double theirs = 0, own[MAX_REPEATS];
    bench_row *row = bench_add(report, bench_cpu.name);
    snprintf(row->what, sizeof row->what, "cast f32 to e4m3");
    snprintf(row->where, sizeof row->where, "%s, 1 thread", mx_fast_isa());
    if ((size_t)ELEMENTS * 4 > b->bytes) {
        snprintf(row->not_run, sizeof row->not_run, "needs --size 64 or more");
        return;
    }
    snprintf(command, sizeof command, "%s %d %d", o->against, ELEMENTS, o->repeats);
    FILE *pipe = popen(command, "r");
    if (pipe && !fgets(line, sizeof line, pipe)) *line = 0;
    int status = pipe ? pclose(pipe) : -1;
    if (status || sscanf(line, "%63s %lf", name, &theirs) != 2 || !(theirs > 0)) {
        line[strcspn(line, "\n")] = 0;
        snprintf(row->not_run, sizeof row->not_run, "%.100s",
                 *line ? line : "the other library's command failed");
        return;
    }
    fill(mx_format_find("f32"), b);
    mx_matrix x = {mx_format_find("f32"), b->wide, ELEMENTS / COLS, COLS, COLS};
    mx_quantized q = {b->codes, NULL, 1};
    for (int i = -1; i < o->repeats; i++) {
        mx_quantize_options one = {.threads = 1};
        double t = bench_seconds();
        mx_quantize(mx_recipe_find("cast-e4m3-cuda-sat"), &x, &one, &q, NULL);
        if (i >= 0) own[i] = bench_seconds() - t;
    }
    row->rate = ELEMENTS * 4e-9 / bench_median(own, o->repeats);
    row->base = 4e-9 / theirs;
    row->aim = 10;
    snprintf(row->unit, sizeof row->unit, "GB/s");
    snprintf(row->limit, sizeof row->limit, "%.31s", name);
}

static void run(const bench_options *o, bench_report *report)
{
    static const char *const isas[] = {"avx512", "avx2"};
    const char *best = mx_fast_isa();
    int all = omp_get_max_threads();
    buffers b = {0};
    if (!make_buffers(o, &b)) {
        snprintf(bench_add(report, bench_cpu.name)->not_run, 128, "no memory for %zu bytes", b.bytes * 2);
        free_buffers(&b);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (mx_fast_select(isas[i])) measure_all(o, &b, isas[i], 1, report);
    mx_fast_select(best);
    if (!strcmp(best, "scalar"))
        snprintf(bench_add(report, bench_cpu.name)->not_run, 128, "this CPU has neither AVX-512 nor AVX2");
    else if (all > 1)
        measure_all(o, &b, best, all, report);
    if (o->against) measure_against(o, &b, report);
    omp_set_num_threads(all);
    free_buffers(&b);
}

const bench_section bench_cpu = {"cpu", "quantise and dequantise on the CPU against memcpy", run};
