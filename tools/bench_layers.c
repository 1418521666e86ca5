/* SPDX-License-Identifier: Apache-2.0
 * The layers section: steps a second of what `gradient` and `train` repeat, against the same step in BF16.
 * The ratio is what quantising the operands costs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "genesis.h"
#include "gradient.h"
#include "scheme.h"
#include "train.h"

enum { MAX_REPEATS = 99, TRAIN_STEPS = 4 };
static const char *const schemes[] = {"mxfp8", "nvfp4", "fp8-1x128"};
enum { N_SCHEMES = sizeof schemes / sizeof *schemes };

/* Seconds of one measurement of a scheme; negative: failed. */
typedef double (*measure)(const void *context, const char *scheme);

static void bench_pair(const bench_options *o, bench_report *report, const char *what, const char *scheme,
                       measure run, const void *context)
{
    int n = o->repeats < 1 ? 1 : o->repeats > MAX_REPEATS ? MAX_REPEATS : o->repeats;
    double mine[MAX_REPEATS], base[MAX_REPEATS];
    bench_row *row = bench_add(report, "layers");
    snprintf(row->what, sizeof row->what, "%s, %s", what, scheme);
    snprintf(row->where, sizeof row->where, "1 thread");
    snprintf(row->unit, sizeof row->unit, "steps/s");
    snprintf(row->limit, sizeof row->limit, "bf16");
    for (int i = 0; i < n; i++) {
        mine[i] = run(context, scheme);
        base[i] = run(context, "bf16");
        if (mine[i] > 0 && base[i] > 0) continue;
        snprintf(row->not_run, sizeof row->not_run, "no memory");
        return;
    }
    row->rate = 1 / bench_median(mine, n);
    row->base = 1 / bench_median(base, n);
}

static double gradient_step(const void *context, const char *name)
{
    const gradient_scene *s = context;
    mx_scheme scheme;
    mx_moe m;
    mx_status status = scheme_parse(name, &scheme, NULL);
    if (!status) status = mx_moe_make(&s->setup.shape, &m, NULL);
    if (status) return -1;
    double start = bench_seconds();
    status = mx_moe_forward(&m, &scheme, &s->w, s->x, NULL, 0, NULL);
    if (!status) status = mx_moe_backward(&m, &scheme, &s->w, s->x, s->dout, 0, NULL);
    double seconds = bench_seconds() - start;
    mx_moe_free(&m);
    return status ? -1 : seconds;
}

typedef struct lesson {
    train_setup setup;
    train_text text;
} lesson;

static double train_step(const void *context, const char *name)
{
    const lesson *l = context;
    train_run r = {.scheme_name = name, .seed = 1};
    mx_status status = scheme_parse(name, &r.scheme, NULL);
    if (!status) status = train_run_make(&l->setup, &r, NULL);
    double start = bench_seconds();
    if (!status) train_run_to(&l->setup, &l->text, &r, TRAIN_STEPS, NULL, NULL);
    double seconds = bench_seconds() - start;
    if (!status) status = r.status;
    train_run_free(&r);
    return status ? -1 : seconds / TRAIN_STEPS;
}

static void run(const bench_options *o, bench_report *report)
{
    gradient_setup setup = {{512, 256, 256, 8, 2}, 1, "outliers", "laplace", 1};
    gradient_scene scene;
    if (!gradient_begin(&setup, &scene, NULL))
        for (int i = 0; i < N_SCHEMES; i++)
            bench_pair(o, report, "MoE layer forward, backward", schemes[i], gradient_step, &scene);
    gradient_end(&scene);
    lesson l = {.setup = {{0, 32, 64, 4, 2, 64, 4, 2}, TRAIN_STEPS, 8, 2, 3e-3, 1}};
    size_t n;
    const char *text = genesis_text(&n);
    if (train_text_make(text, n, &l.text, NULL)) return;
    l.setup.shape.vocabulary = l.text.vocabulary;
    for (int i = 0; i < N_SCHEMES; i++)
        bench_pair(o, report, "training step", schemes[i], train_step, &l);
    train_text_free(&l.text);
}

const bench_section bench_layers = {"layers", "a MoE layer's gradient and a training step, against bf16",
                                    run};
