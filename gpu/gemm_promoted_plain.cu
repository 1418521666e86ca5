/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_promoted_plain.cu - the products of gemm_promoted.cu, slow and readable: second opinion, and stand-in
 * where bulk copies can't go. A warpgroup makes 64 x 8 outputs, and every element is fetched by itself.
 *
 * Where a group begins inside a block of 32 columns, the block's part in the group is a wgmma of its own. */
#include "gemm.cuh"
#include "gemm_launch.h"
#include "hopper.cuh"

namespace
{

using namespace hopper;
using namespace gemm;

constexpr int ROWS = 64, COLS = 8, BLOCK = 32;

/* Operands of one wgmma, K-major without swizzle: 8 rows x 16 bytes lie together. */
__device__ __forceinline__ int place(int row, int k)
{
    return (row / 8 * 2 + k / 16) * 128 + row % 8 * 16 + k % 16;
}

/* 128 bytes from one 16-byte column to the next, 256 from 8 rows to the next. */
__device__ __forceinline__ uint64_t descriptor(const uint8_t *operand)
{
    return (uint64_t)(shared_address(operand) >> 4 & 0x3fff) | (uint64_t)(128 >> 4) << 16 |
           (uint64_t)(256 >> 4) << 32;
}

/* Columns [k, k + count) of `rows` rows of codes, zeros elsewhere. */
__device__ void fill(uint8_t *to, int rows, const uint8_t *codes, int64_t pitch, int inside, int64_t k,
                     int count)
{
    for (int i = threadIdx.x; i < rows * BLOCK; i += 128) {
        const int r = i / BLOCK, c = i % BLOCK;
        to[place(r, c)] = r < inside && c < count ? codes[r * pitch + k + c] : 0;
    }
}

template <class F> __device__ __forceinline__ void wgmma(float (&d)[4], uint64_t a, uint64_t b)
{
    wgmma_fence();
#define MX_WGMMA(TYPES)                                                                                      \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k32.f32." TYPES  \
                 " {%0, %1, %2, %3}, %4, %5, p, 1, 1;\n}\n"                                                  \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                            \
                 : "l"(a), "l"(b))
    if constexpr (F::mantissa == 3)
        MX_WGMMA("e4m3.e4m3");
    else
        MX_WGMMA("e5m2.e5m2");
#undef MX_WGMMA
    wgmma_commit();
    wgmma_wait<0>();
    asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
}

__device__ __forceinline__ float factor(const Scales &s, int64_t row, int inside, int block)
{
    return inside > 0 ? dequant::scale_value(s.data[scale_offset(s, row, block)]) : 1.0f;
}

template <class F> __global__ void promoted_plain(const __grid_constant__ Problem p, bool rest)
{
    __shared__ __align__(128) uint8_t a[ROWS * BLOCK], b[COLS * BLOCK];
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, col = lane % 4 * 2;
    Walk<ROWS, COLS> walk(p);
    Tile t;
    for (uint32_t i = blockIdx.x; walk.seek(i, t); i += gridDim.x) {
        if (rest && is_fast(p, t)) continue;
        const uint8_t *a_codes = p.a + (int64_t)(t.first_row + t.row) * p.a_pitch;
        const uint8_t *b_codes = p.b + b_row(p, t, t.col) * p.b_pitch;
        const int a_rows = t.rows - t.row, b_rows = p.n - t.col;
        const Scales of_b = b_scales(p, t);
        float acc[4] = {0, 0, 0, 0};
        int64_t k = t.first_k;
        while (k < (int64_t)t.first_k + t.depth) {
            const int block = (int)(k / BLOCK), room = (int)((block + 1) * (int64_t)BLOCK - k);
            const int left = (int)(t.first_k + (int64_t)t.depth - k), count = left < room ? left : room;
            __syncthreads();
            fill(a, ROWS, a_codes, p.a_pitch, a_rows, k, count);
            fill(b, COLS, b_codes, p.b_pitch, b_rows, k, count);
            fence_async();
            __syncthreads();
            float part[4];
            wgmma<F>(part, descriptor(a), descriptor(b));
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int r = row + j / 2 * 8, c = col + j % 2;
                const float sa = factor(p.a_scales, t.scale_row + t.row + r, a_rows - r, block);
                acc[j] =
                    __fmaf_rn(part[j], __fmul_rn(sa, factor(of_b, t.col + c, b_rows - c, block)), acc[j]);
            }
            k += count;
        }
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (row + 8 * h < a_rows)
                store_row<1>(p, d_row(p, t, t.row + row + 8 * h), t.col + col, acc + 2 * h);
    }
}

} // namespace

namespace gemm
{

template <class F> int launch_promoted_plain(const mx_kernel_call *c, const Problem &p, bool rest)
{
    int blocks = 0, status = prepare(c, (const void *)promoted_plain<F>, 0, &blocks);
    if (status != MX_KERNEL_DONE) return status;
    promoted_plain<F><<<blocks * 8, 128, 0, mx_gpu_stream(c)>>>(p, rest);
    return mx_gpu_launched(c);
}
template int launch_promoted_plain<dequant::E4m3>(const mx_kernel_call *, const Problem &, bool);
template int launch_promoted_plain<dequant::E5m2>(const mx_kernel_call *, const Problem &, bool);

} // namespace gemm
