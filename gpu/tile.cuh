/* SPDX-License-Identifier: Apache-2.0
 *
 * tile.cuh - the quantising kernel: one thread block turns 128 x 128 elements, read once, into codes and
 * scales along rows, along columns, or both.
 *
 * Eight warps; warp w owns rows 32 * (w / 2) and columns 64 * (w % 2) onwards, 32 x 64 of them. Lane l owns
 * the eight columns 8 * (l % 8) and the eight rows 8 * (l / 8) of these, in registers: 8 loads of 16 bytes
 * for bf16, each warp-wide load being 4 rows of 128 bytes. So
 *   - a block of 32 along a row is 4 neighbouring lanes: two shuffles give its amax;
 *   - a block of 32 down a column is the 4 lanes that share l % 8: two shuffles;
 *   - eight codes along a row, or down a column, are 8 consecutive bytes of one lane, and the transposed
 *     copy needs no trip through shared memory: four lanes fill one 32-byte sector of it.
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

constexpr int TILE = 128, THREADS = 256;
constexpr int LANE_ROWS = 8; /* rows of a lane */

enum Mode {
    ROWS = 1,       /* blocks along rows, codes as x lies */
    COLUMNS_T = 2,  /* blocks down columns, codes transposed: [cols, rows] */
    COLUMNS = 4,    /* blocks down columns, codes as x lies */
    SQUARES = 8,    /* square blocks, codes as x lies */
    SQUARES_T = 16, /* square blocks, codes transposed */
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
    int warp_row, warp_col, lane_row, lane_col; /* in the tile: 32 * , 64 * , 8 * , 8 * */
    int64_t row, col;                           /* of the lane's first element, in the matrix */
    __device__ __forceinline__ int tile_row() const { return warp_row + lane_row; }
    __device__ __forceinline__ int tile_col() const { return warp_col + lane_col; }
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
    /* Row i of a lane's chunks; zeros outside the matrix. */
    template <bool FAST>
    __device__ __forceinline__ Chunk<In> chunk(const Shape &s, const Position &p, int i) const
    {
        const In *from = x + (p.row + i) * pitch + p.col;
        if constexpr (FAST)
            return load_chunk<In>(from);
        else
            return load_chunk_part<In>(from, p.row + i < s.rows ? s.cols - p.col : 0);
    }
};

static __device__ __forceinline__ Position position(int64_t row0, int64_t col0)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Position p;
    p.warp_row = warp / 2 * 32, p.warp_col = warp % 2 * 64;
    p.lane_row = lane / 8 * 8, p.lane_col = lane % 8 * 8;
    p.row = row0 + p.tile_row(), p.col = col0 + p.tile_col();
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

/* ---- a source: fills a lane's registers ------------------------------------------------------------- */

template <class T> struct PlainSource {
    using In = T;
    static constexpr bool COMPUTES = false;
    Matrix<T> m;
    bool aligned() const { return m.aligned; }
    template <bool FAST>
    __device__ __forceinline__ void load(Chunk<T> (&c)[LANE_ROWS], const Shape &s, const Position &p) const
    {
#pragma unroll
        for (int i = 0; i < LANE_ROWS; i++)
            c[i] = m.template chunk<FAST>(s, p, i);
    }
};

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

/* m[i]: amax of the block along row i that holds the lane's chunk. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void row_amax(const Chunk<In> (&c)[LANE_ROWS], uint32_t (&m)[LANE_ROWS])
{
    constexpr int STEPS = BLOCK == 32 ? 2 : 1;
    if (PACKED<In>) { /* two rows in one word */
#pragma unroll
        for (int i = 0; i < LANE_ROWS; i += 2) {
            uint32_t a = chunk_amax<In, DROP>(c[i]), b = chunk_amax<In, DROP>(c[i + 1]);
            a = larger<In>(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
            a = across<In>(a, 1, STEPS);
            m[i] = a & 0xFFFFu, m[i + 1] = a >> 16;
        }
    } else {
#pragma unroll
        for (int i = 0; i < LANE_ROWS; i++)
            m[i] = across<In>(chunk_amax<In, DROP>(c[i]), 1, STEPS);
    }
}

