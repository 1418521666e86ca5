/* SPDX-License-Identifier: Apache-2.0
 * Dot products that try to break bounds: wide and narrow exponents, cancelling pairs, equal terms, small
 * integers (which the certificate covers), non-negative data, far subnormals, and C of every size. */
#include "bound_fuzz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random.h"

enum { MAX_N = 96 };

typedef struct draw {
    uint32_t a[MAX_N], b[MAX_N], c;
    uint8_t sa[MAX_N], sb[MAX_N];
    mx_lanes x;
} draw;

static const mx_format *pick_format(const mx_model *m, uint32_t r)
{
    const mx_format *ok[16];
    size_t n = 0;
    for (size_t i = 0; i < mx_format_count() && n < 16; i++)
        if (mx_model_accepts(m, mx_format_at(i))) ok[n++] = mx_format_at(i);
    return ok[r % n];
}

static uint32_t finite_code(const mx_format *f, uint32_t code)
{
    code &= f->bits == 32 ? ~0u : ((uint32_t)1 << f->bits) - 1;
    return mx_code_is_nan(f, code) || mx_code_is_inf(f, code) ? f->max_code : code;
}

static uint32_t encode(const mx_format *f, double x) { return mx_encode(f, x, &MX_CAST_DEFAULT, 0); }

/* One code in the manner of `kind`. */
static uint32_t code_of(const mx_format *f, int kind, uint32_t r)
{
    switch (kind) {
    case 0: return finite_code(f, r);
    case 1: return encode(f, ((int)(r % 7) - 3)); /* small integers */
    case 2: return encode(f, ldexp(1 + (r >> 8 & 255) / 256.0, (int)(r % 5) - 2) * (r >> 31 ? -1 : 1));
    case 3: return encode(f, ldexp(1 + (r >> 8 & 255) / 256.0, r & 1 ? 4 : -8) * (r >> 31 ? -1 : 1));
    case 4: return encode(f, ldexp(1 + (r >> 8 & 255) / 256.0, (int)(r % 9) - 6)); /* positive */
    case 5:
        return finite_code(f, r & 0x80000007u) | (r >> 31 && f->is_signed ? (uint32_t)1 << (f->bits - 1) : 0);
    default: return encode(f, 1.875);
    }
}

static void make_scales(draw *d, const mx_model *m, uint64_t index)
{
    if (!m->scales) return;
    d->x.scale_format = mx_format_find(strncmp(m->scales, "ue4m3", 5) ? "e8m0" : "ue4m3");
    d->x.scale_block = m->scale_block ? m->scale_block : 16;
    for (int i = 0; i < MAX_N; i++) {
        uint32_t r = mx_random_u32(31, 4, index * MAX_N + (uint64_t)i);
        bool e8m0 = d->x.scale_format->kind == MX_KIND_EXPONENT;
        d->sa[i] = (uint8_t)(e8m0 ? 120 + r % 16 : r % 127);
        d->sb[i] = (uint8_t)(e8m0 ? 120 + (r >> 8) % 16 : (r >> 8) % 127);
    }
    d->x.a_scale = d->sa;
    d->x.b_scale = d->sb;
}

static void make(draw *d, const mx_model *m, uint64_t index)
{
    uint32_t r = mx_random_u32(31, 1, index);
    const mx_format *fc = mx_model_format(m);
    int kind = (int)(r % 7);
    *d = (draw){.x = {.n = 1 + (int64_t)(r >> 8) % (r >> 28 ? 40 : MAX_N)}};
    d->x.a_format = pick_format(m, r >> 3);
    d->x.b_format = pick_format(m, r >> 13);
    for (int k = 0; k < d->x.n; k++) {
        d->a[k] = code_of(d->x.a_format, kind, mx_random_u32(31, 2, index * MAX_N + (uint64_t)k));
        d->b[k] = code_of(d->x.b_format, kind, mx_random_u32(31, 3, index * MAX_N + (uint64_t)k));
        bool cancel = r >> 20 & 1 && k && kind != 4; /* the negative of the lane before, nearly */
        if (!cancel || !(k & 1)) continue;
        d->a[k] = d->a[k - 1];
        d->b[k] = d->x.b_format->is_signed && d->b[k - 1]
                      ? d->b[k - 1] ^ (uint32_t)1 << (d->x.b_format->bits - 1)
                      : d->b[k - 1];
        if (mx_code_is_nan(d->x.b_format, d->b[k])) d->b[k] = 0; /* fnuz: no -0 */
    }
    uint32_t rc = mx_random_u32(31, 5, index);
    d->c = rc % 3 == 0 ? 0 : code_of(fc, kind == 0 && rc % 5 ? 2 : kind, rc >> 2);
    d->x.a = d->a;
    d->x.b = d->b;
    make_scales(d, m, index);
}

