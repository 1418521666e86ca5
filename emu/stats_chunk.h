/* SPDX-License-Identifier: Apache-2.0
 *
 * stats_chunk.h - the elements of stats.h, 64 at a time: sums in eight lanes and the bin of every element, by
 * the same loop for each instruction set. -ffp-contract=off and a fixed order of additions make the bits the
 * same on all of them. */
#ifndef EMU_STATS_CHUNK_H
#define EMU_STATS_CHUNK_H

#include <stdint.h>

#include "stats.h"

enum { MX_CHUNK = 64, MX_CHUNK_LANES = 8, MX_CHUNK_NO_ULP = MX_ULP_BINS, MX_CHUNK_NO_RELATIVE = MX_REL_BINS };

/* What tells the spacing at a value from its bits, once per element format. Values are compared with a margin
 * of 2^-10, since they are had by a product with the inverse scale: neighbours lie further apart. */
typedef struct mx_chunk_format {
    int32_t least, most;   /* limits of the exponent that decides the spacing, in place in fp32 bits */
    uint32_t twice;        /* less that exponent: the bits of 1 / spacing */
    float largest, normal; /* at or above: the largest value; below, and not 0: a subnormal */
} mx_chunk_format;

typedef struct mx_chunk_lanes {
    double x2[MX_CHUNK_LANES], y2[MX_CHUNK_LANES], xy[MX_CHUNK_LANES], e2[MX_CHUNK_LANES], e[MX_CHUNK_LANES],
        u[MX_CHUNK_LANES], u2[MX_CHUNK_LANES];
} mx_chunk_lanes;

typedef struct mx_chunk {
    double e2[MX_CHUNK], x2[MX_CHUNK];                 /* squares over the square of the block's scale */
    int32_t ulp_bin[MX_CHUNK], relative_bin[MX_CHUNK]; /* or MX_CHUNK_NO_... */
    int32_t nonfinite, zero, flushed, saturated, subnormal, exact, u_n;
} mx_chunk;

/* 64 elements: their values before and after, and the inverse of their scales. Adds to `lanes`. */
typedef void (*mx_chunk_add)(const mx_chunk_format *f, const float *x, const float *y, const float *inverse,
                             mx_chunk_lanes *lanes, mx_chunk *out);
void mx_chunk_add_avx512(const mx_chunk_format *f, const float *x, const float *y, const float *inverse,
                         mx_chunk_lanes *lanes, mx_chunk *out);
void mx_chunk_add_avx2(const mx_chunk_format *f, const float *x, const float *y, const float *inverse,
                       mx_chunk_lanes *lanes, mx_chunk *out);

/* That of this CPU. */
mx_chunk_add mx_chunk_best(void);

#endif
