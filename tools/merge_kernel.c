/* SPDX-License-Identifier: Apache-2.0 */
#include "merge_kernel.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "html.h"

static json_int_t integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void add(json_t *to, const json_t *from, const char *key)
{
    const json_t *v = json_object_get(from, key);
    if (json_is_real(v))
        json_object_set_new(to, key, json_real(html_number(to, key) + json_real_value(v)));
    else
        json_object_set_new(to, key, json_integer(integer(to, key) + json_integer_value(v)));
}

static const char *const counters[] = {"passed", "failed", "open", "not_run"};

static void add_counters(json_t *to, const json_t *from)
{
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        add(to, from, counters[i]);
}

/* Rows name their finding by its index, which moves by those that are there already. */
static void append_cases(json_t *to, const json_t *from, json_int_t findings_before)
{
    const json_t *row;
    size_t i;
    json_array_foreach(from, i, row)
    {
        json_t *copy = json_deep_copy(row);
        const json_t *finding = json_object_get(copy, "finding");
        if (json_is_integer(finding))
            json_object_set_new(copy, "finding", json_integer(json_integer_value(finding) + findings_before));
        json_array_append_new(to, copy);
    }
}

static bool worse(const char *a, const char *b)
{
    static const char *const order[] = {"not run", "passed", "failed"};
    int rank[2] = {0, 0};
    for (int i = 0; i < 3; i++) {
        if (!strcmp(a, order[i])) rank[0] = i;
        if (!strcmp(b, order[i])) rank[1] = i;
    }
    return rank[0] > rank[1];
}

static void merge_subject(json_t *to, const json_t *from)
{
    const json_t *check;
    size_t i;
    json_t *findings = json_object_get(to, "findings");
    json_int_t before = (json_int_t)json_array_size(findings);
    json_array_foreach(json_object_get(from, "checks"), i, check)
    {
        add_counters(json_array_get(json_object_get(to, "checks"), i), check);
    }
    json_array_extend(findings, json_object_get(from, "findings"));
    json_array_extend(json_object_get(to, "not_run"), json_object_get(from, "not_run"));
    append_cases(json_object_get(to, "cases"), json_object_get(from, "cases"), before);
    add(to, from, "seconds");
    add(to, from, "findings_dropped");
    if (worse(html_string(from, "verdict"), html_string(to, "verdict")))
        json_object_set(to, "verdict", json_object_get(from, "verdict"));
}

mx_status merge_kernel(json_t *whole, const json_t *other, const char *place, mx_error *e)
{
    json_t *have = json_object_get(whole, "have"), *subjects = json_object_get(whole, "subjects");
    const json_t *others = json_object_get(other, "subjects"), *part, *mine;
    size_t i, k;
    if (integer(whole, "shards") != integer(other, "shards") ||
        json_array_size(subjects) != json_array_size(others) ||
        strcmp(html_string(whole, "vectors"), html_string(other, "vectors")))
        return mx_fail(e, MX_BAD_INPUT, place, "a part of another run");
    json_array_foreach(json_object_get(other, "have"), i, part)
    {
        json_array_foreach(have, k, mine)
        {
            if (json_equal(part, mine))
                return mx_fail(e, MX_BAD_INPUT, place, "part %lld is there already",
                               (long long)json_integer_value(part));
        }
    }
    json_array_foreach(others, i, part)
    {
        json_t *to = json_array_get(subjects, i);
        if (strcmp(html_string(to, "name"), html_string(part, "name")))
            return mx_fail(e, MX_BAD_INPUT, place, "judges '%.60s', not '%.60s'", html_string(part, "name"),
                           html_string(to, "name"));
        merge_subject(to, part);
    }
    json_array_extend(have, json_object_get(other, "have"));
    add(whole, other, "cases");
    add(whole, other, "seconds");
    add_counters(json_object_get(whole, "checks"), json_object_get(other, "checks"));
    return MX_OK;
}

mx_status merge_kernel_finish(json_t *whole, const char *place, int *exit_status, mx_error *e)
{
    long long shards = integer(whole, "shards");
    size_t parts = json_array_size(json_object_get(whole, "have")), n[3] = {0, 0, 0}, i;
    const json_t *s, *checks = json_object_get(whole, "checks");
    if (shards < 1 || parts != (size_t)shards)
        return mx_fail(e, MX_BAD_INPUT, place, "%zu of %lld parts are there", parts, shards);
    json_array_foreach(json_object_get(whole, "subjects"), i, s)
    {
        const char *verdict = html_string(s, "verdict");
        n[!strcmp(verdict, "failed") ? 1 : !strcmp(verdict, "passed") ? 0 : 2]++;
    }
    char text[256];
    snprintf(text, sizeof text,
             "%s: %zu of %zu kernels passed, %zu failed, %zu not run; %lld checks passed, %lld failed (%lld "
             "parts)",
             n[1]   ? "FAILED"
             : n[0] ? "PASSED"
                    : "NOT RUN",
             n[0], i, n[1], n[2], (long long)integer(checks, "passed"), (long long)integer(checks, "failed"),
             shards);
    json_object_set_new(whole, "verdict", json_string(text));
    json_object_set_new(whole, "shards", json_integer(1));
    json_object_set_new(whole, "have", json_pack("[i]", 0));
    *exit_status = n[1] ? EXIT_FINDINGS : n[0] ? EXIT_PASSED : EXIT_CANNOT_RUN;
    return MX_OK;
}
