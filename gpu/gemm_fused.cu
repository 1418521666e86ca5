/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_fused.cu - MXFP8 products on Hopper through bf16 wgmma: A dequantised on the way, B beforehand.
 *
 * Arithmetic: both operands become bf16 as dequant.cuh defines, exactly for all but extreme scales; each
 * output is one chain of wgmma steps of 16 products in ascending K, from zero; no split along K.
 *
 * B, of which each element is used by every row of A, is written out once as bf16 (gemm_stage.cu). A stays in
 * codes until the registers from which wgmma takes it, so that it moves at one byte an element. Turning B in
 * the kernel too was tried: stores of its bf16 to shared memory and the instructions to make them cost more
 * than the second copy saves, as each of its elements is turned again for every 128 or 256 rows of A.
 *
 * Blocks work in pairs on 256 x 256 outputs, 128 x 256 each; B comes once for both, each block fetching half
 * of it. Warpgroups 0 and 1 make 64 rows each; of warpgroup 2, one thread keeps codes of A and bf16 of B
 * coming, two warps the scales. */
#include "gemm.cuh"
#include "gemm_launch.h"
#include "gemm_store.cuh"
#include "hopper.cuh"

namespace
{

using namespace hopper;
using namespace gemm;

constexpr int ROWS = 128, COLS = 256, THREADS = 384;
constexpr int CODES = 2, CODES_DEPTH = 128; /* buffers of A */
constexpr int PARTS = 4, PART_DEPTH = 64;   /* buffers of B */
constexpr int SCALE_THREADS = 64;
constexpr uint32_t CODES_BYTES = ROWS * CODES_DEPTH, PART_BYTES = COLS * PART_DEPTH * 2,
                   SCALE_BYTES = 4 * ROWS;

typedef Walk<2 * ROWS, COLS> Pairs;

/* Shared memory, from a multiple of 1024. */
struct Buffers {
    uint32_t base;
    static constexpr uint32_t parts = CODES * CODES_BYTES, store = parts + PARTS * PART_BYTES,
                              scale = store + 8 * STORE_BYTES, barriers = scale + CODES * SCALE_BYTES,
                              bytes = barriers + 16 * (CODES + PARTS);
    __device__ uint32_t codes(uint32_t i) const { return base + i * CODES_BYTES; }
    __device__ uint32_t part(uint32_t i) const { return base + parts + i * PART_BYTES; }
    __device__ uint32_t scales(uint32_t i) const { return base + scale + i * SCALE_BYTES; }
    __device__ uint32_t codes_full(uint32_t i) const { return base + barriers + 8 * i; }
    __device__ uint32_t codes_empty(uint32_t i) const { return codes_full(CODES + i); }
    __device__ uint32_t part_full(uint32_t i) const { return codes_full(2 * CODES + i); }
    __device__ uint32_t part_empty(uint32_t i) const { return codes_full(2 * CODES + PARTS + i); }
};
constexpr size_t SHARED_BYTES = Buffers::bytes + 1024;

__device__ __forceinline__ int blocks_of(const Tile &t) { return (t.depth + 31) / 32; }

/* ---- warpgroup 2 ------------------------------------------------------------------------------------------
 */

__device__ void copy_operands(const Problem &p, const CUtensorMap *a, const CUtensorMap *b, Buffers at,
                              uint32_t rank)
{
    Pairs walk(p);
    Tile t;
    Ring<CODES> codes;
    Ring<PARTS> part;
    for (uint32_t i = blockIdx.x / 2; walk.seek(i, t); i += gridDim.x / 2) {
        if (!is_fast(p, t)) continue;
        const int row = t.first_row + t.row + rank * ROWS, col = (int)b_row(p, t, t.col) + rank * (COLS / 2);
        for (int k = 0; k < t.depth; k += PART_DEPTH, part.next()) {
            if (k % CODES_DEPTH == 0) {
                barrier_wait(at.codes_empty(codes.slot), codes.phase ^ 1);
                barrier_expect(at.codes_full(codes.slot), CODES_BYTES);
                load_box(at.codes(codes.slot), a, t.first_k + k, row, at.codes_full(codes.slot));
                codes.next();
            }
            barrier_wait(at.part_empty(part.slot), part.phase ^ 1);
            barrier_expect(at.part_full(part.slot), PART_BYTES);
            load_box_multicast(at.part(part.slot) + rank * (PART_BYTES / 2), b, t.first_k + k, col,
                               at.part_full(part.slot), 3);
        }
    }
}

/* The scales of row r, blocks [block, block + 4), those outside the matrix and past `end` being 1. */
__device__ __forceinline__ uint32_t scales_of(const Problem &p, const Tile &t, int r, int block, int end)
{
    uint32_t w = scales_of_one;
    for (int i = 0; i < 4 && block + i < end && r < t.rows; i++) {
        const uint32_t s = __ldg(p.a_scales.data + scale_offset(p.a_scales, t.scale_row + r, block + i));
        w = (w & ~(0xffu << 8 * i)) | s << 8 * i;
    }
    return w;
}

/* Each thread brings the scales of two rows: as words, a buffer ahead of where they are needed, where they
 * lie as words; else byte after byte. */
__device__ void copy_scales(const Problem &p, Buffers at, uint32_t rank)
{
    constexpr int EACH = ROWS / SCALE_THREADS;
    const int thread = threadIdx.x % 128 - 32, step = p.a_scales.tiled ? 512 : 4;
    Pairs walk(p);
    Tile t;
    Ring<CODES> ring;
    for (uint32_t i = blockIdx.x / 2; walk.seek(i, t); i += gridDim.x / 2) {
        if (!is_fast(p, t)) continue;
        int block = t.first_k / 32;
        const int end = block + blocks_of(t), row = t.row + rank * ROWS + thread;
        const bool words = p.a_scales.words && block % 4 == 0;
        const uint8_t *from[EACH];
        uint32_t ahead[EACH];
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int r = row + SCALE_THREADS * j;
            from[j] =
                r < t.rows ? p.a_scales.data + scale_offset(p.a_scales, t.scale_row + r, block) : nullptr;
            ahead[j] =
                words && block + 4 <= end && from[j] ? __ldg((const uint32_t *)from[j]) : scales_of_one;
        }
        for (; block < end; block += 4, ring.next()) {
            barrier_wait(at.codes_empty(ring.slot), ring.phase ^ 1);
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                const int r = thread + SCALE_THREADS * j;
                const bool fast = words && block + 4 <= end;
                store_shared(at.scales(ring.slot) + 4 * r,
                             fast ? ahead[j] : scales_of(p, t, row + SCALE_THREADS * j, block, end));
                if (from[j]) from[j] += step;
                if (words && from[j] && block + 8 <= end) ahead[j] = __ldg((const uint32_t *)from[j]);
            }
            warp_arrive(at.codes_full(ring.slot));
        }
    }
}

