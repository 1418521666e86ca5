/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <stdlib.h>
#include <string.h>

#include "trial.h"

/* The array with room for one more element; NULL: out of memory, and it is as it was. */
static void *grown(void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room) return array;
    size_t more = *room ? *room * 2 : 16;
    void *p = realloc(array, more * size);
    if (p) *room = more;
    return p;
}

bool result_add_subject(result *r, const char *name)
{
    subject_result *s = realloc(r->subjects, (r->n_subjects + 1) * sizeof *s);
    if (!s) return false;
    r->subjects = s;
    s[r->n_subjects] = (subject_result){.counts = calloc(check_count_all, sizeof(check_count))};
    if (!s[r->n_subjects].counts) return false;
    snprintf(s[r->n_subjects].name, sizeof s->name, "%s", name);
    r->n_subjects++;
    return true;
}

subject_result *result_last(result *r) { return &r->subjects[r->n_subjects - 1]; }

bool result_add_row(subject_result *s, const case_row *row)
{
    case_row *p = grown(s->rows, s->n_rows, &s->room_rows, sizeof *p);
    if (!p) return false;
    s->rows = p;
    s->rows[s->n_rows++] = *row;
    return true;
}

/* One fault shows in many cases: of one check and operation only a few are kept, those with most wrong
 * elements, so that another fault is seen too and a cause has most evidence. */
enum { FINDINGS_ALIKE = 2, KEEP_BEFORE_SORTING = 8 };

/* How many findings are like f, and the slightest of them. */
static size_t alike(const subject_result *s, const finding *f, size_t *slightest)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_findings; i++)
        if (s->findings[i].check == f->check && !strcmp(s->findings[i].op, f->op))
            if (!n++ || s->findings[i].wrong < s->findings[*slightest].wrong) *slightest = i;
    return n;
}

static void replace(subject_result *s, size_t at, const finding *f, case_row *row)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].finding == (int)at) s->rows[i].finding = -1;
    if (row->finding == (int)at || row->finding < 0) row->finding = (int)at;
    s->findings[at] = *f;
}

static void count_causes(subject_result *s, const causes *c)
{
    for (int i = 0; i < c->n; i++) {
        size_t k = 0;
        while (k < s->n_causes && strcmp(s->causes[k].text, c->text[i]))
            k++;
        if (k == s->n_causes) {
            cause_count *p = grown(s->causes, k, &s->room_causes, sizeof *p);
            if (!p) return;
            s->causes = p;
            s->causes[s->n_causes++] = (cause_count){.findings = 0};
            snprintf(s->causes[k].text, sizeof s->causes[k].text, "%s", c->text[i]);
        }
        s->causes[k].findings++;
    }
}

void result_add_finding(result *r, subject_result *s, const finding *f, case_row *row)
{
    size_t at = 0;
    count_causes(s, &f->causes);
    if (alike(s, f, &at) >= FINDINGS_ALIKE) {
        s->dropped++;
        const finding *old = &s->findings[at];
        if (f->wrong > old->wrong && (f->causes.n || !old->causes.n)) replace(s, at, f, row);
        return;
    }
    bool full = s->n_findings >= KEEP_BEFORE_SORTING * r->max_findings;
    finding *p = full ? NULL : grown(s->findings, s->n_findings, &s->room_findings, sizeof *p);
    if (!p) {
        s->dropped++;
        return;
    }
    s->findings = p;
    if (row->finding < 0) row->finding = (int)s->n_findings;
    s->findings[s->n_findings++] = *f;
}

void result_not_run(subject_result *s, const char *reason, case_row *row)
{
    size_t i = 0;
    while (i < s->n_reasons && strncmp(s->reasons[i].text, reason, sizeof s->reasons[i].text - 1))
        i++;
    if (i == s->n_reasons) {
        not_run_reason *p = grown(s->reasons, i, &s->room_reasons, sizeof *p);
        if (!p) return;
        s->reasons = p;
        s->reasons[s->n_reasons++] = (not_run_reason){.cases = 0};
        snprintf(s->reasons[i].text, sizeof s->reasons[i].text, "%s", reason);
    }
    s->reasons[i].cases++;
    row->reason = (int)i;
}

/* Bits are told by how surely their cause is known; a wrong byte of padding often has the same one. */
static int tells_more(const void *a, const void *b)
{
    const finding *f = a, *g = b;
    bool bits_f = checks[f->rank]->of_bits, bits_g = checks[g->rank]->of_bits;
    if (bits_f != bits_g) return bits_f - bits_g;
    int sure_f = f->causes.n ? 2 : *f->cause != 0, sure_g = g->causes.n ? 2 : *g->cause != 0;
    if (bits_f && sure_f != sure_g) return sure_g - sure_f;
    if (f->rank != g->rank) return f->rank - g->rank;
    if (f->wrong != g->wrong) return f->wrong > g->wrong ? -1 : 1;
    return f->order - g->order;
}

