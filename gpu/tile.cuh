/* SPDX-License-Identifier: Apache-2.0
 *
 * tile.cuh - the quantising kernel: one thread block turns 128 x 128 elements, read once, into codes and
 * scales along rows, along columns, or both.
 *
 * A lane owns eight columns and, of a 16-bit input, sixteen rows (eight of fp32), in registers; a warp owns
 * 32 rows, and 128 columns (64 of fp32). So
 *   - a warp-wide load is 2 rows of 256 bytes;
 *   - a block of 32 along a row is 4 neighbouring lanes: two shuffles give its amax;
 *   - a block of 32 down a column is the 2 lanes that own the same columns (4 of fp32): one shuffle or two;
 *   - eight codes along a row are 8 consecutive bytes of one lane, and a warp stores 2 full lines of 128
 * bytes;
 *   - the codes down a column are 16 consecutive bytes of one lane (8 of fp32) of the transposed copy. Lines
 * of it are put together in shared memory, whose 16-byte pieces lie swizzled so that neither side meets bank
 *     conflicts, and leave as full lines as well.
 * 128 x 128 elements make exactly one 512-byte tile of the 128x4 scale layout in either direction (two with
 * 16-element blocks); it is put together in shared memory and written in 16-byte pieces, padding included,
 * since blocks outside the matrix have amax 0 and thereby code 00.
 *
 * FAST: for full tiles of matrices whose rows lie at multiples of 16 bytes: vector loads and stores. The
 * other instance loads and stores element by element, and serves edges and matrices of any alignment. */
#ifndef MX_GPU_TILE_CUH
#define MX_GPU_TILE_CUH

#include "element.cuh"
#include "scale.cuh"

namespace mx
{

constexpr int TILE = 128;

/* How a tile is divided among threads: rows of a lane, and lanes of a warp side by side. A file whose sources
 * compute, and need registers for that, defines MX_GPU_LANE_ROWS to be 8 before it includes this. */
#ifndef MX_GPU_LANE_ROWS
#define MX_GPU_LANE_ROWS 16
#endif
template <class In> constexpr int LANE_ROWS = PACKED<In> ? MX_GPU_LANE_ROWS : 8;
template <class In> constexpr int LANES_ACROSS = LANE_ROWS<In>;
template <class In> constexpr int WARPS_ACROSS = TILE / (LANES_ACROSS<In> * CHUNK);
template <class In> constexpr int THREADS = 4 * WARPS_ACROSS<In> * 32;

enum Mode {
    ROWS = 1,      /* blocks along rows, codes as x lies */
    COLUMNS_T = 2, /* blocks down columns, codes transposed: [cols, rows] */
    COLUMNS = 4,   /* blocks down columns, codes as x lies */
    SQUARES = 8,   /* square blocks, codes as x lies */
    FLAT = 16,     /* as ROWS, in the kernel of flat.cuh */
};

enum Placement {
    SCALES_ROW_MAJOR, /* [rows of the code matrix, blocks], pitch between rows */
    SCALES_TILED,     /* 128x4 tiles of the same grid */
    SCALES_COLUMNS,   /* [blocks, columns]: untransposed columnwise */
    SCALES_SQUARES    /* [row blocks, column blocks]: one scale a square block */
};

/* One quantised copy. A grid of grid_rows x grid_cols scales, each row of it serving one row of codes. */
struct Copy {
    uint8_t *q;
    int64_t q_pitch; /* elements */
    uint8_t *scale;
    int64_t scale_pitch; /* of placements that are no tiles */
    int64_t grid_rows, grid_cols;
    Placement placement;
    bool aligned; /* q and its rows lie so that 8 codes can be stored at once, tiles so that 16 bytes can */
};

struct Position {
    int tile_row, tile_col; /* of the lane's first element, in the tile */
    int64_t row, col;       /* and in the matrix */
};

struct Shape {
    int64_t rows, cols;
    uint32_t first_down, first_across; /* tiles before those of this launch */
    uint32_t tiles_down, tiles_across;
    uint32_t band; /* consecutive thread blocks go down this many tiles before they go right */
};

template <class In> struct Matrix {
    const In *x;
    int64_t pitch;
    bool aligned; /* base and rows at multiples of 16 bytes */

    __device__ __forceinline__ float at(int64_t row, int64_t col) const
    {
        return value<In>(bits<In>(x[row * pitch + col]));
    }
    /* Eight elements of a row; zeros outside the matrix. */
    template <bool FAST>
    __device__ __forceinline__ Chunk<In> chunk(const Shape &s, int64_t row, int64_t col) const
    {
        const In *from = x + row * pitch + col;
        if constexpr (FAST)
            return load_chunk<In>(from);
        else
            return load_chunk_part<In>(from, row < s.rows ? s.cols - col : 0);
    }
};

template <class In> __device__ __forceinline__ Position position(int64_t row0, int64_t col0)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Position p;
    p.tile_row = warp / WARPS_ACROSS<In> * 32 + lane / LANES_ACROSS<In> * LANE_ROWS<In>;
    p.tile_col = (warp % WARPS_ACROSS<In> * LANES_ACROSS<In> + lane % LANES_ACROSS<In>)*CHUNK;
    p.row = row0 + p.tile_row, p.col = col0 + p.tile_col;
    return p;
}

