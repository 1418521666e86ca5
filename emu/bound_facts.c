/* SPDX-License-Identifier: Apache-2.0
 * Facts about dot products, running bounds, and bounds of whole products. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "bound.h"
#include "exact.h"
#include "gemm_load.h"

/* ---- facts ------------------------------------------------------------------------------------------- */

typedef struct collector {
    mx_dot_facts f;
    mx_exact sum;
} collector;

static void begin(collector *s)
{
    memset(s, 0, sizeof *s);
    s->f.max_exponent = INT_MIN / 2;
    s->f.granule = INT_MAX;
    s->f.nonnegative = true;
}

/* Exponent of the lowest set bit of a nonzero finite double. */
static int lowest_bit(double x)
{
    int exponent;
    int64_t m = (int64_t)ldexp(frexp(x, &exponent), 53);
    return exponent - 53 + __builtin_ctzll((uint64_t)m);
}

static void note_value(collector *s, double x)
{
    s->f.magnitude += fabs(x);
    if (x == 0) return;
    int low = lowest_bit(x);
    if (low < s->f.granule) s->f.granule = low;
    s->f.nonnegative &= x > 0;
}

static bool is_subnormal(const mx_format *f, mx_unpacked u)
{
    return u.man && f->kind == MX_KIND_FLOAT && u.man < (uint32_t)1 << f->man_bits;
}

/* One product a * b * weight; weight's exponent joins the vote, its significand the magnitude. */
static void note_product(collector *s, const mx_format *fa, const mx_format *fb, uint32_t a, uint32_t b,
                         double weight)
{
    mx_unpacked ua = mx_unpack(fa, a), ub = mx_unpack(fb, b);
    double value = mx_decode(fa, a) * mx_decode(fb, b) * weight;
    if (!isfinite(value)) return; /* the exact sum has noted it */
    note_value(s, value);
    if (value == 0) return;
    int exponent = ua.exp + ub.exp + ilogb(weight);
    if (exponent > s->f.max_exponent) s->f.max_exponent = exponent;
    if (is_subnormal(fa, ua) || is_subnormal(fb, ub)) s->f.subnormal += fabs(value);
}

static void add_weighted(collector *s, const mx_lanes *x, double wa, double wb)
{
    for (int64_t k = 0; k < x->n; k++)
        note_product(s, x->a_format, x->b_format, x->a[k], x->b[k], wa * wb);
    mx_lanes plain = *x;
    plain.scale_format = NULL;
    mx_exact_add_scaled(&s->sum, &plain, wa, wb);
    s->f.products += x->n;
}

static mx_dot_facts finish(collector *s, double c)
{
    mx_exact_add_double(&s->sum, c);
    if (isfinite(c)) note_value(s, c);
    double exact = mx_exact_f64(&s->sum);
    s->f.nan = isnan(exact);
    s->f.infinite = isinf(exact) ? (exact > 0 ? 1 : -1) : 0;
    s->f.exact = exact;
    /* One rounding to nearest per addition, and two for products with wide scales. */
    s->f.magnitude *= 1 + ((double)s->f.products + 4) * DBL_EPSILON;
    s->f.subnormal *= 1 + ((double)s->f.products + 4) * DBL_EPSILON;
    return s->f;
}

static double weight_of(const mx_lanes *x, const uint8_t *scales, int64_t lane)
{
    return x->scale_format ? mx_decode(x->scale_format, scales[lane / x->scale_block]) : 1;
}

mx_dot_facts mx_dot_facts_of(const mx_lanes *x, double c)
{
    collector s;
    begin(&s);
    int64_t stretch = x->scale_format ? x->scale_block : x->n;
    for (int64_t k = 0; k < x->n; k += stretch) {
        mx_lanes part = *x;
        part.a += k;
        part.b += k;
        part.n = x->n - k < stretch ? x->n - k : stretch;
        add_weighted(&s, &part, weight_of(x, x->a_scale, k), weight_of(x, x->b_scale, k));
    }
    return finish(&s, c);
}

/* ---- running bound ----------------------------------------------------------------------------------- */

/* Loss of one term on the grid: less than a unit of the grid, and no more than the term, if it has bits
 * below. */
static double cut_loss(double value, int exponent, int frac, int grid)
{
    if (value == 0 || exponent - frac >= grid) return 0;
    return fmin(fabs(value), ldexp(1, grid));
}

typedef struct running {
    const mx_model *m;
    int frac; /* of products */
    double error;
} running;

static double f32_or_f16(const mx_model *m, uint32_t code) { return mx_decode(mx_model_format(m), code); }

static int term_exponent(const mx_model *m, const mx_lanes *x, int64_t k)
{
    int scale = x->scale_format ? mx_unpack(x->scale_format, x->a_scale[k / x->scale_block]).exp +
                                      mx_unpack(x->scale_format, x->b_scale[k / x->scale_block]).exp
                                : 0;
    return mx_unpack_lane(m, x->a_format, x->a[k]).exp + mx_unpack_lane(m, x->b_format, x->b[k]).exp + scale;
}

