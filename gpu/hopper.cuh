/* SPDX-License-Identifier: Apache-2.0
 *
 * hopper.cuh - the instructions of sm_90a that CUDA C++ has no words for: mbarriers, bulk tensor copies,
 * wgmma and its shared-memory descriptors. One function an instruction; PTX ISA 8.0 and later. */
#ifndef MX_GPU_HOPPER_CUH
#define MX_GPU_HOPPER_CUH

#include <cuda.h>
#include <stdint.h>

namespace hopper
{

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* ---- mbarrier: `parity` is that of the phase waited for: 0 for the first ------------------------------ */

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* The same to the block of this rank of the cluster, at the same offset of its shared memory. Not
 * ".release.cluster", which costs a fence of the whole device: what it announces is that wgmma has read, and
 * no memory was written. */
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}\n" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni over;\n"
                 "bra.uni again;\n"
                 "over:\n"
                 "}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* A ring of buffers: which one, and the phase of its barriers. */
template <int N> struct Ring {
    uint32_t slot = 0, phase = 0;
    __device__ void next()
    {
        if (++slot == N) slot = 0, phase ^= 1;
    }
};

__device__ __forceinline__ void warp_arrive(uint32_t barrier)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

/* To both blocks of a cluster of two. */
__device__ __forceinline__ void warp_arrive_both(uint32_t barrier)
{
    __syncwarp();
    if (threadIdx.x % 32 < 2) barrier_arrive_at(barrier, threadIdx.x % 32);
}

/* ---- copies ------------------------------------------------------------------------------------------ */

/* ---- clusters ---------------------------------------------------------------------------------------- */

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* One box of a 2-D tensor map, at column x and row y, to shared memory. What lies outside the tensor is
 * written as zeros and counts in the barrier's bytes. */
__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap *map, int x, int y, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                 "{%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

/* The same box to every block of the cluster whose bit is set, and to the barrier at that offset in each. */
__device__ __forceinline__ void load_box_multicast(uint32_t to, const CUtensorMap *map, int x, int y,
                                                   uint32_t barrier, uint16_t blocks)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
        : "memory");
}

/* A box back to its tensor, clipped at the tensor's sides. Needs fence_async() of those who wrote it. */
__device__ __forceinline__ void store_box(const CUtensorMap *map, int x, int y, uint32_t from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(x), "r"(y), "r"(from)
                 : "memory");
}
__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* Until what this thread's stores, but the last N committed, read may be written again. */
template <int N> __device__ __forceinline__ void store_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Ordinary stores of this thread become visible to wgmma and to bulk copies. */
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Four 8 x 16-byte matrices; lane l gives the address of row l % 8 of matrix l / 8 and receives bytes
 * 4 (l % 4) to +3 of row l / 4 of each. */
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
/* The reverse of load_matrices(). */
__device__ __forceinline__ void store_matrices(uint32_t address, uint32_t a, uint32_t b, uint32_t c,
                                               uint32_t d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a),
                 "r"(b), "r"(c), "r"(d)
                 : "memory");
}
__device__ __forceinline__ uint4 load_shared(uint32_t address)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}
__device__ __forceinline__ void store_shared(uint32_t address, uint4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ uint32_t load_word(uint32_t address)
{
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ float2 load_pair(uint32_t address)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ void store_shared(uint32_t address, uint32_t v)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t address, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

/* ---- registers of a warpgroup: all of its warps must call ---------------------------------------------- */

template <int N> __device__ __forceinline__ void registers_more()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> __device__ __forceinline__ void registers_fewer()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

/* ---- wgmma ------------------------------------------------------------------------------------------- */

/* Descriptor of a K-major operand whose rows are 128 bytes long, swizzled by 128 bytes, at a multiple of
 * 1024: bits [0,14) address / 16, [16,30) leading offset / 16 (ignored), [32,46) stride of 8 rows / 16,
 * [62,64) swizzle, 1 = 128 bytes. A step of 32 bytes along K adds 2. */
__device__ __forceinline__ uint64_t descriptor_128(uint32_t address)
{
    return (uint64_t)((address >> 4) & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

#define MX_D8(d, i)                                                                                          \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),              \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define MX_D64(d)                                                                                            \
    MX_D8(d, 0), MX_D8(d, 8), MX_D8(d, 16), MX_D8(d, 24), MX_D8(d, 32), MX_D8(d, 40), MX_D8(d, 48),          \
        MX_D8(d, 56)
#define MX_REGS64                                                                                            \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "  \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "   \
    "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
    "%62, %63}"

#define MX_D128(d)                                                                                           \
    MX_D64(d), MX_D8(d, 64), MX_D8(d, 72), MX_D8(d, 80), MX_D8(d, 88), MX_D8(d, 96), MX_D8(d, 104),          \
        MX_D8(d, 112), MX_D8(d, 120)
#define MX_REGS128                                                                                           \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "  \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "   \
    "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
    "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "   \
    "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, "       \
    "%101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, "       \
    "%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"

/* d (64 x 256) = a (64 x 16 bf16) * b + (accumulate ? d : 0), both operands in shared memory. */
__device__ __forceinline__ void wgmma_bf16_wide(float (&d)[128], uint64_t a, uint64_t b, int accumulate)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " MX_REGS128
                 ", %128, %129, p, 1, 1, 0, 0;\n}\n"
                 : MX_D128(d)
                 : "l"(a), "l"(b), "r"(accumulate));
}

/* The same with a in registers. */
__device__ __forceinline__ void wgmma_bf16_wide(float (&d)[128], const uint32_t (&a)[4], uint64_t b,
                                                int accumulate)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " MX_REGS128
                 ", {%128, %129, %130, %131}, %132, p, 1, 1, 0;\n}\n"
                 : MX_D128(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}

/* d (64 x 128) = a (64 x 32 fp8) * b (32 x 128 fp8), from zero. */
#define MX_WGMMA_FP8(NAME, TYPES)                                                                            \
    __device__ __forceinline__ void NAME(float(&d)[64], uint64_t a, uint64_t b)                              \
    {                                                                                                        \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"                                              \
                     "wgmma.mma_async.sync.aligned.m64n128k32.f32." TYPES " " MX_REGS64                      \
                     ", %64, %65, p, 1, 1;\n}\n"                                                             \
                     : MX_D64(d)                                                                             \
                     : "l"(a), "l"(b));                                                                      \
    }
MX_WGMMA_FP8(wgmma_e4m3, "e4m3.e4m3")
MX_WGMMA_FP8(wgmma_e5m2, "e5m2.e5m2")
#undef MX_WGMMA_FP8

} // namespace hopper

#endif