/* Neighbouring thread blocks cover an area that is compact in both directions, so that both the rows read
 * and the transposed rows written are long in DRAM pages. */
static __device__ __forceinline__ void tile_origin(const Shape &s, int64_t *row, int64_t *col)
{
    uint32_t per_band = s.band * s.tiles_across, first = blockIdx.x / per_band * s.band;
    uint32_t rest = blockIdx.x % per_band, height = min(s.band, s.tiles_down - first);
    *row = (int64_t)(s.first_down + first + rest % height) * TILE;
    *col = (int64_t)(s.first_across + rest / height) * TILE;
}

/* ---- a source: what eight elements are made from, and how ---------------------------------------------- */

template <class T> struct PlainSource {
    using In = T;
    using Raw = Chunk<T>;
    static constexpr int ROWS_IN_FLIGHT = LANE_ROWS<T>; /* of a lane: loaded before the first is finished */
    Matrix<T> x;
    bool aligned() const { return x.aligned; }
    template <bool FAST> __device__ __forceinline__ Raw load(const Shape &s, int64_t row, int64_t col) const
    {
        return x.template chunk<FAST>(s, row, col);
    }
    __device__ __forceinline__ Chunk<T> finish(const Raw &raw) const { return raw; }
};

template <class Source, bool FAST>
__device__ __forceinline__ void load_lane(const Source &source, const Shape &s, const Position &p,
                                          Chunk<typename Source::In> (&c)[LANE_ROWS<typename Source::In>])
{
    constexpr int STEP = Source::ROWS_IN_FLIGHT;
#pragma unroll
    for (int i = 0; i < LANE_ROWS<typename Source::In>; i += STEP) {
        typename Source::Raw raw[STEP];
#pragma unroll
        for (int j = 0; j < STEP; j++)
            raw[j] = source.template load<FAST>(s, p.row + i + j, p.col);
#pragma unroll
        for (int j = 0; j < STEP; j++)
            c[i + j] = source.finish(raw[j]);
    }
}

/* ---- amax --------------------------------------------------------------------------------------------- */

constexpr uint32_t ALL = 0xFFFFFFFFu;

/* Largest magnitude over lanes that differ in bits `first`, 2 * first, ... (`steps` of them). */
template <class In> __device__ __forceinline__ uint32_t across(uint32_t m, int first, int steps)
{
#pragma unroll
    for (int i = 0; i < steps; i++)
        m = larger<In>(m, __shfl_xor_sync(ALL, m, first << i));
    return m;
}

template <class In, bool DROP> __device__ __forceinline__ uint32_t chunk_amax(const Chunk<In> &c)
{
    uint32_t m = magnitude<In, DROP>(c.w[0]);
#pragma unroll
    for (int w = 1; w < (int)(sizeof c.w / 4); w++)
        m = larger<In>(m, magnitude<In, DROP>(c.w[w]));
    return m; /* PACKED: of even and odd elements apart */
}

/* Blocks that a lane has part in, and the words that hold their amax: of 16-bit types, two in each. */
template <class In, int MODE>
constexpr int LANE_BLOCKS = MODE == SQUARES ? 1
                            : MODE == FLAT  ? 4
                            : MODE == ROWS  ? LANE_ROWS<In>
                                            : CHUNK;
template <class In, int MODE>
constexpr int AMAX_WORDS = PACKED<In> ? (LANE_BLOCKS<In, MODE> + 1) / 2 : LANE_BLOCKS<In, MODE>;

