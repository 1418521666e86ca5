/* SPDX-License-Identifier: Apache-2.0
 * From a block's amax to its stored scale and element multiplier. Every product and quotient here is one
 * fp32 operation of the code under emulation, in its order. */
#include "f32.h"
#include "plan.h"

/* ---- e8m0 ----------------------------------------------------------------------------------------- */

/* The largest element as fp32. It is a normal number of its format, so its fields only move: searches come
 * here for every block. */
static float element_max(const mx_recipe *r)
{
    const mx_format *f = r->element;
    if (f->kind != MX_KIND_FLOAT) return (float)mx_format_max(f);
    return f32_from((f->max_code << (23 - f->man_bits)) + ((uint32_t)(127 - f->bias) << 23));
}

static int element_emax(const mx_recipe *r) { return (int)(f32_bits(element_max(r)) >> 23) - 127; }

/* S: what elements are encoded with on the second level. Infinite S is cut to FLT_MAX, and where G or S
 * is 0 it is 1, as TransformerEngine does. */
static float encoding_global(const mx_recipe *r, float global_amax)
{
    if (r->global_form == MX_GLOBAL_NONE) return 1;
    float s = fminf(r->nv_max * element_max(r) / global_amax, FLT_MAX);
    return global_amax == 0 || s == 0 ? 1 : s;
}

/* P, computed from G and not from S; 1 for an all-zero tensor unless that is unguarded. */
static float decoding_global(const mx_recipe *r, float global_amax)
{
    float p = global_amax / (r->nv_max * element_max(r));
    return p == 0 && !r->nv_unguarded ? 1 : p;
}

static float ratio_of(const mx_recipe *r, float amax, float global_amax)
{
    bool flush = r->flush & MX_FLUSH_RATIO;
    float max = element_max(r);
    switch (r->ratio) {
    case MX_RATIO_AMAX: return amax;
    case MX_RATIO_MULTIPLY: return f32_multiply(amax, 1 / max, flush);
    case MX_RATIO_DIVIDE: return f32_divide(amax, max, flush);
    case MX_RATIO_SHIFT: return f32_multiply(amax, f32_from((uint32_t)(127 - element_emax(r)) << 23), flush);
    case MX_RATIO_GLOBAL:
        return f32_multiply(encoding_global(r, global_amax), f32_multiply(amax, 1 / max, flush), flush);
    }
    return amax;
}

static double log2_of(const mx_recipe *r, float p, const mx_format *source)
{
    if (r->log2_in == MX_LOG2_F64) return log2((double)p);
    double l = (double)log2f(p);
    if (r->log2_in == MX_LOG2_SOURCE && source)
        l = mx_decode(source, mx_encode(source, l, &MX_CAST_DEFAULT, 0));
    return l;
}

/* A whole double as an int; infinities far outside any exponent. */
static int whole(double x) { return x > 1000 ? 1000 : x < -1000 ? -1000 : (int)x; }

static int exponent_of(const mx_recipe *r, float p, const mx_format *source)
{
    uint32_t b = f32_bits(p), mantissa = b & 0x7FFFFF;
    int field = (int)(b >> 23);
    switch (r->rule) {
    case MX_RULE_FLOOR: return field;
    case MX_RULE_ROUND_UP: return field + (mantissa && b > 0x00400000);
    case MX_RULE_UP: return field + (mantissa != 0);
    case MX_RULE_EVEN:
        return (int)((b + (r->even_addend ? r->even_addend : (uint32_t)1 << (22 - r->element->man_bits))) >>
                     23);
    case MX_RULE_LOG2_FLOOR: return whole(floor(log2_of(r, p, source))) + 127;
    case MX_RULE_LOG2_CEIL: return whole(ceil(log2_of(r, p, source))) + 127;
    case MX_RULE_LOG2_NEAR: return whole(rint(log2_of(r, p, source))) + 127;
    }
    return field;
}

static uint8_t byte_of(const mx_recipe *r, float amax, float global_amax, const mx_format *source)
{
    float p = ratio_of(r, amax, global_amax);
    if (p < r->ratio_floor) p = r->ratio_floor;
    if (isnan(p) && r->nan_byte >= 0) return (uint8_t)r->nan_byte;
    if (isinf(p) && r->inf_byte >= 0) return (uint8_t)r->inf_byte;
    if (p == 0 && r->zero_byte >= 0) return (uint8_t)r->zero_byte;
    int exponent = exponent_of(r, p, source);
    if (r->inf_after_even && exponent >= 255) return (uint8_t)r->inf_byte;
    if (r->ratio == MX_RATIO_AMAX) exponent -= element_emax(r);
    if (r->byte_wraps) return (uint8_t)exponent;
    if (exponent < r->min_byte) return r->min_byte;
    return exponent > r->max_byte ? r->max_byte : (uint8_t)exponent;
}

