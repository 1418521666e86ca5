/* SPDX-License-Identifier: Apache-2.0
 *
 * noise.h - is stochastic rounding random as it should be? Tests on the decisions up or down, made for the
 * same elements under several seeds.
 *
 * Under the null hypothesis element i rounds up with its own known probability p[i], independently of all
 * others and of all other seeds. The residual r = up - p then has mean 0 and variance p (1 - p), and every
 * test is a sum of residuals or of products of two of them, normal by the central limit theorem, or one of
 * chi-square or Kolmogorov-Smirnov on such sums. Tests with too few draws for that are left out. */
#ifndef CHECKS_NOISE_H
#define CHECKS_NOISE_H

#include <stdbool.h>
#include <stdint.h>

enum { NOISE_SEEDS = 8, NOISE_TESTS = 256, NOISE_BINS = 16 };

/* In the order in which a fault should be told: repeated noise spoils the tests below it. The first two spoil
 * each other, and the larger correlation is the fault. */
typedef enum noise_kind {
    NOISE_BETWEEN_SEEDS, /* residuals of two seeds, `lag` elements apart, are uncorrelated */
    NOISE_WITHIN,        /* residuals of one seed, `lag` elements apart, are uncorrelated */
    NOISE_MEAN,          /* as many round away from zero as should */
    NOISE_SIGNED_MEAN,   /* and as many toward +infinity */
    NOISE_CURVE,         /* chi-square: in every bin of p, the share that rounds up is p */
    NOISE_SPREAD         /* Kolmogorov-Smirnov: sums over 256 elements are spread as independent draws' */
} noise_kind;

typedef struct noise_sample {
    int64_t n, cols; /* elements, and how many make a row */
    int seeds;       /* 1 to NOISE_SEEDS */
    const double *p; /* [n] probability of rounding away from zero; 0: not random, left out */
    const bool *negative;
    const bool *up[NOISE_SEEDS]; /* [n] each */
} noise_sample;

typedef struct noise_test {
    noise_kind kind;
    int seed_a, seed_b; /* indices */
    int64_t lag;
    double statistic; /* z, chi-square, or the distance D */
    double p;         /* of so large a statistic under the null hypothesis */
    double effect;    /* correlation; mean residual (ulps); of CURVE the residual of the worst bin */
    double at;        /* CURVE: p in the middle of that bin */
    double interval;  /* half the width of the effect's 95 % interval; MEAN and SIGNED_MEAN */
    bool rejected;    /* by Holm's procedure at the family's error rate */
} noise_test;

typedef struct noise_result {
    int64_t draws; /* random elements times seeds */
    int n;
    noise_test test[NOISE_TESTS];
} noise_result;

/* Run all tests. `family`: the chance that any of them rejects a faultless kernel (Holm 1979, which holds
 * whatever their dependence). false: out of memory. */
bool noise_judge(const noise_sample *s, double family, noise_result *out);

/* Holm's procedure over the p-values of all tests: sets `rejected`. */
void noise_holm(noise_result *r, double family);

/* The rejected test that says most: of the first kind in the order above, the largest effect. NULL: none. */
const noise_test *noise_worst(const noise_result *r);

/* P(D > d) for n independent draws from a continuous distribution: the asymptotic law with Stephens'
 * (1970) finite-n term. */
double noise_kolmogorov(double d, int64_t n);

#endif
