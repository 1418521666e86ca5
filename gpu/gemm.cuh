/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm.cuh - what the products of gpu/ share: the problem, its scales in memory, its tiles in order. */
#ifndef MX_GPU_GEMM_CUH
#define MX_GPU_GEMM_CUH

#include <stdint.h>

#include "dequant.cuh"

namespace gemm
{

/* D = A B^T, dense; or for each group e: rows [offsets[e], offsets[e+1]) of A times B[e]^T (ROWS, forward and
 * dgrad); or columns [offsets[e], offsets[e+1]) of A and B (DEPTH, wgrad) into D[e]. */
enum class Grouping { NONE, ROWS, DEPTH };

/* Where the e8m0 byte of row r, K-block b lies. tiled: 512-byte tiles of 128 rows x 4 blocks, `pitch` tiles
 * for each 128 rows; otherwise row-major with `pitch` bytes a row. */
struct Scales {
    const uint8_t *data;
    int64_t pitch;
    bool tiled;
    bool words; /* the word of blocks 4i..4i+3 is aligned */
};

struct Problem {
    Grouping grouping;
    int groups;             /* 1 for NONE */
    const int64_t *offsets; /* device, groups + 1; NULL for NONE */
    int m, n, k;            /* ROWS: m is the rows of all groups; DEPTH: k the columns of all */
    Scales a_scales, b_scales;
    int64_t b_scale_stride; /* ROWS: bytes from one expert's scales to the next */
    void *d;
    int64_t d_pitch; /* elements */
    bool d_bf16;
    bool d_pairs; /* outputs of even column are aligned for two */
    bool d_bulk;  /* bulk copies can address D */
    /* For the kernels without tensor maps. */
    const uint8_t *a, *b;
    int64_t a_pitch, b_pitch;
};

constexpr uint32_t scales_of_one = 0x7f7f7f7f;

__device__ __forceinline__ int64_t scale_offset(const Scales &s, int64_t row, int64_t block)
{
    if (!s.tiled) return row * s.pitch + block;
    return (row / 128 * s.pitch + block / 4) * 512 + (row % 32) * 16 + row / 32 % 4 * 4 + block % 4;
}

/* A piece of one group's output, and what it is made of. */
struct Tile {
    int group;
    int row, col;           /* first row within the group, first column */
    int rows;               /* of the group */
    int first_row, first_k; /* of the group, in A */
    int depth;              /* K of the group */
    int scale_row;          /* where the group's rows start in A's scales */
};

/* Walks the groups. */
class Groups
{
  public:
    __device__ explicit Groups(const Problem &problem) : p(problem), group(0), scale_row(0) { enter(); }
    __device__ bool next()
    {
        if (group + 1 >= p.groups) return false;
        if (p.grouping == Grouping::ROWS) scale_row += p.a_scales.tiled ? (rows() + 127) / 128 * 128 : rows();
        group++;
        enter();
        return true;
    }
    __device__ int rows() const { return p.grouping == Grouping::ROWS ? end - start : p.m; }
    /* All of a tile but its place. */
    __device__ void tile(Tile &t) const
    {
        t.group = group;
        t.rows = rows();
        t.first_row = p.grouping == Grouping::ROWS ? start : 0;
        t.first_k = p.grouping == Grouping::DEPTH ? start : 0;
        t.depth = p.grouping == Grouping::DEPTH ? end - start : p.k;
        t.scale_row = scale_row;
    }
    const Problem &p;

