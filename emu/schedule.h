/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule.h - what a kernel does above the matrix instruction. A model and a schedule together name the
 * arithmetic of a product to the last bit.
 *
 * Text form: tokens separated by commas, in any order; "chain" alone says that there are none.
 *   chain                   one chain of instructions over all of K
 *   promote:N               after every N instructions the accumulator is added to an fp32 sum (FADD, RNE)
 *                           and restarts at zero; block scales, if they apply here, multiply first
 *   promote-ffma:N          the same by fma(accumulator, scale, sum)
 *   split:SxT[:ORDER]       K in tiles of T, cut into S slices of ceil(tiles / S) tiles (late slices may be
 *                           short or empty); each slice is summed alone, the slices then in fp32, RNE:
 *                           "up" (default) ((p0 + p1) + p2), "down" from the last, "tree" by halving
 *   slice:SxT[:ORDER]       S accumulators take turns: lanes T at a time, tiles of S * T; then added as with
 * split (warps of a block that share out K, "sliced-K" of CUTLASS) residue:T               the K mod T lanes
 * come first, as a short tile of their own (CUTLASS 2 iterators) c-first                 C starts the
 * accumulator, instead of joining in the epilogue dequant-bf16, dequant-f16 operands are multiplied by their
 * scales, if any, and rounded to bf16 or f16 (RNE) before the product round-tf32              fp32 operands
 * are rounded to tf32 (ties away: cvt.rna) before the product scale-ab, scale-a-b, scale-b-a how fp32 scales
 * multiply x, a promoted accumulator or the finished sum: x * (a * b), (x * a) * b, (x * b) * a; default
 * scale-ab. promote-ffma folds the last factor into the FFMA: fma(x * a, b, sum) */
#ifndef MX_SCHEDULE_H
#define MX_SCHEDULE_H

#include "mx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mx_split_order { MX_SPLIT_UP, MX_SPLIT_DOWN, MX_SPLIT_TREE } mx_split_order;
typedef enum mx_scale_order { MX_SCALE_AB, MX_SCALE_A_B, MX_SCALE_B_A } mx_scale_order;

/* What happens to operands before the product. */
typedef enum mx_conversion {
    MX_CONVERT_NONE,
    MX_CONVERT_BF16,
    MX_CONVERT_F16,
    MX_CONVERT_TF32
} mx_conversion;

typedef struct mx_schedule {
    int32_t promote; /* instructions between promotions; 0: never */
    bool ffma;
    int32_t split; /* slices; 0 or 1: none */
    int32_t split_tile;
    mx_split_order order;
    int32_t slice; /* accumulators that take turns; 0 or 1: none */
    int32_t slice_tile;
    int32_t residue; /* 0: tiles start at lane 0 */
    bool c_first;
    mx_conversion convert;
    mx_scale_order scale_order;
} mx_schedule;

enum { MX_MAX_SPLIT = 1024 };

/* NULL and "" read as "chain". MX_BAD_USAGE names the token that is off. */
mx_status mx_schedule_parse(const char *text, mx_schedule *out, mx_error *e);
/* The canonical text; returns `out`. */
const char *mx_schedule_text(const mx_schedule *s, char *out, size_t size);

/* First and last + 1 lane of slice i of a K. */
void mx_schedule_slice(const mx_schedule *s, int64_t k, int i, int64_t *begin, int64_t *end);

#ifdef __cplusplus
}
#endif
#endif
