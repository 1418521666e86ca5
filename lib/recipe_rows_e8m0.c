/* SPDX-License-Identifier: Apache-2.0
 * Recipes with e8m0 scales. A new convention is a new row; what a column means
 * stands in recipe.h. */
#include <math.h>

#include "recipe_rows.h"

/* Where each convention was read. */
#define AO         "pytorch/ao 36027d82 torchao/prototype/mx_formats"
#define AO_OLD     "pytorch/ao parent of 5d73a0c10 torchao/prototype/mx_formats"
#define TE         "NVIDIA/TransformerEngine d0067d0d transformer_engine/common"
#define FI         "flashinfer-ai/flashinfer fb28d724 quantization_utils.cuh"
#define FI_CUTE    "flashinfer-ai/flashinfer fb28d724, CuTe-DSL backend"
#define TRITON     "triton-lang/triton triton_kernels 0616e645 _downcast_to_mxfp.py"
#define TRITON_OLD "triton-lang/triton triton_kernels d1c192b7 _downcast_to_mxfp.py"
#define DEEPGEMM   "deepseek-ai/DeepGEMM 54e22612 deep_gemm/utils/math.py"
#define VLLM       "vllm-project/vllm 0f5257e2 per_token_group_quant.cu"
#define VLLM_FP4   "vllm-project/vllm 07c13c7b csrc/quantization/fp4/nvfp4_utils.cuh"
#define AITER      "ROCm/aiter e4048607 mx_quant_utils.h"
#define MICROX     "microsoft/microxcaling 7bc41952"
#define GFLOAT     "graphcore-research/gfloat b142762d src/gfloat/block.py"
#define GGML       "ggml-org/ggml d99724f2 ggml-quants.c"
#define QUARK      "amd/Quark 1d27b558 mx/triton.py"
#define MSLK       "meta-pytorch/MSLK 2a3c8978"
#define OCP        "OCP Microscaling Formats (MX) v1.0, section 6.3"

#define AWAY CAST(MX_RNA, MX_SATURATE, MX_NAN_CANONICAL)
/* Bytes: what a NaN, an infinite and a zero amax give, and the limits of the rest. */
#define BYTES(nan, inf) .nan_byte = nan, .inf_byte = inf, .zero_byte = -1, .max_byte = 0xFE
#define BYTES_TO_FF     .nan_byte = 0xFF, .inf_byte = 0xFF, .zero_byte = -1, .max_byte = 0xFF
/* Multipliers of bytes 00, FE, FF. */
#define FACTORS(m00, mfe, mff) .multiplier_00 = m00, .multiplier_fe = mfe, .multiplier_ff = mff
#define EXACT_FACTORS          FACTORS(0x1p127f, 0x1p-127f, NAN)
#define RCEIL                  .ratio = MX_RATIO_MULTIPLY, .rule = MX_RULE_ROUND_UP
#define UP                     .ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_UP
#define FLOOR                  .ratio = MX_RATIO_AMAX, .rule = MX_RULE_FLOOR
#define CEIL                   .ratio = MX_RATIO_AMAX, .rule = MX_RULE_UP
#define EVEN                   .ratio = MX_RATIO_AMAX, .rule = MX_RULE_EVEN
#define ROW_BF16_AMAX(suffix, elements, scale, shapes, ...)                                                  \
    {                                                                                                        \
        suffix, elements, scale, shapes, "bf16", NULL, { __VA_ARGS__ }                                       \
    }

#define MX_ELEMENTS "e4m3 e5m2 e2m3 e3m2 e2m1 int8"
#define ALL_SHAPES  "1x32 32x1 32x32"

