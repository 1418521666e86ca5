/* SPDX-License-Identifier: Apache-2.0
 * Bounds from facts: a priori, one-sided, certificate. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "bound.h"

/* Pushes a magnitude past the rounding of the few dozen double operations that made it. */
#define UP(x) ((x) * (1 + 0x1p-44))

/* ---- units ------------------------------------------------------------------------------------------- */

static mx_unit base_unit(const mx_model *m)
{
    bool f16 = m->output == MX_OUT_F16_RNE, e8m13 = m->output == MX_OUT_E8M13_RZ;
    mx_unit u = {.lanes = m->lanes ? m->lanes : 1, .fraction = m->fraction};
    u.precision = f16 ? 11 : e8m13 ? 14 : 24;
    u.emin = f16 ? -14 : -126;
    u.toward_zero = m->output == MX_OUT_F32_RZ || e8m13;
    u.step = ldexp(1, (u.toward_zero ? 1 : 0) - u.precision);
    u.quantum = f16 ? 0x1p-25 : e8m13 ? 0x1p-139 : 0x1p-149;
    u.growth = u.toward_zero ? 0 : u.step;
    u.tf32 = !strncmp(m->inputs, "tf32", 4);
    return u;
}

/* fp32 arithmetic to nearest, `roundings` of it on the path of each product within a step. */
static mx_unit rounded_unit(const mx_model *m, int roundings)
{
    mx_unit u = base_unit(m);
    u.fraction = 300;
    u.step = u.growth = roundings * 0x1p-24;
    u.quantum = 2 * u.lanes * 0x1p-149;
    return u;
}

mx_unit mx_unit_of(const mx_model *m)
{
    mx_unit u = base_unit(m);
    switch (m->kind) {
    case MX_MODEL_FUSED:
    case MX_MODEL_GROUPED: u.term = ldexp(1, -m->fraction); break;
    case MX_MODEL_TWO_STAGE:
        /* Cut at 24 bits, floored to another grid at 24 (fp8) and at 31, C floored at 24: each loss is below
         * one unit of 2^-24 of the largest term, and a floor may enlarge a magnitude by as much. */
        u.term = 0x1.8p-23;
        u.growth = (4 + m->lanes) * 0x1p-24;
        break;
    case MX_MODEL_EXACT: u.fraction = 300; break;
    case MX_MODEL_FMA: u = rounded_unit(m, 1); break;
    case MX_MODEL_MUL_ADD: u = rounded_unit(m, 2); break;
    case MX_MODEL_PAIRWISE: u = rounded_unit(m, 1); break; /* as many roundings as levels: see steps */
    case MX_MODEL_FLUSH_TREE:
        u = rounded_unit(m, 4);
        u.quantum = 2 * m->lanes * 0x1p-126;
        u.flushes = true;
        break;
    }
    if (m->late_c) { /* one more addition, to nearest in the accumulator's format */
        double nearest = m->output == MX_OUT_F16_RNE ? 0x1p-11 : 0x1p-24;
        u.toward_zero = false;
        u.step += nearest;
        u.growth += nearest;
        u.quantum *= 2;
    }
    return u;
}

static void weaken(mx_unit *w, const mx_unit *u)
{
    w->term = fmax(w->term, u->term);
    w->step = fmax(w->step, u->step);
    w->growth = fmax(w->growth, u->growth);
    w->quantum = fmax(w->quantum, u->quantum);
    w->lanes = u->lanes < w->lanes ? u->lanes : w->lanes;
    w->precision = u->precision < w->precision ? u->precision : w->precision;
    w->fraction = u->fraction < w->fraction ? u->fraction : w->fraction;
    w->emin = u->emin > w->emin ? u->emin : w->emin;
    w->toward_zero &= u->toward_zero;
    w->flushes |= u->flushes;
}

mx_unit mx_unit_weakest(const mx_format *a, const mx_format *b)
{
    mx_unit w = mx_unit_of(mx_model_find("fma-f32"));
    for (size_t i = 0; i < mx_model_count(); i++) {
        const mx_model *m = mx_model_at(i);
        if (m->output == MX_OUT_F16_RNE || !mx_model_accepts(m, a) || !mx_model_accepts(m, b)) continue;
        mx_unit u = mx_unit_of(m);
        if (!u.tf32 || a->bits < 32) weaken(&w, &u);
    }
    return w;
}

/* ---- intervals --------------------------------------------------------------------------------------- */

/* Largest magnitude that every rounding of the accumulator keeps finite. */
static double largest_result(const mx_unit *u) { return u->emin == -14 ? 65504 : 0x1.FFFFFEp127; }