/* Steps of rounding on the longest path. */
static int64_t steps_of(const mx_model *m, int64_t n)
{
    if (m->kind == MX_MODEL_PAIRWISE) return 3 + (int64_t)ceil(log2((double)n));
    if (m->kind == MX_MODEL_EXACT && !m->lanes) return 1;
    int64_t lanes = m->lanes ? m->lanes : 1, k = m->pair_interleave ? m->k : lanes;
    return (n + k - 1) / k * (k / lanes);
}

static bool outside(double d, mx_bound b)
{
    if (isnan(b.low)) return !isnan(d);
    if (isinf(b.low) && b.low < 0 && isinf(b.high) && b.high > 0) return false;
    return !(d >= b.low && d <= b.high);
}

static void complain(fuzz_counts *c, const mx_model *m, uint64_t index, double d, mx_bound b)
{
    if (!*c->violation)
        snprintf(c->violation, sizeof c->violation, "%s, product %llu: %a is outside [%a, %a] (%s)", m->name,
                 (unsigned long long)index, d, b.low, b.high, b.name);
}

static void check(const mx_model *m, uint64_t index, fuzz_counts *c)
{
    draw d;
    make(&d, m, index);
    if (mx_unit_of(m).tf32)
        for (int k = 0; k < MAX_N; k++) {
            if (d.x.a_format->bits == 32) d.a[k] &= 0xFFFFE000u;
            if (d.x.b_format->bits == 32) d.b[k] &= 0xFFFFE000u;
        }
    const mx_format *f = mx_model_format(m);
    mx_unit u = mx_unit_of(m);
    double got = mx_decode(f, mx_model_chain(m, &d.x, d.c));
    mx_dot_facts facts = mx_dot_facts_of(&d.x, mx_decode(f, d.c));
    mx_bound b = mx_bound_a_priori(&u, &facts, steps_of(m, d.x.n));
    c->products++;
    if (outside(got, b)) complain(c, m, index, got, b);
    if (isfinite(b.low) && b.high > b.low)
        c->largest = fmax(c->largest, fabs(got - facts.exact) / ((b.high - b.low) / 2));
    c->open += !isfinite(b.low);
    if (mx_bound_certified(&u, &facts, &b)) {
        c->certified++;
        if (outside(got, b)) complain(c, m, index, got, b);
    }
    if (mx_bound_one_sided(&u, &facts, &b)) {
        c->one_sided++;
        if (isfinite(got) && outside(got, b)) complain(c, m, index, got, b);
    }
    uint32_t again;
    if (!mx_bound_running(m, &d.x, d.c, &again, &b)) return;
    c->running++;
    if (mx_decode(f, again) != got && !isnan(got)) complain(c, m, index, mx_decode(f, again), b);
    if (outside(got, b) && !isnan(got)) complain(c, m, index, got, b);
    if (isfinite(b.low) && b.high > b.low)
        c->largest_running = fmax(c->largest_running, fabs(got - facts.exact) / ((b.high - b.low) / 2));
}

fuzz_counts fuzz_bounds(const mx_model *m, uint64_t first, int64_t n)
{
    fuzz_counts c = {0};
    for (int64_t i = 0; i < n; i++)
        check(m, first + (uint64_t)i, &c);
    return c;
}
