/* SPDX-License-Identifier: Apache-2.0
 * The GPU section: the kernels of a plug-in against the device's own copy and its vendor's bf16 product, the
 * price of quantising beside the product that it serves, and grouped products beside dense ones. Time is the
 * plug-in's: mx_kernel_timer of mx_kernel.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_problem.h"
#include "beside.h"

enum { WARMUP = 3 };

/* What is timed, how large, and what is aimed at. Names are those of the bundled kernels; a library that has
 * none of them is timed by --only. */
typedef struct subject {
    const char *op;
    bench_size size;
    double aim;
} subject;

#define TALL                                                                                                 \
    {                                                                                                        \
        .rows = 131072, .cols = 7168                                                                         \
    }
#define SQUARE                                                                                               \
    {                                                                                                        \
        .rows = 16384, .cols = 16384                                                                         \
    }
#define CUBE                                                                                                 \
    {                                                                                                        \
        .rows = 8192, .cols = 8192, .n = 8192                                                                \
    }
#define MOE                                                                                                  \
    {                                                                                                        \
        .rows = 65536, .cols = 4096, .n = 4096, .groups = 8                                                  \
    }
/* The product that a quantised 131072 x 7168 serves in the accounts of section "quantisation tax". */
#define EXPERT                                                                                               \
    {                                                                                                        \
        .rows = 131072, .cols = 7168, .n = 2048                                                              \
    }

