/* SPDX-License-Identifier: Apache-2.0
 *
 * fast_impl.h - the fast path's kernels, written once. The including file defines
 *
 *   ISA, ISA_NAME, LANES     the fast_isa to export; 32-bit lanes of a vector
 *   PRESENT                  does this CPU, under this kernel, have all but F16C?
 *   vi                       a vector of LANES uint32_t
 *   v_set1 v_set1w           broadcasts of 32 and 16 bits
 *   v_load v_load_u16 v_load_f16    32-bit load; widening loads
 *   v_load_u8                2 * LANES bytes to 16-bit lanes
 *   v_and v_or v_add v_sub v_srl v_sll v_min v_max    on 32-bit lanes, unsigned; shifts by lane
 *   v_sub16 v_min16 v_sll16(a, n) v_where_gt16    on 16-bit lanes, signed; n one count for all
 *   v_where_gt(a, b, x, y)   lanes of x where a > b (both below 2^31), of y elsewhere
 *   v_add_f v_mul_f v_div_f    the same lanes read as fp32
 *   v_pack32u v_pack32s v_pack16u v_pack16s    saturating packs inside each 128 bits; v_in_order undoes the
 *                            order that two levels of them leave
 *   v_sign_or(a, b)          a, or-ed with the top bit of each byte of b
 *   v_reduce_max v_fold      the largest lane; the largest lanes of LANES vectors, as one vector
 *   v_half_0 v_half_1        fp16 in the lower and upper 16-bit lanes to fp32
 *   v_f16_lanes              fp16 in 32-bit lanes to fp32
 *   v_narrow(a, b)           their lanes, below 2^16, in order as 16-bit lanes
 *   v_to_f16(a, b)           fp32 to fp16, in order
 *   v_store v_store_maybe(p, a, stream)
 *
 * and then includes this file. Work goes in units of 4 * LANES elements, one cache line of codes for
 * AVX-512; a tail is copied into a zeroed unit, so that no load or store leaves the caller's buffers. */
#include <cpuid.h>
#include <string.h>

#include "fast_kernels.h"

#define FORCE static inline __attribute__((always_inline))

enum { UNIT = 4 * LANES, INF_BITS = 0x7F800000, MAGNITUDE = 0x7FFFFFFF };

FORCE uint32_t float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

FORCE size_t source_bytes(fast_source s) { return s == FAST_F32 ? 4 : 2; }

FORCE vi load_source(fast_source s, const void *x, size_t i)
{
    if (s == FAST_F32) return v_load((const uint32_t *)x + i);
    if (s == FAST_BF16) return v_sll(v_load_u16((const uint16_t *)x + i), v_set1(16));
    return v_load_f16((const uint16_t *)x + i);
}

/* ---- largest magnitudes: on the source's own bits, where larger magnitudes are larger integers -------- */

FORCE vi load_raw(fast_source s, const void *x, size_t i)
{
    return s == FAST_F32 ? v_load((const uint32_t *)x + i) : v_load_u16((const uint16_t *)x + i);
}

FORCE vi raw_magnitude(fast_source s, vi raw, bool skip_nan)
{
    vi m = v_and(raw, v_set1(s == FAST_F32 ? MAGNITUDE : 0x7FFF));
    uint32_t inf = s == FAST_F32 ? INF_BITS : s == FAST_BF16 ? INF_BITS >> 16 : 0x7C00;
    return skip_nan ? v_where_gt(m, v_set1(inf), v_set1(0), m) : m;
}

FORCE vi raw_to_f32(fast_source s, vi raw)
{
    if (s == FAST_F32) return raw;
    return s == FAST_BF16 ? v_sll(raw, v_set1(16)) : v_f16_lanes(raw);
}

FORCE vi amax_tail(fast_source s, const void *x, size_t i, size_t n, bool skip_nan)
{
    uint32_t lanes[LANES] = {0};
    memcpy(lanes, (const char *)x + i * source_bytes(s), n * source_bytes(s));
    return raw_magnitude(s, load_raw(s, lanes, 0), skip_nan);
}

/* Lane by lane maxima of the n elements from i. */
FORCE vi amax_run(fast_source s, const void *x, size_t i, size_t n, bool skip_nan)
{
    vi m = v_set1(0);
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        m = v_max(m, raw_magnitude(s, load_raw(s, x, i + k), skip_nan));
    return k < n ? v_max(m, amax_tail(s, x, i + k, n - k, skip_nan)) : m;
}

FORCE uint32_t lane_0(vi v)
{
    uint32_t lanes[LANES];
    v_store(lanes, v);
    return lanes[0];
}

