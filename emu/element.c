/* SPDX-License-Identifier: Apache-2.0
 * The element step: clamp, cast, and the ways of converters that are no rounding mode. */
#include "f32.h"
#include "plan.h"

static float clamp_to(float y, float max, mx_clamp clamp)
{
    switch (clamp) {
    case MX_CLAMP_NONE: return y;
    case MX_CLAMP_PROPAGATE: return isnan(y) ? y : fminf(fmaxf(y, -max), max);
    case MX_CLAMP_MIN_FIRST: return fmaxf(fminf(y, max), -max);
    case MX_CLAMP_MAX_FIRST: return fminf(fmaxf(y, -max), max);
    }
    return y;
}

/* The first code whose value is nearest to x, both in fp32, as ggml's best_index does: twice the value is
 * an integer for e2m1, and meets half the scale. */
static uint32_t nearest_by_search(const mx_format *f, float x, float half)
{
    uint32_t best = 0;
    float least = fabsf(2 * (float)mx_decode(f, 0) * half - x);
    for (uint32_t code = 1; code < (uint32_t)1 << f->bits; code++) {
        float error = fabsf(2 * (float)mx_decode(f, code) * half - x);
        if (error < least) {
            least = error;
            best = code;
        }
    }
    return best;
}

/* A NaN's bits go the way of a finite number: add half an ulp less one and the odd bit, move the bias, shift,
 * keep the low byte; then the sign. */
static uint32_t nan_by_payload(const mx_format *f, float y)
{
    int shift = 23 - f->man_bits;
    uint32_t b = f32_bits(y), magnitude = b & 0x7FFFFFFF;
    magnitude += (magnitude >> shift) & 1;
    magnitude += ((uint32_t)(f->bias - 127) << 23) + (((uint32_t)1 << (shift - 1)) - 1);
    return ((magnitude >> shift) | (b >> 31) << (f->bits - 1)) & (((uint32_t)1 << f->bits) - 1);
}

static uint32_t ggml_ue4m3(float y)
{
    if (!(y > 0)) return 0;
    if (y > 448) y = 448;
    uint32_t b = f32_bits(y);
    int exponent = (int)(b >> 23) - 127 + 7;
    if (exponent <= 0) {
        int code = (int)(y * 512.0f + 0.5f);
        return code > 7 ? 7 : (uint32_t)code;
    }
    uint32_t code = ((uint32_t)exponent << 3) + ((b >> 20) & 7) + ((b >> 19) & 1);
    return code >> 3 >= 15 ? 0x7E : code;
}

/* |y| < 1: moving the implicit one into the mantissa field and denormalising shift 127 - e bits out. */
static float without_sticky(float y)
{
    uint32_t b = f32_bits(y), exponent = b >> 23 & 0xFF;
    if (exponent >= 127 || exponent < 127 - 23) return y;
    return f32_from(b & ~(((uint32_t)1 << (127 - exponent)) - 1));
}

static float rounded_to(const mx_format *f, mx_rounding rounding, float y)
{
    mx_cast cast = MX_CAST_DEFAULT;
    cast.rounding = rounding;
    cast.overflow = MX_OVERFLOW;
    return (float)mx_decode(f, mx_encode(f, y, &cast, 0));
}

/* What a quirk makes of a code that the cast gave for y. */
static uint32_t after_cast(const mx_recipe *r, uint32_t code, float y)
{
    const mx_format *f = r->element;
    uint32_t sign = f->is_signed ? code >> (f->bits - 1) << (f->bits - 1) : 0, magnitude = code ^ sign;
    switch (r->quirk) {
    case MX_QUIRK_NAN_ALL_ONES: return mx_code_is_nan(f, code) ? ((uint32_t)1 << f->bits) - 1 : code;
    case MX_QUIRK_TOP_BINADE:
        return !mx_code_is_nan(f, code) && magnitude >> f->man_bits == f->max_code >> f->man_bits
                   ? sign | f->max_code
                   : code;
    case MX_QUIRK_FNUZ_SIGN: return code == 0 && signbit(y) ? f->nan_code : code;
    case MX_QUIRK_SUBNORMAL_ZERO: return magnitude >> f->man_bits == 0 ? sign : code;
    default: return code;
    }
}

uint32_t mx_element_encode(const mx_recipe *r, float y, float x, float half, uint32_t random)
{
    const mx_format *f = r->element;
    if (r->quirk == MX_QUIRK_SEARCH) return nearest_by_search(f, x, half);
    if (r->clamp != MX_CLAMP_NONE) y = clamp_to(y, (float)mx_format_max(f), r->clamp);
    if (r->nonpositive_code >= 0 && y <= 0) return (uint32_t)r->nonpositive_code;
    if (r->quirk == MX_QUIRK_NAN_PAYLOAD && isnan(y)) return nan_by_payload(f, y);
    if (r->quirk == MX_QUIRK_GGML_UE4M3) return ggml_ue4m3(y);
    if (r->quirk == MX_QUIRK_LOST_STICKY) y = without_sticky(y);
    if (r->via) y = rounded_to(r->via, r->via_rounding, y);
    return after_cast(r, mx_encode(f, y, &r->cast, random), y);
}

uint32_t mx_cast_element(const mx_recipe *r, float x, uint32_t random)
{
    return mx_element_encode(r, x, x, 0.5f, random);
}

float mx_plan_product(const mx_recipe *r, const mx_plan *p, float x)
{
    if (!r->scale) return x;
    bool flush = r->flush & MX_FLUSH_PRODUCT;
    return p->divide ? f32_divide(x, p->multiplier, flush) : f32_multiply(x, p->multiplier, flush);
}

uint32_t mx_plan_encode(const mx_recipe *r, const mx_plan *p, float x, uint32_t random)
{
    if (!r->scale) return mx_element_encode(r, x, x, 0.5f, random);
    return mx_element_encode(r, mx_plan_product(r, p, x), x, p->half, random);
}
