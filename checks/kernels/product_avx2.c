/* SPDX-License-Identifier: Apache-2.0 */
#include "product_avx2.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

void product_fma_row(const float *a, const float *b, int64_t k, int64_t stride, float *sums)
{
    for (int64_t c = 0; c < stride; c += PRODUCT_WIDTH) {
        __m256 sum = _mm256_setzero_ps();
        for (int64_t i = 0; i < k; i++)
            sum = _mm256_fmadd_ps(_mm256_set1_ps(a[i]), _mm256_loadu_ps(b + i * stride + c), sum);
        _mm256_storeu_ps(sums + c, sum);
    }
}

enum { NOTHING = -100 }; /* below every exponent of a product of fp8 numbers */

static __m256i load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }

/* Largest exponent of the nonzero products of eight columns. */
static __m256i top_exponent(const product_lane *a, const product_block *b, int64_t c)
{
    __m256i top = _mm256_set1_epi32(NOTHING), zero = _mm256_setzero_si256();
    for (int64_t i = 0; i < b->lanes; i++) {
        if (!a[i].significand) continue;
        __m256i e = _mm256_add_epi32(load(b->exponent + i * b->stride + c), _mm256_set1_epi32(a[i].exponent));
        __m256i is_zero = _mm256_cmpeq_epi32(load(b->significand + i * b->stride + c), zero);
        top = _mm256_max_epi32(top, _mm256_blendv_epi8(e, _mm256_set1_epi32(NOTHING), is_zero));
    }
    return top;
}

/* The step's result: cut, summed, and 14 bits of it kept. */
static __m256 step(const product_lane *a, const product_block *b, int mantissa, int64_t c)
{
    __m256i top = top_exponent(a, b, c), sum = _mm256_setzero_si256();
    for (int64_t i = 0; i < b->lanes; i++) {
        if (!a[i].significand) continue;
        __m256i product =
            _mm256_mullo_epi32(load(b->significand + i * b->stride + c), _mm256_set1_epi32(a[i].significand));
        __m256i e = _mm256_add_epi32(load(b->exponent + i * b->stride + c), _mm256_set1_epi32(a[i].exponent));
        __m256i term = _mm256_slli_epi32(_mm256_abs_epi32(product), 13 - 2 * mantissa);
        term = _mm256_srlv_epi32(term, _mm256_sub_epi32(top, e)); /* 32 and more: nothing is left */
        sum = _mm256_add_epi32(sum, _mm256_sign_epi32(term, product));
    }
    __m256i bits = _mm256_castps_si256(_mm256_cvtepi32_ps(sum)); /* exact: sums stay below 2^21 */
    bits = _mm256_and_si256(bits, _mm256_set1_epi32(~0x3FF));
    __m256i weight = _mm256_slli_epi32(_mm256_add_epi32(top, _mm256_set1_epi32(127 - 13)), 23);
    return _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_castsi256_ps(weight));
}

static bool has_special(const product_lane *a, int64_t lanes)
{
    bool any = false;
    for (int64_t i = 0; i < lanes; i++)
        any |= a[i].special != 0;
    return any;
}

/* What NaN and infinities among the lanes make of a finite step. */
static float with_specials(const product_lane *a, const product_block *b, int64_t c, float finite)
{
    bool plus = false, minus = false;
    for (int64_t i = 0; i < b->lanes; i++) {
        int x = a[i].special, y = b->special[i * b->stride + c];
        if (!x && !y) continue;
        int32_t sa = a[i].significand, sb = b->significand[i * b->stride + c];
        if (x == 2 || y == 2 || (!x && !sa) || (!y && !sb)) return NAN;
        bool negative = (x ? x < 0 : sa < 0) != (y ? y < 0 : sb < 0);
        plus |= !negative;
        minus |= negative;
    }
    if (plus && minus) return NAN;
    return plus ? INFINITY : minus ? -INFINITY : finite;
}

void product_step_row(const product_lane *a, float a_scale, const product_block *b, int mantissa, float *sums)
{
    bool row_special = has_special(a, b->lanes);
    for (int64_t c = 0; c < b->stride; c += PRODUCT_WIDTH) {
        float d[PRODUCT_WIDTH];
        _mm256_storeu_ps(d, step(a, b, mantissa, c));
        for (int64_t i = 0; i < PRODUCT_WIDTH; i++)
            if (row_special || b->any[c + i]) d[i] = with_specials(a, b, c + i, d[i]);
        __m256 scale = _mm256_mul_ps(_mm256_set1_ps(a_scale), _mm256_loadu_ps(b->scale + c));
        __m256 sum = _mm256_fmadd_ps(_mm256_loadu_ps(d), scale, _mm256_loadu_ps(sums + c));
        _mm256_storeu_ps(sums + c, sum);
    }
}
