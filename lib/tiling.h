/* SPDX-License-Identifier: Apache-2.0
 *
 * tiling.h - the arithmetic behind every layout of the table.
 *
 * A grid is padded to whole tiles. Tiles follow each other along rows, or along columns (column_major),
 * `stride` units apart. Inside a tile, each digit takes (coordinate / div) mod `mod` and counts `step`
 * units for it; steps of one tiling form a mixed radix, which makes the inverse the same table read
 * backwards. */
#ifndef MX_TILING_H
#define MX_TILING_H

#include "mx.h"

#define MX_TILE_MAX 512 /* elements of the largest tile */

typedef struct mx_tile_digit {
    bool of_col; /* coordinate: column, else row, inside the tile */
    int16_t div, mod, step;
} mx_tile_digit;

typedef struct mx_tiling {
    int16_t tile_rows, tile_cols;
    int16_t pad_rows, pad_cols; /* the grid is padded to multiples of these (multiples of the tile) */
    int16_t stride;    /* units from a tile to the next: more than it holds where something else lives
                          between */
    int16_t base;      /* units before the first element of a tile */
    int16_t flip;      /* xor on the unit inside a tile */
    bool column_major; /* tiles run down the columns */
    bool pitched;      /* mx_grid.pitch applies */
    bool grouped;      /* each group of rows is padded and placed alone */
    uint8_t n_digits;
    mx_tile_digit digit[4];
} mx_tiling;

int64_t mx_tiling_size(const mx_tiling *t, const mx_grid *g);
int64_t mx_tiling_offset(const mx_tiling *t, const mx_grid *g, int64_t r, int64_t c);
bool mx_tiling_inverse(const mx_tiling *t, const mx_grid *g, int64_t offset, int64_t *r, int64_t *c);

/* Units from the start of a tile to its element (r, c), for 0 <= r < tile_rows, 0 <= c < tile_cols. */
int mx_tiling_within(const mx_tiling *t, int r, int c);

/* One group's grid (group 0 is everything where groups do not apply) and the unit where it starts. */
int64_t mx_tiling_groups(const mx_tiling *t, const mx_grid *g);
mx_grid mx_tiling_group(const mx_tiling *t, const mx_grid *g, int64_t group);

/* Where tiles of an ungrouped grid start: tile (i, j) lies at i * row_step + j * col_step. */
typedef struct mx_tiling_steps {
    int64_t row_step, col_step;
} mx_tiling_steps;
mx_tiling_steps mx_tiling_steps_of(const mx_tiling *t, const mx_grid *g);

#endif
