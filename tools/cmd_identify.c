/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck identify FILE`: names the accumulation model and schedule of recorded products from their bits. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "command.h"
#include "identify.h"

enum { SHOWN = 3, FOUND = 8 };

typedef struct arguments {
    const char *file, *only;
} arguments;

static const struct argp_option options[] = {
    {"only", 'o', "TEXT", 0, "the cases whose id holds TEXT", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'o': a->only = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->file) argp_usage(state);
        a->file = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* A matrix of the case with its scales: one for all, one a row, or one a stretch of K of each row. */
static bool operand_of(const mx_case *c, const char *role, mx_operand *x)
{
    char scale_role[16];
    snprintf(scale_role, sizeof scale_role, "%s_scale", role);
    const mx_tensor *t = mx_case_in(c, role), *s = mx_case_in(c, scale_role);
    const mx_format *f = t && t->rank == 2 ? mx_format_find(t->dtype) : NULL;
    if (!f) return false;
    int64_t rows = t->shape[0], k = t->shape[1];
    *x = mx_operand_dense(f, t->data, rows, k);
    if (!s) return true;
    const mx_format *scale = mx_format_find(s->dtype);
    int64_t scale_rows = s->rank == 2 ? s->shape[0] : 0, blocks = s->rank == 2 ? s->shape[1] : 0;
    if (!scale || blocks < 1 || (scale_rows != rows && scale_rows != 1)) return false;
    *x = mx_operand_scaled(f, t->data, rows, k, scale, s->data, scale_rows == 1 ? rows + 1 : 1,
                           (k + blocks - 1) / blocks);
    x->scale_row_stride = blocks;
    return true;
}

static bool addend_of(const mx_case *c, mx_product *p)
{
    const mx_tensor *t = mx_case_in(c, "c"), *bias = mx_case_in(c, "bias");
    if (t) {
        p->c_format = mx_format_find(t->dtype);
        p->c = t->data;
        p->c_pitch = t->shape[t->rank - 1];
        if (!p->c_format || t->rank != 2 || t->shape[0] != p->a.rows || t->shape[1] != p->b.rows)
            return false;
    }
    if (bias) {
        p->bias_format = mx_format_find(bias->dtype);
        p->bias = bias->data;
        if (!p->bias_format || mx_tensor_count(bias) != p->b.rows) return false;
    }
    return true;
}

/* False where the case is no plain product with outputs. */
static bool product_of(const mx_case *c, mx_product *p)
{
    const mx_tensor *d = mx_case_want(c, "d");
    *p = mx_product_init(NULL, NULL);
    if (strcmp(c->operation, "gemm") || !d || d->rank != 2) return false;
    if (!operand_of(c, "a", &p->a) || !operand_of(c, "b", &p->b) || p->a.k != p->b.k) return false;
    p->alpha = c->alpha;
    p->beta = c->beta;
    p->d_format = mx_format_find(d->dtype);
    p->d = d->data;
    p->d_pitch = d->shape[1];
    return p->d_format && d->shape[0] == p->a.rows && d->shape[1] == p->b.rows && addend_of(c, p);
}

/* True if some row and schedule give every bit. */
static bool identify(const mx_case *c, const mx_product *p)
{
    mx_hypothesis found[FOUND];
    size_t n, exact;
    mx_error e = {0};
    char text[400];
    printf("%s: %s\n", c->id, c->reason);
    if (mx_identify_product(p, found, FOUND, &n, &exact, &e)) {
        printf("  not identified: %s\n", e.message);
        return false;
    }
    for (size_t i = 0; i < n && i < SHOWN && (i < exact || !exact); i++)
        printf("  %s%s\n", exact ? "" : "nearest: ", mx_hypothesis_text(&found[i], text, sizeof text));
    if (exact > SHOWN) printf("  and %zu more that these outputs cannot tell apart\n", exact - SHOWN);
    fflush(stdout);
    return exact > 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE",
        .doc = "Name the accumulation model and schedule that give every bit of recorded products.\v"
               "FILE is a vector file with cases of operation gemm: operands, scales, and the outputs that a "
               "kernel gave. Exit 0: all explained; 1: some are not.\n\n"
               "Example: mxcheck identify vectors/seen/cublaslt-h200.safetensors"};
    arguments a = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    mx_case_set *set;
    mx_error e = {0};
    if (mx_cases_load(a.file, &set, &e)) {
        fprintf(stderr, "mxcheck identify: %s: %s\n", e.place, e.message);
        return EXIT_USAGE;
    }
    size_t tried = 0, explained = 0;
    for (size_t i = 0; i < mx_cases_count(set); i++) {
        const mx_case *c = mx_cases_at(set, i);
        mx_product p;
        if ((a.only && !strstr(c->id, a.only)) || !product_of(c, &p)) continue;
        tried++;
        explained += identify(c, &p);
    }
    mx_cases_free(set);
    fprintf(stderr, "mxcheck identify: %zu of %zu products explained to the last bit\n", explained, tried);
    return !tried ? EXIT_CANNOT_RUN : explained == tried ? EXIT_PASSED : EXIT_FINDINGS;
}

const command command_identify = {"identify", "name the accumulation model and schedule of recorded products",
                                  50, run};
