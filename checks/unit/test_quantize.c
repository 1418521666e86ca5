/* SPDX-License-Identifier: Apache-2.0
 * Whole matrices: blocks on every shape, pitch and alignment; columns; threads; random bits; reading back;
 * and the names of recipes. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantize.h"
#include "random.h"
#include "suite.h"

enum { MAX_ELEMENTS = 300 * 300, POISON = 0xA5 };

typedef struct answer {
    uint8_t codes[MAX_ELEMENTS + 64];
    uint8_t scales[4 * MAX_ELEMENTS + 64];
    float global;
} answer;

static answer a, b;

static const mx_recipe *recipe(const char *name)
{
    const mx_recipe *r = mx_recipe_find(name);
    ck_assert_msg(r, "no recipe %s", name);
    return r;
}

/* Normal values with a few large ones, zeros, a NaN and an infinity. */
static float sample(uint64_t i)
{
    if (i % 977 == 976) return i % 2 ? NAN : INFINITY;
    double scale = i % 37 == 0 ? 300 : i % 41 == 0 ? 0 : 1;
    return (float)(scale * mx_random_normal(1, 0, i));
}

static mx_quantized as_output(answer *out)
{
    memset(out, POISON, sizeof *out);
    return (mx_quantized){out->codes, out->scales, 0};
}

static void quantize(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *o, bool scalar,
                     answer *out)
{
    mx_quantized q = as_output(out);
    mx_error e = {.message = ""};
    mx_status s = scalar ? mx_quantize_scalar(r, x, o, &q, &e) : mx_quantize(r, x, o, &q, &e);
    ck_assert_msg(s == MX_OK, "%s: %s", r->name, e.message);
    out->global = q.global;
}

static size_t scale_bytes(const mx_recipe *r) { return !r->scale ? 0 : r->scale->bits > 8 ? 4 : 1; }

/* The bytes that belong to the answer are alike, and all others are untouched. */
static void check_same(const mx_recipe *r, int64_t rows, int64_t cols, const char *what)
{
    int64_t gr, gc;
    mx_scale_grid(r, rows, cols, &gr, &gc);
    size_t n = (size_t)(rows * cols), m = (size_t)(gr * gc) * scale_bytes(r);
    ck_assert_msg(!memcmp(a.codes, b.codes, n), "%s %dx%d %s: codes", r->name, (int)rows, (int)cols, what);
    ck_assert_msg(!memcmp(a.scales, b.scales, m), "%s %dx%d %s: scales", r->name, (int)rows, (int)cols, what);
    ck_assert_msg(a.global == b.global, "%s %s: global %g, %g", r->name, what, (double)a.global,
                  (double)b.global);
    for (int i = 0; i < 64; i++)
        ck_assert_msg(a.codes[n + (size_t)i] == POISON && a.scales[m + (size_t)i] == POISON, "%s %s: spilled",
                      r->name, what);
}

/* The same by mx_quantize_block on blocks cut out here. */
static void by_blocks(const mx_recipe *r, const float *x, int64_t rows, int64_t cols, int64_t pitch,
                      float global_amax, answer *out)
{
    int64_t br, bc, gr, gc;
    mx_recipe_block(r, rows, cols, &br, &bc);
    mx_scale_grid(r, rows, cols, &gr, &gc);
    memset(out, POISON, sizeof *out);
    out->global = mx_global_store(r, global_amax);
    for (int64_t i = 0; i < rows; i += br)
        for (int64_t j = 0; j < cols; j += bc) {
            mx_block block = {.x = x + i * pitch + j,
                              .rows = rows - i < br ? rows - i : br,
                              .cols = cols - j < bc ? cols - j : bc,
                              .row_stride = pitch,
                              .col_stride = 1,
                              .global_amax = global_amax,
                              .index = (uint64_t)(i * cols + j),
                              .index_stride = (uint64_t)cols};
            uint32_t scale = mx_quantize_block(r, &block, out->codes + i * cols + j, cols);
            if (r->scale)
                memcpy(out->scales + (size_t)((i / br) * gc + j / bc) * scale_bytes(r), &scale,
                       scale_bytes(r));
        }
    memset(out->scales + (size_t)(gr * gc) * scale_bytes(r), POISON, 8);
}

