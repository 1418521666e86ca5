/* SPDX-License-Identifier: Apache-2.0
 * The diagnosis names each planted fault of checks/mutants that leaves a trace in the bits. */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../mutants/mutants.h"
#include "explain.h"
#include "judge.h"
#include "small_cases.h"
#include "suite.h"

static const struct {
    const char *name, *check, *cause;
} mutants[] = {
#define X(name, what, check, cause) {#name, check, cause},
    MUTANTS(X)
#undef X
};

static void mutant_path(char *path, size_t size, const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(n, 0);
    self[n] = 0;
    snprintf(path, size, "%s/mutants/%s.so", dirname(self), name);
}

START_TEST(the_cause_is_named)
{
    if (!*mutants[_i].cause) return;
    char path[PATH_MAX + 64];
    mutant_path(path, sizeof path, mutants[_i].name);
    small_cases cases = small_cases_make();
    result r = {.max_findings = 1000};
    subject s;
    subject_limits limits = {20};
    judge_options o = {.repeat = 3, .vectors = "V", .argument = ""};
    subject_open_library(&s, path, &limits);
    ck_assert(result_add_subject(&r, s.name));
    judge_subject(&r, &s, cases.list, cases.n, &o);
    bool named = false;
    for (size_t i = 0; i < r.subjects[0].n_findings && !named; i++)
        named = strstr(r.subjects[0].findings[i].cause, mutants[_i].cause) &&
                !strcmp(r.subjects[0].findings[i].check, mutants[_i].check);
    ck_assert_msg(named, "%s: no %s finding names '%s'; first: %s", mutants[_i].name, mutants[_i].check,
                  mutants[_i].cause, r.subjects[0].n_findings ? r.subjects[0].findings[0].cause : "none");
    subject_close(&s);
    result_free(&r);
    small_cases_free(&cases);
}
END_TEST

/* A row of the fault table whose change is no change would explain nothing, or everything. */
START_TEST(every_fault_changes_the_recipe)
{
    for (size_t i = 0; i < recipe_fault_count; i++) {
        bool applies = false;
        for (size_t k = 0; k < mx_recipe_count(); k++) {
            const mx_recipe *r = mx_recipe_at(k);
            mx_recipe changed = *r;
            if (!recipe_faults[i].plant(&changed)) continue;
            applies = true;
            ck_assert_msg(memcmp(&changed, r, sizeof changed), "'%s' leaves %s as it is",
                          recipe_faults[i].cause, r->name);
        }
        ck_assert_msg(applies, "'%s' applies to nothing", recipe_faults[i].cause);
    }
}
END_TEST

Suite *test_explain(void)
{
    Suite *s = suite_create("explain");
    TCase *t = tcase_create("mutants");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, the_cause_is_named, 0, sizeof mutants / sizeof *mutants);
    tcase_add_test(t, every_fault_changes_the_recipe);
    suite_add_tcase(s, t);
    return s;
}
