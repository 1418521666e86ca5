/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_launch.cu - see gemm_launch.h. */
#include "gemm_launch.h"

namespace gemm
{

namespace
{

int64_t pitch_of(const mx_kernel_tensor *t) { return t->pitch ? t->pitch : t->shape[t->rank - 1]; }
int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

Scales scales_of(const mx_kernel_tensor *t, bool tiled, int64_t k)
{
    int64_t blocks = ceil_div(k, 32);
    int64_t pitch = tiled ? ceil_div(blocks, 4) : t->pitch ? t->pitch : blocks;
    bool words = (uintptr_t)t->data % 4 == 0 && (tiled || pitch % 4 == 0);
    return {(const uint8_t *)t->data, pitch, tiled, words};
}

bool ranks_are(const mx_kernel_tensor *a, int ra, const mx_kernel_tensor *b, int rb,
               const mx_kernel_tensor *d, int rd)
{
    return a->rank == ra && b->rank == rb && d->rank == rd;
}

} // namespace

int problem_of(const mx_kernel_call *c, Problem *p)
{
    const mx_kernel_tensor *a = mx_gpu_in(c, "a"), *b = mx_gpu_in(c, "b"), *d = mx_gpu_out(c, "d");
    const mx_kernel_tensor *sa = mx_gpu_in(c, "a_scale"), *sb = mx_gpu_in(c, "b_scale");
    const mx_kernel_tensor *offsets = mx_gpu_in(c, "offsets");
    const bool grouped = !mx_gpu_same(c->op->operation, "gemm");
    const bool wgrad = mx_gpu_same(c->op->operation, "grouped-wgrad");
    if (!a || !b || !d || !sa || !sb || (grouped && !offsets))
        return mx_gpu_say(c, MX_KERNEL_FAILED, "needs a, a_scale, b, b_scale%s and d",
                          grouped ? ", offsets" : "");
    if (mx_gpu_in(c, "c") || mx_gpu_in(c, "bias") || c->alpha != 1 || c->beta != 0)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "alpha is 1; no c, no bias");
    const bool tiled = mx_gpu_same(c->op->scale_layout, "tile-128x4");
    *p = Problem{};
    p->grouping = !grouped ? Grouping::NONE : wgrad ? Grouping::DEPTH : Grouping::ROWS;
    if (!ranks_are(a, 2, b, grouped && !wgrad ? 3 : 2, d, wgrad ? 3 : 2))
        return mx_gpu_say(c, MX_KERNEL_FAILED, "unexpected ranks of a, b or d");
    p->groups = grouped ? (int)(offsets->shape[0] - 1) : 1;
    p->offsets = grouped ? (const int64_t *)offsets->data : NULL;
    const int64_t m = a->shape[0], k = a->shape[1], n = b->shape[b->rank - 2], limit = INT32_MAX - 256;
    if (m > limit || n > limit || k > limit)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "a side of 2^31 or more");
    p->m = (int)m, p->k = (int)k, p->n = (int)n;
    if (b->shape[b->rank - 1] != k || d->shape[d->rank - 1] != n || d->shape[d->rank - 2] != m)
        return mx_gpu_say(c, MX_KERNEL_FAILED, "shapes of a, b and d disagree");
    if (p->groups < 1 || (b->rank == 3 && b->shape[0] != p->groups) ||
        (d->rank == 3 && d->shape[0] != p->groups))
        return mx_gpu_say(c, MX_KERNEL_FAILED, "%d groups by the offsets, another number by b or d",
                          p->groups);
    p->a = (const uint8_t *)a->data, p->a_pitch = pitch_of(a);
    p->b = (const uint8_t *)b->data, p->b_pitch = pitch_of(b);
    p->a_scales = scales_of(sa, tiled, p->k), p->b_scales = scales_of(sb, tiled, p->k);
    p->b_scale_stride = (tiled ? ceil_div(n, 128) * 512 : n) * p->b_scales.pitch;
    if (p->b_scale_stride % 4 != 0 && p->groups > 1) p->b_scales.words = false;
    p->d = d->data, p->d_pitch = pitch_of(d), p->d_bf16 = mx_gpu_same(d->dtype, "bf16");
    p->d_pairs = p->d_pitch % 2 == 0 && (uintptr_t)d->data % (p->d_bf16 ? 4 : 8) == 0;
    const int64_t d_rows = m * (wgrad ? p->groups : 1);
    p->d_bulk = (uintptr_t)d->data % 16 == 0 && p->d_pitch % (p->d_bf16 ? 8 : 4) == 0 && d_rows < INT32_MAX;
    if ((double)(m / 16 + p->groups) * (double)(n / 8 + 1) * (wgrad ? p->groups : 1) > 0x1p31)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "too many tiles to count in 32 bits");
    return MX_KERNEL_DONE;
}

