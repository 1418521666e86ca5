/* SPDX-License-Identifier: Apache-2.0
 *
 * band.h - a matrix quantised in parts, for tensors that do not fit memory: the bytes are those of
 * mx_quantize on the whole.
 *
 * A part starts and ends at block borders of the recipe, or at the matrix's own. Where the recipe looks at
 * the whole tensor (one scale for all of it, a second-level scale), mx_band_amax runs over all parts
 * first. */
#ifndef EMU_BAND_H
#define EMU_BAND_H

#include "quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_band {
    int64_t first_row, first_col; /* of the part, in the matrix */
    int64_t matrix_cols;          /* of the whole matrix: random bits belong to an element's place */
    float amax;                   /* over the whole matrix; read where mx_band_needs_amax() */
    uint64_t seed;
    int threads; /* 0: all that OpenMP has */
} mx_band;

/* Does the recipe need the amax of the whole matrix before any code can be made? */
bool mx_band_needs_amax(const mx_recipe *r);
/* The larger, by the recipe's NaN policy, of `so_far` (0 at first) and the amax of the part. MX_NO_MEMORY. */
mx_status mx_band_amax(const mx_recipe *r, const mx_matrix *part, float *so_far, mx_error *e);
/* Quantise the part; `out` as for a matrix of its size. */
mx_status mx_band_quantize(const mx_recipe *r, const mx_matrix *part, const mx_band *where, mx_quantized *out,
                           mx_error *e);

#ifdef __cplusplus
}
#endif
#endif
