/* SPDX-License-Identifier: Apache-2.0
 * The models section: emulated matrix instructions a second, and whole products, against what the project
 * aims at. A step is one instruction for one output: all its products, cut, added and converted. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "exact.h"
#include "fast.h"
#include "gemm.h"
#include "model_fast.h"
#include "random.h"

enum { LANES = 128, WIDTH = 32, SIZE = 1024, MAX_REPEATS = 99 };

/* Of this thread alone: a rate of one core should not depend on who else is at work. */
static double core_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int repeats_of(const bench_options *o)
{
    return o->repeats < 1 ? 1 : o->repeats > MAX_REPEATS ? MAX_REPEATS : o->repeats;
}

/* Operands of one row and one group of columns, as the vector step takes them. */
typedef struct operands {
    float a[LANES], b[LANES * WIDTH];
    uint32_t a_exponent[LANES];
    int16_t b_exponent[LANES * WIDTH];
    int32_t a_scale[LANES], b_scale[LANES * WIDTH];
} operands;

static void fill(operands *x)
{
    memset(x, 0, sizeof *x);
    for (uint64_t i = 0; i < LANES * WIDTH; i++) {
        uint32_t r = mx_random_u32(3, 0, i);
        float value = (float)(8 + r % 8) / 8 * (r >> 31 ? -1.0f : 1.0f);
        x->b[i] = value;
        if (i < LANES) x->a[i] = value;
    }
}

static void bench_steps(const bench_options *o, bench_report *report, const char *what, mx_fast_rule rule,
                        bool scaled, double aim)
{
    enum { CALLS = 20000 };
    bench_row *row = bench_add(report, "models");
    bool wide = !strcmp(mx_fast_isa(), "avx512"), narrow = !strcmp(mx_fast_isa(), "avx2");
    snprintf(row->what, sizeof row->what, "steps of %s", what);
    snprintf(row->where, sizeof row->where, "%s, 1 thread", mx_fast_isa());
    if (!wide && !narrow) {
        snprintf(row->not_run, sizeof row->not_run, "no vector step on this CPU");
        return;
    }
    static operands x;
    double seconds[MAX_REPEATS];
    uint32_t acc[WIDTH] = {0};
    fill(&x);
    mx_fast_row a = {x.a, x.a_exponent, scaled ? x.a_scale : NULL};
    mx_fast_group b = {x.b, x.b_exponent, x.b_scale};
    mx_fast_kernel kernel = wide ? mx_fast_chain_avx512 : mx_fast_chain_avx2;
    for (int i = 0; i < repeats_of(o); i++) {
        double start = core_seconds();
        for (int call = 0; call < CALLS; call++)
            kernel(&rule, &a, &b, LANES / rule.lanes, acc);
        seconds[i] = core_seconds() - start;
    }
    double steps = (double)CALLS * (LANES / rule.lanes) * (wide ? 32 : 16);
    snprintf(row->unit, sizeof row->unit, "M/s");
    snprintf(row->limit, sizeof row->limit, "%s", wide ? "aim" : "half the aim");
    row->rate = steps / bench_median(seconds, repeats_of(o)) / 1e6;
    row->base = wide ? aim : aim / 2;
    row->aim = 1;
}

/* An MXFP8 product of SIZE^3, predicted and exact. */
static mx_product make_product(uint8_t *a, uint8_t *b, uint8_t *scales, float *d)
{
    const mx_format *e4m3 = mx_format_find("e4m3"), *e8m0 = mx_format_find("e8m0");
    for (uint64_t i = 0; i < (uint64_t)SIZE * SIZE; i++) {
        uint32_t r = mx_random_u32(4, 0, i);
        a[i] = (uint8_t)(r & 0x80) | (uint8_t)((r >> 8) % 0x7F);
        b[i] = (uint8_t)(r >> 16 & 0x80) | (uint8_t)((r >> 23) % 0x7F);
        if (i < (uint64_t)SIZE * SIZE / 32) scales[i] = (uint8_t)(120 + r % 16);
    }
    mx_product p = mx_product_init(mx_model_find("sm100-mxf8f6f4"), NULL);
    p.a = mx_operand_scaled(e4m3, a, SIZE, SIZE, e8m0, scales, 1, 32);
    p.b = mx_operand_scaled(e4m3, b, SIZE, SIZE, e8m0, scales, 1, 32);
    p.d_format = mx_format_find("f32");
    p.d = d;
    p.d_pitch = SIZE;
    return p;
}

static bench_row *product_row(bench_report *report, const char *what, int threads)
{
    bench_row *row = bench_add(report, "models");
    snprintf(row->what, sizeof row->what, "%s", what);
    snprintf(row->where, sizeof row->where, "%s, %d threads", mx_fast_isa(), threads);
    snprintf(row->unit, sizeof row->unit, "G/s");
    return row;
}

static void bench_products(const bench_options *o, bench_report *report)
{
    const size_t n = (size_t)SIZE * SIZE;
    const double products = (double)n * SIZE / 1e9, in_15_s = 4096.0 * 4096 * 4096 / 15 / 1e9;
    int threads = omp_get_max_threads() < 2 ? omp_get_max_threads() : 2;
    uint8_t *a = malloc(n), *b = malloc(n), *scales = malloc(n / 32);
    float *d = malloc(n * sizeof *d);
    double predicted[MAX_REPEATS], exact[MAX_REPEATS];
    bench_row *first = product_row(report, "mxfp8 product, bit-exact sm100-mxf8f6f4", threads);
    bench_row *second = product_row(report, "mxfp8 product, correctly rounded", threads);
    if (!a || !b || !scales || !d) {
        snprintf(first->not_run, sizeof first->not_run, "no memory");
        snprintf(second->not_run, sizeof second->not_run, "no memory");
    } else {
        mx_product p = make_product(a, b, scales, d);
        p.threads = threads;
        for (int i = 0; i < repeats_of(o); i++) {
            double start = bench_seconds();
            mx_gemm(&p, NULL);
            predicted[i] = bench_seconds() - start;
            start = bench_seconds();
            mx_exact_product(&p, NULL, (uint32_t *)(void *)d, SIZE, NULL);
            exact[i] = bench_seconds() - start;
        }
        first->rate = second->base = products / bench_median(predicted, repeats_of(o));
        second->rate = products / bench_median(exact, repeats_of(o));
        first->base = in_15_s;
        first->aim = 1;
        second->aim = 0.25;
        snprintf(first->limit, sizeof first->limit, "4096^3 in 15 s");
        snprintf(second->limit, sizeof second->limit, "the row above");
    }
    free(a);
    free(b);
    free(scales);
    free(d);
}

static void run(const bench_options *o, bench_report *report)
{
    mx_fast_rule wgmma = {.lanes = 32, .fraction = 13, .part = 32, .e8m13 = true};
    mx_fast_rule mxf8 = {.lanes = 32, .fraction = 25, .part = 8};
    bench_steps(o, report, "wgmma fp8 (32 products, F = 13)", wgmma, false, 400);
    bench_steps(o, report, "mxf8f6f4 (32 products, F = 25)", mxf8, true, 200);
    bench_products(o, report);
}

const bench_section bench_models = {"models", "emulated matrix instructions and products a second", run};