FORCE void amax_row(fast_source s, const void *x, size_t n, size_t block, bool skip_nan, uint32_t *amax)
{
    for (size_t i = 0; i < n; i += block) {
        vi m = amax_run(s, x, i, n - i < block ? n - i : block, skip_nan);
        *amax++ = lane_0(raw_to_f32(s, v_set1(v_reduce_max(m))));
    }
}

/* Blocks of 32, LANES of them at a time; the number of elements done. */
FORCE size_t amax_row_32(fast_source s, const void *x, size_t n, uint32_t *amax)
{
    size_t i = 0;
    for (; i + 32 * LANES <= n; i += 32 * LANES, amax += LANES) {
        vi m[LANES];
#pragma GCC unroll 16
        for (size_t k = 0; k < LANES; k++) {
            m[k] = load_raw(s, x, i + 32 * k);
            for (size_t l = LANES; l < 32; l += LANES)
                m[k] = v_max(raw_magnitude(s, m[k], false),
                             raw_magnitude(s, load_raw(s, x, i + 32 * k + l), false));
        }
        v_store(amax, raw_to_f32(s, v_fold(m)));
    }
    return i;
}

FORCE void amax_fold(fast_source s, const void *x, size_t n, bool skip_nan, uint32_t *amax)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vi m = raw_to_f32(s, raw_magnitude(s, load_raw(s, x, i), skip_nan));
        v_store(amax + i, v_max(v_load(amax + i), m));
    }
    if (i == n) return;
    uint32_t lanes[LANES] = {0};
    memcpy(lanes, amax + i, (n - i) * sizeof *lanes);
    v_store(lanes, v_max(v_load(lanes), raw_to_f32(s, amax_tail(s, x, i, n - i, skip_nan))));
    memcpy(amax + i, lanes, (n - i) * sizeof *lanes);
}

/* ---- casts ------------------------------------------------------------------------------------------ */

/* Rounding by the adder: to a magnitude m in [2^e, 2^(e+1)) add 2^(e + 23 - man_bits), a float whose ulp is
 * the format's quantum there; below the normal range e stays at emin. The low bits of the sum then count
 * quanta, and the exponent fields add up to the code, too large by `excess`. */
FORCE vi quanta(const fast_cast *c, vi m, vi shift)
{
    vi e = v_max(v_and(m, v_set1(INF_BITS)), v_set1(c->min_normal));
    vi magic = v_add(e, v_set1(c->widen));
    return v_add(v_sub(v_add_f(m, magic), magic), v_srl(e, shift));
}

/* Any input at all. */
FORCE vi cast_lanes(const fast_cast *c, vi bits)
{
    vi magnitude = v_and(bits, v_set1(MAGNITUDE));
    vi sign = v_srl(v_sub(bits, magnitude), v_set1(c->sign_shift));
    vi code = quanta(c, v_min(magnitude, v_set1(c->max_bits)), v_set1(c->shift));
    code = v_or(v_sub(code, v_set1(c->excess)), sign);
    return v_where_gt(magnitude, v_set1(INF_BITS), v_set1(c->nan_code), code);
}

FORCE vi cast_unit(const fast_cast *c, const vi *bits)
{
    vi code[4];
    for (int k = 0; k < 4; k++)
        code[k] = cast_lanes(c, bits[k]);
    return v_in_order(v_pack16u(v_pack32u(code[0], code[1]), v_pack32u(code[2], code[3])));
}

/* Magnitudes below 2^64: no NaN or Inf to tell apart, no carry out of the exponent, so that saturation and
 * sign wait until the codes are packed and cost a fraction. */
FORCE vi cast_tame_unit(const fast_cast *c, const vi *bits)
{
    vi code[4], shift = v_set1(c->shift);
    for (int k = 0; k < 4; k++)
        code[k] = quanta(c, v_and(bits[k], v_set1(MAGNITUDE)), shift);
    vi excess = v_set1w(c->excess), max = v_set1w(c->max_code);
    vi low = v_min16(v_sub16(v_pack32u(code[0], code[1]), excess), max);
    vi high = v_min16(v_sub16(v_pack32u(code[2], code[3]), excess), max);
    vi sign = v_pack16s(v_pack32s(bits[0], bits[1]), v_pack32s(bits[2], bits[3]));
    sign = v_srl(v_and(sign, v_set1(0x80808080)), v_set1(c->sign_shift - 24));
    return v_in_order(v_or(v_pack16u(low, high), sign));
}

FORCE vi scaled(fast_scaling op, vi bits, vi factor)
{
    return op == FAST_TIMES ? v_mul_f(bits, factor) : op == FAST_OVER ? v_div_f(bits, factor) : bits;
}

