/* SPDX-License-Identifier: Apache-2.0
 * The report writers: JSON is parsed back, JUnit is read by a small XML checker, text is searched. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"
#include "trial.h"

/* A result with one of everything, and text that every format must escape. */
static result sample(void)
{
    result r = {.n_cases = 3, .max_findings = 1, .vectors = "vectors/\"quoted\"", .seconds = 1.5};
    ck_assert(result_add_subject(&r, "kernel <&> \"one\" \x01\xFF"));
    subject_result *s = result_last(&r);
    snprintf(s->name, sizeof s->name, "kernel <&> \"one\" \x01\xFF");
    case_row bad = {
        .op = "op", .id = "case/bad", .verdict = JUDGED_FAILED, .finding = -1, .reason = -1, .checked = 2};
    case_row good = {
        .op = "op", .id = "case/good", .verdict = JUDGED_PASSED, .finding = -1, .reason = -1, .checked = 2};
    case_row none = {.op = "op", .id = "case/none", .verdict = JUDGED_NOT_RUN, .finding = -1, .reason = -1};
    finding f = {.check = "codes", .wrong = 1, .total = 32, .n_elements = 1};
    snprintf(f.text, sizeof f.text, "1 of 32 elements differ\n<tag> & 100%%");
    snprintf(f.cause, sizeof f.cause, "ties away");
    snprintf(f.command, sizeof f.command, "mxcheck kernel --only case/bad");
    f.element[0] = (wrong_element){
        .row = 1, .col = 2, .block = 0, .ulps = 1, .input = "3F880000 (1.0625)", .got = "39", .want = "38"};
    result_add_finding(&r, s, &f, &bad);
    result_add_finding(&r, s, &f, &bad); /* one more than is kept */
    result_settle_findings(s, r.max_findings);
    result_not_run(s, "refused: too odd", &none);
    s->counts[0] = (check_count){.passed = 2, .not_run = 1};
    s->counts[1] = (check_count){.passed = 1, .failed = 1};
    ck_assert(result_add_row(s, &bad) && result_add_row(s, &good) && result_add_row(s, &none));
    ck_assert(result_add_subject(&r, "gpu"));
    snprintf(result_last(&r)->cannot, sizeof result_last(&r)->cannot, "no CUDA device");
    return r;
}

static char *temporary(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/mxcheck-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    return path;
}

START_TEST(totals_and_verdict)
{
    result r = sample();
    result_totals t = result_count(&r);
    ck_assert_int_eq(t.passed, 3);
    ck_assert_int_eq(t.failed, 1);
    ck_assert_int_eq(t.cases_not_run, 1);
    ck_assert_uint_eq(t.subjects_failed, 1);
    ck_assert_uint_eq(t.subjects_not_run, 1);
    ck_assert_uint_eq(r.subjects[0].dropped, 1);
    char text[400];
    result_verdict(&r, text, sizeof text);
    ck_assert_str_eq(
        text,
        "FAILED: 0 of 2 kernels passed, 1 failed, 1 not run; 3 checks passed, 1 failed; 1 cases not run");
    result_free(&r);
}
END_TEST

START_TEST(nothing_run_is_no_pass)
{
    result r = {.n_cases = 1};
    ck_assert(result_add_subject(&r, "gpu"));
    char text[400];
    result_verdict(&r, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "NOT RUN"));
    result_free(&r);
}
END_TEST

START_TEST(json_parses_back)
{
    result r = sample();
    char *path = temporary();
    mx_error e = {0};
    ck_assert_int_eq(report_json(&r, path, &e), MX_OK);
    json_error_t why;
    json_t *j = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(j != NULL, "%s at line %d", why.text, why.line);
    json_t *s = json_array_get(json_object_get(j, "subjects"), 0),
           *f = json_array_get(json_object_get(s, "findings"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(s, "verdict")), "failed");
    ck_assert_str_eq(json_string_value(json_object_get(f, "cause")), "ties away");
    ck_assert_int_eq(json_integer_value(json_object_get(f, "wrong")), 1);
    json_t *w = json_array_get(json_object_get(f, "elements"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(w, "col")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(s, "cases")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(j, "checks"), "failed")), 1);
    json_decref(j);
    unlink(path);
    ck_assert_int_eq(report_json(&r, "/nonexistent/report.json", &e), MX_IO);
    result_free(&r);
}
END_TEST

