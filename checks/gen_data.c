/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden realistic tensors. Small ones are stored; large ones are a recipe: distribution, seed, size and the
 * SHA-256 of the bytes that a run must make of it. */
#include <stdio.h>
#include <stdlib.h>

#include "data.h"
#include "file.h"
#include "generate.h"

static const struct {
    const char *data, *flags;
} kinds[] = {
    {"normal", "realistic-normal"},
    {"student", "heavy-tail"},
    {"outliers", "outlier-channel"},
    {"gradient", "heavy-tail,subnormal"},
};

static const char *const recipes[] = {"mxfp8",    "mxfp8-floor", "mxfp8-col",  "mxfp4",
                                      "nvfp4-te", "fp8-1x128",   "fp8-128x128"};

enum { ROWS = 64, COLS = 320 };

static void stored(gen *g, const char *recipe, size_t k)
{
    mx_case *c = gen_case(g, "quantize", recipe, kinds[k].flags, mx_data_find(kinds[k].data)->note,
                          "data:%s:%s:bf16", kinds[k].data, recipe);
    char tensor[96];
    snprintf(tensor, sizeof tensor, "data/%s", kinds[k].data);
    mx_tensor *x = gen_input(g, c, "x", tensor, "bf16", ROWS, COLS);
    if (!x) return;
    c->seed = 2026;
    mx_data_fill(mx_data_find(kinds[k].data), c->seed, mx_format_find("bf16"), 0, ROWS, COLS, COLS, x->data);
    gen_answer(g, c);
}

/* A tensor too large to store: its distribution, seed and the digest of the bytes that a run must make of it.
 */
static void made(gen *g, const char *recipe, const char *data, int64_t rows, int64_t cols)
{
    const mx_format *f = mx_format_find("bf16");
    mx_case *c = gen_case(g, "quantize", recipe, "realistic-normal,outlier-channel",
                          "a large tensor, made when needed", "made:%s:%s:%lldx%lld", recipe, data,
                          (long long)rows, (long long)cols);
    uint16_t *x = c ? malloc((size_t)(rows * cols) * sizeof *x) : NULL;
    if (!x) {
        if (!g->status) g->status = mx_fail(g->error, MX_NO_MEMORY, recipe, "out of memory");
        return;
    }
    c->seed = 2027;
    c->make_rows = rows;
    c->make_cols = cols;
    snprintf(c->make_dtype, sizeof c->make_dtype, "%s", f->name);
    snprintf(c->generator, sizeof c->generator, "%s", data);
    mx_data_fill(mx_data_find(data), c->seed, f, 0, rows, cols, cols, x);
    mx_sha256(x, (size_t)(rows * cols) * sizeof *x, c->make_digest);
    free(x);
}

void gen_data(gen *g)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            stored(g, recipes[i], k);
    made(g, "mxfp8", "outliers", 1031, 2880);
}
