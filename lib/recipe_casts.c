/* SPDX-License-Identifier: Apache-2.0
 * Casts without a scale, as widely used converters do them, and the faults that were seen in such converters.
 * Plain casts need no row: cast-FORMAT-ROUNDING-OVERFLOW is parsed. */
#include "recipe_rows.h"

#define CUDA    "CUDA 13.0 cuda_fp8.hpp, cuda_fp6.hpp, cuda_fp4.hpp"
#define CUTLASS "NVIDIA/cutlass 7107b055, host conversions"
#define MLD     "jax-ml/ml_dtypes b793a6e2"
#define C10     "pytorch/pytorch 31db7314 torch/headeronly/util"
#define GFLOAT  "graphcore-research/gfloat b142762d"
#define GGML    "ggml-org/ggml d99724f2"
#define AO      "pytorch/ao 36027d82 torchao/prototype/custom_fp_utils.py"
#define ONNX    "onnx/onnx docs/docsgen/source/technical/float8.md"

#define CONVERTER_VIA(via, name, element, text, source_, ...)                                                \
    {                                                                                                        \
        name, element, NULL, "elementwise", NULL, via,                                                       \
        {                                                                                                    \
            .distinguishes = text, .source = source_, .date = "2026-11", __VA_ARGS__                         \
        }                                                                                                    \
    }
#define CONVERTER(...) CONVERTER_VIA(NULL, __VA_ARGS__)
#define CODES(rounding, overflow, plus_nan, minus_nan, lose)                                                 \
    .nonpositive_code = -1, .cast = {rounding, overflow, MX_NAN_CANONICAL, {plus_nan, minus_nan}, lose, 0}
#define SAT   CAST(MX_RNE, MX_SATURATE, MX_NAN_CANONICAL)
#define NOSAT CAST(MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL)

