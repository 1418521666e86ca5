/* SPDX-License-Identifier: Apache-2.0
 * The distributions. All real arithmetic is through random.h, so the bits are the same everywhere. */
#include "data.h"

#include <math.h>
#include <string.h>

#include "random.h"

static uint64_t at(uint64_t row, uint64_t col) { return row << 32 | col; }

static double normal(uint64_t seed, uint64_t row, uint64_t col)
{
    return mx_random_normal(seed, 0, at(row, col));
}

static double uniform(uint64_t seed, uint64_t row, uint64_t col)
{
    return 2 * mx_random_uniform(seed, 0, at(row, col)) - 1;
}

/* z / sqrt(chi2_4 / 4), where chi2_4 = -2 (ln u1 + ln u2). */
static double student4(uint64_t seed, uint64_t row, uint64_t col)
{
    double chi2 = -2 * (mx_ln(mx_random_uniform(seed, 1, at(row, col))) +
                        mx_ln(mx_random_uniform(seed, 2, at(row, col))));
    return normal(seed, row, col) / sqrt(chi2 / 4);
}

static double laplace(uint64_t seed, uint64_t row, uint64_t col)
{
    double u = mx_random_uniform(seed, 0, at(row, col));
    return u < 0.5 ? mx_ln(2 * u) : -mx_ln(2 * (1 - u));
}

static double lognormal(uint64_t seed, uint64_t row, uint64_t col)
{
    double x = mx_exp(2 * normal(seed, row, col));
    return mx_random_u32(seed, 1, at(row, col)) & 1 ? -x : x;
}

/* One column in 64 carries values 50 times as large, as the activations of large language models do. */
static double outliers(uint64_t seed, uint64_t row, uint64_t col)
{
    return normal(seed, row, col) * (mx_random_u32(seed, 1, col) % 64 == 0 ? 50 : 1);
}

/* Small values whose scale differs by row over 12 binades, one in 100 of them 64 times as large. */
static double gradient(uint64_t seed, uint64_t row, uint64_t col)
{
    int binade =
        (int)(mx_random_u32(seed, 1, row) % 12) + (mx_random_u32(seed, 2, at(row, col)) % 100 ? 0 : -6);
    return ldexp(normal(seed, row, col), -10 - binade);
}

static double sparse(uint64_t seed, uint64_t row, uint64_t col)
{
    return mx_random_u32(seed, 1, at(row, col)) % 10 ? 0 : normal(seed, row, col);
}

static const mx_data rows[] = {
    {"normal", "normal, variance 1", normal},
    {"uniform", "uniform on (-1, 1)", uniform},
    {"student", "Student t, 4 degrees of freedom: heavy tails", student4},
    {"laplace", "Laplace, scale 1", laplace},
    {"lognormal", "exp(2 z) with a random sign", lognormal},
    {"outliers", "normal, one column in 64 times 50", outliers},
    {"gradient", "normal times 2^-10 to 2^-21 by row, 1 % of elements times 64", gradient},
    {"sparse", "nine of ten elements zero, the others normal", sparse},
};

size_t mx_data_count(void) { return sizeof rows / sizeof *rows; }

const mx_data *mx_data_at(size_t i) { return i < mx_data_count() ? &rows[i] : NULL; }

const mx_data *mx_data_find(const char *name)
{
    for (size_t i = 0; name && i < mx_data_count(); i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

void mx_data_fill(const mx_data *d, uint64_t seed, const mx_format *format, int64_t row0, int64_t n_rows,
                  int64_t cols, int64_t pitch, void *out)
{
    static const mx_cast cast = {MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            uint32_t code = mx_encode(format, d->value(seed, (uint64_t)(row0 + r), (uint64_t)c), &cast, 0);
            if (format->bits == 32)
                ((uint32_t *)out)[r * pitch + c] = code;
            else
                ((uint16_t *)out)[r * pitch + c] = (uint16_t)code;
        }
}
