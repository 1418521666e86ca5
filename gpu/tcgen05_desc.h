/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05_desc.h - the bit fields that Blackwell's tcgen05.mma kind::mxf8f6f4.block_scale is told its
 * operands by, and where its scales lie in global memory, in shared memory and in tensor memory (TMEM).
 *
 * Plain C11, C++ and CUDA, so that a CPU can test what no Blackwell here has run. Sources: PTX ISA, "tcgen05"
 * matrix and instruction descriptors; NVIDIA/cutlass include/cute/arch/mma_sm100_desc.hpp and
 * include/cutlass/detail/sm100_blockscaled_layout.hpp. */
#ifndef MX_TCGEN05_DESC_H
#define MX_TCGEN05_DESC_H

#include <stdint.h>

#ifdef __CUDACC__
#define MX_TCGEN05 static __host__ __device__ __forceinline__
#else
#define MX_TCGEN05 static inline
#endif

enum mx_tcgen05_format {
    MX_TCGEN05_E4M3 = 0,
    MX_TCGEN05_E5M2 = 1,
    MX_TCGEN05_E2M3 = 3,
    MX_TCGEN05_E3M2 = 4,
    MX_TCGEN05_E2M1 = 5
};

/* ---- instruction descriptor -----------------------------------------------------------------------------
 */

/* D is m x n (of both blocks, for a pair), operands K-major, scales UE8M0, K = 32: bits [7,10) format of A,
 * [10,13) of B, [17,23) n / 8, [23] scale format, [24,29) m / 16. m is 128, or 256 for a pair; n a multiple
 * of 8 (16 for a pair) up to 256. */
MX_TCGEN05 uint32_t mx_tcgen05_instruction(int a_format, int b_format, int m, int n)
{
    return (uint32_t)a_format << 7 | (uint32_t)b_format << 10 | (uint32_t)(n / 8) << 17 | 1u << 23 |
           (uint32_t)(m / 16) << 24;
}

/* The same for K-block `block`: which byte of a scale word applies, of B in bits [4,6), of A in [29,31). */
MX_TCGEN05 uint32_t mx_tcgen05_instruction_at(uint32_t instruction, int block)
{
    return instruction | (uint32_t)(block % 4) << 4 | (uint32_t)(block % 4) << 29;
}

/* ---- shared memory descriptors ----------------------------------------------------------------------------
 */

/* Bits [0,14) address / 16, [16,30) leading offset / 16, [32,46) stride of 8 rows / 16, [46,48) version 1,
 * [61,64) swizzle: 0 none, 2 of 128 bytes. */
MX_TCGEN05 uint64_t mx_tcgen05_shared(uint32_t address, uint32_t leading, uint32_t stride, int swizzle)
{
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride >> 4 & 0x3fff) << 32 | (uint64_t)1 << 46 | (uint64_t)swizzle << 61;
}

/* Codes, K-major: rows of 128 bytes swizzled by 128 bytes, at a multiple of 1024. */
MX_TCGEN05 uint64_t mx_tcgen05_codes(uint32_t address) { return mx_tcgen05_shared(address, 0, 1024, 2); }
/* The same, `bytes` further along K; a K-block of fp8 is 32. */
MX_TCGEN05 uint64_t mx_tcgen05_along(uint64_t codes, uint32_t bytes) { return codes + (bytes >> 4); }
/* A 512-byte tile of scales, as it lies in global memory. */
MX_TCGEN05 uint64_t mx_tcgen05_scale_tile(uint32_t address) { return mx_tcgen05_shared(address, 0, 128, 0); }

/* ---- scales: tiles of 128 rows x 4 K-blocks, 512 bytes ----------------------------------------------------
 */

MX_TCGEN05 int64_t mx_tcgen05_scale_tiles(int64_t blocks) { return blocks / 4 + (blocks % 4 != 0); }

/* The tile that holds the scale of a row and K-block, and the byte in it. `blocks` is the K-blocks of the
 * matrix. */
MX_TCGEN05 int64_t mx_tcgen05_scale_tile_of(int64_t row, int64_t block, int64_t blocks)
{
    return row / 128 * mx_tcgen05_scale_tiles(blocks) + block / 4;
}
MX_TCGEN05 int mx_tcgen05_scale_byte_of(int64_t row, int64_t block)
{
    return (int)(row % 32 * 16 + row / 32 % 4 * 4 + block % 4);
}

/* tcgen05.cp 32x128b.warpx4 spreads a tile over 32 lanes (of each of the four quarters) and four columns: a
 * scale is the byte block % 4 of the 32-bit word at this lane and column. */
MX_TCGEN05 int mx_tcgen05_scale_lane(int64_t row) { return (int)(row % 32); }
MX_TCGEN05 int mx_tcgen05_scale_column(int64_t row) { return (int)(row / 32 % 4); }

/* Columns that the scales of `rows` rows take, in whole tiles. */
MX_TCGEN05 int mx_tcgen05_scale_columns(int rows) { return (rows + 127) / 128 * 4; }

/* ---- tensor memory ----------------------------------------------------------------------------------------
 */

enum { MX_TCGEN05_COLUMNS = 512 };

/* Columns to allocate for `needed`: a power of two, at least 32; 0 if there are not that many. */
MX_TCGEN05 int mx_tcgen05_columns(int needed)
{
    int n = 32;
    while (n < needed)
        n *= 2;
    return n <= MX_TCGEN05_COLUMNS ? n : 0;
}

/* Address of a lane and column in an allocation. */
MX_TCGEN05 uint32_t mx_tcgen05_at(uint32_t base, int lane, int column)
{
    return base + ((uint32_t)lane << 16) + (uint32_t)column;
}

#endif
