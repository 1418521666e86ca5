/* SPDX-License-Identifier: Apache-2.0
 * Recipes with fp32 scales. A new convention is a new row; what a column means
 * stands in recipe.h. */
#include <math.h>

#include "recipe_rows.h"

/* Where each convention was read. */
#define AO_BLOCK "pytorch/ao 36027d82 torchao/prototype/blockwise_fp8"
#define TE       "NVIDIA/TransformerEngine d0067d0d transformer_engine/common"
#define DEEPGEMM "deepseek-ai/DeepGEMM 54e22612 deep_gemm/utils/math.py"
#define DEEPSEEK "deepseek-ai/DeepSeek-V3 inference/kernel.py"
#define VLLM     "vllm-project/vllm 0f5257e2 per_token_group_quant.cu"
#define OCP      "OCP Microscaling Formats (MX) v1.0, section 6.3"

static const mx_recipe_row rows[] = {
    /* table 1d: fp32 scales */
    ROW("", "e4m3 e5m2 e4m3fnuz", "f32", "1x128 128x1 128x128 tensor", .f32_scale = MX_F32_DIVIDE,
        .f32_degenerate_one = true, NEAREST,
        TEXT("amax/max, elements divided by it; scale 1 for a zero block", OCP, "2023-09")),
    ROW("pow2", "e4m3 e5m2", "f32", "1x128 128x1 128x128 tensor", .f32_scale = MX_F32_DIVIDE,
        .f32_pow2 = MX_POW2_UP, .f32_degenerate_one = true, NEAREST,
        TEXT("amax/max rounded up to a power of two", OCP, "2023-09")),
    ROW("deepseek", "e4m3", "f32", "1x128 128x128", .f32_scale = MX_F32_DIVIDE, .amax_floor = 1e-4f,
        CAST(MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL),
        TEXT("amax at least 1e-4; elements divided by amax/448", DEEPSEEK, "2025-08-28")),
    ROW("deepseek-2024", "e4m3", "f32", "1x128 128x128", .f32_scale = MX_F32_DIVIDE,
        CAST(MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL),
        TEXT("no floor: a zero block gives 0/0 = NaN", DEEPSEEK, "2024-12")),
    ROW("deepseek-ue8m0", "e4m3", "f32", "1x128", .f32_scale = MX_F32_DIVIDE, .f32_pow2 = MX_POW2_UP,
        .amax_floor = 1e-4f, CAST(MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL),
        TEXT("scale rounded up to a power of two (approximate log2 taken as exact)", DEEPSEEK, "2025-08-28")),
    ROW("deepgemm", "e4m3", "f32", "1x128 128x128", .f32_scale = MX_F32_RECIPROCAL,
        .amax_nan = MX_AMAX_PROPAGATE, .amax_floor = 1e-4f, CAST(MX_RNE, MX_OVERFLOW, MX_NAN_SIGNED),
        TEXT("amax at least 1e-4; elements times 1/(amax/448)", DEEPGEMM, "2026-11")),
    ROW("deepgemm-ue8m0", "e4m3", "f32", "1x128 128x128", .f32_scale = MX_F32_RECIPROCAL,
        .f32_pow2 = MX_POW2_UP_BITS, .amax_nan = MX_AMAX_PROPAGATE, .amax_floor = 1e-4f,
        CAST(MX_RNE, MX_OVERFLOW, MX_NAN_SIGNED),
        TEXT("the scales of mxfp8-dg as fp32", DEEPGEMM, "2026-11")),
    ROW("te", "e4m3 e5m2", "f32", "1x128 128x1 128x128 tensor", .f32_scale = MX_F32_ENCODE,
        .f32_degenerate_one = true, NEAREST,
        TEXT("elements times max/amax; stores its reciprocal; zero, Inf, NaN amax: 1",
             TE "/recipe/recipe_common.cuh", "2026-11")),
    ROW("te-pow2", "e4m3 e5m2", "f32", "1x128 128x1 128x128 tensor", .f32_scale = MX_F32_ENCODE,
        .f32_pow2 = MX_POW2_TRUNCATE, .f32_degenerate_one = true, NEAREST,
        TEXT("max/amax cut to a power of two: the default on Blackwell", TE "/recipe/recipe_common.cuh",
             "2026-11")),
    ROW("ao-train", "e4m3", "f32", "1x128 128x1 128x128", .f32_scale = MX_F32_ENCODE,
        .f32_precision = MX_PRECISION_F64, .amax_floor = 1e-12f, NEAREST,
        TEXT("448/amax in fp64; stores its fp32 reciprocal; amax at least 1e-12", AO_BLOCK "_training",
             "2026-08-12")),
    ROW("ao-infer", "e4m3", "f32", "1x128 128x128", .f32_scale = MX_F32_DIVIDE, NEAREST,
        TEXT("no floor: a zero block gives 0/0 = NaN (pytorch/ao#4713)", AO_BLOCK "_inference",
             "2026-08-12")),
    ROW("vllm", "e4m3", "f32", "1x128", .f32_scale = MX_F32_DIVIDE, .amax_floor = 1e-10f,
        .clamp = MX_CLAMP_MAX_FIRST, NEAREST,
        TEXT("amax at least 1e-10; NaN becomes -max; also SGLang", VLLM, "2026-11")),
    ROW("bf16-quotient", "e4m3 e5m2", "f32", "tensor", .f32_scale = MX_F32_ENCODE,
        .f32_precision = MX_PRECISION_BF16, .f32_degenerate_one = true, NEAREST,
        TEXT("max/amax evaluated in bf16, as eager code on bf16 tensors did", "pytorch/pytorch#136181",
             "2024-09")),
};

const mx_recipe_table mx_f32_recipes = {rows, sizeof rows / sizeof *rows};
