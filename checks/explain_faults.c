/* SPDX-License-Identifier: Apache-2.0
 * Simple faults as changes of one column of a recipe. A new row teaches the diagnosis; order is from the
 * most common to the rare, and decides between faults that reproduce the same bits. */
#include "explain.h"

#define SCALED_BY(format) (r->scale && r->scale == mx_format_find(format))
#define PLANT(name, applies, change)                                                                         \
    static bool name(mx_recipe *r)                                                                           \
    {                                                                                                        \
        if (!(applies)) return false;                                                                        \
        change;                                                                                              \
        return true;                                                                                         \
    }

PLANT(ties_away, r->cast.rounding != MX_RNA, r->cast.rounding = MX_RNA)
PLANT(truncate, r->cast.rounding != MX_RTZ, r->cast.rounding = MX_RTZ)
PLANT(ties_to_zero, r->cast.rounding != MX_RNZ, r->cast.rounding = MX_RNZ)
PLANT(ties_even, r->cast.rounding != MX_RNE, r->cast.rounding = MX_RNE)
PLANT(flush_results, r->quirk == MX_QUIRK_NONE, r->quirk = MX_QUIRK_SUBNORMAL_ZERO)
PLANT(flush_all, SCALED_BY("e8m0") && r->flush != MX_FLUSH_ALL, r->flush = MX_FLUSH_ALL)
PLANT(flush_product, !(r->flush & MX_FLUSH_PRODUCT), r->flush |= MX_FLUSH_PRODUCT)
PLANT(flush_ratio, SCALED_BY("e8m0") && !(r->flush & MX_FLUSH_RATIO), r->flush |= MX_FLUSH_RATIO)
PLANT(flush_multiplier, SCALED_BY("e8m0") && !(r->flush & MX_FLUSH_MULTIPLIER),
      r->flush |= MX_FLUSH_MULTIPLIER)
PLANT(keep_subnormals, r->flush, r->flush = 0)
PLANT(floor_of_ratio, SCALED_BY("e8m0") && r->rule != MX_RULE_FLOOR, r->rule = MX_RULE_FLOOR)
PLANT(floor_of_amax, SCALED_BY("e8m0") && !(r->rule == MX_RULE_FLOOR && r->ratio == MX_RATIO_AMAX),
      (r->rule = MX_RULE_FLOOR, r->ratio = MX_RATIO_AMAX))
PLANT(round_up, SCALED_BY("e8m0") && r->rule != MX_RULE_ROUND_UP,
      (r->rule = MX_RULE_ROUND_UP, r->ratio = MX_RATIO_MULTIPLY))
PLANT(always_up, SCALED_BY("e8m0") && r->rule != MX_RULE_UP,
      (r->rule = MX_RULE_UP, r->ratio = MX_RATIO_MULTIPLY))
PLANT(ceil_of_amax, SCALED_BY("e8m0") && !(r->rule == MX_RULE_UP && r->ratio == MX_RATIO_AMAX),
      (r->rule = MX_RULE_UP, r->ratio = MX_RATIO_AMAX))
PLANT(even_of_amax, SCALED_BY("e8m0") && r->rule != MX_RULE_EVEN,
      (r->rule = MX_RULE_EVEN, r->ratio = MX_RATIO_AMAX, r->even_addend = 0))
PLANT(log2_near, SCALED_BY("e8m0") && r->rule != MX_RULE_LOG2_NEAR,
      (r->rule = MX_RULE_LOG2_NEAR, r->ratio = MX_RATIO_DIVIDE))
PLANT(log2_ceil, SCALED_BY("e8m0") && r->rule != MX_RULE_LOG2_CEIL,
      (r->rule = MX_RULE_LOG2_CEIL, r->ratio = MX_RATIO_DIVIDE))
