/* SPDX-License-Identifier: Apache-2.0
 * One instruction of a fused matrix unit, in exact integers. Written to be read beside its rule: classes
 * first, then exponents vote, then every term is cut to the common grid, then one sum and one conversion. */
#include <string.h>

#include "model.h"

enum { MAX_TERMS = 65 }; /* 64 lanes and C */

int mx_unpack_frac(const mx_format *f) { return f->kind == MX_KIND_EXPONENT ? 0 : f->man_bits; }

mx_unpacked mx_unpack(const mx_format *f, uint32_t code)
{
    mx_unpacked u = {0};
    u.nan = mx_code_is_nan(f, code);
    if (f->kind == MX_KIND_EXPONENT) {
        u.man = 1;
        u.exp = (int16_t)((int)(code & 0xFF) - f->bias);
        return u;
    }
    if (f->kind == MX_KIND_FIXED) {
        int32_t value = (int8_t)code;
        u.negative = value < 0;
        u.man = (uint32_t)(value < 0 ? -value : value);
        return u;
    }
    u.inf = mx_code_is_inf(f, code);
    u.negative = f->is_signed && (code >> (f->bits - 1) & 1);
    uint32_t field = code >> f->man_bits & (((uint32_t)1 << f->exp_bits) - 1);
    u.man = code & (((uint32_t)1 << f->man_bits) - 1);
    if (field) u.man |= (uint32_t)1 << f->man_bits;
    u.exp = (int16_t)((field ? (int)field : 1) - f->bias);
    return u;
}

/* ---- conversion ------------------------------------------------------------------------------------ */

static const struct {
    const char *format;
    int frac, emin, stored_frac;
    uint32_t inf, sign;
    bool nearest;
} outputs[] = {
    [MX_OUT_F32_RZ] = {"f32", 23, -126, 23, 0x7F800000, 0x80000000, false},
    [MX_OUT_E8M13_RZ] = {"f32", 13, -126, 23, 0x7F800000, 0x80000000, false},
    [MX_OUT_F16_RNE] = {"f16", 10, -14, 10, 0x7C00, 0x8000, true},
    [MX_OUT_F32_RNE] = {"f32", 23, -126, 23, 0x7F800000, 0x80000000, true},
};

const mx_format *mx_model_format(const mx_model *m) { return mx_format_find(outputs[m->output].format); }

static uint64_t magnitude(int64_t x) { return x < 0 ? -(uint64_t)x : (uint64_t)x; }

static uint64_t shift_right(uint64_t m, int by, bool nearest)
{
    if (by <= 0) return m << -by;
    if (by > 63) return 0;
    uint64_t kept = m >> by, rest = m & (((uint64_t)1 << by) - 1), half = (uint64_t)1 << (by - 1);
    return kept + (nearest && (rest > half || (rest == half && (kept & 1))));
}

uint32_t mx_model_convert(mx_model_output rule, int64_t sum, int quantum)
{
    if (sum == 0) return 0;
    uint64_t m = magnitude(sum);
    int exponent = 63 - __builtin_clzll(m) + quantum, emin = outputs[rule].emin;
    int binade = exponent < emin ? emin : exponent;
    uint32_t sign = sum < 0 ? outputs[rule].sign : 0;
    if (binade > 128) return sign | outputs[rule].inf;
    m = shift_right(m, binade - outputs[rule].frac - quantum, outputs[rule].nearest);
    /* Counting on the code: a significand with its leading bit moves the exponent field up by one. */
    uint64_t code = ((uint64_t)(binade - emin) << outputs[rule].stored_frac) +
                    (m << (outputs[rule].stored_frac - outputs[rule].frac));
    if (code > outputs[rule].inf) code = outputs[rule].inf;
    return code ? sign | (uint32_t)code : 0;
}

int64_t mx_model_cut_term(mx_model_cut cut, int64_t man, int right)
{
    if (right <= 0) return man * ((int64_t)1 << -right);
    if (cut == MX_CUT_FLOOR) return man >> (right > 63 ? 63 : right);
    int64_t m = (int64_t)shift_right(magnitude(man), right, cut == MX_CUT_NEAREST);
    return man < 0 ? -m : m;
}

/* ---- terms ----------------------------------------------------------------------------------------- */

typedef struct term {
    int64_t man; /* signed; value = man * 2^(exp - frac) */
    int exp, frac;
} term;

