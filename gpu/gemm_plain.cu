/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_plain.cu - the products, slow and readable: second opinion on gemm_fused.cu, and its stand-in where
 * bulk copies can't go (unaligned bases and pitches, groups that begin inside a block).
 *
 * The same arithmetic: bf16 operands as dequant.cuh defines them, one chain of steps of 16 products in
 * ascending K. On Hopper mma.sync m16n8k16 and wgmma do the same sums. One warp makes 16 x 8 outputs, and
 * every element is fetched by itself. */
#include "gemm.cuh"
#include "gemm_launch.h"

namespace
{

using namespace gemm;

constexpr int ROWS = 16, COLS = 8;

/* The bf16 at column k of the group, in a row of codes and its row of scales. */
template <class F>
__device__ uint32_t operand(const uint8_t *codes, const Scales &s, int64_t scale_row, const Tile &t, int k)
{
    if (!codes || k >= t.depth) return 0;
    const int col = t.first_k + k;
    return dequant::element<F>(codes[col], s.data[scale_offset(s, scale_row, col / 32)]);
}

template <class F>
__device__ uint32_t operand_pair(const uint8_t *codes, const Scales &s, int64_t scale_row, const Tile &t,
                                 int k)
{
    return operand<F>(codes, s, scale_row, t, k) | operand<F>(codes, s, scale_row, t, k + 1) << 16;
}

__device__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* A warp makes the outputs of one tile. */
template <class F> __device__ void make_tile(const Problem &p, const Tile &t)
{
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const int r0 = t.row + g, r1 = r0 + 8, n = t.col + g;
    const uint8_t *a0 = r0 < t.rows ? p.a + (int64_t)(t.first_row + r0) * p.a_pitch : nullptr;
    const uint8_t *a1 = r1 < t.rows ? p.a + (int64_t)(t.first_row + r1) * p.a_pitch : nullptr;
    const uint8_t *b0 = n < p.n ? p.b + b_row(p, t, n) * p.b_pitch : nullptr;
    const Scales bs = b_scales(p, t);
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < t.depth; k += 16) {
        const int k0 = k + 2 * q, k1 = k0 + 8;
        uint32_t a[4] = {operand_pair<F>(a0, p.a_scales, t.scale_row + r0, t, k0),
                         operand_pair<F>(a1, p.a_scales, t.scale_row + r1, t, k0),
                         operand_pair<F>(a0, p.a_scales, t.scale_row + r0, t, k1),
                         operand_pair<F>(a1, p.a_scales, t.scale_row + r1, t, k1)};
        uint32_t b[2] = {operand_pair<F>(b0, bs, n, t, k0), operand_pair<F>(b0, bs, n, t, k1)};
        mma(d, a, b);
    }
    if (r0 < t.rows) store_row<1>(p, d_row(p, t, r0), t.col + 2 * q, d);
    if (r1 < t.rows) store_row<1>(p, d_row(p, t, r1), t.col + 2 * q, d + 2);
}

template <class F> __global__ void plain(const __grid_constant__ Problem p, bool rest)
{
    Walk<ROWS, COLS> walk(p);
    Tile t;
    const uint32_t warps = gridDim.x * (blockDim.x / 32);
    for (uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; walk.seek(i, t); i += warps)
        if (!rest || !is_fast(p, t)) make_tile<F>(p, t);
}

} // namespace

namespace gemm
{

template <class F> int launch_plain(const mx_kernel_call *c, const Problem &p, bool rest)
{
    int blocks = 0, status = prepare(c, (const void *)plain<F>, 0, &blocks);
    if (status != MX_KERNEL_DONE) return status;
    plain<F><<<blocks * 8, 256, 0, mx_gpu_stream(c)>>>(p, rest);
    return mx_gpu_launched(c);
}
template int launch_plain<dequant::E4m3>(const mx_kernel_call *, const Problem &, bool);
template int launch_plain<dequant::E5m2>(const mx_kernel_call *, const Problem &, bool);

} // namespace gemm