/* What a special exact result, or one that may overflow the accumulator, allows. */
static bool special(const mx_unit *u, const mx_dot_facts *f, double magnitude, mx_bound *b)
{
    if (f->nan) {
        b->low = b->high = (double)NAN; /* the result must be NaN */
        return true;
    }
    if (f->infinite) {
        b->low = b->high = f->infinite * (double)INFINITY;
        return true;
    }
    if (magnitude < largest_result(u)) return false;
    b->low = -(double)INFINITY;
    b->high = (double)INFINITY;
    return true;
}

static void around(mx_bound *b, double exact, double error)
{
    error = UP(error) + fabs(exact) * DBL_EPSILON; /* exact itself is rounded */
    b->low = nextafter(exact - error, -(double)INFINITY);
    b->high = nextafter(exact + error, (double)INFINITY);
    if (error == 0) b->low = b->high = exact;
}

mx_bound mx_bound_a_priori(const mx_unit *u, const mx_dot_facts *f, int64_t steps)
{
    mx_bound b = {.name = "a priori",
                  .formula =
                      "|d - exact| <= [(K + m) term + m step] M (1 + growth)^m + m quantum; M = max(T, "
                      "2^Ep, 2^emin), T = |c| + sum |a b|; facts: term = 2^-F, step = 2^(1-p)"};
    double m = (double)steps, grown = exp(m * u->growth) * (1 + 0x1p-40);
    double largest = ldexp(1, f->max_exponent > u->emin ? f->max_exponent : u->emin);
    double M = UP(fmax(f->magnitude, largest)) * grown;
    double error = (((double)f->products + m) * u->term + m * u->step) * M + m * u->quantum;
    if (u->flushes) error += f->subnormal + ((double)f->products + m) * 0x1p-126;
    if (!special(u, f, UP(f->magnitude * grown + error), &b)) around(&b, f->exact, error);
    return b;
}

static bool is_plain(mx_bound b) { return isfinite(b.low) && isfinite(b.high); }

mx_bound mx_bound_after_adds(mx_bound b, const mx_dot_facts *f, int64_t adds)
{
    if (adds < 1 || !is_plain(b)) return b;
    /* Each partial result is at most T plus the error so far. */
    double r = (double)adds, T = f->magnitude + fmax(fabs(b.high - f->exact), fabs(f->exact - b.low));
    double error = UP(r * 0x1p-24 * T * exp(r * 0x1p-23) + r * 0x1p-149);
    b.low -= error;
    b.high += error;
    b.low -= fabs(b.low) * DBL_EPSILON;
    b.high += fabs(b.high) * DBL_EPSILON;
    return b;
}

/* x moved by one rounding to the format, to the nearest or by a whole unit. */
static double moved(double x, const mx_format *to, bool truncating, int direction)
{
    int emin = mx_format_emin(to), exponent = x == 0 ? emin : ilogb(x);
    double unit = ldexp(1, (exponent < emin ? emin : exponent) - to->man_bits);
    double moved = x + direction * unit * (truncating ? 1 : 0.5);
    double past = mx_format_max(to);
    if (fabs(moved) > past) /* saturated or infinite: both directions stay open */
        return to->specials == MX_SPECIALS_IEEE ? copysign((double)INFINITY, moved) : copysign(past, moved);
    return moved;
}

mx_bound mx_bound_after_cast(mx_bound b, const mx_format *to, bool truncating)
{
    if (to->bits == 32 || isnan(b.low)) return b;
    if (isfinite(b.low)) b.low = moved(b.low, to, truncating, -1);
    if (isfinite(b.high)) b.high = moved(b.high, to, truncating, 1);
    return b;
}

bool mx_bound_one_sided(const mx_unit *u, const mx_dot_facts *f, mx_bound *out)
{
    if (!u->toward_zero || !f->nonnegative || f->nan || f->infinite) return false;
    *out = (mx_bound){.name = "one-sided", .formula = "all terms >= 0, unit toward zero: 0 <= d <= exact"};
    out->high = f->exact + fabs(f->exact) * DBL_EPSILON;
    return true;
}

bool mx_bound_certified(const mx_unit *u, const mx_dot_facts *f, mx_bound *out)
{
    if (f->nan || f->infinite) return false;
    *out =
        (mx_bound){.low = f->exact,
                   .high = f->exact,
                   .name = "exact",
                   .formula = "every term and c a multiple of 2^q, q >= emin, T < 2^(p+q), 2^Ep < 2^(F+q), "
                              "p - 1 <= F: d = exact in every order, grouping, split and promotion"};
    if (f->granule == INT_MAX) return true; /* nothing but zeros */
    if (u->flushes && f->subnormal != 0) return false;
    return f->granule >= u->emin && UP(f->magnitude) < ldexp(1, u->precision + f->granule) &&
           f->max_exponent < u->fraction + f->granule && u->precision - 1 <= u->fraction &&
           UP(f->magnitude) < largest_result(u);
}