/* m[k]: amax of the block down column k of the lane. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void column_amax(const Chunk<In> (&c)[LANE_ROWS], uint32_t (&m)[CHUNK])
{
    constexpr int STEPS = BLOCK == 32 ? 2 : 1;
#pragma unroll
    for (int w = 0; w < (int)(sizeof c[0].w / 4); w++) {
        uint32_t a = magnitude<In, DROP>(c[0].w[w]);
#pragma unroll
        for (int i = 1; i < LANE_ROWS; i++)
            a = larger<In>(a, magnitude<In, DROP>(c[i].w[w]));
        a = across<In>(a, 8, STEPS);
        if (PACKED<In>)
            m[2 * w] = a & 0xFFFFu, m[2 * w + 1] = a >> 16;
        else
            m[w] = a;
    }
}

/* m[all]: amax of the square block that the lane lies in. */
template <class In, int BLOCK, bool DROP>
__device__ __forceinline__ void square_amax(const Chunk<In> (&c)[LANE_ROWS], uint32_t (&m)[CHUNK])
{
    column_amax<In, BLOCK, DROP>(c, m);
#pragma unroll
    for (int k = 1; k < CHUNK; k++)
        m[0] = max(m[0], m[k]);
    m[0] = across<float>(m[0], 1, BLOCK == 32 ? 2 : 1);
#pragma unroll
    for (int k = 1; k < CHUNK; k++)
        m[k] = m[0];
}

template <class In, int BLOCK, int MODE, bool DROP>
__device__ __forceinline__ void mode_amax(const Chunk<In> (&c)[LANE_ROWS], uint32_t (&m)[CHUNK])
{
    if (MODE & (SQUARES | SQUARES_T))
        square_amax<In, BLOCK, DROP>(c, m);
    else if (MODE & ROWS)
        row_amax<In, BLOCK, DROP>(c, m);
    else
        column_amax<In, BLOCK, DROP>(c, m);
}

/* NaN lies above every magnitude, so that one integer maximum serves recipes that keep it; those that ignore
 * it look again, and only where one was met. */
template <class In, int BLOCK, int MODE, class Rule>
__device__ __forceinline__ void block_amax(const Chunk<In> (&c)[LANE_ROWS], const Rule &rule,
                                           uint32_t (&m)[CHUNK])
{
    mode_amax<In, BLOCK, MODE, false>(c, m);
    uint32_t most = m[0];
#pragma unroll
    for (int k = 1; k < CHUNK; k++)
        most = max(most, m[k]);
    if (__any_sync(ALL, most > INF_BITS<In>) && rule.drop_nan()) mode_amax<In, BLOCK, MODE, true>(c, m);
}

/* ---- stores ------------------------------------------------------------------------------------------- */

