/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden fused operations: both directions from one read, and SwiGLU with quantisation, forward and backward.
 */
#include "generate.h"
#include "random.h"

/* Every bf16 gate, specials included, under an up projection of 1. */
static void every_gate(gen *g)
{
    mx_case *c = gen_case(g, "swiglu-quantize", "mxfp8", "all-codes,nan,inf,signed-zero,subnormal",
                          "every bf16 value as the gate", "swiglu-quantize:mxfp8:every-gate");
    mx_tensor *gate = gen_input(g, c, "gate", "swiglu/every", "bf16", 512, 128);
    mx_tensor *up = gen_input(g, c, "up", "swiglu/ones", "bf16", 512, 128);
    for (int k = 0; up && k < 65536; k++) {
        ((uint16_t *)(void *)gate->data)[k] = (uint16_t)k;
        ((uint16_t *)(void *)up->data)[k] = 0x3F80;
    }
    gen_answer(g, c);
}

static const struct {
    const char *operation, *recipe, *dtype;
    int64_t rows, cols;
    bool grad;
} activations[] = {
    {"swiglu-quantize", "mxfp8", "bf16", 65, 160, false},
    {"swiglu-quantize", "mxfp8", "f32", 7, 33, false},
    {"swiglu-quantize", "mxfp8", "f16", 32, 64, false},
    {"swiglu-quantize", "mxfp8-floor", "bf16", 32, 64, false},
    {"swiglu-quantize-both", "mxfp8", "bf16", 65, 160, false},
    {"swiglu-quantize-both", "mxfp8", "f32", 33, 31, false},
    {"swiglu-grad-quantize", "mxfp8", "bf16", 65, 96, true},
    {"swiglu-grad-quantize", "mxfp8", "f32", 33, 32, true},
    {"swiglu-grad-quantize", "mxfp8-e5m2", "bf16", 32, 64, true},
};

static void make_activation(gen *g, size_t k)
{
    static const char *const roles[] = {"gate", "up", "dy"};
    mx_case *c =
        gen_case(g, activations[k].operation, activations[k].recipe, "realistic-normal,odd-size,tail",
                 "gates from -12 to 12, so that both tails of the sigmoid are met", "%s:%s:%lldx%lld:%s",
                 activations[k].operation, activations[k].recipe, (long long)activations[k].rows,
                 (long long)activations[k].cols, activations[k].dtype);
    for (int i = 0; c && i < (activations[k].grad ? 3 : 2); i++) {
        mx_tensor *t =
            gen_input(g, c, roles[i], "", activations[k].dtype, activations[k].rows, activations[k].cols);
        for (int64_t j = 0; t && j < activations[k].rows * activations[k].cols; j++)
            gen_set_value(t, j, (i ? 1 : 4) * mx_random_normal(21 + k, (uint32_t)i, (uint64_t)j));
    }
    gen_answer(g, c);
}

void gen_fused(gen *g)
{
    every_gate(g);

    for (size_t k = 0; k < sizeof activations / sizeof *activations; k++)
        make_activation(g, k);
}
