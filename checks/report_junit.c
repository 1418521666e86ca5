/* SPDX-License-Identifier: Apache-2.0
 * JUnit XML: a suite per subject, a test case per operation and case. */
#include <errno.h>
#include <string.h>

#include "trial.h"

/* XML 1.0 allows no control characters but tab, LF and CR; other bytes of a kernel's text become '?'. */
static void put(const char *s, FILE *out)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"},  {'<', "&lt;"},    {'>', "&gt;"},
                    {'"', "&quot;"}, {'\'', "&apos;"}, {'\n', "&#10;"}};
    for (; *s; s++) {
        size_t i = 0;
        while (i < sizeof entities / sizeof *entities && entities[i].c != *s)
            i++;
        if (i < sizeof entities / sizeof *entities)
            fputs(entities[i].entity, out);
        else
            fputc((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7E ? '?' : *s, out);
    }
}

static void attribute(const char *name, const char *value, FILE *out)
{
    fprintf(out, " %s=\"", name);
    put(value, out);
    fputc('"', out);
}

static void failure(const finding *f, FILE *out)
{
    fputs("<failure", out);
    attribute("type", f->check, out);
    attribute("message", f->text, out);
    fputc('>', out);
    if (*f->cause) {
        fputs("likely cause: ", out);
        put(f->cause, out);
        put("\n", out);
    }
    put(f->command, out);
    fputs("</failure>", out);
}

static void test_case(const subject_result *s, const case_row *c, FILE *out)
{
    fputs("  <testcase", out);
    attribute("classname", c->op, out);
    attribute("name", c->id, out);
    fprintf(out, " time=\"%.6f\">", c->seconds);
    if (c->verdict == JUDGED_FAILED && c->finding >= 0)
        failure(&s->findings[c->finding], out);
    else if (c->verdict == JUDGED_FAILED)
        fputs("<failure message=\"details not kept: run it alone, or with a larger --max-findings\"/>", out);
    if (c->verdict == JUDGED_NOT_RUN) {
        fputs("<skipped", out);
        attribute("message", c->reason >= 0 ? s->reasons[c->reason].text : "not run", out);
        fputs("/>", out);
    }
    fputs("</testcase>\n", out);
}

static void suite(const subject_result *s, FILE *out)
{
    result_totals t = subject_count(s);
    bool none = *s->cannot != 0;
    fputs(" <testsuite", out);
    attribute("name", s->name, out);
    fprintf(out, " tests=\"%zu\" failures=\"%lld\" skipped=\"%lld\" errors=\"0\" time=\"%.6f\">\n",
            s->n_rows + none, (long long)t.cases_failed, (long long)t.cases_not_run + none, s->seconds);
    if (none) {
        fputs("  <testcase classname=\"subject\" name=\"open\" time=\"0\"><skipped", out);
        attribute("message", s->cannot, out);
        fputs("/></testcase>\n", out);
    }
    for (size_t i = 0; i < s->n_rows; i++)
        test_case(s, &s->rows[i], out);
    fputs(" </testsuite>\n", out);
}

mx_status report_junit(const result *r, const char *path, mx_error *e)
{
    FILE *out = fopen(path, "w");
    if (!out) return mx_fail(e, MX_IO, path, "cannot be written: %s", strerror(errno));
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mxcheck kernel\">\n", out);
    for (size_t i = 0; i < r->n_subjects; i++)
        suite(&r->subjects[i], out);
    fputs("</testsuites>\n", out);
    bool bad = ferror(out);
    bad |= fclose(out) != 0;
    return bad ? mx_fail(e, MX_IO, path, "cannot be written: %s", strerror(errno)) : MX_OK;
}
