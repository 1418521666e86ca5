/* SPDX-License-Identifier: Apache-2.0
 * Batch invariance: a row of a product has the same bits whatever rows stand below it. A dense product is run
 * again with its first row alone, and with the first half of its rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"
#include "trial.h"

enum { MAX_WORK = 1 << 22 };

static bool cut_rows(mx_tensor *t, int64_t rows, int64_t keep)
{
    if (t->rank != 2 || t->shape[0] != rows) return false;
    t->bytes = t->bytes / (size_t)rows * (size_t)keep;
    t->shape[0] = keep;
    return true;
}

/* The case with its first `keep` rows. */
static bool first_rows(const mx_case *c, int64_t rows, int64_t keep, mx_case *out)
{
    static const char *const by_row[] = {"a", "a_scale", "c"};
    *out = *c;
    out->n_want = 0;
    for (int i = 0; i < out->n_in; i++)
        for (size_t k = 0; k < sizeof by_row / sizeof *by_row; k++)
            if (!strcmp(out->in[i].name, by_row[k]) && !cut_rows(&out->in[i], rows, keep)) return false;
    return true;
}

typedef struct prefix {
    run_state state;
    int64_t rows, differ; /* rows that were run, and how many of them have other bits; -1: not compared */
    int64_t first;        /* the first of those */
} prefix;

static prefix run_prefix(const trial *t, int64_t rows, int64_t keep)
{
    prefix p = {.rows = keep, .differ = -1};
    mx_case few;
    job j;
    outcome o;
    if (!first_rows(t->job->c, rows, keep, &few)) return p;
    if (job_make(&j, t->job->offer, t->job->op_index, &few, NULL) == MX_OK && j.n_out == 1) {
        t->subject->run(t->subject, &j, &variants[0], &o);
        p.state = o.state;
        size_t row_bytes = j.out[0].row_bytes;
        bool comparable = o.state == RUN_DONE && row_bytes == t->job->out[0].row_bytes &&
                          j.out[0].pitch_bytes == row_bytes && t->job->out[0].pitch_bytes == row_bytes;
        p.differ = comparable ? 0 : -1;
        for (int64_t r = 0; r < keep && comparable; r++)
            if (memcmp(o.out[0] + (size_t)r * row_bytes, t->canon[0] + (size_t)r * row_bytes, row_bytes) &&
                !p.differ++)
                p.first = r;
        outcome_free(&o, &j);
    }
    job_free(&j);
    return p;
}

static judgement judge(const trial *t, finding *f)
{
    const mx_case *c = t->job->c;
    const mx_tensor *a = mx_case_in(c, "a"), *b = mx_case_in(c, "b");
    if (strcmp(c->operation, "gemm") || !a || !b || a->rank != 2 || b->rank != 2) return JUDGED_NOTHING;
    int64_t rows = a->shape[0];
    if (rows < 2 || t->n_runs < 2 || t->runs_differ || !t->canon[0]) return JUDGED_NOTHING;
    if (rows > MAX_WORK / (b->shape[0] + 1) / (b->shape[1] + 1)) return JUDGED_NOTHING;
    int compared = 0;
    for (int64_t keep = 1; keep < rows; keep = keep == 1 && rows / 2 > 1 ? rows / 2 : rows) {
        prefix p = run_prefix(t, rows, keep);
        compared += p.differ >= 0;
        if (p.differ <= 0) continue;
        f->wrong = p.differ;
        f->total = p.rows;
        snprintf(f->tensor, sizeof f->tensor, "%s", t->job->out[0].role);
        snprintf(
            f->text, sizeof f->text,
            "%lld of the first %lld rows have other bits when the product has %lld rows instead of %lld; "
            "the first is row %lld",
            (long long)p.differ, (long long)p.rows, (long long)p.rows, (long long)rows, (long long)p.first);
        snprintf(f->cause, sizeof f->cause,
                 "the order of sums, or the path taken, depends on the number of rows");
        /* Another order may be legal where none was claimed and the operands do not forbid it. */
        bool bound = c->verdict == MX_VERDICT_BOUND && !*t->job->offer->model;
        return bound ? JUDGED_OPEN : JUDGED_FAILED;
    }
    return compared ? JUDGED_PASSED : JUDGED_NOTHING;
}

const check check_rows = {.name = "rows",
                          .what = "a row of a product has the same bits whatever rows follow",
                          .needs_done = true,
                          .of_bits = true,
                          .needs_buffers = true,
                          .judge = judge};