static const char *const some[] = {"mxfp8",
                                   "mxfp8-col",
                                   "mxfp8-32x32",
                                   "mxfp8-e5m2-floor",
                                   "mxfp4",
                                   "mxfp4-ggml",
                                   "mxint8",
                                   "nvfp4",
                                   "nvfp4-16x16",
                                   "nvfp4-te-col",
                                   "nvfp4-te-sr",
                                   "nvfp4-te-46",
                                   "fp8-1x128-te",
                                   "fp8-128x1-te",
                                   "fp8-128x128-deepgemm",
                                   "fp8-tensor-te",
                                   "mxfp8-dg-1x128",
                                   "cast-e4m3-rne-sat",
                                   "study:e3m2/e8m0/8x64/even/rna"};

START_TEST(every_shape)
{
    static const int64_t shapes[][2] = {{1, 1},     {1, 31},    {2, 33}, {31, 16}, {33, 65},
                                        {127, 129}, {130, 257}, {3, 0},  {0, 3}};
    const mx_recipe *r = recipe(some[_i]);
    static float x[300 * 310];
    float amax = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t rows = shapes[i][0], cols = shapes[i][1], pitch = cols + 7;
        amax = 0;
        for (int64_t k = 0; k < rows * pitch; k++) {
            x[k + 1] = sample((uint64_t)k);
            if (k % pitch < cols && fabsf(x[k + 1]) > amax) amax = fabsf(x[k + 1]);
        }
        mx_matrix m = {mx_format_find("f32"), (const char *)(x + 1), rows, cols, pitch};
        quantize(r, &m, NULL, true, &a);
        by_blocks(r, x + 1, rows, cols, pitch, amax, &b);
        check_same(r, rows, cols, "by blocks");
        for (int threads = 1; threads < 4; threads++) {
            mx_quantize_options o = {.threads = threads};
            quantize(r, &m, &o, false, &b);
            check_same(r, rows, cols, "by threads");
        }
    }
}
END_TEST

/* A base off any alignment, and 16-bit sources: the values are what counts. */
START_TEST(sources_and_alignment)
{
    static const char *const formats[] = {"bf16", "f16", "f32", "tf32", "e4m3"};
    static uint8_t raw[40 * 40 * 4 + 8];
    static float x[40 * 40];
    const mx_recipe *r = recipe("mxfp8");
    for (size_t f = 0; f < 5; f++)
        for (int off = 0; off < 4; off++) {
            const mx_format *format = mx_format_find(formats[f]);
            size_t size = format->bits > 16 ? 4 : format->bits > 8 ? 2 : 1;
            for (size_t i = 0; i < 40 * 40; i++) {
                uint32_t code = mx_encode(format, sample(i), &MX_CAST_DEFAULT, 0);
                memcpy(raw + (size_t)off + i * size, &code, size);
                x[i] = (float)mx_decode(format, code);
            }
            mx_matrix m = {format, raw + off, 40, 40, 40};
            quantize(r, &m, NULL, true, &a);
            by_blocks(r, x, 40, 40, 40, 0, &b);
            check_same(r, 40, 40, formats[f]);
            quantize(r, &m, NULL, false, &b);
            check_same(r, 40, 40, formats[f]);
        }
}
END_TEST

