/* SPDX-License-Identifier: Apache-2.0
 * Schedules and products: text forms, slices, every place of scales, epilogues, strides, grouped forms, all
 * against sums formed here by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"
#include "random.h"
#include "suite.h"

/* ---- schedules --------------------------------------------------------------------------------------- */

static const char *const canonical[] = {
    "chain",
    "promote:4",
    "promote-ffma:4",
    "split:3x128",
    "split:6x64:down",
    "split:16x32:tree,promote:4",
    "slice:4x16",
    "residue:32,slice:2x16",
    "dequant-bf16",
    "dequant-f16,promote:1",
    "round-tf32",
    "c-first",
    "promote-ffma:4,scale-a-b",
    "scale-b-a",
};

START_TEST(schedule_text_round_trips)
{
    mx_schedule s;
    char text[200];
    ck_assert(!mx_schedule_parse(canonical[_i], &s, NULL));
    ck_assert_str_eq(mx_schedule_text(&s, text, sizeof text), canonical[_i]);
}
END_TEST

START_TEST(bad_schedules_are_named)
{
    static const char *const bad[] = {"promote",
                                      "promote:",
                                      "promote:0",
                                      "promote:-4",
                                      "promote:4x",
                                      "split:3",
                                      "split:0x128",
                                      "split:3x",
                                      "split:3x128:sideways",
                                      "split:2000x1",
                                      "chain,",
                                      "chains",
                                      "promote:99999999999999999999",
                                      ",",
                                      "slice:2",
                                      "residue:0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mx_schedule s;
        mx_error e = {0};
        ck_assert_msg(mx_schedule_parse(bad[i], &s, &e) == MX_BAD_USAGE, "'%s' was taken", bad[i]);
        ck_assert(strlen(e.message) > 10);
    }
    mx_schedule s;
    ck_assert(!mx_schedule_parse(NULL, &s, NULL) && !s.promote && !s.split);
}
END_TEST

START_TEST(slices_cover_k_once)
{
    static const int64_t ks[] = {0, 1, 127, 128, 129, 4096, 8192, 8193};
    for (int tile = 32; tile <= 256; tile *= 2)
        for (int parts = 2; parts <= 7; parts++)
            for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
                mx_schedule s = {.split = parts, .split_tile = tile};
                int64_t at = 0, begin, end;
                for (int p = 0; p < parts; p++) {
                    mx_schedule_slice(&s, ks[i], p, &begin, &end);
                    ck_assert(begin == at && end >= begin);
                    at = end;
                }
                ck_assert_int_eq(at, ks[i]);
            }
    mx_schedule s = {.split = 3, .split_tile = 128};
    int64_t begin, end;
    mx_schedule_slice(&s, 4096, 2, &begin, &end); /* 11 + 11 + 10 tiles */
    ck_assert(begin == 2816 && end == 4096);
}
END_TEST

/* ---- products ---------------------------------------------------------------------------------------- */

enum { M = 5, N = 6, K = 200 };

typedef struct inputs {
    uint8_t a[M * K], b[N * K];
    float sa[M * K], sb[N * K];
    float d[M * N];
} inputs;

static uint8_t small_code(uint32_t stream, uint64_t i)
{
    uint32_t r = mx_random_u32(77, stream, i);
    return (uint8_t)((r & 0x87) | (4 + (r >> 8) % 6) << 3);
}

static void fill(inputs *x)
{
    for (int i = 0; i < N * K; i++) {
        x->b[i] = small_code(2, (uint64_t)i);
        x->sb[i] = 0.5f + (float)(i % 11) / 8;
        if (i >= M * K) continue;
        x->a[i] = small_code(1, (uint64_t)i);
        x->sa[i] = 0.25f + (float)(i % 7) / 16;
    }
}

static const mx_model *wgmma(void) { return mx_model_find("sm90-wgmma-fp8-f32"); }
static const mx_format *f(const char *name) { return mx_format_find(name); }