static double term_value(const mx_lanes *x, int64_t k)
{
    return mx_decode(x->a_format, x->a[k]) * mx_decode(x->b_format, x->b[k]) * weight_of(x, x->a_scale, k) *
           weight_of(x, x->b_scale, k);
}

/* One group of lanes from accumulator c: adds its loss, returns its result. */
static uint32_t group_step(running *r, const mx_lanes *x, uint32_t c)
{
    const mx_model *m = r->m;
    const mx_format *f = mx_model_format(m);
    mx_model one = *m;
    mx_unit u = mx_unit_of(m);
    one.k = m->lanes;
    one.late_c = one.pair_interleave = false; /* the group itself is what is left */
    double c_value = f32_or_f16(m, c), loss = 0, sum = c_value, magnitude = fabs(c_value);
    int c_exp = mx_unpack(f, c).exp, emax = c_value == 0 ? m->exponent_floor : c_exp;
    if (emax < m->exponent_floor) emax = m->exponent_floor;
    for (int64_t k = 0; k < x->n; k++)
        if (term_value(x, k) != 0 && term_exponent(m, x, k) > emax) emax = term_exponent(m, x, k);
    int grid = emax - m->fraction;
    loss += cut_loss(c_value, c_exp, f->man_bits, grid);
    for (int64_t k = 0; k < x->n; k++) {
        double value = term_value(x, k);
        loss += cut_loss(value, term_exponent(m, x, k), r->frac, grid);
        sum += value;
        magnitude += fabs(value);
    }
    double rounding = ldexp(1, (m->output == MX_OUT_F16_RNE ? 0 : 1) - u.precision);
    double exact = fabs(sum) + magnitude * (double)(x->n + 1) * DBL_EPSILON;
    r->error += loss * (1 + rounding) + rounding * exact + (exact < ldexp(2, u.emin) ? u.quantum : 0);
    return mx_model_step(&one, x, c);
}

/* Lanes of group g of an interleaved instruction, gathered. */
static void gather(const mx_lanes *x, int g, uint32_t *a, uint32_t *b, mx_lanes *out)
{
    *out = *x;
    out->a = a;
    out->b = b;
    out->n = 0;
    for (int64_t k = 0; k < x->n; k++)
        if ((int)(k >> 1 & 1) == g) {
            a[out->n] = x->a[k];
            b[out->n++] = x->b[k];
        }
}

static uint32_t late_step(running *r, const mx_lanes *x, uint32_t c)
{
    uint32_t a[64], b[64], d = r->m->late_c ? 0 : c;
    for (int g = 0; g < 2; g++) {
        mx_lanes part;
        gather(x, g, a, b, &part);
        d = group_step(r, &part, d);
    }
    if (!r->m->late_c) return d;
    double u = r->m->output == MX_OUT_F16_RNE ? 0x1p-11 : 0x1p-24;
    double sum = fabs(f32_or_f16(r->m, d) + f32_or_f16(r->m, c));
    r->error += sum * u * (1 + DBL_EPSILON) + (r->m->output == MX_OUT_F16_RNE ? 0x1p-25 : 0x1p-149);
    return mx_model_step(r->m, x, c);
}

bool mx_bound_running(const mx_model *m, const mx_lanes *x, uint32_t c, uint32_t *d, mx_bound *out)
{
    if (m->kind != MX_MODEL_FUSED || (m->late_c && !m->pair_interleave)) return false;
    *out = (mx_bound){.name = "running",
                      .formula = "sum over steps of [sum over terms with bits below g = 2^(Emax-F) of "
                                 "min(|term|, g)] (1 + 2^(1-p)) + 2^(1-p) |exact step sum|"};
    running r = {.m = m, .frac = mx_unpack_frac(x->a_format) + mx_unpack_frac(x->b_format)};
    int64_t stride = m->pair_interleave ? m->k : m->lanes;
    mx_dot_facts f = mx_dot_facts_of(x, f32_or_f16(m, c));
    for (int64_t k = 0; k < x->n; k += stride) {
        mx_lanes part = *x;
        part.a += k;
        part.b += k;
        part.n = x->n - k < stride ? x->n - k : stride;
        if (x->scale_format) {
            part.a_scale += k / x->scale_block;
            part.b_scale += k / x->scale_block;
        }
        c = m->pair_interleave ? late_step(&r, &part, c) : group_step(&r, &part, c);
    }
    *d = c;
    bool open = f.nan || f.infinite || !isfinite(r.error) || !isfinite(f32_or_f16(m, c));
    double error = r.error * (1 + 0x1p-40) + fabs(f.exact) * DBL_EPSILON;
    out->low = open ? -(double)INFINITY : f.exact - error;
    out->high = open ? (double)INFINITY : f.exact + error;
    return true;
}

