/* SPDX-License-Identifier: Apache-2.0
 * Products in a fixed order; the MoE layer's fp64 gradients against finite differences; operands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "fast.h"
#include "ideal.h"
#include "model.h"
#include "moe.h"
#include "random.h"
#include "recipe.h"
#include "suite.h"

static void fill(double *x, int64_t n, uint64_t seed, double scale)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * mx_random_normal(seed, 0, (uint64_t)i);
}

/* Every size around the tile, every instruction set: the bits of the plain loop. */
START_TEST(chains_add_in_order)
{
    static const int64_t sizes[] = {0, 1, 5, 7, 16, 33, 65};
    const char *const isas[] = {"scalar", "avx2", "avx512"};
    float a[65 * 65], b[65 * 65], d[65 * 65];
    for (int i = 0; i < 65 * 65; i++) {
        a[i] = (float)mx_random_normal(1, 0, (uint64_t)i);
        b[i] = (float)mx_random_normal(2, 0, (uint64_t)i);
    }
    int tried = 0;
    for (size_t v = 0; v < 3; v++) {
        if (!mx_fast_select(isas[v])) continue;
        for (int c = 0; c < 7 * 7 * 7; c++) {
            int64_t m = sizes[c % 7], n = sizes[c / 7 % 7], k = sizes[c / 49];
            int slices = 1 + c % 3;
            ck_assert(mx_chain_f32(a, b, d, m, n, k, slices));
            int64_t slice = (k + slices - 1) / slices;
            for (int64_t i = 0; i < m * n; i++) {
                float want = 0;
                for (int64_t begin = 0; begin < k; begin += slice) {
                    float part = 0;
                    for (int64_t p = begin; p < k && p < begin + slice; p++)
                        part += a[i / n * k + p] * b[i % n * k + p];
                    want = begin ? want + part : part;
                }
                ck_assert_msg(!memcmp(&want, &d[i], 4), "%s %ld x %ld x %ld", isas[v], (long)m, (long)n,
                              (long)k);
                tried++;
            }
        }
    }
    mx_fast_select(NULL);
    ck_assert_int_gt(tried, 100000);
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------------------
 */

enum { T = 9, D = 6, H = 5, E = 4, TOP = 2 };

typedef struct scene {
    double x[T * D], dout[T * D], router[E * D], w13[E * 2 * H * D], w2[E * D * H];
    mx_moe_weights w;
    mx_moe m;
} scene;

static void scene_make(scene *s)
{
    fill(s->x, T * D, 1, 1);
    fill(s->dout, T * D, 2, 1);
    fill(s->router, E * D, 3, 0.5);
    fill(s->w13, E * 2 * H * D, 4, 0.5);
    fill(s->w2, E * D * H, 5, 0.5);
    s->w = (mx_moe_weights){s->router, s->w13, s->w2};
    ck_assert_int_eq(mx_moe_make(&(mx_moe_shape){T, D, H, E, TOP}, &s->m, NULL), MX_OK);
}

static const mx_scheme reference = {.name = "fp64"};

static double loss(scene *s)
{
    ck_assert_int_eq(mx_moe_forward(&s->m, &reference, &s->w, s->x, NULL, 0, NULL), MX_OK);
    double sum = 0;
    for (int i = 0; i < T * D; i++)
        sum += s->dout[i] * s->m.out[i];
    return sum;
}

/* Central differences with step 1e-5: truncation about 1e-10, rounding about 1e-11. */
static void compare(scene *s, double *x, int n, const double *grad, const char *what)
{
    double worst = 0, size = 0;
    for (int i = 0; i < n; i++) {
        double kept = x[i], step = 1e-5;
        x[i] = kept + step;
        double above = loss(s);
        x[i] = kept - step;
        double below = loss(s);
        x[i] = kept;
        worst = fmax(worst, fabs((above - below) / (2 * step) - grad[i]));
        size = fmax(size, fabs(grad[i]));
    }
    ck_assert_msg(worst < 1e-8 && size > 1e-2, "%s: off by %g, largest %g", what, worst, size);
}

START_TEST(gradients_match_finite_differences)
{
    static scene s;
    scene_make(&s);
    loss(&s);
    ck_assert_int_eq(mx_moe_backward(&s.m, &reference, &s.w, s.x, s.dout, 0, NULL), MX_OK);
    double dx[T * D], router[E * D], w13[E * 2 * H * D], w2[E * D * H];
    memcpy(dx, s.m.dx, sizeof dx);
    memcpy(router, s.m.grad.router, sizeof router);
    memcpy(w13, s.m.grad.w13, sizeof w13);
    memcpy(w2, s.m.grad.w2, sizeof w2);
    compare(&s, s.x, T * D, dx, "dx");
    compare(&s, s.router, E * D, router, "router");
    compare(&s, s.w13, E * 2 * H * D, w13, "w13");
    compare(&s, s.w2, E * D * H, w2, "w2");
    mx_moe_free(&s.m);
}
END_TEST

START_TEST(silu_and_its_slope)
{
    ck_assert(mx_silu(0) == 0 && mx_silu(-1e9) == 0 && mx_silu(1e9) == 1e9);
    ck_assert(mx_silu_grad(0) == 0.5 && mx_silu_grad(1e9) == 1 && mx_silu_grad(-1e9) == 0);
    ck_assert(fabs(mx_silu(1) - 0.7310585786300049) < 1e-15); /* 1 / (1 + e^-1) */
}
END_TEST

/* ---- operands -------------------------------------------------------------------------------------------
 */

static double error_of(const mx_side *s, const mx_view *v)
{
    double e2 = 0, x2 = 0;
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++) {
            double x = v->x[i * v->row_stride + j * v->k_stride], y = s->values[i * v->k + j];
            e2 += (y - x) * (y - x);
            x2 += x * x;
        }
    return sqrt(e2 / x2);
}

