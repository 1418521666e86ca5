/* SPDX-License-Identifier: Apache-2.0
 * The fast path for AVX-512 (F, BW, VL, DQ, VBMI): vector macros of fast_impl.h on 16 lanes. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define ISA      mx_fast_avx512
#define ISA_NAME "avx512"
#define LANES    16
#define PRESENT                                                                                              \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&                              \
     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&                             \
     __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("fma"))
typedef __m512i vi;

#define PS(a)                    _mm512_castsi512_ps(a)
#define PI(a)                    _mm512_castps_si512(a)
#define v_set1(n)                _mm512_set1_epi32((int)(n))
#define v_load(p)                _mm512_loadu_si512(p)
#define v_load_u16(p)            _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define v_load_f16(p)            PI(_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p))))
#define v_load_u8(p)             _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define v_sll16(a, n)            _mm512_sllv_epi16(a, _mm512_set1_epi16((short)(n)))
#define v_where_gt16(a, b, x, y) _mm512_mask_mov_epi16(y, _mm512_cmpgt_epi16_mask(a, b), x)
#define v_half_0(a)              PI(_mm512_cvtph_ps(_mm512_castsi512_si256(a)))
#define v_half_1(a)              PI(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(a, 1)))
#define v_narrow(a, b)                                                                                       \
    _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packus_epi32(a, b))
#define F16(a)                 _mm512_cvtps_ph(PS(a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define v_to_f16(a, b)         _mm512_inserti64x4(_mm512_castsi256_si512(F16(a)), F16(b), 1)
#define v_set1w(n)             _mm512_set1_epi16((short)(n))
#define v_f16_lanes(a)         PI(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)))
#define v_sub16(a, b)          _mm512_sub_epi16(a, b)
#define v_min16(a, b)          _mm512_min_epi16(a, b)
#define v_pack32u(a, b)        _mm512_packus_epi32(a, b)
#define v_pack32s(a, b)        _mm512_packs_epi32(a, b)
#define v_pack16u(a, b)        _mm512_packus_epi16(a, b)
#define v_pack16s(a, b)        _mm512_packs_epi16(a, b)
#define v_and(a, b)            _mm512_and_si512(a, b)
#define v_or(a, b)             _mm512_or_si512(a, b)
#define v_add(a, b)            _mm512_add_epi32(a, b)
#define v_sub(a, b)            _mm512_sub_epi32(a, b)
#define v_srl(a, n)            _mm512_srlv_epi32(a, n)
#define v_sll(a, n)            _mm512_sllv_epi32(a, n)
#define v_min(a, b)            _mm512_min_epu32(a, b)
#define v_max(a, b)            _mm512_max_epu32(a, b)
#define v_where_gt(a, b, x, y) _mm512_mask_mov_epi32(y, _mm512_cmpgt_epi32_mask(a, b), x)
#define v_add_f(a, b)          PI(_mm512_add_ps(PS(a), PS(b)))
#define v_mul_f(a, b)          PI(_mm512_mul_ps(PS(a), PS(b)))
#define v_div_f(a, b)          PI(_mm512_div_ps(PS(a), PS(b)))
#define v_reduce_max(a)        _mm512_reduce_max_epu32(a)
#define v_store(p, a)          _mm512_storeu_si512(p, a)

static inline __attribute__((always_inline)) void v_store_maybe(uint32_t *p, vi a, bool stream)
{
    if (stream)
        _mm512_stream_si512((void *)p, a);
    else
        v_store(p, a);
}

/* Packs work inside each 128-bit quarter; one permutation of 32-bit words undoes two levels of them. */
static inline __attribute__((always_inline)) vi v_in_order(vi bytes)
{
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                    bytes);
}

/* Pairs of vectors are halved together until one is left: 15 steps instead of four for each of 16. */
static inline __attribute__((always_inline)) vi v_fold(const vi *m)
{
    vi q[4];
    for (int i = 0; i < 4; i++) {
        const vi *p = m + 4 * i;
        vi ab = v_max(_mm512_unpacklo_epi32(p[0], p[1]), _mm512_unpackhi_epi32(p[0], p[1]));
        vi cd = v_max(_mm512_unpacklo_epi32(p[2], p[3]), _mm512_unpackhi_epi32(p[2], p[3]));
        q[i] = v_max(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    }
    vi low = v_max(_mm512_shuffle_i32x4(q[0], q[1], 0x44), _mm512_shuffle_i32x4(q[0], q[1], 0xEE));
    vi high = v_max(_mm512_shuffle_i32x4(q[2], q[3], 0x44), _mm512_shuffle_i32x4(q[2], q[3], 0xEE));
    return v_max(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xDD));
}

#include "fast_impl.h"
