/* SPDX-License-Identifier: Apache-2.0
 * Chunks of the statistics, compiled for AVX2. */
#define CHUNK_BYTES 32
#include "stats_chunk_body.h"

void mx_chunk_add_avx2(const mx_chunk_format *f, const float *x, const float *y, const float *inverse,
                       mx_chunk_lanes *lanes, mx_chunk *out)
{
    chunk_add(f, x, y, inverse, lanes, out);
}
