/* SPDX-License-Identifier: Apache-2.0
 * Chunks of the statistics for any CPU, and the choice. */
#include "fast.h"

#define CHUNK_BYTES 16
#include "stats_chunk_body.h"

static void chunk_add_plain(const mx_chunk_format *f, const float *x, const float *y, const float *inverse,
                            mx_chunk_lanes *lanes, mx_chunk *out)
{
    chunk_add(f, x, y, inverse, lanes, out);
}

mx_chunk_add mx_chunk_best(void)
{
    if (!strcmp(mx_fast_isa(), "avx512")) return mx_chunk_add_avx512;
    if (!strcmp(mx_fast_isa(), "avx2")) return mx_chunk_add_avx2;
    return chunk_add_plain;
}
