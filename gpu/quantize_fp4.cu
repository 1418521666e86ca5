/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize_fp4.cu - quantisers with E2M1 elements, two to a byte, the lower index in the low nibble: MXFP4
 * (32 elements, E8M0 scales) and NVFP4 (16 elements, E4M3 scales, one fp32 amax of the whole tensor). */
#include "launch.cuh"

using namespace mx;

namespace
{

/* ---- the tensor's amax ------------------------------------------------------------------------------------
 */

constexpr int PER_BLOCK = 256; /* threads */

/* Raise *amax (fp32 bits of a value that is not negative) to the largest finite-or-infinite magnitude; NaN is
 * ignored, as in the blocks. Magnitudes order as integers, so the result does not depend on the order. */
template <class In>
__global__ void __launch_bounds__(PER_BLOCK) tensor_amax(const Matrix<In> x, const Shape s, float *amax)
{
    uint32_t most = 0; /* of 16-bit types: of even and odd elements apart */
    for (int64_t r = blockIdx.y; r < s.rows; r += gridDim.y)
#pragma unroll 4
        for (int64_t c = (blockIdx.x * (int64_t)PER_BLOCK + threadIdx.x) * CHUNK; c < s.cols;
             c += (int64_t)gridDim.x * PER_BLOCK * CHUNK) {
            const bool whole = x.aligned && c + CHUNK <= s.cols;
            Chunk<In> v = whole ? x.template chunk<true>(s, r, c) : x.template chunk<false>(s, r, c);
            most = larger<In>(most, chunk_amax<In, true>(v));
        }
    if (PACKED<In>) most = max(most & 0xFFFFu, most >> 16);
    most = __reduce_max_sync(ALL, __float_as_uint(value<In>(most)));
    if (threadIdx.x % 32 == 0 && most) atomicMax((unsigned *)amax, most);
}

template <class In> void measure(const mx_kernel_call *c, const mx_kernel_tensor *x, float *amax)
{
    int64_t rows, cols;
    as_matrix(x, &rows, &cols);
    cudaMemsetAsync(amax, 0, sizeof *amax, mx_gpu_stream(c));
    if (rows == 0 || cols == 0) return;
    const int64_t wide = (cols + PER_BLOCK * CHUNK - 1) / (PER_BLOCK * CHUNK), high = 2048;
    const dim3 grid((unsigned)min(wide, (int64_t)64), (unsigned)min(rows, high));
    const Shape s = {rows, cols};
    tensor_amax<In><<<grid, PER_BLOCK, 0, mx_gpu_stream(c)>>>(matrix_of<In>(x, cols), s, amax);
}

/* `global` is that amax, as the recipe stores it. It is an input, or measured into four bytes that live for
 * this call, in the order of the stream. */
template <int FIRST, int SECOND> int nvfp4(const mx_kernel_call *c)
{
    const mx_kernel_tensor *given = mx_gpu_in(c, "global_amax"), *x = mx_gpu_in(c, "x");
    mx_kernel_tensor *global = mx_gpu_out(c, "global");
    if (!x) return mx_gpu_say(c, MX_KERNEL_FAILED, "no input x");
    float *scratch = NULL;
    if (!given) {
        cudaError_t error = cudaMallocAsync((void **)&scratch, sizeof *scratch, mx_gpu_stream(c));
        if (error) return mx_gpu_say(c, MX_KERNEL_FAILED, "scratch: %s", cudaGetErrorString(error));
        if (mx_gpu_same(x->dtype, "bf16"))
            measure<__nv_bfloat16>(c, x, scratch);
        else if (mx_gpu_same(x->dtype, "f16"))
            measure<__half>(c, x, scratch);
        else
            measure<float>(c, x, scratch);
    }
    const NVFP4Rule rule = {given ? (const float *)given->data : scratch};
    if (global && global->data)
        cudaMemcpyAsync(global->data, rule.global_amax, sizeof(float), cudaMemcpyDeviceToDevice,
                        mx_gpu_stream(c));
    int result = quantize_x<E2M1, FIRST, SECOND>(c, rule);
    if (scratch) cudaFreeAsync(scratch, mx_gpu_stream(c));
    return result;
}

const mx_kernel_op ops[] = {
    MX_GPU_ROW("quantize-row-mxfp4-te-tile", "quantize", "mxfp4-te", "fp4-low-first", "tile-128x4", NULL,
               NULL, (quantize<E2M1, TE, ROWS, 0>)),
    MX_GPU_ROW("quantize-row-mxfp4-te", "quantize", "mxfp4-te", "fp4-low-first", NULL, NULL, NULL,
               (quantize<E2M1, TE, ROWS, 0>)),
    MX_GPU_ROW("quantize-row-nvfp4-te-tile", "quantize", "nvfp4-te", "fp4-low-first", "tile-128x4", NULL,
               NULL, (nvfp4<ROWS, 0>)),
    MX_GPU_ROW("quantize-row-nvfp4-te", "quantize", "nvfp4-te", "fp4-low-first", NULL, NULL, NULL,
               (nvfp4<ROWS, 0>)),
};

} // namespace

MX_GPU_TABLE(quantize_fp4, ops)
