/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm_ops.cu - the products that this library offers. */
#include "gemm_launch.h"

namespace
{

using namespace gemm;

#define BF16_PRODUCT(NAME, LAUNCH)                                                                           \
    int NAME(const mx_kernel_call *c)                                                                        \
    {                                                                                                        \
        Problem p;                                                                                           \
        int status = problem_of(c, &p);                                                                      \
        if (status != MX_KERNEL_DONE) return status;                                                         \
        return mx_gpu_same(mx_gpu_in(c, "a")->dtype, "e5m2") ? LAUNCH<dequant::E5m2> LAUNCH##_ARGS           \
                                                             : LAUNCH<dequant::E4m3>                         \
                                                                   LAUNCH##_ARGS;                            \
    }
#define launch_fused_ARGS  (c, p)
#define launch_staged_ARGS (c, p)
#define launch_plain_ARGS  (c, p, false)
BF16_PRODUCT(run_fused, launch_fused)
BF16_PRODUCT(run_staged, launch_staged)
BF16_PRODUCT(run_plain, launch_plain)

#define OP(KERNEL, OPERATION, RECIPE, FORMAT, OUT, LAYOUT, TAG, NOTE)                                        \
    {                                                                                                        \
        OPERATION "-" #KERNEL "-" FORMAT "-" OUT TAG, OPERATION, RECIPE, FORMAT, OUT, NULL, LAYOUT, NULL,    \
            NULL, "hopper-wgmma-bf16", "chain", NOTE, run_##KERNEL                                           \
    }
#define LAYOUTS(KERNEL, OPERATION, RECIPE, FORMAT, OUT, NOTE)                                                \
    OP(KERNEL, OPERATION, RECIPE, FORMAT, OUT, "row-major", "", NOTE),                                       \
        OP(KERNEL, OPERATION, RECIPE, FORMAT, OUT, "tile-128x4", "-tiled", NOTE)
#define FORMATS(KERNEL, OPERATION, NOTE)                                                                     \
    LAYOUTS(KERNEL, OPERATION, "mxfp8", "e4m3", "f32", NOTE),                                                \
        LAYOUTS(KERNEL, OPERATION, "mxfp8", "e4m3", "bf16", NOTE),                                           \
        LAYOUTS(KERNEL, OPERATION, "mxfp8-e5m2", "e5m2", "f32", NOTE),                                       \
        LAYOUTS(KERNEL, OPERATION, "mxfp8-e5m2", "e5m2", "bf16", NOTE)
#define OPERATIONS(KERNEL, NOTE)                                                                             \
    FORMATS(KERNEL, "gemm", NOTE), FORMATS(KERNEL, "grouped-forward", NOTE),                                 \
        FORMATS(KERNEL, "grouped-dgrad", NOTE), FORMATS(KERNEL, "grouped-wgrad", NOTE)

const mx_kernel_op ops[] = {
    OPERATIONS(fused, "dequantised to bf16 on the way to wgmma"),
    OPERATIONS(staged, "dequantised to bf16 in device memory, then multiplied"),
    OPERATIONS(plain, "readable, slow; the same sums by mma.sync"),
};

} // namespace

MX_GPU_TABLE(gemm, ops)
