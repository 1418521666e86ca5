/* SPDX-License-Identifier: Apache-2.0
 *
 * gen_blocks.h - cases built of designed blocks: a block is a run of values, laid along the recipe's axis. */
#ifndef CHECKS_GEN_BLOCKS_H
#define CHECKS_GEN_BLOCKS_H

#include "generate.h"

/* Recipes whose bytes are committed, and the input types each is given. */
typedef struct block_recipe {
    const char *recipe;
    const char *dtypes[4]; /* NULL-terminated */
} block_recipe;
extern const block_recipe block_recipes[];
extern const size_t block_recipe_count;

/* A case of `n` blocks of the recipe's length: block b's value i comes from value(b, i, ctx) as fp32 bits.
 * 1xN recipes get one block a row, Nx1 recipes one block a column, square ones fill their tile. */
mx_case *gen_block_case(gen *g, const char *recipe, const char *dtype, const char *topic, const char *flags,
                        const char *reason, int64_t n,
                        uint32_t (*value)(int64_t b, int64_t i, const void *ctx), const void *ctx);

#endif
