/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck prove`: exhaust a quantiser's whole input domain. */
#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "command.h"
#include "fail.h"
#include "judge.h"
#include "progress.h"
#include "prove.h"
#include "words.h"

#define WHO "prove"

typedef struct arguments {
    const char *kernel, *operation, *recipe, *inputs, *json;
    int shard, shards;
    double timeout;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'k': a->kernel = arg; return 0;
    case 'o': a->operation = arg; return 0;
    case 'R': a->recipe = arg; return 0;
    case 'i': a->inputs = arg; return 0;
    case 'j': a->json = arg; return 0;
    case 'S': word_shard(state, arg, INT_MAX, &a->shard, &a->shards); return 0;
    case 't': {
        char *end;
        a->timeout = strtod(arg, &end);
        if (end == arg || *end || !(a->timeout > 0) || !(a->timeout <= 86400))
            argp_error(state, "'%s' is not a time limit in seconds", arg);
        return 0;
    }
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* What is exhausted: one operation under one recipe with one input format. */
typedef struct target {
    int op;
    prove_domain domain;
} target;

typedef struct targets {
    target *list;
    size_t n;
    int64_t parts; /* of all of them that belong to this shard */
} targets;

static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (!strncmp(p, word, n) && (p[n] == ',' || !p[n])) return true;
    return false;
}

/* Every input format of the offer that is asked for. */
static int add_offer(const arguments *a, const offer *o, int op, targets *t)
{
    static const char *const formats[] = {"bf16", "f16", "f32"};
    const char *usual = strcmp(o->operation, "cast") ? "mxfp8" : "cast-e4m3-rne-sat";
    const char *recipe = strcmp(o->recipe, "*") ? o->recipe : a->recipe ? a->recipe : usual;
    if (!o->runnable || (a->operation && strcmp(a->operation, o->name))) return 0;
    if (a->recipe && strcmp(a->recipe, recipe)) return 0;
    for (int i = 0; i < 3; i++) {
        target *list = realloc(t->list, (t->n + 1) * sizeof *list);
        mx_error e = {MX_OK, "", ""};
        if (!list) return fail_usage(WHO, "out of memory");
        t->list = list;
        list[t->n].op = op;
        if ((*o->inputs && !in_list(o->inputs, formats[i])) || !in_list(a->inputs, formats[i])) continue;
        if (prove_domain_make(o->operation, recipe, formats[i], &list[t->n].domain, &e)) {
            if (a->operation) fprintf(stderr, "mxcheck prove: %s: %s: %s\n", o->name, e.place, e.message);
            continue;
        }
        t->parts += (list[t->n].domain.parts + a->shards - 1 - a->shard) / a->shards;
        t->n++;
    }
    return 0;
}

/* `kept` has room for every part: the rows of the result point at the cases' ids. */
static int exhaust(const arguments *a, subject *s, const targets *t, mx_case *kept, result *r)
{
    char argument[512];
    snprintf(argument, sizeof argument, "--kernel %s", a->kernel);
    judge_options o = {.repeat = 1, .argument = argument, .vectors = "(prove)"};
    subject_result *to = result_last(r);
    snprintf(to->name, sizeof to->name, "%s", s->name);
    snprintf(to->version, sizeof to->version, "%s", s->version);
    snprintf(to->device, sizeof to->device, "%s", s->device);
    snprintf(to->argument, sizeof to->argument, "%s", argument);
    progress bar = progress_begin("proving");
    int64_t done = 0;
    for (size_t i = 0; i < t->n; i++)
        for (int64_t k = a->shard; k < t->list[i].domain.parts; k += a->shards) {
            mx_case *c = &kept[done];
            mx_error e = {MX_OK, "", ""};
            if (prove_case(&t->list[i].domain, k, c, &e)) return fail_with(WHO, &e);
            judge_case(r, to, s, t->list[i].op, c, &o);
            prove_case_free(c);
            progress_show(&bar, (double)++done, (double)t->parts);
        }
    progress_end(&bar);
    r->n_cases = (size_t)done;
    return 0;
}

static void print_domains(const arguments *a, const subject *s, const targets *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const prove_domain *d = &t->list[i].domain;
        printf("%-28s %-24s %-5s %s %lld patterns%s\n", s->offers[t->list[i].op].name,
               mx_recipe_name(d->recipe), d->input->name,
               mx_recipe_scale(d->recipe) ? "largest of a block:" : "every value:", (long long)d->patterns,
               a->shards > 1 ? ", of which this shard's" : "");
    }
}

static int run(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"kernel", 'k', "LIB.so", 0, "The library to exhaust (the bundled CPU kernel)", 0},
        {"operation", 'o', "NAME", 0, "Only this operation of it", 0},
        {"recipe", 'R', "NAME", 0,
         "Only this recipe; of operations that take any, this one (mxfp8, cast-e4m3-rne-sat)", 0},
        {"inputs", 'i', "LIST", 0,
         "Input formats (bf16,f16); f32 has 2^32 patterns: minutes for a cast, hours for blocks", 0},
        {"shard", 'S', "I/N", 0, "Only every Nth part, from the Ith of 0 to N-1", 1},
        {"timeout", 't', "SECONDS", 0, "Limit of one part (60)", 1},
        {"json", 'j', "FILE", 0, "Also write the result", 1},
        {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Exhaust a quantiser's whole input domain against the emulator: every value of a cast, every "
               "largest "
               "magnitude of a block.\v"
               "Examples: mxcheck prove --kernel ./libmine.so\n"
               "          mxcheck prove --kernel ./libmine.so --recipe mxfp8 --inputs f32 --shard 0/8"};
    char bundled[4096];
    arguments a = {.inputs = "bf16,f16", .shards = 1, .timeout = 60};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (!a.kernel) {
        if (!beside_binary("mxcheck-cpu.so", bundled, sizeof bundled))
            return fail_usage(WHO, "which kernel? --kernel LIB.so");
        a.kernel = bundled;
    }
    subject s;
    subject_limits limits = {a.timeout};
    subject_open_library(&s, a.kernel, &limits);
    if (*s.cannot) {
        fprintf(stderr, "mxcheck prove: %s\n", s.cannot);
        int status = s.status == MX_CANNOT_RUN ? EXIT_CANNOT_RUN : EXIT_USAGE;
        subject_close(&s);
        return status;
    }
    targets t = {NULL, 0, 0};
    result r = {.max_findings = 10, .shard = a.shard, .shards = a.shards};
    snprintf(r.vectors, sizeof r.vectors, "the whole domain");
    int status = result_add_subject(&r, s.name) ? 0 : fail_usage(WHO, "out of memory");
    for (int i = 0; i < s.n_offers && !status; i++)
        status = add_offer(&a, &s.offers[i], i, &t);
    if (!status && !t.n)
        status =
            fail_usage(WHO, "%s: no operation to exhaust%s", a.kernel, a.recipe ? " under that recipe" : "");
    mx_case *kept = calloc((size_t)t.parts + 1, sizeof *kept);
    if (!status && !kept) status = fail_usage(WHO, "out of memory");
    if (!status) status = exhaust(&a, &s, &t, kept, &r);
    if (!status) {
        mx_error e = {MX_OK, "", ""};
        report_text(&r, stdout);
        print_domains(&a, &s, &t);
        result_totals all = result_count(&r);
        status = all.subjects_failed ? EXIT_FINDINGS : all.subjects_passed ? EXIT_PASSED : EXIT_CANNOT_RUN;
        if (a.json && report_json(&r, a.json, &e)) status = fail_with(WHO, &e);
    }
    free(t.list);
    free(kept);
    result_free(&r);
    subject_close(&s);
    return status;
}

const command command_prove = {"prove", "exhaust a quantiser's whole input domain", 30, run};
