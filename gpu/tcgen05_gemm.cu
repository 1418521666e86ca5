/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05_gemm.cu - MXFP8 product on Blackwell (sm_100a) by tcgen05.mma kind::mxf8f6f4.block_scale.
 *
 * Compiled, never run: no Blackwell at hand. Its descriptors and layouts are tested on the CPU
 * (tcgen05_desc.h).
 *
 * Arithmetic claimed: one chain of instructions of 32 products in ascending K, scaled inside the unit.
 *
 * One block (PAIR = 1) makes 128 x 256 outputs; a cluster of two (PAIR = 2) makes 256 x 256, each block
 * holding its 128 rows of A, half of B's 256 rows, and all of B's scales, and the first block issuing for
 * both. Warp 0 copies, warp 1 has the multiplications done, warps 2 to 5 bring the outputs out. Copies of
 * both blocks complete on the first block's barriers; what has been multiplied is announced to both. */
#include "hopper.cuh"
#include "ops.h"
#include "tcgen05_desc.h"

#include "gemm_launch.h"

namespace
{

using namespace hopper;
using namespace gemm;

constexpr int ROWS = 128, COLS = 256, DEPTH = 128, THREADS = 192;
constexpr uint32_t TILE = 512; /* bytes of a tile of scales */
constexpr int D_COLUMN = 0, SCALE_COLUMN = 256, A_COLUMNS = 4, B_COLUMNS = 8, COLUMNS = 512;

/* Shared memory of a block, from a multiple of 1024. */
template <int PAIR> struct Buffers {
    static constexpr int stages = PAIR == 2 ? 6 : 4;
    static constexpr uint32_t a_bytes = ROWS * DEPTH, b_bytes = COLS / PAIR * DEPTH, scale_bytes = 3 * TILE,
                              stage = a_bytes + b_bytes + 2048, barriers = stages * stage,
                              bytes = barriers + 16 * stages + 8 + 8,
                              copied = a_bytes + b_bytes + scale_bytes;
    uint32_t base;
    __device__ uint32_t a(uint32_t i) const { return base + i * stage; }
    __device__ uint32_t b(uint32_t i) const { return a(i) + a_bytes; }
    __device__ uint32_t a_scales(uint32_t i) const { return b(i) + b_bytes; }
    __device__ uint32_t b_scales(uint32_t i) const { return a_scales(i) + TILE; }
    __device__ uint32_t full(uint32_t i) const { return base + barriers + 8 * i; }
    __device__ uint32_t empty(uint32_t i) const { return full(stages + i); }
    __device__ uint32_t done() const { return full(2 * stages); }
    __device__ uint32_t allocation() const { return done() + 8; } /* word: where TMEM was given */
};

struct Maps {
    CUtensorMap a, b, a_scales, b_scales;
};

/* ---- instructions -----------------------------------------------------------------------------------------
 */

template <int PAIR> __device__ __forceinline__ void tmem_allocate(uint32_t to)
{
    if constexpr (PAIR == 1)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n"
                     "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(to),
                     "n"(COLUMNS)
                     : "memory");
    else
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"
                     "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::"r"(to),
                     "n"(COLUMNS)
                     : "memory");
}
template <int PAIR> __device__ __forceinline__ void tmem_free(uint32_t tmem)
{
    if constexpr (PAIR == 1)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tmem), "n"(COLUMNS));
    else
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(tmem), "n"(COLUMNS));
}
__device__ __forceinline__ void fence_before_sync()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ __forceinline__ void fence_after_sync()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/* A tile of scales to four columns. */
template <int PAIR> __device__ __forceinline__ void copy_scales(uint32_t tmem, uint32_t tile)
{
    const uint64_t from = mx_tcgen05_scale_tile(tile);
    if constexpr (PAIR == 1)
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(tmem), "l"(from) : "memory");
    else
        asm volatile("tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %1;" ::"r"(tmem), "l"(from) : "memory");
}

template <int PAIR>
__device__ __forceinline__ void multiply(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction,
                                         uint32_t a_scales, uint32_t b_scales, uint32_t accumulate)
{
#define MX_MMA(GROUP)                                                                                        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"                                                 \
                 "tcgen05.mma.cta_group::" GROUP                                                             \
                 ".kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], p;\n}\n" ::"r"(d),               \
                 "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales), "r"(accumulate)             \
                 : "memory")
    if constexpr (PAIR == 1)
        MX_MMA("1");
    else
        MX_MMA("2");
#undef MX_MMA
}

/* The barrier is arrived at, in both blocks of a pair, when all that this thread issued is done. */
template <int PAIR> __device__ __forceinline__ void commit(uint32_t barrier)
{
    if constexpr (PAIR == 1)
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
            : "memory");
    else
        asm volatile(
            "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], "
            "%1;" ::"r"(barrier),
            "h"((uint16_t)3)
            : "memory");
}

/* Like load_box(), completing on the first block's barrier at the same offset: bit 24 of a shared::cluster
 * address tells the blocks of a pair apart. */