static double error_with(const char *recipe, mx_arith arith, mx_copy copy, const mx_view *v)
{
    mx_scheme s = {.name = "test", .arith = arith};
    mx_side side;
    ck_assert_int_eq(mx_side_make(&s, mx_recipe_find(recipe), v, copy, 1, &side, NULL), MX_OK);
    double e = error_of(&side, v);
    mx_side_free(&side);
    return e;
}

/* The expected error of theory is that of the quantiser, within 10 %, for every kind of grid and block. */
START_TEST(ideal_noise_is_of_the_right_size)
{
    static const char *const recipes[] = {"mxfp8",     "mxfp8-e5m2",  "mxfp6-e2m3", "mxfp6-e3m2", "mxint8",
                                          "fp8-1x128", "fp8-128x128", "fp8-tensor", "mxfp8-32x32"};
    enum { ROWS = 200, COLS = 256 };
    static double x[ROWS * COLS];
    fill(x, ROWS * COLS, 9, 1);
    mx_view v = {x, ROWS, COLS, COLS, 1};
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        double real = error_with(recipes[i], MX_ARITH_QUANTIZED, MX_COPY_SOURCE, &v),
               ideal = error_with(recipes[i], MX_ARITH_IDEAL, MX_COPY_SOURCE, &v);
        ck_assert_msg(fabs(real / ideal - 1) < 0.1, "%s: %g, theory %g", recipes[i], real, ideal);
    }
}
END_TEST

/* Transposed copies by hand: what each way of making them does to two rows of different size. */
START_TEST(transposed_copies)
{
    enum { ROWS = 32, COLS = 32 };
    double x[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = i / COLS % 2 ? 0.25 : 1; /* odd rows are a quarter: rowwise scales differ by 2^2 */
    mx_view v = {x, COLS, ROWS, 1, COLS};
    ck_assert(error_with("mxfp8", MX_ARITH_QUANTIZED, MX_COPY_SOURCE, &v) == 0);
    ck_assert(error_with("mxfp8", MX_ARITH_QUANTIZED, MX_COPY_TWICE, &v) == 0);
    mx_scheme s = {.name = "test", .arith = MX_ARITH_QUANTIZED};
    mx_side side;
    ck_assert_int_eq(mx_side_make(&s, mx_recipe_find("mxfp8"), &v, MX_COPY_ROWWISE, 1, &side, NULL), MX_OK);
    for (int i = 0; i < COLS * ROWS; i++)
        ck_assert(side.values[i] == 1); /* every block took the scale of row 0 */
    mx_side_free(&side);
    ck_assert(error_with("fp8-tensor", MX_ARITH_QUANTIZED, MX_COPY_ROWWISE, &v) < 0.01);
}
END_TEST

/* A model of the table gives the chain's bits where it says the same arithmetic. */
START_TEST(model_and_chain_agree)
{
    static scene s;
    scene_make(&s);
    const mx_recipe *r = mx_recipe_find("mxfp8");
    mx_scheme chain = {.name = "chain", .arith = MX_ARITH_BF16}, model = chain;
    model.model = mx_model_find("fma-f32");
    ck_assert_ptr_nonnull(model.model);
    double out[2][T * D], dw[2][E * D * H];
    for (int i = 0; i < 2; i++) {
        const mx_scheme *one = i ? &model : &chain;
        ck_assert_int_eq(mx_moe_forward(&s.m, one, &s.w, s.x, NULL, 0, NULL), MX_OK);
        ck_assert_int_eq(mx_moe_backward(&s.m, one, &s.w, s.x, s.dout, 0, NULL), MX_OK);
        memcpy(out[i], s.m.out, sizeof out[i]);
        memcpy(dw[i], s.m.grad.w2, sizeof dw[i]);
    }
    ck_assert(!memcmp(out[0], out[1], sizeof out[0]) && !memcmp(dw[0], dw[1], sizeof dw[0]));
    chain = (mx_scheme){.name = "mxfp8", .arith = MX_ARITH_QUANTIZED, .forward = r};
    model = chain;
    model.model = mx_model_find("exact"); /* scales in the unit; K of 5 and 6: sums are exact in fp32 */
    ck_assert_int_eq(mx_moe_forward(&s.m, &chain, &s.w, s.x, NULL, 0, NULL), MX_OK);
    memcpy(out[0], s.m.out, sizeof out[0]);
    mx_error e = {MX_OK, "", ""};
    ck_assert_msg(mx_moe_forward(&s.m, &model, &s.w, s.x, NULL, 0, &e) == MX_OK, "%s", e.message);
    for (int i = 0; i < T * D; i++)
        ck_assert(fabs(out[0][i] - s.m.out[i]) < 1e-5);
    mx_moe_free(&s.m);
}
END_TEST

Suite *test_moe(void)
{
    Suite *s = suite_create("moe");
    TCase *c = tcase_create("moe");
    tcase_add_test(c, chains_add_in_order);
    tcase_add_test(c, gradients_match_finite_differences);
    tcase_add_test(c, silu_and_its_slope);
    tcase_add_test(c, ideal_noise_is_of_the_right_size);
    tcase_add_test(c, transposed_copies);
    tcase_add_test(c, model_and_chain_agree);
    suite_add_tcase(s, c);
    return s;
}
