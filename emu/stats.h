/* SPDX-License-Identifier: Apache-2.0
 *
 * stats.h - what quantisation did to a tensor, as a mergeable summary: counters and exact sums only, so that
 * any split of the tensor over threads, processes and machines gives the same bits.
 *
 * Units: x the value before, y after; e = y - x; ulp the spacing of the element format between the two
 * neighbours of x, times the block's scale (beyond the largest: the spacing before it). Relative errors are
 * |e| / |x| over non-zero x. */
#ifndef MX_STATS_H
#define MX_STATS_H

#include "mx.h"
#include "sum.h"

enum {
    MX_REL_PER_OCTAVE = 8,
    MX_REL_OCTAVES = 32,
    MX_REL_LOWEST = -28, /* bins from 2^-28 to 2^4 */
    MX_REL_BINS = MX_REL_PER_OCTAVE * MX_REL_OCTAVES,
    MX_ULP_BINS = 64, /* of 1/32 ulp: -1 to +1, signed; the ends take what lies outside */
    MX_SPREAD_BINS = 64
};

typedef struct mx_stats {
    uint64_t n;            /* elements */
    uint64_t nonfinite;    /* x or y is NaN or Inf: counted, and left out of everything below */
    uint64_t zero;         /* x is 0 */
    uint64_t flushed;      /* x is not 0, y is */
    uint64_t saturated;    /* |code| is the largest and |x| lies more than half an ulp beyond |y| */
    uint64_t subnormal;    /* y is subnormal in the element format */
    uint64_t exact;        /* e is 0 and x is not */
    mx_sum x2, y2, xy, e2; /* sums of squares and products */
    mx_sum e;              /* signed error */
    mx_sum u, u2; /* error in ulps, signed away from zero, and its square; saturated elements left out */
    uint64_t u_n;
    uint64_t relative[MX_REL_BINS]; /* by log2 of the relative error; errors of 0 are in `exact` */
    uint64_t ulps[MX_ULP_BINS];
    uint64_t codes[256];             /* of the element format, unpacked */
    uint64_t scales[256];            /* e8m0 and ue4m3 bytes; fp32 scales by their exponent field */
    uint64_t spread[MX_SPREAD_BINS]; /* rows by (largest - smallest) scale byte among non-zero blocks */
    uint64_t blocks, zero_blocks;
    double worst_ratio;           /* largest e2 / x2 of a block; ties go to the first */
    int64_t worst_row, worst_col; /* of its first element; -1: none */
} mx_stats;

void mx_stats_init(mx_stats *s);
void mx_stats_merge(mx_stats *s, const mx_stats *other);

/* Add rows [row0, row0 + rows) of a tensor quantised by r: x as fp32, dense, and what became of it. `rows`
 * must be whole blocks. The division into calls does not matter. */
mx_status mx_stats_add(mx_stats *s, const mx_recipe *r, const float *x, const mx_quantized *q, const float *y,
                       int64_t row0, int64_t rows, int64_t cols, mx_error *e);

double mx_stats_sqnr(const mx_stats *s);       /* dB; +Inf where nothing was lost */
double mx_stats_cosine(const mx_stats *s);     /* of the angle between x and y */
double mx_stats_norm_ratio(const mx_stats *s); /* |y| / |x| */
/* Mean error in ulps with the half-width of its 95 % confidence interval. */
double mx_stats_bias(const mx_stats *s, double *half_width);
/* Upper edge of the bin in which the p-quantile of the relative error over non-zero x lies. */
double mx_stats_relative_quantile(const mx_stats *s, double p);

#endif
