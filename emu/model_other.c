/* SPDX-License-Identifier: Apache-2.0
 * Steps that are not fused sums cut at one grid: plain fp32 loops, the exact sum, and AMD's CDNA units. */
#include <math.h>
#include <string.h>

#include "exact.h"
#include "model.h"

static float f32_value(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t canonical(const mx_model *m, float x) { return isnan(x) ? m->nan_bits : f32_bits(x); }

static float lane_a(const mx_lanes *x, int64_t k) { return (float)mx_decode(x->a_format, x->a[k]); }
static float lane_b(const mx_lanes *x, int64_t k) { return (float)mx_decode(x->b_format, x->b[k]); }

static float flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

/* Halves are summed on their own, then added; an odd count leaves the longer half on the right. */
static float tree(const mx_lanes *x, int64_t begin, int64_t n, bool flushed)
{
    if (n == 1) {
        float product = lane_a(x, begin) * lane_b(x, begin);
        return flushed ? flush(product) : product;
    }
    float sum = tree(x, begin, n / 2, flushed) + tree(x, begin + n / 2, n - n / 2, flushed);
    return flushed ? flush(sum) : sum;
}

static uint32_t step_exact(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    const uint32_t one = 0x3F800000;
    const mx_format *f32 = mx_model_format(m);
    mx_lanes addend = {.a_format = f32, .b_format = f32, .a = &c, .b = &one, .n = 1};
    for (int64_t k = 0; k < x->n || k == 0; k += m->lanes ? m->lanes : x->n + 1) {
        mx_exact sum;
        mx_exact_clear(&sum);
        mx_lanes part = *x;
        part.a += k;
        part.b += k;
        part.n = m->lanes && x->n - k > m->lanes ? m->lanes : x->n - k;
        mx_exact_add_lanes(&sum, &part);
        mx_exact_add_lanes(&sum, &addend);
        c = mx_exact_f32(&sum);
    }
    return mx_code_is_nan(f32, c) ? m->nan_bits : c;
}

uint32_t mx_step_ieee(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    if (m->kind == MX_MODEL_EXACT) return step_exact(m, x, c);
    float d = f32_value(c);
    if (m->kind == MX_MODEL_PAIRWISE) return canonical(m, x->n ? tree(x, 0, x->n, false) + d : d);
    for (int64_t k = 0; k < x->n; k++) {
        float a = lane_a(x, k), b = lane_b(x, k);
        if (m->kind == MX_MODEL_FMA)
            d = fmaf(a, b, d);
        else
            d += a * b;
    }
    return canonical(m, d);
}

/* CDNA2: subnormals of operands and C are flushed, then every product, sum and result. */
uint32_t mx_step_flush_tree(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    uint32_t a[16], b[16];
    float d = flush(f32_value(c));
    for (int64_t k0 = 0; k0 < x->n; k0 += m->lanes) {
        mx_lanes group = {x->a_format, x->b_format, a, b, m->lanes, NULL, NULL, NULL, 0};
        for (int k = 0; k < m->lanes; k++) {
            bool there = k0 + k < x->n;
            a[k] = there ? x->a[k0 + k] : 0;
            b[k] = there ? x->b[k0 + k] : 0;
            if (fabs(mx_decode(x->a_format, a[k])) < ldexp(1, mx_format_emin(x->a_format))) a[k] = 0;
            if (fabs(mx_decode(x->b_format, b[k])) < ldexp(1, mx_format_emin(x->b_format))) b[k] = 0;
        }
        d = flush(d + tree(&group, 0, m->lanes, true));
    }
    return canonical(m, d);
}

/* ---- CDNA3 ----------------------------------------------------------------------------------------- */

typedef struct partial {
    int64_t sum; /* in units of 2^(exp - fraction) */
    int exp;
    bool any;
} partial;

/* Lanes first, first + stride, ... : aligned to their own largest exponent, cut toward zero, added. */
static partial sum_products(const mx_model *m, const mx_lanes *x, int64_t begin, int64_t end, int stride)
{
    partial p = {0, -1000, false};
    int frac = mx_unpack_frac(x->a_format) + mx_unpack_frac(x->b_format);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = begin; k < end; k += stride) {
            mx_unpacked a = mx_unpack_lane(m, x->a_format, x->a[k]);
            mx_unpacked b = mx_unpack_lane(m, x->b_format, x->b[k]);
            int64_t man = (int64_t)a.man * b.man;
            int exp = a.exp + b.exp;
            if (!man) continue;
            p.any = true;
            if (pass == 0)
                p.exp = exp > p.exp ? exp : p.exp;
            else
                p.sum += mx_model_cut_term(MX_CUT_ZERO, a.negative != b.negative ? -man : man,
                                           frac - m->fraction + p.exp - exp);
        }
    return p;
}

static int64_t floored(int64_t sum, int right) { return mx_model_cut_term(MX_CUT_FLOOR, sum, right); }

/* Even and odd lanes of the fp8 units: the sum with the smaller exponent is floored to the other's grid. */
static partial join_halves(partial p, partial q)
{
    if (!p.any) return q;
    if (!q.any) return p;
    int exp = p.exp > q.exp ? p.exp : q.exp;
    return (partial){floored(p.sum, exp - p.exp) + floored(q.sum, exp - q.exp), exp, true};
}

/* Inf and NaN as IEEE arithmetic gives them, where a product of 2^128 or more is an infinity already. */
static bool special_sum(const mx_lanes *x, int64_t begin, int64_t end, float c, float *out)
{
    double sum = c;
    for (int64_t k = begin; k < end; k++) {
        double p = mx_decode(x->a_format, x->a[k]) * mx_decode(x->b_format, x->b[k]);
        if (fabs(p) >= 0x1p128) p = copysign(INFINITY, p);
        if (!isfinite(p)) sum += p;
    }
    *out = (float)sum;
    return !isfinite(sum);
}

uint32_t mx_step_two_stage(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    enum { PRODUCT_FRACTION = 31, FP8_DROP = 25 };
    const mx_format *f32 = mx_model_format(m);
    bool fp8 = x->a_format->bits == 8;
    for (int64_t k = 0; k < x->n; k += m->lanes) {
        int64_t end = k + m->lanes < x->n ? k + m->lanes : x->n;
        float special;
        if (special_sum(x, k, end, f32_value(c), &special)) {
            c = canonical(m, special);
            continue;
        }
        partial p = fp8 ? join_halves(sum_products(m, x, k, end, 2), sum_products(m, x, k + 1, end, 2))
                        : sum_products(m, x, k, end, 1);
        mx_unpacked u = mx_unpack(f32, c);
        int c_exp = u.man ? u.exp : -126; /* a zero C votes too */
        int exp = p.any && p.exp > c_exp ? p.exp : c_exp, to = PRODUCT_FRACTION - m->fraction;
        int64_t sum = floored(p.sum, exp - p.exp - to);
        int64_t addend = floored(u.negative ? -(int64_t)u.man : u.man, 23 - m->fraction + exp - c_exp);
        if (fp8 && exp - c_exp > FP8_DROP) addend = 0;
        c = mx_model_convert(m->output, sum + addend * ((int64_t)1 << to), exp - PRODUCT_FRACTION);
    }
    return c;
}
