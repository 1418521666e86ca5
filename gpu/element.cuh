/* SPDX-License-Identifier: Apache-2.0
 *
 * element.cuh - sources and codes: eight consecutive elements in registers, their magnitudes, their values,
 * and how a pair of scaled values becomes a pair of codes. */
#ifndef MX_GPU_ELEMENT_CUH
#define MX_GPU_ELEMENT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace mx
{

/* ---- sources ------------------------------------------------------------------------------------- */

constexpr int CHUNK = 8; /* elements that a thread takes from one row: 16 bytes of bf16 */

template <class In> struct Chunk;
template <> struct Chunk<__nv_bfloat16> {
    uint32_t w[4];
};
template <> struct Chunk<__half> {
    uint32_t w[4];
};
template <> struct Chunk<float> {
    uint32_t w[8];
};

template <class In> constexpr bool PACKED = sizeof(In) == 2; /* two elements to a word */

/* Magnitude bits of infinity. */
template <class In> constexpr uint32_t INF_BITS = 0x7F800000u;
template <> constexpr uint32_t INF_BITS<__nv_bfloat16> = 0x7F80u;
template <> constexpr uint32_t INF_BITS<__half> = 0x7C00u;

/* The plain load: ld.global.nc.L1::no_allocate, which should suit data read once, was 4 to 9 % slower in
 * these kernels (gpu-selftest build/mxcheck-gpu.so bench, H200, 2026-11-29). Volatile, so that loads stay
 * together and ahead of what uses them. */
__device__ __forceinline__ uint4 load_16(const void *p)
{
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* Eight elements at p, 16-byte aligned. */
template <class In> __device__ __forceinline__ Chunk<In> load_chunk(const In *p)
{
    Chunk<In> c;
#pragma unroll
    for (int i = 0; i < (int)sizeof c.w / 16; i++) {
        uint4 v = load_16((const uint4 *)p + i);
        c.w[4 * i] = v.x, c.w[4 * i + 1] = v.y, c.w[4 * i + 2] = v.z, c.w[4 * i + 3] = v.w;
    }
    return c;
}

template <class In> __device__ __forceinline__ uint32_t bits(In v);
template <> __device__ __forceinline__ uint32_t bits(__nv_bfloat16 v) { return __bfloat16_as_ushort(v); }
template <> __device__ __forceinline__ uint32_t bits(__half v) { return __half_as_ushort(v); }
template <> __device__ __forceinline__ uint32_t bits(float v) { return __float_as_uint(v); }

/* The first n of eight elements at p, of any alignment; the others are zero, which no amax sees. */
template <class In> __device__ __forceinline__ Chunk<In> load_chunk_part(const In *p, int64_t n)
{
    Chunk<In> c;
#pragma unroll
    for (int k = 0; k < CHUNK; k++) {
        uint32_t v = k < n ? bits<In>(p[k]) : 0;
        if (!PACKED<In>)
            c.w[k] = v;
        else if (k % 2 == 0)
            c.w[k / 2] = v;
        else
            c.w[k / 2] |= v << 16;
    }
    return c;
}

/* The value of a bit pattern of In. */
template <class In> __device__ __forceinline__ float value(uint32_t b);
template <> __device__ __forceinline__ float value<float>(uint32_t b) { return __uint_as_float(b); }
template <> __device__ __forceinline__ float value<__nv_bfloat16>(uint32_t b)
{
    return __uint_as_float(b << 16);
}
template <> __device__ __forceinline__ float value<__half>(uint32_t b)
{
    return __half2float(__ushort_as_half((unsigned short)b));
}

/* Value k of an array of words; k is a constant once loops are unrolled. */
template <class In, int N> __device__ __forceinline__ float value_of(const uint32_t (&w)[N], int k)
{
    if constexpr (!PACKED<In>)
        return value<In>(w[k]);
    else if constexpr (INF_BITS<In> == INF_BITS<__nv_bfloat16>) /* the upper half of a float already */
        return __uint_as_float(k % 2 ? w[k / 2] & 0xFFFF0000u : w[k / 2] << 16);
    else
        return value<In>(k % 2 ? w[k / 2] >> 16 : w[k / 2] & 0xFFFFu);
}
template <class In> __device__ __forceinline__ float element(const Chunk<In> &c, int k)
{
    return value_of<In>(c.w, k);
}

/* Round to In, two neighbours of a chunk at a time. */
template <class In> __device__ __forceinline__ void put_pair(Chunk<In> &c, int k, float lo, float hi);
template <> __device__ __forceinline__ void put_pair(Chunk<__nv_bfloat16> &c, int k, float lo, float hi)
{
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(c.w[k / 2]) : "f"(hi), "f"(lo));
}
template <> __device__ __forceinline__ void put_pair(Chunk<__half> &c, int k, float lo, float hi)
{
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(c.w[k / 2]) : "f"(hi), "f"(lo));
}
template <> __device__ __forceinline__ void put_pair(Chunk<float> &c, int k, float lo, float hi)
{
    c.w[k] = __float_as_uint(lo), c.w[k + 1] = __float_as_uint(hi);
}

