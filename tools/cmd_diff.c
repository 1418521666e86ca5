/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck diff`: two files or two tensors, bit by bit, by class first. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "diff.h"
#include "fail.h"
#include "progress.h"
#include "quantized.h"

enum { PIECE = 1 << 22 }; /* bytes of each side in memory */

/* FILE or FILE:TENSOR. */
typedef struct operand {
    char *file;
    const char *tensor; /* NULL: all */
    mx_store store;
} operand;

typedef struct arguments {
    const char *names[2], *as;
    const mx_recipe *recipe;
    bool pin_nan;
    int shown;
} arguments;

/* ---- one pair of tensors ----------------------------------------------------------------------------------
 */

/* "[1, 2]" of an element's running index. */
static const char *coordinates(const mx_array *a, int64_t index, char *out, size_t size)
{
    int64_t at[MX_ARRAY_RANK];
    for (int i = a->rank - 1; i >= 0; i--) {
        at[i] = index % a->shape[i];
        index /= a->shape[i];
    }
    return mx_shape_text(a->rank, at, out, size);
}

/* The type both are compared as: the one asked for, else the one that says more than its storage. */
static bool common_type(const arguments *args, const mx_array *a, const mx_array *b, mx_dtype *out)
{
    if (args->as && mx_dtype_find(args->as, out))
        return out->bytes == a->dtype.bytes && out->bytes == b->dtype.bytes;
    *out = a->dtype.format || !b->dtype.format ? a->dtype : b->dtype;
    const mx_dtype *other = out->name == a->dtype.name ? &b->dtype : &a->dtype;
    return !strcmp(out->name, other->name) || (!other->format && other->bytes == out->bytes);
}

static mx_status compare(const arguments *args, const operand *x, const mx_array *a, const operand *y,
                         const mx_array *b, const mx_dtype *d, mx_diff *r, mx_error *e)
{
    char *got = malloc(PIECE), *want = malloc(PIECE);
    mx_status status = got && want ? MX_OK : mx_fail(e, MX_NO_MEMORY, a->name, "out of memory");
    progress bar = progress_begin(printable(a->name));
    for (uint64_t at = 0; at < a->bytes && !status; at += PIECE) {
        size_t n = a->bytes - at < PIECE ? (size_t)(a->bytes - at) : PIECE;
        progress_show(&bar, (double)at, (double)a->bytes);
        status = mx_store_read(&x->store, a, at, got, n, e);
        if (!status) status = mx_store_read(&y->store, b, at, want, n, e);
        if (!status)
            mx_diff_add(r, d, got, want, (int64_t)(n / d->bytes), (int64_t)(at / d->bytes), args->pin_nan);
    }
    progress_end(&bar);
    free(got);
    free(want);
    return status;
}

static void print_counts(const mx_array *a, const mx_diff *r)
{
    char where[160];
    printf("%s: %" PRId64 " of %" PRId64 " elements differ", printable(a->name), mx_diff_total(r),
           r->elements);
    for (int k = MX_DIFF_NAN; k < MX_DIFF_KINDS; k++)
        if (r->count[k]) printf(", %" PRId64 " %s", r->count[k], mx_diff_kind_name((mx_diff_kind)k));
    if (r->max_ulps)
        printf("; largest distance %" PRIu64 " ulp at %s", r->max_ulps,
               coordinates(a, r->max_index, where, sizeof where));
    putchar('\n');
    uint64_t from = 0;
    for (int i = 0; i < MX_DIFF_BINS; i++) {
        uint64_t to = mx_diff_bin_limit(i);
        if (r->bins[i] && to == UINT64_MAX)
            printf("  %12" PRId64 " at more than %" PRIu64 " ulp\n", r->bins[i], from - 1);
        else if (r->bins[i] && from == to)
            printf("  %12" PRId64 " at %" PRIu64 " ulp\n", r->bins[i], to);
        else if (r->bins[i])
            printf("  %12" PRId64 " at %" PRIu64 " to %" PRIu64 " ulp\n", r->bins[i], from, to);
        from = to + 1;
    }
}

static void print_first(const arguments *args, const operand *x, const mx_array *a, const mx_dtype *d,
                        const mx_diff *r)
{
    const mx_recipe *recipe = NULL;
    quantized_shape s = {0};
    mx_error ignored; /* without a recipe the block is left out */
    if (quantized_recipe(&x->store, a, args->recipe, &recipe, &ignored) || !recipe ||
        quantized_describe(&s, recipe, NULL, a, &ignored))
        s.has_scale = false;
    int digits = 2 * d->bytes, wide = digits < 6 ? 6 : digits;
    printf("  %-18s %-14s %*s %*s %15s %15s %8s %s\n", "element", s.has_scale ? "block" : "", wide, "bits A",
           wide, "bits B", "A", "B", "ulp", "kind");
    for (int i = 0; i < r->n_first && i < args->shown; i++) {
        const mx_difference *f = &r->first[i];
        char where[160], block[64] = "", ulps[24] = "-";
        if (s.has_scale) {
            int64_t at[2] = {f->index / s.cols / s.block_rows, f->index % s.cols / s.block_cols};
            mx_shape_text(2, at, block, sizeof block);
        }
        if (f->ulps != MX_DIFF_NO_DISTANCE) snprintf(ulps, sizeof ulps, "%" PRIu64, f->ulps);
        printf("  %-18s %-14s %*.*" PRIX64 " %*.*" PRIX64 " %15.9g %15.9g %8s %s\n",
               coordinates(a, f->index, where, sizeof where), block, wide, digits, f->got, wide, digits,
               f->want, f->got_value, f->want_value, ulps, mx_diff_kind_name(f->kind));
    }
    int64_t more = mx_diff_total(r) - (r->n_first < args->shown ? r->n_first : args->shown);
    if (more > 0) printf("  and %" PRId64 " more\n", more);
}

/* Compare two tensors and print what differs. */
static mx_status diff_pair(const arguments *args, const operand *x, const mx_array *a, const operand *y,
                           const mx_array *b, bool *differ, mx_error *e)
{
    mx_dtype d;
    char one[160], two[160];
    mx_shape_text(a->rank, a->shape, one, sizeof one);
    mx_shape_text(b->rank, b->shape, two, sizeof two);
    *differ = true;
    if (strcmp(one, two)) {
        printf("%s: shape %s against %s\n", printable(a->name), one, two);
        return MX_OK;
    }
    if (!common_type(args, a, b, &d)) {
        printf("%s: type %s against %s%s%s\n", printable(a->name), a->dtype.name, b->dtype.name,
               args->as ? ", neither stored as " : "", args->as ? args->as : "");
        return MX_OK;
    }
    mx_diff r = {0};
    mx_status status = compare(args, x, a, y, b, &d, &r, e);
    *differ = mx_diff_total(&r) != 0;
    if (status || !*differ) return status;
    print_counts(a, &r);
    print_first(args, x, a, &d, &r);
    return MX_OK;
}

/* ---- two files --------------------------------------------------------------------------------------------
 */

static mx_status open_operand(operand *o, const char *name, mx_error *e)
{
    *o = (operand){.file = strdup(name)};
    if (!o->file) return mx_fail(e, MX_NO_MEMORY, name, "out of memory");
    char *colon = strrchr(o->file, ':');
    if (colon && access(name, F_OK)) {
        *colon = 0;
        o->tensor = colon + 1;
    }
    mx_status status = quantized_open(o->file, &o->store, e);
    if (!status && o->tensor && !mx_store_find(&o->store, o->tensor)) {
        status = mx_fail(e, MX_BAD_USAGE, o->file, "no tensor '%s'", o->tensor);
        mx_store_close(&o->store);
    }
    return status;
}

/* The tensor that a whole-file operand means when the other side is a single one. */
static const mx_array *single(const operand *o, const char *other)
{
    if (o->tensor) return mx_store_find(&o->store, o->tensor);
    const mx_array *a = other ? mx_store_find(&o->store, other) : NULL;
    return a || o->store.n_arrays != 1 ? a : &o->store.arrays[0];
}

static mx_status diff_all(const arguments *args, const operand *x, const operand *y, size_t *compared,
                          size_t *differing, mx_error *e)
{
    mx_status status = MX_OK;
    for (size_t i = 0; i < x->store.n_arrays && !status; i++) {
        const mx_array *a = &x->store.arrays[i], *b = mx_store_find(&y->store, a->name);
        bool differ = true;
        if (b)
            status = diff_pair(args, x, a, y, b, &differ, e);
        else
            printf("%s: only in %s\n", printable(a->name), x->file);
        ++*compared;
        *differing += differ;
    }
    for (size_t i = 0; i < y->store.n_arrays && !status; i++) {
        const mx_array *b = &y->store.arrays[i];
        if (mx_store_find(&x->store, b->name)) continue;
        printf("%s: only in %s\n", printable(b->name), y->file);
        ++*compared;
        ++*differing;
    }
    return status;
}

static mx_status diff_operands(const arguments *args, const operand *x, const operand *y, size_t *compared,
                               size_t *differing, mx_error *e)
{
    bool one = x->tensor || y->tensor || (x->store.n_arrays == 1 && y->store.n_arrays == 1);
    if (!one) return diff_all(args, x, y, compared, differing, e);
    const mx_array *a = single(x, y->tensor), *b = single(y, x->tensor);
    const operand *lacking = !a ? x : y;
    if (!a || !b) return mx_fail(e, MX_BAD_USAGE, lacking->file, "which tensor? Name one as FILE:TENSOR");
    bool differ;
    mx_status status = diff_pair(args, x, a, y, b, &differ, e);
    *compared = 1;
    *differing = differ;
    return status;
}

/* ---- command line -----------------------------------------------------------------------------------------
 */

static const struct argp_option options[] = {
    {"as", 'a', "FORMAT", 0, "compare as codes of this format (what the files say)", 0},
    {"recipe", 'r', "NAME", 0, "name blocks by this recipe (what the metadata says)", 0},
    {"pin-nan", 'p', NULL, 0, "two NaN with different codes differ", 0},
    {"max", 'n', "N", 0, "show the first N differences of each tensor, at most 16 (8)", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    char *end = "";
    mx_dtype d;
    switch (key) {
    case 'a':
        if (!mx_dtype_find(arg, &d))
            argp_error(state, "no format '%s': mxcheck list formats", printable(arg));
        a->as = arg;
        break;
    case 'r':
        if (!(a->recipe = mx_recipe_find(arg)))
            argp_error(state, "no recipe '%s': mxcheck list recipes", printable(arg));
        break;
    case 'p': a->pin_nan = true; break;
    case 'n': a->shown = (int)strtol(arg, &end, 10); break;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) argp_error(state, "two operands, please");
        a->names[state->arg_num] = arg;
        break;
    case ARGP_KEY_END:
        if (!a->names[1]) argp_error(state, "two operands, please");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (*end || a->shown < 0) argp_error(state, "'%s' is no number that fits", printable(arg));
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "A B",
        "Compare two files or tensors (FILE or FILE:TENSOR; .safetensors, .npy, checkpoints) bit by bit.\v"
        "Classes come first: NaN, infinity, sign of zero, sign; then the distance in representable values. "
        "NaN "
        "equals NaN unless --pin-nan. Exit status 1 when something differs.\n\n"
        "Example: mxcheck diff mine.safetensors:w theirs.npy --as e4m3",
        NULL,
        NULL,
        NULL};
    arguments a = {.shown = 8};
    operand x, y;
    mx_error e = {0};
    size_t compared = 0, differing = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    mx_status status = open_operand(&x, a.names[0], &e);
    if (!status) {
        if (!(status = open_operand(&y, a.names[1], &e))) {
            status = diff_operands(&a, &x, &y, &compared, &differing, &e);
            mx_store_close(&y.store);
        }
        free(y.file);
        mx_store_close(&x.store);
    }
    free(x.file);
    if (status) return fail_with("diff", &e);
    printf("%zu tensor%s compared, %zu differ%s\n", compared, compared == 1 ? "" : "s", differing,
           differing == 1 ? "s" : "");
    return differing ? EXIT_FINDINGS : EXIT_PASSED;
}

const command command_diff = {"diff", "two files or tensors, bit by bit, by class first", 66, run};
