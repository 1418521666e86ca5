/* SPDX-License-Identifier: Apache-2.0
 *
 * recipe.h - the columns of a recipe: everything that decides the bytes of a quantised tensor.
 *
 * One block is quantised in these steps; each column says how one of them is done. All arithmetic is IEEE
 * fp32, rounded to nearest even, unless a column says otherwise; a NaN that comes out of fp32 arithmetic is
 * the positive canonical one, as on GPUs.
 *
 *   1. pre-step    optional random Hadamard transform of 16 elements
 *   2. amax        largest magnitude, by `amax_nan`, rounded to `amax_format`, raised to `amax_floor`
 *   3. scale       by the scale format: e8m0: ratio -> rule -> byte; ue4m3: two levels; f32: quotient
 *   4. multiplier  the fp32 number that elements are multiplied with (or divided by)
 *   5. element     product, clamp, cast
 *
 * A copy with one column changed is a recipe too: that is how faults are planted and searches are made.
 *
 * A named recipe is a row of recipe_rows_*.c (or recipe_casts.c: conversions without a scale); a row stands
 * for all its element formats and block shapes. Names that are no row are parsed:
 *
 *   cast-FORMAT-ROUNDING-OVERFLOW         cast-e4m3-rna-sat, cast-e5m2-rtz-ovf, cast-e2m1-sr8-sat
 *   study:ELEMENT/SCALE/SHAPE/RULE/ROUNDING   study:e4m3/e8m0/1x64/rceil/rne
 *
 * ROUNDING: rne rna rnz rtz rup rdn srN (stochastic, N random bits, 1 to 32). OVERFLOW: sat, ovf (Inf or
 * NaN), satfin (Inf stays). SHAPE: RxC, each 1 or a power of two from 8 to 256, or tensor. RULE: for e8m0
 * floor ceil rceil up even near rfloor; for f32 amax pow2 encode; for ue4m3 global single.
 *
 * Valid C11 and C++17. */
#ifndef MX_RECIPE_H
#define MX_RECIPE_H

#include "mx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a NaN among the elements does to amax. */
typedef enum mx_amax_nan {
    MX_AMAX_IGNORE,    /* dropped (fmaxf, max.f32); a block of NaN alone has amax 0 */
    MX_AMAX_PROPAGATE, /* amax is NaN (max.NaN, torch.amax, integer maximum of the magnitude bits) */
    MX_AMAX_AS_INF     /* counts as infinity */
} mx_amax_nan;

/* Subnormal fp32 inputs and results (after rounding) become zero of their sign in this step. */
enum { MX_FLUSH_RATIO = 1, MX_FLUSH_MULTIPLIER = 2, MX_FLUSH_PRODUCT = 4, MX_FLUSH_ALL = 7 };

/* e8m0, first half: the number p whose exponent becomes the scale. `max`, `emax`: of the element format. */
typedef enum mx_ratio {
    MX_RATIO_AMAX,     /* p = amax; the rule's exponent is lowered by emax */
    MX_RATIO_MULTIPLY, /* p = fl(amax * fl(1 / max)); rcp.approx.ftz of 448, 57344 and 6 gives the same bits
                        */
    MX_RATIO_DIVIDE,   /* p = fl(amax / max) */
    MX_RATIO_SHIFT,    /* p = fl(amax * 2^-emax) */
    MX_RATIO_GLOBAL    /* p = fl(S * fl(amax * fl(1 / max))), S the encoding global scale */
} mx_ratio;

/* e8m0, second half: the biased exponent of p. b: the fp32 bits of p, m its mantissa field. */
typedef enum mx_exponent_rule {
    MX_RULE_FLOOR,      /* b >> 23 */
    MX_RULE_ROUND_UP,   /* (b >> 23) + 1 iff m != 0 and p > 2^-127: cvt.rp to ue8m0 */
    MX_RULE_UP,         /* (b >> 23) + 1 iff m != 0 */
    MX_RULE_EVEN,       /* (b + even_addend) >> 23 */
    MX_RULE_LOG2_FLOOR, /* floor(log2(p)) + 127, log2 as `log2_in` says */
    MX_RULE_LOG2_CEIL,  /* ceil(log2(p)) + 127 */
    MX_RULE_LOG2_NEAR   /* rint(log2(p)) + 127 */
} mx_exponent_rule;

