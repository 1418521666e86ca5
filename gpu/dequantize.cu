/* SPDX-License-Identifier: Apache-2.0
 *
 * dequantize.cu - MXFP8 codes and scales back to fp32, bf16 or f16. Code times 2^(scale - 127) is exact in
 * fp32 (subnormals kept, overflow infinite), and rounded once, to nearest even, to a narrower output. */
#include "launch.cuh"

using namespace mx;

namespace
{

constexpr int WARPS = 8, LANE_ROWS_ = 4; /* of a thread block; rows of a lane, eight codes from each */
constexpr int WIDTH = 32 * CHUNK, HEIGHT = WARPS * LANE_ROWS_;

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

/* 2^(scale - 127); FF gives NaN. */
__device__ __forceinline__ float scale_value(uint32_t s)
{
    return s == 255 ? __uint_as_float(0x7FFFFFFFu) : s == 0 ? 0x1p-127f : __uint_as_float(s << 23);
}

__device__ __forceinline__ int64_t scale_at(const Job &j, int64_t r, int64_t block)
{
    return j.scale_pitch ? r * j.scale_pitch + block : tiled_at(r, block, (j.cols + 31) / 32);
}

/* Eight codes, low byte first; the first n of them where they cannot be had at once. */
__device__ __forceinline__ uint2 load_codes(const uint8_t *q, int n, bool vector)
{
    if (vector) return *(const uint2 *)q;
    uint32_t w[2] = {};
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        if (i < n) w[i / 4] |= (uint32_t)q[i] << i % 4 * 8;
    return make_uint2(w[0], w[1]);
}

template <class To>
__device__ __forceinline__ void store_values(To *to, const Chunk<To> &v, int n, bool vector)
{
    if (vector) {
#pragma unroll
        for (int w = 0; w < (int)(sizeof v.w / 16); w++)
            __stcs((uint4 *)to + w, make_uint4(v.w[4 * w], v.w[4 * w + 1], v.w[4 * w + 2], v.w[4 * w + 3]));
    } else {
        const To *from = (const To *)v.w;
#pragma unroll
        for (int k = 0; k < CHUNK; k++)
            if (k < n) to[k] = from[k];
    }
}

template <class Out, class To>
__global__ void __launch_bounds__(WARPS * 32) dequantize_rows(const Job j, To *y, int64_t row0)
{
    const int64_t row = row0 + (blockIdx.y * WARPS + threadIdx.x / 32) * (int64_t)LANE_ROWS_;
    const int64_t col = blockIdx.x * (int64_t)WIDTH + threadIdx.x % 32 * CHUNK;
    const int n = (int)min((int64_t)CHUNK, j.cols - col);
    const bool vector = j.aligned && n == CHUNK;
    if (n <= 0) return;
    uint2 codes[LANE_ROWS_];
    uint32_t scales[LANE_ROWS_];
#pragma unroll
    for (int i = 0; i < LANE_ROWS_; i++)
        if (row + i < j.rows) {
            codes[i] = load_codes(j.q + (row + i) * j.q_pitch + col, n, vector);
            scales[i] = j.scale[scale_at(j, row + i, col / 32)];
        }
#pragma unroll
    for (int i = 0; i < LANE_ROWS_; i++) {
        if (row + i >= j.rows) break;
        const float scale = scale_value(scales[i]);
        Chunk<To> out;
#pragma unroll
        for (int k = 0; k < CHUNK; k += 2) {
            float2 v = decode_pair<Out>((k < 4 ? codes[i].x : codes[i].y) >> k % 4 * 8);
            put_pair(out, k, __fmul_rn(v.x, scale), __fmul_rn(v.y, scale));
        }
        store_values(y + (row + i) * j.y_pitch + col, out, n, vector);
    }
}

template <class Out, class To> int run_of(const mx_kernel_call *c, const Job &j, mx_kernel_tensor *y)
{
    if (j.rows == 0 || j.cols == 0) return MX_KERNEL_DONE;
    const int64_t wide = (j.cols + WIDTH - 1) / WIDTH, high = (j.rows + HEIGHT - 1) / HEIGHT, MOST = 65535;
    if (wide > INT32_MAX) return mx_gpu_say(c, MX_KERNEL_REFUSED, "rows of more than 2^39 elements");
    Job job = j;
    job.aligned = j.aligned && multiple(y->data, 16) && j.y_pitch * (int64_t)sizeof(To) % 16 == 0;
    for (int64_t first = 0; first < high; first += MOST) {
        const dim3 grid((unsigned)wide, (unsigned)(high - first < MOST ? high - first : MOST));
        dequantize_rows<Out, To>
            <<<grid, WARPS * 32, 0, mx_gpu_stream(c)>>>(job, (To *)y->data, first * HEIGHT);
    }
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
    j.aligned = multiple(q->data, CHUNK) && j.q_pitch % CHUNK == 0;
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