  private:
    __device__ void enter()
    {
        start = p.grouping == Grouping::NONE ? 0 : (int)__ldg(p.offsets + group);
        end = p.grouping == Grouping::NONE ? 0 : (int)__ldg(p.offsets + group + 1);
    }
    int group, start, end, scale_row;
};

/* Walks the tiles of all groups in ascending order, kept inside each group and there in bands of BAND tiles
 * of rows, so that the tiles that run at one time share their operands in L2. */
template <int ROWS, int COLS, int BAND = 8> class Walk
{
  public:
    __device__ explicit Walk(const Problem &p) : groups(p), begin(0) { count(); }

    /* Tile `index`; indexes must ascend. False past the last one. */
    __device__ bool seek(uint32_t index, Tile &t)
    {
        while (index >= begin + tiles) {
            begin += tiles;
            if (!groups.next()) return false;
            count();
        }
        const uint32_t across = columns(), down = tiles / across, i = index - begin;
        const uint32_t first = i / (BAND * across) * BAND, within = i % (BAND * across);
        const uint32_t height = down - first < BAND ? down - first : BAND;
        groups.tile(t);
        t.row = (first + within % height) * ROWS;
        t.col = within / height * COLS;
        return true;
    }

  private:
    __device__ uint32_t columns() const { return (uint32_t)(groups.p.n + COLS - 1) / COLS; }
    __device__ void count() { tiles = (uint32_t)(groups.rows() + ROWS - 1) / ROWS * columns(); }
    Groups groups;
    uint32_t begin, tiles; /* of the group: first tile, number */
};

/* Row n of the tile's part of B. */
__device__ __forceinline__ int64_t b_row(const Problem &p, const Tile &t, int n)
{
    return n + (p.grouping == Grouping::ROWS ? (int64_t)t.group * p.n : 0);
}

/* The scales of B that a tile uses. */
__device__ __forceinline__ Scales b_scales(const Problem &p, const Tile &t)
{
    Scales s = p.b_scales;
    if (p.grouping == Grouping::ROWS) s.data += t.group * p.b_scale_stride;
    return s;
}

/* Where row r of the group lies in D. */
__device__ __forceinline__ int64_t d_row(const Problem &p, const Tile &t, int r)
{
    return r + (p.grouping == Grouping::DEPTH ? (int64_t)t.group * p.m : t.first_row);
}

/* Groups that begin or end inside a block share it with a neighbour: the fast kernels, which take whole
 * blocks, leave them to the plain one. */
__device__ __forceinline__ bool is_fast(const Problem &p, const Tile &t)
{
    const int end = t.first_k + t.depth;
    return p.grouping != Grouping::DEPTH || (t.first_k % 32 == 0 && (end % 32 == 0 || end == p.k));
}

__device__ __forceinline__ void store_pair(float *d, float x, float y) { *(float2 *)d = make_float2(x, y); }
__device__ __forceinline__ void store_pair(__nv_bfloat16 *d, float x, float y)
{
    *(__nv_bfloat162 *)d = __floats2bfloat162_rn(x, y);
}
__device__ __forceinline__ void store_one(float *d, float x) { *d = x; }
__device__ __forceinline__ void store_one(__nv_bfloat16 *d, float x) { *d = __float2bfloat16_rn(x); }

/* Part of a row of outputs: the pairs of wgmma's accumulator fragment at columns col + 8 j, j < GROUPS,
 * which lie at value[4 j], value[4 j + 1]. */
template <int GROUPS, class T>
__device__ __forceinline__ void store_row(const Problem &p, int64_t row, int col, const float *value)
{
    T *d = (T *)p.d + row * p.d_pitch + col;
    const int left = p.n - col < 8 * GROUPS ? p.n - col : 8 * GROUPS;
#pragma unroll
    for (int j = 0; j < GROUPS; j++) {
        const float x = value[4 * j], y = value[4 * j + 1];
        if (p.d_pairs && 8 * j + 1 < left) {
            store_pair(d + 8 * j, x, y);
            continue;
        }
        if (8 * j < left) store_one(d + 8 * j, x);
        if (8 * j + 1 < left) store_one(d + 8 * j + 1, y);
    }
}
template <int GROUPS>
__device__ __forceinline__ void store_row(const Problem &p, int64_t row, int col, const float *value)
{
    if (p.d_bf16)
        store_row<GROUPS, __nv_bfloat16>(p, row, col, value);
    else
        store_row<GROUPS, float>(p, row, col, value);
}

} // namespace gemm

#endif
