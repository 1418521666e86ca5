/* SPDX-License-Identifier: Apache-2.0
 * A long accumulator: exact sums, rounded once at the end. */
#include <math.h>
#include <string.h>

#include "exact.h"

void mx_exact_clear(mx_exact *s) { memset(s, 0, sizeof *s); }

static void settle(mx_exact *s)
{
    for (int i = 0; i + 1 < MX_EXACT_LIMBS; i++) {
        int64_t carry = s->limb[i] >> 32; /* floor: leaves 0 <= limb < 2^32 */
        s->limb[i] -= carry * ((int64_t)1 << 32);
        s->limb[i + 1] += carry;
    }
    s->pending = 0;
}

void mx_exact_add(mx_exact *s, int64_t man, int exp)
{
    if (++s->pending > 1u << 29) settle(s);
    int at = exp - MX_EXACT_LOW, i = at >> 5, shift = at & 31;
    uint64_t m = man < 0 ? -(uint64_t)man : (uint64_t)man;
    uint64_t low = (m & 0xFFFFFFFFu) << shift, high = (m >> 32) << shift;
    int64_t part[3] = {(int64_t)(low & 0xFFFFFFFFu), (int64_t)((low >> 32) + (high & 0xFFFFFFFFu)),
                       (int64_t)(high >> 32)};
    for (int j = 0; j < 3; j++)
        s->limb[i + j] += man < 0 ? -part[j] : part[j];
}

static void note_special(mx_exact *s, bool nan, bool negative)
{
    s->nan |= nan;
    s->plus_inf |= !nan && !negative;
    s->minus_inf |= !nan && negative;
}

void mx_exact_add_double(mx_exact *s, double x)
{
    if (!isfinite(x)) {
        note_special(s, isnan(x), signbit(x));
        return;
    }
    if (x == 0) return;
    int exp;
    double m = frexp(x, &exp);
    mx_exact_add(s, (int64_t)ldexp(m, 53), exp - 53);
}

static void add_product(mx_exact *s, mx_unpacked a, mx_unpacked b, int frac)
{
    bool negative = a.negative != b.negative, nan = a.nan || b.nan;
    if (nan || a.inf || b.inf) {
        note_special(s, nan || (a.inf && !b.inf && !b.man) || (b.inf && !a.inf && !a.man), negative);
        return;
    }
    int64_t man = (int64_t)((uint64_t)a.man * b.man);
    if (man) mx_exact_add(s, negative ? -man : man, a.exp + b.exp - frac);
}

void mx_exact_add_lanes(mx_exact *s, const mx_lanes *x)
{
    int frac = mx_unpack_frac(x->a_format) + mx_unpack_frac(x->b_format);
    if (x->scale_format) frac += 2 * mx_unpack_frac(x->scale_format);
    for (int64_t k = 0; k < x->n; k++) {
        mx_unpacked a = mx_unpack(x->a_format, x->a[k]), b = mx_unpack(x->b_format, x->b[k]);
        if (x->scale_format) {
            mx_unpacked sa = mx_unpack(x->scale_format, x->a_scale[k / x->scale_block]);
            mx_unpacked sb = mx_unpack(x->scale_format, x->b_scale[k / x->scale_block]);
            a.nan |= sa.nan;
            b.nan |= sb.nan;
            a.man *= sa.man; /* at most 24 + 4 bits */
            b.man *= sb.man;
            a.exp = (int16_t)(a.exp + sa.exp);
            b.exp = (int16_t)(b.exp + sb.exp);
        }
        add_product(s, a, b, frac);
    }
}

/* Settle the carries and drop the sign, which is returned as 1 or -1. */
static int make_positive(mx_exact *s)
{
    settle(s);
    if (s->limb[MX_EXACT_LIMBS - 1] >= 0) return 1;
    for (int i = 0; i < MX_EXACT_LIMBS; i++)
        s->limb[i] = -s->limb[i];
    settle(s);
    return -1;
}

/* to += from * scale_a * scale_b, limb by limb: 48 bits times 32. */
static void add_multiple(mx_exact *to, mx_exact *from, double scale_a, double scale_b)
{
    int ea, eb;
    int64_t ma = (int64_t)ldexp(frexp(scale_a, &ea), 24), mb = (int64_t)ldexp(frexp(scale_b, &eb), 24);
    int64_t m = ma * mb, high = m / ((int64_t)1 << 24), low = m % ((int64_t)1 << 24);
    int sign = make_positive(from);
    for (int i = 0; i < MX_EXACT_LIMBS; i++) {
        if (!from->limb[i]) continue;
        int at = 32 * i + MX_EXACT_LOW + ea + eb - 48;
        mx_exact_add(to, sign * low * from->limb[i], at);
        mx_exact_add(to, sign * high * from->limb[i], at + 24);
    }
}

