/* SPDX-License-Identifier: Apache-2.0
 *
 * diff.h - comparing two arrays, by class first.
 *
 * Bits decide. An element that differs is sorted into one kind before any arithmetic is done on it: NaN,
 * infinity, sign of zero, sign, and only then a distance. The distance of two finite values is counted in
 * representable values of their format (ulps): neighbours are 1 apart, +0 and -0 are 0 apart, the
 * smallest positive and the smallest negative value 2.
 *
 *     mx_diff d = {0};
 *     mx_diff_add(&d, &dtype, got, want, n, 0, false);   // as often as there are pieces
 *     if (mx_diff_total(&d)) ... d.first[0].index ...
 */
#ifndef MX_DIFF_H
#define MX_DIFF_H

#include "dtype.h"

typedef enum mx_diff_kind {
    MX_DIFF_NONE,      /* same bits; or two NaNs, unless NaN codes are pinned */
    MX_DIFF_NAN,       /* NaN against a number, or two NaN codes where the code is pinned */
    MX_DIFF_INF,       /* infinity against a finite value or the other infinity */
    MX_DIFF_ZERO_SIGN, /* +0 against -0 */
    MX_DIFF_SIGN,      /* opposite signs, not both zero */
    MX_DIFF_VALUE,     /* same class and sign, another value */
    MX_DIFF_PAD_BITS,  /* same code, but bits above the format's width differ */
    MX_DIFF_KINDS
} mx_diff_kind;

#define MX_DIFF_KEPT        16
#define MX_DIFF_BINS        8
#define MX_DIFF_NO_DISTANCE UINT64_MAX /* one of the two is NaN or infinite */

typedef struct mx_difference {
    int64_t index; /* of the element, as counted by the caller */
    uint64_t got, want;
    double got_value, want_value;
    uint64_t ulps; /* MX_DIFF_NO_DISTANCE where there is none */
    mx_diff_kind kind;
} mx_difference;

typedef struct mx_diff {
    int64_t elements;
    int64_t count[MX_DIFF_KINDS];
    int64_t bins[MX_DIFF_BINS]; /* elements that differ by a distance, by mx_diff_bin_limit() */
    uint64_t max_ulps;          /* largest finite distance, and where it was first met */
    int64_t max_index;
    int n_first;
    mx_difference first[MX_DIFF_KEPT]; /* the first ones that differ, in the order added */
} mx_diff;

/* Compare two elements. `ulps` (not NULL) receives the distance. */
mx_diff_kind mx_diff_one(const mx_dtype *d, uint64_t got, uint64_t want, bool pin_nan, uint64_t *ulps);

/* Add n elements to the result; the first of them is called `index`. `pin_nan`: NaN codes must agree. */
void mx_diff_add(mx_diff *r, const mx_dtype *d, const void *got, const void *want, int64_t n, int64_t index,
                 bool pin_nan);
/* Add the result of a later part; `more` must have been counted with indices after those of `r`. */
void mx_diff_merge(mx_diff *r, const mx_diff *more);

int64_t mx_diff_total(const mx_diff *r);          /* elements that differ */
const char *mx_diff_kind_name(mx_diff_kind kind); /* "nan", "zero-sign", ...; "same" */
uint64_t mx_diff_bin_limit(int bin); /* largest distance in a bin: 0, 1, 2, 4, 8, 64, 4096, all */

#endif
