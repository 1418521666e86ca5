/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_tile.h - the inside of a product: panels of operands, and chains over a tile of outputs. */
#ifndef MX_GEMM_TILE_H
#define MX_GEMM_TILE_H

#include "gemm.h"

/* Some rows and a stretch of lanes of an operand, as codes that the unit sees. */
typedef struct mx_panel {
    const mx_format *format;
    int64_t rows, k;
    uint32_t *codes;               /* rows x k */
    const mx_format *scale_format; /* of scales inside the unit; NULL: none */
    int scale_block;
    uint8_t *scales; /* rows x ceil(k / scale_block) */
} mx_panel;

/* acc[i * ld + j] = chain over all lanes of the panels, from acc[i * ld + j] on. */
typedef void (*mx_chain_tile)(const mx_model *m, const mx_panel *a, const mx_panel *b, uint32_t *acc,
                              int64_t ld, void *scratch);

void mx_chain_tile_scalar(const mx_model *m, const mx_panel *a, const mx_panel *b, uint32_t *acc, int64_t ld,
                          void *scratch);

/* A faster function that gives the same bits on this CPU, or NULL; *scratch says how much it needs for
 * panels of up to `rows` rows and `k` lanes. */
mx_chain_tile mx_chain_tile_fast(const mx_model *m, const mx_format *a, const mx_format *b, int64_t rows,
                                 int64_t k, size_t *scratch);

#endif
