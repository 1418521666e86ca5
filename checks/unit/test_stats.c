/* SPDX-License-Identifier: Apache-2.0
 * The statistics of a sweep against what theory says of known data, and against a plain loop in doubles.
 *
 * Theory: rounding error of data uniform over whole spacings is uniform over one spacing (ulp), so its mean
 * square is ulp^2 / 12, its mean 0 to nearest and -1/2 ulp where magnitudes are cut. Five standard deviations
 * of the estimate are allowed: a faultless build fails one such test in 1.7 million. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "fast.h"
#include "quantize.h"
#include "random.h"
#include "stats.h"
#include "suite.h"
#include "sweep.h"

enum { ROWS = 256, COLS = 512, BLOCK = 32, N = ROWS * COLS };

static float x[N], y[N];
static uint8_t codes[N], scales[4 * N];
static mx_stats stats;

static const mx_recipe *recipe(const char *element, const char *rule, const char *rounding)
{
    char name[64];
    snprintf(name, sizeof name, "study:%s/e8m0/1x32/%s/%s", element, rule, rounding);
    const mx_recipe *r = mx_recipe_find(name);
    ck_assert_msg(r != NULL, "%s", name);
    return r;
}

static mx_quantized quantised(const mx_recipe *r)
{
    mx_matrix m = {mx_format_find("f32"), x, ROWS, COLS, COLS};
    mx_quantized q = {codes, scales, 1};
    mx_quantize_options o = {.seed = 7, .threads = 1};
    ck_assert_int_eq(mx_quantize(r, &m, &o, &q, NULL), MX_OK);
    ck_assert_int_eq(mx_dequantize(r, &q, ROWS, COLS, m.format, y, COLS, NULL), MX_OK);
    return q;
}

static void measure(const mx_recipe *r)
{
    mx_quantized q = quantised(r);
    mx_stats_init(&stats);
    ck_assert_int_eq(mx_stats_add(&stats, r, x, &q, y, 0, ROWS, COLS, NULL), MX_OK);
}

static double uniform(uint32_t stream, int64_t i) { return mx_random_uniform(11, stream, (uint64_t)i); }

/* The first element of each block is `top`, which is representable and fixes the scale; the others are
 * uniform over [low, high) with either sign, or positive. */
static void fill(double top, double low, double high, bool both_signs)
{
    for (int64_t i = 0; i < N; i++) {
        double v = low + (high - low) * uniform(0, i);
        if (i % BLOCK == 0) v = top;
        x[i] = (float)(both_signs && mx_random_u32(11, 1, (uint64_t)i) & 1 ? -v : v);
    }
}

/* ---- theory ------------------------------------------------------------------------------------------- */

static const double OTHERS = (double)N / BLOCK * (BLOCK - 1); /* elements that are not `top` */

/* In dB: the mean of N squares of a uniform error is sqrt(4/5) / sqrt(N) of itself uncertain. */
static double allowed_db(void) { return 10 / log(10) * 5 * sqrt(0.8 / OTHERS); }

static const struct {
    const char *element;
    int man_bits;
} floats[] = {{"e2m1", 1}, {"e3m2", 2}, {"e5m2", 2}, {"e2m3", 3}, {"e4m3", 3}};

/* x uniform in [1, 2): mean square 7/3, ulp 2^-m; so 14.47 dB and 6.02 dB more a mantissa bit. */
START_TEST(sqnr_of_a_binade)
{
    fill(4, 1, 2, true);
    measure(recipe(floats[_i].element, "floor", "rne"));
    double signal = OTHERS * 7 / 3 + (N - OTHERS) * 16,
           noise = OTHERS * ldexp(1, -2 * floats[_i].man_bits) / 12;
    double want = 10 * log10(signal / noise);
    ck_assert_msg(fabs(mx_stats_sqnr(&stats) - want) < allowed_db(), "%s: %.3f dB, theory %.3f",
                  floats[_i].element, mx_stats_sqnr(&stats), want);
    ck_assert_uint_eq(stats.saturated + stats.flushed + stats.subnormal + stats.nonfinite, 0);
}
END_TEST

