/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_staged.cu - MXFP8 products on Hopper in two stages: both operands are written out as bf16, then
 * multiplied.
 *
 * The same bits as gemm_fused.cu and gemm_plain.cu: bf16 operands as dequant.cuh defines them, one chain of
 * wgmma steps of 16 products in ascending K, no split along K. Needs 2 bytes of device memory for each code,
 * taken from the stream's pool and given back on the stream. Any alignment of the codes.
 *
 * Inside a group of 16 columns the bf16 copies hold the even elements first, then the odd ones: the order in
 * a step is free, and it is how two codes unpack from one word.
 *
 * The product: blocks work in pairs on 256 x 256 outputs, 128 x 256 each; B comes once for both, each block
 * fetching half of it. Warpgroups 0 and 1 multiply 64 rows each, one thread of warpgroup 2 keeps copies
 * coming. */
#include "gemm.cuh"
#include "gemm_launch.h"
#include "gemm_store.cuh"
#include "hopper.cuh"

namespace
{

using namespace hopper;
using namespace gemm;

/* ---- the product
 * -------------------------------------------------------------------------------------------- */

constexpr int ROWS = 128, COLS = 256, DEPTH = 64, STAGES = 4, THREADS = 384;
constexpr uint32_t A_BYTES = ROWS * DEPTH * 2, B_BYTES = COLS * DEPTH * 2, HALF_B = B_BYTES / 2;
constexpr uint32_t STORES = STAGES * (A_BYTES + B_BYTES), BARRIERS = STORES + 8 * STORE_BYTES,
                   SHARED_BYTES = BARRIERS + 16 * STAGES + 1024;

typedef Walk<2 * ROWS, COLS, 8> Pairs;

struct Buffers {
    uint32_t base;
    __device__ uint32_t a(uint32_t i) const { return base + i * (A_BYTES + B_BYTES); }
    __device__ uint32_t b(uint32_t i) const { return a(i) + A_BYTES; }
    __device__ uint32_t full(uint32_t i) const { return base + BARRIERS + 8 * i; }
    __device__ uint32_t empty(uint32_t i) const { return base + BARRIERS + 8 * (STAGES + i); }
};

__device__ void copy_operands(const Problem &p, const CUtensorMap *a, const CUtensorMap *b, Buffers at,
                              uint32_t rank)
{
    Pairs walk(p);
    Tile t;
    Ring<STAGES> ring;
    for (uint32_t i = blockIdx.x / 2; walk.seek(i, t); i += gridDim.x / 2) {
        if (!is_fast(p, t)) continue;
        const int a_row = t.first_row + t.row + rank * ROWS,
                  half_row = (int)b_row(p, t, t.col) + rank * (COLS / 2);
        for (int k = 0; k < t.depth; k += DEPTH, ring.next()) {
            const uint32_t full = at.full(ring.slot);
            barrier_wait(at.empty(ring.slot), ring.phase ^ 1);
            barrier_expect(full, A_BYTES + B_BYTES);
            load_box(at.a(ring.slot), a, t.first_k + k, a_row, full);
            load_box_multicast(at.b(ring.slot) + rank * HALF_B, b, t.first_k + k, half_row, full, 3);
        }
    }
}

__device__ void multiply(const Problem &p, const CUtensorMap *d_map, Buffers at, uint32_t rank)
{
    const int warp = threadIdx.x / 32, first = rank * ROWS + warp * 16 + threadIdx.x % 32 / 4;
    const uint32_t a_at = warp / 4 * (A_BYTES / 2);
    const Store store = {d_map, at.base + STORES + warp * STORE_BYTES};
    Pairs walk(p);
    Tile t;
    Ring<STAGES> ring;
    uint32_t i = blockIdx.x / 2;
    bool more = walk.seek(i, t);
    while (more) {
        const Tile now = t;
        const int row = now.row + first, col = now.col + threadIdx.x % 4 * 2,
                  steps = __shfl_sync(0xffffffffu, (now.depth + 31) / 32 * 2, 0);
        const auto seek_next = [&] { more = walk.seek(i += gridDim.x / 2, t); };
        if (!is_fast(p, now) || steps == 0) {
            const float zeros[128] = {};
            if (steps == 0) store(p, now, zeros, row, col);
            seek_next();
            continue;
        }
        float d[128];
#pragma unroll 1
        for (int k = 0; k + 4 <= steps; k += 4, ring.next()) {
            barrier_wait(at.full(ring.slot), ring.phase);
            const uint64_t a = descriptor_128(at.a(ring.slot) + a_at), b = descriptor_128(at.b(ring.slot));
            wgmma_fence();
            wgmma_bf16_wide(d, a, b, k > 0);
            wgmma_bf16_wide(d, a + 2, b + 2, 1);
            wgmma_bf16_wide(d, a + 4, b + 4, 1);
            wgmma_bf16_wide(d, a + 6, b + 6, 1);
            wgmma_commit();
            wgmma_wait<1>();
            if (k > 0) warp_arrive_both(at.empty((ring.slot + STAGES - 1) % STAGES));
        }
        if (steps % 4 != 0) {
            barrier_wait(at.full(ring.slot), ring.phase);
            const uint64_t a = descriptor_128(at.a(ring.slot) + a_at), b = descriptor_128(at.b(ring.slot));
            wgmma_fence();
            wgmma_bf16_wide(d, a, b, steps > 2);
            wgmma_bf16_wide(d, a + 2, b + 2, 1);
            wgmma_commit();
            wgmma_wait<1>();
            if (steps > 2) warp_arrive_both(at.empty((ring.slot + STAGES - 1) % STAGES));
            ring.next();
        }
        seek_next();
        wgmma_wait<0>();
        warp_arrive_both(at.empty((ring.slot + STAGES - 1) % STAGES));
#pragma unroll
        for (int j = 0; j < 128; j++)
            asm volatile("" : "+f"(d[j])::"memory"); /* read after the wait, not before */
        store(p, now, d, row, col);
    }
    store_wait<0>();
}

__global__ void __launch_bounds__(THREADS, 1) __cluster_dims__(2, 1, 1)
    product(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap a,
            const __grid_constant__ CUtensorMap b, const __grid_constant__ CUtensorMap d)
{
    extern __shared__ uint8_t memory[];
    const Buffers at = {(shared_address(memory) + 1023) & ~1023u};
    const uint32_t rank = cluster_rank();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(at.full(i), 1);
            barrier_init(at.empty(i), 16); /* warps of products, of both blocks */
        }
        barrier_init_fence();
        prefetch_map(&a);
        prefetch_map(&b);
    }
    cluster_sync();
    if (threadIdx.x < 256) {
        registers_more<232>();
        multiply(p, &d, at, rank);
    } else {
        registers_fewer<40>();
        if (threadIdx.x == 256) copy_operands(p, &a, &b, at, rank);
        __syncwarp();
    }
    cluster_sync(); /* the other block may still write here */
}

