/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck show`: what a file holds, and a tensor's blocks in bits, codes and values. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fail.h"
#include "flags.h"
#include "json.h"
#include "quantize.h"
#include "quantized.h"

enum { MOST_COLUMNS = 32, PER_LINE = 8 };

typedef struct arguments {
    const char *file, *tensor, *as;
    quantized_naming naming;
    const mx_recipe *recipe;
    long long row, col, count;
    bool full;
} arguments;

/* ---- a file ------------------------------------------------------------------------------------------ */

static void show_file(const arguments *a, const mx_store *s)
{
    uint64_t bytes = 0;
    printf("%-40s %-8s %-12s %-20s %14s %14s\n", "tensor", "format", "stored as", "shape", "bytes",
           "at byte");
    for (size_t i = 0; i < s->n_arrays; i++) {
        const mx_array *x = &s->arrays[i];
        char shape[160];
        printf("%-40s %-8s %-12s %-20s %14" PRIu64 " %14" PRIu64 "%s%s\n", printable(x->name), x->dtype.name,
               x->dtype.safetensors, mx_shape_text(x->rank, x->shape, shape, sizeof shape), x->bytes,
               x->begin, s->n_files > 1 ? "  " : "", s->n_files > 1 ? printable(mx_store_file(s, x)) : "");
        bytes += x->bytes;
    }
    for (size_t i = 0; i < s->n_metadata; i++) {
        const char *value = s->metadata[i].value;
        bool cut = !a->full && strlen(value) > 100;
        printf("metadata %s: %.*s%s\n", printable(s->metadata[i].key), a->full ? 200 : 100, printable(value),
               cut ? "..." : "");
    }
    printf("%zu tensors, %" PRIu64 " bytes, %zu file%s\n", s->n_arrays, bytes, s->n_files,
           s->n_files == 1 ? "" : "s");
}

/* ---- a case
 * ------------------------------------------------------------------------------------------------ */

/* Why each flag of a case is there. */
static void show_flags(const json_t *flags)
{
    size_t i;
    json_t *flag;
    json_array_foreach(flags, i, flag)
    {
        const mx_flag *f = json_is_string(flag) ? mx_flag_find(json_string_value(flag)) : NULL;
        if (f) printf("flag %s (%s): %s [%s]\n", f->name, f->kind, f->effect, f->source);
    }
}

/* The case of that id, if the file has one: its JSON, and what its flags mean. */
static bool show_case(const mx_store *s, const char *id)
{
    char key[QUANTIZED_NAME];
    quantized_name(key, "case:", id);
    const char *text = mx_store_metadata(s, key);
    json_t *o = text ? mx_json_parse(text, strlen(text), key, NULL) : NULL;
    char *lines = o ? mx_json_dump(o) : NULL; /* escapes control characters */
    if (lines) {
        printf("case %s of %s: %s", printable(id), s->files[0].name, lines);
        show_flags(json_object_get(o, "flags"));
    }
    free(lines);
    json_decref(o);
    return lines != NULL;
}

/* ---- a tensor ---------------------------------------------------------------------------------------- */

/* What is printed: a matrix, its type and, where it is quantised, its scales. */
typedef struct view {
    const mx_store *store;
    const mx_array *x;
    mx_dtype dtype;
    int64_t rows, cols;
    bool scaled;
    quantized q;
} view;

/* The scale of a 1 x 1 part, its bits into `bits`, as a factor: block scale times second level. */
static mx_status factor_at(const view *v, int64_t row, int64_t col, uint64_t *bits, double *factor,
                           mx_error *e)
{
    unsigned char scale[4] = {0};
    part p = {row, col, 1, 1};
    mx_status status = quantized_scales(&v->q, &p, scale, e);
    *bits = mx_dtype_bits(&v->q.shape.scale, scale, 0);
    *factor = mx_scale_value(v->q.shape.recipe, (uint32_t)*bits) *
              (double)mx_global_value(v->q.shape.recipe, v->q.global);
    return status;
}

static mx_status show_scale(const view *v, int64_t row, int64_t col, mx_error *e)
{
    uint64_t bits;
    double factor;
    mx_status status = factor_at(v, row, col, &bits, &factor, e);
    const quantized_shape *s = &v->q.shape;
    printf("  scale of block [%" PRId64 ", %" PRId64 "]: %0*" PRIX64 " = %.9g", row / s->block_rows,
           col / s->block_cols, 2 * s->scale.bytes, bits, mx_dtype_value(&s->scale, bits));
    if (mx_recipe_has_global(s->recipe)) printf(", with the global scale %.9g", factor);
    putchar('\n');
    return status;
}

/* Up to MOST_COLUMNS elements of a row. */
static mx_status show_piece(const view *v, const part *p, mx_error *e)
{
    unsigned char raw[MOST_COLUMNS * 8];
    uint64_t bits;
    double factor = 1;
    mx_status status =
        v->scaled ? quantized_codes(&v->q, p, raw, e) : part_read(v->store, v->x, v->cols, p, raw, e);
    printf("row %" PRId64 ", columns %" PRId64 " to %" PRId64 "\n", p->row, p->col, p->col + p->cols - 1);
    for (int64_t j = 0; j < p->cols && !status; j++) {
        bool block = v->scaled && (j == 0 || (p->col + j) % v->q.shape.block_cols == 0);
        if (block && !(status = show_scale(v, p->row, p->col + j, e)))
            status = factor_at(v, p->row, p->col + j, &bits, &factor, e);
        uint64_t code = mx_dtype_bits(&v->dtype, raw, j);
        double value = mx_dtype_value(&v->dtype, code);
        if (v->scaled) /* code, its value, and what it stands for */
            printf("  %4" PRId64 "  %0*" PRIX64 "  %12.9g  %15.9g\n", p->col + j, 2 * v->dtype.bytes, code,
                   value, value * factor);
        else
            printf("%s%0*" PRIX64 " %.9g%s", j % PER_LINE ? "   " : "  ", 2 * v->dtype.bytes, code, value,
                   (j + 1) % PER_LINE && j + 1 < p->cols ? "" : "\n");
    }
    return status;
}

static int64_t piece_length(const view *v, int64_t col)
{
    int64_t block = v->scaled ? v->q.shape.block_cols : MOST_COLUMNS;
    int64_t most = block > MOST_COLUMNS ? MOST_COLUMNS : block < PER_LINE ? PER_LINE : block;
    int64_t n = most - col % most; /* to the next border */
    return n < v->cols - col ? n : v->cols - col;
}

static mx_status show_tensor(const arguments *a, const view *v, mx_error *e)
{
    char shape[160];
    printf("%s: %s %s", printable(v->x->name), v->dtype.name,
           mx_shape_text(v->x->rank, v->x->shape, shape, sizeof shape));
    if (v->scaled)
        printf(", recipe %s, blocks of %" PRId64 " x %" PRId64 "%s%s", mx_recipe_name(v->q.shape.recipe),
               v->q.shape.block_rows, v->q.shape.block_cols, v->q.shape.layout ? ", scales in " : "",
               v->q.shape.layout ? v->q.shape.layout->name : "");
    putchar('\n');
    if (v->scaled) puts("  columns: index, code, value of the code, value with its scale");
    mx_status status = MX_OK;
    part p = {a->row, a->col, 1, 0};
    for (long long i = 0; i < a->count && p.row < v->rows && !status; i++) {
        p.cols = piece_length(v, p.col);
        status = show_piece(v, &p, e);
        p.col += p.cols;
        if (p.col == v->cols) {
            p.col = 0;
            p.row++;
        }
    }
    return status;
}

static mx_status check_place(const arguments *a, const view *v, mx_error *e)
{
    if (a->row < v->rows && a->col < v->cols) return MX_OK;
    return mx_fail(e, MX_BAD_USAGE, a->file, "tensor '%s' is a matrix of %" PRId64 " x %" PRId64, a->tensor,
                   v->rows, v->cols);
}

static mx_status open_view(const arguments *a, const mx_store *s, view *v, mx_error *e)
{
    const mx_recipe *r = NULL;
    *v = (view){.store = s, .x = mx_store_find(s, a->tensor)};
    if (!v->x) return mx_fail(e, MX_BAD_USAGE, a->file, "no tensor or case '%s'", a->tensor);
    v->dtype = v->x->dtype;
    mx_array_matrix(v->x, &v->rows, &v->cols);
    if (a->as && (!mx_dtype_find(a->as, &v->dtype) || v->dtype.bytes != v->x->dtype.bytes))
        return mx_fail(e, MX_BAD_USAGE, a->file, "tensor '%s' has elements of %d bytes, not codes of %s",
                       a->tensor, v->x->dtype.bytes, a->as);
    if (a->row >= v->rows || a->col >= v->cols)
        return mx_fail(e, MX_BAD_USAGE, a->file, "tensor '%s' is a matrix of %" PRId64 " x %" PRId64,
                       a->tensor, v->rows, v->cols);
    mx_status status = quantized_recipe(s, v->x, a->recipe, &r, e);
    if (status || !r) return status;
    if ((status = quantized_find(s, v->x, r, &a->naming, &v->q, e))) return status;
    v->scaled = v->q.shape.has_scale;
    v->dtype = v->q.shape.element;
    v->cols = v->q.shape.cols;
    return check_place(a, v, e);
}

/* ---- command line -----------------------------------------------------------------------------------------
 */

static const struct argp_option options[] = {
    {"at", '@', "ROW,COL", 0, "first element shown (0,0)", 0},
    {"count", 'n', "N", 0, "rows of a block shown (4)", 0},
    {"recipe", 'r', "NAME", 0, "how the tensor was quantized (what the metadata says)", 0},
    {"scale-layout", 'l', "NAME", 0, "how its scales lie (what the metadata says, else row-major)", 0},
    {"names", 'N', "CODES,SCALE,GLOBAL", 0,
     "endings of the names of codes, scales, second level (,.scale,.global)", 0},
    {"packing", 'P', "NAME", 0, "layout of 4-bit codes, two a byte: fp4-low-first, ... (one code a byte)", 0},
    {"as", 'a', "FORMAT", 0, "show codes of this format (what the file says)", 0},
    {"full", 'f', NULL, 0, "metadata up to 200 bytes a value instead of 100", 0},
    {0}};

static void parse_at(arguments *a, const char *arg, struct argp_state *state)
{
    int n = 0;
    if (sscanf(arg, "%lld,%lld%n", &a->row, &a->col, &n) != 2 || arg[n] || a->row < 0 || a->col < 0)
        argp_error(state, "'%s' is no ROW,COL", printable(arg));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    char *end = "";
    mx_dtype d;
    switch (key) {
    case '@': parse_at(a, arg, state); break;
    case 'n': a->count = strtoll(arg, &end, 10); break;
    case 'r':
        if (!(a->recipe = mx_recipe_find(arg)))
            argp_error(state, "no recipe '%s': mxcheck list recipes", printable(arg));
        break;
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
    case 'a':
        if (!mx_dtype_find(arg, &d))
            argp_error(state, "no format '%s': mxcheck list formats", printable(arg));
        a->as = arg;
        break;
    case 'f': a->full = true; break;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) argp_error(state, "a file and a tensor or case, please");
        *(state->arg_num ? &a->tensor : &a->file) = arg;
        break;
    case ARGP_KEY_END:
        if (!a->file) argp_error(state, "which file?");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (*end || a->count < 0) argp_error(state, "'%s' is no number that fits", printable(arg));
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "FILE [TENSOR | CASE]",
        "Show what a .safetensors or .npy file or a checkpoint holds; or a tensor's elements: bits, values "
        "and, "
        "for quantized ones, scales; or a case of a vector file: its members, and what its flags mean.\v"
        "Quantized tensors lie as mxcheck quantize writes them: codes X, scales X.scale.\n\n"
        "Example: mxcheck show model-mxfp8.safetensors w --at 128,0 -n 2",
        NULL,
        NULL,
        NULL};
    arguments a = {.count = 4, .naming = QUANTIZED_NAMING};
    mx_store s;
    mx_error e = {0};
    view v = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (quantized_open(a.file, &s, &e)) return fail_with("show", &e);
    mx_status status = MX_OK;
    if (!a.tensor)
        show_file(&a, &s);
    else if (!mx_store_find(&s, a.tensor) && show_case(&s, a.tensor))
        ;
    else if (!(status = open_view(&a, &s, &v, &e))) {
        status = show_tensor(&a, &v, &e);
        quantized_free(&v.q);
    }
    mx_store_close(&s);
    return status ? fail_with("show", &e) : EXIT_PASSED;
}

const command command_show = {"show", "what a file holds; a tensor's blocks in bits and values; a case", 68,
                              run};
