/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck kernel`: runs the checks on a kernel and says whether it passed. */
#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"
#include "command.h"
#include "file.h"
#include "judge.h"
#include "progress.h"
#include "words.h"

enum { MAX_SUBJECTS = 32, MAX_REQUIRED = 32 };

typedef enum source { KERNEL, PROGRAM, NAMED } source;

/* A subject that the command line asks for. */
typedef struct wish {
    source source;
    const char *what;
} wish;

typedef struct arguments {
    const char *vectors, *only, *json, *junit, *record;
    FILE *recording; /* the digests, while they are made */
    bool github, list;
    int repeat, shard, shards;
    size_t max_findings;
    double timeout;
    wish wishes[MAX_SUBJECTS];
    int n_wishes;
    const char *required[MAX_REQUIRED];
    int n_required;
} arguments;

/* ---- subjects by name ---------------------------------------------------------------------------------- */

/* What --subject takes, and what runs when no kernel is named. */
static const struct {
    const char *name, *library; /* library NULL: built in */
    bool bundled;
    const char *missing; /* why the file may not be there */
} named[] = {
    {"cpu", "mxcheck-cpu.so", true, "not built: run make"},
    {"product", "mxcheck-product.so", true, "not built: run make"},
    {"nvidia", "mxcheck-nvidia.so", true, "built without the headers of the CUDA toolkit"},
    {"gpu", "mxcheck-gpu.so", true, "built without CUDA"},
    {"emulator", NULL, false, ""},
};
enum { N_NAMED = sizeof named / sizeof *named };

static int find_named(const char *name)
{
    int i = 0;
    while (i < N_NAMED && strcmp(name, named[i].name))
        i++;
    return i;
}

static void open_named(subject *s, const char *name, const mx_case *const *cases, size_t n,
                       const subject_limits *l)
{
    int i = find_named(name);
    char path[PATH_MAX];
    if (i == N_NAMED) {
        subject_open_seen(s, name, cases, n);
    } else if (!named[i].library) {
        subject_open_emulator(s, cases, n);
    } else if (beside_binary(named[i].library, path, sizeof path)) {
        subject_open_library(s, path, l);
    } else {
        *s = (subject){.status = MX_CANNOT_RUN};
        snprintf(s->name, sizeof s->name, "%s", named[i].name);
        snprintf(s->cannot, sizeof s->cannot, "%s", named[i].missing);
    }
}

/* ---- command line -------------------------------------------------------------------------------------- */

enum {
    EXEC = 256,
    SUBJECT,
    ONLY,
    JSON,
    JUNIT,
    GITHUB,
    LIST,
    RECORD,
    REPEAT,
    TIMEOUT,
    FINDINGS,
    SHARD,
    REQUIRE
};

static const struct argp_option options[] = {
    {"vectors", 'v', "DIR", 0, "golden cases: a directory with manifest.json, or one .safetensors file", 0},
    {"kernel", 'k', "LIB.so", 0, "check this library (mx_kernel.h)", 0},
    {"exec", EXEC, "CMD", 0,
     "check this program: CMD IN OUT reads case files in IN and writes answers to OUT", 0},
    {"subject", SUBJECT, "NAME", 0, "check cpu, nvidia, gpu, emulator, or the recordings in directory NAME",
     0},
    {"list", LIST, NULL, 0, "only list the operations of the kernels: what each claims", 0},
    {"only", ONLY, "WORD", 0, "only cases with this id, operation, recipe or flag", 1},
    {"shard", SHARD, "I/N", 0, "only every Nth case, from the Ith of 0 to N-1", 1},
    {"repeat", REPEAT, "N", 0, "runs of each case, 1 to 16 (3); fewer than 3 see fewer poison patterns", 1},
    {"require", REQUIRE, "WORD", 0,
     "exit 3 unless a case with this id, operation, recipe or flag was judged on every kernel; repeatable",
     1},
    {"timeout", TIMEOUT, "SECONDS", 0, "limit of one run of one case (10)", 1},
    {"max-findings", FINDINGS, "N", 0, "findings shown per kernel (10)", 2},
    {"json", JSON, "FILE", 0, "also write the result as JSON", 2},
    {"junit", JUNIT, "FILE", 0, "also write it as JUnit XML", 2},
    {"record", RECORD, "FILE", 0,
     "write a digest of every right answer, to judge them again without the device", 2},
    {"github", GITHUB, NULL, 0, "also print GitHub workflow commands", 2},
    {0},
};

static long number(struct argp_state *state, const char *text, long low, long high)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < low || n > high)
        argp_error(state, "'%s' is not a number from %ld to %ld", text, low, high);
    return n;
}

static double parse_seconds(struct argp_state *state, const char *text)
{
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end || !(s > 0) || !(s <= 86400))
        argp_error(state, "'%s' is not a time limit in seconds", text);
    return s;
}

static void add_wish(struct argp_state *state, arguments *a, source from, const char *what)
{
    if (a->n_wishes == MAX_SUBJECTS) argp_error(state, "more than %d kernels", MAX_SUBJECTS);
    if (a->n_wishes < MAX_SUBJECTS) a->wishes[a->n_wishes++] = (wish){from, what};
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'v': a->vectors = arg; break;
    case 'k': add_wish(state, a, KERNEL, arg); break;
    case EXEC: add_wish(state, a, PROGRAM, arg); break;
    case SUBJECT: add_wish(state, a, NAMED, arg); break;
    case ONLY: a->only = arg; break;
    case JSON: a->json = arg; break;
    case JUNIT: a->junit = arg; break;
    case GITHUB: a->github = true; break;
    case LIST: a->list = true; break;
    case RECORD: a->record = arg; break;
    case REPEAT: a->repeat = (int)number(state, arg, 1, TRIAL_RUNS); break;
    case TIMEOUT: a->timeout = parse_seconds(state, arg); break;
    case FINDINGS: a->max_findings = (size_t)number(state, arg, 0, 1000000); break;
    case REQUIRE:
        if (a->n_required == MAX_REQUIRED) argp_error(state, "more than %d --require", MAX_REQUIRED);
        if (a->n_required < MAX_REQUIRED) a->required[a->n_required++] = arg;
        break;
    case SHARD: word_shard(state, arg, INT_MAX, &a->shard, &a->shards); break;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); break;
    case ARGP_KEY_END:
        if (!a->vectors && !a->list) argp_error(state, "--vectors DIR is missing");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------------------
 */

static void show_progress(void *context, size_t done, size_t all)
{
    progress_show(context, (double)done, (double)all);
}

static void name_wish(const wish *w, char *text, size_t size)
{
    static const char *const flag[] = {[KERNEL] = "--kernel", [PROGRAM] = "--exec", [NAMED] = "--subject"};
    bool quote = strpbrk(w->what, " '\"$");
    snprintf(text, size, "%s %s%s%s", flag[w->source], quote ? "'" : "", w->what, quote ? "'" : "");
}

/* Where and when the answers that follow were made. */
static void record_head(FILE *out, const subject *s)
{
    char date[32];
    time_t t = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&t));
    fprintf(out, "# %s %s; %s; %s; mxcheck %s\n", s->name, s->version, *s->device ? s->device : "host", date,
            MX_VERSION);
}

static const char *or_none(const char *text) { return *text ? text : "-"; }

/* What a subject claims, an operation a line; its note says what was never run. */
static void list_subject(const subject *s)
{
    printf("%s %s%s%s\n", s->name, s->version, *s->cannot ? ": not run: " : "", s->cannot);
    printf("  %-36s %-20s %-18s %-12s %-12s %s\n", "name", "operation", "recipe", "codes in", "scales in",
           "model, schedule, note");
    for (int i = 0; i < s->n_offers; i++) {
        const offer *o = &s->offers[i];
        printf("  %-36s %-20s %-18s %-12s %-12s %s %s %s\n", o->name, o->operation, o->recipe,
               *o->data_layout ? o->data_layout : "row-major",
               *o->scale_layout ? o->scale_layout : "row-major", or_none(o->model), or_none(o->schedule),
               o->note);
    }
}

static bool run_wish(const arguments *a, const wish *w, const mx_case *const *cases, size_t n, result *r)
{
    subject s;
    subject_limits limits = {a->timeout};
    if (w->source == KERNEL)
        subject_open_library(&s, w->what, &limits);
    else if (w->source == PROGRAM)
        subject_open_program(&s, w->what, cases, n, &limits);
    else
        open_named(&s, w->what, cases, n, &limits);
    if (a->list) {
        list_subject(&s);
        subject_close(&s);
        return true;
    }
    char argument[512];
    name_wish(w, argument, sizeof argument);
    progress p = progress_begin(s.name);
    judge_options o = {.repeat = a->repeat,
                       .vectors = a->vectors,
                       .argument = argument,
                       .progress = show_progress,
                       .context = &p,
                       .record = a->recording};
    bool room = result_add_subject(r, s.name);
    if (a->recording) record_head(a->recording, &s);
    if (room) judge_subject(r, &s, cases, n, &o);
    progress_end(&p);
    subject_close(&s);
    return room;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 2 and 3 only where a subject was asked for by name; findings of the others are never lost to them. */
static int exit_status(const arguments *a, const result *r)
{
    result_totals t = result_count(r);
    if (t.subjects_failed) return EXIT_FINDINGS;
    for (size_t i = 0; i < r->n_subjects && a->n_wishes; i++) {
        const subject_result *s = &r->subjects[i];
        result_totals one = subject_count(s);
        if (*s->cannot) return s->status == MX_CANNOT_RUN ? EXIT_CANNOT_RUN : EXIT_USAGE;
        if (one.subjects_not_run) return EXIT_CANNOT_RUN;
    }
    return t.subjects_passed ? EXIT_PASSED : EXIT_CANNOT_RUN;
}

static bool was_judged(const subject_result *s, const char *word, const mx_case *const *cases, size_t n)
{
    judge_options like = {.only = word};
    for (size_t i = 0, k = 0; i < s->n_rows; i++) {
        while (k < n && cases[k]->id != s->rows[i].id) /* rows follow the order of the cases */
            k++;
        if (k < n && s->rows[i].verdict != JUDGED_NOT_RUN && judge_wants(&like, cases[k], k)) return true;
    }
    return false;
}

/* What had to be judged and was not makes a pass worthless. */
static int check_required(const arguments *a, const result *r, const mx_case *const *cases, size_t n,
                          int status)
{
    for (size_t i = 0; i < r->n_subjects; i++)
        for (int k = 0; k < a->n_required; k++) {
            if (was_judged(&r->subjects[i], a->required[k], cases, n)) continue;
            fprintf(stderr, "mxcheck kernel: %s: no case of the required '%s' was judged\n",
                    r->subjects[i].name, a->required[k]);
            if (status == EXIT_PASSED) status = EXIT_CANNOT_RUN;
        }
    return status;
}

static int write_reports(const arguments *a, const result *r, int status)
{
    mx_error e = {0};
    report_text(r, stdout);
    if (a->github) report_github(r, stdout);
    if ((a->json && report_json(r, a->json, &e) != MX_OK) ||
        (a->junit && report_junit(r, a->junit, &e) != MX_OK)) {
        fprintf(stderr, "mxcheck kernel: %s: %s\n", e.place, e.message);
        return EXIT_USAGE;
    }
    return status;
}

static int check_all(arguments *a, const mx_case_set *set)
{
    size_t n = 0, all = mx_cases_count(set);
    const mx_case **cases = calloc(all + 1, sizeof *cases);
    judge_options wanted = {.only = a->only, .shard = a->shard, .shards = a->shards};
    for (size_t i = 0; cases && i < all; i++)
        if (judge_wants(&wanted, mx_cases_at(set, i), i)) cases[n++] = mx_cases_at(set, i);
    if (!n) {
        fprintf(stderr, "mxcheck kernel: %s: no case %s%s\n", a->vectors, a->only ? "matches " : "at all",
                a->only ? a->only : "");
        free(cases);
        return EXIT_USAGE;
    }
    result r = {.n_cases = n, .max_findings = a->max_findings, .shard = a->shard, .shards = a->shards};
    snprintf(r.vectors, sizeof r.vectors, "%s", a->vectors);
    double start = now();
    bool room = true;
    char *digests = NULL;
    size_t size = 0;
    a->recording = a->record ? open_memstream(&digests, &size) : NULL;
    for (int i = 0; i < a->n_wishes && room; i++)
        room = run_wish(a, &a->wishes[i], cases, n, &r);
    for (int i = 0; i < N_NAMED && room && !a->n_wishes; i++)
        if (named[i].bundled) room = run_wish(a, &(wish){NAMED, named[i].name}, cases, n, &r);
    r.seconds = now() - start;
    int status = write_reports(a, &r, exit_status(a, &r));
    status = check_required(a, &r, cases, n, status);
    if (a->recording && fclose(a->recording) == 0) {
        mx_error e = {0};
        if (mx_file_write(a->record, digests, size, &e)) {
            fprintf(stderr, "mxcheck kernel: %s: %s\n", e.place, e.message);
            status = EXIT_USAGE;
        }
    }
    free(digests);
    result_free(&r);
    free(cases);
    return status;
}

static int list_all(const arguments *a)
{
    result r = {0};
    for (int i = 0; i < a->n_wishes; i++)
        run_wish(a, &a->wishes[i], NULL, 0, &r);
    for (int i = 0; i < N_NAMED && !a->n_wishes; i++)
        if (named[i].bundled) run_wish(a, &(wish){NAMED, named[i].name}, NULL, 0, &r);
    return EXIT_PASSED;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Run golden cases on kernels and judge every bit.\n\nWithout --kernel, --exec or --subject the "
            "bundled "
            "kernels are checked. The first line of the output is the verdict.\v"
            "Examples:\n  mxcheck kernel --vectors vectors/\n"
            "  mxcheck kernel --vectors vectors/ --kernel ./libmine.so --only nan --json report.json\n\n"
            "Exit status: 0 passed, 1 findings, 2 bad usage or input, 3 a kernel asked for could not run."};
    arguments a = {.repeat = 3, .timeout = 10, .max_findings = 10};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    mx_case_set *set;
    mx_error e = {0};
    if (a.list) return list_all(&a);
    if (mx_cases_load(a.vectors, &set, &e) != MX_OK) {
        fprintf(stderr, "mxcheck kernel: %s: %s\n", e.place, e.message);
        return EXIT_USAGE;
    }
    int status = check_all(&a, set);
    mx_cases_free(set);
    return status;
}

const command command_kernel = {"kernel", "check kernels against golden cases, bit by bit", 1, run};
