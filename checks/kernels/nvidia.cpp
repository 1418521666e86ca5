/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's own conversions as a kernel under test: the host code of cuda_fp8.h, cuda_fp6.h and cuda_fp4.h.
 * Casts claim the recipes that are named after them; block quantisers are put together from them the way
 * their device counterparts are, and claim the plain recipe, so that whatever NVIDIA does differently shows
 * up under that recipe's name. Needs the toolkit's headers, no nvcc and no device. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "mx_kernel.h"

namespace
{

using Encode = uint8_t (*)(float);
using Decode = float (*)(uint8_t);

template <__nv_saturation_t S, __nv_fp8_interpretation_t F> uint8_t fp8(float x)
{
    return __nv_cvt_float_to_fp8(x, S, F);
}
template <__nv_fp6_interpretation_t F> uint8_t fp6(float x)
{
    return __nv_cvt_float_to_fp6(x, F, cudaRoundNearest);
}
uint8_t fp4(float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); }
template <__nv_saturation_t S, cudaRoundMode R> uint8_t e8m0(float x)
{
    return __nv_cvt_float_to_e8m0(x, S, R);
}

template <__nv_fp8_interpretation_t F> float from_fp8(uint8_t q)
{
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(q, F)));
}
template <__nv_fp6_interpretation_t F> float from_fp6(uint8_t q)
{
    return __half2float(__half(__nv_cvt_fp6_to_halfraw(q, F)));
}
float from_fp4(uint8_t q) { return __half2float(__half(__nv_cvt_fp4_to_halfraw(q, __NV_E2M1))); }
float from_e8m0(uint8_t s) { return __bfloat162float(__nv_bfloat16(__nv_cvt_e8m0_to_bf16raw(s))); }

struct Row {
    const char *recipe;
    Encode encode;
    Decode decode; /* nullptr: a plain cast */
    float largest;
};

constexpr Row rows[] = {
    {"cast-e4m3-cuda-sat", fp8<__NV_SATFINITE, __NV_E4M3>, nullptr, 0},
    {"cast-e4m3-cuda-nosat", fp8<__NV_NOSAT, __NV_E4M3>, nullptr, 0},
    {"cast-e5m2-cuda-sat", fp8<__NV_SATFINITE, __NV_E5M2>, nullptr, 0},
    {"cast-e5m2-cuda-nosat", fp8<__NV_NOSAT, __NV_E5M2>, nullptr, 0},
    {"cast-e3m2-cuda", fp6<__NV_E3M2>, nullptr, 0},
    {"cast-e2m3-cuda", fp6<__NV_E2M3>, nullptr, 0},
    {"cast-e2m1-cuda", fp4, nullptr, 0},
    {"cast-e8m0-cuda-rp-sat", e8m0<__NV_SATFINITE, cudaRoundPosInf>, nullptr, 0},
    {"cast-e8m0-cuda-rp-nosat", e8m0<__NV_NOSAT, cudaRoundPosInf>, nullptr, 0},
    {"cast-e8m0-cuda-rz-sat", e8m0<__NV_SATFINITE, cudaRoundZero>, nullptr, 0},
    {"cast-e8m0-cuda-rz-nosat", e8m0<__NV_NOSAT, cudaRoundZero>, nullptr, 0},
    {"mxfp8", fp8<__NV_SATFINITE, __NV_E4M3>, from_fp8<__NV_E4M3>, 448},
    {"mxfp8-e5m2", fp8<__NV_SATFINITE, __NV_E5M2>, from_fp8<__NV_E5M2>, 57344},
    {"mxfp6-e3m2", fp6<__NV_E3M2>, from_fp6<__NV_E3M2>, 28},
    {"mxfp6-e2m3", fp6<__NV_E2M3>, from_fp6<__NV_E2M3>, 7.5f},
    {"mxfp4", fp4, from_fp4, 6},
};
constexpr int n_rows = sizeof rows / sizeof *rows;

const Row &row_of(const mx_kernel_call *c)
{
    int i = 0;
    while (i + 1 < n_rows && strcmp(rows[i].recipe, c->op->recipe))
        i++;
    return rows[i];
}

