/* SPDX-License-Identifier: Apache-2.0
 * The vector step on AVX-512: 32 columns. */
#include <immintrin.h>

#include "model_fast.h"

enum { W = 32 };
typedef __m512 VF;
typedef __m512i VI, VW;
typedef __mmask16 VM;
typedef struct wide {
    __m512i low, high; /* int64 */
} VWIDE;

static inline VF vf_set(float x) { return _mm512_set1_ps(x); }
static inline VF vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline VF vf_mul(VF a, VF b) { return _mm512_mul_ps(a, b); }
static inline VF vf_add(VF a, VF b) { return _mm512_add_ps(a, b); }
static inline VF vf_from_bits(VI x) { return _mm512_castsi512_ps(x); }
static inline VI vf_bits(VF x) { return _mm512_castps_si512(x); }
static inline VI vi_set(int32_t x) { return _mm512_set1_epi32(x); }
static inline VI vi_load(const uint32_t *p) { return _mm512_loadu_si512(p); }
static inline void vi_store(uint32_t *p, VI x) { _mm512_storeu_si512(p, x); }
static inline VI vi_add(VI a, VI b) { return _mm512_add_epi32(a, b); }
static inline VI vi_sub(VI a, VI b) { return _mm512_sub_epi32(a, b); }
static inline VI vi_and(VI a, VI b) { return _mm512_and_si512(a, b); }
static inline VI vi_max(VI a, VI b) { return _mm512_max_epi32(a, b); }
static inline VI vi_min(VI a, VI b) { return _mm512_min_epi32(a, b); }
static inline VI vi_shift_right(VI x, int by) { return _mm512_srli_epi32(x, (unsigned)by); }
static inline VM vi_greater(VI a, VI b) { return _mm512_cmpgt_epi32_mask(a, b); }
static inline VM vi_equal(VI a, VI b) { return _mm512_cmpeq_epi32_mask(a, b); }
static inline VI vi_select(VM mask, VI yes, VI no) { return _mm512_mask_mov_epi32(no, mask, yes); }
static inline VM vm_or(VM a, VM b) { return (VM)(a | b); }
static inline VM vm_none(void) { return 0; }
static inline uint32_t vm_bits(VM x) { return x; }
static inline VI vi_truncate(VF x) { return _mm512_cvttps_epi32(x); }
static inline VF vf_mask(VF x, int32_t mask) { return vf_from_bits(vi_and(vf_bits(x), vi_set(mask))); }
/* 2^(field - 127) from the exponent field. */
static inline VF vf_power(VI field) { return vf_from_bits(_mm512_slli_epi32(field, 23)); }
/* The sum cut to 24 significant bits. */
static inline VF vf_truncated(VI sum)
{
    return _mm512_cvt_roundepi32_ps(sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

static inline VW vw_vote(const int16_t *b, uint32_t a2)
{
    return _mm512_add_epi16(_mm512_loadu_si512(b), _mm512_set1_epi32((int32_t)a2));
}
static inline VW vw_max(VW a, VW b) { return _mm512_max_epi16(a, b); }
static inline VI vw_low(VW x) { return _mm512_cvtepi16_epi32(_mm512_castsi512_si256(x)); }
static inline VI vw_high(VW x) { return _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(x, 1)); }

static inline VWIDE wide_from(VI x)
{
    return (VWIDE){_mm512_cvtepi32_epi64(_mm512_castsi512_si256(x)),
                   _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(x, 1))};
}
static inline VWIDE wide_add(VWIDE sum, VI x)
{
    VWIDE y = wide_from(x);
    return (VWIDE){_mm512_add_epi64(sum.low, y.low), _mm512_add_epi64(sum.high, y.high)};
}
static inline VF wide_truncated(VWIDE x)
{
    __m256 low = _mm512_cvt_roundepi64_ps(x.low, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    __m256 high = _mm512_cvt_roundepi64_ps(x.high, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

#include "model_fast_body.h"

uint32_t mx_fast_chain_avx512(const mx_fast_rule *rule, const mx_fast_row *row, const mx_fast_group *group,
                              int steps, uint32_t *acc)
{
    return dispatch(rule, row, group, steps, acc);
}
