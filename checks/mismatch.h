/* SPDX-License-Identifier: Apache-2.0
 *
 * mismatch.h - where in a tensor the wrong elements lie, on a coarse grid of tiles: a fault of a tail, a tile
 * index or a warp has a shape that a list of the first elements does not show. */
#ifndef CHECKS_MISMATCH_H
#define CHECKS_MISMATCH_H

#include <stdint.h>
#include <stdio.h>

enum { MISMATCH_ROWS = 32, MISMATCH_COLS = 64 };

/* Tiles are powers of two, the least with which the tensor fits. */
typedef struct mismatch_map {
    int64_t height, width;                         /* of the tensor, in elements; 0: no map */
    int64_t tile_rows, tile_cols;                  /* elements of one tile */
    int rows, cols;                                /* tiles */
    int64_t first_row;                             /* of the tensor: the map of a band starts there */
    uint32_t wrong[MISMATCH_ROWS * MISMATCH_COLS]; /* wrong elements of each tile, row by row */
} mismatch_map;

/* An empty map of a tensor. */
void mismatch_begin(mismatch_map *m, int64_t height, int64_t width);
void mismatch_add(mismatch_map *m, int64_t row, int64_t col);

/* A block of characters, one a tile: '.' all right, then by the share of wrong elements up to '#'. */
void mismatch_print(const mismatch_map *m, FILE *out);

#endif
