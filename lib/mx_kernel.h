/* SPDX-License-Identifier: Apache-2.0
 *
 * mx_kernel.h - how a kernel under test offers itself to mxcheck.
 *
 * A shared library exports one function, mx_kernel_describe(), that returns a table of operations: what
 * each computes, which recipe, layouts and accumulation it claims, and a function that runs it. The
 * harness allocates, fills and reads buffers through the library's own memory functions (all NULL: plain
 * host memory), so that a CUDA author needs no other code; see MX_KERNEL_CUDA_MEMORY below.
 *
 * Valid C11 and C++17. Needs no other header of mxcheck and links against nothing.
 */
#ifndef MX_KERNEL_H
#define MX_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MX_KERNEL_ABI 1u

/* Operations and their tensors. A name in [brackets] is optional. "x: f" means any of the formats that
 * the operation lists in `inputs`. Matrices are row-major with `pitch` elements between row starts, unless
 * `data_layout` says otherwise.
 *
 * operation            inputs                                        outputs
 * cast                 x: f [n]                                      q: element [n]
 * quantize             x: f [rows, cols] [global_amax: f32 [1]]      q, scale [global: f32 [1]]
 * quantize-both        x: f [rows, cols]                             q, scale, qt, scalet
 * dequantize           q, scale [global]                             y: f [rows, cols]
 * swiglu-quantize      gate, up: f [rows, cols]                      q, scale
 * swiglu-quantize-both gate, up: f [rows, cols]                      q, scale, qt, scalet
 * swiglu-grad-quantize gate, up, dy: f [rows, cols]                  q, scale, qt, scalet of [dgate | dup],
 *                                                                    a matrix of rows x 2 cols
 * place                grid: u8 or u32 [rows, cols] [offsets]        packed: u8, the grid in scale_layout (or
 *                                                                    data_layout)
 * gemm                 a [M, K], a_scale, b [N, K], b_scale          d: f [M, N] = a b^T
 *                      [c: f [M, N]] [bias: f [N]]
 * grouped-forward      a [R, K], a_scale, b [E, N, K], b_scale,      d: f [R, N]: rows of group e times
 * b[e]^T offsets: i64 [E + 1] grouped-dgrad        as grouped-forward, with b quantised along its own
 * reduction axis: [E, K', N'] given as [E, N, K] of this product, so the arithmetic is the same grouped-wgrad
 * a [M, R], a_scale, b [N, R], b_scale,         d: f [E, M, N]: columns of group e; offsets: i64 [E + 1] an
 * empty group gives zeros
 *
 * qt, scalet: the columnwise copy. With data_layout_t "transposed" qt is [cols, rows]; its scale grid is
 * [cols, ceil(rows / block)]. Likewise q and scale of a columnwise recipe with data_layout "transposed". */

typedef struct mx_kernel_tensor {
    const char *name;
    const char *dtype; /* a format name of mx.h ("e4m3", "bf16", "f32"), or "i64" */
    int32_t rank;      /* 0 to 4 */
    int64_t shape[4];  /* logical shape, in elements */
    int64_t pitch;     /* elements from one row (last axis) to the next; packed layouts: 0 */
    void *data;        /* in the library's own memory; may be NULL when bytes is 0 */
    size_t bytes;      /* size of the buffer, padding of the layout included */
} mx_kernel_tensor;

enum {
    MX_KERNEL_DONE = 0,    /* outputs are written, or will be when the stream is synchronised */
    MX_KERNEL_REFUSED = 1, /* legal, but not supported here (size, alignment, device): say why in message */
    MX_KERNEL_FAILED = 2   /* an error: say which in message */
};

struct mx_kernel_op;

typedef struct mx_kernel_call {
    const struct mx_kernel_op *op;
    uint32_t n_in, n_out;
    const mx_kernel_tensor *in;
    mx_kernel_tensor *out; /* buffers are allocated; shapes are what the operation asks for */
    double alpha, beta;    /* gemm: d = alpha * ab^T + beta * c; 1 and 0 elsewhere */
    uint64_t seed;         /* stochastic rounding */
    void *stream;          /* cudaStream_t of the harness; NULL: default */
    char *message;         /* room for a reason */
    size_t message_size;
    const char *recipe; /* of the case: op->recipe, or the one asked for where that is "*" */
} mx_kernel_call;

typedef int (*mx_kernel_run)(const mx_kernel_call *call);

