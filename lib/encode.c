/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place where a scalar is rounded. Classes are settled first (NaN, Inf, zero), then a finite value
 * becomes an integer multiple of the target's quantum in its binade plus a discarded fraction, the
 * rounding decides on one increment, and overflow is decided on the result. */
#include <math.h>
#include <string.h>

#include "mx.h"

const mx_cast MX_CAST_DEFAULT = {MX_RNE, MX_SATURATE, MX_NAN_CANONICAL, {-1, -1}, false, 0};

static const char *const rounding_names[] = {"rne", "rna", "rnz", "rtz", "rup", "rdn", "stochastic"};

const char *mx_rounding_name(mx_rounding r)
{
    return (size_t)r < sizeof rounding_names / sizeof *rounding_names ? rounding_names[r] : "unknown";
}

bool mx_rounding_find(const char *name, mx_rounding *out)
{
    for (size_t i = 0; i < sizeof rounding_names / sizeof *rounding_names; i++)
        if (!strcmp(name, rounding_names[i])) {
            *out = (mx_rounding)i;
            return true;
        }
    return false;
}

/* A finite magnitude as m * 2^e, m < 2^53: taken from the bits, since libm's calls would be most of the
 * work. `binade` is the exponent of its leading bit; subnormal doubles, far below every format, get that
 * of the smallest normal. */
typedef struct number {
    uint64_t m;
    int e, binade;
} number;

static number number_of(double x)
{
    uint64_t bits, implicit = (uint64_t)1 << 52;
    memcpy(&bits, &x, sizeof bits);
    int field = (int)(bits >> 52 & 0x7FF);
    uint64_t fraction = bits & (implicit - 1);
    if (field == 0) return (number){fraction, -1074, -1022};
    return (number){fraction | implicit, field - 1075, field - 1023};
}

/* A magnitude as kept * 2^quantum + discarded: `rest` is the discarded part as a 64-bit fraction of the
 * quantum, with a sticky lowest bit. */
typedef struct split {
    uint64_t kept;
    uint64_t rest;
} split;

/* No format keeps as many bits as a double has, so that quantum > x.e always. */
static split split_at(number x, int quantum)
{
    int drop = quantum - x.e;
    if (drop < 64) return (split){x.m >> drop, x.m << (64 - drop)};
    return (split){0, (drop < 128 ? x.m >> (drop - 64) : 0) | (x.m != 0)};
}

static bool rounds_up(const mx_cast *cast, split s, bool negative, uint32_t random)
{
    const uint64_t half = (uint64_t)1 << 63;
    switch (cast->rounding) {
    case MX_RNE: return s.rest > half || (s.rest == half && (s.kept & 1));
    case MX_RNA: return s.rest >= half;
    case MX_RNZ: return s.rest > half;
    case MX_RTZ: return false;
    case MX_RUP: return s.rest && !negative;
    case MX_RDN: return s.rest && negative;
    case MX_STOCHASTIC: {
        int n = cast->random_bits;
        if (n == 0) return false; /* no draw, no way up */
        uint64_t fraction = s.rest >> (64 - n);
        uint64_t draw = random & (((uint64_t)1 << n) - 1);
        return fraction + draw >= (uint64_t)1 << n;
    }
    }
    return false;
}

static uint32_t sign_of(const mx_format *f, bool negative)
{
    return negative && f->is_signed ? (uint32_t)1 << (f->bits - 1) : 0;
}

static uint32_t encode_nan(const mx_format *f, bool negative, const mx_cast *cast)
{
    if (cast->nan_code[negative] >= 0) return (uint32_t)cast->nan_code[negative];
    uint32_t code = f->specials == MX_SPECIALS_NONE ? f->max_code : f->nan_code;
    if (f->kind == MX_KIND_FIXED) return 0;
    bool keep = cast->nan == MX_NAN_SIGNED && f->specials != MX_SPECIALS_NEGZERO;
    return code | (keep ? sign_of(f, negative) : 0);
}

