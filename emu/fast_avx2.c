/* SPDX-License-Identifier: Apache-2.0
 * The fast path for AVX2 with F16C: vector macros of fast_impl.h on 8 lanes. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define ISA      mx_fast_avx2
#define ISA_NAME "avx2"
#define LANES    8
#define PRESENT  (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
typedef __m256i vi;

#define PS(a)                    _mm256_castsi256_ps(a)
#define PI(a)                    _mm256_castps_si256(a)
#define M256(p)                  ((__m256i *)(void *)(p))
#define v_set1(n)                _mm256_set1_epi32((int)(n))
#define v_load(p)                _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define v_load_u16(p)            _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define v_load_f16(p)            PI(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p))))
#define v_load_u8(p)             _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define v_sll16(a, n)            _mm256_sll_epi16(a, _mm_cvtsi32_si128(n))
#define v_where_gt16(a, b, x, y) _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi16(a, b))
#define v_half_0(a)              PI(_mm256_cvtph_ps(_mm256_castsi256_si128(a)))
#define v_half_1(a)              PI(_mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)))
#define v_narrow(a, b)           _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xD8)
#define F16(a)                   _mm256_cvtps_ph(PS(a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define v_to_f16(a, b)           _mm256_set_m128i(F16(b), F16(a))
#define v_set1w(n)               _mm256_set1_epi16((short)(n))
#define v_f16_lanes(a)                                                                                       \
    PI(_mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(a, a), 0x08))))
#define v_sub16(a, b)          _mm256_sub_epi16(a, b)
#define v_min16(a, b)          _mm256_min_epi16(a, b)
#define v_pack32u(a, b)        _mm256_packus_epi32(a, b)
#define v_pack32s(a, b)        _mm256_packs_epi32(a, b)
#define v_pack16u(a, b)        _mm256_packus_epi16(a, b)
#define v_pack16s(a, b)        _mm256_packs_epi16(a, b)
#define v_and(a, b)            _mm256_and_si256(a, b)
#define v_or(a, b)             _mm256_or_si256(a, b)
#define v_add(a, b)            _mm256_add_epi32(a, b)
#define v_sub(a, b)            _mm256_sub_epi32(a, b)
#define v_srl(a, n)            _mm256_srlv_epi32(a, n)
#define v_sll(a, n)            _mm256_sllv_epi32(a, n)
#define v_min(a, b)            _mm256_min_epu32(a, b)
#define v_max(a, b)            _mm256_max_epu32(a, b)
#define v_where_gt(a, b, x, y) _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi32(a, b))
#define v_add_f(a, b)          PI(_mm256_add_ps(PS(a), PS(b)))
#define v_mul_f(a, b)          PI(_mm256_mul_ps(PS(a), PS(b)))
#define v_div_f(a, b)          PI(_mm256_div_ps(PS(a), PS(b)))
#define v_store(p, a)          _mm256_storeu_si256(M256(p), a)

static inline __attribute__((always_inline)) uint32_t v_reduce_max(vi a)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

static inline __attribute__((always_inline)) void v_store_maybe(uint32_t *p, vi a, bool stream)
{
    if (stream)
        _mm256_stream_si256(M256(p), a);
    else
        v_store(p, a);
}

/* Packs work inside each 128-bit half; one permutation of 32-bit words undoes two levels of them. */
static inline __attribute__((always_inline)) vi v_in_order(vi bytes)
{
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Pairs of vectors are halved together until one is left: 7 steps instead of three for each of 8. */
static inline __attribute__((always_inline)) vi v_fold(const vi *m)
{
    vi q[2];
    for (int i = 0; i < 2; i++) {
        const vi *p = m + 4 * i;
        vi ab = v_max(_mm256_unpacklo_epi32(p[0], p[1]), _mm256_unpackhi_epi32(p[0], p[1]));
        vi cd = v_max(_mm256_unpacklo_epi32(p[2], p[3]), _mm256_unpackhi_epi32(p[2], p[3]));
        q[i] = v_max(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
    }
    return v_max(_mm256_permute2x128_si256(q[0], q[1], 0x20), _mm256_permute2x128_si256(q[0], q[1], 0x31));
}

#include "fast_impl.h"
