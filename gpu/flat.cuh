/* SPDX-License-Identifier: Apache-2.0
 *
 * flat.cuh - the kernel for blocks along rows alone, which needs no shared memory.
 *
 * A lane owns 16 consecutive elements of each of two rows, a warp 512 columns of them, a thread block of
 * eight warps 16 rows. Two neighbouring lanes make a block of 32: one shuffle gives the amax of both rows at
 * once. Codes leave in 16-byte pieces, scales in words of four, which are consecutive in the 128x4 layout.
 * Few registers, hence many warps, and reads that are long in DRAM pages: measured to matter more than
 * anything else here. For matrices whose rows lie at multiples of 16 bytes and are multiples of 16 long. */
#ifndef MX_GPU_FLAT_CUH
#define MX_GPU_FLAT_CUH

#include "tile.cuh"

namespace mx
{

constexpr int FLAT_CHUNKS = 2, FLAT_RUN = FLAT_CHUNKS * CHUNK; /* elements of a lane from one row */
constexpr int FLAT_ROWS = 2;                                   /* rows of a lane */
constexpr int FLAT_WARPS = 8, FLAT_COLS = 32 * FLAT_RUN;

/* Amax of the lane's blocks, row 0 and row 1: of 16-bit types in one word. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void flat_amax(const Chunk<In> (&c)[FLAT_ROWS][FLAT_CHUNKS],
                                          uint32_t (&m)[AMAX_WORDS<In, FLAT>])
{
    uint32_t row[FLAT_ROWS];
#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++)
        row[i] = larger<In>(chunk_amax<In, DROP>(c[i][0]), chunk_amax<In, DROP>(c[i][1]));
    if constexpr (PACKED<In>)
        m[0] = larger<In>(__byte_perm(row[0], row[1], 0x5410), __byte_perm(row[0], row[1], 0x7632));
    else
        m[0] = row[0], m[1] = row[1];
#pragma unroll
    for (int w = 0; w < AMAX_WORDS<In, FLAT>; w++)
        m[w] = across<In>(m[w], 1, BLOCK == 32);
}

/* Four scale codes of neighbouring blocks, gathered in the first lane of theirs. */
template <int LANES_A_BLOCK> __device__ __forceinline__ uint32_t gather_codes(uint32_t code)
{
    code |= __shfl_down_sync(ALL, code, LANES_A_BLOCK) << 8;
    return code | __shfl_down_sync(ALL, code, 2 * LANES_A_BLOCK) << 16;
}

template <class Source, class Out, class Rule>
__global__ void __launch_bounds__(FLAT_WARPS * 32)
    quantize_flat(const Source source, const Rule rule, const Shape s, const Copy o, int64_t row0)
{
    using In = typename Source::In;
    constexpr int BLOCK = Rule::BLOCK, LANES = BLOCK / FLAT_RUN;
    const int lane = threadIdx.x % 32;
    const int64_t row = row0 + (blockIdx.y * FLAT_WARPS + threadIdx.x / 32) * (int64_t)FLAT_ROWS;
    const int64_t col = blockIdx.x * (int64_t)FLAT_COLS + lane * FLAT_RUN;
    const bool inside = col < s.cols;

    typename Source::Raw raw[FLAT_ROWS][FLAT_CHUNKS];
    Chunk<In> c[FLAT_ROWS][FLAT_CHUNKS];
#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++)
#pragma unroll
        for (int j = 0; j < FLAT_CHUNKS; j++) {
            raw[i][j] = {};
            if (inside && row + i < s.rows)
                raw[i][j] = source.template load<true>(s, row + i, col + j * CHUNK);
        }
#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++)
#pragma unroll
        for (int j = 0; j < FLAT_CHUNKS; j++)
            c[i][j] = source.finish(raw[i][j]);

    uint32_t m[AMAX_WORDS<In, FLAT>];
    Scale scale[FLAT_ROWS];
    flat_amax<In, BLOCK, false>(c, m);
    const bool unusual = any_unusual<In>(m);
    if (unusual && rule.drop_nan()) flat_amax<In, BLOCK, true>(c, m);
#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++)
        scale[i] = unusual ? rule(value_of<In>(m, i)) : rule.usual(value_of<In>(m, i));

#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++) {
        auto codes = encode<Out, FLAT_RUN>([&](int k) { return element<In>(c[i][k / CHUNK], k % CHUNK); },
                                           [&](int) { return scale[i].factor; });
        if (inside && row + i < s.rows) codes.store(o.q + ((row + i) * o.q_pitch + col) * Out::BITS / 8);
    }
#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++) {
        const uint32_t four = gather_codes<LANES>(scale[i].code);
        const int64_t block = col / BLOCK;
        if (lane % (4 * LANES) != 0) continue;
        if (o.placement == SCALES_TILED) { /* padding too: rows to 128, blocks to 4 */
            if (block < (o.grid_cols + 3) / 4 * 4 && row + i < (o.grid_rows + TILE - 1) / TILE * TILE)
                *(uint32_t *)(o.scale + tiled_at(row + i, block, o.grid_cols)) = four;
        } else if (row + i < s.rows) {
#pragma unroll
            for (int b = 0; b < 4; b++)
                if (block + b < o.grid_cols)
                    o.scale[(row + i) * o.scale_pitch + block + b] = (uint8_t)(four >> 8 * b);
        }
    }
}

} // namespace mx
#endif
