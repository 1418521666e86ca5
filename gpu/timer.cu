/* SPDX-License-Identifier: Apache-2.0
 *
 * timer.cu - the stop watch of the plug-in: CUDA events, the device's copy, and cuBLAS where it can be found.
 * Not part of any kernel: it waits, and allocates. */
#include "ops.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>
#include <vector>

namespace
{

/* ---- events
 * ------------------------------------------------------------------------------------------------ */

/* Seconds of each run(i), i from 0; `run` returns a CUDA error. An event stands between every two runs and
 * nothing waits before the last, so that the device never idles while the host is ahead. */
template <class Run> int timed(uint32_t warmup, uint32_t repeats, double *seconds, Run run)
{
    std::vector<cudaEvent_t> at(repeats + 1, NULL);
    cudaError_t error = cudaSuccess;
    for (cudaEvent_t &e : at)
        if (!error) error = cudaEventCreate(&e);
    for (uint32_t i = 0; i < warmup && !error; i++)
        error = run(i);
    if (!error) error = cudaEventRecord(at[0], NULL);
    for (uint32_t i = 0; i < repeats && !error; i++) {
        error = run(warmup + i);
        if (!error) error = cudaEventRecord(at[i + 1], NULL);
    }
    const cudaError_t waited = cudaDeviceSynchronize();
    if (!error) error = waited;
    for (uint32_t i = 0; i < repeats && !error; i++) {
        float ms = 0;
        error = cudaEventElapsedTime(&ms, at[i], at[i + 1]);
        seconds[i] = ms * 1e-3;
    }
    for (cudaEvent_t e : at)
        if (e) cudaEventDestroy(e);
    return (int)error;
}

void say(char *message, size_t size, const char *text)
{
    if (message && size) snprintf(message, size, "%s", text);
}

int time_calls(const mx_kernel_call *calls, uint32_t n_calls, uint32_t warmup, uint32_t repeats,
               double *seconds, char *message, size_t message_size)
{
    char reason[200] = "";
    int error = timed(warmup, repeats, seconds, [&](uint32_t i) {
        mx_kernel_call call = calls[i % n_calls];
        call.message = reason, call.message_size = sizeof reason;
        return call.op->run(&call) == MX_KERNEL_DONE ? cudaSuccess : cudaErrorNotSupported;
    });
    if (*reason) say(message, message_size, reason);
    return error;
}

int copy(void *to, const void *from, size_t bytes, uint32_t warmup, uint32_t repeats, double *seconds)
{
    return timed(warmup, repeats, seconds,
                 [&](uint32_t) { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, NULL); });
}

/* ---- data
 * --------------------------------------------------------------------------------------------------- */

/* A sum of four uniform numbers, scaled to variance 1: near enough to normal for a clock. */
__device__ float draw(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    float sum = -2;
    for (int k = 0; k < 4; k++)
        sum += (float)(z >> 16 * k & 0xFFFF) / 65536.0f;
    return sum * 1.7320508f;
}

template <class T> __global__ void fill_kernel(T *to, int64_t n, uint64_t seed)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)blockDim.x)
        to[i] = T(draw(seed, (uint64_t)i));
}

int fill(void *to, const char *dtype, int64_t n, uint64_t seed)
{
    if (mx_gpu_same(dtype, "f32"))
        fill_kernel<<<2048, 256>>>((float *)to, n, seed);
    else if (mx_gpu_same(dtype, "bf16"))
        fill_kernel<<<2048, 256>>>((__nv_bfloat16 *)to, n, seed);
    else if (mx_gpu_same(dtype, "f16"))
        fill_kernel<<<2048, 256>>>((__half *)to, n, seed);
    else
        return (int)cudaErrorInvalidValue;
    return (int)cudaGetLastError();
}

/* ---- cuBLAS, if it is there
 * ----------------------------------------------------------------------------------- */

