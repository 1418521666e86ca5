/* SPDX-License-Identifier: Apache-2.0
 *
 * exact_tile.h - sums without error, many columns at a time. */
#ifndef MX_EXACT_TILE_H
#define MX_EXACT_TILE_H

#include <stdint.h>

enum { MX_EXACT_WIDTH = 16 };

/* Columns of running sums: hi + lo is exact while lost is 0. */
typedef struct mx_exact_sums {
    double hi[MX_EXACT_WIDTH], lo[MX_EXACT_WIDTH];
    int64_t lost[MX_EXACT_WIDTH];
} mx_exact_sums;

/* Add sum over k of a[k] * b[k][column], k < n. Every product must be exact in double, and so must the sum of
 * any `block` of them. */
typedef void (*mx_exact_add_columns)(const double *a, const double *b, int64_t n, int block,
                                     mx_exact_sums *sums);
void mx_exact_columns_avx512(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums);
void mx_exact_columns_avx2(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums);
void mx_exact_columns_plain(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums);

#endif
