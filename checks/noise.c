/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over 256 elements are near enough to normal for the KS test; a z below 25 units of variance is not. */
enum { GROUP = 256, LEAST_VARIANCE = 25, LEAST_GROUPS = 30 };

typedef struct residuals {
    const noise_sample *s;
    double *v;              /* [n] variance p (1 - p) */
    double *r[NOISE_SEEDS]; /* [n] up - p, 0 where nothing is random */
    int64_t random;         /* elements with p > 0 */
    double mean;            /* of all residuals: correlations are taken about it, so that a bias is none */
} residuals;

static void residuals_free(residuals *q)
{
    free(q->v);
    for (int k = 0; k < NOISE_SEEDS; k++)
        free(q->r[k]);
}

static bool residuals_make(residuals *q, const noise_sample *s)
{
    *q = (residuals){.s = s};
    size_t bytes = (size_t)(s->n + 1) * sizeof(double);
    bool good = (q->v = malloc(bytes));
    for (int k = 0; k < s->seeds; k++)
        good &= (q->r[k] = malloc(bytes)) != NULL;
    if (!good) return false;
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double p = s->p[i];
        q->random += p > 0;
        q->v[i] = p * (1 - p);
        for (int k = 0; k < s->seeds; k++) {
            q->r[k][i] = p > 0 ? (double)s->up[k][i] - p : 0;
            sum += q->r[k][i];
        }
    }
    q->mean = q->random ? sum / ((double)q->random * s->seeds) : 0;
    return true;
}

static double two_sided(double z) { return 2 * gsl_cdf_ugaussian_Q(fabs(z)); }

static void add(noise_result *out, noise_test t)
{
    if (out->n < NOISE_TESTS && !isnan(t.p)) out->test[out->n++] = t;
}

/* ---- correlations -------------------------------------------------------------------------------------- */

typedef struct products {
    double sum, variance, limit; /* of r r'; `limit`: the sum if the residuals were in step */
} products;

static void add_products(products *c, const residuals *q, int a, int b, int64_t lag)
{
    for (int64_t i = 0; i + lag < q->s->n; i++) {
        double v = q->v[i] * q->v[i + lag];
        if (!(v > 0)) continue;
        c->sum += (q->r[a][i] - q->mean) * (q->r[b][i + lag] - q->mean);
        c->variance += v;
        c->limit += sqrt(v);
    }
}

static noise_test correlation(const products *c, noise_kind kind)
{
    noise_test t = {.kind = kind, .p = NAN};
    if (c->variance < LEAST_VARIANCE / 4) return t;
    t.statistic = c->sum / sqrt(c->variance);
    t.p = two_sided(t.statistic);
    t.effect = c->sum / c->limit;
    return t;
}

/* Lags 1 to 64 find draws shared by a vector, block or warp; multiples of a row those shared by rows. */
static void judge_within(const residuals *q, noise_result *out)
{
    int64_t lags[96], n = 0;
    for (int64_t lag = 1; lag <= 64; lag++)
        lags[n++] = lag;
    for (int64_t lag = 128; lag < q->s->n && lag <= 1024; lag *= 2)
        lags[n++] = lag;
    for (int64_t rows = 1; rows <= 64 && q->s->cols > 64; rows *= 2)
        if (rows * q->s->cols > 1024 || (rows * q->s->cols & (rows * q->s->cols - 1)))
            lags[n++] = rows * q->s->cols;
    for (int64_t i = 0; i < n; i++) {
        products c = {0};
        for (int k = 0; k < q->s->seeds; k++)
            add_products(&c, q, k, k, lags[i]);
        noise_test t = correlation(&c, NOISE_WITHIN);
        t.lag = lags[i];
        add(out, t);
    }
}

/* A generator that is fed seed + index gives the next seed the noise of this one, one element on. */
static void judge_seeds(const residuals *q, noise_result *out)
{
    for (int a = 0; a < q->s->seeds; a++)
        for (int b = a + 1; b < q->s->seeds; b++) {
            int64_t reach = b == a + 1;
            for (int64_t lag = -reach; lag <= reach; lag++) {
                products c = {0};
                add_products(&c, q, lag < 0 ? b : a, lag < 0 ? a : b, lag < 0 ? -lag : lag);
                noise_test t = correlation(&c, NOISE_BETWEEN_SEEDS);
                t.seed_a = a;
                t.seed_b = b;
                t.lag = lag;
                add(out, t);
            }
        }
}

/* ---- means -----------------------------------------------------------------------------------------------
 */

static void judge_mean(const residuals *q, bool sign, noise_result *out)
{
    double sum = 0, variance = 0;
    for (int k = 0; k < q->s->seeds; k++)
        for (int64_t i = 0; i < q->s->n; i++) {
            sum += sign && q->s->negative[i] ? -q->r[k][i] : q->r[k][i];
            variance += q->v[i];
        }
    if (variance < LEAST_VARIANCE) return;
    noise_test t = {.kind = sign ? NOISE_SIGNED_MEAN : NOISE_MEAN, .statistic = sum / sqrt(variance)};
    t.p = two_sided(t.statistic);
    t.effect = sum / (double)out->draws;
    t.interval = 1.959963984540054 * sqrt(variance) / (double)out->draws;
    add(out, t);
}