/* factor of the LANES elements from i: one for all (LANES or more share it), or each its own (block of 1) */
FORCE vi factor_at(const float *factor, size_t i, int log2_block)
{
    if (log2_block == 0) return v_load((const uint32_t *)(const void *)(factor + i));
    return v_set1(float_bits(factor[i >> log2_block]));
}

FORCE void encode_unit(const fast_encode *e, fast_source s, fast_scaling op, bool tame, const void *x,
                       size_t i, const float *factor, int log2_block, uint8_t *out)
{
    vi y[4];
    for (size_t k = 0; k < 4; k++) {
        vi f = op == FAST_PLAIN ? v_set1(0) : factor_at(factor, i + k * LANES, log2_block);
        y[k] = scaled(op, load_source(s, x, i + k * LANES), f);
    }
    vi codes = tame ? cast_tame_unit(&e->cast, y) : cast_unit(&e->cast, y);
    v_store_maybe((uint32_t *)(void *)(out + i), codes, e->stream);
}

/* Whole units only; the number of elements done. */
FORCE size_t encode_run(const fast_encode *caller, fast_source s, fast_scaling op, bool tame, const void *x,
                        size_t n, const float *factor, int log2_block, uint8_t *out)
{
    const fast_encode e = *caller; /* a copy that no store to `out` can alias */
    size_t i = 0;
    for (; i + UNIT <= n; i += UNIT) {
        const char *next = (const char *)x + i * source_bytes(s) + e.ahead;
        for (size_t b = 0; e.ahead && b < UNIT * source_bytes(s); b += 64)
            __builtin_prefetch(next + b, 0, 2);
        encode_unit(&e, s, op, tame, x, i, factor, log2_block, out);
    }
    return i;
}

/* ---- scales ----------------------------------------------------------------------------------------- */

FORCE vi e8m0_lanes(const fast_e8m0 *r, vi amax)
{
    uint32_t ratio = float_bits(r->ratio);
    vi p = v_max(amax, v_set1(r->least));
    p = r->op == FAST_TIMES ? v_mul_f(p, v_set1(ratio)) : r->op == FAST_OVER ? v_div_f(p, v_set1(ratio)) : p;
    p = v_max(p, v_set1(r->least_p));
    vi e = v_srl(v_add(p, v_set1(r->add)), v_set1(23));
    e = v_where_gt(p, v_set1(r->above), e, v_set1(0));
    vi byte = v_sub(v_max(e, v_set1(r->emax)), v_set1(r->emax));
    byte = v_max(v_min(byte, v_set1(r->max)), v_set1(r->min));
    byte = v_where_gt(v_set1(r->inf_from), amax, byte, v_set1(r->inf));
    return v_where_gt(amax, v_set1(INF_BITS), v_set1(r->nan), byte);
}

FORCE vi e8m0_factor(const fast_e8m0 *r, vi byte)
{
    vi f = v_sll(v_sub(v_set1(254), byte), v_set1(23));
    f = v_where_gt(byte, v_set1(0), f, v_set1(float_bits(r->factor_0)));
    f = v_where_gt(byte, v_set1(253), v_set1(float_bits(r->factor_254)), f);
    return v_where_gt(byte, v_set1(254), v_set1(float_bits(r->factor_255)), f);
}

/* What makes a product with `factor` not tame: an amax of 2^64 or more after it, or one that is no number. */
FORCE vi wild(vi amax, vi factor)
{
    vi product = v_and(v_mul_f(amax, factor), v_set1(MAGNITUDE)), limit = v_set1((127 + 64) << 23);
    vi special = v_where_gt(amax, v_set1(INF_BITS - 1), v_set1(1), v_set1(0));
    return v_where_gt(limit, product, special, v_set1(1));
}

static bool scale_e8m0(const fast_e8m0 *caller, size_t n, const uint32_t *amax, uint8_t *bytes, float *factor)
{
    const fast_e8m0 r = *caller;
    vi any = v_set1(0);
    for (size_t i = 0; i < n; i += UNIT) {
        vi byte[4];
        for (size_t k = 0; k < 4; k++) {
            vi a = v_load(amax + i + k * LANES);
            byte[k] = e8m0_lanes(&r, a);
            vi f = e8m0_factor(&r, byte[k]);
            v_store((uint32_t *)(void *)(factor + i + k * LANES), f);
            any = v_or(any, wild(a, f));
        }
        vi packed = v_pack16u(v_pack32u(byte[0], byte[1]), v_pack32u(byte[2], byte[3]));
        v_store((uint32_t *)(void *)(bytes + i), v_in_order(packed));
    }
    return v_reduce_max(any) == 0;
}

