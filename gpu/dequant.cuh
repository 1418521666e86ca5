/* SPDX-License-Identifier: Apache-2.0
 *
 * dequant.cuh - fp8 codes times an e8m0 scale, as bf16: the operands of the bf16 products.
 *
 * Definition: the value of the code times 2^(s - 127), rounded once to nearest even bf16 with subnormals and
 * infinities; NaN if the code is NaN or s is 255. For e4m3 nothing is lost when s is 3..246.
 *
 * A code without its sign, shifted so that its exponent field ends where bf16's does, reads as bf16 as the
 * value times 2^(bias - 127), subnormals included. One bf16 multiplication by 2^(s - bias) restores it, with
 * the one rounding of the definition, as long as that factor is a finite bf16. The rest (large scales, NaN
 * and Inf codes) is rare and goes through fp32, in which every such product is exact or infinite. */
#ifndef MX_GPU_DEQUANT_CUH
#define MX_GPU_DEQUANT_CUH

#include <cuda_bf16.h>
#include <stdint.h>

namespace dequant
{

struct E4m3 {
    static constexpr int bias = 7, mantissa = 3;
    /* Smallest code, without sign, that is no finite number; 2^8 of slack holds the carry below. */
    static constexpr uint32_t special = 0x7f;
    __device__ static float value(uint32_t code)
    {
        uint32_t m = code & 0x7f;
        if (m == 0x7f) return __uint_as_float(0x7fffffff);
        float v = m >> 3 ? __uint_as_float(((m >> 3) + 120) << 23 | (m & 7) << 20) : (float)m * 0x1p-9f;
        return code & 0x80 ? -v : v;
    }
};

struct E5m2 {
    static constexpr int bias = 15, mantissa = 2;
    static constexpr uint32_t special = 0x7c;
    __device__ static float value(uint32_t code)
    {
        uint32_t m = code & 0x7f;
        if (m > 0x7c) return __uint_as_float(0x7fffffff);
        if (m == 0x7c) return __uint_as_float(0x7f800000 | (code & 0x80) << 24);
        float v = m >> 2 ? __uint_as_float(((m >> 2) + 112) << 23 | (m & 3) << 21) : (float)m * 0x1p-16f;
        return code & 0x80 ? -v : v;
    }
};

/* 2^(s - 127); NaN for 255. Exact: 2^-127 is an fp32 subnormal. */
__device__ __forceinline__ float scale_value(uint32_t s)
{
    return s == 255 ? __uint_as_float(0x7fffffff) : __uint_as_float(s ? s << 23 : 0x00400000);
}

/* The definition, one element. */
template <class F> __device__ inline uint32_t element(uint32_t code, uint32_t s)
{
    return __bfloat16_as_ushort(__float2bfloat16_rn(F::value(code) * scale_value(s)));
}

/* Largest scale whose factor 2^(s - bias) is a finite bf16. */
template <class F> constexpr uint32_t last_scale = 127 + F::bias;

/* Is one of the four scales of a word larger? */
template <class F> __device__ __forceinline__ bool scales_are_large(uint32_t w)
{
    constexpr uint32_t slack = (0x80 - (last_scale<F> - 0x80 + 1)) * 0x01010101u;
    return ((w & 0x7f7f7f7fu) + slack) & w & 0x80808080u;
}

/* Both halves 2^(s - bias) for byte i of a word of scales, none of them large. */
template <class F> __device__ __forceinline__ uint32_t scale_pair(uint32_t w, int i)
{
    return __byte_perm(w, 0, 0x4440 | i) * 0x00800080u + (uint32_t)(127 - F::bias) * 0x00800080u;
}

__device__ __forceinline__ uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t d;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

/* How the bits of two codes lie in a bf16 pair, and what carries out of a code that is no finite number. */
template <class F> struct Place {
    static constexpr int up = 7 - F::mantissa;
    static constexpr uint32_t mask = (0x7fu << up) * 0x00010001u, carry = (0x80u << up) * 0x00010001u;
    static constexpr uint32_t slack = ((0x80 - F::special) << up) * 0x00010001u;
    static constexpr uint32_t signs = 0x80008000u;
};

/* (x & signs) | pair, in one instruction even where x & signs is of use elsewhere. */
__device__ __forceinline__ uint32_t with_signs(uint32_t pair, uint32_t x)
{
    uint32_t d;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(d) : "r"(x), "n"(0x80008000u), "r"(pair));
    return d;
}

/* Four codes of finite numbers and a scale that is not large: .x gets elements 0 and 2, .y elements 1 and 3.
 */
template <class F> __device__ __forceinline__ uint2 word_fast(uint32_t x, uint32_t pair)
{
    typedef Place<F> P;
    return make_uint2(multiply(x << P::up & P::mask, with_signs(pair, x << 8)),
                      multiply(x >> (8 - P::up) & P::mask, with_signs(pair, x)));
}
/* Carries out of codes that are Inf or NaN; words are collected by "or", any_special() reads them. */
template <class F> __device__ __forceinline__ uint32_t special_carries(uint32_t x)
{
    return (x & 0x7f7f7f7fu) + (0x80 - F::special) * 0x01010101u;
}
__device__ __forceinline__ bool any_special(uint32_t carries) { return carries & 0x80808080u; }

/* The same for any code and scale: to the value first, exponent all ones where the code is no finite number,
 * then times 2^(s - 127), itself a bf16, subnormal or NaN at the ends. */
template <class F>
__device__ __forceinline__ uint32_t pair_exact(uint32_t code, uint32_t signs, uint32_t scale)
{
    typedef Place<F> P;
    uint32_t v = multiply(code, (uint32_t)(254 - F::bias) * 0x00800080u);
    v |= (((code + P::slack) & P::carry) >> (7 + P::up)) * 0x7f80u;
    return multiply(v, (signs & P::signs) | scale);
}
template <class F> __device__ __forceinline__ uint2 word_exact(uint32_t x, uint32_t s)
{
    typedef Place<F> P;
    uint32_t scale = s == 0 ? 0x00400040u : s == 255 ? 0x7fff7fffu : s * 0x00800080u;
    return make_uint2(pair_exact<F>(x << P::up & P::mask, x << 8, scale),
                      pair_exact<F>(x >> (8 - P::up) & P::mask, x, scale));
}

} // namespace dequant

#endif
