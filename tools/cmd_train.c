/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck train`: loss curves of a small MoE language model, low precision against BF16. */
#include <argp.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fail.h"
#include "file.h"
#include "genesis.h"
#include "gradient_kernel.h"
#include "json.h"
#include "model.h"
#include "progress.h"
#include "scheme.h"
#include "train_judge.h"
#include "train_result.h"
#include "words.h"

#define WHO "train"

enum { MOST_TEXT = 1 << 28, MOST_SEEDS = 64 };

typedef struct arguments {
    words recipes;
    train_setup setup;
    int32_t seeds, scheme_seeds, until;
    int threads;
    const char *text, *json, *model, *schedule, *checkpoint, *kernel;
    subject subject; /* the kernel under test, where there is one */
    bool resume;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'R': words_cut(&a->recipes, arg); return 0;
    case 'n': a->setup.steps = (int32_t)word_number(state, "steps", arg, 1, 1000000); return 0;
    case 's': a->seeds = (int32_t)word_number(state, "seeds", arg, 2, MOST_SEEDS); return 0;
    case 'S': a->scheme_seeds = (int32_t)word_number(state, "scheme-seeds", arg, 1, MOST_SEEDS); return 0;
    case 'b': a->setup.batch = (int32_t)word_number(state, "batch", arg, 1, 4096); return 0;
    case 'u': a->setup.micro = (int32_t)word_number(state, "micro", arg, 1, 4096); return 0;
    case 'd': a->setup.shape.dim = (int32_t)word_number(state, "dim", arg, 4, 4096); return 0;
    case 'h': a->setup.shape.hidden = (int32_t)word_number(state, "hidden", arg, 1, 4096); return 0;
    case 'l': a->setup.shape.layers = (int32_t)word_number(state, "layers", arg, 1, LM_MOST_LAYERS); return 0;
    case 'x': a->setup.shape.context = (int32_t)word_number(state, "context", arg, 1, 1024); return 0;
    case 'D': a->setup.data_seed = (uint64_t)word_number(state, "data-seed", arg, 0, INT32_MAX); return 0;
    case 'K': a->kernel = arg; return 0;
    case 'm': a->model = arg; return 0;
    case 'c': a->schedule = arg; return 0;
    case 't': a->text = arg; return 0;
    case 'j': a->json = arg; return 0;
    case 'k': a->checkpoint = arg; return 0;
    case 'r': a->resume = true; return 0;
    case 'U': a->until = (int32_t)word_number(state, "until", arg, 1, 1000000); return 0;
    case 'p': a->threads = (int)word_number(state, "threads", arg, 1, 4096); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    case ARGP_KEY_END:
        if (a->scheme_seeds > a->seeds) argp_error(state, "--scheme-seeds is more than --seeds");
        if ((a->resume || a->until) && !a->checkpoint)
            argp_error(state, "which file? --checkpoint is missing");
        if (a->kernel && a->model)
            argp_error(state, "--kernel and --model: who multiplies is the kernel or the emulator");
        if (a->setup.batch % a->setup.micro) argp_error(state, "--micro must divide --batch");
        if (a->setup.shape.dim % a->setup.shape.heads)
            argp_error(state, "--dim must be a multiple of %d", a->setup.shape.heads);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"recipe", 'R', "LIST", 0,
     "Schemes: RECIPE, RECIPE+GRADIENT-RECIPE, each with @VARIANT (double-quantised, rowwise-reused, "
     "wgrad-rowwise, dgrad-rowwise, gradients-scaled, dropped-micro-batch)",
     0},
    {"kernel", 'K', "LIB.so", 0,
     "Multiply quantised operands by this library's grouped-forward, grouped-dgrad and grouped-wgrad "
     "(mx_kernel.h)",
     1},
    {"model", 'm', "NAME", 0,
     "Accumulation model of the products that it takes; without: fp32, k ascending (much faster)", 1},
    {"schedule", 'c', "TEXT", 0, "What the kernel does above the matrix instruction (chain)", 1},
    {"steps", 'n', "N", 0, "Steps (500)", 2},
    {"seeds", 's', "N", 0, "BF16 seeds, which make the band (4)", 2},
    {"scheme-seeds", 'S', "N", 0, "Seeds of every scheme (2)", 2},
    {"batch", 'b', "N", 0, "Sequences a step (8)", 2},
    {"micro", 'u', "N", 0, "Micro-batches a step (2)", 2},
    {"context", 'x', "N", 0, "Characters of a sequence (32)", 2},
    {"dim", 'd', "N", 0, "Model width (64)", 2},
    {"hidden", 'h', "N", 0, "Width of an expert (64)", 2},
    {"layers", 'l', "N", 0, "Layers (2)", 2},
    {"data-seed", 'D', "N", 0, "Seed of the order of data, the same for all runs (1)", 2},
    {"text", 't', "FILE", 0, "Text to learn (the book of Genesis, King James Version)", 2},
    {"checkpoint", 'k', "FILE", 0, "Write the state of all runs at the end", 3},
    {"until", 'U', "N", 0, "Stop after this step, and write the checkpoint; no verdict", 3},
    {"resume", 'r', NULL, 0, "Go on from --checkpoint: the bits are those of one go", 3},
    {"threads", 'p', "N", 0, "Runs at a time (all cores); the result does not depend on it", 4},
    {"json", 'j', "FILE", 0, "Write all curves", 5},
    {0}};

/* ---- what is run ------------------------------------------------------------------------------------------
 */

static int read_text(const arguments *a, train_text *out)
{
    mx_error e = {MX_OK, "", ""};
    mx_input in;
    char *text = NULL;
    size_t n = 0;
    if (!a->text) {
        const char *own = genesis_text(&n);
        return train_text_make(own, n, out, &e) ? fail_with(WHO, &e) : 0;
    }
    mx_status s = mx_input_open(a->text, false, &in, &e);
    if (s) return fail_with(WHO, &e);
    s = mx_input_all(&in, MOST_TEXT, &text, &n, &e);
    if (!s && n < 16 * (size_t)(a->setup.shape.context + 1))
        s = mx_fail(&e, MX_BAD_INPUT, a->text, "too short for sequences of %d", a->setup.shape.context);
    if (!s) s = train_text_make(text, n, out, &e);
    free(text);
    mx_input_close(&in);
    return s ? fail_with(WHO, &e) : 0;
}

static int add_run(arguments *a, train_study *s, const char *name, uint64_t seed, bool reordered)
{
    mx_error e = {MX_OK, "", ""};
    train_run *r = &s->runs[s->n_runs];
    *r = (train_run){.scheme_name = name, .seed = seed, .reordered = reordered};
    mx_status status = scheme_parse(name, &r->scheme, &e);
    if (!status && a->schedule) status = mx_schedule_parse(a->schedule, &r->scheme.schedule, &e);
    if (status) return fail_with(WHO, &e);
    r->drops = scheme_variant_of(name)->drops_micro_batch;
    const mx_model *m = a->model ? mx_model_find(a->model) : NULL;
    if (a->model && !m) return fail_usage(WHO, "no model '%s'; `mxcheck list models` has them all", a->model);
    bool takes = r->scheme.arith == MX_ARITH_QUANTIZED || (m && mx_model_accepts(m, mx_format_find("bf16")));
    r->scheme.model = takes ? m : NULL;
    if (a->kernel && r->scheme.arith == MX_ARITH_QUANTIZED) {
        r->scheme.run = gradient_kernel_run;
        r->scheme.context = &a->subject;
    }
    s->n_runs++;
    return train_run_make(&s->setup, r, &e) ? fail_with(WHO, &e) : 0;
}

/* The default schemes; those after the first PLAIN_RIGHT are known to lose more than BF16. */
static const char *const plain[] = {"mxfp8",
                                    "mxfp8+mxfp8-e5m2",
                                    "fp8-1x128",
                                    "fp8-tensor",
                                    "mxfp8@rowwise-reused",
                                    "mxfp8@gradients-scaled",
                                    "mxfp4",
                                    "nvfp4",
                                    "bf16+e5m2-unscaled-flushed"};
enum { PLAIN = sizeof plain / sizeof *plain, PLAIN_RIGHT = 4 };

static int make_runs(arguments *a, train_study *s, const char **names, size_t n)
{
    int status = 0;
    s->runs = calloc((size_t)a->seeds + 1 + n * (size_t)a->scheme_seeds, sizeof *s->runs);
    if (!s->runs) return fail_usage(WHO, "out of memory");
    for (int i = 1; i <= a->seeds && !status; i++)
        status = add_run(a, s, "bf16", (uint64_t)i, false);
    if (!status) status = add_run(a, s, "bf16", 1, true);
    for (size_t j = 0; j < n; j++)
        for (int i = 1; i <= a->scheme_seeds && !status; i++)
            status = add_run(a, s, names[j], (uint64_t)i, false);
    return status;
}

/* ---- running ----------------------------------------------------------------------------------------------
 */

typedef struct session {
    progress bar;
    double done, all;
} session;

static void tick(void *context)
{
    session *s = context;
#pragma omp critical(train_progress)
    progress_show(&s->bar, ++s->done, s->all);
}

static void train_all(const arguments *a, train_study *s, int32_t until)
{
    session all = {progress_begin("training"), 0, 0};
    for (size_t i = 0; i < s->n_runs; i++)
        all.all += until - s->runs[i].step;
    int threads = a->threads > 0 ? a->threads : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < s->n_runs; i++)
        train_run_to(&s->setup, &s->text, &s->runs[i], until, tick, &all);
    progress_end(&all.bar);
}

static int write_json(const train_study *s, const char *path)
{
    mx_error e = {MX_OK, "", ""};
    return mx_json_write(path, train_to_json(s), &e) ? fail_with(WHO, &e) : 0;
}

static int check_statuses(const train_study *s)
{
    for (size_t i = 0; i < s->n_runs; i++)
        if (s->runs[i].status) {
            mx_error e = s->runs[i].error;
            fail_with(s->runs[i].scheme_name, &e);
            return e.status == MX_UNSUPPORTED || e.status == MX_CANNOT_RUN ? EXIT_CANNOT_RUN : EXIT_USAGE;
        }
    return 0;
}

static int study(const arguments *a, train_study *s, const char *const *right, size_t n_right)
{
    mx_error e = {MX_OK, "", ""};
    int32_t until = a->until && a->until < s->setup.steps ? a->until : s->setup.steps;
    if (a->resume && train_load(&s->setup, s->runs, s->n_runs, a->checkpoint, &e)) return fail_with(WHO, &e);
    train_all(a, s, until);
    int status = check_statuses(s);
    if (!status && a->checkpoint && train_save(&s->setup, s->runs, s->n_runs, a->checkpoint, &e))
        return fail_with(WHO, &e);
    if (!status && until < s->setup.steps) {
        printf("train: stopped after step %d of %d; go on with --resume\n", until, s->setup.steps);
        return EXIT_PASSED;
    }
    if (!status && train_judge(s, right, n_right, &e)) return fail_with(WHO, &e);
    if (!status) train_print(s, stdout);
    if (!status && a->json) status = write_json(s, a->json);
    return status ? status : train_passed(s) ? EXIT_PASSED : EXIT_FINDINGS;
}

static int open_kernel(arguments *a)
{
    const subject_limits limits = {60};
    if (!a->kernel) return 0;
    subject_open_library(&a->subject, a->kernel, &limits);
    a->threads = 1; /* one call of a kernel at a time */
    if (!*a->subject.cannot) return 0;
    fail_usage(WHO, "%s: %s", a->kernel, printable(a->subject.cannot));
    return a->subject.status == MX_CANNOT_RUN ? EXIT_CANNOT_RUN : EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Train a small character-level MoE transformer under each scheme, from the same weights on the "
            "same data, and judge the loss curves by the noise of BF16 itself: its spread over seeds. A "
            "curve cannot show a wrong size of gradients, which AdamW divides away, so the first gradient "
            "is judged too.\v"
            "Examples: mxcheck train\n"
            "          mxcheck train --recipe mxfp8,nvfp4 --steps 1000 --json train.json\n"
            "          mxcheck train --recipe mxfp8 --kernel ./libkernel.so\n"
            "          mxcheck train --recipe mxfp8 --model sm100-mxf8f6f4"};
    arguments a = {.setup = {{0, 32, 64, 4, 2, 64, 4, 2}, 500, 8, 2, 3e-3, 1}, .seeds = 4, .scheme_seeds = 2};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    const char **names = a.recipes.n ? a.recipes.word : (const char **)(uintptr_t)plain;
    size_t n = a.recipes.n ? (size_t)a.recipes.n : PLAIN, right = a.recipes.n ? n : PLAIN_RIGHT;
    train_study s = {.setup = a.setup, .window = train_window(&a.setup)};
    int status = read_text(&a, &s.text);
    s.setup.shape.vocabulary = s.text.vocabulary;
    if (!status) status = open_kernel(&a);
    if (!status) status = make_runs(&a, &s, names, n);
    if (!status) status = study(&a, &s, names, right);
    if (a.kernel) subject_close(&a.subject);
    train_study_free(&s);
    words_free(&a.recipes);
    return status;
}

const command command_train = {"train", "loss curves, low precision against BF16, with a noise band", 70,
                               run};
