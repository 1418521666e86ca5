/* SPDX-License-Identifier: Apache-2.0
 *
 * ops.h - how the files of gpu/ offer their kernels, and the few host services that they share.
 *
 * A file that offers kernels defines one constant table, MX_GPU_TABLE(name), and has one row in
 * MX_GPU_TABLES below; plugin.cu gathers the rows into the library that the harness loads. Nothing else is
 * shared between files: each launches its own kernels on the stream of the call, waits for nothing, and
 * keeps no state. */
#ifndef MX_GPU_OPS_H
#define MX_GPU_OPS_H

#include "mx_kernel.h"

#include <cuda_runtime.h>
#include <stdio.h>

/* One row a file: TABLE(name) for `extern const mx_gpu_table mx_gpu_<name>`. */
/* clang-format off */
#define MX_GPU_TABLES(TABLE) \
    TABLE(dequantize)        \
    TABLE(gemm)              \
    TABLE(quantize_e4m3)     \
    TABLE(quantize_e5m2)     \
    TABLE(quantize_fp4)      \
    TABLE(quantize_plain)    \
    TABLE(swiglu)            \
    TABLE(tcgen05_gemm)
/* clang-format on */

typedef struct mx_gpu_table {
    const mx_kernel_op *ops;
    uint32_t n_ops;
} mx_gpu_table;

#define MX_GPU_DECLARE(name) extern const mx_gpu_table mx_gpu_##name;
MX_GPU_TABLES(MX_GPU_DECLARE)
#undef MX_GPU_DECLARE

/* Define the table of a file from its array of operations. */
#define MX_GPU_TABLE(name, array) const mx_gpu_table mx_gpu_##name = {array, sizeof array / sizeof *array};

/* Leave a reason in the call's message and return `result` (MX_KERNEL_REFUSED, MX_KERNEL_FAILED). */
template <typename... Args>
static inline int mx_gpu_say(const mx_kernel_call *c, int result, const char *format, Args... args)
{
    if (c->message && c->message_size) snprintf(c->message, c->message_size, format, args...);
    return result;
}

/* To be returned after a launch: MX_KERNEL_DONE, or MX_KERNEL_FAILED with CUDA's words. */
static inline int mx_gpu_launched(const mx_kernel_call *c)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return MX_KERNEL_DONE;
    return mx_gpu_say(c, MX_KERNEL_FAILED, "launch: %s", cudaGetErrorString(error));
}

static inline bool mx_gpu_same(const char *a, const char *b)
{
    if (!a || !b) return a == b;
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

/* The tensor of a role ("x", "scale"), or NULL. */
static inline const mx_kernel_tensor *mx_gpu_in(const mx_kernel_call *c, const char *role)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (mx_gpu_same(c->in[i].name, role)) return &c->in[i];
    return NULL;
}
static inline mx_kernel_tensor *mx_gpu_out(const mx_kernel_call *c, const char *role)
{
    for (uint32_t i = 0; i < c->n_out; i++)
        if (mx_gpu_same(c->out[i].name, role)) return &c->out[i];
    return NULL;
}

static inline cudaStream_t mx_gpu_stream(const mx_kernel_call *c) { return (cudaStream_t)c->stream; }

#endif