/* ---- warpgroups 0 and 1
 * ------------------------------------------------------------------------------------ */

/* A thread's part of a K-block of 32: rows g and g + 8 of its warp's, two steps. */
template <class F> struct Operand {
    uint32_t x[4], f[2][4]; /* codes: step 0 rows g, g + 8, step 1; bf16 as wgmma takes them */

    __device__ __forceinline__ void convert(const uint32_t (&scales)[2], int block, bool large)
    {
        uint32_t carries = 0;
        uint2 r[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            carries |= dequant::special_carries<F>(x[i]);
            r[i] = dequant::word_fast<F>(x[i], dequant::scale_pair<F>(scales[i % 2], block));
        }
        if (__any_sync(0xffffffffu, large || dequant::any_special(carries))) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                r[i] = dequant::word_exact<F>(x[i], scales[i % 2] >> 8 * block & 0xff);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            f[i / 2][i % 2] = r[i].x, f[i / 2][i % 2 + 2] = r[i].y;
    }
};

/* What a warpgroup carries from tile to tile, and where its rows are. */
struct Place {
    Buffers at;
    uint32_t row, chunk, swizzle, scale_row; /* ldmatrix: byte of the lane's row, which of two chunks */
    Ring<CODES> codes;
    Ring<PARTS> part;

