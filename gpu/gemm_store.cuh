/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_store.cuh - a warp's 16 x 256 outputs from the accumulators of wgmma m64n256 to memory.
 *
 * Whole rows go by way of shared memory and bulk copies, which run on while the next tile is multiplied;
 * stores from registers would make all multiprocessors wait for the same burst. Rows at the end of a group,
 * whose neighbours belong to another, and outputs that bulk copies can't address, are stored one by one. */
#ifndef MX_GPU_GEMM_STORE_CUH
#define MX_GPU_GEMM_STORE_CUH

#include "gemm.cuh"
#include "hopper.cuh"

namespace gemm
{

constexpr uint32_t STORE_BYTES = 8192; /* of shared memory for a warp, at a multiple of 1024 */
constexpr int STORE_ROWS = 16;         /* a box is 16 rows x 128 bytes, swizzled by 128 bytes */

/* Outputs are named by the thread's first row and column, as wgmma deals them: row, row + 8; col + 8 j, +1.
 */
struct Store {
    const CUtensorMap *map;
    uint32_t buffer;

    __device__ __forceinline__ void operator()(const Problem &p, const Tile &t, const float (&d)[128],
                                               int row, int col) const
    {
        const int lane = threadIdx.x % 32, first = row - lane / 4;
        if (!p.d_bulk || first + STORE_ROWS > t.rows) {
#pragma unroll
            for (int h = 0; h < 2; h++)
                if (row + 8 * h < t.rows) store_row<32>(p, d_row(p, t, row + 8 * h), col, d + 2 * h);
            return;
        }
        const int x = col - lane % 4 * 2, y = (int)d_row(p, t, first);
        if (p.d_bf16) {
            begin();
            fill_bf16(d, lane);
            finish<64>(p, x, y);
        } else {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                begin();
                fill_f32(d, half, lane);
                finish<32>(p, x + 128 * half, y);
            }
        }
    }

  private:
    __device__ __forceinline__ void begin() const
    {
        if (threadIdx.x % 32 == 0) hopper::store_wait();
        __syncwarp();
    }
    template <int COLS> __device__ __forceinline__ void finish(const Problem &p, int x, int y) const
    {
        hopper::fence_async();
        __syncwarp();
        if (threadIdx.x % 32 != 0) return;
        for (int box = 0; box < 4; box++)
            if (x + COLS * box < p.n) hopper::store_box(map, x + COLS * box, y, buffer + 2048 * box);
        hopper::store_commit();
    }
    __device__ __forceinline__ void fill_bf16(const float (&d)[128], int lane) const
    {
        const uint32_t at = buffer + lane % 16 * 128;
#pragma unroll
        for (int j = 0; j < 32; j += 2)
            hopper::store_matrices(at + j / 8 * 2048 + (((j % 8 + lane / 16) ^ (lane % 8)) << 4),
                                   pack(d[4 * j], d[4 * j + 1]), pack(d[4 * j + 2], d[4 * j + 3]),
                                   pack(d[4 * j + 4], d[4 * j + 5]), pack(d[4 * j + 6], d[4 * j + 7]));
    }
    /* Columns [128 half, 128 half + 128). */
    __device__ __forceinline__ void fill_f32(const float (&d)[128], int half, int lane) const
    {
        const uint32_t g = lane / 4, at = buffer + g * 128 + lane % 2 * 8;
#pragma unroll
        for (int j = 0; j < 16; j++) {
            const float *v = d + 4 * (16 * half + j);
            const uint32_t to = at + j / 4 * 2048 + (((j % 4 * 2 + lane % 4 / 2) ^ g) << 4);
            hopper::store_shared(to, v[0], v[1]);
            hopper::store_shared(to + 1024, v[2], v[3]);
        }
    }
    static __device__ __forceinline__ uint32_t pack(float x, float y)
    {
        const __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
        return *(const uint32_t *)&v;
    }
};

} // namespace gemm

#endif