typedef struct terms {
    int n;
    bool nan, plus_inf, minus_inf;
    term t[MAX_TERMS];
} terms;

static void terms_init(terms *s)
{
    s->n = 0;
    s->nan = s->plus_inf = s->minus_inf = false;
}

/* Finite nonzero terms alone are kept: zeros do not vote (measured on an H200: probes Z1 to Z5). */
static void add_term(terms *s, int64_t man, int exp, int frac)
{
    if (man) s->t[s->n++] = (term){man, exp, frac};
}

static void add_inf(terms *s, bool negative)
{
    s->plus_inf |= !negative;
    s->minus_inf |= negative;
}

static void add_product(terms *s, mx_unpacked a, mx_unpacked b, int frac, int scale_exp)
{
    bool negative = a.negative != b.negative;
    if (a.nan || b.nan || (a.inf && !b.inf && !b.man) || (b.inf && !a.inf && !a.man))
        s->nan = true;
    else if (a.inf || b.inf)
        add_inf(s, negative);
    else {
        int64_t man = (int64_t)a.man * b.man;
        add_term(s, negative ? -man : man, a.exp + b.exp + scale_exp, frac);
    }
}

static void add_c(terms *s, const mx_format *f, uint32_t c)
{
    mx_unpacked u = mx_unpack(f, c);
    if (u.nan)
        s->nan = true;
    else if (u.inf)
        add_inf(s, u.negative);
    else
        add_term(s, u.negative ? -(int64_t)u.man : u.man, u.exp, f->man_bits);
}

/* ---- the step -------------------------------------------------------------------------------------- */

static int vote(const mx_model *m, term t)
{
    return m->normalise ? t.exp - t.frac + 63 - __builtin_clzll(magnitude(t.man)) : t.exp;
}

static uint32_t sum_terms(const mx_model *m, const terms *s)
{
    if (s->nan || (s->plus_inf && s->minus_inf)) return m->nan_bits;
    if (s->plus_inf || s->minus_inf)
        return outputs[m->output].inf | (s->minus_inf ? outputs[m->output].sign : 0);
    if (!s->n) return 0;
    int emax = m->exponent_floor;
    for (int i = 0; i < s->n; i++)
        if (vote(m, s->t[i]) > emax) emax = vote(m, s->t[i]);
    int64_t sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += mx_model_cut_term(m->cut, s->t[i].man, s->t[i].frac - m->fraction + emax - s->t[i].exp);
    return mx_model_convert(m->output, sum, emax - m->fraction);
}

static mx_unpacked scale_at(const mx_lanes *x, const uint8_t *scales, int64_t lane)
{
    return mx_unpack(x->scale_format, scales[lane / x->scale_block]);
}

mx_unpacked mx_unpack_lane(const mx_model *m, const mx_format *f, uint32_t code)
{
    enum { F16_EMIN = -14 };
    if (f->bits == 32 && (m->kind == MX_MODEL_FUSED || m->kind == MX_MODEL_TWO_STAGE)) code &= 0xFFFFE000u;
    mx_unpacked u = mx_unpack(f, code);
    while (m->through_f16 && u.man && u.man < (uint32_t)1 << f->man_bits && u.exp > F16_EMIN) {
        u.man <<= 1;
        u.exp--;
    }
    return u;
}

static void add_lane(const mx_model *m, terms *s, const mx_lanes *x, int64_t k)
{
    int frac = mx_unpack_frac(x->a_format) + mx_unpack_frac(x->b_format), scale_exp = 0;
    mx_unpacked a = mx_unpack_lane(m, x->a_format, x->a[k]), b = mx_unpack_lane(m, x->b_format, x->b[k]);
    if (x->scale_format) {
        mx_unpacked sa = scale_at(x, x->a_scale, k), sb = scale_at(x, x->b_scale, k);
        s->nan |= sa.nan || sb.nan;
        scale_exp = sa.exp + sb.exp;
    }
    add_product(s, a, b, frac, scale_exp);
}

/* RNE add of two accumulators. The smaller term is moved up to at most GAP binades below the larger, as a
 * sticky unit: further down it can only break ties. */