/* ---- decoding --------------------------------------------------------------------------------------- */

/* Every format here has at most as many exponent and mantissa bits as fp16, so a code moved into fp16's
 * fields is its value times a power of two, subnormals included, and the fp16 converter does the rest. */
FORCE vi code_to_f16(const fast_uncast *c, vi code)
{
    vi m = v_sll16(v_and(code, v_set1w(c->magnitude)), c->shift);
    vi sign = v_and(v_sll16(code, c->sign_shift), v_set1w(0x8000));
    return v_where_gt16(m, v_set1w(c->not_nan), v_set1w(0x7E00), v_or(m, sign));
}

/* Every NaN leaves as the canonical one, sign dropped, as mx_encode() writes it. */
FORCE vi canonical_nan(vi bits)
{
    vi m = v_and(bits, v_set1(MAGNITUDE));
    return v_where_gt(m, v_set1(INF_BITS), v_set1(0x7FC00000), bits);
}

FORCE vi to_bf16(vi bits)
{
    vi odd = v_and(v_srl(bits, v_set1(16)), v_set1(1));
    return v_srl(v_add(v_add(bits, v_set1(0x7FFF)), odd), v_set1(16));
}

/* `exact`: the factor holds the power of two of code_to_f16() too, and products are exact in any output. */
FORCE void decode_unit(const fast_uncast *c, fast_source s, bool exact, const uint8_t *codes,
                       const vi *factor, void *y, size_t i, bool stream)
{
    vi half = code_to_f16(c, v_load_u8(codes + i));
    vi value[2] = {v_half_0(half), v_half_1(half)};
    for (int k = 0; k < 2; k++) {
        if (!exact) value[k] = v_mul_f(value[k], v_set1(float_bits(c->rescale)));
        value[k] = v_mul_f(value[k], factor[k]);
        if (!exact) value[k] = canonical_nan(value[k]);
        if (s == FAST_BF16) value[k] = exact ? v_srl(value[k], v_set1(16)) : to_bf16(value[k]);
    }
    if (s == FAST_F32) {
        v_store_maybe((uint32_t *)y + i, value[0], stream);
        v_store_maybe((uint32_t *)y + i + LANES, value[1], stream);
    } else {
        vi both = s == FAST_BF16 ? v_narrow(value[0], value[1]) : v_to_f16(value[0], value[1]);
        v_store_maybe((uint32_t *)(void *)((uint16_t *)y + i), both, stream);
    }
}

/* Whole units of 2 * LANES only; the number of elements done. */
FORCE size_t decode_run(const fast_decode *caller, fast_source s, bool exact, const uint8_t *codes, size_t n,
                        const float *factor, int log2_block, void *y)
{
    const fast_decode d = *caller;
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        vi f[2] = {factor_at(factor, i, log2_block), factor_at(factor, i + LANES, log2_block)};
        decode_unit(&d.cast, s, exact, codes, f, y, i, d.stream);
    }
    return i;
}

static void pack_nibbles(const uint8_t *codes, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n / 2; i++)
        out[i] = (uint8_t)((codes[2 * i] & 15) | codes[2 * i + 1] << 4);
    if (n & 1) out[n / 2] = codes[n - 1] & 15;
}

/* ---- one instance for each source ------------------------------------------------------------------- */

/* A switch whose arms call with a constant, so that each is compiled on its own. */
#define BY_SOURCE(s, CALL)                                                                                   \
    switch (s) {                                                                                             \
    case FAST_F32: CALL(FAST_F32); break;                                                                    \
    case FAST_BF16: CALL(FAST_BF16); break;                                                                  \
    case FAST_F16: CALL(FAST_F16); break;                                                                    \
    }

static void amax_row_any(fast_source s, const void *x, size_t n, size_t block, bool skip_nan, uint32_t *amax)
{
    size_t done = 0;
    if (block == 32 && !skip_nan) {
#define CALL(S) done = amax_row_32(S, x, n, amax)
        BY_SOURCE(s, CALL)
#undef CALL
    }
    x = (const char *)x + done * source_bytes(s);
#define CALL(S) amax_row(S, x, n - done, block, skip_nan, amax + done / block)
    BY_SOURCE(s, CALL)
#undef CALL
}

static void amax_fold_any(fast_source s, const void *x, size_t n, bool skip_nan, uint32_t *amax)
{
#define CALL(S) skip_nan ? amax_fold(S, x, n, true, amax) : amax_fold(S, x, n, false, amax)
    BY_SOURCE(s, CALL)
#undef CALL
}

