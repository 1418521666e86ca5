/* SPDX-License-Identifier: Apache-2.0
 *
 * The kill matrix: every mutant of mutants.h is checked like any kernel. It must fail, the check that its
 * row names must be among those that failed, and the first finding must name the cause. `matrix FOLDER
 * [VECTORS]`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "mutants.h"
#include "product_mutants.h"
#include "small_cases.h"
#include "wire.h"

static const struct {
    const char *name, *what, *check, *cause;
} mutants[] = {{"control", "no fault", NULL, NULL},
#define X(name, what, check, cause) {#name, what, check, cause},
               MUTANTS(X){"control_product", "no fault", NULL, NULL},
               PRODUCT_MUTANTS(X)
#undef X
};

static void check_mutant(const char *path, double seconds, const mx_case *const *cases, size_t n, result *r)
{
    subject s;
    subject_limits limits = {seconds};
    judge_options o = {.repeat = 3, .vectors = "vectors", .argument = ""};
    subject_open_library(&s, path, &limits);
    if (result_add_subject(r, s.name)) judge_subject(r, &s, cases, n, &o);
    subject_close(&s);
}

static bool check_failed(const subject_result *s, const char *name)
{
    for (size_t i = 0; i < check_count_all; i++)
        if (!strcmp(checks[i]->name, name)) return s->counts[i].failed > 0;
    return !*name;
}

/* Does the first finding name the cause? */
static const finding *named(const subject_result *s, const char *cause)
{
    return s->n_findings && strstr(s->findings[0].cause, cause) ? &s->findings[0] : NULL;
}

static bool show(size_t i, const result *r)
{
    const subject_result *s = &r->subjects[0];
    result_totals t = subject_count(s);
    if (!mutants[i].check) {
        bool clean = t.cases_passed && !t.cases_failed && !*s->cannot;
        printf("%-20s %-44s %s %s\n", mutants[i].name, mutants[i].what, clean ? "passes" : "FAILS",
               s->cannot);
        return clean;
    }
    const finding *f = *mutants[i].cause ? named(s, mutants[i].cause) : NULL;
    bool killed = t.cases_failed > 0, seen = check_failed(s, mutants[i].check),
         told = f || !*mutants[i].cause;
    printf("%-20s %-44s %-9s by %-10s in %3lld cases; %s\n", mutants[i].name, mutants[i].what,
           !killed ? "SURVIVES"
           : seen  ? "killed"
                   : "MISSED",
           s->n_findings ? s->findings[0].check : "nothing", (long long)t.cases_failed,
           f      ? f->cause
           : told ? s->n_findings ? s->findings[0].text : ""
                  : "CAUSE NOT NAMED");
    return killed && seen && told;
}

int main(int argc, char **argv)
{
    if (worker_is(argc, argv)) return worker_main(argv[1]);
    if (argc < 2) return 2;
    mx_case_set *set = NULL;
    small_cases small = small_cases_make();
    const mx_case *const *cases = small.list;
    size_t n = small.n, passed = 0;
    const mx_case **loaded = NULL;
    if (argc > 2) {
        mx_error e = {0};
        if (mx_cases_load(argv[2], &set, &e) != MX_OK)
            return fprintf(stderr, "%s: %s\n", e.place, e.message), 2;
        n = mx_cases_count(set);
        loaded = calloc(n + 1, sizeof *loaded);
        for (size_t i = 0; loaded && i < n; i++)
            loaded[i] = mx_cases_at(set, i);
        cases = loaded;
    }
    size_t all = sizeof mutants / sizeof *mutants;
    for (size_t i = 0; i < all && n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.so", argv[1], mutants[i].name);
        result r = {.n_cases = n, .max_findings = 10};
        double seconds = strcmp(mutants[i].name, "hangs") ? 30 : 0.5; /* only one waits for its end */
        check_mutant(path, seconds, cases, n, &r);
        passed += r.n_subjects && show(i, &r);
        fflush(stdout);
        result_free(&r);
    }
    free(loaded);
    mx_cases_free(set);
    small_cases_free(&small);
    printf("%zu passed, %zu failed\n", passed, all - passed);
    return passed == all ? 0 : 1;
}
