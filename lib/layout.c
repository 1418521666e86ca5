/* SPDX-License-Identifier: Apache-2.0
 * The layout table. A new layout is a new line of TILINGS and a new row of `layouts`. */
#include <string.h>

#include "mx.h"
#include "tiling.h"

#define ROW(div, mod, step)                                                                                  \
    {                                                                                                        \
        false, div, mod, step                                                                                \
    }
#define COL(div, mod, step)                                                                                  \
    {                                                                                                        \
        true, div, mod, step                                                                                 \
    }

/* id, tile rows and cols, pad rows and cols, stride, base, flip, column-major, pitched, grouped, digits */
#define TILINGS(X)                                                                                           \
    X(row_major, 1, 1, 1, 1, 1, 0, 0, false, true, false, 0, {ROW(1, 1, 1)})                                 \
    X(transposed, 1, 1, 1, 1, 1, 0, 0, true, true, false, 0, {ROW(1, 1, 1)})                                 \
    X(tile_128x4, 128, 4, 128, 4, 512, 0, 0, false, false, true, 3,                                          \
      {ROW(1, 32, 16), ROW(32, 4, 4), COL(1, 4, 1)})                                                         \
    X(tile_128x4_t, 4, 128, 4, 128, 512, 0, 0, true, false, false, 3,                                        \
      {COL(1, 32, 16), COL(32, 4, 4), ROW(1, 4, 1)})                                                         \
    X(tile_8x4, 8, 4, 8, 4, 32, 0, 0, false, false, true, 2, {ROW(1, 8, 4), COL(1, 4, 1)})                   \
    X(words, 1, 4, 4, 4, 4, 0, 0, true, false, false, 1, {COL(1, 4, 1)})                                     \
    X(mn_major, 1, 1, 4, 1, 1, 0, 0, true, false, false, 0, {ROW(1, 1, 1)})                                  \
    X(aiter, 32, 8, 32, 8, 256, 0, 0, false, false, false, 4,                                                \
      {COL(1, 4, 64), ROW(1, 16, 4), COL(4, 2, 2), ROW(16, 2, 1)})                                           \
    X(n32k4, 32, 4, 32, 4, 128, 0, 0, false, false, false, 2, {ROW(1, 32, 4), COL(1, 4, 1)})                 \
    X(v_4x4, 4, 1, 4, 4, 4, 0, 0, false, false, false, 1, {ROW(1, 4, 1)})                                    \
    X(row_pairs, 2, 1, 2, 1, 2, 0, 0, false, false, false, 1, {ROW(1, 2, 1)})                                \
    X(te_rowwise, 1, 1, 128, 4, 1, 0, 0, false, false, false, 0, {ROW(1, 1, 1)})                             \
    X(te_columnwise, 1, 1, 4, 128, 1, 0, 0, false, false, false, 0, {ROW(1, 1, 1)})                          \
    X(k_major, 1, 1, 1, 4, 1, 0, 0, false, false, false, 0, {ROW(1, 1, 1)})                                  \
    X(low_first, 1, 2, 1, 2, 2, 0, 0, false, true, false, 1, {COL(1, 2, 1)})                                 \
    X(high_first, 1, 2, 1, 2, 2, 0, 1, false, true, false, 1, {COL(1, 2, 1)})                                \
    X(split_32, 1, 32, 1, 32, 32, 0, 0, false, false, false, 2, {COL(1, 16, 2), COL(16, 2, 1)})              \
    X(split_16, 1, 16, 1, 64, 16, 0, 0, false, false, false, 2, {COL(1, 8, 2), COL(8, 2, 1)})                \
    X(mxfp4_codes, 1, 32, 1, 32, 34, 2, 0, false, false, false, 2, {COL(1, 16, 2), COL(16, 2, 1)})           \
    X(mxfp4_scale, 1, 1, 1, 1, 17, 0, 0, false, false, false, 0, {ROW(1, 1, 1)})                             \
    X(nvfp4_codes, 1, 64, 1, 64, 72, 8, 0, false, false, false, 3,                                           \
      {COL(1, 8, 2), COL(8, 2, 1), COL(16, 4, 16)})                                                          \
    X(nvfp4_scale, 1, 4, 1, 4, 36, 0, 0, false, false, false, 1, {COL(1, 4, 1)})