/* int8 has a fixed spacing of 1/64: SQNR is 20 log10(2 A / ulp) for x uniform in [-A, A], which is 6.02 dB
 * for each bit of the range that is used. */
START_TEST(sqnr_of_int8)
{
    double amplitude = ldexp(1, -_i);
    fill(1, 0, amplitude, true);
    measure(recipe("int8", "floor", "rne"));
    double signal = OTHERS * amplitude * amplitude / 3 + (N - OTHERS), noise = OTHERS / (64.0 * 64 * 12);
    ck_assert_double_eq_tol(mx_stats_sqnr(&stats), 10 * log10(signal / noise), 2 * allowed_db());
}
END_TEST

static const struct {
    const char *rounding;
    bool both_signs;
    double mean, variance; /* of the error away from zero, in ulps */
} biases[] = {
    {"rne", true, 0, 1.0 / 12},     {"rna", true, 0, 1.0 / 12},     {"rtz", true, -0.5, 1.0 / 12},
    {"rtz", false, -0.5, 1.0 / 12}, {"rdn", false, -0.5, 1.0 / 12}, {"rup", false, 0.5, 1.0 / 12},
    {"rup", true, 0, 1.0 / 3},      {"rdn", true, 0, 1.0 / 3},      {"sr16", true, 0, 1.0 / 6},
};

START_TEST(bias_of_a_rounding)
{
    fill(4, 1, 2, biases[_i].both_signs);
    measure(recipe("e4m3", "floor", biases[_i].rounding));
    double half, mean = mx_stats_bias(&stats, &half), share = OTHERS / N;
    ck_assert_uint_eq(stats.u_n, N);
    ck_assert_msg(fabs(mean - share * biases[_i].mean) < 5 / 1.96 * half, "%s: %.5f +- %.5f ulp",
                  biases[_i].rounding, mean, half);
    /* The interval is that of theory too; `top` has no error, which widens it by its share. */
    double variance = share * (biases[_i].variance + biases[_i].mean * biases[_i].mean) -
                      share * share * biases[_i].mean * biases[_i].mean;
    ck_assert_double_eq_tol(half / (1.96 * sqrt(variance / N)), 1, 0.01);
}
END_TEST

/* Blocks of +-amax, its mantissa uniform in [1, 2). Under floor the block's scale puts the amax in the top
 * binade of the element format, where it saturates from half an ulp past the maximum on: 1.8125 for e4m3.
 * Rounding the scale up leaves nothing to saturate. */
static const struct {
    const char *element, *rule;
    double share;
} saturating[] = {
    {"e4m3", "floor", 2 - 1.8125}, {"e5m2", "floor", 2 - 1.875},  {"e2m1", "floor", 2 - 1.75},
    {"e3m2", "floor", 2 - 1.875},  {"e2m3", "floor", 2 - 1.9375}, {"e4m3", "rceil", 0},
    {"e4m3", "ceil", 0},           {"e2m1", "rceil", 0},          {"e5m2", "rceil", 0},
};

START_TEST(share_that_saturates)
{
    for (int64_t i = 0; i < N; i++) {
        double amax =
            ldexp(1 + uniform(2, i / BLOCK), (int)(mx_random_u32(11, 3, (uint64_t)(i / BLOCK)) % 20) - 10);
        x[i] = (float)(mx_random_u32(11, 1, (uint64_t)i) & 1 ? -amax : amax);
    }
    measure(recipe(saturating[_i].element, saturating[_i].rule, "rne"));
    double blocks = (double)N / BLOCK, p = saturating[_i].share, got = (double)stats.saturated / N;
    ck_assert_msg(fabs(got - p) <= 5 * sqrt(p * (1 - p) / blocks), "%s %s: %.4f, theory %.4f",
                  saturating[_i].element, saturating[_i].rule, got, p);
}
END_TEST

/* ---- a plain loop ------------------------------------------------------------------------------------- */

