/* SPDX-License-Identifier: Apache-2.0
 *
 * agreement.h - how two tensors of one meaning agree: size and angle of the difference, overall and where it
 * is worst. */
#ifndef CHECKS_AGREEMENT_H
#define CHECKS_AGREEMENT_H

#include <jansson.h>
#include <stdint.h>

/* rows x cols; row r starts at x + (r / group * group_step + r % group) * cols, so that every second half of
 * a stack of matrices is a tensor too. group 0: dense. */
typedef struct tensor_view {
    const double *x;
    int64_t rows, cols, group, group_step;
} tensor_view;

enum { AGREEMENT_BLOCK = 32 }; /* elements along a row */

/* x the reference, y what is judged. Errors are |y - x| / |x|, norms L2. */
typedef struct agreement {
    int64_t n;
    int64_t nonfinite; /* elements of y that are NaN or Inf where x is not: left out of what follows */
    double relative;   /* of the whole tensor */
    double cosine;     /* of the angle; blind to magnitude */
    double norm_ratio; /* |y| / |x| */
    double projection; /* <x, y> / <x, x>: 1 for independent errors of mean zero, whatever their size */
    double signs;      /* share of non-zero x whose y has the same sign */
    double sqnr;       /* -20 log10(relative), dB; capped at 300 */
    int64_t worst_row;
    double worst_row_relative; /* a row of zeros counts with the mean norm of rows */
    int64_t worst_block_row, worst_block_col;
    double worst_block_relative; /* of AGREEMENT_BLOCK elements along a row; zero blocks left out */
} agreement;

agreement agree(const tensor_view *x, const tensor_view *y);
/* Members of an object: n, rel_l2, cosine, norm_ratio, projection, sign_agreement, sqnr_db, worst_row,
 * worst_row_rel, worst_block [row, col], worst_block_rel, nonfinite. */
void agreement_to_json(const agreement *a, json_t *o);

#endif
