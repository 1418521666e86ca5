/* SPDX-License-Identifier: Apache-2.0
 * The JSON report: everything that the result holds, stable keys. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "trial.h"

/* Text that a kernel gave may be any bytes; JSON takes UTF-8 only. */
static json_t *text(const char *s)
{
    json_t *j = json_string(s);
    if (j) return j;
    char clean[1024];
    size_t n = 0;
    for (; s[n] && n + 1 < sizeof clean; n++)
        clean[n] = s[n];
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)clean[i] >= 0x80) clean[i] = '?';
    return json_stringn(clean, n);
}

static const char *const judgement_names[] = {"passed", "failed", "open", "not run", "nothing"};

static json_t *element_json(const wrong_element *w)
{
    json_t *j = json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "row", (json_int_t)w->row, "col",
                          (json_int_t)w->col, "block", (json_int_t)w->block, "input", text(w->input), "got",
                          text(w->got), "want", text(w->want), "scale_got", text(w->scale_got), "scale_want",
                          text(w->scale_want));
    json_object_set_new(j, "ulps", w->ulps == UINT64_MAX ? json_null() : json_integer((json_int_t)w->ulps));
    return j;
}

static json_t *map_json(const mismatch_map *m)
{
    json_t *wrong = json_array();
    for (int i = 0; i < m->rows * m->cols; i++)
        json_array_append_new(wrong, json_integer(m->wrong[i]));
    return json_pack("{s:I, s:I, s:I, s:i, s:i, s:o}", "first_row", (json_int_t)m->first_row, "tile_rows",
                     (json_int_t)m->tile_rows, "tile_cols", (json_int_t)m->tile_cols, "rows", m->rows, "cols",
                     m->cols, "wrong", wrong);
}

static json_t *finding_json(const finding *f)
{
    json_t *elements = json_array();
    for (int i = 0; i < f->n_elements; i++)
        json_array_append_new(elements, element_json(&f->element[i]));
    json_t *j = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "check",
                          text(f->check), "operation", text(f->op), "case", text(f->case_id), "recipe",
                          text(f->recipe), "tensor", text(f->tensor), "flags", text(f->flags), "reason",
                          text(f->reason), "text", text(f->text), "cause", text(f->cause), "command",
                          text(f->command), "wrong", (json_int_t)f->wrong, "total", (json_int_t)f->total,
                          "elements", elements);
    if (f->map.height) json_object_set_new(j, "map", map_json(&f->map));
    return j;
}

static json_t *row_json(const subject_result *s, const case_row *c)
{
    json_t *j =
        json_pack("{s:o, s:o, s:s, s:I, s:f}", "operation", text(c->op), "case", text(c->id), "verdict",
                  judgement_names[c->verdict], "checks", (json_int_t)c->checked, "seconds", c->seconds);
    if (c->finding >= 0) json_object_set_new(j, "finding", json_integer(c->finding));
    if (c->reason >= 0) json_object_set_new(j, "reason", text(s->reasons[c->reason].text));
    return j;
}

static json_t *subject_json(const subject_result *s)
{
    json_t *counts = json_array(), *findings = json_array(), *cases = json_array(), *reasons = json_array();
    for (size_t i = 0; i < check_count_all; i++)
        json_array_append_new(
            counts,
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "check", checks[i]->name, "what", checks[i]->what,
                      "passed", (json_int_t)s->counts[i].passed, "failed", (json_int_t)s->counts[i].failed,
                      "open", (json_int_t)s->counts[i].open, "not_run", (json_int_t)s->counts[i].not_run));
    for (size_t i = 0; i < s->n_findings; i++)
        json_array_append_new(findings, finding_json(&s->findings[i]));
    for (size_t i = 0; i < s->n_rows; i++)
        json_array_append_new(cases, row_json(s, &s->rows[i]));
    for (size_t i = 0; i < s->n_reasons; i++)
        json_array_append_new(reasons, json_pack("{s:o, s:I}", "reason", text(s->reasons[i].text), "cases",
                                                 (json_int_t)s->reasons[i].cases));
    result_totals t = subject_count(s);
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:f, s:I, s:o, s:o, s:o, s:o}", "name", text(s->name),
                     "version", text(s->version), "device", text(s->device), "cannot_run", text(s->cannot),
                     "verdict",
                     t.subjects_failed   ? "failed"
                     : t.subjects_passed ? "passed"
                                         : "not run",
                     "seconds", s->seconds, "findings_dropped", (json_int_t)s->dropped, "checks", counts,
                     "findings", findings, "not_run", reasons, "cases", cases);
}

mx_status report_json(const result *r, const char *path, mx_error *e)
{
    char verdict[400];
    result_verdict(r, verdict, sizeof verdict);
    result_totals t = result_count(r);
    json_t *subjects = json_array();
    for (size_t i = 0; i < r->n_subjects; i++)
        json_array_append_new(subjects, subject_json(&r->subjects[i]));
    json_t *root = json_pack("{s:s, s:i, s:s, s:o, s:o, s:I, s:{s:I, s:I, s:I, s:I}, s:f, s:o}", "mxcheck",
                             "kernel", "schema", 1, "version", MX_VERSION, "verdict", text(verdict),
                             "vectors", text(r->vectors), "cases", (json_int_t)r->n_cases, "checks", "passed",
                             (json_int_t)t.passed, "failed", (json_int_t)t.failed, "open", (json_int_t)t.open,
                             "not_run", (json_int_t)t.not_run, "seconds", r->seconds, "subjects", subjects);
    if (!root) return mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    json_object_set_new(root, "shards", json_integer(r->shards > 1 ? r->shards : 1));
    json_object_set_new(root, "have", json_pack("[i]", r->shard));
    int failed = json_dump_file(root, path, JSON_INDENT(1));
    json_decref(root);
    return failed ? mx_fail(e, MX_IO, path, "cannot be written: %s", strerror(errno)) : MX_OK;
}
