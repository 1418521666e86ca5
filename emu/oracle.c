/* SPDX-License-Identifier: Apache-2.0
 * Decoding and rounding by definition, in MPFR. See oracle.h. */
#include <math.h>
#include <stdlib.h>

#include <mpfr.h>

#include "oracle.h"

/* Inputs have at most 53 significant bits, values of codes 24, midpoints 25: nothing is ever rounded. */
#define PRECISION 64

struct mx_oracle {
    const mx_format *format;
    uint32_t max_code; /* largest finite magnitude */
    bool exact;        /* |x| == below */
    uint32_t low;      /* the bracket found last, below <= |x| < above, kept since neighbours come in runs */
    mpfr_t below, above, middle;
    mpfr_t smallest, limit; /* magnitudes of code 0 and of the code after the largest */
    mpfr_t x, part, value;
};

/* ---- codes and their values ------------------------------------------------------------------------ */

static uint32_t magnitude_bits(const mx_format *f) { return f->bits - (f->is_signed ? 1u : 0u); }

static uint32_t ones(uint32_t n) { return n >= 32 ? 0xFFFFFFFFu : ((uint32_t)1 << n) - 1; }

/* Magnitude codes count up from zero; the specials of each kind take away a few at the top. */
static uint32_t largest_finite(const mx_format *f)
{
    uint32_t top = ones(magnitude_bits(f));
    switch (f->specials) {
    case MX_SPECIALS_NONE:
    case MX_SPECIALS_NEGZERO: return top;
    case MX_SPECIALS_ALLONES: return top - 1;
    case MX_SPECIALS_IEEE: return top - ones(f->man_bits) - 1; /* below the all-ones exponent field */
    }
    return top;
}

/* The magnitude that a code would have if every code were finite. */
static void set_magnitude(mpfr_t to, const mx_format *f, uint32_t code)
{
    unsigned long field = (unsigned long)code >> f->man_bits, fraction = code & ones(f->man_bits);
    if (f->kind == MX_KIND_FIXED)
        mpfr_set_ui_2exp(to, code, -(mpfr_exp_t)f->man_bits, MPFR_RNDN);
    else if (f->kind == MX_KIND_EXPONENT)
        mpfr_set_ui_2exp(to, 1, (mpfr_exp_t)code - f->bias, MPFR_RNDN);
    else if (field == 0)
        mpfr_set_ui_2exp(to, fraction, (mpfr_exp_t)1 - f->bias - f->man_bits, MPFR_RNDN);
    else
        mpfr_set_ui_2exp(to, fraction + ((unsigned long)1 << f->man_bits),
                         (mpfr_exp_t)field - f->bias - f->man_bits, MPFR_RNDN);
}

mx_oracle *mx_oracle_new(const mx_format *f)
{
    mx_oracle *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->format = f;
    o->max_code = largest_finite(f);
    mpfr_inits2(PRECISION, o->below, o->above, o->middle, o->smallest, o->limit, o->part, o->value,
                (mpfr_ptr)NULL);
    mpfr_init2(o->x, 53); /* as a double: MPFR then copies it */
    mpfr_set_zero(o->below, 1);
    mpfr_set_zero(o->above, 1); /* an empty bracket: the first call searches */
    set_magnitude(o->smallest, f, 0);
    set_magnitude(o->limit, f, o->max_code + 1);
    return o;
}

void mx_oracle_free(mx_oracle *o)
{
    if (!o) return;
    mpfr_clears(o->below, o->above, o->middle, o->smallest, o->limit, o->x, o->part, o->value,
                (mpfr_ptr)NULL);
    free(o);
}

const mx_format *mx_oracle_format(const mx_oracle *o) { return o->format; }

uint32_t mx_oracle_max_code(const mx_oracle *o) { return o->max_code; }

double mx_oracle_magnitude(mx_oracle *o, uint32_t code)
{
    set_magnitude(o->value, o->format, code);
    return mpfr_get_d(o->value, MPFR_RNDN);
}

double mx_oracle_midpoint(mx_oracle *o, uint32_t code)
{
    set_magnitude(o->value, o->format, code);
    set_magnitude(o->part, o->format, code + 1);
    mpfr_add(o->value, o->value, o->part, MPFR_RNDN);
    mpfr_div_2ui(o->value, o->value, 1, MPFR_RNDN);
    return mpfr_get_d(o->value, MPFR_RNDN);
}

