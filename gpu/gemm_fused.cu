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
 * of it. Warpgroups 0 and 1 make 64 rows each. Of warpgroup 2, one thread keeps codes of A and bf16 of B
 * coming; two warps bring A's scales and look for what the quick way to bf16 can't do (Inf and NaN codes,
 * large scales), which spares those who multiply the looking. */
#include "gemm.cuh"
#include "gemm_launch.h"
#include "gemm_store.cuh"
#include "hopper.cuh"

namespace
{

using namespace hopper;
using namespace gemm;

constexpr int ROWS = 128, COLS = 256, THREADS = 384;
constexpr int CODES = 3, CODES_DEPTH = 128; /* buffers of A */
constexpr int PARTS = 4, PART_DEPTH = 64;   /* buffers of B */
constexpr int SCALE_THREADS = 64;
constexpr uint32_t CODES_BYTES = ROWS * CODES_DEPTH, PART_BYTES = COLS * PART_DEPTH * 2,
                   SCALE_BYTES = 4 * ROWS;

typedef Walk<2 * ROWS, COLS> Pairs;

/* Shared memory, from a multiple of 1024. Codes are full when copied, and ready when looked at. */
struct Buffers {
    uint32_t base;
    static constexpr uint32_t parts = CODES * CODES_BYTES, store = parts + PARTS * PART_BYTES,
                              scale = store + 8 * STORE_BYTES, flag = scale + CODES * SCALE_BYTES,
                              barriers = flag + CODES * 8, bytes = barriers + 8 * (3 * CODES + 2 * PARTS);
    __device__ uint32_t codes(uint32_t i) const { return base + i * CODES_BYTES; }
    __device__ uint32_t part(uint32_t i) const { return base + parts + i * PART_BYTES; }
    __device__ uint32_t scales(uint32_t i) const { return base + scale + i * SCALE_BYTES; }
    __device__ uint32_t flags(uint32_t i) const
    {
        return base + flag + i * 8;
    } /* a word of each looking warp */
    __device__ uint32_t codes_full(uint32_t i) const { return base + barriers + 8 * i; }
    __device__ uint32_t codes_ready(uint32_t i) const { return codes_full(CODES + i); }
    __device__ uint32_t codes_empty(uint32_t i) const { return codes_full(2 * CODES + i); }
    __device__ uint32_t part_full(uint32_t i) const { return codes_full(3 * CODES + i); }
    __device__ uint32_t part_empty(uint32_t i) const { return codes_full(3 * CODES + PARTS + i); }
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

/* Carries of Inf and NaN codes in row r of a buffer. */
template <class F> __device__ __forceinline__ uint32_t look(uint32_t codes, uint32_t r)
{
    uint32_t carries = 0;
#pragma unroll
    for (uint32_t c = 0; c < CODES_DEPTH / 16; c++) {
        const uint4 x = load_shared(codes + r * CODES_DEPTH + ((c ^ (r % 8)) << 4));
        carries |= dequant::special_carries<F>(x.x) | dequant::special_carries<F>(x.y) |
                   dequant::special_carries<F>(x.z) | dequant::special_carries<F>(x.w);
    }
    return carries;
}

/* Each thread brings the scales of two rows: as words, a buffer ahead of where they are needed, where they
 * lie as words; else byte after byte. And looks at their codes. */
template <class F> __device__ void scout(const Problem &p, Buffers at, uint32_t rank)
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
            bool slow = false;
            barrier_wait(at.codes_empty(ring.slot), ring.phase ^ 1);
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                const bool fast = words && block + 4 <= end;
                const uint32_t w = fast ? ahead[j] : scales_of(p, t, row + SCALE_THREADS * j, block, end);
                store_shared(at.scales(ring.slot) + 4 * (thread + SCALE_THREADS * j), w);
                slow |= dequant::scales_are_large<F>(w);
                if (from[j]) from[j] += step;
                if (words && from[j] && block + 8 <= end) ahead[j] = __ldg((const uint32_t *)from[j]);
            }
            barrier_wait(at.codes_full(ring.slot), ring.phase);
#pragma unroll
            for (int j = 0; j < EACH; j++)
                slow |= dequant::any_special(look<F>(at.codes(ring.slot), thread + SCALE_THREADS * j));
            slow = __any_sync(0xffffffffu, slow);
            if (thread % 32 == 0) store_shared(at.flags(ring.slot) + thread / 32 * 4, (uint32_t)slow);
            warp_arrive(at.codes_ready(ring.slot));
        }
    }
}

/* ---- warpgroups 0 and 1
 * ------------------------------------------------------------------------------------
 */

