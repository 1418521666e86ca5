/* SPDX-License-Identifier: Apache-2.0
 * Recipes with ue4m3 scales: NVFP4. A new convention is a new row; what a column means
 * stands in recipe.h. */
#include <math.h>

#include "recipe_rows.h"

/* Where each convention was read. */
#define AO       "pytorch/ao 36027d82 torchao/prototype/mx_formats"
#define TE       "NVIDIA/TransformerEngine d0067d0d transformer_engine/common"
#define FI       "flashinfer-ai/flashinfer fb28d724 quantization_utils.cuh"
#define FI_CUTE  "flashinfer-ai/flashinfer fb28d724, CuTe-DSL backend"
#define VLLM_FP4 "vllm-project/vllm 07c13c7b csrc/quantization/fp4/nvfp4_utils.cuh"
#define GGML     "ggml-org/ggml d99724f2 ggml-quants.c"
#define MSLK     "meta-pytorch/MSLK 2a3c8978"

#define NV_UP_TO(max_, scale_, multiplier_, zero_, form_)                                                    \
    .nv_scale = scale_, .nv_multiplier = multiplier_, .nv_zero = zero_, .global_form = form_, .nv_max = max_
#define NV(scale_, multiplier_, zero_, form_) NV_UP_TO(448, scale_, multiplier_, zero_, form_)

static const mx_recipe_row rows[] = {
    /* table 1c: NVFP4 */
    ROW("", "e2m1", "ue4m3", "1x16 16x1 16x16",
        NV(MX_NV_S6, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_DECODE), NEAREST,
        TEXT("the arithmetic of te; stores the decoding global scale", TE "/cast/nvfp4", "2026-11")),
    ROW("te", "e2m1", "ue4m3", "1x16 16x1 16x16",
        NV(MX_NV_S6, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_AMAX), NEAREST,
        TEXT("amax*(S*(1/6)); multiplier 1/(d*(1/S)); stores amax", TE "/cast/nvfp4", "2026-11")),
    ROW("te-fast", "e2m1", "ue4m3", "1x16 16x1 16x16",
        NV(MX_NV_S6, MX_NV_S_OVER_D_BF16, MX_NV_ZERO_COMPUTED, MX_GLOBAL_AMAX), NEAREST,
        TEXT("fast math: multiplier S/d rounded to bf16", TE "/cast/nvfp4", "2026-11")),
    ROW("te-sr", "e2m1", "ue4m3", "1x16 16x1 16x16",
        NV(MX_NV_S6, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_AMAX), .nonpositive_code = -1,
        .cast = {MX_STOCHASTIC, MX_SATURATE, MX_NAN_CANONICAL, {-1, -1}, false, 8},
        TEXT("stochastic rounding of gradients, 8 random bits an element", TE "/cast/nvfp4", "2026-11")),
    ROW("te-rht", "e2m1", "ue4m3", "1x16 16x1", .hadamard = true,
        NV(MX_NV_S6, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_AMAX), NEAREST,
        TEXT("after a 16-point random Hadamard transform in bf16", TE "/hadamard_transform", "2026-11")),
    ROW("te-46", "e2m1", "ue4m3", "1x16",
        NV_UP_TO(256, MX_NV_FOUR_SIX, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_AMAX), NEAREST,
        TEXT("4/6: block scale or 1.5 times it, whichever errs less (sum of |error|)", TE "/cast/nvfp4",
             "2026-11")),
    ROW("te-46-mse", "e2m1", "ue4m3", "1x16",
        NV_UP_TO(256, MX_NV_FOUR_SIX, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_AMAX), .nv_mse = true,
        NEAREST, TEXT("4/6 by squared error", TE "/cast/nvfp4", "2026-11")),
    ROW("te-46-448", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_FOUR_SIX, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_AMAX), NEAREST,
        TEXT("4/6 with scales up to 448", TE "/cast/nvfp4", "2026-11")),
    ROW("fi", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_AMAX6_S, MX_NV_RECIPROCAL_INF, MX_NV_ZERO_BY_AMAX, MX_GLOBAL_ENCODE), .flush = MX_FLUSH_ALL,
        NEAREST, TEXT("underflowed scale: infinite multiplier, zeros become 7", FI, "2026-11")),
    ROW("fi-cute", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_AMAX6_S, MX_NV_RECIPROCAL_INF, MX_NV_ZERO_BY_SCALE, MX_GLOBAL_ENCODE), .flush = MX_FLUSH_ALL,
        NEAREST, TEXT("underflowed scale: all zeros", FI_CUTE, "2026-11")),
    ROW("vllm", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_AMAX6_S, MX_NV_RECIPROCAL_INF, MX_NV_ZERO_BY_SCALE, MX_GLOBAL_ENCODE), .flush = MX_FLUSH_ALL,
        NEAREST, TEXT("underflowed scale: all zeros", VLLM_FP4, "2026-11")),
    ROW("ao", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_DIV6_P, MX_NV_P_OVER_D, MX_NV_ZERO_COMPUTED, MX_GLOBAL_DECODE), .nv_floor = 0x1p-6f,
        .clamp = MX_CLAMP_PROPAGATE, NEAREST,
        TEXT("block scale at least 2^-6: zero blocks get 08", AO "/nvfp4_tensor.py", "2026-08-12 on")),
    ROW("ao-old", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_DIV6_P, MX_NV_DIVIDE_BY_PD, MX_NV_ZERO_COMPUTED, MX_GLOBAL_DECODE), .nv_floor = 0x1p-6f,
        .nv_unguarded = true, .clamp = MX_CLAMP_PROPAGATE, NEAREST,
        TEXT("elements divided by P*d; an all-zero tensor gives NaN scales",
             "pytorch/ao 02a1bc44 torchao/prototype/mx_formats/nvfp4_tensor.py", "before 2026-08")),
    ROW("ao-single", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_SINGLE, MX_NV_DIVIDE_BY_D, MX_NV_ZERO_COMPUTED, MX_GLOBAL_NONE), .nv_floor = 0x1p-6f,
        .clamp = MX_CLAMP_PROPAGATE, NEAREST,
        TEXT("no global scale: E4M3(amax/6), at least 2^-6", AO "/nvfp4_tensor.py", "2026-08-12 on")),
    ROW("mslk", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_AMAX6_S, MX_NV_S_OVER_D, MX_NV_ZERO_COMPUTED, MX_GLOBAL_ENCODE), .nv_floor = 0x1p-9f,
        NEAREST, TEXT("block scale at least 2^-9: zero blocks get 01; multiplier S/d", MSLK, "2026-11")),
    ROW("ggml", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_SINGLE, MX_NV_DIVIDE_BY_D, MX_NV_ZERO_COMPUTED, MX_GLOBAL_NONE), .nv_scale_half_up = true,
        NEAREST, .quirk = MX_QUIRK_SEARCH,
        TEXT("no global scale; scale rounded half up, from 248 on 448; nearest code by search",
             GGML " quantize_row_nvfp4_ref", "2026-11")),
    ROW("single", "e2m1", "ue4m3", "1x16",
        NV(MX_NV_SINGLE, MX_NV_RECIPROCAL, MX_NV_ZERO_COMPUTED, MX_GLOBAL_NONE), NEAREST,
        TEXT("no global scale, no floor: small blocks get scale 00", "dropbox/gemlite#39", "2026-11")),
};

const mx_recipe_table mx_ue4m3_recipes = {rows, sizeof rows / sizeof *rows};