/* The type that log2 is evaluated in. The C library's log2f stands for its users' one: with glibc 2.36 it
 * gives the exponents that microxcaling, gfloat and ggml show on x86. */
typedef enum mx_log2_in {
    MX_LOG2_F32,
    MX_LOG2_SOURCE, /* fp32, then rounded to the format of the input tensor */
    MX_LOG2_F64
} mx_log2_in;

/* ue4m3: the order of operations of the stored block scale. S = max_scale * max / G encodes, P = 1/S. */
typedef enum mx_nv_scale {
    MX_NV_S6,       /* fl(amax * fl(S * fl(1/6))) */
    MX_NV_AMAX6_S,  /* fl(fl(amax * fl(1/6)) * S) */
    MX_NV_DIV6_P,   /* fl(fl(amax / 6) / P) */
    MX_NV_DIV6_S,   /* fl(fl(amax / 6) * S) */
    MX_NV_FOUR_SIX, /* as DIV6_S, and 1.5 times that: the smaller error wins, ties to the first */
    MX_NV_SINGLE    /* fl(amax / 6): no second level */
} mx_nv_scale;

/* ue4m3: the order of operations of the element multiplier; d = value of the stored block scale. */
typedef enum mx_nv_multiplier {
    MX_NV_RECIPROCAL,     /* min(fl(1 / fl(d * fl(1/S))), FLT_MAX) */
    MX_NV_RECIPROCAL_INF, /* fl(1 / fl(d * fl(1/S))), infinite where d is 0 */
    MX_NV_P_OVER_D,       /* fl(fl(1/P) / d) */
    MX_NV_S_OVER_D,       /* fl(S / d) */
    MX_NV_S_OVER_D_BF16,  /* bf16(min(fl(S / d), largest bf16)) */
    MX_NV_DIVIDE_BY_D,    /* elements are divided by d */
    MX_NV_DIVIDE_BY_PD    /* elements are divided by fl(P * d) */
} mx_nv_multiplier;

typedef enum mx_nv_zero {
    MX_NV_ZERO_COMPUTED, /* the multiplier as it comes out */
    MX_NV_ZERO_BY_AMAX,  /* 0 where amax is 0 */
    MX_NV_ZERO_BY_SCALE  /* 0 where the stored scale is 0 */
} mx_nv_zero;

/* ue4m3: what the tensor's second-level number means. */
typedef enum mx_global_form {
    MX_GLOBAL_NONE,
    MX_GLOBAL_ENCODE, /* S */
    MX_GLOBAL_DECODE, /* P: a product with it decodes */
    MX_GLOBAL_AMAX    /* G */
} mx_global_form;

/* f32: which quotient is computed, what is stored, and what elements meet. */
typedef enum mx_f32_scale {
    MX_F32_DIVIDE,     /* s = fl(amax / max) is stored; elements are divided by s */
    MX_F32_RECIPROCAL, /* s = fl(amax / max) is stored; elements are multiplied with fl(1/s) */
    MX_F32_ENCODE      /* e = fl(max / amax); fl(1/e) is stored; elements are multiplied with e */
} mx_f32_scale;

typedef enum mx_f32_pow2 {
    MX_POW2_NONE,
    MX_POW2_UP,      /* the quotient becomes the next power of two at or above it, at least 2^-126 */
    MX_POW2_UP_BITS, /* the same on the bits, exponent limited to 1..FE: Inf and NaN become 2^127 */
    MX_POW2_TRUNCATE /* the quotient's mantissa is cut off */
} mx_f32_pow2;

typedef enum mx_precision { MX_PRECISION_F32, MX_PRECISION_F64, MX_PRECISION_BF16 } mx_precision;

/* Clamp of the product to +-max before the cast; it decides what becomes of a NaN. */
typedef enum mx_clamp {
    MX_CLAMP_NONE,
    MX_CLAMP_PROPAGATE, /* a NaN stays (torch.clamp) */
    MX_CLAMP_MIN_FIRST, /* fmax(fmin(x, max), -max): a NaN becomes +max */
    MX_CLAMP_MAX_FIRST  /* fmin(fmax(x, -max), max): a NaN becomes -max */
} mx_clamp;