START_TEST(columns_are_rows_of_the_transpose)
{
    static const char *const pairs[][2] = {
        {"mxfp8", "mxfp8-col"},
        {"nvfp4-te", "nvfp4-te-col"},
        {"fp8-1x128-te", "fp8-128x1-te"},
        {"nvfp4-te-rht", "nvfp4-te-rht-col"},
        {"study:e4m3/e8m0/1x64/rceil/rne", "study:e4m3/e8m0/64x1/rceil/rne"}};
    static float x[128 * 192], t[192 * 128];
    for (int i = 0; i < 128; i++)
        for (int j = 0; j < 192; j++)
            x[i * 192 + j] = t[j * 128 + i] = (float)mx_random_normal(2, 0, (uint64_t)(i * 192 + j));
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        const mx_recipe *row = recipe(pairs[k][0]), *col = recipe(pairs[k][1]);
        mx_matrix mx = {mx_format_find("f32"), x, 128, 192, 192},
                  mt = {mx_format_find("f32"), t, 192, 128, 128};
        ck_assert_ptr_eq(mx_recipe_columnwise(row), col);
        ck_assert_ptr_eq(mx_recipe_columnwise(col), row);
        quantize(col, &mx, NULL, true, &a);
        quantize(row, &mt, NULL, true, &b);
        for (int i = 0; i < 128; i++)
            for (int j = 0; j < 192; j++)
                ck_assert_uint_eq(a.codes[i * 192 + j], b.codes[j * 128 + i]);
    }
    ck_assert_ptr_eq(mx_recipe_columnwise(recipe("mxfp8-32x32")), recipe("mxfp8-32x32"));
    ck_assert_ptr_null(mx_recipe_columnwise(recipe("mxfp8-fi")));
    ck_assert_ptr_null(mx_recipe_columnwise(recipe("cast-e4m3-rne-sat")));
}
END_TEST

START_TEST(stochastic_rounding)
{
    const mx_recipe *r = recipe("nvfp4-te-sr");
    static float x[64 * 64];
    float amax = 6;
    /* Global amax 2688 makes S = 1; every block's amax 6 makes its scale 1: elements keep their size. */
    for (int i = 0; i < 64 * 64; i++)
        x[i] = i % 16 == 0   ? 6
               : i % 16 == 1 ? 3
               : i % 16 == 2 ? -0.5f
                             : 1.125f; /* 1.125: a quarter above 1 */
    amax = 2688;
    mx_matrix m = {mx_format_find("f32"), x, 64, 64, 64};
    int up = 0, n = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        mx_quantize_options o = {.global_amax = &amax, .seed = seed};
        quantize(r, &m, &o, true, &a);
        o.threads = 3;
        quantize(r, &m, &o, false, &b);
        check_same(r, 64, 64, "random bits by index");
        for (int i = 0; i < 64 * 64; i++) {
            uint8_t c = a.codes[i];
            if (i % 16 < 3) {
                ck_assert_uint_eq(c, i % 16 == 0 ? 7 : i % 16 == 1 ? 5 : 9);
                continue;
            }
            ck_assert(c == 2 || c == 3);
            up += c == 3;
            n++;
        }
    }
    /* A quarter goes up: 4 standard deviations of a binomial. */
    double sd = sqrt(n * 0.25 * 0.75);
    ck_assert_msg(fabs(up - 0.25 * n) < 4 * sd, "%d of %d", up, n);
}
END_TEST

