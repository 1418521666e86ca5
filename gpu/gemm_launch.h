/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_launch.h - from a call of the harness to a product's problem and its tensor maps. Host only. */
#ifndef MX_GPU_GEMM_LAUNCH_H
#define MX_GPU_GEMM_LAUNCH_H

#include <cuda.h>

#include "gemm.cuh"
#include "ops.h"

namespace gemm
{

/* Fill `p` from a call of gemm, grouped-forward, grouped-dgrad or grouped-wgrad. MX_KERNEL_DONE, or what to
 * return, with a message: a tensor is missing, shapes disagree, alpha, beta, c or bias are asked for. */
int problem_of(const mx_kernel_call *c, Problem *p);

/* Can bulk tensor copies read it? Base and pitch of codes must be multiples of 16 bytes, sizes below 2^31. */
bool has_tensor_maps(const Problem &p);

/* Tensor map of A's or B's codes with boxes of box_rows rows by 128 bytes, swizzled by 128 bytes. */
int tensor_map_codes(const mx_kernel_call *c, const Problem &p, bool of_a, int box_rows, CUtensorMap *map);

/* Likewise of a dense bf16 matrix, whose pitch is a multiple of 8. */
int tensor_map_bf16(const mx_kernel_call *c, const uint16_t *base, int64_t rows, int64_t pitch, int box_rows,
                    CUtensorMap *map);

/* Likewise of the outputs, where p.d_bulk says that they can have one. */
int tensor_map_outputs(const mx_kernel_call *c, const Problem &p, int box_rows, CUtensorMap *map);

/* Tensor map of tiled scales of that many rows: one tile of 512 bytes a box, tile after tile. */
int tensor_map_scale_tiles(const mx_kernel_call *c, const Scales &s, int64_t rows, CUtensorMap *map);

/* Rows of B, those of all experts. */
int64_t b_rows_of(const Problem &p);

/* One block a multiprocessor of the current device, `shared` bytes of dynamic shared memory allowed. */
int prepare(const mx_kernel_call *c, const void *kernel, size_t shared, int *blocks);

/* The readable kernel: any size, pitch and alignment. With `rest`, only what is_fast() denies. */
template <class F> int launch_plain(const mx_kernel_call *c, const Problem &p, bool rest);

/* Device memory for bf16 copies of operands, on the stream: borrowed, and given back when the work before it
 * is done. give_back() passes `status` on. */
int borrow(const mx_kernel_call *c, int64_t elements, uint16_t **work);
int give_back(const mx_kernel_call *c, uint16_t *work, int status);

/* Elements in a row of such a copy; those past K are zeros. */
int64_t staged_pitch(const Problem &p);

/* A (or B) as bf16 to `out`, dense with that pitch. */
template <class F>
int launch_stage(const mx_kernel_call *c, const Problem &p, bool of_a, uint16_t *out, int64_t pitch);

/* In two stages, by way of bf16 copies in device memory. */
template <class F> int launch_staged(const mx_kernel_call *c, const Problem &p);

/* The fast kernel through bf16, with the readable one where it can't go. */
template <class F> int launch_fused(const mx_kernel_call *c, const Problem &p);

/* Through fp8 wgmma with promotion of each block, fast and readable. */
template <class F> int launch_promoted(const mx_kernel_call *c, const Problem &p);
template <class F> int launch_promoted_plain(const mx_kernel_call *c, const Problem &p, bool rest);

} // namespace gemm

#endif