/* Many magnitudes, zeros of both signs, NaN, infinities, and a block of zeros. */
static void fill_mixed(void)
{
    for (int64_t i = 0; i < N; i++) {
        int exponent = (int)(mx_random_u32(11, 3, (uint64_t)(i / BLOCK)) % 60) - 30;
        double v = ldexp(mx_random_normal(11, 4, (uint64_t)i),
                         exponent - (int)(mx_random_u32(11, 5, (uint64_t)i) % 12));
        x[i] = (float)v;
        if (i % 97 == 0) x[i] = i & 1 ? 0.0f : -0.0f;
        if (i / BLOCK % 50 == 7) x[i] = 0;
    }
    x[100] = NAN;
    x[5000] = INFINITY;
    x[9001] = -INFINITY;
}

typedef struct naive {
    uint64_t nonfinite, zero, flushed, saturated, subnormal, exact, u_n, codes[256], scales[256];
    double x2, y2, xy, e2, e, u, u2, worst;
    int64_t worst_row, worst_col;
} naive;

/* The distance between the two codes around a value that went to `code`, its magnitude growing or not. */
static double spacing(const mx_format *f, uint32_t code, bool grew)
{
    uint32_t magnitude = code & ((1u << (f->bits - 1)) - 1);
    return !grew && magnitude < f->max_code ? mx_decode(f, magnitude + 1) - mx_decode(f, magnitude)
                                            : mx_decode(f, magnitude) - mx_decode(f, magnitude - 1);
}

static void naive_element(naive *s, const mx_recipe *r, int64_t i, double scale)
{
    const mx_format *f = mx_recipe_element(r);
    double a = (double)x[i], b = (double)y[i], e = b - a,
           ulp = spacing(f, codes[i], fabs(b) > fabs(a)) * scale;
    s->codes[codes[i]]++;
    if (!isfinite(a) || !isfinite(b)) {
        s->nonfinite++;
        return;
    }
    s->x2 += a * a, s->y2 += b * b, s->xy += a * b, s->e2 += e * e, s->e += e;
    s->subnormal += b != 0 && fabs(b) / scale < ldexp(1, mx_format_emin(f));
    s->zero += a == 0;
    if (a == 0) return;
    s->flushed += b == 0;
    s->exact += e == 0;
    double away = signbit(a) ? -e / ulp : e / ulp;
    bool saturated = fabs(b) == mx_format_max(f) * scale && away < -0.5;
    s->saturated += saturated;
    if (saturated) return;
    s->u += away, s->u2 += away * away, s->u_n++;
}

static naive plainly(const mx_recipe *r)
{
    naive s = {.worst = -1};
    for (int64_t k = 0; k < N / BLOCK; k++) {
        double e2 = 0, x2 = 0, scale = mx_scale_value(r, scales[k]);
        s.scales[scales[k]]++;
        for (int64_t i = k * BLOCK; i < (k + 1) * BLOCK; i++) {
            naive_element(&s, r, i, scale);
            double e = (double)y[i] - (double)x[i];
            if (isfinite(e)) e2 += e * e, x2 += (double)x[i] * (double)x[i];
        }
        if (!(x2 > 0) || e2 / x2 <= s.worst) continue;
        s.worst = e2 / x2;
        s.worst_row = k * BLOCK / COLS;
        s.worst_col = k * BLOCK % COLS;
    }
    return s;
}

static void near(double got, double want, double size)
{
    ck_assert_msg(fabs(got - want) <= 1e-12 * size, "%.17g, plainly %.17g", got, want);
}

static const char *const elements[] = {"e4m3", "e5m2", "e2m1", "e3m2", "e2m3"};

