/* SPDX-License-Identifier: Apache-2.0
 *
 * silu.cuh - SwiGLU and its gradient as a fixed sequence of IEEE fp32 operations, so that anyone can give the
 * same bits. Every line is one operation, rounded to nearest even; fma rounds once; no subnormal is flushed.
 *
 *   sigma(g):
 *     c = min(max(g, -88), 80)                 a NaN becomes -88 here and comes back by the products below
 *     m = fma(c, -0x1.715476p+0, 0x1.8p+23)    -log2(e); the sum rounds c / -ln 2 to an integer ...
 *     n = m - 0x1.8p+23                        ... which this is
 *     f = fma(c, -0x1.715476p+0, -n)           the rest, in about [-1/2, 1/2]
 *     p = fma(f, 0x1.5bba14p-10, 0x1.3cea88p-7)
 *     p = fma(p, f, 0x1.c6b752p-5)
 *     p = fma(p, f, 0x1.ebf9bcp-3)
 *     p = fma(p, f, 0x1.62e42ap-1)
 *     p = fma(p, f, 1)                         2^f; relative error below 1.6e-7
 *     e = p * 2^n                              exact: n is -116 to 127
 *     d = 1 + e
 *     s = d > 0x1p+126 ? 0 : 1 / d
 *
 *   forward, gate g and up u:    a = g * s;  y = a * u
 *   backward, with dy:           a = g * s;  r = 1 - s;  h = fma(a, r, s)
 *                                t = dy * u;  dgate = t * h;  dup = dy * a
 *
 * y, dgate and dup are rounded to the type of the inputs, to nearest even (overflow becomes infinite), before
 * anything looks at their amax: what is quantised is the activation that the unfused layer would have stored.
 * sigma(-Inf) is 0, so that g = -Inf gives NaN, as x * sigmoid(x) does. */
#ifndef MX_GPU_SILU_CUH
#define MX_GPU_SILU_CUH

namespace mx
{

/* d = 1 + exp(-g), for g within the clamp. */
__device__ __forceinline__ float one_plus_exp(float g)
{
    const float MINUS_LOG2_E = -0x1.715476p+0f, MAGIC = 0x1.8p+23f;
    float c = fminf(fmaxf(g, -88.0f), 80.0f);
    float m = __fmaf_rn(c, MINUS_LOG2_E, MAGIC), n = __fadd_rn(m, -MAGIC);
    float f = __fmaf_rn(c, MINUS_LOG2_E, -n);
    float p = __fmaf_rn(f, 0x1.5bba14p-10f, 0x1.3cea88p-7f);
    p = __fmaf_rn(p, f, 0x1.c6b752p-5f);
    p = __fmaf_rn(p, f, 0x1.ebf9bcp-3f);
    p = __fmaf_rn(p, f, 0x1.62e42ap-1f);
    p = __fmaf_rn(p, f, 1.0f);
    /* n lies in the low bits of m: added to p's exponent field it multiplies by 2^n. */
    float e = __uint_as_float(__float_as_uint(p) + (__float_as_uint(m) << 23));
    return __fadd_rn(1.0f, e);
}

/* The definition's last line as it stands. */
__device__ __forceinline__ float sigma_plain(float g)
{
    float d = one_plus_exp(g);
    return d > 0x1p+126f ? 0.0f : __fdiv_rn(1.0f, d);
}

/* The same bits without a division: one Newton step on the hardware's reciprocal rounds correctly for every d
 * in [1, 2^126] (`gpu/selftest` tries them all), and the flush makes it 0 beyond. */
__device__ __forceinline__ float reciprocal_from_1(float d)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
    return __fmaf_rn(r, __fmaf_rn(-d, r, 1.0f), r);
}
__device__ __forceinline__ float sigma(float g) { return reciprocal_from_1(one_plus_exp(g)); }

__device__ __forceinline__ float swiglu(float s, float g, float u) { return __fmul_rn(__fmul_rn(g, s), u); }
struct SwigluGrad {
    float gate, up;
};
__device__ __forceinline__ SwigluGrad swiglu_grad(float s, float g, float u, float dy)
{
    float a = __fmul_rn(g, s), h = __fmaf_rn(a, __fadd_rn(1.0f, -s), s);
    return {__fmul_rn(__fmul_rn(dy, u), h), __fmul_rn(dy, a)};
}

} // namespace mx
#endif