static float e8m0_multiplier(const mx_recipe *r, uint8_t byte)
{
    switch (byte) {
    case 0x00: return r->multiplier_00;
    case 0xFE: return r->multiplier_fe;
    case 0xFF: return r->multiplier_ff;
    default: return f32_from((uint32_t)(254 - byte) << 23); /* 2^(127 - byte) */
    }
}

/* The multiplier of the second level's d and S, in the recipe's order. */
static float nv_multiplier(const mx_recipe *r, float d, float amax, float global_amax)
{
    bool flush = r->flush & MX_FLUSH_MULTIPLIER;
    float s = encoding_global(r, global_amax), m = 0;
    if ((r->nv_zero == MX_NV_ZERO_BY_AMAX && amax == 0) || (r->nv_zero == MX_NV_ZERO_BY_SCALE && d == 0))
        return 0;
    switch (r->nv_multiplier) {
    case MX_NV_RECIPROCAL:
    case MX_NV_RECIPROCAL_INF:
        m = f32_divide(1, f32_multiply(d, f32_divide(1, s, flush), flush), flush);
        return r->nv_multiplier == MX_NV_RECIPROCAL ? fminf(m, FLT_MAX) : m;
    case MX_NV_P_OVER_D: return f32_divide(f32_divide(1, decoding_global(r, global_amax), flush), d, flush);
    case MX_NV_S_OVER_D: return f32_divide(s, d, flush);
    case MX_NV_S_OVER_D_BF16: {
        const mx_format *bf16 = mx_format_find("bf16");
        mx_cast cast = MX_CAST_DEFAULT;
        cast.overflow = MX_OVERFLOW;
        m = fminf(f32_divide(s, d, flush), (float)mx_format_max(bf16));
        return (float)mx_decode(bf16, mx_encode(bf16, m, &cast, 0));
    }
    case MX_NV_DIVIDE_BY_D: return d;
    case MX_NV_DIVIDE_BY_PD: return f32_multiply(decoding_global(r, global_amax), d, flush);
    }
    return m;
}

static mx_plan plan_e8m0(const mx_recipe *r, float amax, float global_amax, const mx_format *source)
{
    uint8_t byte = byte_of(r, amax, global_amax, source);
    mx_plan p = {.stored = byte, .multiplier = e8m0_multiplier(r, byte)};
    if (r->quirk == MX_QUIRK_SEARCH) p.half = ldexpf(1, byte - 128);
    if (r->ratio == MX_RATIO_GLOBAL)
        p.multiplier = nv_multiplier(r, (float)mx_scale_value(r, byte), amax, global_amax);
    return p;
}

/* ---- ue4m3 ---------------------------------------------------------------------------------------- */

static float nv_scale_before_cast(const mx_recipe *r, float amax, float global_amax)
{
    bool flush = r->flush & MX_FLUSH_RATIO;
    float max = element_max(r), s = encoding_global(r, global_amax);
    switch (r->nv_scale) {
    case MX_NV_S6: return f32_multiply(amax, f32_multiply(s, 1 / max, flush), flush);
    case MX_NV_AMAX6_S: return f32_multiply(f32_multiply(amax, 1 / max, flush), s, flush);
    case MX_NV_DIV6_P:
        return f32_divide(f32_divide(amax, max, flush), decoding_global(r, global_amax), flush);
    case MX_NV_FOUR_SIX:
    case MX_NV_DIV6_S: return f32_multiply(f32_divide(amax, max, flush), s, flush);
    case MX_NV_SINGLE: return f32_divide(amax, max, flush);
    }
    return amax;
}

static uint32_t encode_scale(const mx_recipe *r, float scale)
{
    const mx_recipe ggml = {.element = r->scale, .quirk = MX_QUIRK_GGML_UE4M3, .nonpositive_code = -1};
    return r->nv_scale_half_up ? mx_cast_element(&ggml, scale, 0)
                               : mx_encode(r->scale, scale, &MX_CAST_DEFAULT, 0);
}

static mx_plan plan_ue4m3(const mx_recipe *r, float amax, float global_amax, int candidate)
{
    float scale = nv_scale_before_cast(r, amax, global_amax);
    if (candidate) scale = f32_multiply(scale, 1.5f, r->flush & MX_FLUSH_RATIO);
    if (scale < r->nv_floor) scale = r->nv_floor;
    uint32_t code = encode_scale(r, scale);
    float d = (float)mx_decode(r->scale, code);
    return (mx_plan){.stored = code,
                     .multiplier = nv_multiplier(r, d, amax, global_amax),
                     .half = d / 2,
                     .divide =
                         r->nv_multiplier == MX_NV_DIVIDE_BY_D || r->nv_multiplier == MX_NV_DIVIDE_BY_PD};
}

