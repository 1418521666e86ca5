/* SPDX-License-Identifier: Apache-2.0
 *
 * sum.h - exact sums of doubles. Addition of an exact sum is associative and commutative, so a statistic has
 * the same bits however the data were split over threads, processes or machines.
 *
 * Method: a fixed-point number of 32-bit digits spread over 64-bit words, each double added as three digits
 * (Neal, "Fast exact summation using small and large superaccumulators", arXiv 1505.05571). */
#ifndef MX_SUM_H
#define MX_SUM_H

#include <stdint.h>

enum { MX_SUM_WORDS = 70 };

typedef struct mx_sum {
    int64_t word[MX_SUM_WORDS]; /* word i counts units of 2^(32 i - 1088) */
    uint32_t pending;           /* additions since carries were last propagated */
    uint8_t special;            /* bit 0: +Inf seen, bit 1: -Inf, bit 2: NaN */
} mx_sum;

void mx_sum_add(mx_sum *s, double x); /* a zeroed struct is an empty sum */
void mx_sum_merge(mx_sum *s, const mx_sum *other);
double mx_sum_value(const mx_sum *s); /* the exact sum, rounded once to nearest even; empty: +0 */

/* Text form for reports: canonical, 16 hexadecimal digits a word, leading and trailing zero words left out.
 */
enum { MX_SUM_TEXT = 17 * MX_SUM_WORDS + 16 };
void mx_sum_print(const mx_sum *s, char text[MX_SUM_TEXT]);
int mx_sum_parse(mx_sum *s, const char *text); /* 0, or -1 where the text is none */

#endif