/* Tags balance, attributes are quoted, no bare '&' or '<' and no control characters. */
static bool well_formed(const char *xml)
{
    char stack[16][32];
    int depth = 0;
    for (const char *p = xml; *p; p++) {
        if ((unsigned char)*p < 0x20 && *p != '\n') return false;
        if (*p == '&' && strspn(p + 1, "#0123456789abcdefghijklmnopqrstuvwxyz") + 1 != strcspn(p, ";"))
            return false;
        if (*p != '<') continue;
        bool closing = p[1] == '/', quoted = false;
        const char *name = p + 1 + closing, *end = p;
        while (*++end && (quoted || *end != '>'))
            if (*end == '"') quoted = !quoted;
        if (!*end || quoted) return false;
        size_t n = strcspn(name, " >/");
        if (*name == '?') {
        } else if (closing) {
            if (depth < 1 || strncmp(stack[--depth], name, n) || stack[depth][n]) return false;
        } else if (end[-1] != '/') {
            if (depth == 16 || n > 31) return false;
            snprintf(stack[depth++], 32, "%.*s", (int)n, name);
        }
        p = end;
    }
    return depth == 0;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    char *text = calloc(1, 65536);
    ck_assert_uint_gt(fread(text, 1, 65535, f), 0);
    fclose(f);
    return text;
}

START_TEST(junit_is_well_formed)
{
    result r = sample();
    char *path = temporary();
    mx_error e = {0};
    ck_assert_int_eq(report_junit(&r, path, &e), MX_OK);
    char *xml = read_file(path);
    ck_assert_msg(well_formed(xml), "%s", xml);
    ck_assert_ptr_nonnull(strstr(xml, "tests=\"3\" failures=\"1\" skipped=\"1\""));
    ck_assert_ptr_nonnull(strstr(xml, "message=\"1 of 32 elements differ&#10;&lt;tag&gt; &amp; 100%\""));
    ck_assert_ptr_nonnull(strstr(xml, "<skipped message=\"no CUDA device\"/>"));
    free(xml);
    unlink(path);
    ck_assert_int_eq(report_junit(&r, "/nonexistent/report.xml", &e), MX_IO);
    result_free(&r);
}
END_TEST

START_TEST(the_xml_checker_can_fail)
{
    ck_assert(!well_formed("<a><b></a>"));
    ck_assert(!well_formed("<a x=\"1>"));
    ck_assert(!well_formed("<a>&</a>"));
    ck_assert(well_formed("<a x=\"1>2\">&amp;<b/></a>"));
}
END_TEST

START_TEST(text_starts_with_the_verdict)
{
    result r = sample();
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    report_text(&r, f);
    report_github(&r, f);
    fclose(f);
    ck_assert_int_eq(strncmp(text, "FAILED: 0 of 2 kernels passed", 29), 0);
    ck_assert_ptr_nonnull(strstr(text, "likely cause: ties away"));
    ck_assert_ptr_nonnull(strstr(text, "[1, 2] block 0  input 3F880000 (1.0625)  got 39  want 38  1 ulp"));
    ck_assert_ptr_nonnull(strstr(text, "reproduce: mxcheck kernel --only case/bad"));
    ck_assert_ptr_nonnull(strstr(text, "not run: refused: too odd (1 case)"));
    ck_assert_ptr_nonnull(strstr(text, "gpu: not run: no CUDA device"));
    ck_assert_ptr_nonnull(strstr(text, "%0A<tag> & 100%25")); /* GitHub's escapes */
    free(text);
    result_free(&r);
}
END_TEST

/* 100 x 65 elements: tiles of 4 x 2, the last row and column of tiles short. */
START_TEST(map_of_wrong_elements)
{
    mismatch_map m;
    mismatch_begin(&m, 100, 65);
    ck_assert_int_eq(m.tile_rows, 4);
    ck_assert_int_eq(m.tile_cols, 2);
    ck_assert_int_eq(m.rows, 25);
    ck_assert_int_eq(m.cols, 33);
    for (int r = 96; r < 100; r++)
        mismatch_add(&m, r, 64); /* the corner tile holds 4 x 1 elements: all wrong */
    mismatch_add(&m, 5, 3);
    mismatch_add(&m, 100, 0); /* outside */
    ck_assert_uint_eq(m.wrong[25 * 33 - 1], 4);
    ck_assert_uint_eq(m.wrong[33 + 1], 1);
    char text[4096] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(f);
    mismatch_print(&m, f);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "        0 ................................."));
    ck_assert_ptr_nonnull(strstr(text, "        4 .:..............................."));
    ck_assert_ptr_nonnull(strstr(text, "       96 ................................#\n"));
    mismatch_begin(&m, 0, 5);
    ck_assert_int_eq(m.height, 0);
    mismatch_begin(&m, 1, INT64_MAX);
    ck_assert_int_le(m.cols, MISMATCH_COLS);
    mismatch_add(&m, 0, INT64_MAX - 1);
    ck_assert_uint_eq(m.wrong[m.cols - 1], 1);
}
END_TEST

Suite *test_report(void)
{
    Suite *s = suite_create("report");
    TCase *t = tcase_create("writers");
    tcase_add_test(t, totals_and_verdict);
    tcase_add_test(t, nothing_run_is_no_pass);
    tcase_add_test(t, json_parses_back);
    tcase_add_test(t, junit_is_well_formed);
    tcase_add_test(t, the_xml_checker_can_fail);
    tcase_add_test(t, text_starts_with_the_verdict);
    tcase_add_test(t, map_of_wrong_elements);
    suite_add_tcase(s, t);
    return s;
}
