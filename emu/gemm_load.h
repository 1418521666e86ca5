/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_load.h - operands into panels, scales into factors, results into memory. */
#ifndef MX_GEMM_LOAD_H
#define MX_GEMM_LOAD_H

#include "gemm_tile.h"

/* Where block scales enter a product; gemm.h says when. */
typedef enum mx_scale_place {
    MX_PLACE_NONE,
    MX_PLACE_UNIT,
    MX_PLACE_PROMOTION,
    MX_PLACE_EPILOGUE,
    MX_PLACE_BEFORE
} mx_scale_place;

mx_status mx_scale_place_find(const mx_product *p, mx_scale_place *out, mx_error *e);
/* The format that the unit sees of an operand: its own, or bf16 after dequantisation. */
const mx_format *mx_unit_format(const mx_product *p, const mx_operand *x);

/* Room for `rows` rows of `k` lanes of an operand of p. False: no memory. */
bool mx_panel_make(mx_panel *panel, const mx_product *p, const mx_operand *x, mx_scale_place place,
                   int64_t rows, int64_t k);
void mx_panel_free(mx_panel *panel);
void mx_panel_load(mx_panel *panel, const mx_product *p, const mx_operand *x, int64_t row, int64_t rows,
                   int64_t lane, int64_t k);

/* Scales of n rows at one lane, as fp32. An operand without scales gives ones. */
void mx_load_factors(const mx_operand *x, int64_t row, int64_t n, int64_t lane, float *out);

/* n codes of one row from `lane` on. */
void mx_load_codes(const mx_operand *x, int64_t row, int64_t lane, int64_t n, uint32_t *out);

float mx_load_value(const mx_format *f, const void *data, int64_t at);
/* One RNE cast; f16 and bf16 overflow to Inf, 8-bit formats saturate. */
void mx_store_value(const mx_format *f, void *data, int64_t at, float x);

#endif