/* The code of a magnitude too large for the format. Directed rounding that points back inward lands on
 * the largest finite value whatever the policy, as in IEEE 754 section 7.4. */
static uint32_t encode_overflow(const mx_format *f, bool negative, bool infinite, const mx_cast *cast)
{
    uint32_t largest = f->kind == MX_KIND_FIXED && negative ? (uint32_t) - (int32_t)f->max_code & 0xFF
                                                            : f->max_code | sign_of(f, negative);
    bool inward = !infinite && (cast->rounding == MX_RTZ || (cast->rounding == MX_RUP && negative) ||
                                (cast->rounding == MX_RDN && !negative));
    bool saturate = cast->overflow == MX_SATURATE || (cast->overflow == MX_SATURATE_FINITE && !infinite);
    if (saturate || inward || f->specials == MX_SPECIALS_NONE) return largest;
    if (f->specials == MX_SPECIALS_NEGZERO) return f->nan_code;
    if (f->specials == MX_SPECIALS_ALLONES) return f->nan_code | sign_of(f, negative);
    return f->inf_code | sign_of(f, negative);
}

/* e8m0: the magnitude's exponent, rounded on the grid of powers of two. Ties of the nearest modes are at
 * 1.5 * 2^k; "even" is read from the code. The sign is ignored; zero and all below 2^-127 become code 0 in
 * every mode, as CUDA's conversions do. */
static uint32_t encode_exponent(const mx_format *f, number x, const mx_cast *cast, uint32_t random)
{
    if (x.binade < -f->bias) return 0;
    split s = split_at(x, x.binade);
    s.kept = (uint64_t)(x.binade + f->bias);
    uint64_t code = s.kept + rounds_up(cast, s, false, random);
    if (code > f->max_code) return encode_overflow(f, false, false, cast);
    return (uint32_t)code;
}

static uint32_t encode_fixed(const mx_format *f, number x, bool negative, const mx_cast *cast,
                             uint32_t random)
{
    if (x.binade > 0) return encode_overflow(f, negative, false, cast); /* 2 and above */
    split s = split_at(x, -f->man_bits);
    uint64_t n = s.kept + rounds_up(cast, s, negative, random);
    if (n > f->max_code) return encode_overflow(f, negative, false, cast);
    return (negative ? (uint32_t) - (int32_t)n : (uint32_t)n) & 0xFF;
}

static uint32_t encode_float(const mx_format *f, number x, bool negative, const mx_cast *cast,
                             uint32_t random)
{
    int emin = 1 - f->bias, binade = x.binade < emin ? emin : x.binade;
    split s = split_at(x, binade - f->man_bits);
    /* Counting on the code: the exponent field plus the kept significand, so that a carry out of the
     * significand moves into the exponent by itself. */
    uint64_t code = ((uint64_t)(binade - emin) << f->man_bits) + s.kept;
    code += rounds_up(cast, s, negative, random);
    if (code > f->max_code) return encode_overflow(f, negative, false, cast);
    if (code == 0 && (cast->lose_neg_zero || f->specials == MX_SPECIALS_NEGZERO)) return 0;
    return (uint32_t)code | sign_of(f, negative);
}

uint32_t mx_encode(const mx_format *f, double x, const mx_cast *cast, uint32_t random)
{
    bool negative = signbit(x);
    if (isnan(x)) return encode_nan(f, negative, cast);
    if (f->kind == MX_KIND_EXPONENT) {
        if (isinf(x)) return encode_overflow(f, false, true, cast);
        return encode_exponent(f, number_of(x), cast, random);
    }
    if (!f->is_signed) negative = false; /* ue4m3: the sign is ignored, as the matrix unit does */
    if (isinf(x)) return encode_overflow(f, negative, true, cast);
    if (f->kind == MX_KIND_FIXED) return encode_fixed(f, number_of(x), negative, cast, random);
    return encode_float(f, number_of(x), negative, cast, random);
}
