/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden blocks: scales at every rule's threshold, and special values in every position. */
#include "gen_blocks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random.h"

const block_recipe block_recipes[] = {
    {"mxfp8", {"f32", "bf16", "f16"}}, {"mxfp8-ao-rceil", {"f32", "bf16"}},
    {"mxfp8-floor", {"f32", "bf16"}},  {"mxfp8-col", {"f32", "bf16"}},
    {"mxfp8-32x32", {"bf16"}},         {"mxfp8-e5m2", {"f32", "bf16"}},
    {"mxfp6-e2m3", {"bf16"}},          {"mxfp6-e3m2", {"bf16"}},
    {"mxfp4", {"f32", "bf16"}},        {"mxint8", {"f32"}},
    {"nvfp4-te", {"f32", "bf16"}},     {"fp8-1x128", {"f32", "bf16"}},
    {"fp8-128x128", {"bf16"}},         {"fp8-tensor", {"bf16"}},
};
const size_t block_recipe_count = sizeof block_recipes / sizeof *block_recipes;

static int64_t block_length(const mx_recipe *r, int64_t *block_rows, int64_t *block_cols)
{
    mx_recipe_block(r, 32, 32, block_rows, block_cols);
    return *block_rows * *block_cols;
}

mx_case *gen_block_case(gen *g, const char *recipe, const char *dtype, const char *topic, const char *flags,
                        const char *reason, int64_t n, uint32_t (*value)(int64_t, int64_t, const void *),
                        const void *ctx)
{
    const mx_recipe *r = mx_recipe_find(recipe);
    if (!r && !g->status) g->status = mx_fail(g->error, MX_BAD_USAGE, recipe, "no such recipe");
    if (g->status) return NULL;
    int64_t br, bc, length = block_length(r, &br, &bc);
    int64_t across = br > 1 ? n : 1; /* blocks side by side: columnwise and square recipes */
    int64_t down = br > 1 ? 1 : n;
    mx_case *c = gen_case(g, "quantize", recipe, flags, reason, "%s:%s:%s", topic, recipe, dtype);
    char tensor[96];
    snprintf(tensor, sizeof tensor, "%s/%lldx%lld/%s", topic, (long long)br, (long long)bc, dtype);
    mx_tensor *x = gen_input(g, c, "x", tensor, dtype, down * br, across * bc);
    for (int64_t b = 0; x && b < n; b++)
        for (int64_t i = 0; i < length; i++) {
            int64_t row = (br > 1 ? 0 : b) * br + i / bc, col = (br > 1 ? b : 0) * bc + i % bc;
            gen_set_bits(x, row * across * bc + col, value(b, i, ctx));
        }
    return c;
}

/* ---- scale thresholds ----------------------------------------------------------------------------- */

/* Mantissas at which some rule of some format changes its mind, with the neighbours on both sides. */
static const uint32_t mantissas[] = {
    0x000000, 0x000001, 0x1FFFFF, 0x200000, 0x3FFFFF, 0x400000, 0x400001, 0x5FFFFF, 0x600000, 0x600001,
    0x6FFFFF, 0x700000, 0x700001, 0x77FFFF, 0x780000, 0x780001, 0x7BFFFF, 0x7C0000, 0x7FFFFE, 0x7FFFFF,
};
enum { N_MANTISSAS = sizeof mantissas / sizeof *mantissas };

/* Exponent fields given the whole list: both ends, around 1, and some between; the others get two. */
static bool dense(uint32_t exponent)
{
    return exponent <= 12 || exponent >= 244 || (exponent >= 116 && exponent <= 136) || exponent % 32 == 0;
}

static int64_t threshold_count(void)
{
    int64_t n = 0;
    for (uint32_t e = 0; e < 255; e++)
        n += dense(e) ? N_MANTISSAS : 2;
    return n;
}

static uint32_t threshold(int64_t b)
{
    for (uint32_t e = 0; e < 255; e++) {
        int64_t here = dense(e) ? N_MANTISSAS : 2;
        if (b < here)
            return e << 23 | mantissas[dense(e) ? b : 9 * b]; /* 2^k and the mantissa just past 1.75 */
        b -= here;
    }
    return 0;
}

/* The amax sits at a position that moves from block to block, with both signs; the others are products of a
 * code or midpoint of e4m3 with a power of two near the amax, so that many fall on ties. */
static uint32_t threshold_value(int64_t b, int64_t i, const void *ctx)
{
    (void)ctx;
    uint32_t top = threshold(b);
    if (i == b % 32) return top | (b & 1 ? 0x80000000u : 0);
    int exponent = (int)(top >> 23) - 127;
    uint64_t draw = mx_random_u64(31, 0, (uint64_t)(b * 16384 + i));
    double significand = (double)(draw >> 8 & 15) / 16 + 1; /* codes and midpoints of three mantissa bits */
    double x = ldexp(significand, exponent - 1 - (int)(draw >> 16 & 15));
    return mx_encode(mx_format_find("f32"), draw & 1 ? -x : x, &MX_CAST_DEFAULT, 0);
}

