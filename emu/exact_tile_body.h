/* SPDX-License-Identifier: Apache-2.0
 *
 * exact_tile_body.h - the loop of exact_tile.h, compiled once per instruction set, in the vector extensions
 * that gcc and clang share; the including file says how many bytes a vector has (EXACT_BYTES).
 * -ffp-contract=off and IEEE arithmetic are what makes it exact. */
#include <string.h>

typedef double columns __attribute__((vector_size(EXACT_BYTES)));
typedef int64_t flags __attribute__((vector_size(EXACT_BYTES)));
enum { PER_VECTOR = EXACT_BYTES / 8, VECTORS = MX_EXACT_WIDTH / PER_VECTOR };

static inline columns load_columns(const double *from)
{
    columns x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* x + y = sum + error without rounding (Knuth, TAOCP vol. 2, 4.2.2, theorem B). */
static inline columns two_sum(columns x, columns y, columns *error)
{
    columns sum = x + y, part = sum - x;
    *error = (x - (sum - part)) + (y - part);
    return sum;
}

static inline void add_to_sums(columns *hi, columns *lo, flags *lost, columns x)
{
    columns error, second;
    *hi = two_sum(*hi, x, &error);
    *lo = two_sum(*lo, error, &second);
    *lost |= second != 0; /* NaN too */
}

static void add_columns(const double *a, const double *b, int64_t n, int block, mx_exact_sums *sums)
{
    columns hi[VECTORS], lo[VECTORS];
    flags lost[VECTORS];
    memcpy(hi, sums->hi, sizeof hi);
    memcpy(lo, sums->lo, sizeof lo);
    memcpy(lost, sums->lost, sizeof lost);
    for (int64_t k = 0; k < n; k += block) {
        columns part[VECTORS] = {{0}};
        int64_t end = n - k < block ? n : k + block;
        for (int64_t l = k; l < end; l++)
            for (int v = 0; v < VECTORS; v++)
                part[v] += a[l] * load_columns(b + l * MX_EXACT_WIDTH + PER_VECTOR * v);
        for (int v = 0; v < VECTORS; v++)
            add_to_sums(&hi[v], &lo[v], &lost[v], part[v]);
    }
    memcpy(sums->hi, hi, sizeof hi);
    memcpy(sums->lo, lo, sizeof lo);
    memcpy(sums->lost, lost, sizeof lost);
}
