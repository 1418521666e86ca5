/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include "bands.h"

#include "recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digest.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool has_flag(const char *flags, const char *flag)
{
    size_t n = strlen(flag);
    for (const char *p = flags; (p = strstr(p, flag)); p += n)
        if ((p == flags || p[-1] == ',') && (p[n] == ',' || p[n] == 0)) return true;
    return false;
}

bool judge_wants(const judge_options *o, const mx_case *c, size_t index)
{
    if (o->shards > 1 && (int)(index % (size_t)o->shards) != o->shard) return false;
    return !o->only || !strcmp(o->only, c->id) || !strcmp(o->only, c->operation) ||
           !strcmp(o->only, c->recipe) || has_flag(c->flags, o->only);
}

/* ---- runs ------------------------------------------------------------------------------------------- */

/* Where a layout leaves padding open, half a byte may be element and half pad: compare elements. */
static bool elements_differ(const slot *s, const unsigned char *p, const unsigned char *q, size_t *at)
{
    unsigned char *a = malloc(s->canon_bytes + 1), *b = malloc(s->canon_bytes + 1);
    bool differ = !a || !b;
    if (!differ) {
        mx_layout_unpack(s->layout, &s->grid, p, a, NULL);
        mx_layout_unpack(s->layout, &s->grid, q, b, NULL);
        differ = memcmp(a, b, s->canon_bytes);
        for (*at = 0; differ && a[*at] == b[*at];)
            ++*at;
    }
    free(a);
    free(b);
    return differ;
}

/* First byte of output `out` that differs between two runs. A byte that holds the poison of its run in both
 * was not written, which the check "written" tells. */
static bool differs(const trial *t, int a, int b, int out, size_t *at)
{
    const slot *s = &t->job->out[out];
    const unsigned char *p = t->run[a].out[out], *q = t->run[b].out[out];
    size_t n = s->bytes;
    if (!memcmp(p, q, n)) return false;
    if (s->layout && s->layout->pad < 0) return elements_differ(s, p, q, at);
    for (*at = 0; *at < n; ++*at)
        if (p[*at] != q[*at] && !(p[*at] == variants[a % 3].poison && q[*at] == variants[b % 3].poison))
            return true;
    return false;
}

/* Runs of unlike variants differ: is it the kernel's mood, or what lay in the pads? Repeat the first two
 * as they were. */
static bool repeats_differ(const trial *t, subject *s)
{
    bool differ = false;
    for (int again = 0; again < 4 && !differ; again++) {
        outcome o;
        s->run(s, t->job, &variants[again % 2], &o);
        differ = o.state != RUN_DONE;
        for (int i = 0; i < t->job->n_out && !differ; i++)
            differ = memcmp(o.out[i], t->run[again % 2].out[i], t->job->out[i].bytes);
        outcome_free(&o, t->job);
    }
    return differ;
}

static void compare_runs(trial *t, subject *s)
{
    for (int k = 1; k < t->n_runs && !t->runs_differ; k++)
        for (int i = 0; i < t->job->n_out && !t->runs_differ; i++)
            if (differs(t, 0, k, i, &t->differ_at)) {
                t->runs_differ = true;
                t->differ_out = i;
            }
    if (t->runs_differ) t->repeats_differ = repeats_differ(t, s);
}

/* Outputs of a run on the canonical grid; NULL where memory ran out. */
static void bring_home(const job *j, const outcome *o, unsigned char *canon[JOB_MAX_SLOTS])
{
    for (int i = 0; i < j->n_out; i++) {
        const slot *s = &j->out[i];
        canon[i] = malloc(s->canon_bytes + s->bytes + 1);
        if (!canon[i]) continue;
        if (s->layout)
            mx_layout_unpack(s->layout, &s->grid, o->out[i], canon[i], NULL);
        else
            memcpy(canon[i], o->out[i], s->bytes);
    }
}

/* The runs; false where one did not end well. */
static bool run_all(trial *t, subject *s, int repeat)
{
    while (t->n_runs < repeat) {
        outcome *o = &t->run[t->n_runs];
        s->run(s, t->job, &variants[t->n_runs % 3], o);
        t->n_runs++;
        if (o->state != RUN_DONE) return false;
    }
    return true;
}

bool trial_is_random(const trial *t)
{
    const mx_recipe *r = mx_recipe_find(t->job->c->recipe);
    return r && r->cast.rounding == MX_STOCHASTIC && t->job->c->verdict != MX_VERDICT_EXACT;
}

/* Seeds that follow each other: a generator that only adds them to an index repeats itself. */
static void run_seeds(trial *t, subject *s)
{
    if (!trial_is_random(t)) return;
    mx_case c = *t->job->c;
    job j = *t->job;
    j.c = &c;
    t->seed[0] = c.seed;
    bring_home(&j, &t->run[0], t->drawn[0]);
    /* A subject without buffers of ours answers cases, not seeds. */
    for (t->n_seeds = 1; t->n_seeds < NOISE_SEEDS && !s->batch; t->n_seeds++) {
        outcome o;
        c.seed = t->seed[t->n_seeds] = t->job->c->seed + (uint64_t)t->n_seeds;
        s->run(s, &j, &variants[0], &o);
        bool done = o.state == RUN_DONE;
        if (done) bring_home(&j, &o, t->drawn[t->n_seeds]);
        if (!done) snprintf(t->seed_message, sizeof t->seed_message, "%.200s", o.message);
        outcome_free(&o, &j);
        if (!done) return;
    }
}

