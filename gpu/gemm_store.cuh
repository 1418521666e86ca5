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

constexpr uint32_t STORE_BYTES = 4096; /* of shared memory for a warp, two boxes, at a multiple of 1024 */
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
#pragma unroll
            for (int box = 0; box < 4; box++) {
                begin();
                fill_bf16(d, box, lane);
                finish(p, x + 64 * box, y, box);
            }
        } else {
#pragma unroll
            for (int box = 0; box < 8; box++) {
                begin();
                fill_f32(d, box, lane);
                finish(p, x + 32 * box, y, box);
            }
        }
    }

  private:
    /* Boxes take the two buffers in turn. */
    __device__ __forceinline__ uint32_t at(int box) const { return buffer + box % 2 * (STORE_BYTES / 2); }
    __device__ __forceinline__ void begin() const
    {
        if (threadIdx.x % 32 == 0) hopper::store_wait<1>();
        __syncwarp();
    }
    __device__ __forceinline__ void finish(const Problem &p, int x, int y, int box) const
    {
        hopper::fence_async();
        __syncwarp();
        if (threadIdx.x % 32 != 0) return;
        if (x < p.n) hopper::store_box(map, x, y, at(box));
        hopper::store_commit();
    }
    /* Columns [64 box, 64 box + 64). */
    __device__ __forceinline__ void fill_bf16(const float (&d)[128], int box, int lane) const
    {
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            const float *v = d + 4 * (8 * box + j);
            hopper::store_matrices(at(box) + lane % 16 * 128 + (((j + lane / 16) ^ (lane % 8)) << 4),
                                   pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
        }
    }
    /* Columns [32 box, 32 box + 32). */
    __device__ __forceinline__ void fill_f32(const float (&d)[128], int box, int lane) const
    {
        const int g = lane / 4;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float *v = d + 4 * (4 * box + j);
            const uint32_t to = at(box) + g * 128 + (((2 * j + lane % 4 / 2) ^ g) << 4) + lane % 2 * 8;
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
