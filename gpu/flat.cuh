/* SPDX-License-Identifier: Apache-2.0
 *
 * flat.cuh - the kernel for blocks along rows alone, which needs no shared memory.
 *
 * A lane owns 16 consecutive elements of each of four rows that lie 32 apart, a warp 512 columns of them, a
 * thread block eight such warps: in all 8 + 8 + 8 + 8 rows. Two neighbouring lanes make a block of 32: one
 * shuffle gives the amax of two rows at once. Rows r, r + 32, r + 64, r + 96 and four blocks are 16
 * consecutive bytes of the 128x4 layout: after a transposition of four by four bytes among lanes, four of
 * them store these together. Few registers, hence many warps, and reads that are long in DRAM pages, matter
 * more than anything else here. For matrices whose rows lie at multiples of 16 bytes and are multiples of 16
 * long. */
#ifndef MX_GPU_FLAT_CUH
#define MX_GPU_FLAT_CUH

#include "tile.cuh"

namespace mx
{

constexpr int FLAT_CHUNKS = 2, FLAT_RUN = FLAT_CHUNKS * CHUNK; /* elements of a lane from one row */
constexpr int FLAT_ROWS = 4, FLAT_STEP = 32;                   /* rows of a lane, and their distance */
constexpr int FLAT_WARPS = 8, FLAT_COLS = 32 * FLAT_RUN;

/* Amax of the lane's blocks, one a row: of 16-bit types, two in a word. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void flat_amax(const Chunk<In> (&c)[FLAT_ROWS][FLAT_CHUNKS],
                                          uint32_t (&m)[AMAX_WORDS<In, FLAT>])
{
    uint32_t row[FLAT_ROWS];
#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++)
        row[i] = larger<In>(chunk_amax<In, DROP>(c[i][0]), chunk_amax<In, DROP>(c[i][1]));
#pragma unroll
    for (int w = 0; w < AMAX_WORDS<In, FLAT>; w++) {
        if constexpr (PACKED<In>)
            m[w] = larger<In>(__byte_perm(row[2 * w], row[2 * w + 1], 0x5410),
                              __byte_perm(row[2 * w], row[2 * w + 1], 0x7632));
        else
            m[w] = row[w];
        m[w] = across<In>(m[w], 1, BLOCK == 32);
    }
}

/* Lane b of four (LANES apart) holds byte b of each of four rows, row 0 lowest; lane i gets row i, byte 0
 * lowest. */
template <int LANES> __device__ __forceinline__ uint32_t transpose_bytes(uint32_t v, int lane)
{
    const bool odd = lane & LANES, upper = lane & 2 * LANES;
    uint32_t other = __shfl_xor_sync(ALL, v, LANES);
    v = __byte_perm(v, other, odd ? 0x3715 : 0x6240);
    other = __shfl_xor_sync(ALL, v, 2 * LANES);
    return __byte_perm(v, other, upper ? 0x3276 : 0x5410);
}

/* Four scales of one row, from block on. */
static __device__ __forceinline__ void store_scales(const Copy &o, int64_t row, int64_t block, uint32_t four)
{
    if (o.placement == SCALES_TILED) { /* padding too: rows to 128, blocks to 4 */
        if (block < o.grid_cols) *(uint32_t *)(o.scale + tiled_at(row, block, o.grid_cols)) = four;
    } else if (row < o.grid_rows) {
#pragma unroll
        for (int b = 0; b < 4; b++)
            if (block + b < o.grid_cols) o.scale[row * o.scale_pitch + block + b] = (uint8_t)(four >> 8 * b);
    }
}

/* Rows in flight: of a source that computes, two; else all. */
template <class Source>
constexpr int FLAT_FLIGHT = Source::ROWS_IN_FLIGHT >= LANE_ROWS<typename Source::In> ? 4 : 2;

template <class Source, class Out, class Rule>
__global__ void __launch_bounds__(FLAT_WARPS * 32)
    quantize_flat(const Source source, const Rule rule, const Shape s, const Copy o, int64_t row0)
{
    using In = typename Source::In;
    constexpr int BLOCK = Rule::BLOCK, LANES = BLOCK / FLAT_RUN;
    const int lane = threadIdx.x % 32, part = TILE / FLAT_ROWS / FLAT_WARPS; /* thread blocks to 128 rows */
    const int64_t row =
        row0 + blockIdx.y / part * (int64_t)TILE + blockIdx.y % part * FLAT_WARPS + threadIdx.x / 32;
    const int64_t col = blockIdx.x * (int64_t)FLAT_COLS + lane * FLAT_RUN;
    const bool inside = col < s.cols;

    Chunk<In> c[FLAT_ROWS][FLAT_CHUNKS];
    constexpr int FLIGHT = FLAT_FLIGHT<Source>;
#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i += FLIGHT) {
        typename Source::Raw raw[FLIGHT][FLAT_CHUNKS] = {};
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
            if (inside && row + (i + f) * FLAT_STEP < s.rows) {
#pragma unroll
                for (int j = 0; j < FLAT_CHUNKS; j++)
                    raw[f][j] = source.template load<true>(s, row + (i + f) * FLAT_STEP, col + j * CHUNK);
            }
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
#pragma unroll
            for (int j = 0; j < FLAT_CHUNKS; j++)
                c[i + f][j] = source.finish(raw[f][j]);
    }

    uint32_t m[AMAX_WORDS<In, FLAT>];
    Scale scale[FLAT_ROWS];
    flat_amax<In, BLOCK, false>(c, m);
    if (!any_unusual<In>(m)) {
#pragma unroll
        for (int i = 0; i < FLAT_ROWS; i++)
            scale[i] = rule.usual(value_of<In>(m, i));
    } else {
        if (rule.drop_nan()) flat_amax<In, BLOCK, true>(c, m);
#pragma unroll
        for (int i = 0; i < FLAT_ROWS; i++)
            scale[i] = rule(value_of<In>(m, i));
    }

#pragma unroll
    for (int i = 0; i < FLAT_ROWS; i++) {
        Codes<Out, FLAT_RUN> codes;
#pragma unroll
        for (int j = 0; j < FLAT_CHUNKS; j++) {
            const Codes<Out, CHUNK> half =
                encode_chunk<Out, Rule>(c[i][j], [&](int) { return scale[i].factor; });
#pragma unroll
            for (int w = 0; w < half.WORDS; w++)
                codes.w[j * half.WORDS + w] = half.w[w];
        }
        const int64_t r = row + i * FLAT_STEP;
        if (inside && r < s.rows) codes.store(o.q + (r * o.q_pitch + col) * Out::BITS / 8);
    }

    uint32_t four = scale[0].code | scale[1].code << 8 | scale[2].code << 16 | scale[3].code << 24;
    four = transpose_bytes<LANES>(four, lane);
    if (lane % LANES == 0) store_scales(o, row + lane / LANES % 4 * FLAT_STEP, col / BLOCK / 4 * 4, four);
}

} // namespace mx
#endif