/* ---- f32 ------------------------------------------------------------------------------------------ */

static float quotient(const mx_recipe *r, float a, float b)
{
    if (r->f32_precision == MX_PRECISION_F64) return (float)((double)a / (double)b);
    float q = f32_divide(a, b, false);
    if (r->f32_precision != MX_PRECISION_BF16) return q;
    const mx_format *bf16 = mx_format_find("bf16");
    mx_cast cast = MX_CAST_DEFAULT;
    cast.overflow = MX_OVERFLOW;
    return (float)mx_decode(bf16, mx_encode(bf16, q, &cast, 0));
}

static float to_pow2(mx_f32_pow2 how, float q)
{
    uint32_t b = f32_bits(q), exponent = b >> 23, up = exponent + ((b & 0x7FFFFF) != 0);
    switch (how) {
    case MX_POW2_NONE: return q;
    case MX_POW2_UP: return isfinite(q) ? f32_from(up << 23) : q;
    case MX_POW2_UP_BITS: return f32_from((up < 1 ? 1 : up > 0xFE ? 0xFE : up) << 23);
    case MX_POW2_TRUNCATE: return isfinite(q) ? f32_from(exponent << 23) : q;
    }
    return q;
}

static mx_plan plan_f32(const mx_recipe *r, float amax, const mx_format *source)
{
    float max = element_max(r);
    bool one = r->f32_degenerate_one && (amax == 0 || !isfinite(amax));
    if (r->f32_scale == MX_F32_ENCODE) {
        float e = one ? 1 : quotient(r, max, amax);
        if (isinf(e) && r->f32_degenerate_one) e = source ? (float)mx_format_max(source) : FLT_MAX;
        e = to_pow2(r->f32_pow2, e);
        return (mx_plan){.stored = f32_bits(f32_divide(1, e, false)), .multiplier = e};
    }
    float s = to_pow2(r->f32_pow2, one ? 1 : quotient(r, amax, max));
    bool divide = r->f32_scale == MX_F32_DIVIDE;
    return (mx_plan){
        .stored = f32_bits(s), .multiplier = divide ? s : f32_divide(1, s, false), .divide = divide};
}

/* ---- all ------------------------------------------------------------------------------------------ */

mx_plan mx_plan_make(const mx_recipe *r, float amax, float global_amax, const mx_format *source,
                     int candidate)
{
    if (!r->scale) return (mx_plan){.multiplier = 1, .half = 0.5f};
    if (r->amax_format && !isnan(amax)) {
        mx_cast cast = MX_CAST_DEFAULT;
        cast.overflow = MX_OVERFLOW;
        amax = (float)mx_decode(r->amax_format, mx_encode(r->amax_format, amax, &cast, 0));
    }
    if (amax < r->amax_floor) amax = r->amax_floor;
    if (r->scale->kind == MX_KIND_EXPONENT) return plan_e8m0(r, amax, global_amax, source);
    return r->scale->bits > 8 ? plan_f32(r, amax, source) : plan_ue4m3(r, amax, global_amax, candidate);
}

uint32_t mx_block_scale(const mx_recipe *r, float amax, float global_amax, const mx_format *source)
{
    return mx_plan_make(r, amax, global_amax, source, 0).stored;
}

double mx_scale_value(const mx_recipe *r, uint32_t scale)
{
    if (!r->scale) return 1;
    if (r->scale->kind == MX_KIND_EXPONENT) {
        if (r->decode_00_zero && scale == 0) return 0;
        if (r->decode_ff_inf && scale == 0xFF) return (double)INFINITY;
    }
    return mx_decode(r->scale, scale);
}

float mx_global_store(const mx_recipe *r, float global_amax)
{
    switch (r->global_form) {
    case MX_GLOBAL_NONE: return 1;
    case MX_GLOBAL_ENCODE: return encoding_global(r, global_amax);
    case MX_GLOBAL_DECODE:
        return r->nv_scale == MX_NV_DIV6_P ? decoding_global(r, global_amax)
                                           : 1 / encoding_global(r, global_amax);
    case MX_GLOBAL_AMAX: return global_amax;
    }
    return 1;
}

float mx_global_value(const mx_recipe *r, float global)
{
    switch (r->global_form) {
    case MX_GLOBAL_NONE: return 1;
    case MX_GLOBAL_ENCODE: return 1 / global;
    case MX_GLOBAL_DECODE: return global;
    case MX_GLOBAL_AMAX: return global * (1 / (r->nv_max * element_max(r)));
    }
    return 1;
}