double mx_oracle_decode(mx_oracle *o, uint32_t code)
{
    const mx_format *f = o->format;
    uint32_t width = magnitude_bits(f), magnitude = code & ones(width);
    bool negative = f->is_signed && (code >> width & 1);
    if (f->kind == MX_KIND_FIXED) {
        long n = negative ? (long)magnitude - (1L << width) : (long)magnitude;
        mpfr_set_si_2exp(o->value, n, -(mpfr_exp_t)f->man_bits, MPFR_RNDN);
        return mpfr_get_d(o->value, MPFR_RNDN);
    }
    if (magnitude > o->max_code && f->specials == MX_SPECIALS_IEEE && !(magnitude & ones(f->man_bits)))
        mpfr_set_inf(o->value, 1);
    else if (magnitude > o->max_code || (f->specials == MX_SPECIALS_NEGZERO && negative && magnitude == 0))
        return copysign((double)NAN, negative ? -1.0 : 1.0);
    else
        set_magnitude(o->value, f, magnitude);
    mpfr_setsign(o->value, o->value, negative, MPFR_RNDN);
    return mpfr_get_d(o->value, MPFR_RNDN);
}

/* ---- rounding by definition ------------------------------------------------------------------------ */

static uint32_t with_sign(const mx_format *f, uint32_t magnitude, bool negative)
{
    if (!negative || !f->is_signed) return magnitude;
    if (f->kind == MX_KIND_FIXED) return magnitude ? ((uint32_t)1 << f->bits) - magnitude : 0;
    return magnitude | (uint32_t)1 << (f->bits - 1);
}

static uint32_t answer_nan(const mx_oracle *o, const mx_cast *cast, bool negative)
{
    const mx_format *f = o->format;
    if (cast->nan_code[negative] != -1) return (uint32_t)cast->nan_code[negative];
    if (f->kind == MX_KIND_FIXED) return 0;
    if (f->specials == MX_SPECIALS_NEGZERO) return (uint32_t)1 << (f->bits - 1);
    uint32_t magnitude = o->max_code + 1; /* all-ones formats: the code that follows the largest */
    if (f->specials == MX_SPECIALS_NONE) magnitude = o->max_code;
    if (f->specials == MX_SPECIALS_IEEE) magnitude = f->nan_code; /* one of many: the row says which */
    return cast->nan == MX_NAN_SIGNED ? with_sign(f, magnitude, negative) : magnitude;
}

/* Finite results past the largest value, and Inf. Directed rounding that points back inward never
 * overflows (IEEE 754-2019, 7.4). */
static uint32_t answer_overflow(const mx_oracle *o, const mx_cast *cast, bool negative, bool infinite)
{
    const mx_format *f = o->format;
    mx_rounding outward = negative ? MX_RDN : MX_RUP;
    bool directed = cast->rounding == MX_RTZ || cast->rounding == MX_RUP || cast->rounding == MX_RDN;
    bool clamp = f->specials == MX_SPECIALS_NONE || cast->overflow == MX_SATURATE;
    if (!infinite && (cast->overflow == MX_SATURATE_FINITE || (directed && cast->rounding != outward)))
        clamp = true;
    if (clamp) return with_sign(f, o->max_code, negative);
    if (f->specials == MX_SPECIALS_NEGZERO) return (uint32_t)1 << (f->bits - 1);
    return with_sign(f, o->max_code + 1, negative); /* Inf, or the all-ones NaN */
}

static bool in_bracket(mx_oracle *o)
{
    int side = mpfr_cmp(o->x, o->below);
    o->exact = side == 0;
    return side >= 0 && mpfr_cmp(o->x, o->above) < 0;
}

/* Sets the bracket around x, which is at least the magnitude of code 0 and below the limit. */
static void find_bracket(mx_oracle *o)
{
    uint32_t low = 0, high = o->max_code + 1;
    while (high - low > 1) {
        uint32_t probe = low + (high - low) / 2;
        set_magnitude(o->value, o->format, probe);
        if (mpfr_cmp(o->value, o->x) <= 0)
            low = probe;
        else
            high = probe;
    }
    o->low = low;
    set_magnitude(o->below, o->format, low);
    set_magnitude(o->above, o->format, low + 1);
    mpfr_add(o->middle, o->below, o->above, MPFR_RNDN);
    mpfr_div_2ui(o->middle, o->middle, 1, MPFR_RNDN);
    o->exact = mpfr_equal_p(o->x, o->below);
}