/* What a warpgroup carries from tile to tile, and where its rows are. */
struct Place {
    Buffers at;
    uint32_t row, chunk, swizzle, scale_row; /* ldmatrix: byte of the lane's row, which of two chunks */
    Ring<CODES> codes;
    Ring<PARTS> part;
    uint32_t scales[2]; /* of the thread's rows g and g + 8 */
    bool slow;          /* among these codes are some for the exact way */

    __device__ __forceinline__ void take_codes(uint32_t (&x)[4], int block) const
    {
        load_matrices(x, at.codes(codes.slot) + row + (((2 * block + chunk) ^ swizzle) << 4));
    }
    __device__ __forceinline__ void next_codes()
    {
        warp_arrive(at.codes_empty(codes.slot));
        codes.next();
    }
    __device__ __forceinline__ void wait_codes()
    {
        barrier_wait(at.codes_full(codes.slot), codes.phase);
        barrier_wait(at.codes_ready(codes.slot), codes.phase);
        scales[0] = load_word(at.scales(codes.slot) + scale_row);
        scales[1] = load_word(at.scales(codes.slot) + scale_row + 32);
        slow = (load_word(at.flags(codes.slot)) | load_word(at.flags(codes.slot) + 4)) != 0;
    }
    __device__ __forceinline__ uint64_t wait_part() const
    {
        barrier_wait(at.part_full(part.slot), part.phase);
        return descriptor_128(at.part(part.slot));
    }
    __device__ __forceinline__ void release_part_before() const
    {
        warp_arrive_both(at.part_empty((part.slot + PARTS - 1) % PARTS));
    }
};

/* A thread's part of a K-block of 32: rows g and g + 8 of its warp's, two steps. */
template <class F> struct Operand {
    uint32_t x[4], f[2][4]; /* codes: step 0 rows g, g + 8, step 1; bf16 as wgmma takes them */

    __device__ __forceinline__ void convert(const Place &place, int block)
    {
        uint2 r[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            r[i] = dequant::word_fast<F>(x[i], dequant::scale_pair<F>(place.scales[i % 2], block));
        if (place.slow) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                r[i] = dequant::word_exact<F>(x[i], place.scales[i % 2] >> 8 * block & 0xff);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            f[i / 2][i % 2] = r[i].x, f[i / 2][i % 2 + 2] = r[i].y;
    }
};

/* One buffer of codes, four K-blocks of 32: block i is multiplied while block i + 1, which may be the next
 * buffer's first, is converted. LAST: the tile's last buffer, of `left` blocks. */
template <class F, bool LAST>
__device__ __forceinline__ void sum_buffer(float (&d)[128], Operand<F> (&operand)[2], Place &place,
                                           bool begun, int left)
{
    uint64_t b = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (LAST && i >= left) break;
        Operand<F> &now = operand[i % 2], &then = operand[(i + 1) % 2];
        const bool more = !LAST || i + 1 < left;
        if (i % 2 == 0) b = place.wait_part();
        if (i < 3 && more) place.take_codes(then.x, i + 1);
        wgmma_fence();
        wgmma_bf16_wide(d, now.f[0], b + i % 2 * 4, i > 0 || begun);
        wgmma_bf16_wide(d, now.f[1], b + i % 2 * 4 + 2, 1);
        wgmma_commit();
        if (i == 3 || !more) place.next_codes();
        if (i == 3 && more) {
            place.wait_codes();
            place.take_codes(then.x, 0);
        }
        wgmma_wait<1>();
        if (i == 2 || (i == 0 && begun)) place.release_part_before();
        if (more) then.convert(place, (i + 1) % 4);
        if (i % 2 == 1 || !more) place.part.next();
    }
}

/* The sums of one tile; meanwhile() is done while the last ones are multiplied. */
template <class F, class Meanwhile>
__device__ __forceinline__ void sum_tile(float (&d)[128], int blocks, Place &place, Meanwhile meanwhile)
{
    Operand<F> operand[2];
    place.wait_codes();
    place.take_codes(operand[0].x, 0);
    operand[0].convert(place, 0);
    int left = blocks;
#pragma unroll 1
    for (; left > 4; left -= 4)
        sum_buffer<F, false>(d, operand, place, left < blocks, left);
    sum_buffer<F, true>(d, operand, place, left < blocks, left);
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
                   {},
                   {},
                   false};
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
        /* The same in all lanes, which the compiler can't see: lets it use uniform registers. */
        const int blocks = __shfl_sync(0xffffffffu, blocks_of(now), 0);
        sum_tile<F>(d, blocks, place, seek_next);
        store(p, now, d, row, col);
    }
    store_wait<0>();
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
            barrier_init(at.codes_full(i), 1);
            barrier_init(at.codes_ready(i), SCALE_THREADS / 32);
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
        if (threadIdx.x >= 288 && threadIdx.x < 288 + SCALE_THREADS) scout<F>(p, at, rank);
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