void gen_scales(gen *g)
{
    for (size_t i = 0; i < block_recipe_count; i++) {
        const mx_recipe *r = mx_recipe_find(block_recipes[i].recipe);
        int64_t br, bc;
        if (r && block_length(r, &br, &bc) > 32) continue; /* large blocks: gen_special and gen_shapes */
        for (int d = 0; block_recipes[i].dtypes[d]; d++)
            gen_answer(g,
                       gen_block_case(g, block_recipes[i].recipe, block_recipes[i].dtypes[d], "scales",
                                      "every-scale-byte,amax-power-of-two,rule-threshold,midpoint",
                                      "amax at every exponent and at each scale rule's thresholds, +-1 ulp",
                                      threshold_count(), threshold_value, NULL));
    }
}

/* ---- special values -------------------------------------------------------------------------------- */

/* One special value among ordinary ones: block b puts kind b / 32 at position b % 32. */
static const struct {
    const char *flags, *reason;
    uint32_t special, others;
} specials[] = {
    {"nan", "one NaN in each position", 0x7FC00000, 0x3F800000},
    {"nan", "one negative NaN in each position", 0xFFC00000, 0x3F800000},
    {"inf", "one +Inf in each position", 0x7F800000, 0x3F800000},
    {"inf", "one -Inf in each position", 0xFF800000, 0x40490FDB},
    {"signed-zero", "-0 in each position", 0x80000000, 0xBF800000},
    {"signed-zero,zero-block", "-0 among zeros", 0x80000000, 0x00000000},
    {"tiny-block,subnormal", "the smallest subnormal among zeros", 0x00000001, 0x80000000},
    {"tiny-block,subnormal", "the largest subnormal among smaller ones", 0x007FFFFF, 0x00200000},
    {"tiny-block", "2^-126 among subnormals", 0x00800000, 0x80400000},
    {"subnormal", "elements 2^-9 of the amax and below", 0x43E00000, 0x3A800001},
};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

static uint32_t special_value(int64_t b, int64_t i, const void *ctx)
{
    (void)ctx;
    return i == b % 32 ? specials[b / 32].special : specials[b / 32].others;
}

/* Whole blocks of one value, and mixtures that settle which special wins; the first 8 for large blocks too.
 */
static const uint32_t uniform[][2] = {
    {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x7FC00000, 0x7FC00000}, {0x7F800000, 0xFF800000},
    {0x7F800000, 0x7FC00000}, {0x00000001, 0x00000001}, {0x7F7F0000, 0xFF7F0000}, {0x43E00000, 0xC3E00000},
    {0xFFC00000, 0x7FC00000}, {0x7F800000, 0x7F800000}, {0xFF800000, 0x7FC00000}, {0x7FC00000, 0x00000000},
    {0x7F800000, 0x00000000}, {0x7F7FFFFF, 0x00000001}, {0x3F800000, 0x3F800000}, {0x43E00001, 0x43E00000},
};
enum { N_UNIFORM = sizeof uniform / sizeof *uniform };

static uint32_t uniform_value(int64_t b, int64_t i, const void *ctx)
{
    (void)ctx;
    return uniform[b][i & 1];
}

void gen_special(gen *g)
{
    for (size_t i = 0; i < block_recipe_count; i++)
        for (int d = 0; block_recipes[i].dtypes[d]; d++) {
            const char *recipe = block_recipes[i].recipe, *dtype = block_recipes[i].dtypes[d];
            const mx_recipe *r = mx_recipe_find(recipe);
            int64_t br = 0, bc = 0, length = r ? block_length(r, &br, &bc) : 0;
            if (length <= 32)
                gen_answer(g, gen_block_case(g, recipe, dtype, "special",
                                             "nan,inf,signed-zero,zero-block,tiny-block,subnormal",
                                             "NaN, Inf, -0 and tiny values in each of 32 positions",
                                             32 * N_SPECIALS, special_value, NULL));
            else if (length > 4096 && strcmp(dtype, "bf16"))
                continue; /* the bytes of large blocks add up, and bf16 holds all of these values */
            gen_answer(g, gen_block_case(g, recipe, dtype, "uniform",
                                         "nan,inf,signed-zero,zero-block,tiny-block",
                                         "whole blocks of one value, and pairs of specials",
                                         length > 4096 ? 8 : N_UNIFORM, uniform_value, NULL));
        }
}