/* Chain of the unit over lanes [begin, end) of row i and column j, from zero. */
static float chain(const inputs *x, int i, int j, int begin, int end)
{
    uint32_t a[K], b[K];
    for (int k = begin; k < end; k++) {
        a[k - begin] = x->a[i * K + k];
        b[k - begin] = x->b[j * K + k];
    }
    mx_lanes l = {f("e4m3"), f("e4m3"), a, b, end - begin, NULL, NULL, NULL, 0};
    uint32_t bits = mx_model_chain(wgmma(), &l, 0);
    float d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static mx_product product(inputs *x, const char *schedule)
{
    mx_schedule s;
    ck_assert(!mx_schedule_parse(schedule, &s, NULL));
    mx_product p = mx_product_init(wgmma(), &s);
    p.a = mx_operand_dense(f("e4m3"), x->a, M, K);
    p.b = mx_operand_dense(f("e4m3"), x->b, N, K);
    p.d_format = f("f32");
    p.d = x->d;
    p.d_pitch = N;
    return p;
}

static void run(const mx_product *p)
{
    mx_error e = {0};
    ck_assert_msg(!mx_gemm(p, &e), "%s", e.message);
}

#define EACH(i, j)                                                                                           \
    for (int i = 0; i < M; i++)                                                                              \
        for (int j = 0; j < N; j++)
#define SAME(got, want)                                                                                      \
    ck_assert_msg((got) == (want), "[%d][%d]: %a, want %a", i, j, (double)(got), (double)(want))

START_TEST(promotion_adds_stretches)
{
    static inputs x;
    fill(&x);
    mx_product p = product(&x, "promote:2");
    run(&p);
    EACH(i, j)
    {
        float sum = 0;
        for (int k = 0; k < K; k += 64)
            sum += chain(&x, i, j, k, k + 64 < K ? k + 64 : K);
        SAME(x.d[i * N + j], sum);
    }
}
END_TEST

START_TEST(splits_add_in_order)
{
    static inputs x;
    fill(&x);
    static const char *const orders[] = {"split:3x32", "split:3x32:down", "split:3x32:tree"};
    for (int o = 0; o < 3; o++) {
        mx_product p = product(&x, orders[o]);
        run(&p);
        EACH(i, j)
        { /* 7 tiles: 3 + 3 + 1 */
            float p0 = chain(&x, i, j, 0, 96), p1 = chain(&x, i, j, 96, 192), p2 = chain(&x, i, j, 192, K);
            float want[] = {(p0 + p1) + p2, p0 + (p1 + p2), p0 + (p1 + p2)};
            want[1] = (p2 + p1) + p0;
            SAME(x.d[i * N + j], want[o]);
        }
    }
}
END_TEST

START_TEST(slices_take_turns_and_residue_comes_first)
{
    static inputs x;
    fill(&x);
    mx_product p = product(&x, "residue:64,slice:2x32");
    run(&p);
    EACH(i, j)
    { /* 200 = 8 + 3 * 64: a short tile of 8 for the first accumulator, then 32 lanes each in turn */
        uint32_t a[2][K], b[2][K];
        int n[2] = {0, 0};
        float part[2];
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < K; k++) {
                bool mine = k < 8 ? s == 0 : (k - 8) / 32 % 2 == s;
                bool pad = s == 0 && k == 8; /* the short tile fills one instruction of 32 */
                while (pad && n[s] < 32)
                    a[s][n[s]] = b[s][n[s]] = 0, n[s]++;
                if (mine) a[s][n[s]] = x.a[i * K + k], b[s][n[s]++] = x.b[j * K + k];
            }
        for (int s = 0; s < 2; s++) {
            mx_lanes l = {f("e4m3"), f("e4m3"), a[s], b[s], n[s], NULL, NULL, NULL, 0};
            uint32_t bits = mx_model_chain(wgmma(), &l, 0);
            memcpy(&part[s], &bits, sizeof bits);
        }
        SAME(x.d[i * N + j], part[0] + part[1]);
    }
}
END_TEST

