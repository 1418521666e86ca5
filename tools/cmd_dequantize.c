/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck dequantize`: codes and scales of a file back to values, in parts that fit memory. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fail.h"
#include "progress.h"
#include "quantized.h"

typedef struct arguments {
    const char *input, *output, *tensor;
    quantized_naming naming;
    const mx_recipe *recipe;
    const mx_format *format;
} arguments;

/* ---- one tensor -------------------------------------------------------------------------------------------
 */

typedef struct buffers {
    uint8_t *codes;
    void *scales, *values;
} buffers;

static mx_status convert_parts(const quantized *q, const char *name, const mx_format *format, buffers *b,
                               sink *out, mx_error *e)
{
    const quantized_shape *s = &q->shape;
    parts cut = quantized_cut_of(q);
    part p = {0};
    mx_dtype d;
    mx_dtype_find(format->name, &d);
    progress bar = progress_begin(printable(q->codes->name));
    mx_status status = MX_OK;
    while (!status && parts_next(&cut, &p)) {
        progress_show(&bar, (double)p.row * (double)s->cols + (double)p.col,
                      (double)s->rows * (double)s->cols);
        mx_quantized part_of = {b->codes, b->scales, q->global};
        status = quantized_codes(q, &p, b->codes, e);
        if (!status) status = quantized_scales(q, &p, b->scales, e);
        if (!status)
            status = mx_dequantize(s->recipe, &part_of, p.rows, p.cols, format, b->values, p.cols, e);
        if (!status) status = sink_part(out, name, d.bytes, s->cols, &p, b->values, e);
    }
    progress_end(&bar);
    return status;
}

static mx_status convert(const arguments *a, const mx_store *store, const mx_array *x, const mx_recipe *r,
                         sink *out, mx_error *e)
{
    quantized q;
    char name[QUANTIZED_NAME];
    quantized_base(&a->naming, x->name, name);
    mx_status status = quantized_find(store, x, r, &a->naming, &q, e);
    if (status) return status;
    parts cut = quantized_cut_of(&q);
    size_t most = (size_t)parts_largest(&cut) + 1;
    buffers b = {malloc(most), malloc(most * sizeof(float)), malloc(most * sizeof(float))};
    status = b.codes && b.scales && b.values ? convert_parts(&q, name, a->format, &b, out, e)
                                             : mx_fail(e, MX_NO_MEMORY, x->name, "out of memory");
    free(b.codes);
    free(b.scales);
    free(b.values);
    quantized_free(&q);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------
 */

/* The recipe that x is dequantised by; NULL: it is copied. --recipe is for the named tensor, or without one
 * for every array that has scales beside it, or stands alone. */
static mx_status recipe_of(const arguments *a, const mx_store *s, const mx_array *x, const mx_recipe **r,
                           mx_error *e)
{
    char base[QUANTIZED_NAME], scale[QUANTIZED_NAME];
    *r = NULL;
    if (!quantized_base(&a->naming, x->name, base) || x->dtype.bytes != 1) return MX_OK;
    quantized_name(scale, base, a->naming.scale);
    bool named = a->tensor ? !strcmp(a->tensor, x->name) : mx_store_find(s, scale) || s->n_arrays == 1;
    if (a->tensor && !named) return MX_OK;
    return quantized_recipe(s, x, named ? a->recipe : NULL, r, e);
}

typedef struct fate {
    const mx_recipe *recipe; /* NULL: copied, unless consumed */
    bool consumed;           /* scales of codes that are dequantised */
} fate;

static void consume(const mx_store *s, const char *base, const char *ending, fate *fates)
{
    char name[QUANTIZED_NAME];
    quantized_name(name, base, ending);
    const mx_array *a = mx_store_find(s, name);
    if (a && *ending) fates[a - s->arrays].consumed = true;
}

/* What becomes of each array, and which arrays the output has. */
static mx_status decide(const arguments *a, const mx_store *s, fate *fates, size_t *n, mx_error *e)
{
    mx_status status = MX_OK;
    char base[QUANTIZED_NAME];
    for (size_t i = 0; i < s->n_arrays && !status; i++) {
        status = recipe_of(a, s, &s->arrays[i], &fates[i].recipe, e);
        if (status || !fates[i].recipe) continue;
        quantized_base(&a->naming, s->arrays[i].name, base);
        consume(s, base, a->naming.scale, fates);
        consume(s, base, a->naming.global, fates);
        ++*n;
    }
    if (!status && a->tensor && !mx_store_find(s, a->tensor))
        return mx_fail(e, MX_BAD_USAGE, a->input, "no tensor '%s'", a->tensor);
    if (!status && !*n)
        return mx_fail(
            e, MX_BAD_USAGE, a->input,
            "no codes with scales beside them whose recipe is known: give --recipe, and --names or "
            "--tensor");
    return status;
}

static mx_status describe(const arguments *a, const mx_store *s, const fate *fates, mx_store *out,
                          mx_error *e)
{
    mx_status status = quantized_keep_metadata(s, out, e);
    for (size_t i = 0; i < s->n_arrays && !status; i++) {
        mx_array x = s->arrays[i];
        char base[QUANTIZED_NAME];
        if (fates[i].consumed) continue;
        if (fates[i].recipe) {
            mx_dtype_find(a->format->name, &x.dtype);
            quantized_base(&a->naming, x.name, base);
            x.name = base;
            if (a->naming.packing && x.rank &&
                __builtin_mul_overflow(x.shape[x.rank - 1], (int64_t)2, &x.shape[x.rank - 1]))
                return mx_fail(e, MX_BAD_INPUT, base, "is too large");
        }
        status = mx_store_add(out, &x, e);
    }
    return status;
}

static mx_status dequantize_all(const arguments *a, const mx_store *s, size_t *n, mx_error *e)
{
    mx_store description = {0};
    sink out;
    fate *fates = calloc(s->n_arrays + 1, sizeof *fates);
    if (!fates) return mx_fail(e, MX_NO_MEMORY, a->input, "out of memory");
    mx_status status = decide(a, s, fates, n, e);
    if (!status) status = describe(a, s, fates, &description, e);
    if (!status)
        status = sink_open(&out, a->output, description.arrays, description.n_arrays, description.metadata,
                           description.n_metadata, e);
    mx_store_close(&description);
    bool opened = !status;
    for (size_t i = 0; i < s->n_arrays && !status; i++) {
        const mx_array *x = &s->arrays[i];
        if (fates[i].consumed) continue;
        status = fates[i].recipe ? convert(a, s, x, fates[i].recipe, &out, e) : copy_array(s, x, &out, e);
    }
    free(fates);
    if (!status) return sink_finish(&out, e);
    if (opened) sink_abandon(&out);
    return status;
}

/* ---- command line -----------------------------------------------------------------------------------------
 */

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "FILE.safetensors or FILE.npy", 0},
    {"output-format", 'f', "FORMAT", 0, "f32 (default), bf16 or f16", 0},
    {"recipe", 'r', "NAME", 0, "how it was quantized (what the metadata says)", 0},
    {"scale-layout", 'l', "NAME", 0, "how the scales lie (what the metadata says, else row-major)", 0},
    {"names", 'N', "CODES,SCALE,GLOBAL", 0,
     "endings of the names of codes, scales, second level (,.scale,.global)", 0},
    {"packing", 'P', "NAME", 0, "layout of 4-bit codes, two a byte: fp4-low-first, ... (one code a byte)", 0},
    {"tensor", 't', "NAME", 0, "only this one", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'r':
        if (!(a->recipe = mx_recipe_find(arg)))
            argp_error(state, "no recipe '%s': mxcheck list recipes", printable(arg));
        break;
    case 'o': a->output = arg; break;
    case 'l':
        if (!mx_layout_find(arg)) argp_error(state, "no layout '%s': mxcheck list layouts", printable(arg));
        a->naming.layout = arg;
        break;
    case 'N':
        if (!quantized_parse_naming(arg, &a->naming))
            argp_error(state, "--names takes CODES,SCALE[,GLOBAL]: --names ,_scale_inv");
        break;
    case 'P':
        if (!mx_layout_find(arg)) argp_error(state, "no layout '%s': mxcheck list layouts", printable(arg));
        a->naming.packing = arg;
        break;
    case 't': a->tensor = arg; break;
    case 'f':
        if (strcmp(arg, "f32") && strcmp(arg, "bf16") && strcmp(arg, "f16"))
            argp_error(state, "'%s' is none of f32, bf16, f16", printable(arg));
        a->format = mx_format_find(arg);
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num) argp_error(state, "one input, please");
        a->input = arg;
        break;
    case ARGP_KEY_END:
        if (!a->input || !a->output) argp_error(state, "an input and --output are needed");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "INPUT",
        "Bring quantized tensors of a .safetensors or .npy file back to values, each rounded once.\v"
        "Codes X are read with their scales X.scale and X.global (X.npy with X.scale.npy and X.global.npy), "
        "as "
        "mxcheck quantize writes them.\n\nExample: mxcheck dequantize model-mxfp8.safetensors -f bf16 -o "
        "back.safetensors",
        NULL,
        NULL,
        NULL};
    arguments a = {.format = mx_format_find("f32"), .naming = QUANTIZED_NAMING};
    mx_error e = {0};
    mx_store store;
    size_t n = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (quantized_open(a.input, &store, &e)) return fail_with("dequantize", &e);
    mx_status status = dequantize_all(&a, &store, &n, &e);
    mx_store_close(&store);
    if (status) return fail_with("dequantize", &e);
    printf("%zu tensor%s dequantized to %s into %s\n", n, n == 1 ? "" : "s", a.format->name, a.output);
    return EXIT_PASSED;
}

const command command_dequantize = {"dequantize", "codes and scales of a file back to values", 64, run};
