/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of stochastic rounding. Their wanted bits are the emulator's draws; the verdict is "bound": a
 * kernel with another generator is judged by the distribution of its outputs under several seeds. */
#include <stdio.h>

#include "data.h"
#include "generate.h"

/* Enough draws over 8 seeds that a bias of 1/64 ulp stands far outside chance: 8 x 16384 draws tell the mean
 * to 0.0011 ulp. */
enum { ROWS = 64, COLS = 256 };

static const struct {
    const char *name, *operation, *recipe, *dtype;
} rows[] = {
    {"mxfp8-sr16", "quantize", "study:e4m3/e8m0/1x32/rceil/sr16", "f32"},
    {"mxfp8-sr16", "quantize", "study:e4m3/e8m0/1x32/rceil/sr16", "bf16"},
    {"mxfp4-sr16", "quantize", "study:e2m1/e8m0/1x32/rceil/sr16", "f32"},
    {"nvfp4-te-sr", "quantize", "nvfp4-te-sr", "f32"},
    {"nvfp4-te-sr", "quantize", "nvfp4-te-sr", "bf16"},
    {"e5m2-sr16", "cast", "cast-e5m2-sr16-sat", "bf16"},
};

void gen_noise(gen *g)
{
    const mx_data *normal = mx_data_find("normal");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mx_case *c =
            gen_case(g, rows[i].operation, rows[i].recipe, "stochastic,realistic-normal",
                     "stochastic rounding: neighbours, unbiased, independent draws, every seed its own",
                     "noise:%s:%s", rows[i].name, rows[i].dtype);
        char tensor[96];
        bool vector = *rows[i].operation == 'c';
        snprintf(tensor, sizeof tensor, "noise/%s%s", rows[i].dtype, vector ? "/vector" : "");
        mx_tensor *x =
            gen_input(g, c, "x", tensor, rows[i].dtype, vector ? 1 : ROWS, vector ? ROWS * COLS : COLS);
        if (!x) return;
        c->verdict = MX_VERDICT_BOUND;
        c->seed = 2026;
        mx_data_fill(normal, c->seed, mx_format_find(rows[i].dtype), 0, vector ? 1 : ROWS,
                     vector ? ROWS * COLS : COLS, vector ? ROWS * COLS : COLS, x->data);
        gen_answer(g, c);
    }
}