/* The few entry points, declared here so that neither its headers nor its library are needed to build. */
struct Cublas {
    typedef int (*Create)(void **handle);
    typedef int (*Destroy)(void *handle);
    typedef int (*GemmEx)(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha,
                          const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                          const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
    void *library = NULL, *handle = NULL;
    Destroy destroy = NULL;
    GemmEx gemm = NULL;

    Cublas()
    {
        for (const char *name : {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"})
            if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) return;
        Create create = (Create)dlsym(library, "cublasCreate_v2");
        destroy = (Destroy)dlsym(library, "cublasDestroy_v2");
        gemm = (GemmEx)dlsym(library, "cublasGemmEx");
        if (!create || !destroy || !gemm || create(&handle) != 0) gemm = NULL;
    }
    ~Cublas()
    {
        if (handle && destroy) destroy(handle);
    }
};

struct DeviceBuffer {
    void *p = NULL;
    cudaError_t error;
    explicit DeviceBuffer(size_t bytes) { error = cudaMalloc(&p, bytes); }
    ~DeviceBuffer() { cudaFree(p); }
};

int product(int64_t m, int64_t n, int64_t k, uint32_t warmup, uint32_t repeats, double *seconds,
            char *message, size_t message_size)
{
    enum { OP_N = 0, OP_T = 1, R_16BF = 14, COMPUTE_32F = 68, DEFAULT = -1 };
    Cublas blas;
    if (!blas.gemm) {
        say(message, message_size, "no cuBLAS found (libcublas.so.13 or .12)");
        return (int)cudaErrorSharedObjectInitFailed;
    }
    DeviceBuffer a((size_t)(m * k) * 2), b((size_t)(n * k) * 2), d((size_t)(m * n) * 2);
    for (const DeviceBuffer *x : {&a, &b, &d})
        if (x->error) return (int)x->error;
    fill(a.p, "bf16", m * k, 1), fill(b.p, "bf16", n * k, 2);
    const float one = 1, zero = 0;
    /* Column-major: d^T [n, m] = b [n, k] a^T [k, m]. */
    return timed(warmup, repeats, seconds, [&](uint32_t) {
        int status = blas.gemm(blas.handle, OP_T, OP_N, (int)n, (int)m, (int)k, &one, b.p, R_16BF, (int)k,
                               a.p, R_16BF, (int)k, &zero, d.p, R_16BF, (int)n, COMPUTE_32F, DEFAULT);
        return status == 0 ? cudaSuccess : cudaErrorUnknown;
    });
}

/* ---- driver and clocks, from NVML where it is there
 * --------------------------------------------------------------- */

void state(char *text, size_t size)
{
    typedef int (*Init)(void);
    typedef int (*Driver)(char *version, unsigned length);
    typedef int (*Handle)(const char *bus, void **device);
    typedef int (*Clock)(void *device, int type, unsigned *mhz);
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    Init init = library ? (Init)dlsym(library, "nvmlInit_v2") : NULL;
    Init shutdown = library ? (Init)dlsym(library, "nvmlShutdown") : NULL;
    Driver driver = library ? (Driver)dlsym(library, "nvmlSystemGetDriverVersion") : NULL;
    Handle handle = library ? (Handle)dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2") : NULL;
    Clock clock = library ? (Clock)dlsym(library, "nvmlDeviceGetClockInfo") : NULL;
    char version[80] = "unknown", bus[32] = "";
    unsigned sm = 0, memory = 0;
    int device = 0;
    void *nvml = NULL;
    if (init && shutdown && driver && handle && clock && init() == 0) {
        driver(version, sizeof version);
        cudaGetDevice(&device);
        if (!cudaDeviceGetPCIBusId(bus, sizeof bus, device) && handle(bus, &nvml) == 0)
            clock(nvml, 1, &sm), clock(nvml, 2, &memory);
        shutdown();
    }
    snprintf(text, size, "driver %s, SM %u MHz, memory %u MHz", version, sm, memory);
    if (library) dlclose(library);
}

const mx_kernel_timer timer = {MX_KERNEL_ABI, time_calls, copy, product, fill, state};

} // namespace

extern "C" __attribute__((visibility("default"))) const mx_kernel_timer *mx_kernel_describe_timer(void)
{
    return &timer;
}