START_TEST(scales_on_promotion)
{
    static inputs x;
    fill(&x);
    static const char *const how[] = {"promote:1", "promote-ffma:1", "promote-ffma:1,scale-a-b",
                                      "promote:1,scale-b-a"};
    for (int h = 0; h < 4; h++) {
        mx_product p = product(&x, how[h]);
        p.a = mx_operand_scaled(f("e4m3"), x.a, M, K, f("f32"), x.sa, 1, 32);
        p.b = mx_operand_scaled(f("e4m3"), x.b, N, K, f("f32"), x.sb, 2, 64);
        run(&p);
        EACH(i, j)
        {
            float sum = 0;
            for (int k = 0; k < K; k += 32) {
                float part = chain(&x, i, j, k, k + 32 < K ? k + 32 : K);
                float a = x.sa[i * 7 + k / 32], b = x.sb[j / 2 * 4 + k / 64];
                sum = h == 0   ? sum + part * (a * b)
                      : h == 1 ? fmaf(part, a * b, sum)
                      : h == 2 ? fmaf(part * a, b, sum)
                               : sum + part * b * a;
            }
            SAME(x.d[i * N + j], sum);
        }
    }
}
END_TEST

START_TEST(epilogue_in_order)
{
    static inputs x;
    fill(&x);
    static float c[M * N], bias[N];
    for (int i = 0; i < M * N; i++)
        c[i] = (float)i / 3;
    for (int i = 0; i < N; i++)
        bias[i] = (float)i / 7;
    mx_product p = product(&x, "scale-a-b");
    p.a = mx_operand_scaled(f("e4m3"), x.a, M, K, f("f32"), x.sa, 1, K);
    p.b = mx_operand_scaled(f("e4m3"), x.b, N, K, f("f32"), x.sb, 1, K);
    p.a.global = 3;
    p.b.global = 0.1f;
    p.alpha = 1.5;
    p.beta = 0.75;
    p.c_format = p.bias_format = f("f32");
    p.c = c;
    p.c_pitch = N;
    p.bias = bias;
    run(&p);
    EACH(i, j)
    {
        float v = chain(&x, i, j, 0, K) * x.sa[i] * x.sb[j];
        v *= 3 * 0.1f;
        v = fmaf(1.5f, v, 0.75f * c[i * N + j]) + bias[j];
        SAME(x.d[i * N + j], v);
    }
}
END_TEST

START_TEST(outputs_are_cast_once)
{
    static inputs x;
    fill(&x);
    static uint8_t d8[M * N];
    static uint16_t d16[M * N];
    mx_product p = product(&x, "chain");
    run(&p);
    p.d_format = f("bf16");
    p.d = d16;
    run(&p);
    EACH(i, j)
    ck_assert_uint_eq(d16[i * N + j], mx_encode(f("bf16"), (double)x.d[i * N + j], &MX_CAST_DEFAULT, 0));
    p.d_format = f("e4m3");
    p.d = d8;
    p.alpha = 1e6; /* saturates */
    run(&p);
    EACH(i, j) ck_assert_uint_eq(d8[i * N + j] & 0x7F, 0x7E);
}
END_TEST