#define TILING(id, ...)                                                                                      \
    static const mx_tiling tiling_##id = {__VA_ARGS__};                                                      \
    static int64_t size_##id(const mx_grid *g) { return mx_tiling_size(&tiling_##id, g); }                   \
    static int64_t offset_##id(const mx_grid *g, int64_t r, int64_t c)                                       \
    {                                                                                                        \
        return mx_tiling_offset(&tiling_##id, g, r, c);                                                      \
    }                                                                                                        \
    static bool inverse_##id(const mx_grid *g, int64_t offset, int64_t *r, int64_t *c)                       \
    {                                                                                                        \
        return mx_tiling_inverse(&tiling_##id, g, offset, r, c);                                             \
    }
TILINGS(TILING)

#define BY(id) size_##id, offset_##id, inverse_##id, &tiling_##id
#define CODES  true, false
#define SCALES false, true
#define BOTH   true, true

static const mx_layout layouts[] = {
    /* name, unit bits, codes and scales, grouped, pad, functions, source, note */
    {"row-major", 8, BOTH, false, -1, BY(row_major), "C order",
     "with pitch; also e2m3 and e3m2, one code a byte with two zero top bits"},
    {"row-major", 32, SCALES, false, -1, BY(row_major), "C order", "fp32 scales"},
    {"transposed", 8, BOTH, false, -1, BY(transposed), "Fortran order",
     "column-wise copies; torchao's columnwise data, and its scales seen as [cols, rows/32] with strides "
     "(1, cols)"},
    {"transposed", 32, SCALES, false, -1, BY(transposed), "Fortran order", "fp32 scales"},
    {"tile-128x4", 8, SCALES, true, 0, BY(tile_128x4),
     "NVIDIA/cutlass include/cutlass/detail/sm100_blockscaled_layout.hpp; cuBLASLt VEC32_UE8M0, VEC16_UE4M3",
     "512-byte tiles for tcgen05.mma; each expert group starts at a tile of its own"},
    {"tile-128x4-t", 8, SCALES, false, 0, BY(tile_128x4_t),
     "NVIDIA/TransformerEngine common/swizzle/swizzle.cu, columnwise scales",
     "column-wise scales [row blocks, columns] swizzled as (column, row block)"},
    {"tile-8x4", 8, SCALES, true, 0, BY(tile_8x4),
     "flashinfer-ai/flashinfer quantization_utils.cuh, SF layout 8x4", "for few rows"},
    {"deepgemm-ue8m0", 8, SCALES, false, 0, BY(words),
     "deepseek-ai/DeepGEMM deep_gemm/utils/layout.py, packed UE8M0",
     "int32 words of four K-blocks, MN-major, MN aligned to 4 words; rows past the end are not written "
     "there"},
    {"deepgemm-f32", 32, SCALES, false, -1, BY(mn_major),
     "deepseek-ai/DeepGEMM deep_gemm/utils/layout.py, fp32 scales", "MN-major, MN aligned to 4 words"},
    {"aiter-shuffle", 8, SCALES, false, -1, BY(aiter), "ROCm/aiter mx_quant_utils.h mx_scale_shuffle_idx",
     "256-byte tiles of 32 rows x 8 blocks for gfx950 MFMA"},
    {"aiter-n32k4", 8, SCALES, false, -1, BY(n32k4), "ROCm/aiter aiter/ops/shuffle.py shuffle_scale_n32k4",
     "128-byte tiles of 32 rows x 4 blocks for gfx1250 WMMA"},
    {"trtllm-v-4x4", 8, SCALES, false, -1, BY(v_4x4),
     "vllm-project/vllm csrc/libtorch_stable/nvfp4_kv_cache_kernels.cu, vllm-project/vllm#50084",
     "NVFP4 scales of the V cache on sm_100: four tokens together; token and block counts pad to 4"},
    {"te-rowwise", 8, SCALES, false, 0, BY(te_rowwise),
     "NVIDIA/TransformerEngine MXFP8 compact scales, rowwise", "rows padded to 128, blocks to 4"},
    {"te-columnwise", 8, SCALES, false, 0, BY(te_columnwise),
     "NVIDIA/TransformerEngine MXFP8 compact scales, columnwise", "row blocks padded to 4, columns to 128"},
    {"k-major-128x128", 32, SCALES, false, 0x3F800000, BY(k_major),
     "pytorch/ao blockwise scales for cuBLASLt BLK128x128_32F", "K blocks padded to 4 with 1.0"},
    {"fp4-low-first", 4, CODES, false, 0, BY(low_first),
     "PTX ISA cvt.e2m1x2; cuda_fp4.h, torchao, TE, Triton", "element 2i in the low nibble"},
    {"fp4-high-first", 4, CODES, false, 0, BY(high_first), "triton-lang/triton#5197",
     "element 2i in the high nibble"},
    {"fp4-row-pairs", 4, CODES, false, 0, BY(row_pairs), "PTO-ISA/SuperNPUBench#184",
     "elements (2i, c) low and (2i+1, c) high in one byte: [K/2, N] weights"},
    {"fp4-ggml-mxfp4", 4, CODES, false, 0, BY(split_32), "ggml-org/ggml block_mxfp4, data only",
     "byte j of 16: element j low, j+16 high"},
    {"fp4-ggml-nvfp4", 4, CODES, false, 0, BY(split_16), "ggml-org/ggml block_nvfp4, data only",
     "8 bytes for 16 elements: j low, j+8 high; whole superblocks of 64"},
    {"ggml-mxfp4-block", 4, CODES, false, -1, BY(mxfp4_codes), "ggml-org/ggml block_mxfp4",
     "17 bytes: scale, then 16 data bytes; pack codes and scales into one buffer"},
    {"ggml-mxfp4-block", 8, SCALES, false, -1, BY(mxfp4_scale), "ggml-org/ggml block_mxfp4",
     "the scale byte of each 17-byte block"},
    {"ggml-nvfp4-block", 4, CODES, false, -1, BY(nvfp4_codes), "ggml-org/ggml block_nvfp4",
     "36 bytes: 4 scales, then 32 data bytes; pack codes and scales into one buffer"},
    {"ggml-nvfp4-block", 8, SCALES, false, -1, BY(nvfp4_scale), "ggml-org/ggml block_nvfp4",
     "the 4 scale bytes of each 36-byte superblock"},
};

size_t mx_layout_count(void) { return sizeof layouts / sizeof *layouts; }

const mx_layout *mx_layout_at(size_t i) { return i < mx_layout_count() ? &layouts[i] : NULL; }

const mx_layout *mx_layout_find(const char *name) { return mx_layout_find_unit(name, 0); }

const mx_layout *mx_layout_find_unit(const char *name, int unit_bits)
{
    for (size_t i = 0; name && i < mx_layout_count(); i++)
        if (!strcmp(layouts[i].name, name) && (!unit_bits || layouts[i].unit_bits == unit_bits))
            return &layouts[i];
    return NULL;
}

int mx_layout_canonical_bits(const mx_layout *l) { return l->unit_bits < 8 ? 8 : l->unit_bits; }

const mx_layout *mx_layout_find_for(const char *name, bool scales, int canonical_bits)
{
    for (size_t i = 0; name && i < mx_layout_count(); i++) {
        const mx_layout *l = &layouts[i];
        if (!strcmp(l->name, name) && (scales ? l->for_scales : l->for_codes) &&
            mx_layout_canonical_bits(l) == canonical_bits)
            return l;
    }
    return NULL;
}
