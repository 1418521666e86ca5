/* SPDX-License-Identifier: Apache-2.0
 *
 * dequantize.cu - MXFP8 codes and scales back to fp32, bf16 or f16. Code times 2^(scale - 127) is exact in
 * fp32 (subnormals kept, overflow infinite), and rounded once, to nearest even, to a narrower output. */
#include "launch.cuh"

using namespace mx;

namespace
{

constexpr int PER_BLOCK = 256; /* threads */
constexpr int RUN = 16;        /* codes a thread: one 16-byte load, and half a block */

struct Job {
    const uint8_t *q, *scale;
    int64_t rows, cols, q_pitch, y_pitch, scale_pitch; /* scale_pitch 0: 128x4 tiles */
    bool aligned;
};

template <class Out> __device__ __forceinline__ float2 decode_pair(uint32_t codes)
{
    __half2_raw h;
    if constexpr (Out::EMAX == E4M3::EMAX)
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(*(uint32_t *)&h) : "h"((uint16_t)codes));
    else
        asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(*(uint32_t *)&h) : "h"((uint16_t)codes));
    return __half22float2(__half2(h));
}

/* 2^(scale - 127), in two factors so that none leaves fp32: FF gives NaN. */
__device__ __forceinline__ float scale_value(uint32_t s)
{
    return s == 255 ? __uint_as_float(0x7FFFFFFFu) : s == 0 ? 0x1p-127f : __uint_as_float(s << 23);
}

template <class Out, class To>
__global__ void __launch_bounds__(PER_BLOCK) dequantize_runs(const Job j, To *y)
{
    const int64_t per_row = (j.cols + RUN - 1) / RUN;
    const int64_t run = blockIdx.x * (int64_t)PER_BLOCK + threadIdx.x, r = run / per_row,
                  c = run % per_row * RUN;
    if (r >= j.rows) return;
    const int64_t block = c / 32, blocks = (j.cols + 31) / 32;
    int64_t at = r * j.scale_pitch + block;
    if (j.scale_pitch == 0)
        at = (r / 128 * ((blocks + 3) / 4) + block / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + block % 4;
    const float scale = scale_value(j.scale[at]);
    const uint8_t *q = j.q + r * j.q_pitch + c;
    To *to = y + r * j.y_pitch + c;
    const int n = (int)min((int64_t)RUN, j.cols - c);
    const bool vector = j.aligned && n == RUN;

    uint32_t code[RUN / 4] = {};
    if (vector) {
        uint4 v = load_16(q);
        code[0] = v.x, code[1] = v.y, code[2] = v.z, code[3] = v.w;
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++)
            if (i < n) code[i / 4] |= (uint32_t)q[i] << i % 4 * 8;
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        Chunk<To> out;
#pragma unroll
        for (int k = 0; k < CHUNK; k += 2) {
            int i = half * CHUNK + k;
            float2 v = decode_pair<Out>(code[i / 4] >> i % 4 * 8);
            put_pair(out, k, __fmul_rn(v.x, scale), __fmul_rn(v.y, scale));
        }
        if (vector) {
#pragma unroll
            for (int w = 0; w < (int)(sizeof out.w / 16); w++)
                ((uint4 *)(to + half * CHUNK))[w] =
                    make_uint4(out.w[4 * w], out.w[4 * w + 1], out.w[4 * w + 2], out.w[4 * w + 3]);
        } else {
            const To *from = (const To *)out.w;
#pragma unroll
            for (int k = 0; k < CHUNK; k++)
                if (half * CHUNK + k < n) to[half * CHUNK + k] = from[k];
        }
    }
}

template <class Out, class To> int run_of(const mx_kernel_call *c, const Job &j, mx_kernel_tensor *y)
{
    int64_t blocks = (j.rows * ((j.cols + RUN - 1) / RUN) + PER_BLOCK - 1) / PER_BLOCK;
    if (blocks == 0) return MX_KERNEL_DONE;
    if (blocks > INT32_MAX) return mx_gpu_say(c, MX_KERNEL_REFUSED, "more than 2^43 elements");
    Job job = j;
    job.aligned = j.aligned && multiple(y->data, 16) && j.y_pitch * (int64_t)sizeof(To) % 16 == 0;
    dequantize_runs<Out, To><<<(unsigned)blocks, PER_BLOCK, 0, mx_gpu_stream(c)>>>(job, (To *)y->data);
    return mx_gpu_launched(c);
}

template <class Out> int dequantize(const mx_kernel_call *c)
{
    const mx_kernel_tensor *q = mx_gpu_in(c, "q"), *scale = mx_gpu_in(c, "scale");
    mx_kernel_tensor *y = mx_gpu_out(c, "y");
    if (!q || !scale || !y) return mx_gpu_say(c, MX_KERNEL_FAILED, "needs q, scale and y");
    Job j = {(const uint8_t *)q->data, (const uint8_t *)scale->data};
    as_matrix(y, &j.rows, &j.cols);
    const int64_t blocks = (j.cols + 31) / 32;
    const bool tiled = mx_gpu_same(c->op->scale_layout, "tile-128x4");
    j.q_pitch = q->pitch ? q->pitch : j.cols;
    j.y_pitch = y->pitch ? y->pitch : j.cols;
    j.scale_pitch = tiled ? 0 : scale->pitch ? scale->pitch : blocks;
    j.aligned = multiple(q->data, 16) && j.q_pitch % 16 == 0;
    int64_t scales = tiled ? (j.rows + 127) / 128 * ((blocks + 3) / 4) * 512 : j.rows * blocks;
    if ((int64_t)scale->bytes < scales || (int64_t)q->bytes < j.rows * j.cols)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "q or scale is smaller than y asks for");
    if (mx_gpu_same(y->dtype, "bf16")) return run_of<Out, __nv_bfloat16>(c, j, y);
    if (mx_gpu_same(y->dtype, "f16")) return run_of<Out, __half>(c, j, y);
    if (mx_gpu_same(y->dtype, "f32")) return run_of<Out, float>(c, j, y);
    return mx_gpu_say(c, MX_KERNEL_REFUSED, "no path for output %s", y->dtype);
}

#define DEQUANTIZE(name, recipe, output, scales, Out)                                                        \
    {                                                                                                        \
        name, "dequantize", recipe, NULL, output, NULL, scales, NULL, NULL, NULL, NULL, NULL,                \
            dequantize<Out>                                                                                  \
    }

const mx_kernel_op ops[] = {
    DEQUANTIZE("dequantize-e4m3-te-tile", "mxfp8-te", "f32", "tile-128x4", E4M3),
    DEQUANTIZE("dequantize-e4m3-te", "mxfp8-te", "f32", NULL, E4M3),
    DEQUANTIZE("dequantize-e4m3-te-tile-bf16", "mxfp8-te", "bf16", "tile-128x4", E4M3),
    DEQUANTIZE("dequantize-e4m3-te-tile-f16", "mxfp8-te", "f16", "tile-128x4", E4M3),
    DEQUANTIZE("dequantize-e5m2-te-tile", "mxfp8-e5m2-te", "f32", "tile-128x4", E5M2),
    DEQUANTIZE("dequantize-e5m2-te", "mxfp8-e5m2-te", "f32", NULL, E5M2),
    DEQUANTIZE("dequantize-e5m2-te-tile-bf16", "mxfp8-e5m2-te", "bf16", "tile-128x4", E5M2),
};

} // namespace

MX_GPU_TABLE(dequantize, ops)
