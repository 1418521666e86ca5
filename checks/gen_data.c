/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden realistic tensors. Small ones are stored; large ones are a recipe: distribution, seed, size and the
 * SHA-256 of the bytes that a run must make of it. */
#include <stdio.h>

#include "data.h"
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

void gen_data(gen *g)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            stored(g, recipes[i], k);
}