static const mx_recipe_row rows[] = {
    /* plain rules, with one set of special values: NaN ignored by amax, Inf gives FE */
    ROW("", MX_ELEMENTS, "e8m0", ALL_SHAPES, RCEIL, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("amax/max rounded up to a power of two: nothing clips; the rule of cuBLAS and TE", TE,
             "2026-11")),
    ROW("floor", MX_ELEMENTS, "e8m0", ALL_SHAPES, FLOOR, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("exponent of amax less emax: the largest elements may clip", OCP, "2023-09")),
    ROW("ceil", MX_ELEMENTS, "e8m0", ALL_SHAPES, CEIL, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("exponent of amax rounded up, less emax: never clips, wastes up to one binade", OCP, "2023-09")),
    ROW("even", MX_ELEMENTS, "e8m0", ALL_SHAPES, EVEN, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("floor after half an element ulp is added to amax", OCP, "2023-09")),
    ROW("up", MX_ELEMENTS, "e8m0", ALL_SHAPES, UP, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("as the plain rule, but any nonzero amax gives at least byte 01", TRITON, "2026-11")),
    ROW("near", "e4m3 e2m1", "e8m0", ALL_SHAPES, .ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_LOG2_NEAR,
        BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("round(log2(amax/max)): clips by up to 29 %", "ml-explore/mlx before #4353 (CPU, Metal)",
             "before 2026-11")),
    ROW("ocp-floor", MX_ELEMENTS, "e8m0", ALL_SHAPES, FLOOR, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF),
        EXACT_FACTORS, NEAREST,
        TEXT("the specification's own formula; NaN or Inf in a block make the block NaN", OCP, "2023-09")),
    /* table 1a: MXFP8 and FP6 */
    ROW("te", "e4m3 e5m2", "e8m0", ALL_SHAPES, RCEIL, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("NaN ignored by amax; Inf gives byte FE", TE "/cast/mxfp8/quantize_mxfp8.cuh", "2026-11")),
    ROW("te-before-3262", "e4m3 e5m2", "e8m0", "1x32 32x1", RCEIL, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        .decode_00_zero = true, .decode_ff_inf = true,
        TEXT("bytes 00 and FF read as 0 and Inf", "NVIDIA/TransformerEngine#3262", "before 2026-07")),
    ROW("te-intmax", "e4m3 e5m2", "e8m0", "32x1", RCEIL, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFE),
        EXACT_FACTORS, NEAREST,
        TEXT("column amax by integer maximum (not sm_100): NaN wins. Read, not observed",
             TE "/cast/mxfp8/quantize_mxfp8.cuh", "2026-11")),
    ROW("ao-rceil", "e4m3 e5m2", "e8m0", "1x32 32x1", RCEIL, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF),
        EXACT_FACTORS, NEAREST,
        TEXT("NaN or Inf in a block: byte FF and every element NaN", AO "/mx_tensor.py",
             "2026-08-12 on (PR #4725)")),
    ROW("ao-floor", "e4m3 e5m2", "e8m0", "1x32 32x1", FLOOR, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF),
        EXACT_FACTORS, NEAREST,
        TEXT("floor by exponent field (eager, Triton); NaN, Inf: block NaN", AO "/mx_tensor.py",
             "2026-08-12 on")),
    ROW("ao-floor-cuda", "e4m3 e5m2", "e8m0", "1x32 32x1", .ratio = MX_RATIO_SHIFT, .rule = MX_RULE_FLOOR,
        .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF), EXACT_FACTORS, NEAREST,
        TEXT("floor of amax*2^-emax: differs from ao-floor at amax 047FFFFF alone", AO "/mxfp8_quantize.cuh",
             "2026-08-12 on")),
    ROW("ao-ceil", "e4m3 e5m2", "e8m0", "1x32 32x1", CEIL, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF),
        EXACT_FACTORS, NEAREST,
        TEXT("ceil of log2 amax, less emax (eager only)", AO "/mx_tensor.py", "2026-08-12 on")),
    ROW("ao-even", "e4m3 e5m2", "e8m0", "1x32 32x1", EVEN, .inf_after_even = true,
        .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF), EXACT_FACTORS, NEAREST,
        TEXT("even; finite amax that rounds to Inf makes the block NaN (eager only)", AO "/mx_tensor.py",
             "2026-08-12 on")),
    ROW("ao-rceil-old", "e4m3 e5m2", "e8m0", "1x32", .ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_LOG2_CEIL,
        .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFE), FACTORS(1.0f, 0x1p-127f, NAN),
        .clamp = MX_CLAMP_PROPAGATE, NEAREST,
        TEXT("ceil(log2f(amax/max)): misses amax just above max*2^k; byte 00 multiplies by 1",
             AO_OLD "/mx_tensor.py", "before 2026-08-12")),
    ROW("ao-floor-old", "e4m3 e5m2", "e8m0", "1x32", FLOOR, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, -1),
        FACTORS(0x1p126f, 0x1p-127f, 0.0f), .clamp = MX_CLAMP_PROPAGATE, NEAREST,
        TEXT("byte 00 divides by 2^-126: elements half as large as they should be", AO_OLD "/mx_tensor.py",
             "before 2026-08-12")),
    ROW("ao-floor-old-cuda", "e4m3 e5m2", "e8m0", "1x32", FLOOR, BYTES(0xFF, -1),
        FACTORS(0x1p126f, 0x1p-127f, 0.0f), NEAREST,
        TEXT("as ao-floor-old, NaN ignored by amax", AO_OLD, "before 2026-08-12")),
    ROW_BF16_AMAX("ao-floor-old-triton", "e4m3 e5m2", "e8m0", "1x32", FLOOR, .amax_nan = MX_AMAX_PROPAGATE,
                  BYTES(0xFF, -1), FACTORS(0x1p126f, 0x1p-127f, 0.0f), .clamp = MX_CLAMP_PROPAGATE, NEAREST,
                  TEXT("amax rounded to bf16 first", AO_OLD "/kernels.py", "before 2026-08-12")),
    ROW("fi", "e4m3", "e8m0", "1x32", RCEIL, .flush = MX_FLUSH_ALL, BYTES(0xFF, 0xFE),
        FACTORS(0.0f, 0.0f, NAN), .clamp = MX_CLAMP_MIN_FIRST, NEAREST,
        TEXT("fast math: subnormals flushed, byte 00 gives zeros, NaN becomes +max", FI, "2026-11")),
    ROW("fi-cute", "e4m3", "e8m0", "1x32", RCEIL, BYTES(0xFE, 0xFE), FACTORS(0.0f, 0.0f, 0.0f),
        .clamp = MX_CLAMP_MIN_FIRST, NEAREST,
        TEXT("bytes 00 and FE give zeros; subnormals kept; NaN becomes +max", FI_CUTE, "2026-11")),
    ROW("triton-up", "e4m3 e5m2", "e8m0", "1x32 32x1", UP, BYTES_TO_FF, FACTORS(0.0f, 0x1p-127f, 0.0f),
        NEAREST,
        TEXT("any nonzero amax gives at least byte 01; Inf gives FF; byte 00 gives zeros", TRITON,
             "2026-11")),
    ROW("triton-dn", "e4m3 e5m2", "e8m0", "1x32 32x1", .ratio = MX_RATIO_SHIFT, .rule = MX_RULE_FLOOR,
        BYTES_TO_FF, FACTORS(0.0f, 0x1p-127f, 0.0f), NEAREST,
        TEXT("ROUND_DOWN: floor of amax/2^emax; byte 00 gives zeros", TRITON, "2026-11")),
    ROW("triton-dn448", "e4m3 e5m2", "e8m0", "1x32 32x1", .ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_FLOOR,
        BYTES_TO_FF, FACTORS(0.0f, 0x1p-127f, 0.0f), NEAREST,
        TEXT("ROUND_DOWN of amax/max: the largest elements clip in 6 of 8 blocks", TRITON_OLD,
             "before 0616e645")),
    ROW("dg", "e4m3", "e8m0", "1x32 1x128 128x128", UP, .amax_nan = MX_AMAX_PROPAGATE, .amax_floor = 1e-4f,
        BYTES(-1, -1), .min_byte = 1, EXACT_FACTORS, CAST(MX_RNE, MX_OVERFLOW, MX_NAN_SIGNED),
        TEXT("amax at least 1e-4: zero blocks get byte 69; elements by torch's cast", DEEPGEMM, "2026-11")),
    ROW("vllm-ue8m0", "e4m3", "e8m0", "1x32 1x128", UP, .amax_floor = 1e-10f, .ratio_floor = 1e-10f,
        BYTES_TO_FF, FACTORS(0x1p127f, 0x1p-127f, 0.0f), .clamp = MX_CLAMP_MAX_FIRST, NEAREST,
        TEXT("amax and amax/max at least 1e-10: zero blocks get 5E; NaN becomes -max; also SGLang", VLLM,
             "2026-11")),
    ROW("vllm-ue8m0-amaxfloor", "e4m3", "e8m0", "1x32 1x128", UP, .amax_floor = 1e-10f, BYTES_TO_FF,
        FACTORS(0x1p127f, 0x1p-127f, 0.0f), .clamp = MX_CLAMP_MAX_FIRST, NEAREST,
        TEXT("only amax at least 1e-10: zero blocks get 55", "vllm-project/vllm#53339", "2026-11")),
    ROW("aiter", "e4m3 e2m1", "e8m0", "1x32", UP, .amax_floor = 1e-10f, BYTES_TO_FF,
        FACTORS(0.0f, 0x1p-127f, 0.0f), NEAREST, .decode_00_zero = true,
        TEXT("amax at least 1e-10: zero blocks get 55 (FP4 5C); byte 00 reads as 0", AITER, "2026-11")),
    ROW("aiter-down", "e4m3 e2m1", "e8m0", "1x32", FLOOR, .amax_floor = 1e-10f, BYTES_TO_FF,
        FACTORS(0.0f, 0x1p-127f, 0.0f), NEAREST, .decode_00_zero = true,
        TEXT("aiter's down mode", AITER, "2026-11")),
    ROW("aiter-even", "e4m3 e2m1", "e8m0", "1x32", EVEN, .amax_floor = 1e-10f, BYTES_TO_FF,
        FACTORS(0.0f, 0x1p-127f, 0.0f), NEAREST, .decode_00_zero = true,
        TEXT("aiter's even mode: bumps at 1.9375 (FP8), 1.75 (FP4)", AITER, "2026-11")),
    ROW("aiter-ceil", "e4m3 e2m1", "e8m0", "1x32", CEIL, .amax_floor = 1e-10f, BYTES_TO_FF,
        FACTORS(0.0f, 0x1p-127f, 0.0f), NEAREST, .decode_00_zero = true,
        TEXT("aiter's ceil mode", AITER, "2026-11")),
    ROW("microx-py", "e4m3 e5m2 e2m3 e3m2 e2m1 int8", "e8m0", "1x32 32x1", .rule = MX_RULE_LOG2_FLOOR,
        .log2_in = MX_LOG2_SOURCE, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF), EXACT_FACTORS, AWAY,
        TEXT("log2 in the tensor's type: values just below 2^k read as 2^k; ties away",
             MICROX " mx/mx_ops.py", "2026-11")),
    ROW("microx-py-even", "e4m3 e5m2 e2m3 e3m2 e2m1 int8", "e8m0", "1x32 32x1", .rule = MX_RULE_LOG2_FLOOR,
        .log2_in = MX_LOG2_SOURCE, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF), EXACT_FACTORS, NEAREST,
        TEXT("as microx-py with round mode `even`", MICROX " mx/mx_ops.py", "2026-11")),
    ROW("microx-cu", "e4m3 e5m2 e2m3 e3m2 e2m1 int8", "e8m0", "1x32 32x1", FLOOR,
        .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF), EXACT_FACTORS, .nonpositive_code = -1,
        .cast = {MX_RNA, MX_SATURATE, MX_NAN_CANONICAL, {-1, -1}, true, 0},
        TEXT("exponent field; ties away; -0 becomes +0", MICROX " mx/cpp", "2026-11")),
    ROW("gfloat-f32", "e4m3", "e8m0", "1x32", .rule = MX_RULE_LOG2_FLOOR, .log2_in = MX_LOG2_F32,
        .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        .quirk = MX_QUIRK_NAN_ALL_ONES, TEXT("log2 in float32; every NaN element is FF", GFLOAT, "2026-11")),
    ROW("gfloat-f64", "e4m3", "e8m0", "1x32", .rule = MX_RULE_LOG2_FLOOR, .log2_in = MX_LOG2_F64,
        .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        .quirk = MX_QUIRK_NAN_ALL_ONES,
        TEXT("log2 in float64 arrays; every NaN element is FF", GFLOAT, "2026-11")),
    ROW("cublas", "e4m3 e5m2", "e8m0", "1x32", RCEIL, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("VEC32_UE8M0 output scale; NaN, Inf and zero blocks are open, taken as te",
             "cuBLASLt 13.0 documentation", "2025-08")),
    ROW("cutlass", "e4m3 e5m2", "e8m0", "1x32", RCEIL, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFE),
        EXACT_FACTORS, NEAREST,
        TEXT("as te, but NaN propagates to byte FF",
             "NVIDIA/cutlass 7107b055 sm100_visitor_store_tma_warpspecialized.hpp", "2026-11")),
    /* table 1b: what FP4 does differently; torchao's FP6 shares its cast */
    ROW("ao-rceil", "e2m1 e2m3 e3m2", "e8m0", "1x32", RCEIL, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF),
        EXACT_FACTORS, NEAREST, .quirk = MX_QUIRK_NAN_PAYLOAD,
        TEXT("round up; a NaN element takes the integer path of finite values", AO "/mx_tensor.py",
             "2026-08-12 on")),
    ROW("ao-floor", "e2m1 e2m3 e3m2", "e8m0", "1x32", FLOOR, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF),
        EXACT_FACTORS, NEAREST, .quirk = MX_QUIRK_NAN_PAYLOAD,
        TEXT("floor; a NaN element takes the integer path of finite values", AO "/mx_tensor.py",
             "2026-08-12 on")),
    ROW("ao-ceil", "e2m1 e2m3 e3m2", "e8m0", "1x32", CEIL, .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF),
        EXACT_FACTORS, NEAREST, .quirk = MX_QUIRK_NAN_PAYLOAD,
        TEXT("ceil; a NaN element takes the integer path of finite values", AO "/mx_tensor.py",
             "2026-08-12 on")),
    ROW("ao-even", "e2m1 e2m3 e3m2", "e8m0", "1x32", EVEN, .inf_after_even = true,
        .amax_nan = MX_AMAX_PROPAGATE, BYTES(0xFF, 0xFF), EXACT_FACTORS, NEAREST,
        .quirk = MX_QUIRK_NAN_PAYLOAD, TEXT("bumps at 1.75*2^k in FP4", AO "/mx_tensor.py", "2026-08-12 on")),
    ROW("te", "e2m1", "e8m0", "1x32 32x1", RCEIL, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("the NVFP4 kernel with e8m0 scales", TE "/cast/nvfp4", "2026-11")),
    ROW("fi", "e2m1", "e8m0", "1x32", RCEIL, .flush = MX_FLUSH_ALL, BYTES(0xFF, 0xFE),
        FACTORS(1.0f, 0.0f, NAN), NEAREST, TEXT("fast math; byte 00 multiplies by 1", FI, "2026-11")),
    ROW("vllm", "e2m1", "e8m0", "1x32", .ratio = MX_RATIO_GLOBAL, .rule = MX_RULE_FLOOR, BYTES(0xFF, 0xFE),
        EXACT_FACTORS, NEAREST, .nv_zero = MX_NV_ZERO_BY_AMAX, .nv_multiplier = MX_NV_RECIPROCAL_INF,
        .global_form = MX_GLOBAL_ENCODE, .nv_max = 448,
        TEXT("exponent of S*(amax/6) cut off: clips; UE8M0 path of the NVFP4 kernel", VLLM_FP4, "2026-11")),
    ROW("triton-up", "e2m1", "e8m0", "1x32 32x1", UP, BYTES_TO_FF, FACTORS(0.0f, 0x1p-127f, 0.0f),
        CAST(MX_RNE, MX_SATURATE, MX_NAN_SIGNED), .quirk = MX_QUIRK_LOST_STICKY,
        TEXT("nearest even, but 0.25 + 1..3 ulp give 0", TRITON, "2026-11")),
    ROW("triton-dn", "e2m1", "e8m0", "1x32 32x1", .ratio = MX_RATIO_SHIFT, .rule = MX_RULE_FLOOR, BYTES_TO_FF,
        FACTORS(0.0f, 0x1p-127f, 0.0f), CAST(MX_RNE, MX_SATURATE, MX_NAN_SIGNED),
        .quirk = MX_QUIRK_LOST_STICKY, TEXT("ROUND_DOWN: floor; 0.25 + 1..3 ulp give 0", TRITON, "2026-11")),
    ROW("triton-up-old", "e2m1", "e8m0", "1x32 32x1", UP, BYTES_TO_FF, FACTORS(0.0f, 0x1p-127f, 0.0f),
        CAST(MX_RNA, MX_SATURATE, MX_NAN_SIGNED), TEXT("ties away from zero", TRITON_OLD, "before 0616e645")),
    ROW("triton-dn-old", "e2m1", "e8m0", "1x32 32x1", .ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_FLOOR,
        BYTES_TO_FF, FACTORS(0.0f, 0x1p-127f, 0.0f), CAST(MX_RNA, MX_SATURATE, MX_NAN_SIGNED),
        TEXT("ROUND_DOWN of amax/6, which clips; ties away from zero", TRITON_OLD, "before 0616e645")),
    ROW("quark", "e2m1", "e8m0", "1x32", EVEN, BYTES(0xFF, 0xFE), EXACT_FACTORS,
        CAST(MX_RNA, MX_SATURATE, MX_NAN_SIGNED), TEXT("even rule, ties away from zero", QUARK, "2026-11")),
    ROW("quark-up", "e2m1", "e8m0", "1x32", UP, BYTES_TO_FF, FACTORS(0.0f, 0x1p-127f, 0.0f),
        CAST(MX_RNA, MX_SATURATE, MX_NAN_SIGNED), TEXT("ROUND_UP, ties away from zero", QUARK, "2026-11")),
    ROW("quark-down", "e2m1", "e8m0", "1x32", .ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_FLOOR, BYTES_TO_FF,
        FACTORS(0.0f, 0x1p-127f, 0.0f), CAST(MX_RNA, MX_SATURATE, MX_NAN_SIGNED),
        TEXT("ROUND_DOWN: floor of amax/6, which clips; ties away from zero", QUARK, "2026-11")),
    ROW("aiter-triton", "e2m1", "e8m0", "1x32", EVEN, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        .decode_00_zero = true,
        TEXT("even rule without a floor: zero blocks get 00; NaN open", "ROCm/aiter e4048607 _mxfp4_quant_op",
             "2026-11")),
    ROW("dg", "e2m1", "e8m0", "1x32 1x128", UP, .amax_nan = MX_AMAX_PROPAGATE, .amax_floor = 1e-4f,
        BYTES(-1, -1), .min_byte = 1, EXACT_FACTORS, .nonpositive_code = -1,
        .cast = {MX_RNZ, MX_SATURATE, MX_NAN_CANONICAL, {0, 0}, true, 0},
        TEXT("ties toward zero; NaN becomes 0; -0 becomes +0", DEEPGEMM, "2026-11")),
    ROW("ggml", "e2m1", "e8m0", "1x32", .rule = MX_RULE_LOG2_FLOOR, .log2_in = MX_LOG2_F32, .nan_byte = 0,
        .inf_byte = 0, .zero_byte = 0, .byte_wraps = true, EXACT_FACTORS, NEAREST, .quirk = MX_QUIRK_SEARCH,
        .decode_ff_inf = true,
        TEXT("log2f; the byte wraps below 2^-125; nearest code by search: ties to the lower magnitude", GGML,
             "2026-11")),
    ROW("ggml-cuda", "e2m1", "e8m0", "1x32", .rule = MX_RULE_LOG2_NEAR, .log2_in = MX_LOG2_F32,
        BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST, .decode_ff_inf = true,
        TEXT("activations: rint(log2f(amax)), a threshold of sqrt(2)", "ggml-org/ggml d99724f2 ggml-cuda",
             "2026-11")),
    ROW("mslk-ceil", "e2m1", "e8m0", "1x32", CEIL, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("MX4 default; also pytorch/FBGEMM 71d6f8b2; NaN open", MSLK, "2026-11")),
    ROW("mslk-even", "e2m1", "e8m0", "1x32", EVEN, .even_addend = 0x1FFFFF, BYTES(0xFF, 0xFE), EXACT_FACTORS,
        NEAREST, TEXT("even, adding one less than half an ulp: 1.75*2^k stays", MSLK, "2026-11")),
    ROW("mslk-floor", "e2m1", "e8m0", "1x32", FLOOR, BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST,
        TEXT("MX4 floor mode; NaN open", MSLK, "2026-11")),
    ROW("mslk-nearest", "e2m1", "e8m0", "1x32", .rule = MX_RULE_LOG2_NEAR, .log2_in = MX_LOG2_F32,
        BYTES(0xFF, 0xFE), EXACT_FACTORS, NEAREST, TEXT("MX4 nearest mode; NaN open", MSLK, "2026-11")),
    ROW("fbgemm-old", "e2m1", "e8m0", "1x32", .rule = MX_RULE_LOG2_CEIL, .log2_in = MX_LOG2_F32,
        .nan_byte = 0xFF, .inf_byte = 0xFC, .zero_byte = 0, .max_byte = 0xFC, EXACT_FACTORS,
        CAST(MX_RNA, MX_SATURATE, MX_NAN_SIGNED),
        TEXT("MX4 default: ceil(log2(amax)), bytes up to FC, ties away; NaN open",
             "pytorch/FBGEMM 036aa0dd fbgemm_gpu/triton/quantize.py", "before 71d6f8b2")),
};

const mx_recipe_table mx_e8m0_recipes = {rows, sizeof rows / sizeof *rows};