static uint32_t add_late(const mx_model *m, uint32_t d, uint32_t c)
{
    enum { GAP = 30 };
    mx_model add = *m;
    const mx_format *f = mx_model_format(m);
    if (add.output != MX_OUT_F16_RNE) add.output = MX_OUT_F32_RNE;
    add.fraction = (int16_t)(f->man_bits + GAP);
    add.exponent_floor = MX_NO_FLOOR;
    add.cut = MX_CUT_ZERO;
    add.normalise = false;
    terms s;
    terms_init(&s);
    add_c(&s, f, d);
    add_c(&s, f, c);
    if (s.n == 2) {
        term *low = &s.t[s.t[0].exp >= s.t[1].exp], *high = &s.t[s.t[0].exp < s.t[1].exp];
        if (high->exp - low->exp > GAP) *low = (term){low->man < 0 ? -1 : 1, high->exp - GAP, f->man_bits};
    }
    return sum_terms(&add, &s);
}

/* Which group of its instruction lane k belongs to. */
static int group_of(const mx_model *m, int64_t k)
{
    return m->pair_interleave ? (int)(k >> 1 & 1) : (int)(k / m->lanes);
}

static uint32_t step_fused(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    const mx_format *f = mx_model_format(m);
    uint32_t d = m->late_c ? 0 : c;
    int groups = m->pair_interleave ? 2 : (int)((x->n + m->lanes - 1) / m->lanes);
    for (int g = 0; g < groups || g == 0; g++) {
        terms s;
        terms_init(&s);
        for (int64_t k = 0; k < x->n; k++)
            if (group_of(m, k) == g) add_lane(m, &s, x, k);
        add_c(&s, f, d);
        d = sum_terms(m, &s);
    }
    return m->late_c ? add_late(m, d, c) : d;
}

/* Exact sum of the products of one group, in units of 2^-frac of the two formats together. */
static int64_t group_dot(const mx_lanes *x, int64_t begin, int64_t end)
{
    int64_t dot = 0;
    for (int64_t k = begin; k < end; k++) {
        mx_unpacked a = mx_unpack(x->a_format, x->a[k]), b = mx_unpack(x->b_format, x->b[k]);
        int64_t product = (int64_t)a.man * b.man * ((int64_t)1 << (a.exp + b.exp));
        dot += a.negative != b.negative ? -product : product;
    }
    return dot;
}

/* Four-bit operands with fine scales: exact sums of 16 lanes, placed by the exponents of their scales. */
static uint32_t step_grouped(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    terms s;
    terms_init(&s);
    int frac = mx_unpack_frac(x->a_format) + mx_unpack_frac(x->b_format);
    if (x->scale_format) frac += 2 * mx_unpack_frac(x->scale_format);
    for (int64_t k = 0; k < x->n; k += m->lanes) {
        mx_unpacked sa = {.man = 1}, sb = {.man = 1};
        if (x->scale_format) {
            sa = scale_at(x, x->a_scale, k);
            sb = scale_at(x, x->b_scale, k);
        }
        s.nan |= sa.nan || sb.nan;
        int64_t dot = group_dot(x, k, k + m->lanes < x->n ? k + m->lanes : x->n);
        add_term(&s, dot * sa.man * sb.man, sa.exp + sb.exp, frac);
    }
    add_c(&s, mx_model_format(m), c);
    return sum_terms(m, &s);
}

uint32_t mx_model_step(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    switch (m->kind) {
    case MX_MODEL_FUSED: return step_fused(m, x, c);
    case MX_MODEL_GROUPED: return step_grouped(m, x, c);
    case MX_MODEL_TWO_STAGE: return mx_step_two_stage(m, x, c);
    case MX_MODEL_FLUSH_TREE: return mx_step_flush_tree(m, x, c);
    case MX_MODEL_EXACT:
    case MX_MODEL_FMA:
    case MX_MODEL_MUL_ADD:
    case MX_MODEL_PAIRWISE: return mx_step_ieee(m, x, c);
    }
    return m->nan_bits;
}

uint32_t mx_model_chain(const mx_model *m, const mx_lanes *x, uint32_t c)
{
    if (!m->k || x->n <= m->k) return mx_model_step(m, x, c);
    for (int64_t k = 0; k < x->n; k += m->k) {
        mx_lanes part = *x;
        part.a += k;
        part.b += k;
        part.n = x->n - k < m->k ? x->n - k : m->k;
        if (x->scale_format) {
            part.a_scale += k / x->scale_block;
            part.b_scale += k / x->scale_block;
        }
        c = mx_model_step(m, &part, c);
    }
    return c;
}