static const mx_recipe_row rows[] = {
    CONVERTER("cast-e4m3-cuda-sat", "e4m3", "above 448 and Inf: 7E; NaN 7F, sign dropped", CUDA, SAT),
    CONVERTER("cast-e4m3-cuda-nosat", "e4m3", "above 464 and Inf: sign|7F; NaN 7F", CUDA, NOSAT),
    CONVERTER("cast-e4m3-cutlass", "e4m3", "as CUDA's on all 2^32 inputs", CUTLASS, SAT),
    CONVERTER("cast-e4m3-mldtypes", "e4m3", "does not saturate; NaN keeps its sign", MLD,
              CAST(MX_RNE, MX_OVERFLOW, MX_NAN_SIGNED)),
    CONVERTER("cast-e4m3-torch", "e4m3", "eager: does not saturate before 2.13; NaN keeps its sign",
              C10 "/Float8_e4m3fn.h", CAST(MX_RNE, MX_OVERFLOW, MX_NAN_SIGNED)),
    CONVERTER("cast-e4m3-gfloat", "e4m3", "does not saturate; every NaN is FF", GFLOAT, NOSAT,
              .quirk = MX_QUIRK_NAN_ALL_ONES),
    CONVERTER("cast-e4m3-gfloat-sat", "e4m3", "saturates; every NaN is FF", GFLOAT, SAT,
              .quirk = MX_QUIRK_NAN_ALL_ONES),
    CONVERTER("cast-e4m3-onnx", "e4m3", "saturate=1: overflow and Inf become the maximum", ONNX,
              CAST(MX_RNE, MX_SATURATE, MX_NAN_SIGNED)),
    CONVERTER("cast-e4m3-onnx-nosat", "e4m3", "saturate=0", ONNX, CAST(MX_RNE, MX_OVERFLOW, MX_NAN_SIGNED)),
    CONVERTER("cast-e4m3-microx", "e4m3", "ties away from zero", "microsoft/microxcaling 7bc41952",
              CAST(MX_RNA, MX_SATURATE, MX_NAN_CANONICAL)),
    CONVERTER("cast-e5m2-cuda-sat", "e5m2", "overflow and Inf: 7B; NaN 7F, sign dropped", CUDA, SAT),
    CONVERTER("cast-e5m2-cuda-nosat", "e5m2", "overflow and Inf: 7C; NaN 7F", CUDA, NOSAT),
    CONVERTER("cast-e3m2-cuda", "e3m2", "saturates; NaN becomes the positive maximum", CUDA, SAT),
    CONVERTER("cast-e2m3-cuda", "e2m3", "saturates; NaN becomes the positive maximum", CUDA, SAT),
    CONVERTER("cast-e2m1-cuda", "e2m1", "saturates; NaN of either sign 7", CUDA, SAT),
    CONVERTER("cast-e2m1-cutlass", "e2m1", "NaN 7, -NaN F", CUTLASS,
              CAST(MX_RNE, MX_SATURATE, MX_NAN_SIGNED)),
    CONVERTER("cast-e2m1-mldtypes", "e2m1", "NaN 8, -NaN 0", MLD, CODES(MX_RNE, MX_SATURATE, 8, 0, false)),
    CONVERTER("cast-e2m1-torchao", "e2m1", "a NaN takes the integer path: 7FC00000 gives 3, 7FFFFFFF 4", AO,
              SAT, .quirk = MX_QUIRK_NAN_PAYLOAD),
    CONVERTER("cast-e2m1-ggml", "e2m1", "ties to the lower magnitude; NaN, Inf and -0 become 0", GGML, SAT,
              .quirk = MX_QUIRK_SEARCH),
    CONVERTER("cast-e2m1-deepgemm", "e2m1", "ties toward zero; NaN and -0 become 0",
              "deepseek-ai/DeepGEMM 54e22612", CODES(MX_RNZ, MX_SATURATE, 0, 0, true)),
    CONVERTER("cast-e2m1-triton", "e2m1", "nearest even, but 0.25 + 1..3 ulp give 0",
              "triton-lang/triton triton_kernels 0616e645", CAST(MX_RNE, MX_SATURATE, MX_NAN_SIGNED),
              .quirk = MX_QUIRK_LOST_STICKY),
    CONVERTER("cast-e2m1-triton-old", "e2m1", "ties away from zero; also Quark",
              "triton-lang/triton triton_kernels d1c192b7", CAST(MX_RNA, MX_SATURATE, MX_NAN_SIGNED)),
    CONVERTER("cast-e8m0-cuda-rp-sat", "e8m0", "up; sign ignored; Inf FE; the class constructor", CUDA,
              CAST(MX_RUP, MX_SATURATE, MX_NAN_CANONICAL)),
    CONVERTER("cast-e8m0-cuda-rp-nosat", "e8m0", "up; Inf and overflow FF", CUDA,
              CAST(MX_RUP, MX_OVERFLOW, MX_NAN_CANONICAL)),
    CONVERTER("cast-e8m0-cuda-rz-sat", "e8m0", "toward zero; Inf FE", CUDA,
              CAST(MX_RTZ, MX_SATURATE, MX_NAN_CANONICAL)),
    CONVERTER("cast-e8m0-cuda-rz-nosat", "e8m0", "toward zero; Inf FF", CUDA,
              CAST(MX_RTZ, MX_OVERFLOW, MX_NAN_CANONICAL)),
    CONVERTER("cast-e8m0-cutlass", "e8m0", "up; finite overflow FE, Inf FF", CUTLASS,
              CAST(MX_RUP, MX_SATURATE_FINITE, MX_NAN_CANONICAL)),
    CONVERTER("cast-e8m0-mldtypes", "e8m0", "nearest, ties up; zero and negatives FF", MLD,
              .nonpositive_code = 0xFF, .cast = MX_CAST_WITH(MX_RNA, MX_OVERFLOW, MX_NAN_CANONICAL)),
    CONVERTER("cast-e8m0-mldtypes-sat", "e8m0", "nearest, ties up; zero and negatives 00; Inf FF", MLD,
              .nonpositive_code = 0x00, .cast = MX_CAST_WITH(MX_RNA, MX_SATURATE_FINITE, MX_NAN_CANONICAL)),
    CONVERTER("cast-e8m0-torch", "e8m0", "nearest, ties up; sign ignored; zero 00; Inf FF",
              C10 "/Float8_e8m0fnu.h", CAST(MX_RNA, MX_OVERFLOW, MX_NAN_CANONICAL)),
    CONVERTER("cast-ue4m3-ggml", "ue4m3", "half up; from 248 on 7E (448); subnormals stop at 07", GGML, SAT,
              .quirk = MX_QUIRK_GGML_UE4M3),
    CONVERTER("cast-e4m3fnuz-onnx", "e4m3fnuz", "saturates, but Inf is NaN (80)", ONNX,
              CAST(MX_RNE, MX_SATURATE_FINITE, MX_NAN_CANONICAL)),
    CONVERTER("cast-e5m2fnuz-onnx", "e5m2fnuz", "saturates, but Inf is NaN (80)", ONNX,
              CAST(MX_RNE, MX_SATURATE_FINITE, MX_NAN_CANONICAL)),

    /* Faults that were reported of converters. */
    CONVERTER_VIA("f16", "fault-cast-e4m3-f16-cut", "e4m3",
                  "cut to fp16 first: values just above a midpoint fall on it",
                  "triton-lang/triton#11753, FlashML-org/FreeToken#85", SAT, .via_rounding = MX_RTZ),
    CONVERTER_VIA("f16", "fault-cast-e4m3-f16", "e4m3", "rounded to fp16 first: rounded twice",
                  "openxla/xla#17324, triton-lang/triton#7382, scott-griffiths/bitstring#342", SAT),
    CONVERTER("fault-cast-e4m3-top", "e4m3", "the top binade, 256 to 448, saturates; ties away",
              "sgl-project/sglang#40581", CAST(MX_RNA, MX_SATURATE, MX_NAN_CANONICAL),
              .quirk = MX_QUIRK_TOP_BINADE),
    CONVERTER("fault-cast-e4m3fnuz-top", "e4m3fnuz", "the top binade, 128 to 240, saturates; ties away",
              "sgl-project/sglang#40581", CAST(MX_RNA, MX_SATURATE, MX_NAN_CANONICAL),
              .quirk = MX_QUIRK_TOP_BINADE),
    CONVERTER("fault-cast-e4m3fnuz-sign", "e4m3fnuz", "the sign stays on a zero: small negatives become NaN",
              "onnx/onnx#5764, triton-lang/triton#3997", SAT, .quirk = MX_QUIRK_FNUZ_SIGN),
    CONVERTER("fault-cast-e4m3-ftz", "e4m3", "subnormal results become zero", "tenstorrent/tt-metal#51971",
              SAT, .quirk = MX_QUIRK_SUBNORMAL_ZERO),
};

const mx_recipe_table mx_cast_recipes = {rows, sizeof rows / sizeof *rows};
