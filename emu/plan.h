/* SPDX-License-Identifier: Apache-2.0
 *
 * plan.h - the steps of quantize.h's block, apart: amax, then a plan (scale and multiplier), then elements.
 * Private to emu/. */
#ifndef EMU_PLAN_H
#define EMU_PLAN_H

#include "quantize.h"

typedef struct mx_plan {
    uint32_t stored;  /* byte, or bits of an f32 */
    float multiplier; /* elements times it; or, with `divide`, by it */
    float half;       /* MX_QUIRK_SEARCH: half the scale */
    bool divide;
} mx_plan;

/* amax of a block by the recipe's NaN policy, before amax_format and amax_floor; `so_far` starts at 0. */
float mx_block_amax(const mx_recipe *r, const mx_block *b, float so_far);
/* The larger of two such. */
float mx_amax_join(float a, float b);

/* From amax to a plan. `candidate`: 1 asks for the other scale of MX_NV_FOUR_SIX. */
mx_plan mx_plan_make(const mx_recipe *r, float amax, float global_amax, const mx_format *source,
                     int candidate);

/* What the cast of x meets: x times the multiplier, or over it; x itself in a plain cast. */
float mx_plan_product(const mx_recipe *r, const mx_plan *p, float x);
/* One element under a plan. */
uint32_t mx_plan_encode(const mx_recipe *r, const mx_plan *p, float x, uint32_t random);
/* A block under a plan. */
void mx_plan_encode_block(const mx_recipe *r, const mx_plan *p, const mx_block *b, uint8_t *codes,
                          int64_t code_stride);

/* The element step after the product. `half` as in mx_plan. */
uint32_t mx_element_encode(const mx_recipe *r, float y, float x, float half, uint32_t random);

#endif
