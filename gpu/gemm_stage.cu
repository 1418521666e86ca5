/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_stage.cu - an operand of codes and scales, written out as bf16 for wgmma.
 *
 * Inside a group of 16 columns the copy holds the even elements first, then the odd ones: the order inside a
 * step of 16 products is free (their sum is exact before it is cut), and it is how two codes unpack from one
 * word. */
#include "gemm.cuh"
#include "gemm_launch.h"

namespace
{

using namespace gemm;

/* Rows of codes, and where their bf16 go: `pitch` elements a row, a multiple of 16. */
struct Stage {
    const uint8_t *codes;
    int64_t codes_pitch;
    Scales scales;
    int expert_rows; /* rows of one expert's scales; 0: one run of rows */
    int64_t expert_stride;
    bool grouped; /* tiles of scales restart at each group of rows */
    int rows, cols;
    bool aligned; /* 16 codes at a multiple of 16 columns can be loaded at once */
    uint16_t *out;
    int64_t pitch;
};

__device__ __forceinline__ int scale_row_of(const Problem &p, const Stage &s, int row)
{
    if (!s.grouped) return row;
    int start = 0, group = 0;
    while (group + 1 < p.groups && row >= (int)__ldg(p.offsets + group + 1)) {
        start += ((int)__ldg(p.offsets + group + 1) - (int)__ldg(p.offsets + group) + 127) / 128 * 128;
        group++;
    }
    return start + row - (int)__ldg(p.offsets + group);
}

__device__ __forceinline__ uint32_t load_bytes(const uint8_t *from, int count)
{
    return (count > 0 ? from[0] : 0) | (count > 1 ? from[1] << 8 : 0) | (count > 2 ? from[2] << 16 : 0) |
           (uint32_t)(count > 3 ? from[3] : 0) << 24;
}
__device__ __forceinline__ uint4 load_codes(const Stage &s, int row, int col)
{
    const uint8_t *from = s.codes + row * s.codes_pitch + col;
    const int left = s.cols - col;
    if (s.aligned && left >= 16) return __ldcs((const uint4 *)from);
    return make_uint4(load_bytes(from, left), load_bytes(from + 4, left - 4), load_bytes(from + 8, left - 8),
                      load_bytes(from + 12, left - 12));
}

template <class F>
__device__ __forceinline__ void dequantize_16(const uint4 &x, uint32_t s, uint4 &even, uint4 &odd)
{
    const uint32_t w[4] = {x.x, x.y, x.z, x.w};
    uint32_t carries = 0;
    uint2 r[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        carries |= dequant::special_carries<F>(w[i]);
    if (s > dequant::last_scale<F> || dequant::any_special(carries)) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            r[i] = dequant::word_exact<F>(w[i], s);
    } else {
        const uint32_t pair = dequant::scale_pair<F>(s, 0);
#pragma unroll
        for (int i = 0; i < 4; i++)
            r[i] = dequant::word_fast<F>(w[i], pair);
    }
    even = make_uint4(r[0].x, r[1].x, r[2].x, r[3].x);
    odd = make_uint4(r[0].y, r[1].y, r[2].y, r[3].y);
}

__device__ __forceinline__ uint4 select(bool first, const uint4 &a, const uint4 &b)
{
    return make_uint4(first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z, first ? a.w : b.w);
}

__device__ __forceinline__ uint4 from_neighbour(const uint4 &v)
{
    return make_uint4(__shfl_xor_sync(0xffffffffu, v.x, 1), __shfl_xor_sync(0xffffffffu, v.y, 1),
                      __shfl_xor_sync(0xffffffffu, v.z, 1), __shfl_xor_sync(0xffffffffu, v.w, 1));
}

/* A warp takes 4 x 512 codes of a row at a time, each lane 4 x 16. */
template <class F>
__global__ void __launch_bounds__(256)
    stage(const __grid_constant__ Problem p, const __grid_constant__ Stage s)
{
    constexpr int DEEP = 4;
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * 8;
    const uint32_t pieces = (s.cols + 512 * DEEP - 1) / (512 * DEEP);
    const uint32_t count = (uint32_t)s.rows * pieces;
    for (uint32_t i = blockIdx.x * 8 + threadIdx.x / 32; i < count; i += warps) {
        const int row = i / pieces, first = i % pieces * (512 * DEEP) + lane * 16;
        const int expert = s.expert_rows ? row / s.expert_rows : 0;
        const int64_t scale_row = s.expert_rows ? row % s.expert_rows : scale_row_of(p, s, row);
        const uint8_t *scales = s.scales.data + expert * s.expert_stride;
        uint4 x[DEEP];
        uint32_t scale[DEEP];
#pragma unroll
        for (int j = 0; j < DEEP; j++) {
            const int col = first + 512 * j;
            const bool inside = col < s.cols;
            x[j] = inside ? load_codes(s, row, col) : make_uint4(0, 0, 0, 0);
            scale[j] = inside ? __ldg(scales + scale_offset(s.scales, scale_row, col / 32)) : 127;
        }
#pragma unroll
        for (int j = 0; j < DEEP; j++) {
            const int col = first + 512 * j;
            uint4 even, odd;
            dequantize_16<F>(x[j], scale[j], even, odd);
            /* Two lanes write 32 neighbouring bytes at a time, the even lane's first. */
            const bool upper = lane % 2;
            const uint4 other = from_neighbour(select(upper, even, odd));
            const int left = upper ? col - 16 : col;
            uint16_t *to = s.out + row * s.pitch + left + (upper ? 8 : 0);
            if (left < s.pitch) *(uint4 *)to = select(upper, other, even);
            if (left + 16 < s.pitch) *(uint4 *)(to + 16) = select(upper, odd, other);
        }
    }
}

} // namespace