START_TEST(reading_back)
{
    static const char *const formats[] = {"f32", "bf16", "f16"};
    static float x[33 * 70];
    static uint8_t y[33 * 80 * 4];
    for (int i = 0; i < 33 * 70; i++)
        x[i] = sample((uint64_t)i);
    mx_matrix m = {mx_format_find("f32"), x, 33, 70, 70};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        for (int f = 0; f < 3; f++) {
            const mx_recipe *r = recipe(some[k]);
            const mx_format *format = mx_format_find(formats[f]);
            int64_t br, bc, gr, gc;
            mx_recipe_block(r, 33, 70, &br, &bc);
            mx_scale_grid(r, 33, 70, &gr, &gc);
            quantize(r, &m, NULL, true, &a);
            mx_quantized q = {a.codes, a.scales, a.global};
            memset(y, POISON, sizeof y);
            ck_assert_int_eq(mx_dequantize(r, &q, 33, 70, format, y, 80, NULL), MX_OK);
            size_t size = format->bits > 16 ? 4 : 2;
            for (int64_t i = 0; i < 33; i++)
                for (int64_t j = 0; j < 70; j++) {
                    uint32_t scale = 0, got = 0;
                    if (r->scale)
                        memcpy(&scale, a.scales + (size_t)(i / br * gc + j / bc) * scale_bytes(r),
                               scale_bytes(r));
                    double v = mx_decode(r->element, a.codes[i * 70 + j]) *
                               (r->scale ? mx_decode(r->scale, scale) : 1) *
                               (double)mx_global_value(r, a.global);
                    mx_cast cast = MX_CAST_DEFAULT;
                    cast.overflow = MX_OVERFLOW;
                    memcpy(&got, y + (size_t)(i * 80 + j) * size, size);
                    ck_assert_msg(got == mx_encode(format, v, &cast, 0), "%s %s", r->name, format->name);
                }
            ck_assert_uint_eq(y[70 * size], POISON); /* between the rows */
        }
}
END_TEST

/* H[i][k] by doubling: H2 = [H H; H -H]; rows of the input carry the signs. */
START_TEST(hadamard_by_its_definition)
{
    static const int signs[16] = {1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};
    int h[16][16] = {{1}};
    for (int n = 1; n < 16; n *= 2)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                h[i + n][k] = h[i][k + n] = h[i][k], h[i + n][k + n] = -h[i][k];
    for (int i = 0; i < 16; i++) {
        float x[16] = {0};
        x[i] = 4;
        mx_hadamard16(x, 16);
        for (int k = 0; k < 16; k++)
            ck_assert(x[k] == (float)(signs[i] * h[i][k]));
    }
    float x[16] = {1, 2, 3, 4}, y[16] = {1, 2, 3, 4};
    mx_hadamard16(x, 4);
    mx_hadamard16(y, 16);
    ck_assert_mem_eq(x, y, 4 * sizeof *x); /* what is absent counts as 0 */
}
END_TEST

START_TEST(names)
{
    for (size_t i = 0; i < mx_recipe_count(); i++) {
        const mx_recipe *r = mx_recipe_at(i);
        ck_assert_msg(mx_recipe_find(r->name) == r, "%s is there twice", r->name);
        ck_assert_msg(!strstr(r->name, "unnamed"), "%s", r->name);
        ck_assert_msg(r->element && r->distinguishes && r->source && r->date, "%s lacks a column", r->name);
        ck_assert_msg(strlen(r->name) < 40, "%s is cut off", r->name);
    }
    ck_assert(recipe("cast-e5m2fnuz-onnx") == mx_recipe_find("cast-e5m2fnuz-onnx"));
    static const char *const good[] = {"cast-e4m3-rne-sat",
                                       "cast-f16-rdn-ovf",
                                       "cast-e2m1-sr8-satfin",
                                       "study:e4m3/e8m0/256x8/rceil/rne",
                                       "study:e2m1/ue4m3/1x8/global/sr16",
                                       "study:e5m2/f32/tensor/amax/rtz",
                                       "study:int8/e8m0/1x32/floor/rna"};
    static const char *const bad[] = {"",
                                      "mxfp9",
                                      "cast-",
                                      "cast-e4m3",
                                      "cast-e4m3-rne",
                                      "cast-e4m3-rne-sat-",
                                      "cast-e4m3-sr0-sat",
                                      "cast-e4m3-sr33-sat",
                                      "cast-e4m3-sr-sat",
                                      "cast-e9m9-rne-sat",
                                      "cast-e4m3-stochastic-sat",
                                      "study:",
                                      "study:e4m3/e8m0/1x32/rceil",
                                      "study:e4m3/e8m0/1x4/rceil/rne",
                                      "study:e4m3/e8m0/1x48/rceil/rne",
                                      "study:e4m3/e8m0/1x512/rceil/rne",
                                      "study:e4m3/e8m0/01x32/rceil/rne",
                                      "study:e4m3/e8m0/1x32x1/rceil/rne",
                                      "study:f32/e8m0/1x32/rceil/rne",
                                      "study:e8m0/e8m0/1x32/rceil/rne",
                                      "study:e4m3/f32/1x32/rceil/rne",
                                      "study:e4m3/e8m0/1x32/rceil/rne/",
                                      "study:e4m3/e8m0/99999999999999999999x1/rceil/rne"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_str_eq(mx_recipe_name(recipe(good[i])), good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!mx_recipe_find(bad[i]), "%s was taken", bad[i]);
    ck_assert_ptr_null(mx_recipe_find(NULL));
}
END_TEST

START_TEST(parsed_once_by_many_threads)
{
    const mx_recipe *found[64];
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 64; i++)
        found[i] = mx_recipe_find("study:e2m3/e8m0/16x16/up/rnz");
    for (int i = 0; i < 64; i++)
        ck_assert(found[i] && found[i] == found[0]);
}
END_TEST