static void trial_free(trial *t)
{
    for (int k = 0; k < NOISE_SEEDS; k++)
        for (int i = 0; i < t->job->n_out; i++)
            free(t->drawn[k][i]);
    for (int i = 0; i < t->n_runs; i++)
        outcome_free(&t->run[i], t->job);
    for (int i = 0; i < t->job->n_out; i++)
        free(t->canon[i]);
}

/* ---- checks ----------------------------------------------------------------------------------------- */

#define COPY_TEXT(field, text) snprintf(field, sizeof(field), "%s", text)

static void head(finding *f, const check *k, const trial *t, const judge_options *o)
{
    const mx_case *c = t->job->c;
    *f = (finding){.wrong = 0};
    f->check = k->name;
    COPY_TEXT(f->op, t->job->offer->name);
    COPY_TEXT(f->case_id, c->id);
    COPY_TEXT(f->recipe, c->recipe);
    COPY_TEXT(f->flags, c->flags);
    COPY_TEXT(f->reason, c->reason);
    snprintf(f->command, sizeof f->command, "mxcheck kernel --vectors %s%s%s --only %s", o->vectors,
             *o->argument ? " " : "", o->argument, c->id);
}

static void count(check_count *n, judgement j)
{
    n->passed += j == JUDGED_PASSED;
    n->failed += j == JUDGED_FAILED;
    n->open += j == JUDGED_OPEN;
    n->not_run += j == JUDGED_NOT_RUN;
}

static void apply_checks(result *r, subject_result *to, const trial *t, bool done, const judge_options *o,
                         case_row *row)
{
    for (size_t i = 0; i < check_count_all; i++) {
        const check *k = checks[i];
        finding f;
        head(&f, k, t, o);
        f.rank = (int)i;
        judgement j = JUDGED_NOTHING;
        if (!(k->needs_buffers && t->subject->batch) && (done || !k->needs_done)) j = k->judge(t, &f);
        count(&to->counts[i], j);
        row->checked += j == JUDGED_PASSED || j == JUDGED_FAILED;
        if (j == JUDGED_NOT_RUN) result_not_run(to, f.text, row);
        if (j == JUDGED_FAILED || j == JUDGED_OPEN) {
            result_add_finding(r, to, &f, row);
            if (j == JUDGED_FAILED) row->verdict = JUDGED_FAILED;
        }
    }
}

/* Findings of one kernel that are searched for causes. */
enum { EXPLAINED = 300 };

void judge_stored(result *r, subject_result *to, subject *s, int op, const mx_case *c, const judge_options *o,
                  case_row *row)
{
    job j;
    mx_error e = {0};
    if (job_make(&j, &s->offers[op], op, c, &e) != MX_OK) {
        char why[240];
        snprintf(why, sizeof why, "%.120s (%.100s)", e.message, e.place);
        row->verdict = JUDGED_NOT_RUN;
        result_not_run(to, why, row);
    } else {
        trial t = {.subject = s, .job = &j, .explain = to->n_findings + to->dropped < EXPLAINED};
        bool done = run_all(&t, s, o->repeat);
        if (done) {
            compare_runs(&t, s);
            bring_home(&j, &t.run[0], t.canon);
            run_seeds(&t, s);
        }
        apply_checks(r, to, &t, done, o, row);
        if (row->verdict == JUDGED_PASSED && !done) row->verdict = JUDGED_NOT_RUN;
        if (o->record && row->verdict == JUDGED_PASSED) digest_record(&t, o->record);
        trial_free(&t);
    }
    job_free(&j);
}

void judge_case(result *r, subject_result *to, subject *s, int op, const mx_case *c, const judge_options *o)
{
    double start = now();
    case_row row = {.id = c->id, .verdict = JUDGED_PASSED, .finding = -1, .reason = -1};
    COPY_TEXT(row.op, s->offers[op].name);
    if (*c->make_digest)
        judge_made(r, to, s, op, c, o, &row);
    else
        judge_stored(r, to, s, op, c, o, &row);
    row.seconds = now() - start;
    result_add_row(to, &row);
}

void judge_subject(result *r, subject *s, const mx_case *const *cases, size_t n, const judge_options *o)
{
    subject_result *to = result_last(r);
    double start = now();
    COPY_TEXT(to->name, s->name);
    COPY_TEXT(to->version, s->version);
    COPY_TEXT(to->device, s->device);
    COPY_TEXT(to->cannot, s->cannot);
    COPY_TEXT(to->argument, o->argument);
    to->status = s->status;
    to->n_ops = s->n_offers;
    for (size_t i = 0; i < n && !*s->cannot; i++) {
        bool taken = false;
        for (int op = 0; op < s->n_offers; op++) {
            const char *why;
            if (offer_takes(&s->offers[op], cases[i], &why)) {
                judge_case(r, to, s, op, cases[i], o);
                taken = true;
            } else if (why) {
                case_row row = {.id = cases[i]->id, .verdict = JUDGED_NOT_RUN, .finding = -1, .reason = -1};
                COPY_TEXT(row.op, s->offers[op].name);
                result_not_run(to, why, &row);
                result_add_row(to, &row);
                taken = true;
            }
        }
        to->untaken += !taken;
        if (o->progress) o->progress(o->context, i + 1, n);
    }
    result_settle_findings(to, r->max_findings);
    to->seconds = now() - start;
}
