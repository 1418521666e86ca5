/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck quantize`: tensors of a file as a recipe says, in parts that fit memory. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "band.h"
#include "command.h"
#include "fail.h"
#include "parts.h"
#include "progress.h"
#include "quantized.h"

enum { MAX_NAMES = 256 };

typedef struct arguments {
    const char *input, *output, *layout, *input_format;
    const mx_recipe *recipe;
    const char *names[MAX_NAMES];
    int n_names, threads;
    uint64_t seed;
} arguments;

/* One tensor on its way. */
typedef struct job {
    const arguments *args;
    const mx_store *store;
    const mx_array *x;
    const mx_format *format; /* of x */
    quantized_shape shape;
    parts cut;
    sink *out;
    progress *bar;
    void *values;
    mx_quantized q; /* of one part */
    mx_band where;
    unsigned char *scales; /* of the whole, canonical, where a layout will place them */
} job;

/* ---- one tensor -------------------------------------------------------------------------------------------
 */

static mx_matrix matrix_of(const job *j, const part *p)
{
    return (mx_matrix){j->format, j->values, p->rows, p->cols, p->cols};
}

static mx_status read_part(job *j, const part *p, mx_error *e)
{
    progress_show(j->bar, (double)p->row * (double)j->shape.cols + (double)p->col,
                  (double)j->shape.rows * (double)j->shape.cols);
    return part_read(j->store, j->x, j->shape.cols, p, j->values, e);
}

static mx_status find_amax(job *j, mx_error *e)
{
    part p = {0};
    mx_status status = MX_OK;
    while (!status && parts_next(&j->cut, &p)) {
        mx_matrix x = matrix_of(j, &p);
        if (!(status = read_part(j, &p, e))) status = mx_band_amax(j->args->recipe, &x, &j->where.amax, e);
    }
    return status;
}

static mx_status put_scales(job *j, const char *name, const part *p, mx_error *e)
{
    part s = quantized_scale_part(&j->shape, p);
    if (j->shape.whole && (p->row || p->col)) return MX_OK; /* the one scale is written */
    if (!j->scales)
        return sink_part(j->out, name, j->shape.scale.bytes, j->shape.grid_cols, &s, j->q.scales, e);
    size_t row = (size_t)s.cols * j->shape.scale.bytes;
    for (int64_t i = 0; i < s.rows; i++)
        memcpy(j->scales + (size_t)((s.row + i) * j->shape.grid_cols + s.col) * j->shape.scale.bytes,
               (char *)j->q.scales + (size_t)i * row, row);
    return MX_OK;
}

static mx_status place_scales(job *j, const char *name, mx_error *e)
{
    const quantized_shape *s = &j->shape;
    unsigned char *placed = calloc(s->placed_bytes ? (size_t)s->placed_bytes : 1, 1);
    if (!placed)
        return mx_fail(e, MX_NO_MEMORY, name, "no memory for %lld bytes of scales",
                       (long long)s->placed_bytes);
    mx_grid g = {.rows = s->grid_rows, .cols = s->grid_cols};
    mx_status status = mx_layout_pack(s->layout, &g, j->scales, placed, e);
    if (!status) status = sink_put(j->out, name, 0, placed, (size_t)s->placed_bytes, e);
    free(placed);
    return status;
}

static mx_status convert_parts(job *j, mx_error *e)
{
    const arguments *a = j->args;
    char scale_name[QUANTIZED_NAME], global_name[QUANTIZED_NAME];
    quantized_name(scale_name, j->x->name, ".scale");
    quantized_name(global_name, j->x->name, ".global");
    part p = {0};
    mx_status status = mx_band_needs_amax(a->recipe) ? find_amax(j, e) : MX_OK;
    j->q.global = mx_global_store(a->recipe, j->where.amax);
    while (!status && parts_next(&j->cut, &p)) {
        mx_matrix x = matrix_of(j, &p);
        j->where.first_row = p.row;
        j->where.first_col = p.col;
        if (!(status = read_part(j, &p, e))) status = mx_band_quantize(a->recipe, &x, &j->where, &j->q, e);
        if (!status) status = sink_part(j->out, j->x->name, 1, j->shape.cols, &p, j->q.codes, e);
        if (!status && j->shape.has_scale) status = put_scales(j, scale_name, &p, e);
    }
    if (!status && j->scales) status = place_scales(j, scale_name, e);
    if (!status && mx_recipe_has_global(a->recipe))
        status = sink_put(j->out, global_name, 0, &j->q.global, sizeof j->q.global, e);
    return status;
}

static mx_status convert(const arguments *a, const mx_store *store, const mx_array *x,
                         const mx_format *format, sink *out, mx_error *e)
{
    progress bar = progress_begin(printable(x->name));
    job j = {.args = a, .store = store, .x = x, .format = format, .out = out, .bar = &bar};
    mx_status status = quantized_describe(&j.shape, a->recipe, a->layout, x, e);
    if (status) return status;
    j.cut = quantized_cut(&j.shape);
    j.where = (mx_band){.matrix_cols = j.shape.cols, .seed = a->seed, .threads = a->threads};
    size_t most = (size_t)parts_largest(&j.cut) + 1, grid = (size_t)(j.shape.grid_rows * j.shape.grid_cols);
    j.values = malloc(most * x->dtype.bytes);
    j.q.codes = malloc(most);
    j.q.scales = malloc(most * sizeof(float)); /* a block has at least one element */
    if (j.shape.layout) j.scales = calloc(grid + 1, j.shape.scale.bytes);
    status = j.values && j.q.codes && j.q.scales && (j.scales || !j.shape.layout)
                 ? convert_parts(&j, e)
                 : mx_fail(e, MX_NO_MEMORY, x->name, "no memory for a part of %zu elements", most);
    progress_end(&bar);
    free(j.values);
    free(j.q.codes);
    free(j.q.scales);
    free(j.scales);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------
 */

/* The format that x is read as; NULL: it is copied as it is. Named tensors, else every float matrix, and the
 * only array of a .npy file. */
static const mx_format *wanted(const arguments *a, const mx_store *store, const mx_array *x)
{
    mx_dtype forced;
    bool named = store->n_arrays == 1;
    for (int i = 0; i < a->n_names; i++)
        named |= !strcmp(a->names[i], x->name);
    if (named && a->input_format && mx_dtype_find(a->input_format, &forced) && forced.bytes == x->dtype.bytes)
        return forced.format;
    const mx_format *f = x->dtype.format;
    if (!f || f->bits < 16 || f->kind != MX_KIND_FLOAT) return NULL;
    return named || (!a->n_names && x->rank >= 2) ? f : NULL;
}

static mx_status check_names(const arguments *a, const mx_store *store, mx_error *e)
{
    for (int i = 0; i < a->n_names; i++) {
        const mx_array *x = mx_store_find(store, a->names[i]);
        if (!x) return mx_fail(e, MX_BAD_USAGE, a->input, "no tensor '%s'", a->names[i]);
        if (!wanted(a, store, x))
            return mx_fail(e, MX_BAD_USAGE, a->input, "tensor '%s' is %s; f32, bf16, f16 or tf32 is needed",
                           x->name, x->dtype.name);
    }
    return MX_OK;
}

/* Arrays and metadata of the output. */
static mx_status describe(const arguments *a, const mx_store *store, mx_store *out, size_t *n, mx_error *e)
{
    *out = (mx_store){0};
    mx_status status = quantized_keep_metadata(store, out, e);
    for (size_t i = 0; i < store->n_arrays && !status; i++) {
        const mx_array *x = &store->arrays[i];
        bool taken = wanted(a, store, x) != NULL;
        status = taken ? quantized_add(a->recipe, a->layout, x, out, e) : mx_store_add(out, x, e);
        *n += taken;
    }
    if (!status && !*n)
        return mx_fail(e, MX_BAD_USAGE, a->input,
                       "no tensor to quantize: name one with --tensor, or give its --input-format");
    return status;
}

static mx_status quantize_all(const arguments *a, const mx_store *store, size_t *n, mx_error *e)
{
    mx_store description;
    sink out;
    mx_status status = describe(a, store, &description, n, e);
    if (!status)
        status = sink_open(&out, a->output, description.arrays, description.n_arrays, description.metadata,
                           description.n_metadata, e);
    mx_store_close(&description);
    if (status) return status;
    for (size_t i = 0; i < store->n_arrays && !status; i++) {
        const mx_array *x = &store->arrays[i];
        const mx_format *format = wanted(a, store, x);
        status = format ? convert(a, store, x, format, &out, e) : copy_array(store, x, &out, e);
    }
    if (!status) return sink_finish(&out, e);
    sink_abandon(&out);
    return status;
}

static mx_status quantize_file(const arguments *a, size_t *n, mx_error *e)
{
    mx_store store;
    mx_status status = mx_store_open(a->input, &store, e);
    if (status) return status;
    status = check_names(a, &store, e);
    if (!status) status = quantize_all(a, &store, n, e);
    mx_store_close(&store);
    return status;
}

/* ---- command line -----------------------------------------------------------------------------------------
 */

static const struct argp_option options[] = {
    {"recipe", 'r', "NAME", 0, "how to quantize: mxcheck list recipes", 0},
    {"output", 'o', "FILE", 0, "FILE.safetensors, or X.npy with X.scale.npy beside it", 0},
    {"scale-layout", 'l', "NAME", 0, "place the scales so: mxcheck list layouts (row-major)", 0},
    {"tensor", 't', "NAME", 0, "quantize this one; repeat for more (every f32, bf16, f16 matrix)", 0},
    {"input-format", 'f', "FORMAT", 0, "read the named tensor as this format", 0},
    {"seed", 's', "N", 0, "for stochastic rounding (0)", 0},
    {"threads", 'j', "N", 0, "threads (all); the bytes do not depend on it", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    char *end = "";
    switch (key) {
    case 'r':
        if (!(a->recipe = mx_recipe_find(arg)))
            argp_error(state, "no recipe '%s': mxcheck list recipes", printable(arg));
        break;
    case 'o': a->output = arg; break;
    case 'l':
        if (!mx_layout_find(arg)) argp_error(state, "no layout '%s': mxcheck list layouts", printable(arg));
        a->layout = arg;
        break;
    case 't':
        if (a->n_names == MAX_NAMES) argp_error(state, "more than %d tensors", MAX_NAMES);
        a->names[a->n_names++] = arg;
        break;
    case 'f':
        if (!mx_format_find(arg)) argp_error(state, "no format '%s': mxcheck list formats", printable(arg));
        a->input_format = arg;
        break;
    case 's': a->seed = strtoull(arg, &end, 0); break;
    case 'j': a->threads = (int)strtol(arg, &end, 10); break;
    case ARGP_KEY_ARG:
        if (state->arg_num) argp_error(state, "one input, please");
        a->input = arg;
        break;
    case ARGP_KEY_END:
        if (!a->input || !a->recipe || !a->output)
            argp_error(state, "an input, --recipe and --output are needed");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (*end || a->threads < 0) argp_error(state, "'%s' is no number that fits", printable(arg));
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "INPUT",
        "Quantize the tensors of a .safetensors or .npy file (or of a checkpoint of many files).\v"
        "Tensor X becomes codes X, scales X.scale and, where the recipe has a second level, X.global; the "
        "recipe's "
        "name goes into the metadata, where dequantize, show and diff find it. Tensors are matrices of "
        "all axes but the last by the last. Work is done in parts of bounded size; scales that a layout "
        "places are held as a whole.\n\nExample: mxcheck quantize model.safetensors -r mxfp8 -o "
        "model-mxfp8.safetensors",
        NULL,
        NULL,
        NULL};
    arguments a = {0};
    mx_error e = {0};
    size_t n = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (quantize_file(&a, &n, &e)) return fail_with("quantize", &e);
    printf("%zu tensor%s quantized by %s into %s\n", n, n == 1 ? "" : "s", mx_recipe_name(a.recipe),
           a.output);
    return EXIT_PASSED;
}

const command command_quantize = {"quantize", "tensors of a file to codes and scales, as a recipe says", 62,
                                  run};
