/* SPDX-License-Identifier: Apache-2.0
 * The tests of stochastic rounding, on noise whose faults are known: what is right passes at the stated error
 * rate, every fault is found and told by its kind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"
#include "random.h"
#include "suite.h"

enum { N = 8192, COLS = 256, SEEDS = 8 };

static double p[N];
static bool negative[N], up[SEEDS][N];
static noise_result result;

/* What decides element i under a seed: a uniform number. */
typedef double (*generator)(uint64_t seed, uint64_t i);

static double faultless(uint64_t seed, uint64_t i) { return mx_random_uniform(seed, 0, i); }
static double per_block(uint64_t seed, uint64_t i) { return mx_random_uniform(seed, 0, i / 32); }
static double per_pair(uint64_t seed, uint64_t i) { return mx_random_uniform(seed, 0, i / 2); }
static double every_16(uint64_t seed, uint64_t i) { return mx_random_uniform(seed, i / 32, i % 16); }
static double rows_alike(uint64_t seed, uint64_t i) { return mx_random_uniform(seed, 0, i % COLS); }
static double no_seed(uint64_t seed, uint64_t i) { return (void)seed, mx_random_uniform(1, 0, i); }
static double seed_plus_index(uint64_t seed, uint64_t i) { return mx_random_uniform(1, 0, seed + i); }
static double two_seeds(uint64_t seed, uint64_t i) { return mx_random_uniform(seed % 7, 0, i); }
static double antithetic(uint64_t seed, uint64_t i)
{
    double u = mx_random_uniform(seed, 0, i / 2);
    return i & 1 ? 1 - u : u;
}
static double low(uint64_t seed, uint64_t i) { return mx_random_uniform(seed, 0, i) - 1.0 / 64; }
static double high(uint64_t seed, uint64_t i) { return mx_random_uniform(seed, 0, i) + 1.0 / 64; }
static double upward(uint64_t seed, uint64_t i)
{
    return mx_random_uniform(seed, 0, i) + (negative[i] ? 1.0 : -1.0) / 32;
}
/* Mean 1/2, but crowded around it: a sum of two. */
static double triangular(uint64_t seed, uint64_t i)
{
    return (mx_random_uniform(seed, 0, i) + mx_random_uniform(seed, 1, i)) / 2;
}

static void judge(generator g, uint64_t seed, int64_t n, double family)
{
    noise_sample s = {n, COLS, SEEDS, p, negative, {NULL}};
    for (int64_t i = 0; i < n; i++) {
        p[i] = i % 11 ? mx_random_uniform(99, 0, (uint64_t)i) : 0;
        negative[i] = mx_random_u32(99, 1, (uint64_t)i) & 1;
    }
    for (int k = 0; k < SEEDS; k++) {
        for (int64_t i = 0; i < n; i++)
            up[k][i] = g(seed + (uint64_t)k, (uint64_t)i) < p[i];
        s.up[k] = up[k];
    }
    ck_assert(noise_judge(&s, family, &result));
}

static const struct {
    generator g;
    noise_kind kind;
    double least, most; /* effect */
    int64_t lag;        /* -1: any */
} faults[] = {
    {per_block, NOISE_WITHIN, 0.5, 1, 1},
    {per_pair, NOISE_WITHIN, 0.2, 1, 1},
    {every_16, NOISE_WITHIN, 0.2, 1, 16},
    {rows_alike, NOISE_WITHIN, 0.5, 1, -1},
    {antithetic, NOISE_WITHIN, -1, -0.2, 1},
    {no_seed, NOISE_BETWEEN_SEEDS, 0.9, 1.1, 0},
    {seed_plus_index, NOISE_BETWEEN_SEEDS, 0.4, 1, -1},
    {two_seeds, NOISE_BETWEEN_SEEDS, 0.9, 1.1, 0},
    {low, NOISE_MEAN, 0.012, 0.020, 0},
    {high, NOISE_MEAN, -0.020, -0.012, 0},
    {upward, NOISE_SIGNED_MEAN, 0.025, 0.038, 0},
    {triangular, NOISE_CURVE, -0.15, 0.15, 0},
};

START_TEST(every_fault_is_told_by_its_kind)
{
    judge(faults[_i].g, 2026, N, 1e-6);
    const noise_test *w = noise_worst(&result);
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->kind, faults[_i].kind);
    ck_assert_msg(w->effect >= faults[_i].least && w->effect <= faults[_i].most, "effect %g", w->effect);
    if (faults[_i].lag >= 0) ck_assert_int_eq(w->lag, faults[_i].lag);
}
END_TEST

START_TEST(counter_based_draws_pass)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        judge(faultless, 1000 * seed, N, 1e-6);
        ck_assert_int_gt(result.n, 80);
        ck_assert_ptr_null(noise_worst(&result));
    }
}
END_TEST

/* The stated rate holds: at a family error of 1/2, Holm rejects at most half of faultless kernels, and not
 * far fewer than the 39 % that independent tests would give. 120 tries: mean 47, standard deviation 5.4. */
START_TEST(family_error_rate_is_as_stated)
{
    int rejecting = 0;
    for (uint64_t try = 0; try < 120; try++) {
        judge(faultless, 5000 + 8 * try, 2048, 0.5);
        rejecting += noise_worst(&result) != NULL;
    }
    ck_assert_msg(rejecting >= 24 && rejecting <= 71, "%d of 120", rejecting);
}
END_TEST

START_TEST(holm_by_hand)
{
    /* m = 4, family 0.05: 0.01 <= 0.0125, 0.013 <= 0.0167, 0.03 > 0.025 stops; 0.04 is not looked at. */
    static const double values[] = {0.03, 0.01, 0.04, 0.013};
    static const bool rejected[] = {false, true, false, true};
    memset(&result, 0, sizeof result);
    result.n = 4;
    for (int i = 0; i < 4; i++)
        result.test[i].p = values[i];
    noise_holm(&result, 0.05);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(result.test[i].rejected, rejected[i]);
}
END_TEST

/* Critical distances of the two-sided one-sample test as tabulated (Massey 1951 and later; exact law). */
START_TEST(kolmogorov_table)
{
    static const struct {
        int n;
        double d, p;
    } table[] = {{20, 0.29408, 0.05},
                 {20, 0.35241, 0.01},
                 {50, 0.18845, 0.05},
                 {100, 0.13403, 0.05},
                 {100, 0.16081, 0.01}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double got = noise_kolmogorov(table[i].d, table[i].n);
        ck_assert_msg(fabs(got - table[i].p) < 0.03 * table[i].p, "n %d: %g", table[i].n, got);
    }
    ck_assert(noise_kolmogorov(0.001, 100) == 1 && noise_kolmogorov(1, 10000) < 1e-300);
}
END_TEST

START_TEST(too_few_draws_say_nothing)
{
    judge(no_seed, 1, 8, 1e-6);
    ck_assert_ptr_null(noise_worst(&result));
    judge(no_seed, 1, 0, 1e-6);
    ck_assert_int_eq(result.n, 0);
}
END_TEST

Suite *test_noise(void)
{
    Suite *s = suite_create("noise");
    TCase *t = tcase_create("stochastic rounding");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, every_fault_is_told_by_its_kind, 0, (int)(sizeof faults / sizeof *faults));
    tcase_add_test(t, counter_based_draws_pass);
    tcase_add_test(t, family_error_rate_is_as_stated);
    tcase_add_test(t, holm_by_hand);
    tcase_add_test(t, kolmogorov_table);
    tcase_add_test(t, too_few_draws_say_nothing);
    suite_add_tcase(s, t);
    return s;
}