PLANT(overflow_to_nan, r->cast.overflow == MX_SATURATE, r->cast.overflow = MX_OVERFLOW)
PLANT(overflow_saturates, r->cast.overflow != MX_SATURATE, r->cast.overflow = MX_SATURATE)
PLANT(overflow_finite, r->cast.overflow == MX_SATURATE, r->cast.overflow = MX_SATURATE_FINITE)
PLANT(nan_to_max, r->clamp != MX_CLAMP_MIN_FIRST, r->clamp = MX_CLAMP_MIN_FIRST)
PLANT(nan_to_min, r->clamp != MX_CLAMP_MAX_FIRST, r->clamp = MX_CLAMP_MAX_FIRST)
PLANT(nan_to_zero, r->cast.nan_code[0] != 0 || r->cast.nan_code[1] != 0,
      r->cast.nan_code[0] = r->cast.nan_code[1] = 0)
PLANT(nan_signed, r->cast.nan != MX_NAN_SIGNED, r->cast.nan = MX_NAN_SIGNED)
PLANT(nan_unsigned, r->cast.nan != MX_NAN_CANONICAL, r->cast.nan = MX_NAN_CANONICAL)
PLANT(nan_all_ones, r->quirk == MX_QUIRK_NONE, r->quirk = MX_QUIRK_NAN_ALL_ONES)
PLANT(nan_payload, r->quirk == MX_QUIRK_NONE, r->quirk = MX_QUIRK_NAN_PAYLOAD)
PLANT(nan_ignored, r->scale && r->amax_nan != MX_AMAX_IGNORE, r->amax_nan = MX_AMAX_IGNORE)
PLANT(nan_propagated, r->scale && r->amax_nan != MX_AMAX_PROPAGATE,
      (r->amax_nan = MX_AMAX_PROPAGATE, r->nan_byte = 0xFF))
PLANT(nan_ignored_and_clamped, r->scale && r->amax_nan != MX_AMAX_IGNORE,
      (r->amax_nan = MX_AMAX_IGNORE, r->clamp = MX_CLAMP_MIN_FIRST))
PLANT(inf_saturates, SCALED_BY("e8m0") && r->inf_byte == 0xFF, r->inf_byte = 0xFE)
PLANT(inf_to_nan, SCALED_BY("e8m0") && r->inf_byte != 0xFF, r->inf_byte = 0xFF)
PLANT(lose_neg_zero, !r->cast.lose_neg_zero, r->cast.lose_neg_zero = true)
PLANT(fnuz_sign, r->quirk == MX_QUIRK_NONE, r->quirk = MX_QUIRK_FNUZ_SIGN)
PLANT(top_binade, r->quirk == MX_QUIRK_NONE, r->quirk = MX_QUIRK_TOP_BINADE)
PLANT(lost_sticky, r->quirk == MX_QUIRK_NONE, r->quirk = MX_QUIRK_LOST_STICKY)
PLANT(bf16_amax, r->scale && !r->amax_format, r->amax_format = mx_format_find("bf16"))
PLANT(f16_amax, r->scale && !r->amax_format, r->amax_format = mx_format_find("f16"))
PLANT(via_f16, !r->via, (r->via = mx_format_find("f16"), r->via_rounding = MX_RNE))
PLANT(via_f16_cut, !r->via, (r->via = mx_format_find("f16"), r->via_rounding = MX_RTZ))
PLANT(via_bf16, !r->via, (r->via = mx_format_find("bf16"), r->via_rounding = MX_RNE))
PLANT(fnuz, r->element == mx_format_find("e4m3"), r->element = mx_format_find("e4m3fnuz"))
PLANT(not_fnuz, r->element == mx_format_find("e4m3fnuz"), r->element = mx_format_find("e4m3"))
PLANT(zero_multiplier, SCALED_BY("e8m0") && r->multiplier_00 != 0, r->multiplier_00 = 0)
PLANT(one_multiplier, SCALED_BY("e8m0") && r->multiplier_00 != 1, r->multiplier_00 = 1)
PLANT(half_multiplier, SCALED_BY("e8m0") && r->multiplier_00 != 0x1p126f, r->multiplier_00 = 0x1p126f)
PLANT(amax_1e4, r->scale && r->amax_floor != 1e-4f, r->amax_floor = 1e-4f)
PLANT(amax_1e10, r->scale && r->amax_floor != 1e-10f, r->amax_floor = 1e-10f)
PLANT(quotient, SCALED_BY("f32") && r->f32_scale != MX_F32_DIVIDE, r->f32_scale = MX_F32_DIVIDE)
PLANT(reciprocal, SCALED_BY("f32") && r->f32_scale != MX_F32_RECIPROCAL, r->f32_scale = MX_F32_RECIPROCAL)
PLANT(encode_first, SCALED_BY("f32") && r->f32_scale != MX_F32_ENCODE, r->f32_scale = MX_F32_ENCODE)