static bool is_zero(mx_exact *s)
{
    settle(s);
    for (int i = 0; i < MX_EXACT_LIMBS; i++)
        if (s->limb[i]) return false;
    return true;
}

void mx_exact_add_scaled(mx_exact *s, const mx_lanes *x, double scale_a, double scale_b)
{
    mx_exact dot;
    mx_exact_clear(&dot);
    mx_exact_add_lanes(&dot, x);
    bool special = dot.nan || dot.plus_inf || dot.minus_inf || !isfinite(scale_a) || !isfinite(scale_b);
    if (special)
        mx_exact_add_double(s, mx_exact_f64(&dot) * scale_a * scale_b);
    else if (scale_a != 0 && scale_b != 0 && !is_zero(&dot))
        add_multiple(s, &dot, scale_a, scale_b);
}

void mx_exact_scale(mx_exact *s, float x, float y)
{
    mx_exact from = *s;
    bool special = s->nan || s->plus_inf || s->minus_inf || !isfinite(x) || !isfinite(y);
    mx_exact_clear(s);
    if (special) {
        mx_exact_add_double(s, mx_exact_f64(&from) * (double)x * (double)y);
        return;
    }
    if (x != 0 && y != 0) add_multiple(s, &from, (double)x, (double)y);
}

/* The magnitude's leading 64 bits with a sticky lowest bit: |sum| ~ top * 2^exp. False for zero. */
static bool leading_bits(const mx_exact *s, bool *negative, uint64_t *top, int *exp)
{
    mx_exact t = *s;
    *negative = make_positive(&t) < 0;
    int i = MX_EXACT_LIMBS - 1;
    while (i >= 0 && !t.limb[i])
        i--;
    if (i < 0) return false;
    unsigned __int128 wide = 0;
    for (int j = 0; j < 3; j++)
        wide = wide << 32 | (uint64_t)(i - j >= 0 ? t.limb[i - j] : 0);
    int drop = 32 - __builtin_clz((uint32_t)t.limb[i]); /* of 96 bits, 64 + drop are in use */
    *top = (uint64_t)(wide >> drop);
    bool sticky = (wide & (((unsigned __int128)1 << drop) - 1)) != 0;
    for (int j = i - 3; j >= 0 && !sticky; j--)
        sticky = t.limb[j] != 0;
    *top |= sticky;
    *exp = 32 * (i - 2) + MX_EXACT_LOW + drop;
    return true;
}

/* Round to `frac` fraction bits in the binade, binades below emin share emin's grid. Returns the kept
 * integer; *quantum is its unit. */
static uint64_t round_even(uint64_t top, int exp, int frac, int emin, int *quantum)
{
    int binade = exp + 63 < emin ? emin : exp + 63, drop = binade - frac - exp;
    *quantum = binade - frac;
    if (drop > 64) return 0;
    uint64_t kept = drop == 64 ? 0 : top >> drop, half = (uint64_t)1 << (drop - 1);
    uint64_t rest = drop == 64 ? top : top & (((uint64_t)1 << drop) - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

double mx_exact_f64(const mx_exact *s)
{
    bool negative;
    uint64_t top;
    int exp = 0, quantum = 0;
    if (s->nan || (s->plus_inf && s->minus_inf)) return (double)NAN;
    if (s->plus_inf || s->minus_inf) return s->plus_inf ? (double)INFINITY : -(double)INFINITY;
    if (!leading_bits(s, &negative, &top, &exp)) return 0;
    uint64_t kept = round_even(top, exp, 52, -1022, &quantum);
    double x = ldexp((double)kept, quantum);
    return negative ? -x : x;
}

static uint32_t to_code(const mx_exact *s, const char *name, int frac, int emin)
{
    const mx_format *f = mx_format_find(name);
    uint32_t sign = (uint32_t)1 << (f->bits - 1);
    bool negative;
    uint64_t top;
    int exp = 0, quantum = 0;
    if (s->nan || (s->plus_inf && s->minus_inf)) return f->nan_code;
    if (s->plus_inf || s->minus_inf) return f->inf_code | (s->minus_inf ? sign : 0);
    if (!leading_bits(s, &negative, &top, &exp)) return 0;
    uint64_t kept = round_even(top, exp, frac, emin, &quantum);
    if (exp + 63 > 1 - emin) return f->inf_code | (negative ? sign : 0);
    uint64_t code = ((uint64_t)(quantum + frac - emin) << frac) + kept;
    if (code > f->inf_code) code = f->inf_code;
    return (uint32_t)code | (negative ? sign : 0);
}

uint32_t mx_exact_f32(const mx_exact *s) { return to_code(s, "f32", 23, -126); }

uint32_t mx_exact_f16(const mx_exact *s) { return to_code(s, "f16", 10, -14); }