/* Block i: along row i, as far as it holds the lane's chunk. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void row_amax(const Chunk<In> (&c)[LANE_ROWS<In>],
                                         uint32_t (&m)[AMAX_WORDS<In, ROWS>])
{
    constexpr int STEPS = BLOCK == 32 ? 2 : 1;
#pragma unroll
    for (int j = 0; j < AMAX_WORDS<In, ROWS>; j++) {
        if constexpr (PACKED<In>) {
            uint32_t a = chunk_amax<In, DROP>(c[2 * j]), b = chunk_amax<In, DROP>(c[2 * j + 1]);
            m[j] = larger<In>(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
        } else {
            m[j] = chunk_amax<In, DROP>(c[j]);
        }
        m[j] = across<In>(m[j], 1, STEPS);
    }
}

/* Block k: down column k of the lane. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void column_amax(const Chunk<In> (&c)[LANE_ROWS<In>],
                                            uint32_t (&m)[AMAX_WORDS<In, COLUMNS>])
{
    constexpr int LANES = BLOCK / LANE_ROWS<In>, STEPS = LANES == 4 ? 2 : LANES == 2 ? 1 : 0;
#pragma unroll
    for (int w = 0; w < AMAX_WORDS<In, COLUMNS>; w++) {
        m[w] = magnitude<In, DROP>(c[0].w[w]);
#pragma unroll
        for (int i = 1; i < LANE_ROWS<In>; i++)
            m[w] = larger<In>(m[w], magnitude<In, DROP>(c[i].w[w]));
        m[w] = across<In>(m[w], LANES_ACROSS<In>, STEPS);
    }
}

/* The one square block that the lane lies in. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void square_amax(const Chunk<In> (&c)[LANE_ROWS<In>], uint32_t (&m)[1])
{
    uint32_t column[AMAX_WORDS<In, COLUMNS>];
    column_amax<In, BLOCK, DROP>(c, column);
    m[0] = column[0];
#pragma unroll
    for (int w = 1; w < AMAX_WORDS<In, COLUMNS>; w++)
        m[0] = larger<In>(m[0], column[w]);
    m[0] = across<In>(m[0], 1, BLOCK == 32 ? 2 : 1);
    if constexpr (PACKED<In>) m[0] = max(m[0] & 0xFFFFu, m[0] >> 16);
}

template <class In, int BLOCK, int MODE, bool DROP>
__device__ __forceinline__ void mode_amax(const Chunk<In> (&c)[LANE_ROWS<In>],
                                          uint32_t (&m)[AMAX_WORDS<In, MODE>])
{
    if constexpr (MODE & SQUARES)
        square_amax<In, BLOCK, DROP>(c, m);
    else if constexpr (MODE & ROWS)
        row_amax<In, BLOCK, DROP>(c, m);
    else
        column_amax<In, BLOCK, DROP>(c, m);
}

/* Whether some lane of the warp has an infinity or a NaN in an amax, or one too small for Rule::usual(). NaN
 * lies above every magnitude, so that one integer maximum serves all recipes until one is met. */
template <class In, int N> __device__ __forceinline__ bool any_unusual(const uint32_t (&m)[N])
{
    uint32_t most = m[0], least = 0xFFFFFFFFu;
#pragma unroll
    for (int i = 0; i < N; i++)
        most = larger<In>(most, m[i]), least = least_but_zero<In>(m[i], least);
    if constexpr (PACKED<In>)
        most = max(most & 0xFFFFu, most >> 16), least = min(least & 0xFFFFu, least >> 16);
    bool unusual = most >= INF_BITS<In>;
    if constexpr (TINY_BITS<In> != 0) unusual |= least < TINY_BITS<In>;
    return __any_sync(ALL, unusual);
}

/* Scales of the lane's blocks. */
template <class In, int MODE, class Rule>
__device__ __forceinline__ void block_scales(const Chunk<In> (&c)[LANE_ROWS<In>], const Rule &rule,
                                             Scale (&scale)[LANE_BLOCKS<In, MODE>])
{
    constexpr int BLOCK = Rule::BLOCK, BLOCKS = LANE_BLOCKS<In, MODE>;
    uint32_t m[AMAX_WORDS<In, MODE>];
    mode_amax<In, BLOCK, MODE, false>(c, m);
    if (!any_unusual<In>(m)) {
#pragma unroll
        for (int k = 0; k < BLOCKS; k++)
            scale[k] = rule.usual(value_of<In>(m, k));
    } else {
        if (rule.drop_nan()) mode_amax<In, BLOCK, MODE, true>(c, m);
#pragma unroll
        for (int k = 0; k < BLOCKS; k++)
            scale[k] = rule(value_of<In>(m, k));
    }
}

/* ---- stores ------------------------------------------------------------------------------------------- */

