/* SPDX-License-Identifier: Apache-2.0
 *
 * scene.h - a failed quantisation as the search of explain.c sees it: x as fp32, and codes and scales, got
 * and wanted, on the grid of x. */
#ifndef CHECKS_SCENE_H
#define CHECKS_SCENE_H

#include "explain.h"

#define SCENE_BLOCKS 512 /* wrong blocks that are searched; as many right ones confirm */

typedef struct scene {
    const trial *t;
    const mx_recipe *recipe; /* of this direction */
    const mx_format *source;
    float *x; /* NULL: not known (fused operations) */
    int64_t rows, cols, block_rows, block_cols, grid_rows, grid_cols;
    float global_amax;
    uint8_t *got, *want;              /* codes */
    uint32_t *scale_got, *scale_want; /* NULL: none */
    int64_t *wrong, *right;           /* block indices */
    size_t n_wrong, n_right, all_wrong;
} scene;

/* Gather it for output `out`; false where the operation is no quantisation, or memory is short. */
bool scene_make(scene *s, const trial *t, int out);
void scene_free(scene *s);

/* Place and extent of block b. */
typedef struct scene_block {
    int64_t row, col, rows, cols;
} scene_block;
scene_block scene_at(const scene *s, int64_t b);

/* Does block b of `got` hold these codes (dense, cols of the block per row) and this scale? */
bool scene_equals(const scene *s, int64_t b, const uint8_t *codes, uint32_t scale);

#endif