/* With both operands' bf16 at `work`. */
template <class F>
int launch_on(const mx_kernel_call *c, const Problem &p, uint16_t *work, int64_t b_rows, int64_t pitch)
{
    CUtensorMap a, b, d;
    uint16_t *b_work = work + p.m * pitch;
    int blocks = 0, status = prepare(c, (const void *)product, SHARED_BYTES, &blocks);
    if (status == MX_KERNEL_DONE) status = tensor_map_bf16(c, work, p.m, pitch, ROWS, &a);
    if (status == MX_KERNEL_DONE) status = tensor_map_bf16(c, b_work, b_rows, pitch, COLS / 2, &b);
    if (status == MX_KERNEL_DONE) status = tensor_map_outputs(c, p, STORE_ROWS, &d);
    if (status == MX_KERNEL_DONE) status = launch_stage<F>(c, p, true, work, pitch);
    if (status == MX_KERNEL_DONE) status = launch_stage<F>(c, p, false, b_work, pitch);
    if (status != MX_KERNEL_DONE) return status;
    product<<<blocks / 2 * 2, THREADS, SHARED_BYTES, mx_gpu_stream(c)>>>(p, a, b, d);
    return mx_gpu_launched(c);
}

} // namespace

namespace gemm
{

template <class F> int launch_staged(const mx_kernel_call *c, const Problem &p)
{
    const int64_t b_rows = b_rows_of(p), pitch = staged_pitch(p);
    if (p.m == 0 || p.n == 0 || p.k == 0 || b_rows > INT32_MAX) return launch_plain<F>(c, p, false);
    uint16_t *work = NULL;
    int status = borrow(c, (p.m + b_rows) * pitch, &work);
    if (status != MX_KERNEL_DONE) return status;
    status = give_back(c, work, launch_on<F>(c, p, work, b_rows, pitch));
    if (status == MX_KERNEL_DONE && p.grouping == Grouping::DEPTH) status = launch_plain<F>(c, p, true);
    return status;
}
template int launch_staged<dequant::E4m3>(const mx_kernel_call *, const Problem &);
template int launch_staged<dequant::E5m2>(const mx_kernel_call *, const Problem &);

} // namespace gemm