/* N codes to q + offset, all at once if FAST; otherwise the first n of them, one by one. */
template <class Out, bool FAST, int N>
__device__ __forceinline__ void store_codes(uint8_t *q, int64_t offset, const Codes<Out, N> &c, int64_t n)
{
    uint8_t *at = q + offset * Out::BITS / 8;
    constexpr int BYTES = N * Out::BITS / 8;
    if constexpr (FAST) {
        c.store(at);
    } else {
#pragma unroll
        for (int i = 0; i < BYTES; i++)
            if (i * 8 / Out::BITS < n) at[i] = (uint8_t)(c.w[i / 4] >> i % 4 * 8);
    }
}

/* The transposed codes of one thread block: a line of 128 bytes for each column, its 16-byte pieces swizzled.
 */
struct CodeStage {
    uint8_t byte[TILE * TILE];

    static __device__ __forceinline__ int at(int col, int row)
    {
        return col * TILE + ((row / 16 ^ col / 8 % 8) * 16) + row % 16;
    }
    template <int THREADS_> __device__ __forceinline__ void flush(uint8_t *q, int64_t pitch) const
    {
#pragma unroll 4
        for (int i = threadIdx.x; i < TILE * TILE / 16; i += THREADS_) {
            int col = i / 8, row = i % 8 * 16;
            __stcs((uint4 *)(q + col * pitch + row), *(const uint4 *)(byte + at(col, row)));
        }
    }
};