int64_t b_rows_of(const Problem &p) { return p.grouping == Grouping::ROWS ? (int64_t)p.n * p.groups : p.n; }

bool has_tensor_maps(const Problem &p)
{
    return p.m > 0 && p.n > 0 && p.k > 0 && b_rows_of(p) < INT32_MAX && (uintptr_t)p.a % 16 == 0 &&
           (uintptr_t)p.b % 16 == 0 && p.a_pitch % 16 == 0 && p.b_pitch % 16 == 0;
}

namespace
{

typedef decltype(&cuTensorMapEncodeTiled) Encode;

/* Through the runtime, so that nothing links against the driver. */
Encode encoder()
{
    void *f = NULL;
    cudaDriverEntryPointQueryResult found;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found);
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? (Encode)f : NULL;
}

/* Boxes of box_rows rows by 128 bytes, swizzled by 128 bytes. */
int tensor_map(const mx_kernel_call *c, CUtensorMapDataType type, int bytes, const void *base, int64_t rows,
               int64_t cols, int64_t pitch, int box_rows, CUtensorMap *map)
{
    Encode encode = encoder();
    if (!encode) return mx_gpu_say(c, MX_KERNEL_FAILED, "the driver has no cuTensorMapEncodeTiled");
    cuuint64_t size[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, stride[1] = {(cuuint64_t)(pitch * bytes)};
    cuuint32_t box[2] = {(cuuint32_t)(128 / bytes), (cuuint32_t)box_rows}, step[2] = {1, 1};
    CUresult r = encode(map, type, 2, (void *)base, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r != CUDA_SUCCESS) return mx_gpu_say(c, MX_KERNEL_FAILED, "tensor map: driver error %d", (int)r);
    return MX_KERNEL_DONE;
}

} // namespace

int tensor_map_codes(const mx_kernel_call *c, const Problem &p, bool of_a, int box_rows, CUtensorMap *map)
{
    return of_a ? tensor_map(c, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, p.a, p.m, p.k, p.a_pitch, box_rows, map)
                : tensor_map(c, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, p.b, b_rows_of(p), p.k, p.b_pitch, box_rows,
                             map);
}

int tensor_map_scale_tiles(const mx_kernel_call *c, const Scales &s, int64_t rows, CUtensorMap *map)
{
    Encode encode = encoder();
    if (!encode) return mx_gpu_say(c, MX_KERNEL_FAILED, "the driver has no cuTensorMapEncodeTiled");
    cuuint64_t size[2] = {128, (cuuint64_t)(ceil_div(rows, 128) * s.pitch)}, stride[1] = {512};
    cuuint32_t box[2] = {128, 1}, step[2] = {1, 1};
    CUresult r = encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)s.data, size, stride, box, step,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r != CUDA_SUCCESS) return mx_gpu_say(c, MX_KERNEL_FAILED, "tensor map: driver error %d", (int)r);
    return MX_KERNEL_DONE;
}

int tensor_map_outputs(const mx_kernel_call *c, const Problem &p, int box_rows, CUtensorMap *map)
{
    const int64_t rows = (int64_t)p.m * (p.grouping == Grouping::DEPTH ? p.groups : 1);
    *map = CUtensorMap{};
    if (!p.d_bulk) return MX_KERNEL_DONE;
    return p.d_bf16
               ? tensor_map(c, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p.d, rows, p.n, p.d_pitch, box_rows, map)
               : tensor_map(c, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, p.d, rows, p.n, p.d_pitch, box_rows, map);
}

int tensor_map_bf16(const mx_kernel_call *c, const uint16_t *base, int64_t rows, int64_t pitch, int box_rows,
                    CUtensorMap *map)
{
    return tensor_map(c, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, base, rows, pitch, pitch, box_rows, map);
}

int prepare(const mx_kernel_call *c, const void *kernel, size_t shared, int *blocks)
{
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(blocks, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "device: %s", cudaGetErrorString(error));
    return MX_KERNEL_DONE;
}

} // namespace gemm
