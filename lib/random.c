/* SPDX-License-Identifier: Apache-2.0
 * Counter-based draws, and real functions that give the same bits on every machine. */
#include "random.h"

#include <math.h>
#include <string.h>

#include <Random123/philox.h>

static philox4x32_ctr_t draw(uint64_t seed, uint32_t stream, uint64_t index)
{
    philox4x32_ctr_t counter = {{(uint32_t)index, (uint32_t)(index >> 32), stream, 0}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    return philox4x32(counter, key); /* ten rounds */
}

uint32_t mx_random_u32(uint64_t seed, uint32_t stream, uint64_t index)
{
    return draw(seed, stream, index).v[0];
}

uint64_t mx_random_u64(uint64_t seed, uint32_t stream, uint64_t index)
{
    philox4x32_ctr_t r = draw(seed, stream, index);
    return (uint64_t)r.v[1] << 32 | r.v[0];
}

double mx_random_uniform(uint64_t seed, uint32_t stream, uint64_t index)
{
    /* 52 bits and a half, so that neither 0 nor 1 can come out. */
    return ((double)(mx_random_u64(seed, stream, index) >> 12) + 0.5) * 0x1p-52;
}

double mx_random_normal(uint64_t seed, uint32_t stream, uint64_t index)
{
    return mx_normal_quantile(mx_random_uniform(seed, stream, index));
}

#define LN2_HIGH 0x1.62E42FEEp-1 /* 32 significant bits, so that k * LN2_HIGH is exact */
#define LN2_LOW  0x1.A39EF35793C76p-33

/* x = m * 2^k with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(t), t = (m - 1)/(m + 1), |t| < 0.1716: the
 * series to t^19 leaves less than 2^-56 of it. */
double mx_ln(double x)
{
    int k;
    double m = frexp(x, &k);
    if (m < 0x1.6A09E667F3BCDp-1) {
        m *= 2;
        k--;
    }
    double t = (m - 1) / (m + 1), t2 = t * t, sum = 0;
    for (int i = 21; i >= 3; i -= 2)
        sum = (sum + 1.0 / i) * t2;
    return k * LN2_HIGH + (2 * t * (1 + sum) + k * LN2_LOW);
}

/* x = k ln 2 + r, |r| <= ln 2 / 2; the Taylor series to r^14 leaves less than 2^-62. */
double mx_exp(double x)
{
    if (!(x > -745)) return x != x ? x : 0;
    if (x > 709.7) return (double)INFINITY;
    double k = floor(x * 0x1.71547652B82FEp0 + 0.5);
    double r = (x - k * LN2_HIGH) - k * LN2_LOW, sum = 1;
    for (int i = 14; i >= 1; i--)
        sum = 1 + sum * r / i;
    return ldexp(sum, (int)k);
}

static double rational(const double *a, const double *b, int n, double x)
{
    double p = a[n], q = b[n];
    for (int i = n - 1; i >= 0; i--) {
        p = p * x + a[i];
        q = q * x + b[i];
    }
    return p / q;
}

/* Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988): relative error about 1e-16. */
double mx_normal_quantile(double p)
{
    static const double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                               1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                               3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[] = {1.0,
                               4.2313330701600911252e1,
                               6.8718700749205790830e2,
                               5.3941960214247511077e3,
                               2.1213794301586595867e4,
                               3.9307895800092710610e4,
                               2.8729085735721942674e4,
                               5.2264952788528545610e3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    double q = p - 0.5;
    if (fabs(q) <= 0.425) return q * rational(a, b, 7, 0.180625 - q * q);
    double r = sqrt(-mx_ln(q < 0 ? p : 1 - p));
    double x = r <= 5 ? rational(c, d, 7, r - 1.6) : rational(e, f, 7, r - 5);
    return q < 0 ? -x : x;
}