/* The factors of a unit, one for each element; those past the end are 1. */
static void unit_factors(const float *factor, size_t i, size_t n, int log2_block, float *each)
{
    for (size_t k = 0; k < n; k++)
        each[k] = factor[(i + k) >> log2_block];
    for (size_t k = n; k < UNIT; k++)
        each[k] = 1;
}

static size_t encode_units(const fast_encode *e, const void *x, size_t n, const float *factor, int log2_block,
                           uint8_t *out)
{
    size_t done = 0;
#define RUN(S, OP, BLOCK, TAME) (done = encode_run(e, S, OP, TAME, x, n, factor, BLOCK, out))
#define PLAIN(S)                RUN(S, FAST_PLAIN, 0, false)
#define OVER(S)                 RUN(S, FAST_OVER, log2_block, false)
#define EACH(S)                 e->tame ? RUN(S, FAST_TIMES, 0, true) : RUN(S, FAST_TIMES, 0, false)
#define BLOCK(S)                e->tame ? RUN(S, FAST_TIMES, log2_block, true) : RUN(S, FAST_TIMES, log2_block, false)
    if (e->op == FAST_PLAIN) {
        BY_SOURCE(e->source, PLAIN)
    } else if (e->op == FAST_OVER) {
        BY_SOURCE(e->source, OVER)
    } else if (log2_block == 0) {
        BY_SOURCE(e->source, EACH)
    } else {
        BY_SOURCE(e->source, BLOCK)
    }
#undef RUN
#undef PLAIN
#undef OVER
#undef EACH
#undef BLOCK
    return done;
}

/* A block narrower than a vector, like a tail, goes unit by unit with a factor for each element. */
static void encode(const fast_encode *e, const void *x, size_t n, const float *factor, size_t block,
                   uint8_t *out)
{
    int log2_block = e->op == FAST_PLAIN ? 0 : __builtin_ctzll(block);
    bool narrow = log2_block > 0 && block < LANES;
    size_t i = narrow ? 0 : encode_units(e, x, n, factor, log2_block, out), bytes = source_bytes(e->source);
    fast_encode unit = *e;
    unit.ahead = 0;
    unit.stream = false;
    for (; i < n; i += UNIT) {
        size_t left = n - i < UNIT ? n - i : UNIT;
        uint32_t in[UNIT] = {0};
        float own[UNIT];
        uint8_t codes[UNIT];
        memcpy(in, (const char *)x + i * bytes, left * bytes);
        if (e->op != FAST_PLAIN) unit_factors(factor, i, left, log2_block, own);
        encode_units(&unit, in, UNIT, own, 0, codes);
        memcpy(out + i, codes, left);
    }
}

static size_t decode_units(const fast_decode *d, const uint8_t *codes, size_t n, const float *factor,
                           int log2_block, void *y)
{
    size_t done = 0;
#define RUN(S, EXACT) (done = decode_run(d, S, EXACT, codes, n, factor, log2_block, y))
#define CALL(S)       d->exact ? RUN(S, true) : RUN(S, false)
    BY_SOURCE(d->to, CALL)
#undef RUN
#undef CALL
    return done;
}

static void decode(const fast_decode *d, const uint8_t *codes, size_t n, const float *factor, size_t block,
                   void *y)
{
    int log2_block = __builtin_ctzll(block);
    bool narrow = log2_block > 0 && block < LANES;
    size_t i = narrow ? 0 : decode_units(d, codes, n, factor, log2_block, y), bytes = source_bytes(d->to);
    fast_decode unit = *d;
    unit.stream = false;
    for (; i < n; i += UNIT) {
        size_t left = n - i < UNIT ? n - i : UNIT;
        uint8_t in[UNIT] = {0};
        float own[UNIT];
        uint32_t values[UNIT];
        memcpy(in, codes + i, left);
        unit_factors(factor, i, left, log2_block, own);
        decode_units(&unit, in, UNIT, own, 0, values);
        memcpy((char *)y + i * bytes, values, left * bytes);
    }
}

/* Not every compiler's __builtin_cpu_supports() knows F16C, without which no CPU with AVX2 was made. */
static bool present(void)
{
    unsigned a, b, c = 0, d;
    return PRESENT && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static void finish(void) { _mm_sfence(); }

const fast_isa ISA = {
    .name = ISA_NAME,
    .present = present,
    .amax_row = amax_row_any,
    .amax_fold = amax_fold_any,
    .scale_e8m0 = scale_e8m0,
    .encode = encode,
    .decode = decode,
    .pack_nibbles = pack_nibbles,
    .finish = finish,
};
