/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_ops.cu - the products that this library offers: each kernel for gemm and the three grouped ones, both
 * fp8 formats, both layouts of scales, fp32 and bf16 outputs (rounded to nearest even from the fp32 sums). */
#include "gemm_launch.h"

namespace
{

using namespace gemm;

typedef int (*Launch)(const mx_kernel_call *c, const Problem &p);

int run(const mx_kernel_call *c, Launch e4m3, Launch e5m2)
{
    Problem p;
    int status = problem_of(c, &p);
    if (status != MX_KERNEL_DONE) return status;
    return mx_gpu_same(mx_gpu_in(c, "a")->dtype, "e5m2") ? e5m2(c, p) : e4m3(c, p);
}

template <class F> int all_plain(const mx_kernel_call *c, const Problem &p)
{
    return launch_plain<F>(c, p, false);
}
template <class F> int all_promoted_plain(const mx_kernel_call *c, const Problem &p)
{
    return launch_promoted_plain<F>(c, p, false);
}

#define RUN(KERNEL, LAUNCH)                                                                                  \
    int run_##KERNEL(const mx_kernel_call *c) { return run(c, LAUNCH<dequant::E4m3>, LAUNCH<dequant::E5m2>); }
RUN(fused, launch_fused)
RUN(staged, launch_staged)
RUN(plain, all_plain)
RUN(promoted, launch_promoted)
RUN(promoted_plain, all_promoted_plain)

#define OP(RUN, NAME, OPERATION, RECIPE, FORMAT, OUT, LAYOUT, TAG, ...)                                      \
    {                                                                                                        \
        OPERATION "-" NAME "-" FORMAT "-" OUT TAG, OPERATION, RECIPE, FORMAT, OUT, NULL, LAYOUT, NULL, NULL, \
            __VA_ARGS__, run_##RUN                                                                           \
    }
#define LAYOUTS(RUN, NAME, OPERATION, RECIPE, FORMAT, OUT, ...)                                              \
    OP(RUN, NAME, OPERATION, RECIPE, FORMAT, OUT, "row-major", "", __VA_ARGS__),                             \
        OP(RUN, NAME, OPERATION, RECIPE, FORMAT, OUT, "tile-128x4", "-tiled", __VA_ARGS__)
#define FORMATS(RUN, NAME, OPERATION, ...)                                                                   \
    LAYOUTS(RUN, NAME, OPERATION, "mxfp8", "e4m3", "f32", __VA_ARGS__),                                      \
        LAYOUTS(RUN, NAME, OPERATION, "mxfp8", "e4m3", "bf16", __VA_ARGS__),                                 \
        LAYOUTS(RUN, NAME, OPERATION, "mxfp8-e5m2", "e5m2", "f32", __VA_ARGS__),                             \
        LAYOUTS(RUN, NAME, OPERATION, "mxfp8-e5m2", "e5m2", "bf16", __VA_ARGS__)
#define OPERATIONS(RUN, NAME, ...)                                                                           \
    FORMATS(RUN, NAME, "gemm", __VA_ARGS__), FORMATS(RUN, NAME, "grouped-forward", __VA_ARGS__),             \
        FORMATS(RUN, NAME, "grouped-dgrad", __VA_ARGS__), FORMATS(RUN, NAME, "grouped-wgrad", __VA_ARGS__)

#define BF16 "sm90-f16-f32", "dequant-bf16"
#define FP8  "sm90-wgmma-fp8-f32", "promote-ffma:1"

const mx_kernel_op ops[] = {
    OPERATIONS(fused, "fused", BF16, "a becomes bf16 on the way to wgmma, b before"),
    OPERATIONS(staged, "staged", BF16, "both operands become bf16 in device memory, then are multiplied"),
    OPERATIONS(plain, "plain", BF16, "readable and slow; the same sums by mma.sync"),
    OPERATIONS(promoted, "promoted", FP8, "fp8 wgmma, each block of 32 scaled and added in fp32"),
    OPERATIONS(promoted_plain, "promoted-plain", FP8, "the same, readable and slow"),
};

} // namespace

MX_GPU_TABLE(gemm, ops)