/* ---- products ---------------------------------------------------------------------------------------- */

static double factor(const mx_operand *x, int64_t row, int64_t lane)
{
    float f;
    mx_load_factors(x, row, 1, lane, &f);
    return (double)f;
}

static int64_t block_rest(const mx_operand *x, int64_t lane)
{
    return x->scale_format ? x->block_k - lane % x->block_k : x->k - lane;
}

/* What a tf32 unit sees of fp32 words. */
static void drop_low_bits(const mx_format *f, uint32_t *codes, int64_t n)
{
    for (int64_t k = 0; f->bits == 32 && k < n; k++)
        codes[k] &= 0xFFFFE000u;
}

static mx_dot_facts product_facts(const mx_product *p, bool tf32, int64_t row, int64_t col,
                                  int64_t *stretches)
{
    enum { CHUNK = 512 };
    uint32_t a[CHUNK], b[CHUNK];
    collector s;
    begin(&s);
    double global =
        (p->a.global == 0 ? 1 : (double)p->a.global) * (p->b.global == 0 ? 1 : (double)p->b.global);
    *stretches = 0;
    for (int64_t k = 0, n; k < p->a.k; k += n, ++*stretches) {
        int64_t na = block_rest(&p->a, k), nb = block_rest(&p->b, k);
        n = p->a.k - k < CHUNK ? p->a.k - k : CHUNK;
        n = na < n ? na : n;
        n = nb < n ? nb : n;
        mx_load_codes(&p->a, row, k, n, a);
        mx_load_codes(&p->b, col, k, n, b);
        if (tf32) {
            drop_low_bits(p->a.format, a, n);
            drop_low_bits(p->b.format, b, n);
        }
        mx_lanes x = {.a_format = p->a.format, .b_format = p->b.format, .a = a, .b = b, .n = n};
        add_weighted(&s, &x, factor(&p->a, row, k), factor(&p->b, col, k));
    }
    if (global != 1 || p->alpha != 1) { /* one more weight on everything */
        double w = global * p->alpha, up = fabs(w) * (1 + 4 * DBL_EPSILON);
        double exact = mx_exact_f64(&s.sum) * w;
        mx_exact_clear(&s.sum);
        mx_exact_add_double(&s.sum, fabs(exact) < 0x1p-900 ? 0 : exact);
        s.f.magnitude *= up;
        s.f.subnormal *= up;
        s.f.max_exponent += w == 0 ? 0 : ilogb(w) + 1;
        s.f.granule = s.f.granule == INT_MAX ? INT_MAX : s.f.granule + (w == 0 ? 0 : lowest_bit(w));
        s.f.nonnegative &= w >= 0;
    }
    double c = 0;
    if (p->c_format && p->beta != 0)
        c = p->beta * (double)mx_load_value(p->c_format, p->c, row * p->c_pitch + col);
    if (p->bias_format) {
        double bias = (double)mx_load_value(p->bias_format, p->bias, col);
        note_value(&s, bias);
        mx_exact_add_double(&s.sum, bias);
    }
    return finish(&s, c);
}

mx_status mx_bound_product(const mx_product *p, const mx_unit *unit, int64_t row, int64_t col, mx_bound *out,
                           mx_dot_facts *facts, mx_error *e)
{
    if (!p->a.format || !p->b.format || !p->d_format || p->a.k != p->b.k || row < 0 || row >= p->a.rows ||
        col < 0 || col >= p->b.rows)
        return mx_fail(e, MX_BAD_USAGE, "bound",
                       "a bound needs formats, one K, and an output inside the product");
    mx_unit weakest;
    if (!unit) {
        weakest = mx_unit_weakest(p->a.format, p->b.format);
        unit = &weakest;
    }
    int64_t stretches;
    mx_dot_facts f = product_facts(p, unit->tf32, row, col, &stretches);
    if (facts) *facts = f;
    const mx_format *to = p->d_format;
    /* A certified sum is exact in fp32; the cast then rounds it once. */
    if (mx_bound_certified(unit, &f, out)) {
        mx_cast cast = MX_CAST_DEFAULT;
        if (to->bits > 8) cast.overflow = MX_OVERFLOW;
        out->low = out->high = mx_decode(to, mx_encode(to, f.exact, &cast, 0));
        return MX_OK;
    }
    /* Steps: one per scale block at least; additions: as many again, two scale factors each, five at the end.
     */
    int64_t steps = (p->a.k + unit->lanes - 1) / unit->lanes + stretches + 1;
    *out = mx_bound_after_adds(mx_bound_a_priori(unit, &f, steps), &f, steps + 2 + 5);
    *out = mx_bound_after_cast(*out, to, true);
    return MX_OK;
}
