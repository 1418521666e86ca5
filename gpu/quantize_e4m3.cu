/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize_e4m3.cu - MXFP8 quantisers with E4M3 elements. */
#include "launch.cuh"

using namespace mx;

static const mx_kernel_op ops[] = {
    MX_GPU_MXFP8(E4M3, "e4m3-te", "mxfp8-te", TE),
    MX_GPU_MXFP8(E4M3, "e4m3-floor", "mxfp8-floor", FLOOR),
    MX_GPU_MXFP8(E4M3, "e4m3-ao-rceil", "mxfp8-ao-rceil", AO_RCEIL),
    MX_GPU_MXFP8(E4M3, "e4m3-ao-floor", "mxfp8-ao-floor", AO_FLOOR),
    MX_GPU_32X32(E4M3, "e4m3-te", "mxfp8-te", TE),
    MX_GPU_32X32(E4M3, "e4m3-floor", "mxfp8-floor", FLOOR),
};
MX_GPU_TABLE(quantize_e4m3, ops)
