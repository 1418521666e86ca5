/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck sweep`: error distributions over formats, block sizes, rules and data. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "data.h"
#include "fail.h"
#include "json.h"
#include "parallel.h"
#include "progress.h"
#include "store.h"
#include "sweep.h"
#include "sweep_result.h"
#include "words.h"

#define WHO "sweep"

enum { MOST_RECIPES = 4096 };

typedef struct arguments {
    words formats, blocks, rules, roundings, recipes, data;
    const char *input, *tensor, *json, *source;
    int64_t rows, cols;
    uint64_t seed;
    int threads, shard, shards;
} arguments;

typedef struct plan {
    const mx_recipe *recipes[MOST_RECIPES];
    size_t n;
} plan;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'f': words_cut(&a->formats, arg); return 0;
    case 'b': words_cut(&a->blocks, arg); return 0;
    case 'r': words_cut(&a->rules, arg); return 0;
    case 'o': words_cut(&a->roundings, arg); return 0;
    case 'R': words_cut(&a->recipes, arg); return 0;
    case 'd': words_cut(&a->data, arg); return 0;
    case 'i': a->input = arg; return 0;
    case 't': a->tensor = arg; return 0;
    case 'j': a->json = arg; return 0;
    case 's': a->source = arg; return 0;
    case 'm': a->rows = word_number(state, "rows", arg, 1, INT64_C(1) << 40); return 0;
    case 'n': a->cols = word_number(state, "cols", arg, 1, INT64_C(1) << 31); return 0;
    case 'e': a->seed = (uint64_t)word_number(state, "seed", arg, 0, INT64_MAX); return 0;
    case 'p': a->threads = (int)word_number(state, "threads", arg, 1, 4096); return 0;
    case 'S': word_shard(state, arg, SWEEP_MOST_SHARDS, &a->shard, &a->shards); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"format", 'f', "LIST", 0, "Element formats (e4m3,e5m2,e3m2,e2m3,e2m1,int8)", 0},
    {"block", 'b', "LIST", 0, "Block sizes along a row (8,16,32,64,128,256,row)", 0},
    {"rule", 'r', "LIST", 0, "Scale rules (rceil; also floor, ceil, even, up, near)", 0},
    {"rounding", 'o', "LIST", 0, "Element roundings (rne; also rna, rnz, rtz, rup, rdn, sr16)", 0},
    {"recipe", 'R', "LIST", 0, "Named recipes besides, or instead where --format is not given", 0},
    {"data", 'd', "LIST", 0, "Distributions (normal,student,outliers,gradient): `mxcheck list data`", 0},
    {"input", 'i', "FILE", 0, "Sweep tensors of a .safetensors or .npy file or a sharded checkpoint instead",
     1},
    {"tensor", 't', "NAME", 0, "Only this tensor of the file", 1},
    {"rows", 'm', "N", 0, "Rows of synthetic tensors (512)", 2},
    {"cols", 'n', "N", 0, "Columns of synthetic tensors (2048)", 2},
    {"source", 's', "FORMAT", 0, "Format that synthetic values are rounded to first (bf16)", 2},
    {"seed", 'e', "N", 0, "Seed of data and of stochastic rounding (1)", 2},
    {"threads", 'p', "N", 0, "Threads (all); the result does not depend on it", 3},
    {"shard", 'S', "I/N", 0, "Only part I of N; `mxcheck report --merge` joins them", 3},
    {"json", 'j', "FILE", 0, "Write everything, histograms included", 4},
    {0}};

/* ---- what is swept
 * -------------------------------------------------------------------------------------------- */

static int add_recipe(plan *p, const char *name)
{
    const mx_recipe *r = mx_recipe_find(name);
    if (!r) return fail_usage(WHO, "no recipe '%s'; `mxcheck list recipes` has them all", name);
    if (!mx_recipe_scale(r))
        return fail_usage(WHO, "'%s' is a plain cast: there are no blocks to sweep", name);
    if (p->n == MOST_RECIPES) return fail_usage(WHO, "more than %d recipes", MOST_RECIPES);
    p->recipes[p->n++] = r;
    return 0;
}

static int make_plan(arguments *a, plan *p)
{
    static const char *const beside[] = {"mxfp8-floor", "mxfp8-ceil", "mxfp8-even", "mxfp4-floor",
                                         "mxfp4-ceil",  "mxfp4-even", "nvfp4",      "fp8-1x128",
                                         "fp8-128x128", "fp8-tensor"};
    bool plain = !a->formats.n && !a->recipes.n;
    if (plain) words_cut(&a->formats, "e4m3,e5m2,e3m2,e2m3,e2m1,int8");
    if (!a->blocks.n) words_cut(&a->blocks, plain ? "8,16,32,64,128,256,row" : "32");
    if (!a->rules.n) words_cut(&a->rules, "rceil");
    if (!a->roundings.n) words_cut(&a->roundings, "rne");
    int status = 0;
    for (int f = 0; f < a->formats.n; f++)
        for (int b = 0; b < a->blocks.n; b++)
            for (int r = 0; r < a->rules.n; r++)
                for (int o = 0; o < a->roundings.n && !status; o++) {
                    char name[64];
                    snprintf(name, sizeof name, "study:%s/e8m0/%s%s/%s/%s", a->formats.word[f],
                             strcmp(a->blocks.word[b], "row") ? "1x" : "", a->blocks.word[b],
                             a->rules.word[r], a->roundings.word[o]);
                    status = add_recipe(p, name);
                }
    for (int i = 0; i < a->recipes.n && !status; i++)
        status = add_recipe(p, a->recipes.word[i]);
    for (size_t i = 0; plain && i < sizeof beside / sizeof *beside && !status; i++)
        status = add_recipe(p, beside[i]);
    return status;
}

/* ---- running
 * --------------------------------------------------------------------------------------------------- */

typedef struct session {
    const arguments *a;
    const plan *p;
    sweep_result *result;
    progress bar;
    double first, share; /* of the whole work: done before this tensor, and this tensor's */
} session;

static void show(void *context, double done)
{
    session *s = context;
    progress_show(&s->bar, s->first + s->share * done, 1);
}

static int sweep_one(session *s, const sweep_input *in, mx_error *e)
{
    sweep_run run = {s->a->shard, s->a->shards, s->a->threads, show, s};
    mx_stats *stats = malloc(s->p->n * sizeof *stats);
    sweep_cell *cells = stats ? sweep_result_add(s->result, s->p->n) : NULL;
    mx_status status = cells ? sweep_tensor(in, s->p->recipes, s->p->n, &run, stats, e)
                             : mx_fail(e, MX_NO_MEMORY, in->name, "out of memory");
    for (size_t i = 0; !status && i < s->p->n; i++) {
        snprintf(cells[i].data, sizeof cells[i].data, "%s", in->name);
        snprintf(cells[i].recipe, sizeof cells[i].recipe, "%s", mx_recipe_name(s->p->recipes[i]));
        cells[i].rows = in->rows;
        cells[i].cols = in->cols;
        cells[i].seed = in->seed;
        cells[i].stats = stats[i];
    }
    free(stats);
    return status ? fail_with(WHO, e) : 0;
}

static int sweep_synthetics(session *s)
{
    const mx_format *source = mx_format_find(s->a->source);
    if (!source || source->bits < 16)
        return fail_usage(WHO, "--source %s: f32, bf16 or f16 is wanted", s->a->source);
    int status = 0;
    for (int i = 0; i < s->a->data.n && !status; i++) {
        mx_error e;
        sweep_synthetic synthetic = {mx_data_find(s->a->data.word[i]), source};
        if (!synthetic.data)
            return fail_usage(WHO, "no distribution '%s'; `mxcheck list data` has them all",
                              s->a->data.word[i]);
        sweep_input in = sweep_input_synthetic(&synthetic, s->a->seed, s->a->rows, s->a->cols);
        s->first = (double)i / s->a->data.n;
        s->share = 1.0 / s->a->data.n;
        status = sweep_one(s, &in, &e);
    }
    return status;
}

/* Every floating-point matrix of the file, or the one asked for; the others are named on stderr. */
static int sweep_file(session *s)
{
    mx_error e;
    mx_store store;
    if (mx_store_open(s->a->input, &store, &e)) return fail_with(WHO, &e);
    int status = 0;
    size_t done = 0;
    for (size_t i = 0; i < store.n_arrays && !status; i++) {
        sweep_stored stored = {&store, &store.arrays[i]};
        sweep_input in;
        if (s->a->tensor && strcmp(s->a->tensor, store.arrays[i].name)) continue;
        s->first = (double)i / (double)store.n_arrays;
        s->share = 1 / (double)store.n_arrays;
        if (sweep_input_stored(&stored, &in, &e)) {
            fprintf(stderr, "mxcheck sweep: left out: %s: %s\n", printable(e.place), e.message);
            continue;
        }
        in.seed = s->a->seed;
        status = sweep_one(s, &in, &e);
        done++;
    }
    mx_store_close(&store);
    if (!status && !done)
        return fail_usage(WHO, "%s: no tensor %s to sweep", s->a->input,
                          s->a->tensor ? s->a->tensor : "of f32, bf16 or f16");
    return status;
}

static int write_json(const sweep_result *r, const char *path)
{
    mx_error e = {MX_OK, "", ""};
    return mx_json_write(path, sweep_result_to_json(r), &e) ? fail_with(WHO, &e) : 0;
}

/* Bring the parts of all processes together; on rank 0 `r` is the whole then. */
static int gather(sweep_result *r, const parallel *world)
{
    json_t *mine = sweep_result_to_json(r);
    char *text = mx_json_dump(mine);
    json_decref(mine);
    int status = 0;
    for (int rank = 1; rank < world->size && text && !status; rank++) {
        if (world->rank && world->rank != rank) continue;
        if (world->rank) {
            parallel_send(world, text);
            continue;
        }
        mx_error e = {MX_OK, "", ""};
        sweep_result part = {0};
        char *received = parallel_receive(world, rank);
        json_t *o =
            received ? mx_json_parse(received, strlen(received), "part of another process", &e) : NULL;
        mx_status s = o ? sweep_result_from_json(o, &part, "part of another process", &e) : MX_BAD_INPUT;
        if (!s) s = sweep_result_merge(r, &part, "part of another process", &e);
        if (s) status = fail_with(WHO, &e);
        sweep_result_free(&part);
        json_decref(o);
        free(received);
    }
    free(text);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "What formats, block sizes, scale rules and roundings do to numbers: SQNR, error quantiles, "
               "bias, and how "
               "the codes and scales are used.\v"
               "Examples: mxcheck sweep\n"
               "          mxcheck sweep --format e4m3 --block 16,32 --rule floor,rceil --json sweep.json\n"
               "          mxcheck sweep --input model.safetensors --recipe mxfp8,nvfp4\n"
               "          mpirun -n 4 mxcheck sweep"};
    arguments a = {.rows = 512, .cols = 2048, .seed = 1, .source = "bf16", .shards = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (!a.data.n) words_cut(&a.data, "normal,student,outliers,gradient");
    parallel world;
    mx_error e = {MX_OK, "", ""};
    if (parallel_begin(&world, &e)) return fail_with(WHO, &e);
    if (world.size > 1) {
        if (a.shards > 1) return fail_usage(WHO, "--shard and several processes: one of the two");
        a.shard = world.rank;
        a.shards = world.size;
    }

    static plan p;
    sweep_result result = {.shards = a.shards};
    result.have[a.shard] = 1;
    int status = make_plan(&a, &p);
    session s = {&a, &p, &result, progress_begin("sweeping"), 0, 1};
    if (!status) status = a.input ? sweep_file(&s) : sweep_synthetics(&s);
    progress_end(&s.bar);
    if (!status) status = gather(&result, &world);
    if (world.size > 1) result.shards = result.have[0] = 1; /* one whole, with the bytes of one process */
    if (!status && !world.rank) sweep_result_print(&result, stdout);
    if (!status && !world.rank && a.json) status = write_json(&result, a.json);
    sweep_result_free(&result);
    words *const lists[] = {&a.formats, &a.blocks, &a.rules, &a.roundings, &a.recipes, &a.data};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        words_free(lists[i]);
    parallel_end(&world);
    return status;
}

const command command_sweep = {"sweep", "error distributions over formats, block sizes, rules and data", 50,
                               run};
