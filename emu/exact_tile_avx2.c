/* SPDX-License-Identifier: Apache-2.0
 * Exact sums, compiled for AVX2. */
#include "exact_tile.h"

#define EXACT_BYTES 32
#include "exact_tile_body.h"

void mx_exact_columns_avx2(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums)
{
    add_columns(a, b, n, block, sums);
}