typedef struct mx_kernel_op {
    const char *name;          /* unique in the library: "quantize-row-e4m3" */
    const char *operation;     /* first column of the table above */
    const char *recipe;        /* name of a recipe: `mxcheck list recipes`; "*": any, see mx_kernel_call */
    const char *inputs;        /* formats of x, a and so on that it takes: "f32,bf16,f16" */
    const char *output;        /* format of y or d: "f32", "bf16"; NULL for quantisers */
    const char *data_layout;   /* of q, a, b: "row-major" (NULL), "fp4-low-first", ... */
    const char *scale_layout;  /* of scale, a_scale, b_scale: "row-major" (NULL), "tile-128x4", ... */
    const char *data_layout_t; /* of qt: "row-major" (NULL: [rows, cols]) or "transposed" */
    const char *scale_layout_t;
    const char *model;    /* products: accumulation model (`mxcheck list models`); NULL: unknown */
    const char *schedule; /* products: "chain", "promote:4", "split:3x128", ...; NULL: unknown */
    const char *note;     /* shown beside the name: "compiled, never run: ..." */
    mx_kernel_run run;    /* NULL: described only, never run; the harness reports `note` */
} mx_kernel_op;

typedef struct mx_kernel_library {
    uint32_t abi; /* MX_KERNEL_ABI */
    const char *name;
    const char *version;
    uint32_t n_ops;
    const mx_kernel_op *ops;
    /* Memory; all NULL for host memory. Each returns 0 or an error number that error_text() explains. */
    int (*open)(char *device, size_t device_size); /* once, first; non-zero: no device. Names the device */
    int (*allocate)(void **p, size_t bytes);
    int (*release)(void *p);
    int (*upload)(void *to, const void *from, size_t bytes);
    int (*download)(void *to, const void *from, size_t bytes);
    int (*synchronize)(void); /* waits for everything; reports sticky device errors */
    const char *(*error_text)(int error);
} mx_kernel_library;

/* The one symbol a library exports. */
#define MX_KERNEL_SYMBOL "mx_kernel_describe"
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const mx_kernel_library *
mx_kernel_describe(void);

/* ---- optional: a stop watch ------------------------------------------------------------------------
 * A library whose memory lies on a device may export a second symbol, so that `mxcheck bench` can time it,
 * and any other library of the same device. All functions return 0 or an error number of the library's
 * error_text(), with a reason in `message` (may be NULL) where CUDA's words would not do. */
typedef struct mx_kernel_timer {
    uint32_t abi; /* MX_KERNEL_ABI */
    /* Seconds of each of `repeats` runs after `warmup` unmeasured ones. Run i takes calls[i % n_calls]:
     * several calls over different buffers keep a cache from answering. */
    int (*time)(const mx_kernel_call *calls, uint32_t n_calls, uint32_t warmup, uint32_t repeats,
                double *seconds, char *message, size_t message_size);
    /* The device's own copy of `bytes` from one buffer to another, timed alike. */
    int (*copy)(void *to, const void *from, size_t bytes, uint32_t warmup, uint32_t repeats, double *seconds);
    /* The vendor's bf16 product d [m, n] = a [m, k] b [n, k]^T on random data, timed alike. */
    int (*product)(int64_t m, int64_t n, int64_t k, uint32_t warmup, uint32_t repeats, double *seconds,
                   char *message, size_t message_size);
    /* Fill n elements of "f32", "bf16" or "f16" with values near normal (mean 0, variance 1), the same for a
     * seed. */
    int (*fill)(void *to, const char *dtype, int64_t n, uint64_t seed);
    /* Driver and clocks as they are now, for the report: "driver 580.159, SM 1980 MHz, memory 3201 MHz". */
    void (*state)(char *text, size_t size);
} mx_kernel_timer;

#define MX_KERNEL_TIMER_SYMBOL "mx_kernel_describe_timer"
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const mx_kernel_timer *
mx_kernel_describe_timer(void);

#ifdef __cplusplus
}
#endif

/* The memory part for a CUDA author: in a .cu file, end the library's initialiser with
 *     MX_KERNEL_CUDA_MEMORY
 * and nothing else is needed. */
#if defined(__CUDACC__)
#include <cstdio>
#include <cuda_runtime.h>

static inline int mx_cuda_open(char *device, size_t device_size)
{
    cudaDeviceProp p;
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&p, 0);
    if (error == cudaSuccess) snprintf(device, device_size, "%s (sm_%d%d)", p.name, p.major, p.minor);
    return (int)error;
}
static inline int mx_cuda_allocate(void **p, size_t bytes) { return (int)cudaMalloc(p, bytes ? bytes : 1); }
static inline int mx_cuda_release(void *p) { return (int)cudaFree(p); }
static inline int mx_cuda_upload(void *to, const void *from, size_t n)
{
    return (int)cudaMemcpy(to, from, n, cudaMemcpyHostToDevice);
}
static inline int mx_cuda_download(void *to, const void *from, size_t n)
{
    return (int)cudaMemcpy(to, from, n, cudaMemcpyDeviceToHost);
}
static inline int mx_cuda_synchronize(void) { return (int)cudaDeviceSynchronize(); }
static inline const char *mx_cuda_error_text(int error) { return cudaGetErrorString((cudaError_t)error); }

#define MX_KERNEL_CUDA_MEMORY                                                                                \
    mx_cuda_open, mx_cuda_allocate, mx_cuda_release, mx_cuda_upload, mx_cuda_download, mx_cuda_synchronize,  \
        mx_cuda_error_text
#endif
#endif
