/* SPDX-License-Identifier: Apache-2.0
 * Exact sums, compiled for AVX512. */
#include "exact_tile.h"

#define EXACT_BYTES 64
#include "exact_tile_body.h"

void mx_exact_columns_avx512(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums)
{
    add_columns(a, b, n, block, sums);
}