/* Eight codes to q + offset; the first n of them if not FAST. */
template <class Out, bool FAST>
__device__ __forceinline__ void store_codes(uint8_t *q, int64_t offset, const Codes<Out> &c, int64_t n)
{
    uint8_t *at = q + offset * Out::BITS / 8;
    if constexpr (FAST) {
        if constexpr (Out::BITS == 8)
            *(uint2 *)at = make_uint2(c.w[0], c.w[1]);
        else
            *(uint32_t *)at = c.w[0];
    } else {
#pragma unroll
        for (int i = 0; i < Out::BITS; i++)
            if (i * 8 / Out::BITS < n) at[i] = (uint8_t)(c.w[i / 4] >> i % 4 * 8);
    }
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
    __device__ __forceinline__ void flush(const Copy &o, int64_t r0, int64_t c0) const
    {
        if (o.placement == SCALES_TILED) {
            int64_t across_tiles = (o.grid_cols + 3) / 4;
            uint8_t *to = o.scale + (r0 / TILE * across_tiles + c0 / 4) * 512;
            int bytes = (int)min((int64_t)TILES, across_tiles - c0 / 4) * 512;
            if (o.aligned) {
                for (int i = threadIdx.x * 16; i < bytes; i += THREADS * 16)
                    *(uint4 *)(to + i) = *(const uint4 *)(byte + i);
            } else {
                for (int i = threadIdx.x; i < bytes; i += THREADS)
                    to[i] = byte[i];
            }
            return;
        }
        for (int i = threadIdx.x; i < TILE * BLOCKS; i += THREADS) {
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

template <class In, class Out, int MODE, bool FAST, class Rule>
__device__ __forceinline__ void quantize_one(const Chunk<In> (&c)[LANE_ROWS], const Rule &rule,
                                             const Shape &s, const Position &p, const Copy &o,
                                             ScaleStage<Rule::BLOCK> &stage)
{
    constexpr int BLOCK = Rule::BLOCK;
    constexpr bool TRANSPOSED = MODE & (COLUMNS_T | SQUARES_T), BY_ROW = MODE & (ROWS | SQUARES);
    uint32_t m[CHUNK];
    float factor[CHUNK];
    block_amax<In, BLOCK, MODE>(c, rule, m);
    uint32_t code[CHUNK];
#pragma unroll
    for (int k = 0; k < CHUNK; k++) {
        Scale scale = rule(value<In>(m[k]));
        factor[k] = scale.factor, code[k] = scale.code;
    }
    /* The first lane of each block writes: along rows, or down columns, eight bytes 16 apart. */
    const int line = BY_ROW ? p.tile_row() : p.tile_col(), along = BY_ROW ? p.tile_col() : p.tile_row();
    if (along % BLOCK == 0) {
        uint8_t *to = stage.byte + stage.at(line, along / BLOCK);
#pragma unroll
        for (int k = 0; k < CHUNK; k++)
            to[k * 16] = (uint8_t)code[k];
    }
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        if (TRANSPOSED) {
            Codes<Out> codes =
                encode<Out>([&](int k) { return element<In>(c[k], i); }, [&](int) { return factor[i]; });
            if (FAST || p.col + i < s.cols)
                store_codes<Out, FAST>(o.q, (p.col + i) * o.q_pitch + p.row, codes, s.rows - p.row);
        } else {
            Codes<Out> codes = encode<Out>([&](int k) { return element<In>(c[i], k); },
                                           [&](int k) { return factor[BY_ROW ? i : k]; });
            if (FAST || p.row + i < s.rows)
                store_codes<Out, FAST>(o.q, (p.row + i) * o.q_pitch + p.col, codes, s.cols - p.col);
        }
    }
}

/* Thread blocks to keep on a multiprocessor: as many as its registers hold without spilling. Unpacking f16
 * takes more of them than bf16 does, and so does a source that computes. */
template <class Source, int SECOND, bool FAST> constexpr int min_blocks()
{
    using In = typename Source::In;
    if (!FAST) return 1;
    const bool half = PACKED<In> && INF_BITS<In> != INF_BITS<__nv_bfloat16>, second = SECOND != 0;
    if (!PACKED<In> || (half && (second || Source::COMPUTES)) || (second && Source::COMPUTES)) return 2;
    return second ? 3 : 4;
}

/* Blocks of one direction into `first`; of a second one, if SECOND is not 0, into `second`. */
template <class Source, class Out, class Rule, int FIRST, int SECOND, bool FAST>
__global__ void __launch_bounds__(THREADS, (min_blocks<Source, SECOND, FAST>()))
    quantize_tile(const Source source, const Rule rule, const Shape s, const Copy first, const Copy second)
{
    using In = typename Source::In;
    __shared__ alignas(16) ScaleStage<Rule::BLOCK> stage[SECOND ? 2 : 1];
    int64_t row0, col0;
    tile_origin(s, &row0, &col0);
    const Position p = position(row0, col0);
    Chunk<In> c[LANE_ROWS];
    source.template load<FAST>(c, s, p);
    quantize_one<In, Out, FIRST, FAST>(c, rule, s, p, first, stage[0]);
    if (SECOND) quantize_one<In, Out, SECOND, FAST>(c, rule, s, p, second, stage[SECOND ? 1 : 0]);
    __syncthreads();

    constexpr int BY_ROW = ROWS | SQUARES;
    stage[0].flush(first, FIRST & BY_ROW ? row0 : col0, (FIRST & BY_ROW ? col0 : row0) / Rule::BLOCK);
    if (SECOND)
        stage[1].flush(second, SECOND & BY_ROW ? row0 : col0, (SECOND & BY_ROW ? col0 : row0) / Rule::BLOCK);
}

} // namespace mx
#endif