    __device__ void take_codes(uint32_t (&x)[4], int block) const
    {
        load_matrices(x, at.codes(codes.slot) + row + (((2 * block + chunk) ^ swizzle) << 4));
    }
    template <class F> __device__ bool take_scales(uint32_t (&w)[2]) const
    {
        w[0] = load_word(at.scales(codes.slot) + scale_row);
        w[1] = load_word(at.scales(codes.slot) + scale_row + 32);
        return dequant::scales_are_large<F>(w[0]) || dequant::scales_are_large<F>(w[1]);
    }
    __device__ void wait_codes() const { barrier_wait(at.codes_full(codes.slot), codes.phase); }
    __device__ void release_part_before() const
    {
        warp_arrive_both(at.part_empty((part.slot + PARTS - 1) % PARTS));
    }
};

/* The sums of one tile. Block i is multiplied while block i + 1 is converted, and meanwhile() done while the
 * last ones are multiplied. */
template <class F, class Meanwhile>
__device__ __forceinline__ void sum_tile(float (&d)[128], int blocks, Place &place, Meanwhile meanwhile)
{
    Operand<F> operand[2];
    uint32_t scales[2];
    place.wait_codes();
    bool large = place.template take_scales<F>(scales);
    place.take_codes(operand[0].x, 0);
    operand[0].convert(scales, 0, large);
#pragma unroll 1
    for (int first = 0; first < blocks; first += 4) {
        uint64_t b = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int block = first + i;
            if (block >= blocks) break;
            Operand<F> &now = operand[i % 2], &then = operand[(i + 1) % 2];
            const bool more = block + 1 < blocks;
            if (i % 2 == 0) {
                barrier_wait(place.at.part_full(place.part.slot), place.part.phase);
                b = descriptor_128(place.at.part(place.part.slot));
            }
            if (i < 3 && more) place.take_codes(then.x, i + 1);
            wgmma_fence();
            wgmma_bf16_wide(d, now.f[0], b + i % 2 * 4, block > 0);
            wgmma_bf16_wide(d, now.f[1], b + i % 2 * 4 + 2, 1);
            wgmma_commit();
            if (i == 3 || !more) {
                warp_arrive(place.at.codes_empty(place.codes.slot));
                place.codes.next();
            }
            if (i == 3 && more) {
                place.wait_codes();
                place.take_codes(then.x, 0);
                large = place.template take_scales<F>(scales);
            }
            wgmma_wait<1>();
            if (i % 2 == 0 && block > 0) place.release_part_before();
            if (more) then.convert(scales, (i + 1) % 4, large);
            if (i % 2 == 1 || !more) place.part.next();
        }
    }
    meanwhile();
    wgmma_wait<0>();
    place.release_part_before();
#pragma unroll
    for (int j = 0; j < 128; j++)
        asm volatile("" : "+f"(d[j])::"memory"); /* read after the wait, not before */
}

template <class F>
__device__ void multiply(const Problem &p, const CUtensorMap *d_map, Buffers at, uint32_t rank)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Place place = {at,
                   (uint32_t)(warp * 16 + lane % 16) * 128,
                   (uint32_t)lane / 16,
                   (uint32_t)lane % 8,
                   (uint32_t)(warp * 16 + lane / 4) * 4,
                   {},
                   {}};
    const Store store = {d_map, at.base + at.store + warp * STORE_BYTES};
    Pairs walk(p);
    Tile t;
    uint32_t i = blockIdx.x / 2;
    bool more = walk.seek(i, t);
    while (more) {
        const Tile now = t;
        const int row = now.row + rank * ROWS + warp * 16 + lane / 4, col = now.col + lane % 4 * 2;
        const auto seek_next = [&] { more = walk.seek(i += gridDim.x / 2, t); };
        if (!is_fast(p, now) || now.depth == 0) {
            const float zeros[128] = {};
            if (now.depth == 0) store(p, now, zeros, row, col);
            seek_next();
            continue;
        }
        float d[128];
        sum_tile<F>(d, blocks_of(now), place, seek_next);
        store(p, now, d, row, col);
    }
    store_wait();
}