/* Ways of an element encoder that are no rounding mode. */
typedef enum mx_quirk {
    MX_QUIRK_NONE,
    MX_QUIRK_SEARCH,        /* first code of least fp32 distance |decode(code) * scale - x|: ties go to the
                               lower magnitude, NaN and Inf to code 0 (ggml best_index) */
    MX_QUIRK_LOST_STICKY,   /* below 1, the bits that denormalising shifts out are lost before rounding */
    MX_QUIRK_NAN_PAYLOAD,   /* a NaN goes through the integer path of finite values */
    MX_QUIRK_NAN_ALL_ONES,  /* every NaN code, overflow included, is all ones */
    MX_QUIRK_TOP_BINADE,    /* results in the format's top binade become the maximum */
    MX_QUIRK_GGML_UE4M3,    /* half up by int(x * 512 + 0.5f) or on the bits; subnormals never carry into
                               normals;    the top binade becomes the maximum; what is not > 0 becomes 0 */
    MX_QUIRK_FNUZ_SIGN,     /* the sign bit is set on a zero: in fnuz that is the NaN */
    MX_QUIRK_SUBNORMAL_ZERO /* subnormal results become zero */
} mx_quirk;

struct mx_recipe {
    const char *name;
    const char *distinguishes; /* what sets it apart, in one line */
    const char *source;        /* repository, revision and path, or specification */
    const char *date;          /* when the source read so */

    const mx_format *element;
    const mx_format *scale;         /* e8m0, ue4m3, f32; NULL for a plain cast */
    int32_t block_rows, block_cols; /* 0: the tensor's whole extent */

    /* 1, 2: pre-step and amax */
    bool hadamard; /* 16-point Hadamard / 4 with fixed signs along the block's long side, result in bf16 */
    mx_amax_nan amax_nan;
    const mx_format *amax_format; /* NULL: exact */
    float amax_floor;             /* 0: none */
    uint8_t flush;                /* MX_FLUSH_ bits */

    /* 3: e8m0 */
    mx_ratio ratio;
    float ratio_floor; /* p is raised to it; 0: none */
    mx_exponent_rule rule;
    uint32_t even_addend; /* MX_RULE_EVEN; 0: half an ulp of the element format */
    bool inf_after_even;  /* MX_RULE_EVEN: a finite p that rounds to 2^128 counts as infinite */
    mx_log2_in log2_in;
    int16_t nan_byte, inf_byte, zero_byte; /* byte for such a p; -1: as the rule computes it, then limited */
    uint8_t min_byte, max_byte;            /* limits of what the rule computes */
    bool byte_wraps;                       /* the rule's result is cut to 8 bits instead of limited */
    /* 4: e8m0. Byte s multiplies with 2^(127 - s), but for these three bytes. Dividing by 2^(s - 127) is the
     * same operation. */
    float multiplier_00, multiplier_fe, multiplier_ff;

    /* 3, 4: ue4m3 */
    mx_nv_scale nv_scale;
    mx_nv_multiplier nv_multiplier;
    mx_nv_zero nv_zero;
    mx_global_form global_form;
    float nv_max;          /* largest stored scale aimed at: 448 or 256 */
    float nv_floor;        /* lower clamp of the scale before its cast; 0: none */
    bool nv_mse;           /* FOUR_SIX: squared error instead of absolute */
    bool nv_scale_half_up; /* the scale is cast as cast-ue4m3-ggml does, not to nearest even */
    bool nv_unguarded;     /* an all-zero tensor has P = 0 (0/0 follows), not 1 */

    /* 3, 4: f32 */
    mx_f32_scale f32_scale;
    mx_precision
        f32_precision; /* of the quotient, then rounded to fp32; F64 gives F32's bits (53 >= 2*24 + 2) */
    mx_f32_pow2 f32_pow2;
    bool f32_degenerate_one; /* zero, infinite or NaN amax: e = 1; an infinite e: the input format's max */

    /* 5: element */
    mx_clamp clamp;
    const mx_format *via; /* the product is first rounded to this format; NULL: not */
    mx_rounding via_rounding;
    mx_quirk quirk;
    int16_t nonpositive_code; /* code of zero and of anything negative; -1: as the cast says */
    mx_cast cast;

    /* reading back */
    bool decode_00_zero; /* e8m0 byte 00 reads as 0, not 2^-127 */
    bool decode_ff_inf;  /* e8m0 byte FF reads as Inf, not NaN */
};

#ifdef __cplusplus
}
#endif
#endif
