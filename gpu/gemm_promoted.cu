/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_promoted.cu - MXFP8 products on Hopper through fp8 wgmma, each K-block promoted to fp32.
 *
 * Arithmetic, which is not that of the bf16 products: for each block of 32 in ascending K one wgmma of 32 fp8
 * products from zero, whose result keeps 14 significant bits; then acc = fma(that, 2^(sa - 127) * 2^(sb -
 * 127), acc) in fp32, from acc = 0, the scale product rounded to fp32 first. A scale of 255 is NaN.
 *
 * Bound by the fp32 units: every block costs each output a multiplication and an fma. Kept as the variant
 * that is expected to differ.
 *
 * A block makes 128 x 128 outputs. Warpgroups 0 and 1 make 64 rows each; of warpgroup 2, one thread keeps
 * codes coming, two warps the scales, as fp32. */
#include "gemm.cuh"
#include "gemm_launch.h"
#include "hopper.cuh"

namespace
{

using namespace hopper;
using namespace gemm;

constexpr int SIDE = 128, DEPTH = 128, STAGES = 4, THREADS = 384, SCALE_THREADS = 64;
constexpr uint32_t CODE_BYTES = SIDE * DEPTH, FACTOR_BYTES = SIDE * 4 * sizeof(float);

struct Buffers {
    uint32_t base;
    static constexpr uint32_t stage = 2 * (CODE_BYTES + FACTOR_BYTES), barriers = STAGES * stage,
                              bytes = barriers + 24 * STAGES;
    __device__ uint32_t a(uint32_t i) const { return base + i * stage; }
    __device__ uint32_t b(uint32_t i) const { return a(i) + CODE_BYTES; }
    __device__ uint32_t a_factors(uint32_t i) const
    {
        return a(i) + 2 * CODE_BYTES;
    } /* [4 blocks][128 rows] */
    __device__ uint32_t b_factors(uint32_t i) const { return a_factors(i) + FACTOR_BYTES; }
    __device__ uint32_t full(uint32_t i) const { return base + barriers + 8 * i; }
    __device__ uint32_t scaled(uint32_t i) const { return full(STAGES + i); }
    __device__ uint32_t empty(uint32_t i) const { return full(2 * STAGES + i); }
};
constexpr size_t SHARED_BYTES = Buffers::bytes + 1024;

typedef Walk<SIDE, SIDE> Tiles;

__device__ __forceinline__ int blocks_of(const Tile &t) { return (t.depth + 31) / 32; }

__device__ void copy_codes(const Problem &p, const CUtensorMap *a, const CUtensorMap *b, Buffers at)
{
    Tiles walk(p);
    Tile t;
    Ring<STAGES> ring;
    for (uint32_t i = blockIdx.x; walk.seek(i, t); i += gridDim.x) {
        if (!is_fast(p, t)) continue;
        for (int k = 0; k < t.depth; k += DEPTH, ring.next()) {
            barrier_wait(at.empty(ring.slot), ring.phase ^ 1);
            barrier_expect(at.full(ring.slot), 2 * CODE_BYTES);
            load_box(at.a(ring.slot), a, t.first_k + k, t.first_row + t.row, at.full(ring.slot));
            load_box(at.b(ring.slot), b, t.first_k + k, (int)b_row(p, t, t.col), at.full(ring.slot));
        }
    }
}

/* The factors of four blocks of a row, those outside the matrix and past `end` being 1. */
__device__ __forceinline__ void copy_factors(uint32_t to, const Scales &s, int64_t row, bool inside,
                                             int block, int end)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const bool there = inside && block + i < end;
        const uint32_t w = there ? __ldg(s.data + scale_offset(s, row, block + i)) : 127;
        store_shared(to + i * SIDE * 4, __float_as_uint(dequant::scale_value(w)));
    }
}

__device__ void copy_scales(const Problem &p, Buffers at)
{
    const int thread = threadIdx.x % 128 - 32;
    Tiles walk(p);
    Tile t;
    Ring<STAGES> ring;
    for (uint32_t i = blockIdx.x; walk.seek(i, t); i += gridDim.x) {
        if (!is_fast(p, t)) continue;
        const int first = t.first_k / 32, end = first + blocks_of(t);
        const Scales of_b = b_scales(p, t);
        for (int block = first; block < end; block += 4, ring.next()) {
            barrier_wait(at.empty(ring.slot), ring.phase ^ 1);
#pragma unroll
            for (int r = thread; r < SIDE; r += SCALE_THREADS) {
                copy_factors(at.a_factors(ring.slot) + 4 * r, p.a_scales, t.scale_row + t.row + r,
                             t.row + r < t.rows, block, end);
                copy_factors(at.b_factors(ring.slot) + 4 * r, of_b, t.col + r, t.col + r < p.n, block, end);
            }
            warp_arrive(at.scaled(ring.slot));
        }
    }
}