/* ---- magnitudes: unsigned integers that order as the values do, with NaN above all ------------------- */

template <class In> constexpr uint32_t MAGNITUDE = PACKED<In> ? 0x7FFF7FFFu : 0x7FFFFFFFu;
/* Larger magnitude of each element of a word. */
template <class In> __device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b)
{
    return PACKED<In> ? __vmaxu2(a, b) : max(a, b);
}

template <class In> __device__ __forceinline__ uint32_t smaller(uint32_t a, uint32_t b)
{
    return PACKED<In> ? __vminu2(a, b) : min(a, b);
}

/* min(m - 1, least), element by element: a zero counts as the largest. */
template <class In> __device__ __forceinline__ uint32_t least_but_zero(uint32_t m, uint32_t least)
{
    return PACKED<In> ? __viaddmin_u16x2(m, 0xFFFFFFFFu, least) : __viaddmin_u32(m, 0xFFFFFFFFu, least);
}

/* Magnitude bits of 2^-110, less one; f16 has nothing so small. Far above it, ratios are normal numbers. */
template <class In> constexpr uint32_t TINY_BITS = 0x087FFFFFu;
template <> constexpr uint32_t TINY_BITS<__nv_bfloat16> = 0x087Fu;
template <> constexpr uint32_t TINY_BITS<__half> = 0;

/* Magnitudes of word w of a chunk. DROP: those of NaN become zero. */
template <class In, bool DROP> __device__ __forceinline__ uint32_t magnitude(uint32_t w)
{
    uint32_t m = w & MAGNITUDE<In>;
    if (!DROP) return m;
    if (!PACKED<In>) return m > INF_BITS<In> ? 0 : m;
    uint32_t lo = m & 0xFFFFu, hi = m >> 16;
    return (lo > INF_BITS<In> ? 0 : lo) | (hi > INF_BITS<In> ? 0 : hi << 16);
}

/* ---- codes: two scaled values to two codes, lower element in the lower bits -------------------------- */

struct E4M3 {
    static constexpr int BITS = 8, EMAX = 8;
    static constexpr float MAX = 448;
    static __device__ __forceinline__ uint32_t pair(float lo, float hi)
    {
        uint16_t v;
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(v) : "f"(hi), "f"(lo));
        return v;
    }
};

struct E5M2 {
    static constexpr int BITS = 8, EMAX = 15;
    static constexpr float MAX = 57344;
    static __device__ __forceinline__ uint32_t pair(float lo, float hi)
    {
        uint16_t v;
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(v) : "f"(hi), "f"(lo));
        return v;
    }
};

/* Hopper has no conversion to e2m1. Below 1 the codes are the multiples of 1/2, so that rounding 2|x| to an
 * integer gives the code; from 1 on, one mantissa bit is kept, rounded to nearest even by adding to the
 * bits. Saturates at 6; NaN of either sign becomes +6, as in CUDA's own conversion. */
struct E2M1 {
    static constexpr int BITS = 4, EMAX = 2;
    static constexpr float MAX = 6;
    static __device__ __forceinline__ uint32_t code(float x)
    {
        float a = fminf(fabsf(x), 6.0f); /* NaN: 6 */
        uint32_t b = __float_as_uint(a), sign = x < 0 || __float_as_uint(x) == 0x80000000u ? 8 : 0;
        uint32_t small = (uint32_t)__float2int_rn(a + a);
        uint32_t large = ((b + 0x1FFFFFu + (b >> 22 & 1)) >> 22) - 252;
        return (a < 1.0f ? small : large) | sign;
    }
    static __device__ __forceinline__ uint32_t pair(float lo, float hi) { return code(lo) | code(hi) << 4; }
};