START_TEST(unit_scales_and_dequantisation)
{
    static inputs x;
    static uint8_t sa[M * 7], sb[N * 7];
    static float want[M * N];
    fill(&x);
    for (int i = 0; i < N * 7; i++) {
        if (i < M * 7) sa[i] = (uint8_t)(125 + i % 5);
        sb[i] = (uint8_t)(126 + i % 3);
    }
    mx_product p = product(&x, "dequant-bf16");
    p.model = mx_model_find("sm90-f16-f32");
    p.a = mx_operand_scaled(f("e4m3"), x.a, M, K, f("e8m0"), sa, 1, 32);
    p.b = mx_operand_scaled(f("e4m3"), x.b, N, K, f("e8m0"), sb, 1, 32);
    run(&p);
    ck_assert_int_eq(mx_operand_inexact_bf16(&p.a), 0);
    static uint16_t a[M * K], b[N * K];
    for (int i = 0; i < N * K; i++) {
        double vb = mx_decode(f("e4m3"), x.b[i]) * ldexp(1, sb[i / K * 7 + i % K / 32] - 127);
        b[i] = (uint16_t)mx_encode(f("bf16"), vb, &MX_CAST_DEFAULT, 0);
        if (i >= M * K) continue;
        double va = mx_decode(f("e4m3"), x.a[i]) * ldexp(1, sa[i / K * 7 + i % K / 32] - 127);
        a[i] = (uint16_t)mx_encode(f("bf16"), va, &MX_CAST_DEFAULT, 0);
    }
    memcpy(want, x.d, sizeof want);
    mx_product q = product(&x, "chain");
    q.model = p.model;
    q.a = mx_operand_dense(f("bf16"), a, M, K);
    q.b = mx_operand_dense(f("bf16"), b, N, K);
    run(&q);
    EACH(i, j) SAME(x.d[i * N + j], want[i * N + j]);
    /* The same scales inside a unit that takes them: exact in both, so nothing but the grid may differ. */
    p.model = mx_model_find("exact");
    p.schedule.convert = MX_CONVERT_NONE;
    run(&p);
    memcpy(want, x.d, sizeof want);
    q.model = p.model;
    run(&q);
    EACH(i, j) SAME(x.d[i * N + j], want[i * N + j]);
    sa[0] = 0;
    x.a[0] = 1; /* 2^-9 * 2^-127 lies below the smallest bf16 */
    ck_assert_int_gt(mx_operand_inexact_bf16(&p.a), 0);
}
END_TEST

START_TEST(strides_do_not_matter)
{
    static inputs x;
    static uint8_t at[K * M], bt[K * (N + 3)];
    static float want[M * N];
    fill(&x);
    mx_product p = product(&x, "chain");
    run(&p);
    memcpy(want, x.d, sizeof want);
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < M; i++)
            at[k * M + i] = x.a[i * K + k];
        for (int j = 0; j < N; j++)
            bt[k * (N + 3) + j] = x.b[j * K + k];
    }
    p.a.data = at;
    p.a.row_stride = 1;
    p.a.k_stride = M;
    p.b.data = bt;
    p.b.row_stride = 1;
    p.b.k_stride = N + 3;
    run(&p);
    EACH(i, j) SAME(x.d[i * N + j], want[i * N + j]);
}
END_TEST

START_TEST(sizes_and_threads_do_not_matter)
{
    enum { BIG = 300, DEEP = 1000 };
    static uint8_t a[BIG * DEEP], b[BIG * DEEP];
    static float d[2][BIG * BIG];
    for (int i = 0; i < BIG * DEEP; i++) {
        a[i] = small_code(3, (uint64_t)i);
        b[i] = small_code(4, (uint64_t)i);
    }
    static inputs x;
    mx_product p = product(&x, "promote:4");
    p.a = mx_operand_dense(f("e4m3"), a, BIG, DEEP);
    p.b = mx_operand_dense(f("e4m3"), b, BIG, DEEP);
    p.d_pitch = BIG;
    for (int t = 0; t < 2; t++) {
        p.d = d[t];
        p.threads = t + 1;
        run(&p);
    }
    ck_assert_mem_eq(d[0], d[1], sizeof d[0]);
    p.a.rows = 1; /* a row alone has the bits that it has in company */
    p.a.data = a + 257 * DEEP;
    p.d = d[1];
    p.scalar = true;
    p.b.rows = 40;
    run(&p);
    ck_assert_mem_eq(d[0] + 257 * BIG, d[1], 40 * sizeof(float));
}
END_TEST

START_TEST(empty_products)
{
    static inputs x;
    fill(&x);
    mx_product p = product(&x, "split:4x32");
    p.a.k = p.b.k = 0;
    memset(x.d, 0xFF, sizeof x.d);
    run(&p);
    EACH(i, j) SAME(x.d[i * N + j], 0.0f);
    p = product(&x, "chain");
    p.a.rows = 0;
    run(&p);
    p.b.k = 3;
    ck_assert_int_eq(mx_gemm(&p, NULL), MX_BAD_USAGE);
    p = product(&x, "chain");
    p.b.format = f("bf16");
    ck_assert_int_eq(mx_gemm(&p, NULL), MX_UNSUPPORTED);
    p = product(&x, "chain");
    p.a = mx_operand_scaled(f("e4m3"), x.a, M, K, f("f32"), x.sa, 1, 32);
    ck_assert_int_eq(mx_gemm(&p, NULL), MX_UNSUPPORTED);
}
END_TEST

