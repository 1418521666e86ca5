/* SPDX-License-Identifier: Apache-2.0
 * Products. Where the kernel claims a model and a schedule that are known, every bit must be theirs.
 * Elsewhere each output must lie in an interval proved from its own operands, whatever the order; where the
 * operands are such that no order can lose anything, that interval is one number. NaN and infinities are told
 * by their class before any arithmetic. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "diff.h"
#include "explain_product.h"
#include "product.h"
#include "trial.h"

/* An output that is wrong. */
typedef struct miss {
    int64_t index;
    mx_bound bound; /* NULL formula: judged by a claimed model */
} miss;

typedef struct scan {
    const trial *t;
    const slot *s;
    const void *got;
    mx_dtype d;
    product q;
    int64_t wrong;
    int n_misses;
    miss misses[FINDING_ELEMENTS];
    mismatch_map map;
    mx_status status;
    mx_error error;
} scan;

static double value_at(const scan *s, const void *data, int64_t i)
{
    return mx_dtype_value(&s->d, mx_dtype_bits(&s->d, data, i));
}

static void keep(scan *s, int64_t index, const mx_bound *bound)
{
    if (!s->wrong++) mismatch_begin(&s->map, s->q.rows, s->q.cols);
    mismatch_add(&s->map, index / s->q.cols, index % s->q.cols);
    if (s->n_misses == FINDING_ELEMENTS) return;
    s->misses[s->n_misses++] = (miss){index, bound ? *bound : (mx_bound){.formula = NULL}};
}

/* Class first: a NaN belongs where the interval is NaN, or where opposite infinities may meet. */
static bool inside(double x, const mx_bound *b)
{
    bool open = isinf(b->low) && isinf(b->high) && b->low < b->high;
    if (isnan(b->low)) return isnan(x);
    if (isnan(x)) return open;
    return b->low <= x && x <= b->high;
}

static void scan_bounds(scan *s)
{
    for (int64_t r = 0; r < s->q.rows && !s->status; r++) {
        mx_product one;
        int64_t local;
        s->status = product_of_row(&s->q, r, &one, &local, &s->error);
        for (int64_t c = 0; c < s->q.cols && !s->status; c++) {
            mx_bound b;
            int64_t i = r * s->q.cols + c;
            s->status = mx_bound_product(&one, NULL, local, c, &b, NULL, &s->error);
            if (!s->status && !inside(value_at(s, s->got, i), &b)) keep(s, i, &b);
        }
    }
}

static void scan_bits(scan *s, const void *want)
{
    for (int64_t i = 0; i < s->q.rows * s->q.cols; i++)
        if (mx_diff_one(&s->d, mx_dtype_bits(&s->d, s->got, i), mx_dtype_bits(&s->d, want, i), false, NULL))
            keep(s, i, NULL);
}

/* ---- telling ----------------------------------------------------------------------------------------- */

static void describe(char *text, size_t size, const mx_dtype *d, uint64_t bits)
{
    snprintf(text, size, "%0*" PRIX64 " (%.9g)", 2 * d->bytes, bits, mx_dtype_value(d, bits));
}

static void tell_element(const scan *s, const miss *m, const void *want, finding *f)
{
    uint64_t got = mx_dtype_bits(&s->d, s->got, m->index), wanted = mx_dtype_bits(&s->d, want, m->index);
    wrong_element *w = &f->element[f->n_elements++];
    *w = (wrong_element){.row = m->index / s->q.cols, .col = m->index % s->q.cols, .block = -1};
    describe(w->got, sizeof w->got, &s->d, got);
    if (m->bound.formula && m->bound.low != m->bound.high && !isnan(m->bound.low))
        snprintf(w->want, sizeof w->want, "%.6g to %.6g", m->bound.low, m->bound.high);
    else
        describe(w->want, sizeof w->want, &s->d, wanted);
    if (!mx_diff_one(&s->d, got, wanted, false, &w->ulps)) w->ulps = 0;
}

static void tell(scan *s, const void *want, const char *by, finding *f)
{
    const miss *first = &s->misses[0];
    f->wrong = s->wrong;
    f->total = s->q.rows * s->q.cols;
    if (s->wrong > 1) f->map = s->map;
    snprintf(f->tensor, sizeof f->tensor, "%s", s->s->role);
    if (first->bound.formula)
        snprintf(f->text, sizeof f->text, "%lld of %lld outputs lie outside what is proved (%s: %s)",
                 (long long)f->wrong, (long long)f->total, first->bound.name, first->bound.formula);
    else
        snprintf(f->text, sizeof f->text, "%lld of %lld outputs have other bits than %s", (long long)f->wrong,
                 (long long)f->total, by);
    for (int i = 0; i < s->n_misses; i++)
        tell_element(s, &s->misses[i], want, f);
    if (s->t->explain) explain_product(s->t, &s->q, s->got, want, f);
}

