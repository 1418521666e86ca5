/* SPDX-License-Identifier: Apache-2.0
 *
 * exact_tile_body.h - the loop of exact_tile.h, compiled once per instruction set. Plain C that compilers
 * turn into vectors; -ffp-contract=off and IEEE arithmetic are what makes it exact. */

/* x + y = sum + error without rounding (Knuth, TAOCP vol. 2, 4.2.2, theorem B). */
static inline double two_sum(double x, double y, double *error)
{
    double sum = x + y, part = sum - x;
    *error = (x - (sum - part)) + (y - part);
    return sum;
}

static void add_columns(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums)
{
    enum { W = MX_EXACT_WIDTH };
    mx_exact_sums s = *sums;
    for (int64_t k = 0; k < n; k += block) {
        double part[W] = {0};
        int64_t end = n - k < block ? n : k + block;
        for (int64_t l = k; l < end; l++)
            for (int j = 0; j < W; j++)
                part[j] += a[l] * b[l * W + j];
        for (int j = 0; j < W; j++) {
            double error, second;
            s.hi[j] = two_sum(s.hi[j], part[j], &error);
            s.lo[j] = two_sum(s.lo[j], error, &second);
            s.lost[j] += second * second + (second != 0); /* only ever 0 or positive (or NaN) */
        }
    }
    *sums = s;
}