START_TEST(as_a_plain_loop)
{
    const mx_recipe *r = recipe(elements[_i], "floor", "rne");
    fill_mixed();
    measure(r);
    naive s = plainly(r);
    ck_assert_uint_eq(stats.n, N);
    ck_assert_uint_eq(stats.nonfinite, s.nonfinite);
    ck_assert_uint_ge(stats.nonfinite, 1);
    ck_assert_uint_eq(stats.zero, s.zero);
    ck_assert_uint_eq(stats.flushed, s.flushed);
    ck_assert_uint_eq(stats.saturated, s.saturated);
    ck_assert_uint_eq(stats.subnormal, s.subnormal);
    ck_assert_uint_eq(stats.exact, s.exact);
    ck_assert_uint_eq(stats.u_n, s.u_n);
    ck_assert_int_eq(memcmp(stats.codes, s.codes, sizeof s.codes), 0);
    ck_assert_int_eq(memcmp(stats.scales, s.scales, sizeof s.scales), 0);
    near(mx_sum_value(&stats.x2), s.x2, s.x2);
    near(mx_sum_value(&stats.y2), s.y2, s.y2);
    near(mx_sum_value(&stats.xy), s.xy, s.x2);
    near(mx_sum_value(&stats.e2), s.e2, s.e2);
    near(mx_sum_value(&stats.e), s.e, sqrt(s.e2 * N));
    near(mx_sum_value(&stats.u), s.u, (double)N);
    near(mx_sum_value(&stats.u2), s.u2, (double)N);
    ck_assert_double_eq_tol(stats.worst_ratio, s.worst, 1e-5 * s.worst);
    ck_assert_int_eq(stats.worst_row, s.worst_row);
    ck_assert_int_eq(stats.worst_col, s.worst_col);
    uint64_t spread = 0, relative = 0, ulps = 0;
    for (int i = 0; i < MX_SPREAD_BINS; i++)
        spread += stats.spread[i];
    for (int i = 0; i < MX_REL_BINS; i++)
        relative += stats.relative[i];
    for (int i = 0; i < MX_ULP_BINS; i++)
        ulps += stats.ulps[i];
    ck_assert_uint_eq(spread, ROWS);
    ck_assert_uint_eq(relative + stats.exact + stats.zero + stats.nonfinite, N);
    ck_assert_uint_eq(ulps + stats.zero + stats.nonfinite, N);
}
END_TEST

/* A bin's upper edge is at or above the exact quantile, and not by more than the bin is wide (1/8 octave). */
START_TEST(quantiles_of_relative_errors)
{
    fill(4, 1, 2, true);
    measure(recipe("e4m3", "floor", "rne"));
    static double errors[N];
    for (int64_t i = 0; i < N; i++)
        errors[i] = fabs((double)y[i] - (double)x[i]) / fabs((double)x[i]);
    for (int q = 1; q < 10; q++) {
        double edge = mx_stats_relative_quantile(&stats, q / 10.0);
        int64_t below = 0, inner = 0;
        for (int64_t i = 0; i < N; i++) {
            below += errors[i] < edge;
            inner += errors[i] < edge / 1.126;
        }
        ck_assert_int_ge(below, N / 10 * q - N / 1000);
        ck_assert_int_le(inner, N / 10 * q + 1);
    }
}
END_TEST

/* ---- merging ------------------------------------------------------------------------------------------ */

static void same(const mx_stats *a, const mx_stats *b)
{
    const mx_sum *const p[] = {&a->x2, &a->y2, &a->xy, &a->e2, &a->e, &a->u, &a->u2};
    const mx_sum *const q[] = {&b->x2, &b->y2, &b->xy, &b->e2, &b->e, &b->u, &b->u2};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        char one[MX_SUM_TEXT], two[MX_SUM_TEXT];
        mx_sum_print(p[i], one);
        mx_sum_print(q[i], two);
        ck_assert_str_eq(one, two);
    }
    mx_stats c = *a, d = *b;
    mx_sum *const of_c[] = {&c.x2, &c.y2, &c.xy, &c.e2, &c.e, &c.u, &c.u2};
    mx_sum *const of_d[] = {&d.x2, &d.y2, &d.xy, &d.e2, &d.e, &d.u, &d.u2};
    for (size_t i = 0; i < sizeof of_c / sizeof *of_c; i++) {
        memset(of_c[i], 0, sizeof(mx_sum));
        memset(of_d[i], 0, sizeof(mx_sum));
    }
    ck_assert_int_eq(memcmp(&c, &d, sizeof c), 0);
}

