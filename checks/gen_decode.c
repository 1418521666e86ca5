/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden dequantisation: every code under every scale byte. 256 bytes can be tried in full, and public faults
 * cluster at 00, FE and FF. */
#include <stdio.h>
#include <string.h>

#include "generate.h"

static const struct {
    const char *recipe, *output;
} decodes[] = {
    {"mxfp8", "f32"},      {"mxfp8", "bf16"},      {"mxfp8", "f16"},     {"mxfp8-e5m2", "bf16"},
    {"mxfp6-e2m3", "f32"}, {"mxfp6-e3m2", "bf16"}, {"mxfp4", "f32"},     {"mxfp4", "bf16"},
    {"mxint8", "bf16"},    {"nvfp4-te", "f32"},    {"nvfp4-te", "bf16"},
};

/* Row s holds every code of the format, under scale byte s. */
static void decode_case(gen *g, const char *recipe, const char *output)
{
    const mx_recipe *r = mx_recipe_find(recipe);
    if (!r) {
        g->status = mx_fail(g->error, MX_BAD_USAGE, recipe, "no such recipe");
        return;
    }
    const mx_format *element = mx_recipe_element(r), *scale_format = mx_recipe_scale(r);
    int64_t rows = (int64_t)1 << scale_format->bits, cols = (int64_t)1 << element->bits, gr, gc;
    mx_scale_grid(r, rows, cols, &gr, &gc);
    mx_case *c = gen_case(g, "dequantize", recipe, "all-codes,every-scale-byte,nan,inf,subnormal",
                          "every code under every scale byte", "decode:%s:%s", recipe, output);
    if (!c) return;
    snprintf(c->output, sizeof c->output, "%s", output);
    char name[96];
    snprintf(name, sizeof name, "codes/%s/%lld", element->name, (long long)rows);
    mx_tensor *q = gen_input(g, c, "q", name, element->name, rows, cols);
    snprintf(name, sizeof name, "bytes/%s/%lld", scale_format->name, (long long)gc);
    mx_tensor *scale = gen_input(g, c, "scale", name, scale_format->name, gr, gc);
    if (!scale) return;
    for (int64_t i = 0; i < rows * cols; i++)
        q->data[i] = (unsigned char)(i % cols);
    for (int64_t i = 0; i < gr * gc; i++)
        scale->data[i] = (unsigned char)(i / gc);
    if (mx_recipe_has_global(r)) {
        mx_tensor *global = gen_input(g, c, "global", "global/half", "f32", 1, 1);
        if (global) gen_set_value(global, 0, 0.5);
    }
    gen_answer(g, c);
}

void gen_decode(gen *g)
{
    for (size_t i = 0; i < sizeof decodes / sizeof *decodes && !g->status; i++)
        decode_case(g, decodes[i].recipe, decodes[i].output);
}