static const subject movers[] = {
    {"quantize-row-e4m3-te-tile", TALL, 1.0},     {"quantize-col-t-e4m3-te-tile", TALL, 0.93},
    {"quantize-both-e4m3-te-tile", TALL, 0.93},   {"quantize-32x32-e4m3-te", TALL, 0},
    {"swiglu-quantize-tile", TALL, 0.93},         {"swiglu-quantize-both-tile", TALL, 0},
    {"swiglu-grad-quantize-tile", TALL, 0},       {"dequantize-e4m3-te-tile-bf16", TALL, 0},
    {"quantize-row-mxfp4-te-tile", TALL, 0},      {"quantize-row-nvfp4-te-tile", TALL, 0},
    {"quantize-row-e4m3-te-tile", SQUARE, 1.0},   {"quantize-col-t-e4m3-te-tile", SQUARE, 0.93},
    {"quantize-both-e4m3-te-tile", SQUARE, 0.93}, {"swiglu-quantize-tile", SQUARE, 0.93},
    {"swiglu-quantize-both-tile", SQUARE, 0},     {"swiglu-grad-quantize-tile", SQUARE, 0},
    {"dequantize-e4m3-te-tile-bf16", SQUARE, 0},
};
static const subject products[] = {
    {"gemm-fused-e4m3-bf16-tiled", CUBE, 0.95},
    {"gemm-staged-e4m3-bf16-tiled", CUBE, 0},
    {"gemm-promoted-e4m3-bf16-tiled", CUBE, 0},
    {"gemm-fused-e4m3-bf16-tiled", EXPERT, 0},
};
static const subject grouped[] = {
    {"grouped-forward-fused-e4m3-bf16-tiled", MOE, 0.96},
    {"grouped-dgrad-fused-e4m3-bf16-tiled", MOE, 0.96},
    {"grouped-wgrad-fused-e4m3-bf16-tiled", MOE, 0.96},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct session {
    bench_device device;
    const bench_options *options;
    bench_report *report;
    char name[160];
    size_t copy_bytes; /* size that `copy` is the rate of */
    double copy;
} session;

static bench_row *new_row(session *s, const char *what, const bench_size *size)
{
    bench_row *r = bench_add(s->report, "gpu");
    snprintf(r->where, sizeof r->where, "%.47s", s->name);
    if (size && size->n)
        snprintf(r->what, sizeof r->what, "%s %lldx%lldx%lld", what, (long long)size->rows,
                 (long long)size->n, (long long)size->cols);
    else if (size)
        snprintf(r->what, sizeof r->what, "%s %lldx%lld", what, (long long)size->rows, (long long)size->cols);
    else
        snprintf(r->what, sizeof r->what, "%s", what);
    return r;
}

/* Median seconds of an operation; below 0, with the reason, where it could not be timed. */
static double time_of(session *s, const char *name, const bench_size *size, double *bytes, char *why,
                      size_t n)
{
    const mx_kernel_op *op = bench_op(s->device.library, name);
    if (!op || !op->run) return snprintf(why, n, "no operation %s", name), -1;
    bench_problem p;
    if (!bench_problem_make(&p, &s->device, op, size, why, n)) return -1;
    *bytes = p.bytes;
    double *seconds = calloc((size_t)s->options->repeats, sizeof *seconds), median = -1;
    int error = seconds ? s->device.timer->time(p.calls, p.n_calls, WARMUP, (uint32_t)s->options->repeats,
                                                seconds, why, n)
                        : 1;
    if (!error)
        median = bench_median(seconds, s->options->repeats);
    else if (!*why)
        snprintf(why, n, "%s", s->device.library->error_text(error));
    free(seconds);
    bench_problem_free(&p);
    return median;
}

static double copy_once(session *s, size_t bytes)
{
    void *from = NULL, *to = NULL;
    double rate = 0, *seconds = calloc((size_t)s->options->repeats, sizeof *seconds);
    const mx_kernel_library *l = s->device.library;
    if (seconds && !l->allocate(&from, bytes) && !l->allocate(&to, bytes) &&
        !s->device.timer->fill(from, "bf16", (int64_t)(bytes / 2), 1) &&
        !s->device.timer->copy(to, from, bytes, WARMUP, (uint32_t)s->options->repeats, seconds))
        rate = 2e-12 * (double)bytes / bench_median(seconds, s->options->repeats);
    if (from) l->release(from);
    if (to) l->release(to);
    free(seconds);
    return rate;
}

/* TB/s of the device's copy at this size, both directions counted; 0: none. It depends on where its buffers
 * happen to lie (on an H200 3.7 to 4.3 TB/s), so the best of several allocations is the limit. */
static double copy_rate(session *s, size_t bytes)
{
    enum { TRIES = 5 };
    if (s->copy_bytes != bytes) {
        s->copy_bytes = bytes, s->copy = 0;
        for (int i = 0; i < TRIES; i++) {
            double rate = copy_once(s, bytes);
            if (rate > s->copy) s->copy = rate;
        }
    }
    return s->copy;
}

static void move(session *s, const char *name, const bench_size *size, double aim)
{
    bench_row *r = new_row(s, name, size);
    double bytes = 0, base = copy_rate(s, (size_t)(size->rows * size->cols) * 2);
    double seconds = time_of(s, name, size, &bytes, r->not_run, sizeof r->not_run);
    if (seconds <= 0) return;
    if (base <= 0) {
        snprintf(r->not_run, sizeof r->not_run, "the device's copy could not be timed");
        return;
    }
    *r->not_run = 0;
    snprintf(r->unit, sizeof r->unit, "TB/s");
    snprintf(r->limit, sizeof r->limit, "device copy");
    r->rate = 1e-12 * bytes / seconds, r->base = base, r->aim = aim;
}

static double flops(const bench_size *size)
{
    return 2.0 * (double)size->rows * (double)size->cols * (double)size->n;
}

/* TFLOP/s of the vendor's bf16 product. */
static double vendor_rate(session *s, const bench_size *size, char *why, size_t n)
{
    double rate = 0, *seconds = calloc((size_t)s->options->repeats, sizeof *seconds);
    if (seconds && !s->device.timer->product(size->rows, size->n, size->cols, WARMUP,
                                             (uint32_t)s->options->repeats, seconds, why, n))
        rate = 1e-12 * flops(size) / bench_median(seconds, s->options->repeats);
    free(seconds);
    return rate;
}

/* One row: rate of `name`; against `base` TFLOP/s of what `limit` says. Returns the rate. */
static double multiply(session *s, const subject *x, const char *limit, double base, const char *why_no_base)
{
    bench_row *r = new_row(s, x->op, &x->size);
    double bytes = 0, seconds = time_of(s, x->op, &x->size, &bytes, r->not_run, sizeof r->not_run);
    if (seconds <= 0) return 0;
    const double rate = 1e-12 * flops(&x->size) / seconds;
    if (base <= 0)
        snprintf(r->not_run, sizeof r->not_run, "%.1f TFLOP/s; nothing to compare with: %.80s", rate,
                 why_no_base);
    else
        *r->not_run = 0;
    snprintf(r->unit, sizeof r->unit, "TFLOP/s");
    snprintf(r->limit, sizeof r->limit, "%s", limit);
    r->rate = rate, r->base = base, r->aim = x->aim;
    return rate;
}

/* Milliseconds of quantising beside those of the product. */
static void tax(session *s, const char *what, const char *quantiser)
{
    static const bench_size expert = EXPERT, source = TALL;
    bench_row *r = new_row(s, what, &expert);
    double bytes, quantise = time_of(s, quantiser, &source, &bytes, r->not_run, sizeof r->not_run);
    double product = quantise > 0 ? time_of(s, "gemm-fused-e4m3-bf16-tiled", &expert, &bytes, r->not_run,
                                            sizeof r->not_run)
                                  : -1;
    if (quantise <= 0 || product <= 0) return;
    *r->not_run = 0;
    snprintf(r->unit, sizeof r->unit, "ms");
    snprintf(r->limit, sizeof r->limit, "the product");
    r->rate = 1e3 * quantise, r->base = 1e3 * product;
}

static void run_products(session *s)
{
    char why[160] = "";
    for (size_t i = 0; i < COUNT(products); i++) {
        double base = vendor_rate(s, &products[i].size, why, sizeof why);
        multiply(s, &products[i], "cuBLAS bf16", base, why);
    }
    tax(s, "quantisation tax, forward", "quantize-row-e4m3-te-tile");
    tax(s, "quantisation tax, backward", "quantize-both-e4m3-te-tile");
    /* The dense product of the same shape is what a group costs against. */
    subject dense = {"gemm-fused-e4m3-bf16-tiled", MOE, 0};
    dense.size.groups = 0;
    double own = multiply(s, &dense, "cuBLAS bf16", vendor_rate(s, &dense.size, why, sizeof why), why);
    for (size_t i = 0; i < COUNT(grouped); i++)
        multiply(s, &grouped[i], "own dense", own, "the dense product did not run");
}

static void run_only(session *s)
{
    static const bench_size tall = TALL, cube = CUBE, moe = MOE;
    for (uint32_t i = 0; i < s->device.library->n_ops; i++) {
        const mx_kernel_op *op = &s->device.library->ops[i];
        if (!strstr(op->name, s->options->only)) continue;
        if (!bench_is_product(op)) {
            move(s, op->name, &tall, 0);
            continue;
        }
        subject x = {op->name, strcmp(op->operation, "gemm") ? moe : cube, 0};
        char why[160] = "";
        multiply(s, &x, "cuBLAS bf16", vendor_rate(s, &x.size, why, sizeof why), why);
    }
}

static const char *open_device(session *s)
{
    static char path[4096], text[160];
    const char *file = s->options->kernel;
    if (!file && !beside_binary("mxcheck-gpu.so", path, sizeof path)) return "built without CUDA";
    void *handle = dlopen(file ? file : path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return snprintf(text, sizeof text, "%s", dlerror()), text;
    const mx_kernel_library *(*describe)(void) = NULL;
    const mx_kernel_timer *(*timer)(void) = NULL;
    *(void **)&describe = dlsym(handle, MX_KERNEL_SYMBOL);
    *(void **)&timer = dlsym(handle, MX_KERNEL_TIMER_SYMBOL);
    if (!describe || !timer) return "the library offers no kernels, or no timer";
    s->device.library = describe();
    s->device.timer = timer();
    if (s->device.library->abi != MX_KERNEL_ABI || s->device.timer->abi != MX_KERNEL_ABI)
        return "the library speaks another ABI";
    if (!s->device.library->open || !s->device.library->allocate) return "the library has no device memory";
    int error = s->device.library->open(s->name, sizeof s->name);
    if (error)
        return snprintf(text, sizeof text, "no device: %s", s->device.library->error_text(error)), text;
    return NULL;
}

static void run(const bench_options *o, bench_report *report)
{
    session s = {.options = o, .report = report, .name = "gpu"};
    const char *why = open_device(&s);
    if (why) {
        bench_row *r = new_row(&s, "kernels of the plug-in", NULL);
        snprintf(r->not_run, sizeof r->not_run, "%.127s", why);
        return;
    }
    s.device.timer->state(report->device_before, sizeof report->device_before);
    if (o->only) {
        run_only(&s);
    } else {
        for (size_t i = 0; i < COUNT(movers); i++)
            move(&s, movers[i].op, &movers[i].size, movers[i].aim);
        run_products(&s);
    }
    s.device.timer->state(report->device_after, sizeof report->device_after);
}

const bench_section bench_gpu = {"gpu", "GPU kernels against the device's copy and its bf16 product", run};