START_TEST(merged_parts_are_the_whole)
{
    const mx_recipe *r = recipe("e4m3", "floor", "rne");
    static const int64_t cuts[] = {0, 1, 33, 34, 200, ROWS};
    fill_mixed();
    measure(r);
    mx_stats whole = stats, parts;
    mx_stats_init(&parts);
    for (int k = 4; k >= 0; k--) { /* last first: the worst block is the first all the same */
        int64_t row = cuts[k], rows = cuts[k + 1] - row;
        mx_quantized q = {codes + row * COLS, scales + row * COLS / BLOCK, 1};
        mx_stats one;
        mx_stats_init(&one);
        ck_assert_int_eq(mx_stats_add(&one, r, x + row * COLS, &q, y + row * COLS, row, rows, COLS, NULL),
                         MX_OK);
        mx_stats_merge(&parts, &one);
    }
    same(&whole, &parts);
}
END_TEST

START_TEST(same_bits_on_every_instruction_set)
{
    static const char *const sets[] = {"scalar", "avx2", "avx512"};
    const mx_recipe *r = recipe(elements[_i], "floor", "rne");
    mx_stats first;
    bool have = false;
    fill_mixed();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (!mx_fast_select(sets[i])) continue;
        measure(r);
        if (have) same(&first, &stats);
        first = stats;
        have = true;
    }
    mx_fast_select(NULL);
}
END_TEST

START_TEST(shards_and_threads_of_a_sweep)
{
    static const char *const names[] = {"mxfp8", "nvfp4-te", "fp8-tensor", "fp8-128x128",
                                        "study:e4m3/e8m0/1x32/rceil/sr16"};
    enum { RECIPES = sizeof names / sizeof *names };
    const mx_recipe *recipes[RECIPES];
    for (int i = 0; i < RECIPES; i++)
        ck_assert_ptr_nonnull(recipes[i] = mx_recipe_find(names[i]));
    sweep_synthetic s = {mx_data_find("gradient"), mx_format_find("bf16")};
    sweep_input in = sweep_input_synthetic(&s, 5, 3 * SWEEP_BAND + 17, 160);
    static mx_stats whole[RECIPES], part[RECIPES], merged[RECIPES];
    sweep_run run = {.shard = 0, .shards = 1, .threads = 1};
    ck_assert_int_eq(sweep_tensor(&in, recipes, RECIPES, &run, whole, NULL), MX_OK);
    for (int i = 0; i < RECIPES; i++)
        mx_stats_init(&merged[i]);
    for (int shard = 2; shard >= 0; shard--) {
        run = (sweep_run){.shard = shard, .shards = 3, .threads = 2};
        ck_assert_int_eq(sweep_tensor(&in, recipes, RECIPES, &run, part, NULL), MX_OK);
        for (int i = 0; i < RECIPES; i++)
            mx_stats_merge(&merged[i], &part[i]);
    }
    for (int i = 0; i < RECIPES; i++)
        same(&whole[i], &merged[i]);
    ck_assert_uint_eq(whole[0].n, (uint64_t)(in.rows * in.cols));
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

Suite *test_stats(void)
{
    Suite *s = suite_create("stats");
    TCase *t = tcase_create("theory");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, sqnr_of_a_binade, 0, COUNT(floats));
    tcase_add_loop_test(t, sqnr_of_int8, 0, 4);
    tcase_add_loop_test(t, bias_of_a_rounding, 0, COUNT(biases));
    tcase_add_loop_test(t, share_that_saturates, 0, COUNT(saturating));
    suite_add_tcase(s, t);
    t = tcase_create("plain loop");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, as_a_plain_loop, 0, COUNT(elements));
    tcase_add_test(t, quantiles_of_relative_errors);
    tcase_add_test(t, merged_parts_are_the_whole);
    tcase_add_loop_test(t, same_bits_on_every_instruction_set, 0, COUNT(elements));
    tcase_add_test(t, shards_and_threads_of_a_sweep);
    suite_add_tcase(s, t);
    return s;
}