/* N codes, packed. */
template <class Out, int N> struct Codes {
    static constexpr int WORDS = N * Out::BITS / 32;
    uint32_t w[WORDS];
    /* To an address that is a multiple of their size. Evict first: nothing on this device reads them soon. */
    __device__ __forceinline__ void store(uint8_t *at) const
    {
        if constexpr (WORDS == 4)
            __stcs((uint4 *)at, make_uint4(w[0], w[1], w[2], w[3]));
        else if constexpr (WORDS == 2)
            __stcs((uint2 *)at, make_uint2(w[0], w[1]));
        else
            __stcs((uint32_t *)at, w[0]);
    }
    __device__ __forceinline__ void store_shared(uint8_t *at) const
    {
        if constexpr (WORDS == 4)
            *(uint4 *)at = make_uint4(w[0], w[1], w[2], w[3]);
        else
            *(uint2 *)at = make_uint2(w[0], w[1]);
    }
};

/* Encode N scaled values, get(0) to get(N - 1). */
template <class Out, int N, class Get> __device__ __forceinline__ Codes<Out, N> encode(Get get)
{
    constexpr int PER_WORD = 32 / Out::BITS;
    Codes<Out, N> c;
#pragma unroll
    for (int i = 0; i < c.WORDS; i++) {
        c.w[i] = 0;
#pragma unroll
        for (int k = 0; k < PER_WORD; k += 2) {
            int e = i * PER_WORD + k;
            c.w[i] |= Out::pair(get(e), get(e + 1)) << k * Out::BITS;
        }
    }
    return c;
}

/* Two bf16 values times two powers of two, or NaN, which are the upper halves of lo and hi. Exact where the
 * product is normal; where it is not, it rounds to a code of zero as its fp32 counterpart does. */
__device__ __forceinline__ uint32_t times_powers(uint32_t w, float lo, float hi)
{
    uint32_t product, powers = __byte_perm(__float_as_uint(lo), __float_as_uint(hi), 0x7632);
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(w), "r"(powers));
    return product;
}

/* Element k of a chunk times its factor; all eight take factors f(0) to f(7). PACKED_PRODUCT: two at a time.
 */
template <class In, class Rule>
constexpr bool PACKED_PRODUCT = PACKED<In> &&INF_BITS<In> == INF_BITS<__nv_bfloat16> &&Rule::POWERS;

template <class Out, class Rule, class In, class Factor>
__device__ __forceinline__ Codes<Out, CHUNK> encode_chunk(const Chunk<In> &c, Factor f)
{
    if constexpr (PACKED_PRODUCT<In, Rule>) {
        Chunk<In> t;
#pragma unroll
        for (int w = 0; w < CHUNK / 2; w++)
            t.w[w] = times_powers(c.w[w], f(2 * w), f(2 * w + 1));
        return encode<Out, CHUNK>([&](int k) { return element<In>(t, k); });
    } else {
        return encode<Out, CHUNK>([&](int k) { return __fmul_rn(element<In>(c, k), f(k)); });
    }
}

/* Columns k and k + 1 of several rows of chunks, each with one factor. */
template <class Out, class Rule, class In, int N>
__device__ __forceinline__ void encode_columns(const Chunk<In> (&c)[N], int k, float even, float odd,
                                               Codes<Out, N> (&out)[2])
{
    if constexpr (PACKED_PRODUCT<In, Rule>) {
        uint32_t t[N];
#pragma unroll
        for (int i = 0; i < N; i++)
            t[i] = times_powers(c[i].w[k / 2], even, odd);
        out[0] = encode<Out, N>([&](int i) { return __uint_as_float(t[i] << 16); });
        out[1] = encode<Out, N>([&](int i) { return __uint_as_float(t[i] & 0xFFFF0000u); });
    } else {
        out[0] = encode<Out, N>([&](int i) { return __fmul_rn(element<In>(c[i], k), even); });
        out[1] = encode<Out, N>([&](int i) { return __fmul_rn(element<In>(c[i], k + 1), odd); });
    }
}

} // namespace mx
#endif
