/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA kernel offered to mxcheck: an MXFP8 quantiser, one thread a block of 32 elements. Build it and have
 * it judged on a machine with a GPU:
 *
 *     nvcc -O2 -shared -Xcompiler -fPIC -I/usr/local/include -o mine.so kernel.cu
 *     mxcheck kernel --vectors vectors/ --kernel ./mine.so */
#include <cuda_fp8.h>

#include "mx_kernel.h"

__global__ void mxfp8(const float *x, int64_t pitch, int64_t rows, int64_t cols, uint8_t *q, uint8_t *scale)
{
    int64_t blocks = (cols + 31) / 32, b = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (b >= rows * blocks) return;
    int64_t r = b / blocks, c = b % blocks * 32, end = min(c + 32, cols);
    float amax = 0;
    for (int64_t i = c; i < end; i++)
        amax = fmaxf(amax, fabsf(x[r * pitch + i]));
    uint8_t s = __nv_cvt_float_to_e8m0(amax * (1 / 448.0f), __NV_SATFINITE, cudaRoundPosInf);
    float multiplier = s == 254 ? 0x1p-127f : __uint_as_float((254u - s) << 23);
    scale[b] = s;
    for (int64_t i = c; i < end; i++)
        q[r * cols + i] = __nv_cvt_float_to_fp8(x[r * pitch + i] * multiplier, __NV_SATFINITE, __NV_E4M3);
}

static int quantize(const mx_kernel_call *call)
{
    const mx_kernel_tensor &x = call->in[0];
    int64_t rows = x.shape[0], cols = x.shape[1], n = rows * ((cols + 31) / 32);
    if (n == 0) return MX_KERNEL_DONE;
    mxfp8<<<(unsigned)((n + 127) / 128), 128, 0, (cudaStream_t)call->stream>>>(
        (const float *)x.data, x.pitch, rows, cols, (uint8_t *)call->out[0].data,
        (uint8_t *)call->out[1].data);
    return cudaGetLastError() == cudaSuccess ? MX_KERNEL_DONE : MX_KERNEL_FAILED;
}

extern "C" const mx_kernel_library *mx_kernel_describe(void)
{
    static const mx_kernel_op op = {"quantize", "quantize", "mxfp8", "f32",   nullptr, nullptr, nullptr,
                                    nullptr,    nullptr,    nullptr, nullptr, nullptr, quantize};
    static const mx_kernel_library library = {MX_KERNEL_ABI, "example in CUDA",    "1", 1,
                                              &op,           MX_KERNEL_CUDA_MEMORY};
    return &library;
}