/* ---- grouped ----------------------------------------------------------------------------------------- */

START_TEST(grouped_rows)
{
    static inputs x;
    static uint8_t experts[4][N * K];
    static const int64_t offsets[] = {0, 2, 2, 3, M}; /* an empty expert, one of one row */
    fill(&x);
    for (int e = 0; e < 4; e++)
        for (int i = 0; i < N * K; i++)
            experts[e][i] = small_code(10 + (uint32_t)e, (uint64_t)i);
    mx_product p = product(&x, "promote:4");
    p.b.data = experts;
    ck_assert(!mx_gemm_grouped(&p, MX_GROUPED_ROWS, offsets, 4, N * K, 0, NULL));
    EACH(i, j)
    {
        int e = i < 2 ? 0 : i < 3 ? 2 : 3;
        memcpy(x.b, experts[e], sizeof x.b);
        float want = chain(&x, i, j, 0, 128) + chain(&x, i, j, 128, K);
        SAME(x.d[i * N + j], want);
    }
    static const int64_t bad[] = {0, 3, 2, 3, M}, short_of[] = {0, 1, 2, 3, M - 1};
    ck_assert_int_eq(mx_gemm_grouped(&p, MX_GROUPED_ROWS, bad, 4, N * K, 0, NULL), MX_BAD_INPUT);
    ck_assert_int_eq(mx_gemm_grouped(&p, MX_GROUPED_ROWS, short_of, 4, N * K, 0, NULL), MX_BAD_INPUT);
}
END_TEST

START_TEST(grouped_k)
{
    static inputs x;
    static float d[3 * M * N];
    static const int64_t offsets[] = {0, 96, 96, K};
    fill(&x);
    memset(d, 0xFF, sizeof d);
    mx_product p = product(&x, "chain");
    p.d = d;
    ck_assert(!mx_gemm_grouped(&p, MX_GROUPED_K, offsets, 3, 0, 0, NULL));
    EACH(i, j)
    {
        SAME(d[i * N + j], chain(&x, i, j, 0, 96));
        SAME(d[M * N + i * N + j], 0.0f);
        SAME(d[2 * M * N + i * N + j], chain(&x, i, j, 96, K));
    }
    /* A scale block that straddles two experts has no meaning. */
    p.a = mx_operand_scaled(f("e4m3"), x.a, M, K, f("f32"), x.sa, 1, 64);
    p.schedule.promote = 2;
    ck_assert_int_eq(mx_gemm_grouped(&p, MX_GROUPED_K, offsets, 3, 0, 0, NULL), MX_UNSUPPORTED);
}
END_TEST

Suite *test_gemm(void)
{
    Suite *s = suite_create("products");
    TCase *t = tcase_create("schedules");
    tcase_add_loop_test(t, schedule_text_round_trips, 0, (int)(sizeof canonical / sizeof *canonical));
    tcase_add_test(t, bad_schedules_are_named);
    tcase_add_test(t, slices_cover_k_once);
    suite_add_tcase(s, t);
    t = tcase_create("products");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, promotion_adds_stretches);
    tcase_add_test(t, splits_add_in_order);
    tcase_add_test(t, slices_take_turns_and_residue_comes_first);
    tcase_add_test(t, scales_on_promotion);
    tcase_add_test(t, epilogue_in_order);
    tcase_add_test(t, outputs_are_cast_once);
    tcase_add_test(t, unit_scales_and_dequantisation);
    tcase_add_test(t, strides_do_not_matter);
    tcase_add_test(t, sizes_and_threads_do_not_matter);
    tcase_add_test(t, empty_products);
    tcase_add_test(t, grouped_rows);
    tcase_add_test(t, grouped_k);
    suite_add_tcase(s, t);
    return s;
}