template <class F> __device__ __forceinline__ void multiply_block(float (&part)[64], uint64_t a, uint64_t b)
{
    wgmma_fence();
    if constexpr (F::mantissa == 3)
        wgmma_e4m3(part, a, b);
    else
        wgmma_e5m2(part, a, b);
    wgmma_commit();
    wgmma_wait<0>(); /* the other warpgroup's wgmma run meanwhile */
}

/* acc += part * (scale of the row * scale of the column). */
__device__ __forceinline__ void promote(float (&acc)[64], float (&part)[64], uint32_t a_factors,
                                        uint32_t b_factors)
{
    const float s0 = __uint_as_float(load_word(a_factors)), s1 = __uint_as_float(load_word(a_factors + 32));
#pragma unroll
    for (int j = 0; j < 64; j++)
        asm volatile("" : "+f"(part[j])::"memory"); /* read after the wait, not before */
#pragma unroll
    for (int j = 0; j < 16; j++) {
        const float2 s = load_pair(b_factors + 32 * j);
        acc[4 * j] = __fmaf_rn(part[4 * j], __fmul_rn(s0, s.x), acc[4 * j]);
        acc[4 * j + 1] = __fmaf_rn(part[4 * j + 1], __fmul_rn(s0, s.y), acc[4 * j + 1]);
        acc[4 * j + 2] = __fmaf_rn(part[4 * j + 2], __fmul_rn(s1, s.x), acc[4 * j + 2]);
        acc[4 * j + 3] = __fmaf_rn(part[4 * j + 3], __fmul_rn(s1, s.y), acc[4 * j + 3]);
    }
}

template <class F> __device__ void multiply(const Problem &p, Buffers at)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = warp * 16 + lane / 4;
    Tiles walk(p);
    Tile t;
    Ring<STAGES> ring;
    for (uint32_t i = blockIdx.x; walk.seek(i, t); i += gridDim.x) {
        if (!is_fast(p, t)) continue;
        float acc[64] = {}, part[64];
        const int blocks = __shfl_sync(0xffffffffu, blocks_of(t), 0);
#pragma unroll 1
        for (int begun = 0; begun < blocks; begun += 4, ring.next()) {
            const int left = blocks - begun;
            barrier_wait(at.full(ring.slot), ring.phase);
            barrier_wait(at.scaled(ring.slot), ring.phase);
            const uint64_t a = descriptor_128(at.a(ring.slot) + warp / 4 * (CODE_BYTES / 2)),
                           b = descriptor_128(at.b(ring.slot));
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (k >= left) break; /* blocks past the end of the group are its neighbour's */
                multiply_block<F>(part, a + 2 * k, b + 2 * k);
                promote(acc, part, at.a_factors(ring.slot) + k * SIDE * 4 + first * 4,
                        at.b_factors(ring.slot) + k * SIDE * 4 + lane % 4 * 8);
            }
            warp_arrive(at.empty(ring.slot));
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int r = t.row + first + 8 * h;
            if (r < t.rows) store_row<16>(p, d_row(p, t, r), t.col + lane % 4 * 2, acc + 2 * h);
        }
    }
}

template <class F>
__global__ void __launch_bounds__(THREADS, 1)
    promoted(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap a,
             const __grid_constant__ CUtensorMap b)
{
    extern __shared__ uint8_t memory[];
    const Buffers at = {(shared_address(memory) + 1023) & ~1023u};
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(at.full(i), 1);
            barrier_init(at.scaled(i), SCALE_THREADS / 32);
            barrier_init(at.empty(i), 8); /* warps of products */
        }
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x < 256) {
        registers_more<208>();
        multiply<F>(p, at);
    } else {
        registers_fewer<88>();
        if (threadIdx.x == 256) copy_codes(p, &a, &b, at);
        if (threadIdx.x >= 288 && threadIdx.x < 288 + SCALE_THREADS) copy_scales(p, at);
    }
}

} // namespace

namespace gemm
{

template <class F> int launch_promoted(const mx_kernel_call *c, const Problem &p)
{
    if (!has_tensor_maps(p)) return launch_promoted_plain<F>(c, p, false);
    CUtensorMap a, b;
    int blocks = 0, status = prepare(c, (const void *)promoted<F>, SHARED_BYTES, &blocks);
    if (status == MX_KERNEL_DONE) status = tensor_map_codes(c, p, true, SIDE, &a);
    if (status == MX_KERNEL_DONE) status = tensor_map_codes(c, p, false, SIDE, &b);
    if (status != MX_KERNEL_DONE) return status;
    promoted<F><<<blocks, THREADS, SHARED_BYTES, mx_gpu_stream(c)>>>(p, a, b);
    status = mx_gpu_launched(c);
    if (status == MX_KERNEL_DONE && p.grouping == Grouping::DEPTH)
        status = launch_promoted_plain<F>(c, p, true);
    return status;
}
template int launch_promoted<dequant::E4m3>(const mx_kernel_call *, const Problem &);
template int launch_promoted<dequant::E5m2>(const mx_kernel_call *, const Problem &);

} // namespace gemm