START_TEST(refusals)
{
    float x[4] = {0};
    uint8_t codes[4], scales[4];
    mx_quantized q = {codes, scales, 0};
    mx_error e;
    mx_matrix m = {mx_format_find("f32"), x, 2, 2, 1};
    ck_assert_int_eq(mx_quantize(recipe("mxfp8"), &m, NULL, &q, &e), MX_BAD_USAGE); /* rows overlap */
    m = (mx_matrix){mx_format_find("f32"), x, -1, 2, 2};
    ck_assert_int_eq(mx_quantize(recipe("mxfp8"), &m, NULL, &q, &e), MX_BAD_USAGE);
    m = (mx_matrix){mx_format_find("f32"), x, INT64_MAX / 4, 8, 8};
    ck_assert_int_eq(mx_quantize(recipe("mxfp8"), &m, NULL, &q, &e), MX_BAD_USAGE);
    m = (mx_matrix){mx_format_find("f32"), x, 2, 2, 2};
    q.scales = NULL;
    ck_assert_int_eq(mx_quantize(recipe("mxfp8"), &m, NULL, &q, &e), MX_BAD_USAGE);
    ck_assert_int_eq(mx_quantize(recipe("cast-f16-rne-sat"), &m, NULL, &q, &e), MX_UNSUPPORTED);
    ck_assert_int_eq(mx_quantize(recipe("cast-e4m3-rne-sat"), &m, NULL, &q, &e), MX_OK);
    ck_assert_int_eq(mx_dequantize(recipe("mxfp8"), &q, 2, 2, m.format, x, 2, &e), MX_BAD_USAGE);
    ck_assert_int_eq(mx_dequantize(recipe("mxfp8"), &q, 2, 2, m.format, x, 1, &e), MX_BAD_USAGE);
    ck_assert_int_eq(mx_dequantize(recipe("mxfp8"), &q, 0, 2, m.format, NULL, 2, &e), MX_OK);
}
END_TEST

Suite *test_quantize(void)
{
    Suite *s = suite_create("quantize");
    TCase *t = tcase_create("matrices");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, every_shape, 0, (int)(sizeof some / sizeof *some));
    tcase_add_test(t, sources_and_alignment);
    tcase_add_test(t, columns_are_rows_of_the_transpose);
    tcase_add_test(t, stochastic_rounding);
    tcase_add_test(t, reading_back);
    tcase_add_test(t, hadamard_by_its_definition);
    tcase_add_test(t, names);
    tcase_add_test(t, parsed_once_by_many_threads);
    tcase_add_test(t, refusals);
    suite_add_tcase(s, t);
    return s;
}
