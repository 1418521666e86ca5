/* SPDX-License-Identifier: Apache-2.0
 * Exact sums and products against MPFR. */
#include <math.h>
#include <string.h>

#include "exact.h"
#include "fast.h"
#include "oracle_dot.h"
#include "random.h"
#include "suite.h"

static uint32_t finite_code(const mx_format *f, uint32_t stream, uint64_t i)
{
    uint32_t code = mx_random_u32(21, stream, i) & (f->bits == 32 ? ~0u : ((uint32_t)1 << f->bits) - 1);
    return mx_code_is_nan(f, code) || mx_code_is_inf(f, code) ? f->max_code : code;
}

/* The long accumulator, whole range of f32 and cancelling terms included. */
START_TEST(accumulator_equals_mpfr)
{
    static const char *const names[] = {"f32", "bf16", "e5m2", "e2m1"};
    for (int trial = 0; trial < 2000; trial++) {
        const mx_format *f = mx_format_find(names[trial % 4]);
        uint32_t a[24], b[24], want;
        int n = 1 + trial / 4 % 12;
        for (int k = 0; k < 2 * n; k++) {
            uint64_t at = (uint64_t)trial * 64 + (uint64_t)(k % n);
            a[k] = finite_code(f, 1, at);
            b[k] = finite_code(f, 2, at) ^ (k >= n ? (uint32_t)1 << (f->bits - 1) : 0);
        }
        if (trial % 3) a[2 * n - 1] ^= 1; /* all cancels but for a little */
        if (mx_code_is_nan(f, a[2 * n - 1]) || mx_code_is_inf(f, a[2 * n - 1])) a[2 * n - 1] = 0;
        mx_lanes x = {f, f, a, b, 2 * n, NULL, NULL, NULL, 0};
        mx_exact s;
        mx_exact_clear(&s);
        mx_exact_add_lanes(&s, &x);
        double exact = mx_oracle_dot(f, f, a, b, 2 * n, NULL, NULL, 0, &want);
        ck_assert_msg(mx_exact_f32(&s) == want, "trial %d: %08X, want %08X", trial, mx_exact_f32(&s), want);
        ck_assert_msg(mx_exact_f64(&s) == exact, "trial %d: %a, want %a", trial, mx_exact_f64(&s), exact);
    }
}
END_TEST

enum { M = 3, N = 19, K = 70 };

static const struct {
    const char *format, *scale;
    int block;
} products[] = {
    {"e4m3", NULL, 0}, {"e4m3", "e8m0", 32}, {"e5m2", "e8m0", 32}, {"e2m1", "ue4m3", 16}, {"e4m3", "f32", 64},
    {"bf16", NULL, 0}, {"f16", NULL, 0},     {"f32", NULL, 0},     {"e3m2", "e8m0", 24},  {"bf16", "f32", 70},
};

static double scale_value(const mx_format *f, const unsigned char *scales, int64_t i)
{
    float x;
    if (f->bits < 32) return mx_decode(f, scales[i]);
    memcpy(&x, scales + 4 * i, sizeof x);
    return (double)x;
}

static void fill_scales(const mx_format *f, unsigned char *scales, int n, uint32_t stream)
{
    for (int i = 0; i < n; i++) {
        uint32_t r = mx_random_u32(5, stream, (uint64_t)i);
        float x = (float)(r % 100000 + 1) * 0x1p-14f;
        if (f->bits == 32)
            memcpy(scales + 4 * i, &x, sizeof x);
        else
            scales[i] = (unsigned char)(f->kind == MX_KIND_EXPONENT ? r % 255 : r % 127);
    }
}