template <int PAIR>
__device__ __forceinline__ void load(uint32_t to, const CUtensorMap *map, int x, int y, uint32_t barrier)
{
    if constexpr (PAIR == 1)
        load_box(to, map, x, y, barrier);
    else
        asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::"
                     "bytes [%0], [%1, "
                     "{%2, %3}], [%4];" ::"r"(to),
                     "l"(map), "r"(x), "r"(y), "r"(barrier & 0xfeffffffu)
                     : "memory");
}

/* 32 columns of the thread's lane. */
__device__ __forceinline__ void load_columns(float (&v)[32], uint32_t tmem)
{
    uint32_t *r = (uint32_t *)v;
#define MX_O4(i) "=r"(r[i]), "=r"(r[i + 1]), "=r"(r[i + 2]), "=r"(r[i + 3])
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];\n"
        "tcgen05.wait::ld.sync.aligned;"
        : MX_O4(0), MX_O4(4), MX_O4(8), MX_O4(12), MX_O4(16), MX_O4(20), MX_O4(24), MX_O4(28)
        : "r"(tmem)
        : "memory");
#undef MX_O4
}

/* ---- roles
 * -------------------------------------------------------------------------------------------------- */

template <int PAIR>
__device__ void copy(const Problem &p, const Maps &m, Buffers<PAIR> at, int row, int col, uint32_t rank)
{
    const int tiles = (int)p.a_scales.pitch, b_row = col + (int)rank * (COLS / PAIR);
    Ring<Buffers<PAIR>::stages> ring;
    for (int k = 0; k < p.k; k += DEPTH, ring.next()) {
        const uint32_t full = at.full(ring.slot);
        barrier_wait(at.empty(ring.slot), ring.phase ^ 1);
        if (rank == 0) barrier_expect(full, PAIR * Buffers<PAIR>::copied);
        load<PAIR>(at.a(ring.slot), &m.a, k, row, full);
        for (int half = 0; half < COLS / PAIR / 128; half++)
            load<PAIR>(at.b(ring.slot) + half * 128 * DEPTH, &m.b, k, b_row + 128 * half, full);
        load<PAIR>(at.a_scales(ring.slot), &m.a_scales, 0, row / 128 * tiles + k / DEPTH, full);
        for (int half = 0; half < COLS / 128; half++)
            load<PAIR>(at.b_scales(ring.slot) + half * TILE, &m.b_scales, 0,
                       (col / 128 + half) * tiles + k / DEPTH, full);
    }
}

/* Each stage's scales have columns of their own, so that they stay until its multiplications are done. */
template <int PAIR>
__device__ void issue(const Problem &p, Buffers<PAIR> at, uint32_t tmem, uint32_t instruction)
{
    Ring<Buffers<PAIR>::stages> ring;
    for (int k = 0; k < p.k; k += DEPTH, ring.next()) {
        barrier_wait(at.full(ring.slot), ring.phase);
        fence_after_sync();
        const uint32_t a_scales = tmem + SCALE_COLUMN + ring.slot * (A_COLUMNS + B_COLUMNS),
                       b_scales = a_scales + A_COLUMNS;
        copy_scales<PAIR>(a_scales, at.a_scales(ring.slot));
        for (int half = 0; half < COLS / 128; half++)
            copy_scales<PAIR>(b_scales + 4 * half, at.b_scales(ring.slot) + half * TILE);
        const uint64_t a = mx_tcgen05_codes(at.a(ring.slot)), b = mx_tcgen05_codes(at.b(ring.slot));
        for (int block = 0; block < 4 && k + 32 * block < p.k; block++)
            multiply<PAIR>(tmem + D_COLUMN, mx_tcgen05_along(a, 32 * block), mx_tcgen05_along(b, 32 * block),
                           mx_tcgen05_instruction_at(instruction, block), a_scales, b_scales, k + block > 0);
        commit<PAIR>(at.empty(ring.slot));
    }
    commit<PAIR>(at.done());
}

/* A warp reaches the quarter of the lanes that its number modulo 4 names; a lane is a row. */
__device__ void store(const Problem &p, uint32_t tmem, int row, int col)
{
    const int quarter = threadIdx.x / 32 % 4, r = row + 32 * quarter + threadIdx.x % 32;
    for (int c = 0; c < COLS; c += 32) {
        float v[32];
        load_columns(v, mx_tcgen05_at(tmem, 32 * quarter, D_COLUMN + c));
        if (r >= p.m) continue;
        for (int j = 0; j < 32 && col + c + j < p.n; j++) {
            const int64_t i = r * p.d_pitch + col + c + j;
            if (p.d_bf16)
                store_one((__nv_bfloat16 *)p.d + i, v[j]);
            else
                store_one((float *)p.d + i, v[j]);
        }
    }
}

template <int PAIR> __device__ void sync_all()
{
    if constexpr (PAIR == 2)
        cluster_sync();
    else
        __syncthreads();
}

