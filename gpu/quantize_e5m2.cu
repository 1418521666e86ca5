/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize_e5m2.cu - MXFP8 quantisers with E5M2 elements. */
#include "launch.cuh"

using namespace mx;

static const mx_kernel_op ops[] = {
    MX_GPU_MXFP8(E5M2, "e5m2-te", "mxfp8-e5m2-te", TE),
    MX_GPU_MXFP8(E5M2, "e5m2-floor", "mxfp8-e5m2-floor", FLOOR),
    MX_GPU_MXFP8(E5M2, "e5m2-ao-rceil", "mxfp8-e5m2-ao-rceil", AO_RCEIL),
    MX_GPU_MXFP8(E5M2, "e5m2-ao-floor", "mxfp8-e5m2-ao-floor", AO_FLOOR),
    MX_GPU_32X32(E5M2, "e5m2-te", "mxfp8-e5m2-te", TE),
    MX_GPU_32X32(E5M2, "e5m2-floor", "mxfp8-e5m2-floor", FLOOR),
};
MX_GPU_TABLE(quantize_e5m2, ops)