/* Element i of a source as fp32, which holds all three formats; bases may be unaligned. */
float load(const mx_kernel_tensor &t, int64_t i)
{
    const char *p = static_cast<const char *>(t.data);
    if (!strcmp(t.dtype, "f32")) {
        float x;
        memcpy(&x, p + 4 * i, 4);
        return x;
    }
    uint16_t bits;
    memcpy(&bits, p + 2 * i, 2);
    if (!strcmp(t.dtype, "bf16")) {
        uint32_t wide = static_cast<uint32_t>(bits) << 16;
        float x;
        memcpy(&x, &wide, 4);
        return x;
    }
    __half_raw h;
    h.x = bits;
    return __half2float(__half(h));
}

int cast(const mx_kernel_call *c)
{
    const Row &row = row_of(c);
    const mx_kernel_tensor &x = c->in[0];
    int64_t n = 1;
    for (int i = 0; i < x.rank; i++)
        n *= x.shape[i];
    auto *q = static_cast<uint8_t *>(c->out[0].data);
    for (int64_t i = 0; i < n; i++)
        q[i] = row.encode(load(x, i));
    return MX_KERNEL_DONE;
}

int quantize(const mx_kernel_call *c)
{
    const Row &row = row_of(c);
    const mx_kernel_tensor &x = c->in[0];
    auto *q = static_cast<uint8_t *>(c->out[0].data), *scale = static_cast<uint8_t *>(c->out[1].data);
    const int64_t n_rows_x = x.shape[0], cols = x.shape[1], blocks = (cols + 31) / 32;
    for (int64_t r = 0; r < n_rows_x; r++)
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t end = b * 32 + 32 < cols ? b * 32 + 32 : cols;
            float amax = 0;
            for (int64_t i = b * 32; i < end; i++)
                amax = fmaxf(amax, fabsf(load(x, r * x.pitch + i)));
            const uint8_t s =
                __nv_cvt_float_to_e8m0(amax * (1 / row.largest), __NV_SATFINITE, cudaRoundPosInf);
            const float multiplier = ldexpf(1, 127 - s);
            scale[r * blocks + b] = s;
            for (int64_t i = b * 32; i < end; i++)
                q[r * cols + i] = row.encode(load(x, r * x.pitch + i) * multiplier);
        }
    return MX_KERNEL_DONE;
}

int dequantize(const mx_kernel_call *c)
{
    const Row &row = row_of(c);
    const auto *q = static_cast<const uint8_t *>(c->in[0].data),
               *scale = static_cast<const uint8_t *>(c->in[1].data);
    const mx_kernel_tensor &y = c->out[0];
    const int64_t cols = y.shape[1], blocks = (cols + 31) / 32;
    for (int64_t r = 0; r < y.shape[0]; r++)
        for (int64_t i = 0; i < cols; i++) {
            const float value = row.decode(q[r * cols + i]) * from_e8m0(scale[r * blocks + i / 32]);
            memcpy(static_cast<char *>(y.data) + 4 * (r * y.pitch + i), &value, 4);
        }
    return MX_KERNEL_DONE;
}

} // namespace

extern "C" const mx_kernel_library *mx_kernel_describe(void)
{
    static mx_kernel_op ops[2 * n_rows];
    static char names[2 * n_rows][64];
    static mx_kernel_library library;
    uint32_t n = 0;
    const auto add = [&](const char *operation, const Row &row, mx_kernel_run run) {
        mx_kernel_op &op = ops[n];
        snprintf(names[n], sizeof names[n], "%s-%s", operation, row.recipe);
        op = mx_kernel_op();
        op.name = names[n++];
        op.operation = operation;
        op.recipe = row.recipe;
        op.inputs = "f32,bf16,f16";
        op.note = "host conversions of the CUDA toolkit";
        op.run = run;
        return &op;
    };
    for (const Row &row : rows) {
        add(row.decode ? "quantize" : "cast", row, row.decode ? quantize : cast);
        if (row.decode) add("dequantize", row, dequantize)->output = "f32";
    }
    library.abi = MX_KERNEL_ABI;
    library.name = "NVIDIA host headers";
    library.version = CUDART_VERSION >= 13000 ? "CUDA 13" : "CUDA 12";
    library.ops = ops;
    library.n_ops = n;
    return &library;
}