namespace gemm
{

int64_t staged_pitch(const Problem &p) { return ((int64_t)p.k + 15) / 16 * 16; }

int borrow(const mx_kernel_call *c, int64_t elements, uint16_t **work)
{
    cudaError_t error = cudaMallocAsync((void **)work, elements * 2, mx_gpu_stream(c));
    if (error == cudaSuccess) return MX_KERNEL_DONE;
    return mx_gpu_say(c, MX_KERNEL_REFUSED, "%lld bytes for bf16 operands: %s", (long long)elements * 2,
                      cudaGetErrorString(error));
}

int give_back(const mx_kernel_call *c, uint16_t *work, int status)
{
    cudaError_t error = cudaFreeAsync(work, mx_gpu_stream(c));
    if (status != MX_KERNEL_DONE || error == cudaSuccess) return status;
    return mx_gpu_say(c, MX_KERNEL_FAILED, "free: %s", cudaGetErrorString(error));
}

template <class F>
int launch_stage(const mx_kernel_call *c, const Problem &p, bool of_a, uint16_t *out, int64_t pitch)
{
    const bool experts = p.grouping == Grouping::ROWS;
    Stage s;
    if (of_a)
        s = {p.a, p.a_pitch, p.a_scales, 0, 0, experts && p.a_scales.tiled, p.m, p.k, false, out, pitch};
    else
        s = {p.b,   p.b_pitch, p.b_scales, experts ? p.n : 0, p.b_scale_stride, false, (int)b_rows_of(p), p.k,
             false, out,       pitch};
    s.aligned = (uintptr_t)s.codes % 16 == 0 && s.codes_pitch % 16 == 0;
    int blocks = 0, status = prepare(c, (const void *)stage<F>, 0, &blocks);
    if (status != MX_KERNEL_DONE) return status;
    stage<F><<<blocks * 5, 256, 0, mx_gpu_stream(c)>>>(p, s);
    return mx_gpu_launched(c);
}
template int launch_stage<dequant::E4m3>(const mx_kernel_call *, const Problem &, bool, uint16_t *, int64_t);
template int launch_stage<dequant::E5m2>(const mx_kernel_call *, const Problem &, bool, uint16_t *, int64_t);

} // namespace gemm