/* ---- the check --------------------------------------------------------------------------------------- */

static const char *model_of(const job *j) { return *j->c->model ? j->c->model : j->offer->model; }
static const char *schedule_of(const job *j) { return *j->c->model ? j->c->schedule : j->offer->schedule; }

static bool begin(scan *s, const trial *t)
{
    const job *j = t->job;
    *s = (scan){.t = t, .s = &j->out[0], .got = t->canon[0]};
    if (j->n_out != 1 || !s->got || !s->s->canon || !mx_dtype_find(s->s->dtype, &s->d)) return false;
    s->status = product_make(&s->q, j->c, s->d.name, &s->error);
    if (s->status) return true;
    return (size_t)(s->q.rows * s->q.cols) * s->d.bytes == s->s->canon_bytes;
}

/* Can the claim be computed for these operands? One column tells. */
static bool can_compute(scan *s)
{
    product column = s->q;
    if (column.p.b.rows > 1) column.p.b.rows = 1;
    void *d = malloc(s->s->canon_bytes + 1);
    bool can = d && product_run(&column, d, &s->error) == MX_OK;
    free(d);
    return can;
}

/* Take the claim; false: none, or it cannot be computed, and then `error` says why. */
static bool take_claim(scan *s, char *by, size_t size)
{
    const char *model = model_of(s->t->job), *schedule = schedule_of(s->t->job);
    if (!*model || product_claim(&s->q, model, schedule, &s->error) != MX_OK) return false;
    snprintf(by, size, "model %s, schedule %s (%s) gives", model, *schedule ? schedule : "chain",
             mx_model_words(s->q.p.model));
    if (can_compute(s)) return true;
    s->q.p.model = NULL;
    return false;
}

/* What the claim gives. A case without outputs of its own got them of the claim when the job was made. */
static const void *claimed_outputs(scan *s, void **owned)
{
    *owned = NULL;
    if (!s->t->job->c->n_want) return s->s->canon;
    *owned = malloc(s->s->canon_bytes + 1);
    if (*owned) s->status = product_run(&s->q, *owned, &s->error);
    return *owned;
}

static judgement judge_product(const trial *t, finding *f)
{
    if (!product_is(t->job->c->operation)) return JUDGED_NOTHING;
    scan s;
    char by[200] = "";
    if (!begin(&s, t)) {
        snprintf(f->text, sizeof f->text, "could not be compared: no output of the expected size");
        product_free(&s.q);
        return JUDGED_FAILED;
    }
    void *owned = NULL;
    const void *want = s.status || !take_claim(&s, by, sizeof by) ? NULL : claimed_outputs(&s, &owned);
    if (want && !s.status)
        scan_bits(&s, want);
    else if (!s.status)
        scan_bounds(&s);
    if (s.status)
        snprintf(f->text, sizeof f->text, "not judged: %.200s", s.error.message);
    else if (s.wrong)
        tell(&s, want ? want : s.s->canon, by, f);
    free(owned);
    product_free(&s.q);
    if (s.status) return JUDGED_NOT_RUN;
    return s.wrong ? JUDGED_FAILED : JUDGED_PASSED;
}

/* A claim that cannot be computed is no claim: said once, so that nobody takes the bound for it. */
static judgement judge_claim(const trial *t, finding *f)
{
    if (!product_is(t->job->c->operation) || !*model_of(t->job)) return JUDGED_NOTHING;
    scan s;
    char by[200];
    bool known = begin(&s, t) && !s.status && take_claim(&s, by, sizeof by);
    product_free(&s.q);
    if (known) return JUDGED_PASSED;
    snprintf(f->text, sizeof f->text,
             "the claimed arithmetic cannot be emulated, so the bound judged: %.120s", s.error.message);
    return JUDGED_NOT_RUN;
}

const check check_product = {.name = "product",
                             .what = "bits of the claimed model, else inside a proved bound",
                             .needs_done = true,
                             .of_bits = true,
                             .judge = judge_product};
const check check_claim = {.name = "claim",
                           .what = "the claimed model and schedule can be emulated",
                           .needs_done = true,
                           .of_bits = true,
                           .judge = judge_claim};