/* Does |x|, strictly inside the bracket, carry into the upper neighbour with these random bits? */
static bool draw_up(mx_oracle *o, int bits, uint32_t random)
{
    mpfr_sub(o->part, o->x, o->below, MPFR_RNDN);
    mpfr_sub(o->value, o->above, o->below, MPFR_RNDN); /* a power of two: the division is exact */
    mpfr_div(o->part, o->part, o->value, MPFR_RNDN);
    mpfr_mul_2ui(o->part, o->part, (unsigned long)bits, MPFR_RNDN);
    mpfr_floor(o->part, o->part);
    mpfr_add_ui(o->part, o->part, random & ones((uint32_t)bits), MPFR_RNDN);
    mpfr_set_ui_2exp(o->value, 1, bits, MPFR_RNDN);
    return mpfr_cmp(o->part, o->value) >= 0;
}

static bool goes_up(mx_oracle *o, const mx_cast *cast, bool negative, uint32_t random)
{
    if (o->exact) return false;
    int side;
    switch (cast->rounding) {
    case MX_RTZ: return false;
    case MX_RUP: return !negative;
    case MX_RDN: return negative;
    case MX_STOCHASTIC: return draw_up(o, cast->random_bits, random);
    case MX_RNE:
    case MX_RNA:
    case MX_RNZ:
        side = mpfr_cmp(o->x, o->middle);
        if (side) return side > 0;
        return cast->rounding == MX_RNA || (cast->rounding == MX_RNE && o->low % 2);
    }
    return false;
}

uint32_t mx_oracle_encode(mx_oracle *o, const mx_cast *cast, double x, uint32_t random)
{
    const mx_format *f = o->format;
    bool negative = signbit(x);
    mpfr_set_d(o->x, fabs(x), MPFR_RNDN);
    if (mpfr_nan_p(o->x)) return answer_nan(o, cast, negative);
    if (!f->is_signed) negative = false;
    if (mpfr_inf_p(o->x)) return answer_overflow(o, cast, negative, true);
    uint32_t code = 0;
    bool found = in_bracket(o);
    if (!found) {
        if (mpfr_cmp(o->x, o->limit) >= 0) return answer_overflow(o, cast, negative, false);
        found = mpfr_cmp(o->x, o->smallest) >= 0;
        if (found) find_bracket(o);
    }
    /* Not found: an exponent format below its smallest power of two gives code 0 in every mode. */
    if (found) code = o->low + goes_up(o, cast, negative, random);
    if (code > o->max_code) return answer_overflow(o, cast, negative, false);
    if (code == 0 && (cast->lose_neg_zero || f->specials == MX_SPECIALS_NEGZERO)) negative = false;
    return with_sign(f, code, negative);
}

/* ---- MPFR's own rounding ---------------------------------------------------------------------------- */

double mx_oracle_native(mx_oracle *o, mx_rounding rounding, double x)
{
    static const mpfr_rnd_t modes[] = {
        [MX_RNE] = MPFR_RNDN, [MX_RTZ] = MPFR_RNDZ, [MX_RUP] = MPFR_RNDU, [MX_RDN] = MPFR_RNDD};
    const mx_format *f = o->format;
    bool known = rounding == MX_RNE || rounding == MX_RTZ || rounding == MX_RUP || rounding == MX_RDN;
    if (!known || f->kind != MX_KIND_FLOAT) return (double)NAN;
    mpfr_exp_t emin = mpfr_get_emin();
    mpfr_t y;
    mpfr_init2(y, f->man_bits + 1);
    set_magnitude(o->value, f, 1);
    mpfr_set_emin(mpfr_get_exp(o->value)); /* in MPFR's terms, significands in [1/2, 1) */
    int ternary = mpfr_set_d(y, x, modes[rounding]);
    mpfr_subnormalize(y, ternary, modes[rounding]);
    double rounded = mpfr_get_d(y, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_clear(y);
    return rounded;
}