const recipe_fault recipe_faults[] = {
    {"ties round away from zero instead of to even", ties_away},
    {"elements are truncated toward zero instead of rounded", truncate},
    {"ties round toward zero instead of to even", ties_to_zero},
    {"ties round to even", ties_even},
    {"subnormal results are flushed to zero", flush_results},
    {"negative zero is lost", lose_neg_zero},
    {"subnormal products are flushed (FTZ) before the cast", flush_product},
    {"subnormal fp32 values are flushed throughout (FTZ/DAZ)", flush_all},
    {"the subnormal quotient that decides the scale is flushed (FTZ)", flush_ratio},
    {"a subnormal multiplier is flushed (FTZ)", flush_multiplier},
    {"subnormals are kept where the recipe flushes them", keep_subnormals},
    {"the scale's exponent is rounded down: floor where the recipe rounds up", floor_of_ratio},
    {"the scale follows the floor rule (exponent of amax)", floor_of_amax},
    {"the scale follows the round-up rule (amax / max, rounded up)", round_up},
    {"the scale is rounded up on any mantissa bit, with no exception at 2^-127", always_up},
    {"the scale follows the ceil rule (amax rounded up to a power of two)", ceil_of_amax},
    {"the scale follows the even rule (amax rounded to the element's mantissa first)", even_of_amax},
    {"the scale is rint(log2(amax / max))", log2_near},
    {"the scale is ceil(log2(amax / max)) by a rounded logarithm", log2_ceil},
    {"overflow is decided before rounding: values that round past the maximum become NaN", overflow_to_nan},
    {"overflow saturates where the recipe gives NaN or Inf", overflow_saturates},
    {"infinities stay infinite or NaN instead of saturating", overflow_finite},
    {"NaN is lost: it comes out as the maximum (fmin before fmax)", nan_to_max},
    {"NaN is lost: it comes out as the negative maximum (fmax before fmin)", nan_to_min},
    {"NaN is lost: it comes out as zero", nan_to_zero},
    {"NaN is lost: ignored by the block maximum", nan_ignored},
    {"NaN is lost: ignored by the block maximum, and clamped to the maximum", nan_ignored_and_clamped},
    {"NaN in a block makes its whole scale NaN", nan_propagated},
    {"NaN keeps the input's sign", nan_signed},
    {"NaN loses the input's sign", nan_unsigned},
    {"every NaN is the all-ones code", nan_all_ones},
    {"NaN goes through the integer path of finite values", nan_payload},
    {"an infinite block maximum gives byte FE instead of FF", inf_saturates},
    {"an infinite block maximum gives byte FF instead of FE", inf_to_nan},
    {"the top binade of the format is taken as overflow", top_binade},
    {"sticky bits are lost below the normal range", lost_sticky},
    {"the sign bit is set on zero", fnuz_sign},
    {"amax is rounded to bf16", bf16_amax},
    {"amax is rounded to fp16", f16_amax},
    {"double rounding: elements pass through fp16", via_f16},
    {"double rounding: elements are cut to fp16 first", via_f16_cut},
    {"double rounding: elements pass through bf16", via_bf16},
    {"elements are E4M3 FNUZ (bias 8) instead of E4M3", fnuz},
    {"elements are E4M3 instead of E4M3 FNUZ", not_fnuz},
    {"scale byte 00 multiplies with 0 instead of 2^127", zero_multiplier},
    {"scale byte 00 multiplies with 1 instead of 2^127", one_multiplier},
    {"scale byte 00 multiplies with 2^126 instead of 2^127", half_multiplier},
    {"amax has a floor of 1e-4", amax_1e4},
    {"amax has a floor of 1e-10", amax_1e10},
    {"elements are divided by the scale", quotient},
    {"elements are multiplied with the scale's reciprocal", reciprocal},
    {"the encoding scale max / amax is rounded first", encode_first},
};
const size_t recipe_fault_count = sizeof recipe_faults / sizeof *recipe_faults;
