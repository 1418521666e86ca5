/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden shapes: sizes that are no multiple of anything, pitched and misaligned inputs, empty tensors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen_blocks.h"
#include "random.h"

static const struct {
    int64_t rows, cols, pitch;
    bool unaligned;
    const char *flags, *reason;
} shapes[] = {
    {1, 1, 0, false, "odd-size,tail", "one element"},
    {1, 31, 0, false, "odd-size,tail", "one short block"},
    {3, 33, 0, false, "odd-size,tail", "a block and one element"},
    {31, 1, 0, false, "odd-size,tail", "a single column"},
    {33, 127, 0, false, "odd-size,tail", "short last blocks both ways"},
    {129, 129, 0, false, "odd-size,tail,padding", "one past the 128-row scale tile"},
    {5, 2880, 0, false, "odd-size,padding,bug-B69", "2880 columns: 90 scales a row, padded to 92"},
    {127, 96, 0, false, "odd-size,padding", "three scales a row, padded to four"},
    {7, 64, 80, false, "pitched,bug-B87", "rows 80 elements apart, the gap poisoned"},
    {4, 65, 67, false, "pitched,odd-size,tail,unaligned", "odd pitch: no row starts on 16 bytes"},
    {2, 64, 0, true, "unaligned", "the base is one element off 16-byte alignment"},
    {0, 64, 0, false, "empty", "no rows"},
    {5, 0, 0, false, "empty", "no columns"},
};

static void fill(mx_tensor *x, int64_t rows, int64_t cols, int64_t width, uint64_t seed)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < width; c++) {
            uint64_t i = (uint64_t)(r * width + c);
            /* The pitch gap holds large values, so that reading it moves a scale. */
            double v = c < cols ? mx_random_normal(seed, 0, i) : ldexp(3, 20);
            gen_set_value(x, r * width + c, ldexp(v, (int)(mx_random_u32(seed, 1, i) % 7) - 3));
        }
}

static void shape_case(gen *g, const char *recipe, const char *dtype, size_t k)
{
    int64_t width = shapes[k].pitch ? shapes[k].pitch : shapes[k].cols;
    mx_case *c =
        gen_case(g, "quantize", recipe, shapes[k].flags, shapes[k].reason, "shape:%lldx%lld%s%s:%s:%s",
                 (long long)shapes[k].rows, (long long)shapes[k].cols, shapes[k].pitch ? "-pitched" : "",
                 shapes[k].unaligned ? "-unaligned" : "", recipe, dtype);
    char tensor[96];
    snprintf(tensor, sizeof tensor, "shape/%lldx%lld-%lld/%s", (long long)shapes[k].rows,
             (long long)shapes[k].cols, (long long)width, dtype);
    mx_tensor *x = gen_input(g, c, "x", tensor, dtype, shapes[k].rows, width);
    if (!x) return;
    c->seed = 100 + k;
    c->pitch = shapes[k].pitch;
    c->cols = shapes[k].pitch ? shapes[k].cols : 0;
    c->misalign = shapes[k].unaligned ? (int)mx_dtype_bytes(dtype) : 0;
    fill(x, shapes[k].rows, shapes[k].cols, width, c->seed);
    gen_answer(g, c);
}

/* Both directions at once, and the columnwise recipe of its own. */
static const char *const both_recipes[] = {"mxfp8",       "mxfp8-te",   "mxfp8-ao-rceil",
                                           "mxfp8-floor", "mxfp8-e5m2", "mxfp4"};

static const struct {
    int64_t rows, cols;
    const char *flags, *reason;
} both_shapes[] = {
    {33, 127, "transposed,odd-size,tail", "short last blocks both ways"},
    {129, 66, "transposed,odd-size,tail,padding", "rows and columns past a tile"},
    {64, 160, "transposed", "whole blocks both ways"},
};

static void both_case(gen *g, const char *operation, const char *recipe, size_t k)
{
    int64_t rows = both_shapes[k].rows, cols = both_shapes[k].cols;
    mx_case *c = gen_case(g, operation, recipe, both_shapes[k].flags, both_shapes[k].reason,
                          "%s:%lldx%lld:%s:bf16", operation, (long long)rows, (long long)cols, recipe);
    char tensor[96];
    snprintf(tensor, sizeof tensor, "both/%lldx%lld/bf16", (long long)rows, (long long)cols);
    mx_tensor *x = gen_input(g, c, "x", tensor, "bf16", rows, cols);
    if (!x) return;
    c->seed = 200 + k;
    fill(x, rows, cols, cols, c->seed);
    gen_answer(g, c);
}

static void gen_both(gen *g)
{
    for (size_t i = 0; i < sizeof both_recipes / sizeof *both_recipes; i++)
        for (size_t k = 0; k < sizeof both_shapes / sizeof *both_shapes; k++) {
            const mx_recipe *r = mx_recipe_find(both_recipes[i]), *t = r ? mx_recipe_columnwise(r) : NULL;
            both_case(g, "quantize-both", both_recipes[i], k);
            if (t) both_case(g, "quantize", mx_recipe_name(t), k);
        }
}

void gen_shapes(gen *g)
{
    gen_both(g);
    for (size_t i = 0; i < block_recipe_count; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (int d = 0; block_recipes[i].dtypes[d]; d++)
                if (shapes[k].rows * shapes[k].cols < 2000 || !strcmp(block_recipes[i].dtypes[d], "bf16"))
                    shape_case(g, block_recipes[i].recipe, block_recipes[i].dtypes[d], k);
}
