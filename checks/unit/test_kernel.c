/* SPDX-License-Identifier: Apache-2.0
 * Running hostile kernels: the mutants of checks/mutants, one planted fault each, judged on small cases. */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data.h"
#include "file.h"
#include "judge.h"
#include "small_cases.h"
#include "suite.h"

static small_cases cases;

static void set_up(void)
{
    cases = small_cases_make();
    ck_assert_uint_gt(cases.n, 10);
}

static void tear_down(void) { small_cases_free(&cases); }

/* The mutants lie beside the test binary. */
static const char *mutant(const char *name)
{
    static char path[PATH_MAX + 64];
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(n, 0);
    self[n] = 0;
    snprintf(path, sizeof path, "%s/mutants/%s.so", dirname(self), name);
    return path;
}

static result judged(const char *name, const char *only, double seconds)
{
    result r = {.max_findings = 1000};
    subject s;
    subject_limits limits = {seconds};
    judge_options o = {.repeat = 3, .vectors = "V", .argument = "--kernel K", .only = only};
    const mx_case *wanted[SMALL_CASES];
    size_t n = 0;
    for (size_t i = 0; i < cases.n; i++)
        if (judge_wants(&o, cases.list[i], i)) wanted[n++] = cases.list[i];
    subject_open_library(&s, mutant(name), &limits);
    ck_assert(result_add_subject(&r, s.name));
    judge_subject(&r, &s, wanted, n, &o);
    r.n_cases = n;
    subject_close(&s);
    return r;
}

static const check_count *count_of(const result *r, const char *check_name)
{
    for (size_t i = 0; i < check_count_all; i++)
        if (!strcmp(checks[i]->name, check_name)) return &r->subjects[0].counts[i];
    ck_abort_msg("no check %s", check_name);
    return NULL;
}

static const finding *finding_of(const result *r, const char *check_name)
{
    for (size_t i = 0; i < r->subjects[0].n_findings; i++)
        if (!strcmp(r->subjects[0].findings[i].check, check_name)) return &r->subjects[0].findings[i];
    return NULL;
}

static const char *const faultless[] = {"control", "control_device", "control_prints"};

START_TEST(a_kernel_without_fault_passes)
{
    result r = judged(faultless[_i], NULL, 20);
    result_totals t = result_count(&r);
    ck_assert_str_eq(r.subjects[0].cannot, "");
    ck_assert_int_eq(t.failed, 0);
    ck_assert_int_eq(t.not_run, 0);
    ck_assert_int_ge(t.cases_passed, (int64_t)cases.n);
    char verdict[400];
    result_verdict(&r, verdict, sizeof verdict);
    ck_assert_ptr_nonnull(strstr(verdict, "PASSED: 1 of 1 kernels passed"));
    result_free(&r);
}
END_TEST

/* One fault, the check that sees it, and words of its text. */
static const struct {
    const char *name, *check, *text;
} faults[] = {
    {"crash", "runs", "SIGSEGV"},
    {"aborts", "runs", "SIGABRT"},
    {"exits", "runs", "exit status 0"},
    {"writes_far", "runs", "past the end of '"},
    {"writes_past_end", "guards", "wrote outside 'q', 1 byte past its end: 00 became 11; 1 byte changed"},
    {"writes_before_start", "guards", "wrote outside 'q', 1 byte before its start"},
    {"input_modified", "inputs", "changed its input 'x', at byte"},
    {"device_past_end", "guards", "wrote outside 'q', 1 byte past its end: 00 became 11; 1 byte changed"},
    {"device_input", "inputs", "changed its input 'x', at byte"},
    {"device_fault", "runs", "device error: an illegal memory access was encountered"},
    {"writes_nothing", "written", "unwritten"},
    {"untouched_tail", "written", "'q' unwritten"},
    {"nondeterministic", "repeatable", "equal runs give unequal bytes"},
    {"reads_past_row", "pads", "depends on bytes that are not input"},
    {"garbage_padding", "padding", "padding units of 'scale'"},
    {"ties_away", "codes", "elements of 'q' differ"},
    {"scale_up", "scales", "elements of 'scale' differ"},
};

START_TEST(each_fault_is_seen_by_its_check)
{
    result r = judged(faults[_i].name, NULL, 20);
    const finding *f = finding_of(&r, faults[_i].check);
    ck_assert_int_gt(count_of(&r, faults[_i].check)->failed, 0);
    ck_assert_ptr_nonnull(f);
    bool found = false;
    for (size_t i = 0; i < r.subjects[0].n_findings; i++)
        found |= !strcmp(r.subjects[0].findings[i].check, faults[_i].check) &&
                 strstr(r.subjects[0].findings[i].text, faults[_i].text);
    ck_assert_msg(found, "%s: %s", faults[_i].name, f->text);
    ck_assert_ptr_nonnull(strstr(f->command, "mxcheck kernel --vectors V --kernel K --only small/"));
    result_free(&r);
}
END_TEST

START_TEST(a_hang_is_killed_and_the_run_goes_on)
{
    result r = judged("hangs", NULL, 0.2);
    const subject_result *s = &r.subjects[0];
    result_totals t = result_count(&r);
    const finding *f = finding_of(&r, "runs");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(strstr(f->text, "timed out: no answer within 0.2 s"));
    ck_assert_int_gt(t.cases_passed, 5); /* those that do not hang, before and after */
    ck_assert_int_gt(t.cases_failed, 2);
    ck_assert_int_eq(t.cases_passed + t.cases_failed + t.cases_not_run, (int64_t)s->n_rows);
    result_free(&r);
}
END_TEST