static void check_output(const mx_product *p, const unsigned char *sa, const unsigned char *sb, int i, int j,
                         double f64, uint32_t f32)
{
    uint32_t a[K], b[K], want;
    double xa[K], xb[K];
    int size = p->a.format->bits <= 8 ? 1 : p->a.format->bits / 8;
    for (int k = 0; k < K; k++) {
        a[k] = b[k] = 0;
        memcpy(&a[k], (const char *)p->a.data + (i * K + k) * size, (size_t)size);
        memcpy(&b[k], (const char *)p->b.data + (j * K + k) * size, (size_t)size);
        xa[k] = xb[k] = 1;
        if (!p->a.scale_format) continue;
        xa[k] = scale_value(p->a.scale_format, sa, i * p->a.scale_row_stride + k / p->a.block_k);
        xb[k] = scale_value(p->b.scale_format, sb, j * p->b.scale_row_stride + k / p->b.block_k);
    }
    double exact = mx_oracle_dot(p->a.format, p->b.format, a, b, K, xa, xb, 0, &want);
    ck_assert_msg(f64 == exact && f32 == want, "%s [%d][%d]: %a %08X, want %a %08X", p->a.format->name, i, j,
                  f64, f32, exact, want);
}

static void check_product(const char *format, const char *scale, int block)
{
    static unsigned char a[M * K * 4], b[N * K * 4], sa[M * K * 4], sb[N * K * 4];
    static double f64[M * N];
    static uint32_t f32[M * N];
    const mx_format *f = mx_format_find(format), *sf = scale ? mx_format_find(scale) : NULL;
    size_t size = f->bits <= 8 ? 1 : f->bits / 8;
    for (uint64_t i = 0; i < N * K; i++) {
        uint32_t ca = finite_code(f, 7, i), cb = finite_code(f, 8, i);
        if (i < M * K) memcpy(a + i * size, &ca, size);
        memcpy(b + i * size, &cb, size);
    }
    mx_product p = mx_product_init(NULL, NULL);
    p.a = mx_operand_dense(f, a, M, K);
    p.b = mx_operand_dense(f, b, N, K);
    if (sf) {
        fill_scales(sf, sa, M * K, 1);
        fill_scales(sf, sb, N * K, 2);
        p.a = mx_operand_scaled(f, a, M, K, sf, sa, 1, block);
        p.b = mx_operand_scaled(f, b, N, K, sf, sb, 1, block);
    }
    ck_assert(!mx_exact_product(&p, f64, f32, N, NULL));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            check_output(&p, sa, sb, i, j, f64[i * N + j], f32[i * N + j]);
}

START_TEST(product_equals_mpfr)
{
    static const char *const isas[] = {"avx512", "avx2", "scalar"};
    for (int i = 0; i < 3; i++)
        if (mx_fast_select(isas[i]))
            check_product(products[_i].format, products[_i].scale, products[_i].block);
}
END_TEST

START_TEST(specials_are_kept)
{
    const mx_format *f = mx_format_find("bf16");
    uint16_t a[3] = {0x7F80, 0x3F80, 0x3F80},
             b[9] = {0x3F80, 0x3F80, 0x3F80, 0, 0x3F80, 0x3F80, 0x3F80, 0xFF80, 0x3F80};
    double f64[3];
    uint32_t f32[3];
    mx_product p = mx_product_init(NULL, NULL);
    p.a = mx_operand_dense(f, a, 1, 3);
    p.b = mx_operand_dense(f, b, 3, 3);
    ck_assert(!mx_exact_product(&p, f64, f32, 3, NULL));
    ck_assert_uint_eq(f32[0], 0x7F800000);
    ck_assert_uint_eq(f32[1], 0x7FC00000); /* Inf * 0 */
    ck_assert_uint_eq(f32[2], 0x7FC00000); /* Inf - Inf */
    ck_assert(isinf(f64[0]) && isnan(f64[1]) && isnan(f64[2]));
}
END_TEST

Suite *test_exact(void)
{
    Suite *s = suite_create("exact sums of products");
    TCase *t = tcase_create("against MPFR");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, accumulator_equals_mpfr);
    tcase_add_loop_test(t, product_equals_mpfr, 0, (int)(sizeof products / sizeof *products));
    tcase_add_test(t, specials_are_kept);
    suite_add_tcase(s, t);
    return s;
}