/* Offset in the 128x4 layout of scale (r, c) of a grid with this many columns. */
static __device__ __forceinline__ int64_t tiled_at(int64_t r, int64_t c, int64_t cols)
{
    return (r / 128 * ((cols + 3) / 4) + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

/* The 512-byte tiles of one thread block, in the 128x4 layout. */
template <int BLOCK> struct ScaleStage {
    static constexpr int BLOCKS = TILE / BLOCK, TILES = BLOCKS / 4;
    uint8_t byte[TILES * 512];

    static __device__ __forceinline__ int at(int r, int c)
    {
        return c / 4 * 512 + r % 32 * 16 + r / 32 * 4 + c % 4;
    }
    /* r0, c0: first row of codes, and first block, of the tile. */
    template <int THREADS_> __device__ __forceinline__ void flush(const Copy &o, int64_t r0, int64_t c0) const
    {
        if (o.placement == SCALES_TILED) {
            int64_t across_tiles = (o.grid_cols + 3) / 4;
            uint8_t *to = o.scale + (r0 / TILE * across_tiles + c0 / 4) * 512;
            int bytes = (int)min((int64_t)TILES, across_tiles - c0 / 4) * 512;
            if (o.aligned) {
                for (int i = (int)threadIdx.x * 16; i < bytes; i += THREADS_ * 16)
                    *(uint4 *)(to + i) = *(const uint4 *)(byte + i);
            } else {
                for (int i = threadIdx.x; i < bytes; i += THREADS_)
                    to[i] = byte[i];
            }
            return;
        }
        for (int i = threadIdx.x; i < TILE * BLOCKS; i += THREADS_) {
            int r = o.placement == SCALES_COLUMNS ? i % TILE : i / BLOCKS;
            int c = o.placement == SCALES_COLUMNS ? i / TILE : i % BLOCKS;
            if (r0 + r >= o.grid_rows || c0 + c >= o.grid_cols) continue;
            if (o.placement == SCALES_ROW_MAJOR)
                o.scale[(r0 + r) * o.scale_pitch + c0 + c] = byte[at(r, c)];
            else if (o.placement == SCALES_COLUMNS)
                o.scale[(c0 + c) * o.scale_pitch + r0 + r] = byte[at(r, c)];
            else if (r % BLOCK == 0)
                o.scale[(r0 + r) / BLOCK * o.scale_pitch + c0 + c] = byte[at(r, c)];
        }
    }
};

/* ---- one direction ------------------------------------------------------------------------------------- */

/* Scales of the lane's blocks into the stage, codes to memory; transposed ones, if FAST, into their stage. */
template <class In, class Out, int MODE, bool FAST, class Rule>
__device__ __forceinline__ void quantize_one(const Chunk<In> (&c)[LANE_ROWS<In>], const Rule &rule,
                                             const Shape &s, const Position &p, const Copy &o,
                                             ScaleStage<Rule::BLOCK> &scales, CodeStage *codes)
{
    constexpr int BLOCK = Rule::BLOCK, BLOCKS = LANE_BLOCKS<In, MODE>, ROWS_ = LANE_ROWS<In>;
    constexpr bool BY_ROW = MODE & (ROWS | SQUARES);
    Scale scale[BLOCKS];
    block_scales<In, MODE>(c, rule, scale);
    /* The first lane of each block writes: along rows, or down columns, bytes 16 apart. */
    const int line = BY_ROW ? p.tile_row : p.tile_col, along = BY_ROW ? p.tile_col : p.tile_row;
    if (along % BLOCK == 0) {
        uint8_t *to = scales.byte + scales.at(line, along / BLOCK);
#pragma unroll
        for (int k = 0; k < (BY_ROW ? ROWS_ : CHUNK); k++)
            to[k * 16] = (uint8_t)scale[k % BLOCKS].code;
    }
    if constexpr (MODE & COLUMNS_T) {
#pragma unroll
        for (int k = 0; k < CHUNK; k += 2) {
            Codes<Out, ROWS_> line_codes[2];
            encode_columns<Out, Rule>(c, k, scale[k].factor, scale[k + 1].factor, line_codes);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                if constexpr (FAST)
                    line_codes[h].store_shared(codes->byte + codes->at(p.tile_col + k + h, p.tile_row));
                else if (p.col + k + h < s.cols)
                    store_codes<Out, false>(o.q, (p.col + k + h) * o.q_pitch + p.row, line_codes[h],
                                            s.rows - p.row);
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < ROWS_; i++) {
            auto line_codes = encode_chunk<Out, Rule>(c[i], [&](int k) {
                return scale[BLOCKS == 1 ? 0 : BY_ROW ? i : k].factor;
            });
            if (FAST || p.row + i < s.rows)
                store_codes<Out, FAST>(o.q, (p.row + i) * o.q_pitch + p.col, line_codes, s.cols - p.col);
        }
    }
}

/* What a direction has put together in shared memory goes to memory. */
template <class In, class Out, int MODE, bool FAST, int BLOCK>
__device__ __forceinline__ void flush(const Copy &o, int64_t row0, int64_t col0,
                                      const ScaleStage<BLOCK> &scales, const CodeStage *codes)
{
    if constexpr (MODE & (ROWS | SQUARES))
        scales.template flush<THREADS<In>>(o, row0, col0 / BLOCK);
    else
        scales.template flush<THREADS<In>>(o, col0, row0 / BLOCK);
    if constexpr (FAST && MODE & COLUMNS_T)
        codes->flush<THREADS<In>>(o.q + col0 * o.q_pitch + row0, o.q_pitch);
}

/* Thread blocks to keep on a multiprocessor: as many as its registers hold without spilling (`make
 * gpu-report`). Unpacking f16 takes more of them than bf16 does, and a source that computes more than one
 * that loads. */
template <class Source, int SECOND, bool FAST> constexpr int min_blocks()
{
    using In = typename Source::In;
    if (!FAST) return 1;
    const bool bf16 = INF_BITS<In> == INF_BITS<__nv_bfloat16>,
               computes = Source::ROWS_IN_FLIGHT < LANE_ROWS<In>;
    if (!PACKED<In>) return computes ? 1 : 2;
    return computes ? 2 : 4 - !bf16;
}

/* Blocks of one direction into `first`; of a second one, if SECOND is not 0, into `second`. */
template <class Source, class Out, class Rule, int FIRST, int SECOND, bool FAST>
__global__ void __launch_bounds__(THREADS<typename Source::In>, (min_blocks<Source, SECOND, FAST>()))
    quantize_tile(const Source source, const Rule rule, const Shape s, const Copy first, const Copy second)
{
    using In = typename Source::In;
    __shared__ alignas(16) ScaleStage<Rule::BLOCK> scales[SECOND ? 2 : 1];
    CodeStage *codes = nullptr;
    if constexpr (FAST && (FIRST | SECOND) & COLUMNS_T) {
        __shared__ alignas(128) CodeStage stage;
        codes = &stage;
    }
    int64_t row0, col0;
    tile_origin(s, &row0, &col0);
    const Position p = position<In>(row0, col0);

    Chunk<In> c[LANE_ROWS<In>];
    load_lane<Source, FAST>(source, s, p, c);
    quantize_one<In, Out, FIRST, FAST>(c, rule, s, p, first, scales[0], codes);
    if constexpr (SECOND) quantize_one<In, Out, SECOND, FAST>(c, rule, s, p, second, scales[1], codes);
    __syncthreads();
    flush<In, Out, FIRST, FAST>(first, row0, col0, scales[0], codes);
    if constexpr (SECOND) flush<In, Out, SECOND, FAST>(second, row0, col0, scales[1], codes);
}

} // namespace mx
#endif