static void judge_curve(const residuals *q, noise_result *out)
{
    double sum[NOISE_BINS] = {0}, variance[NOISE_BINS] = {0}, count[NOISE_BINS] = {0}, chi2 = 0, worst = 0;
    for (int64_t i = 0; i < q->s->n; i++) {
        int bin = (int)(q->s->p[i] * NOISE_BINS);
        for (int k = 0; k < q->s->seeds && q->s->p[i] > 0; k++) {
            sum[bin] += q->r[k][i];
            variance[bin] += q->v[i];
            count[bin]++;
        }
    }
    noise_test t = {.kind = NOISE_CURVE};
    int bins = 0;
    for (int b = 0; b < NOISE_BINS; b++) {
        if (variance[b] < LEAST_VARIANCE) continue;
        double z2 = sum[b] * sum[b] / variance[b];
        chi2 += z2;
        bins++;
        if (z2 <= worst) continue;
        worst = z2;
        t.effect = sum[b] / count[b];
        t.at = (b + 0.5) / NOISE_BINS;
    }
    if (!bins) return;
    t.statistic = chi2;
    t.p = gsl_cdf_chisq_Q(chi2, bins);
    add(out, t);
}

/* ---- spread ----------------------------------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double noise_kolmogorov(double d, int64_t n)
{
    double root = sqrt((double)n), x = d * (root + 0.12 + 0.11 / root), sum = 0;
    if (x < 0.3) return 1; /* 1 - P < 1e-5, and the series converges slowly there */
    for (int k = 1; k <= 100; k++) {
        double term = exp(-2 * k * k * x * x);
        sum += k & 1 ? term : -term;
        if (term < 1e-300) break;
    }
    return sum <= 0 ? 0 : sum >= 0.5 ? 1 : 2 * sum;
}

static double distance_from_normal(double *z, int64_t n)
{
    qsort(z, (size_t)n, sizeof *z, by_value);
    double d = 0;
    for (int64_t i = 0; i < n; i++) {
        double f = gsl_cdf_ugaussian_P(z[i]);
        d = fmax(d, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return d;
}

/* About the common mean, as correlations are: a bias shifts the sums but is no fault of their spread. */
static bool judge_spread(const residuals *q, noise_result *out)
{
    int64_t groups = q->s->n / GROUP, n = 0;
    double *z = malloc((size_t)(groups * q->s->seeds + 1) * sizeof *z);
    if (!z) return false;
    for (int k = 0; k < q->s->seeds; k++)
        for (int64_t g = 0; g < groups; g++) {
            double sum = 0, variance = 0;
            for (int64_t i = g * GROUP; i < (g + 1) * GROUP; i++) {
                sum += q->v[i] > 0 ? q->r[k][i] - q->mean : 0;
                variance += q->v[i];
            }
            if (variance >= LEAST_VARIANCE) z[n++] = sum / sqrt(variance);
        }
    if (n >= LEAST_GROUPS) {
        noise_test t = {.kind = NOISE_SPREAD, .statistic = distance_from_normal(z, n)};
        t.p = noise_kolmogorov(t.statistic, n);
        double square = 0;
        for (int64_t i = 0; i < n; i++)
            square += z[i] * z[i];
        t.effect = sqrt(square / (double)n); /* 1 where draws are independent */
        add(out, t);
    }
    free(z);
    return true;
}

/* ---- the family ------------------------------------------------------------------------------------------
 */

static int by_p(const void *a, const void *b)
{
    double p = (*(noise_test *const *)a)->p, q = (*(noise_test *const *)b)->p;
    return (p > q) - (p < q);
}

/* Holm: the k-th smallest of m p-values is held to family / (m - k + 1), until one stands. */
void noise_holm(noise_result *out, double family)
{
    noise_test *order[NOISE_TESTS];
    for (int i = 0; i < out->n; i++)
        order[i] = &out->test[i];
    qsort(order, (size_t)out->n, sizeof *order, by_p);
    for (int i = 0; i < out->n && order[i]->p <= family / (out->n - i); i++)
        order[i]->rejected = true;
}

bool noise_judge(const noise_sample *s, double family, noise_result *out)
{
    memset(out, 0, sizeof *out);
    residuals q;
    bool good = residuals_make(&q, s);
    if (good) {
        out->draws = q.random * s->seeds;
        judge_seeds(&q, out);
        judge_within(&q, out);
        judge_mean(&q, false, out);
        judge_mean(&q, true, out);
        judge_curve(&q, out);
        good = judge_spread(&q, out);
        noise_holm(out, family);
    }
    residuals_free(&q);
    return good;
}

static int told_at(noise_kind kind) { return kind == NOISE_WITHIN ? NOISE_BETWEEN_SEEDS : (int)kind; }

const noise_test *noise_worst(const noise_result *r)
{
    const noise_test *worst = NULL;
    for (int i = 0; i < r->n; i++) {
        const noise_test *t = &r->test[i];
        if (!t->rejected) continue;
        int earlier = worst ? told_at(t->kind) - told_at(worst->kind) : -1;
        if (earlier < 0 || (!earlier && fabs(t->effect) > fabs(worst->effect))) worst = t;
    }
    return worst;
}
