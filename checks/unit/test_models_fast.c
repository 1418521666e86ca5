/* SPDX-License-Identifier: Apache-2.0
 * The vector steps against the scalar code, bit for bit: every model that has a fast chain, every pair of its
 * formats, every instruction set of this CPU, on benign, adversarial and special data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fast.h"
#include "gemm.h"
#include "gemm_tile.h"
#include "random.h"
#include "suite.h"

static const char *const isas[] = {"avx512", "avx2"};

/* How codes are drawn: each finds another way to be wrong. */
enum { ANY_BITS, NARROW, SPARSE, TWO_CLUSTERS, ALL_LARGEST, HIGH, LOW, SPECIALS, N_DATA };

static uint32_t draw(const mx_format *f, int data, uint32_t stream, uint64_t i)
{
    uint32_t r = mx_random_u32(11, stream, i), mask = f->bits == 32 ? ~0u : ((uint32_t)1 << f->bits) - 1;
    uint32_t sign = (uint32_t)1 << (f->bits - 1), man = ((uint32_t)1 << f->man_bits) - 1;
    uint32_t top = ((uint32_t)1 << f->exp_bits) - 1, field = (uint32_t)f->bias;
    switch (data) {
    case ANY_BITS: break;
    case NARROW: return ((r & (sign | man)) | ((field + (r >> 24) % 3) & top) << f->man_bits) & mask;
    case SPARSE: return r % 3 ? r >> 16 & 1 ? sign : 0 : (r & (sign | man)) | field << f->man_bits;
    case TWO_CLUSTERS:
        field = (r >> 20) % 2 ? top - 1 : (r >> 21) % 3;
        return ((r & (sign | man)) | field << f->man_bits) & mask;
    case ALL_LARGEST: return f->max_code | (r % 16 ? 0 : sign);
    /* Products about 2^126 and about 2^-126 in formats that reach so far. */
    case HIGH: return ((r & (sign | man)) | (field + top / 4 + 1 - (r >> 24) % 3) << f->man_bits) & mask;
    case LOW: return ((r & (sign | man)) | (field - top / 4 + (r >> 24) % 14) << f->man_bits) & mask;
    case SPECIALS:
        return r % 64 == 0                  ? (f->specials == MX_SPECIALS_NONE ? f->max_code : f->nan_code)
               : r % 64 == 1 && f->inf_code ? f->inf_code | (r & sign)
                                            : (r & (sign | man)) | field << f->man_bits;
    }
    return mx_code_is_nan(f, r & mask) || mx_code_is_inf(f, r & mask) ? f->max_code : r & mask;
}

static void fill(const mx_format *f, int data, uint32_t stream, size_t n, unsigned char *out)
{
    size_t size = f->bits <= 8 ? 1 : f->bits <= 16 ? 2 : 4;
    for (size_t i = 0; i < n; i++) {
        uint32_t code = draw(f, data, stream, i);
        memcpy(out + i * size, &code, size);
    }
}

enum { M = 3, N = 35, K = 270 };

/* One product both ways. Scales, where the model takes them: a few binades, or all bytes. */
static void agree(const mx_model *m, const mx_format *fa, const mx_format *fb, int data, const char *isa)
{
    static unsigned char a[M * K * 4], b[N * K * 4], sa[M * 10], sb[N * 10];
    static uint32_t c[M * N], plain[M * N], fast[M * N];
    mx_product p = mx_product_init(m, NULL);
    fill(fa, data, 1, M * K, a);
    fill(fb, data, 2, N * K, b);
    p.a = mx_operand_dense(fa, a, M, K);
    p.b = mx_operand_dense(fb, b, N, K);
    if (m->scales) {
        for (size_t i = 0; i < sizeof sb; i++) {
            uint32_t r = mx_random_u32(12, 3, i);
            sb[i] = (uint8_t)(data == ANY_BITS ? r : 120 + r % 16);
            if (i < sizeof sa) sa[i] = (uint8_t)(data == ANY_BITS ? r >> 8 : 120 + (r >> 8) % 16);
        }
        p.a = mx_operand_scaled(fa, a, M, K, mx_format_find("e8m0"), sa, 1, 32);
        p.b = mx_operand_scaled(fb, b, N, K, mx_format_find("e8m0"), sb, 1, 32);
    }
    p.schedule.c_first = true;
    p.beta = 1;
    p.c_format = p.d_format = mx_format_find("f32");
    for (uint64_t i = 0; i < M * N; i++)
        c[i] = i % 5 ? draw(p.c_format,
                            data == LOW ? ANY_BITS
                            : i % 7     ? NARROW
                                        : ANY_BITS,
                            4, i) >>
                           (data == LOW ? 7 : 0)
                     : 0;
    p.c = c;
    p.c_pitch = p.d_pitch = N;
    p.threads = 1;
    p.d = plain;
    p.scalar = true;
    ck_assert(!mx_gemm(&p, NULL));
    p.d = fast;
    p.scalar = false;
    ck_assert(!mx_gemm(&p, NULL));
    for (int i = 0; i < M * N; i++)
        ck_assert_msg(plain[i] == fast[i], "%s %s x %s data %d on %s: output %d is %08X, want %08X", m->name,
                      fa->name, fb->name, data, isa, i, fast[i], plain[i]);
}

static void agree_on_all_formats(const mx_model *m, const char *isa)
{
    size_t scratch;
    for (size_t i = 0; i < mx_format_count(); i++)
        for (size_t j = i; j < mx_format_count() && j < i + 2; j++) { /* mixed pairs too, but not all */
            const mx_format *fa = mx_format_at(i), *fb = mx_format_at(j);
            if (!mx_model_accepts(m, fa) || !mx_model_accepts(m, fb)) continue;
            if (!mx_chain_tile_fast(m, fa, fb, 1, 128, &scratch)) continue;
            for (int data = 0; data < N_DATA; data++)
                agree(m, fa, fb, data, isa);
        }
}

START_TEST(vectors_equal_scalar)
{
    if (!mx_fast_select(isas[_i])) return; /* not on this CPU */
    for (size_t i = 0; i < mx_model_count(); i++)
        agree_on_all_formats(mx_model_at(i), isas[_i]);
}
END_TEST

/* The rows that matter most must have a fast chain at all. */
START_TEST(the_main_models_are_fast)
{
    static const char *const names[] = {"sm90-wgmma-fp8-f32", "sm90-mma-fp8-f32", "sm90-f16-f32",
                                        "sm100-mxf8f6f4"};
    if (!strcmp(mx_fast_isa(), "scalar")) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t scratch;
        const mx_model *m = mx_model_find(names[i]);
        const mx_format *f = mx_format_find(strstr(names[i], "f16-f32") ? "bf16" : "e4m3");
        ck_assert_msg(mx_chain_tile_fast(m, f, f, 256, 128, &scratch) != NULL, "%s", names[i]);
    }
}
END_TEST

Suite *test_models_fast(void)
{
    Suite *s = suite_create("models fast");
    TCase *t = tcase_create("equal to scalar");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, vectors_equal_scalar, 0, (int)(sizeof isas / sizeof *isas));
    tcase_add_test(t, the_main_models_are_fast);
    suite_add_tcase(s, t);
    return s;
}
