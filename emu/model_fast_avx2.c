/* SPDX-License-Identifier: Apache-2.0
 * The vector step on AVX2: 16 columns. */
#include <immintrin.h>

#include "model_fast.h"

enum { W = 16 };
typedef __m256 VF;
typedef __m256i VI, VW, VM;
typedef struct wide {
    __m256d low, high; /* integers below 2^53 */
} VWIDE;

static inline VF vf_set(float x) { return _mm256_set1_ps(x); }
static inline VF vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline VF vf_mul(VF a, VF b) { return _mm256_mul_ps(a, b); }
static inline VF vf_add(VF a, VF b) { return _mm256_add_ps(a, b); }
static inline VF vf_from_bits(VI x) { return _mm256_castsi256_ps(x); }
static inline VI vf_bits(VF x) { return _mm256_castps_si256(x); }
static inline VI vi_set(int32_t x) { return _mm256_set1_epi32(x); }
static inline VI vi_load(const uint32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void vi_store(uint32_t *p, VI x) { _mm256_storeu_si256((__m256i *)p, x); }
static inline VI vi_add(VI a, VI b) { return _mm256_add_epi32(a, b); }
static inline VI vi_sub(VI a, VI b) { return _mm256_sub_epi32(a, b); }
static inline VI vi_and(VI a, VI b) { return _mm256_and_si256(a, b); }
static inline VI vi_max(VI a, VI b) { return _mm256_max_epi32(a, b); }
static inline VI vi_min(VI a, VI b) { return _mm256_min_epi32(a, b); }
static inline VI vi_shift_right(VI x, int by) { return _mm256_srli_epi32(x, by); }
static inline VM vi_greater(VI a, VI b) { return _mm256_cmpgt_epi32(a, b); }
static inline VM vi_equal(VI a, VI b) { return _mm256_cmpeq_epi32(a, b); }
static inline VI vi_select(VM mask, VI yes, VI no) { return _mm256_blendv_epi8(no, yes, mask); }
static inline VM vm_or(VM a, VM b) { return _mm256_or_si256(a, b); }
static inline VM vm_none(void) { return _mm256_setzero_si256(); }
static inline uint32_t vm_bits(VM x) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(x)); }
static inline VI vi_truncate(VF x) { return _mm256_cvttps_epi32(x); }
static inline VF vf_mask(VF x, int32_t mask) { return vf_from_bits(vi_and(vf_bits(x), vi_set(mask))); }
/* 2^(field - 127) from the exponent field. */
static inline VF vf_power(VI field) { return vf_from_bits(_mm256_slli_epi32(field, 23)); }

static inline VW vw_vote(const int16_t *b, uint32_t a2)
{
    return _mm256_add_epi16(_mm256_loadu_si256((const __m256i *)b), _mm256_set1_epi32((int32_t)a2));
}
static inline VW vw_max(VW a, VW b) { return _mm256_max_epi16(a, b); }
static inline VI vw_low(VW x) { return _mm256_cvtepi16_epi32(_mm256_castsi256_si128(x)); }
static inline VI vw_high(VW x) { return _mm256_cvtepi16_epi32(_mm256_extracti128_si256(x, 1)); }

static inline VWIDE wide_from(VI x)
{
    return (VWIDE){_mm256_cvtepi32_pd(_mm256_castsi256_si128(x)),
                   _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1))};
}
static inline VWIDE wide_add(VWIDE sum, VI x)
{
    VWIDE y = wide_from(x);
    return (VWIDE){_mm256_add_pd(sum.low, y.low), _mm256_add_pd(sum.high, y.high)};
}
/* Integers cut to 24 significant bits: a double has 53, so 29 are cleared. */
static inline VF wide_truncated(VWIDE x)
{
    const __m256d keep = _mm256_castsi256_pd(_mm256_set1_epi64x(-((int64_t)1 << 29)));
    __m128 low = _mm256_cvtpd_ps(_mm256_and_pd(x.low, keep));
    __m128 high = _mm256_cvtpd_ps(_mm256_and_pd(x.high, keep));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}
static inline VF vf_truncated(VI sum) { return wide_truncated(wide_from(sum)); }

#include "model_fast_body.h"

uint32_t mx_fast_chain_avx2(const mx_fast_rule *rule, const mx_fast_row *row, const mx_fast_group *group,
                            int steps, uint32_t *acc)
{
    return dispatch(rule, row, group, steps, acc);
}