/* Of the causes that fit one case, the one that fits most cases. */
static void choose_cause(const subject_result *s, finding *f)
{
    const cause_count *chosen = NULL;
    for (int i = 0; i < f->causes.n; i++)
        for (size_t k = 0; k < s->n_causes; k++)
            if (!strcmp(s->causes[k].text, f->causes.text[i]) &&
                (!chosen || s->causes[k].findings > chosen->findings))
                chosen = &s->causes[k];
    if (chosen)
        snprintf(f->cause, sizeof f->cause, "%s (fits every bit, in this and %lld more finding%s)%s%s",
                 chosen->text, (long long)chosen->findings - 1, chosen->findings == 2 ? "" : "s",
                 *f->aside ? "; " : "", f->aside);
}

void result_settle_findings(subject_result *s, size_t max)
{
    for (size_t i = 0; i < s->n_findings; i++)
        choose_cause(s, &s->findings[i]);
    int *now_at = malloc((s->n_findings + 1) * sizeof *now_at);
    if (!now_at) return; /* unsorted is as true */
    for (size_t i = 0; i < s->n_findings; i++)
        s->findings[i].order = (int)i;
    if (s->n_findings) qsort(s->findings, s->n_findings, sizeof *s->findings, tells_more);
    for (size_t i = 0; i < s->n_findings; i++)
        now_at[s->findings[i].order] = (int)i;
    for (size_t i = 0; i < s->n_rows; i++) {
        int *at = &s->rows[i].finding;
        if (*at >= 0) *at = (size_t)now_at[*at] < max ? now_at[*at] : -1;
    }
    free(now_at);
    if (s->n_findings <= max) return;
    s->dropped += s->n_findings - max;
    s->n_findings = max;
}

result_totals subject_count(const subject_result *s)
{
    result_totals t = {0};
    for (size_t i = 0; i < check_count_all; i++) {
        t.passed += s->counts[i].passed;
        t.failed += s->counts[i].failed;
        t.open += s->counts[i].open;
        t.not_run += s->counts[i].not_run;
    }
    for (size_t i = 0; i < s->n_rows; i++) {
        t.cases_passed += s->rows[i].verdict == JUDGED_PASSED;
        t.cases_failed += s->rows[i].verdict == JUDGED_FAILED;
        t.cases_not_run += s->rows[i].verdict == JUDGED_NOT_RUN;
    }
    bool judged = t.cases_passed + t.cases_failed > 0;
    t.subjects_failed = t.cases_failed > 0;
    t.subjects_not_run = !judged;
    t.subjects_passed = judged && !t.cases_failed;
    return t;
}

result_totals result_count(const result *r)
{
    result_totals all = {0};
    for (size_t i = 0; i < r->n_subjects; i++) {
        result_totals t = subject_count(&r->subjects[i]);
        all.passed += t.passed;
        all.failed += t.failed;
        all.open += t.open;
        all.not_run += t.not_run;
        all.cases_passed += t.cases_passed;
        all.cases_failed += t.cases_failed;
        all.cases_not_run += t.cases_not_run;
        all.subjects_passed += t.subjects_passed;
        all.subjects_failed += t.subjects_failed;
        all.subjects_not_run += t.subjects_not_run;
    }
    return all;
}

void result_verdict(const result *r, char *text, size_t size)
{
    result_totals t = result_count(r);
    const char *word = t.subjects_failed ? "FAILED" : t.subjects_passed ? "PASSED" : "NOT RUN";
    int n = snprintf(
        text, size, "%s: %zu of %zu kernels passed, %zu failed, %zu not run; %lld checks passed, %lld failed",
        word, t.subjects_passed, r->n_subjects, t.subjects_failed, t.subjects_not_run, (long long)t.passed,
        (long long)t.failed);
    if (n > 0 && (size_t)n < size && t.cases_not_run)
        n += snprintf(text + n, size - (size_t)n, "; %lld cases not run", (long long)t.cases_not_run);
    if (n > 0 && (size_t)n < size && t.open)
        n += snprintf(text + n, size - (size_t)n, "; %lld where the specification leaves the answer open",
                      (long long)t.open);
    if (n > 0 && (size_t)n < size && r->shards > 1)
        snprintf(text + n, size - (size_t)n, "; PART %d of %d", r->shard, r->shards);
}

void result_free(result *r)
{
    for (size_t i = 0; i < r->n_subjects; i++) {
        subject_result *s = &r->subjects[i];
        free(s->counts);
        free(s->rows);
        free(s->findings);
        free(s->reasons);
        free(s->causes);
    }
    free(r->subjects);
    *r = (result){.n_subjects = 0};
}
