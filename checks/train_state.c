/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints of training runs: RUN.p, RUN.m, RUN.v and RUN.loss of every run, and the setup they belong to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"
#include "train.h"

enum { PARTS = 4, NAME_SIZE = 32, TEXT_SIZE = 256 };
static const char *const part_names[PARTS] = {"p", "m", "v", "loss"};

static void *part_of(const train_setup *s, const train_run *r, int part, int64_t *n, unsigned *width)
{
    void *const data[PARTS] = {r->p, r->m, r->v, r->loss};
    *n = part == PARTS - 1 ? s->steps : r->parameters;
    *width = part == PARTS - 1 ? 8 : 4;
    return data[part];
}

/* Everything that the numbers depend on, in words: runs of other setups are refused. */
static void describe(const train_setup *s, const train_run *runs, size_t n, char *setup, char *which)
{
    const lm_shape *p = &s->shape;
    snprintf(setup, TEXT_SIZE, "%d %d %d %d %d %d %d %d, %d %d %d %.17g %llu", p->vocabulary, p->context,
             p->dim, p->heads, p->layers, p->hidden, p->experts, p->top, s->steps, s->batch, s->micro,
             s->rate, (unsigned long long)s->data_seed);
    size_t at = 0;
    for (size_t i = 0; i < n && at < 4000; i++)
        at += (size_t)snprintf(which + at, 4096 - at, "%.80s %llu %d;", runs[i].scheme_name,
                               (unsigned long long)runs[i].seed, runs[i].reordered);
}

/* A run whose loss was no number is at its end already; the others are level. */
static int32_t least_step(const train_setup *s, const train_run *runs, size_t n)
{
    int32_t least = s->steps;
    for (size_t i = 0; i < n; i++)
        least = runs[i].step < least ? runs[i].step : least;
    return least;
}

static void name_part(size_t run, int part, char *name)
{
    snprintf(name, NAME_SIZE, "%zu.%s", run, part_names[part]);
}

mx_status train_save(const train_setup *s, const train_run *runs, size_t n, const char *path, mx_error *e)
{
    char setup[TEXT_SIZE], step[16], which[4096] = "";
    describe(s, runs, n, setup, which);
    snprintf(step, sizeof step, "%d", least_step(s, runs, n));
    mx_pair pairs[] = {
        {"mxcheck.train.setup", setup}, {"mxcheck.train.step", step}, {"mxcheck.train.runs", which}};
    mx_array *arrays = calloc(n * PARTS + 1, sizeof *arrays);
    char(*names)[NAME_SIZE] = calloc(n * PARTS + 1, sizeof *names);
    mx_writer w;
    mx_status status = arrays && names ? MX_OK : mx_fail(e, MX_NO_MEMORY, path, "no memory");
    for (size_t i = 0; !status && i < n * PARTS; i++) {
        unsigned width;
        name_part(i / PARTS, (int)(i % PARTS), names[i]);
        arrays[i].name = names[i];
        arrays[i].rank = 1;
        part_of(s, &runs[i / PARTS], (int)(i % PARTS), &arrays[i].shape[0], &width);
        if (!mx_dtype_find(width == 8 ? "f64" : "f32", &arrays[i].dtype))
            status = mx_fail(e, MX_UNSUPPORTED, path, "no type of %u bytes", width);
    }
    if (!status) status = mx_safetensors_create(path, arrays, n * PARTS, pairs, 3, &w, e);
    bool open = !status;
    for (size_t i = 0; !status && i < n * PARTS; i++) {
        int64_t count;
        unsigned width;
        const void *data = part_of(s, &runs[i / PARTS], (int)(i % PARTS), &count, &width);
        status = mx_writer_put(&w, names[i], 0, data, (size_t)count * width, e);
    }
    if (open && !status)
        status = mx_writer_finish(&w, e);
    else if (open)
        mx_writer_abandon(&w);
    free(arrays);
    free(names);
    return status;
}

static mx_status load_parts(const mx_store *store, const train_setup *s, train_run *runs, size_t n,
                            const char *path, mx_error *e)
{
    mx_status status = MX_OK;
    for (size_t i = 0; i < n * PARTS && !status; i++) {
        char name[NAME_SIZE];
        int64_t count;
        unsigned width;
        void *data = part_of(s, &runs[i / PARTS], (int)(i % PARTS), &count, &width);
        name_part(i / PARTS, (int)(i % PARTS), name);
        const mx_array *a = mx_store_find(store, name);
        if (!a || a->bytes != (uint64_t)count * width)
            return mx_fail(e, MX_BAD_INPUT, path, "tensor '%s' is missing or of another size", name);
        status = mx_store_read(store, a, 0, data, (size_t)a->bytes, e);
    }
    return status;
}

mx_status train_load(const train_setup *s, train_run *runs, size_t n, const char *path, mx_error *e)
{
    char setup[TEXT_SIZE], which[4096] = "", *end;
    mx_store store;
    describe(s, runs, n, setup, which);
    mx_status status = mx_store_open(path, &store, e);
    if (status) return status;
    const char *seen = mx_store_metadata(&store, "mxcheck.train.setup"),
               *step = mx_store_metadata(&store, "mxcheck.train.step"),
               *seen_runs = mx_store_metadata(&store, "mxcheck.train.runs");
    long at = step ? strtol(step, &end, 10) : -1;
    if (!seen || !seen_runs || strcmp(seen, setup) || strcmp(seen_runs, which))
        status = mx_fail(e, MX_BAD_INPUT, path, "a checkpoint of another training");
    else if (at < 0 || at > s->steps || *end)
        status = mx_fail(e, MX_BAD_INPUT, path, "no step within 0 to %d", s->steps);
    if (!status) status = load_parts(&store, s, runs, n, path, e);
    for (size_t i = 0; !status && i < n; i++)
        runs[i].step = (int32_t)at;
    mx_store_close(&store);
    return status;
}
