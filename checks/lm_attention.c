/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "lm.h"
#include "random.h"

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *to, double factor, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += factor * x[i];
}

void lm_attend(const double *q, const double *k, const double *v, int64_t t, int64_t width, int64_t stride,
               double *p, double *out, int64_t out_stride)
{
    double scale = 1 / sqrt((double)width);
    for (int64_t i = 0; i < t; i++) {
        double *row = p + i * t, most = -INFINITY, sum = 0;
        for (int64_t j = 0; j <= i; j++) {
            row[j] = scale * dot(q + i * stride, k + j * stride, width);
            if (row[j] > most) most = row[j];
        }
        for (int64_t j = 0; j <= i; j++)
            sum += row[j] = row[j] - most < -700 ? 0 : mx_exp(row[j] - most);
        memset(out + i * out_stride, 0, (size_t)width * sizeof *out);
        for (int64_t j = 0; j <= i; j++) {
            row[j] /= sum;
            add_scaled(out + i * out_stride, row[j], v + j * stride, width);
        }
    }
}

void lm_attend_back(const double *q, const double *k, const double *v, const double *p, const double *dout,
                    int64_t t, int64_t width, int64_t stride, int64_t out_stride, double *dq, double *dk,
                    double *dv)
{
    double scale = 1 / sqrt((double)width);
    for (int64_t i = 0; i < t; i++) {
        memset(dq + i * stride, 0, (size_t)width * sizeof *dq);
        memset(dk + i * stride, 0, (size_t)width * sizeof *dk);
        memset(dv + i * stride, 0, (size_t)width * sizeof *dv);
    }
    for (int64_t i = 0; i < t; i++) {
        const double *row = p + i * t, *d = dout + i * out_stride;
        double mean = 0;
        for (int64_t j = 0; j <= i; j++)
            mean += row[j] * dot(d, v + j * stride, width);
        for (int64_t j = 0; j <= i; j++) {
            double slope = scale * row[j] * (dot(d, v + j * stride, width) - mean);
            add_scaled(dv + j * stride, row[j], d, width);
            add_scaled(dq + i * stride, slope, k + j * stride, width);
            add_scaled(dk + j * stride, slope, q + i * stride, width);
        }
    }
}