template <int PAIR>
__global__ void __launch_bounds__(THREADS, 1)
    block_scaled(const __grid_constant__ Problem p, const __grid_constant__ Maps m, uint32_t instruction)
{
    extern __shared__ uint8_t memory[];
    const Buffers<PAIR> at = {(shared_address(memory) + 1023) & ~1023u};
    const uint32_t rank = PAIR == 2 ? cluster_rank() : 0;
    const int warp = threadIdx.x / 32, row = blockIdx.x * ROWS, col = blockIdx.y * COLS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < Buffers<PAIR>::stages; i++) {
            barrier_init(at.full(i), 1);
            barrier_init(at.empty(i), 1);
        }
        barrier_init(at.done(), 1);
        barrier_init_fence();
    }
    if (warp == 1) tmem_allocate<PAIR>(at.allocation());
    fence_before_sync();
    sync_all<PAIR>();
    fence_after_sync();
    const uint32_t tmem = load_word(at.allocation());
    if (warp == 0) {
        if (threadIdx.x == 0) copy<PAIR>(p, m, at, row, col, rank);
    } else if (warp == 1) {
        if (threadIdx.x == 32 && rank == 0) issue<PAIR>(p, at, tmem, instruction);
    } else {
        barrier_wait(at.done(), 0);
        fence_after_sync();
        store(p, tmem, row, col);
        fence_before_sync();
    }
    __syncwarp();
    sync_all<PAIR>();
    fence_after_sync();
    if (warp == 1) tmem_free<PAIR>(tmem);
}

/* ---- host
 * --------------------------------------------------------------------------------------------------- */

int launch(const mx_kernel_call *c, const void *kernel, int pair, size_t shared, Problem *p, Maps *m,
           uint32_t instruction)
{
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = pair, cluster.val.clusterDim.y = 1, cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((p->m + ROWS * pair - 1) / (ROWS * pair) * pair, (p->n + COLS - 1) / COLS);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = shared;
    config.stream = mx_gpu_stream(c);
    config.attrs = &cluster, config.numAttrs = 1;
    void *arguments[] = {p, m, &instruction};
    cudaError_t error = cudaLaunchKernelExC(&config, kernel, arguments);
    if (error != cudaSuccess) return mx_gpu_say(c, MX_KERNEL_FAILED, "launch: %s", cudaGetErrorString(error));
    return MX_KERNEL_DONE;
}

template <int PAIR> int run_pair(const mx_kernel_call *c)
{
    int device = 0, major = 0, blocks = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        major != 10)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "needs Blackwell (sm_100)");
    Problem p;
    Maps m;
    int status = problem_of(c, &p);
    if (status != MX_KERNEL_DONE) return status;
    if (!has_tensor_maps(p) || (uintptr_t)p.a_scales.data % 16 || (uintptr_t)p.b_scales.data % 16)
        return mx_gpu_say(c, MX_KERNEL_REFUSED,
                          "codes and scales must be aligned to 16 bytes, rows of codes too");
    const bool e5m2 = mx_gpu_same(mx_gpu_in(c, "a")->dtype, "e5m2");
    const int format = e5m2 ? MX_TCGEN05_E5M2 : MX_TCGEN05_E4M3;
    const void *kernel = (const void *)block_scaled<PAIR>;
    const size_t shared = Buffers<PAIR>::bytes + 1024;
    status = prepare(c, kernel, shared, &blocks);
    if (status == MX_KERNEL_DONE) status = tensor_map_codes(c, p, true, ROWS, &m.a);
    if (status == MX_KERNEL_DONE) status = tensor_map_codes(c, p, false, 128, &m.b);
    if (status == MX_KERNEL_DONE) status = tensor_map_scale_tiles(c, p.a_scales, p.m, &m.a_scales);
    if (status == MX_KERNEL_DONE) status = tensor_map_scale_tiles(c, p.b_scales, p.n, &m.b_scales);
    if (status != MX_KERNEL_DONE) return status;
    return launch(c, kernel, PAIR, shared, &p, &m, mx_tcgen05_instruction(format, format, PAIR * ROWS, COLS));
}

#define NOTE "compiled, never run: no Blackwell at hand"
#define OP(NAME, RECIPE, FORMAT, OUT, RUN)                                                                   \
    {                                                                                                        \
        "gemm-" NAME "-" FORMAT "-" OUT "-tiled", "gemm", RECIPE, FORMAT, OUT, NULL, "tile-128x4", NULL,     \
            NULL, "sm100-mxf8f6f4", "chain", NOTE, RUN                                                       \
    }
#define OUTPUTS(NAME, RUN)                                                                                   \
    OP(NAME, "mxfp8", "e4m3", "f32", RUN), OP(NAME, "mxfp8", "e4m3", "bf16", RUN),                           \
        OP(NAME, "mxfp8-e5m2", "e5m2", "f32", RUN), OP(NAME, "mxfp8-e5m2", "e5m2", "bf16", RUN)

const mx_kernel_op ops[] = {OUTPUTS("tcgen05", run_pair<1>), OUTPUTS("tcgen05-pair", run_pair<2>)};

} // namespace

MX_GPU_TABLE(tcgen05_gemm, ops)
