/* SPDX-License-Identifier: Apache-2.0
 *
 * scale.cuh - from the amax of a block to its scale byte and the factor that its elements are multiplied by.
 */
#ifndef MX_GPU_SCALE_CUH
#define MX_GPU_SCALE_CUH

#include <stdint.h>

namespace mx
{

struct Scale {
    uint32_t code;
    float factor;
};

/* E8M0 scales. Columns of the recipe; all that a kernel needs to know of it. */
struct E8M0Rule {
    float inverse_max; /* 1 / largest value of the element format, rounded to fp32 */
    int emax;          /* exponent of that value */
    bool floor; /* 2^(floor(log2 amax) - emax); otherwise amax * inverse_max rounded up to a power of two */
    bool keep_nan;     /* a NaN in the block makes the scale NaN; otherwise only its own element */
    uint32_t inf_code; /* scale of a block with an infinity */
    /* What usual() needs: the ratio is amax * ratio_factor, and ratio_add carries into its exponent. */
    float ratio_factor;
    uint32_t ratio_add;

    static constexpr int BLOCK = 32;
    static constexpr bool POWERS = true; /* factors are powers of two, or NaN */

    __device__ __forceinline__ bool drop_nan() const { return !keep_nan; }

    /* 2^(127 - code), exactly; NaN for code FF. */
    static __device__ __forceinline__ float reciprocal(uint32_t code)
    {
        uint32_t b = (254 - code) << 23;
        if (code == 254) b = 0x00400000u;
        if (code == 255) b = 0x7FFFFFFFu;
        return __uint_as_float(b);
    }
    __device__ __forceinline__ Scale operator()(float amax) const
    {
        uint32_t code, b = __float_as_uint(amax);
        if (floor) {
            code = max((int)(b >> 23) - emax, 0);
        } else { /* a ratio of at most 2^-127 has code 0 */
            uint32_t p = __float_as_uint(__fmul_rn(amax, inverse_max));
            code = (p >> 23) + ((p & 0x7FFFFFu) != 0 && p > 0x00400000u);
        }
        if (b >= 0x7F800000u) code = b == 0x7F800000u ? inf_code : 255;
        return {code, reciprocal(code)};
    }

    /* The same for an amax that is 0, or finite and at least 2^-110, without a case distinction: the exponent
     * of the ratio, which is zero or a normal number below 2^121, carried up by ratio_add if its mantissa is
     * not zero and the rule rounds up. */
    __device__ __forceinline__ Scale usual(float amax) const
    {
        uint32_t p = __float_as_uint(__fmul_rn(amax, ratio_factor)) + ratio_add;
        return {p >> 23, __uint_as_float(0x7F000000u - (p & 0x7F800000u))};
    }
};

/* NVFP4: E4M3 scales of 16-element blocks under one fp32 global amax G, in TransformerEngine's order of
 * operations: S = min(2688 / G, FLT_MAX) (1 where G or S is 0), code = E4M3(amax * (S * fl(1/6))),
 * factor = min(1 / (code * (1 / S)), FLT_MAX). */
struct NVFP4Rule {
    const float *global_amax;

    static constexpr int BLOCK = 16;
    static constexpr bool POWERS = false;

    __device__ __forceinline__ bool drop_nan() const { return true; }

    static __device__ __forceinline__ float encode_scale(float g)
    {
        float s = fminf(__fdiv_rn(2688.0f, g), 3.402823466e38f);
        return g == 0 || s == 0 ? 1.0f : s;
    }
    static __device__ __forceinline__ float decode(uint32_t code) /* e4m3, finite and not negative */
    {
        float v = __uint_as_float((code & 0x7F) << 20); /* value * 2^-120 */
        return __fmul_rn(v, 0x1p120f);
    }
    __device__ __forceinline__ Scale usual(float amax) const { return (*this)(amax); }
    __device__ __forceinline__ Scale operator()(float amax) const
    {
        float s = encode_scale(__ldg(global_amax));
        uint16_t code;
        float target = __fmul_rn(amax, __fmul_rn(s, 0x1.555556p-3f));
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0f), "f"(target));
        float factor = __fdiv_rn(1.0f, __fmul_rn(decode(code), __fdiv_rn(1.0f, s)));
        return {code, fminf(factor, 3.402823466e38f)};
    }
};

} // namespace mx
#endif