template <class F>
__global__ void __launch_bounds__(THREADS, 1) __cluster_dims__(2, 1, 1)
    fused(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap a,
          const __grid_constant__ CUtensorMap b, const __grid_constant__ CUtensorMap d)
{
    extern __shared__ uint8_t memory[];
    const Buffers at = {(shared_address(memory) + 1023) & ~1023u};
    const uint32_t rank = cluster_rank();
    if (threadIdx.x == 0) {
        for (int i = 0; i < CODES; i++) {
            barrier_init(at.codes_full(i), 1 + SCALE_THREADS / 32);
            barrier_init(at.codes_empty(i), 8); /* warps of products */
        }
        for (int i = 0; i < PARTS; i++) {
            barrier_init(at.part_full(i), 1);
            barrier_init(at.part_empty(i), 16); /* those of both blocks */
        }
        barrier_init_fence();
        prefetch_map(&a);
        prefetch_map(&b);
    }
    cluster_sync();
    if (threadIdx.x < 256) {
        registers_more<208>();
        multiply<F>(p, &d, at, rank);
    } else {
        registers_fewer<88>();
        if (threadIdx.x == 256) copy_operands(p, &a, &b, at, rank);
        if (threadIdx.x >= 288 && threadIdx.x < 288 + SCALE_THREADS) copy_scales(p, at, rank);
        __syncwarp();
    }
    cluster_sync(); /* the other block may still write here */
}

/* With B's bf16 at `work`. */
template <class F> int launch_on(const mx_kernel_call *c, const Problem &p, uint16_t *work, int64_t pitch)
{
    CUtensorMap a, b, d;
    int blocks = 0, status = prepare(c, (const void *)fused<F>, SHARED_BYTES, &blocks);
    if (status == MX_KERNEL_DONE) status = tensor_map_codes(c, p, true, ROWS, &a);
    if (status == MX_KERNEL_DONE) status = tensor_map_bf16(c, work, b_rows_of(p), pitch, COLS / 2, &b);
    if (status == MX_KERNEL_DONE) status = tensor_map_outputs(c, p, STORE_ROWS, &d);
    if (status == MX_KERNEL_DONE) status = launch_stage<F>(c, p, false, work, pitch);
    if (status != MX_KERNEL_DONE) return status;
    fused<F><<<blocks / 2 * 2, THREADS, SHARED_BYTES, mx_gpu_stream(c)>>>(p, a, b, d);
    return mx_gpu_launched(c);
}

} // namespace

namespace gemm
{

template <class F> int launch_fused(const mx_kernel_call *c, const Problem &p)
{
    if (!has_tensor_maps(p)) return launch_plain<F>(c, p, false);
    const int64_t pitch = staged_pitch(p);
    uint16_t *work = NULL;
    int status = borrow(c, b_rows_of(p) * pitch, &work);
    if (status != MX_KERNEL_DONE) return status;
    status = give_back(c, work, launch_on<F>(c, p, work, pitch));
    if (status == MX_KERNEL_DONE && p.grouping == Grouping::DEPTH) status = launch_plain<F>(c, p, true);
    return status;
}
template int launch_fused<dequant::E4m3>(const mx_kernel_call *, const Problem &);
template int launch_fused<dequant::E5m2>(const mx_kernel_call *, const Problem &);

} // namespace gemm