START_TEST(a_crash_loses_nothing)
{
    result r = judged("crash", "mxfp8", 20);
    result_totals t = result_count(&r);
    ck_assert_int_gt(t.cases_failed, 0);
    ck_assert_int_gt(t.cases_passed, 5);
    result_free(&r);
}
END_TEST

static const char *const forking[] = {"forks", "daemon_left", "fork_bomb_return"};

START_TEST(a_fork_leaves_no_process)
{
    result r = judged(forking[_i], "small/mxfp8-tail", 20);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);       /* orphans would be ours by now */
    ck_assert_int_eq(count_of(&r, "processes")->failed, 2); /* row-major and tiled */
    ck_assert_int_eq(count_of(&r, "codes")->passed, 2);
    result_free(&r);
}
END_TEST

/* Two kernels open at once, as when revisions are compared: the end of one leaves the other alone. */
START_TEST(workers_do_not_end_each_other)
{
    subject a, b;
    subject_limits limits = {20};
    const mx_case *c = small_case(&cases, "small/mxfp8-tail");
    subject_open_library(&a, mutant("control"), &limits);
    subject_open_library(&b, mutant("crash"), &limits);
    int op = 0;
    while (op < a.n_offers && strcmp(a.offers[op].name, "mxfp8"))
        op++;
    ck_assert_int_lt(op, a.n_offers);
    for (int round = 0; round < 2; round++) {
        job ja, jb;
        outcome oa, ob;
        ck_assert_int_eq(job_make(&ja, &a.offers[op], op, c, NULL), MX_OK);
        ck_assert_int_eq(job_make(&jb, &b.offers[op], op, c, NULL), MX_OK);
        a.run(&a, &ja, &variants[0], &oa);
        b.run(&b, &jb, &variants[0], &ob);
        ck_assert_int_eq(oa.state, RUN_DONE);
        ck_assert_int_eq(ob.state, RUN_CRASHED);
        outcome_free(&oa, &ja);
        outcome_free(&ob, &jb);
        job_free(&ja);
        job_free(&jb);
    }
    subject_close(&b);
    subject_close(&a);
}
END_TEST

/* ---- inputs that are made
 * ---------------------------------------------------------------------------------- */

enum { MADE_ROWS = 700, MADE_COLS = 100 };

static mx_case made_case(void)
{
    static uint16_t x[MADE_ROWS * MADE_COLS];
    mx_case c = {.id = "made",
                 .operation = "quantize",
                 .recipe = "mxfp8",
                 .generator = "normal",
                 .seed = 3,
                 .make_rows = MADE_ROWS,
                 .make_cols = MADE_COLS,
                 .make_dtype = "bf16",
                 .alpha = 1};
    mx_data_fill(mx_data_find("normal"), c.seed, mx_format_find("bf16"), 0, MADE_ROWS, MADE_COLS, MADE_COLS,
                 x);
    mx_sha256(x, sizeof x, c.make_digest);
    return c;
}

static result judged_made(const char *name, const mx_case *c)
{
    result r = {.max_findings = 1000};
    subject s;
    subject_limits limits = {20};
    judge_options o = {
        .repeat = 3, .vectors = "V", .argument = "--kernel K", .band_bytes = 128 * 2 * MADE_COLS};
    subject_open_library(&s, mutant(name), &limits);
    ck_assert(result_add_subject(&r, s.name));
    judge_subject(&r, &s, &c, 1, &o);
    subject_close(&s);
    return r;
}

START_TEST(a_made_input_is_judged_in_bands)
{
    mx_case c = made_case();
    result r = judged_made("control", &c);
    ck_assert_int_eq(count_of(&r, "codes")->passed,
                     2); /* one count a case, not a band: row-major and tiled */
    ck_assert_int_eq(result_count(&r).failed, 0);
    result_free(&r);
    r = judged_made("untouched_tail", &c);
    const finding *f = finding_of(&r, "written");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(strstr(f->text, "in the band from row 0"));
    result_free(&r);
    c.make_digest[0] = c.make_digest[0] == '0' ? '1' : '0';
    r = judged_made("control", &c);
    ck_assert_int_eq(result_count(&r).cases_not_run, 2);
    ck_assert_ptr_nonnull(strstr(r.subjects[0].reasons[0].text, "SHA-256"));
    result_free(&r);
}
END_TEST

/* ---- libraries that are none ------------------------------------------------------------------------------
 */

static const struct {
    const char *path, *words;
} strangers[] = {
    {"/nonexistent/kernel.so", "no such file"},
    {"/dev/null", ""},
    {"/bin/sh", ""},
};

START_TEST(a_foreign_file_is_bad_input)
{
    subject s;
    subject_limits limits = {5};
    subject_open_library(&s, strangers[_i].path, &limits);
    ck_assert_int_eq(s.status, MX_BAD_INPUT);
    ck_assert_str_ne(s.cannot, "");
    ck_assert_ptr_nonnull(strstr(s.cannot, strangers[_i].words));
    subject_close(&s);
}
END_TEST

Suite *test_kernel(void)
{
    Suite *s = suite_create("kernel");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, a_kernel_without_fault_passes, 0, 3);
    tcase_add_loop_test(t, each_fault_is_seen_by_its_check, 0, sizeof faults / sizeof *faults);
    tcase_add_test(t, a_hang_is_killed_and_the_run_goes_on);
    tcase_add_test(t, a_crash_loses_nothing);
    tcase_add_loop_test(t, a_fork_leaves_no_process, 0, 3);
    tcase_add_test(t, workers_do_not_end_each_other);
    tcase_add_test(t, a_made_input_is_judged_in_bands);
    tcase_add_loop_test(t, a_foreign_file_is_bad_input, 0, sizeof strangers / sizeof *strangers);
    suite_add_tcase(s, t);
    return s;
}
