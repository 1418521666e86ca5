/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck gradient`: forward, dgrad and wgrad of an MoE layer, over formats, block sizes and recipes. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fail.h"
#include "gradient.h"
#include "gradient_kernel.h"
#include "gradient_result.h"
#include "json.h"
#include "model.h"
#include "progress.h"
#include "scheme.h"
#include "words.h"

#define WHO "gradient"

enum { MOST_SCHEMES = 1024, NAME_SIZE = 96 };

typedef struct arguments {
    words formats, blocks, recipes;
    gradient_setup setup;
    const char *json, *model, *schedule, *kernel;
    double seconds;
} arguments;

typedef struct plan {
    char names[MOST_SCHEMES][NAME_SIZE];
    mx_scheme schemes[MOST_SCHEMES];
    gradient_row rows[MOST_SCHEMES];
    size_t n;
    subject kernel; /* under test, where --kernel names one */
} plan;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    mx_moe_shape *s = &a->setup.shape;
    switch (key) {
    case 'f': words_cut(&a->formats, arg); return 0;
    case 'b': words_cut(&a->blocks, arg); return 0;
    case 'R': words_cut(&a->recipes, arg); return 0;
    case 'j': a->json = arg; return 0;
    case 'K': a->kernel = arg; return 0;
    case 'T': a->seconds = (double)word_number(state, "timeout", arg, 1, 86400); return 0;
    case 'm': a->model = arg; return 0;
    case 'c': a->schedule = arg; return 0;
    case 'x': a->setup.x_data = arg; return 0;
    case 'g': a->setup.dout_data = arg; return 0;
    case 't': s->tokens = word_number(state, "tokens", arg, 1, 1 << 20); return 0;
    case 'd': s->dim = word_number(state, "dim", arg, 1, 1 << 14); return 0;
    case 'h': s->hidden = word_number(state, "hidden", arg, 1, 1 << 14); return 0;
    case 'n': s->experts = (int32_t)word_number(state, "experts", arg, 1, 64); return 0;
    case 'k': s->top = (int32_t)word_number(state, "top", arg, 1, 64); return 0;
    case 'e': a->setup.seed = (uint64_t)word_number(state, "seed", arg, 0, INT32_MAX); return 0;
    case 'p': a->setup.threads = (int)word_number(state, "threads", arg, 1, 4096); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    case ARGP_KEY_END:
        if (a->kernel && a->model)
            argp_error(state, "--kernel and --model: who multiplies is the kernel or the emulator");
        if (s->top > s->experts) argp_error(state, "--top %d of %d experts", s->top, s->experts);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"recipe", 'R', "LIST", 0,
     "Schemes: RECIPE, RECIPE+GRADIENT-RECIPE, each with @VARIANT (double-quantised, rowwise-reused, "
     "wgrad-rowwise, dgrad-rowwise, gradients-scaled)",
     0},
    {"format", 'f', "LIST", 0, "Element formats with e8m0 scales (e4m3,e5m2,e3m2,e2m3,e2m1,int8)", 0},
    {"block", 'b', "LIST", 0, "Block sizes along the reduction axis, for --format (16,32,64,128,row)", 0},
    {"kernel", 'K', "LIB.so", 0,
     "Multiply by this library's grouped-forward, grouped-dgrad and grouped-wgrad (mx_kernel.h)", 1},
    {"timeout", 'T', "SECONDS", 0, "For one call of the kernel (60)", 1},
    {"model", 'm', "NAME", 0, "Accumulation model of the products; without: fp32, k ascending", 1},
    {"schedule", 'c', "TEXT", 0, "What the kernel does above the matrix instruction (chain)", 1},
    {"x-data", 'x', "NAME", 0, "Distribution of the layer's input (outliers): `mxcheck list data`", 2},
    {"dout-data", 'g', "NAME", 0, "Distribution of the gradient that comes back (laplace), times 2^-12", 2},
    {"tokens", 't', "N", 0, "Tokens (512)", 2},
    {"dim", 'd', "N", 0, "Model width (256)", 2},
    {"hidden", 'h', "N", 0, "Width of an expert (256)", 2},
    {"experts", 'n', "N", 0, "Experts (8)", 2},
    {"top", 'k', "N", 0, "Experts of a token (2)", 2},
    {"seed", 'e', "N", 0, "Seed (1)", 2},
    {"threads", 'p', "N", 0, "Threads (all); the result does not depend on it", 3},
    {"json", 'j', "FILE", 0, "Write every cell", 4},
    {0}};

/* ---- what is judged ---------------------------------------------------------------------------------------
 */

static int add_scheme(plan *p, const arguments *a, bool right, const char *name)
{
    mx_error e = {MX_OK, "", ""};
    if (p->n == MOST_SCHEMES) return fail_usage(WHO, "more than %d schemes", MOST_SCHEMES);
    if (strlen(name) >= NAME_SIZE) return fail_usage(WHO, "'%s' is too long for a name", name);
    char *kept = strcpy(p->names[p->n], name);
    mx_scheme *s = &p->schemes[p->n];
    mx_status status = scheme_parse(kept, s, &e);
    if (!status && a->schedule) status = mx_schedule_parse(a->schedule, &s->schedule, &e);
    if (status) return fail_with(WHO, &e);
    s->seed = a->setup.seed;
    if (a->model && !(s->model = mx_model_find(a->model)))
        return fail_usage(WHO, "no model '%s'; `mxcheck list models` has them all", a->model);
    if (a->kernel && s->arith == MX_ARITH_QUANTIZED) {
        s->run = gradient_kernel_run;
        s->context = &p->kernel;
    }
    p->rows[p->n++] = (gradient_row){.scheme = s, .right = right};
    return 0;
}

static int add_list(plan *p, const arguments *a, bool right, const char *const *names, size_t n)
{
    int status = 0;
    for (size_t i = 0; i < n && !status; i++)
        status = add_scheme(p, a, right, names[i]);
    return status;
}

static int add_grid(plan *p, const arguments *a)
{
    int status = 0;
    for (int f = 0; f < a->formats.n; f++)
        for (int b = 0; b < a->blocks.n && !status; b++) {
            char name[NAME_SIZE];
            snprintf(name, sizeof name, "study:%s/e8m0/%s%s/rceil/rne", a->formats.word[f],
                     strcmp(a->blocks.word[b], "row") ? "1x" : "", a->blocks.word[b]);
            status = add_scheme(p, a, true, name);
        }
    return status;
}

/* Every recipe that the kernel offers a grouped-forward for. */
static int add_offered(plan *p, const arguments *a)
{
    int status = 0;
    for (int i = 0; i < p->kernel.n_offers && !status; i++) {
        const offer *o = &p->kernel.offers[i];
        bool known = strcmp(o->operation, "grouped-forward") || !mx_recipe_find(o->recipe);
        for (size_t j = 0; j < p->n; j++)
            known |= !strcmp(p->names[j], o->recipe);
        if (!known) status = add_scheme(p, a, true, o->recipe);
    }
    if (!status && !p->n)
        return fail_usage(WHO, "%s: no grouped-forward of a known recipe is offered; name one by --recipe",
                          a->kernel);
    return status;
}

static int make_plan(arguments *a, plan *p)
{
    static const char *const recipes[] = {"mxfp8", "mxfp8+mxfp8-e5m2", "mxfp8-32x32", "mxfp6-e2m3", "mxfp4",
                                          "nvfp4", "fp8-1x128",        "fp8-128x128", "fp8-tensor"};
    static const char *const losing[] = {"mxfp8-floor",
                                         "mxfp8@rowwise-reused",
                                         "mxfp8@wgrad-rowwise",
                                         "mxfp8@gradients-scaled",
                                         "mxfp8@double-quantised",
                                         "fp8-1x128@double-quantised",
                                         "nvfp4@double-quantised",
                                         "bf16+e5m2-unscaled-flushed"};
    bool plain = !a->formats.n && !a->recipes.n;
    if (plain && a->kernel) return add_offered(p, a);
    if (plain) words_cut(&a->formats, "e4m3,e5m2,e3m2,e2m3,e2m1,int8");
    if (!a->blocks.n) words_cut(&a->blocks, plain ? "16,32,64,128,row" : "32");
    int status = add_grid(p, a);
    if (!status && plain) status = add_list(p, a, true, recipes, sizeof recipes / sizeof *recipes);
    if (!status && plain) status = add_list(p, a, false, losing, sizeof losing / sizeof *losing);
    if (!status) status = add_list(p, a, true, a->recipes.word, (size_t)a->recipes.n);
    return status;
}

static void show(void *context, double done, double all) { progress_show(context, done, all); }

static int write_json(const gradient_scene *s, const plan *p, const char *path)
{
    mx_error e = {MX_OK, "", ""};
    return mx_json_write(path, gradient_to_json(s, p->rows, p->n), &e) ? fail_with(WHO, &e) : 0;
}

/* What could not run is no pass; but a finding is worth more. */
static int status_of(const plan *p)
{
    int status = gradient_passed(p->rows, p->n) ? EXIT_PASSED : EXIT_CANNOT_RUN;
    for (size_t i = 0; i < p->n; i++)
        if (p->rows[i].right && !p->rows[i].status && p->rows[i].first >= 0) status = EXIT_FINDINGS;
    return status;
}

static int judge(const arguments *a, plan *p)
{
    mx_error e = {MX_OK, "", ""};
    gradient_scene scene;
    progress bar = progress_begin("gradients");
    int status = gradient_begin(&a->setup, &scene, &e) ? fail_with(WHO, &e) : 0;
    if (!status) gradient_judge(&scene, p->rows, p->n, show, &bar);
    progress_end(&bar);
    if (!status) gradient_print(&scene, p->rows, p->n, stdout);
    if (!status && a->json) status = write_json(&scene, p, a->json);
    if (!status) status = status_of(p);
    gradient_end(&scene);
    return status;
}

static int open_kernel(arguments *a, plan *p)
{
    if (!a->kernel) return 0;
    const subject_limits limits = {a->seconds};
    subject_open_library(&p->kernel, a->kernel, &limits);
    if (!*p->kernel.cannot) {
        a->setup.threads = 1; /* one call of a kernel at a time */
        return 0;
    }
    fail_usage(WHO, "%s: %s", a->kernel, printable(p->kernel.cannot));
    return p->kernel.status == MX_CANNOT_RUN ? EXIT_CANNOT_RUN : EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Forward and backward of an MoE layer (router, SwiGLU experts, combine) with every product "
            "quantised as a training kernel does it, against fp64 and BF16: error, angle, magnitude, worst "
            "row, first tensor that goes bad. The gate is what an ideal quantiser of that format would "
            "lose in this layer, beside BF16; a wrong magnitude fails whatever the angle.\v"
            "Examples: mxcheck gradient\n"
            "          mxcheck gradient --format e4m3 --block 32,128 --json gradient.json\n"
            "          mxcheck gradient --kernel ./libkernel.so\n"
            "          mxcheck gradient --recipe mxfp8,nvfp4@double-quantised,mxfp8+mxfp8-e5m2"};
    arguments a = {.setup = {{512, 256, 256, 8, 2}, 1, "outliers", "laplace", 0}, .seconds = 60};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    plan *p = calloc(1, sizeof *p);
    int status = p ? open_kernel(&a, p) : fail_usage(WHO, "out of memory");
    if (!status) status = make_plan(&a, p);
    if (!status) status = judge(&a, p);
    if (p && a.kernel) subject_close(&p->kernel);
    words_free(&a.formats);
    words_free(&a.blocks);
    words_free(&a.recipes);
    free(p);
    return status;
}

const command command_gradient = {"gradient", "forward, dgrad and wgrad agreement over the same", 60, run};
