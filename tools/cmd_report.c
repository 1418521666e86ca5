/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck report`: join the parts of a run, and show it. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fail.h"
#include "file.h"
#include "html.h"
#include "json.h"
#include "merge_kernel.h"
#include "sweep_result.h"

#define WHO "report"

enum { MOST_FILES = SWEEP_MOST_SHARDS, MOST_BYTES = 1 << 30 };

typedef struct arguments {
    const char *files[MOST_FILES];
    int n;
    bool merge;
    const char *json, *html;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'm': a->merge = true; return 0;
    case 'j': a->json = arg; return 0;
    case 'h': a->html = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->n == MOST_FILES) argp_error(state, "more than %d files", MOST_FILES);
        a->files[a->n++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->n) argp_error(state, "which report? Name a JSON file that a command wrote with --json");
        if (a->n > 1 && !a->merge) argp_error(state, "several files: --merge joins parts of one run");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static mx_status load(const char *path, json_t **o, mx_error *e)
{
    mx_input in;
    char *text = NULL;
    size_t n = 0;
    mx_status s = mx_input_open(path, false, &in, e);
    if (s) return s;
    s = mx_input_all(&in, MOST_BYTES, &text, &n, e);
    if (!s) {
        *o = mx_json_parse(text, n, path, e);
        if (!*o) s = MX_BAD_INPUT;
    }
    free(text);
    mx_input_close(&in);
    return s;
}

static mx_status join(const arguments *a, json_t *first, sweep_result *r, mx_error *e)
{
    mx_status s = sweep_result_from_json(first, r, a->files[0], e);
    for (int i = 1; i < a->n && !s; i++) {
        sweep_result part = {0};
        json_t *o = NULL;
        s = load(a->files[i], &o, e);
        if (!s) s = sweep_result_from_json(o, &part, a->files[i], e);
        if (!s) s = sweep_result_merge(r, &part, a->files[i], e);
        sweep_result_free(&part);
        json_decref(o);
    }
    for (int i = 0; i < r->shards && !s; i++)
        if (!r->have[i] && a->merge)
            s = mx_fail(e, MX_BAD_INPUT, a->files[0], "part %d of %d is missing", i, r->shards);
    if (!s && a->merge) r->shards = r->have[0] = 1; /* a whole, like that of one process */
    return s;
}

/* Sweeps have parts to join and tables to print; `report` becomes the whole. */
static mx_status sweep(const arguments *a, json_t **report, mx_error *e)
{
    sweep_result r = {0};
    mx_status s = join(a, *report, &r, e);
    if (!s) {
        sweep_result_print(&r, stdout);
        json_decref(*report);
        *report = sweep_result_to_json(&r);
        if (a->json) s = mx_json_write(a->json, json_incref(*report), e);
    }
    sweep_result_free(&r);
    return s;
}

/* Parts of a kernel's run become one; its exit status is that of the whole. */
static mx_status kernel(const arguments *a, json_t *report, int *exit_status, mx_error *e)
{
    mx_status s = MX_OK;
    for (int i = 1; i < a->n && !s; i++) {
        json_t *part = NULL;
        s = load(a->files[i], &part, e);
        if (!s) s = merge_kernel(report, part, a->files[i], e);
        json_decref(part);
    }
    return s ? s : merge_kernel_finish(report, a->files[0], exit_status, e);
}

/* Reports with a verdict of their own. */
static mx_status other(const arguments *a, json_t *report, int *exit_status, mx_error *e)
{
    bool parts = !strcmp(html_string(report, "mxcheck"), "kernel");
    if (!parts && (a->merge || a->json))
        return mx_fail(e, MX_UNSUPPORTED, a->files[0],
                       "only parts of a sweep, kernel or prove run can be joined");
    mx_status s = a->merge ? kernel(a, report, exit_status, e) : MX_OK;
    const char *verdict = html_string(report, "verdict");
    if (!s && *verdict) puts(verdict);
    return s || !a->json ? s : mx_json_write(a->json, json_incref(report), e);
}

static int run(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"merge", 'm', NULL, 0, "Join the parts of one run made with --shard", 0},
        {"json", 'j', "FILE", 0, "Write the joined report", 0},
        {"html", 'h', "FILE", 0, "Write one self-contained page with plots (needs gnuplot)", 0},
        {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "RUN.json...",
        .doc = "Show a report, or join the parts of one.\v"
               "Example: mxcheck report --merge part0.json part1.json --json whole.json"};
    static arguments a;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    mx_error e = {MX_OK, "", ""};
    json_t *report = NULL;
    int exit_status = EXIT_PASSED;
    mx_status s = load(a.files[0], &report, &e);
    if (!s)
        s = strcmp(html_string(report, "mxcheck"), "sweep") ? other(&a, report, &exit_status, &e)
                                                            : sweep(&a, &report, &e);
    if (!s && a.html) s = html_write(report, a.files[0], a.html, &e);
    json_decref(report);
    return s ? fail_with(WHO, &e) : exit_status;
}

const command command_report = {"report", "join and show reports of other commands", 95, run};
