/* SPDX-License-Identifier: Apache-2.0
 * The report for people: the verdict first, then a table of checks per subject, then the findings. */
#include <inttypes.h>
#include <string.h>

#include "trial.h"

static void print_element(const wrong_element *w, FILE *out)
{
    fprintf(out, "      [%" PRId64 ", %" PRId64 "]", w->row, w->col);
    if (w->block >= 0) fprintf(out, " block %" PRId64, w->block);
    if (*w->input) fprintf(out, "  input %s", w->input);
    fprintf(out, "  got %s  want %s", w->got, w->want);
    if (*w->scale_got) fprintf(out, "  scale got %s want %s", w->scale_got, w->scale_want);
    if (w->ulps != UINT64_MAX && w->ulps)
        fprintf(out, "  %" PRIu64 " ulp%s", w->ulps, w->ulps == 1 ? "" : "s");
    fputc('\n', out);
}

static void print_finding(const finding *f, FILE *out)
{
    fprintf(out, "\n  FAILED %s: %s\n      operation %s, case %s", f->check, f->text, f->op, f->case_id);
    if (*f->flags) fprintf(out, " (%s)", f->flags);
    if (*f->reason) fprintf(out, "\n      the case: %s", f->reason);
    fputc('\n', out);
    if (*f->cause) fprintf(out, "      likely cause: %s\n", f->cause);
    for (int i = 0; i < f->n_elements; i++)
        print_element(&f->element[i], out);
    if (f->map.height) mismatch_print(&f->map, out);
    fprintf(out, "      reproduce: %s\n", f->command);
}

static void print_counts(const subject_result *s, FILE *out)
{
    fprintf(out, "  %-12s %9s %9s %9s  %s\n", "check", "passed", "failed", "not run", "what passing means");
    for (size_t i = 0; i < check_count_all; i++) {
        const check_count *n = &s->counts[i];
        if (!n->passed && !n->failed && !n->not_run && !n->open) continue;
        fprintf(out, "  %-12s %9" PRId64 " %9" PRId64 " %9" PRId64 "  %s", checks[i]->name, n->passed,
                n->failed, n->not_run, checks[i]->what);
        if (n->open) fprintf(out, " (%" PRId64 " open)", n->open);
        fputc('\n', out);
    }
}

static const char *verdict_word(const result_totals *t)
{
    return t->subjects_failed ? "FAILED" : t->subjects_passed ? "passed" : "not run";
}

static void print_subject(const subject_result *s, FILE *out)
{
    result_totals t = subject_count(s);
    fprintf(out, "\n%s%s%s%s%s: ", s->name, *s->version ? " " : "", s->version, *s->device ? " on " : "",
            s->device);
    if (*s->cannot) {
        fprintf(out, "not run: %s\n", s->cannot);
        return;
    }
    fprintf(out, "%s; %" PRId64 " cases passed, %" PRId64 " failed, %" PRId64 " not run, in %.1f s\n",
            verdict_word(&t), t.cases_passed, t.cases_failed, t.cases_not_run, s->seconds);
    if (t.cases_passed + t.cases_failed)
        print_counts(s, out);
    else if (!s->n_reasons)
        fprintf(out, "  no case matches any of its %d operations\n", s->n_ops);
    if (s->untaken && t.cases_passed + t.cases_failed)
        fprintf(out, "  %zu cases are of operations, recipes or formats that it does not offer\n",
                s->untaken);
    for (size_t i = 0; i < s->n_reasons; i++)
        fprintf(out, "  not run: %s (%" PRId64 " case%s)\n", s->reasons[i].text, s->reasons[i].cases,
                s->reasons[i].cases == 1 ? "" : "s");
    for (size_t i = 0; i < s->n_findings; i++)
        print_finding(&s->findings[i], out);
    if (s->dropped) fprintf(out, "\n  and %zu more findings; --max-findings N shows more\n", s->dropped);
}

void report_text(const result *r, FILE *out)
{
    char verdict[400];
    result_verdict(r, verdict, sizeof verdict);
    fprintf(out, "%s (%zu cases of %s, %.1f s)\n", verdict, r->n_cases, r->vectors, r->seconds);
    for (size_t i = 0; i < r->n_subjects; i++)
        print_subject(&r->subjects[i], out);
}

/* A workflow command's message: %, CR and LF are escaped. */
static void print_escaped(const char *text, FILE *out)
{
    for (; *text; text++)
        if (*text == '%' || *text == '\n' || *text == '\r')
            fprintf(out, "%%%02X", (unsigned)*text);
        else
            fputc(*text, out);
}

void report_github(const result *r, FILE *out)
{
    char verdict[400];
    result_verdict(r, verdict, sizeof verdict);
    result_totals t = result_count(r);
    fprintf(out, "::%s title=mxcheck kernel::",
            t.subjects_failed   ? "error"
            : t.subjects_passed ? "notice"
                                : "warning");
    print_escaped(verdict, out);
    fputc('\n', out);
    for (size_t i = 0; i < r->n_subjects; i++)
        for (size_t k = 0; k < r->subjects[i].n_findings; k++) {
            const finding *f = &r->subjects[i].findings[k];
            fprintf(out, "::error title=mxcheck %s %s::", f->check, f->op);
            print_escaped(f->text, out);
            print_escaped(*f->cause ? "; likely cause: " : "", out);
            print_escaped(f->cause, out);
            print_escaped("; reproduce: ", out);
            print_escaped(f->command, out);
            fputc('\n', out);
        }
}
