/* SPDX-License-Identifier: Apache-2.0
 * Scale rules and blocks in MPFR. See oracle_block.h. */
#include <math.h>

#include <mpfr.h>

#include "oracle_block.h"

/* Exponent of the leading bit, for significands in [1, 2). */
static long binade(const mpfr_t x) { return (long)mpfr_get_exp(x) - 1; }

static bool power_of_two(const mpfr_t x) { return mpfr_cmp_ui_2exp(x, 1, binade(x)) == 0; }

static void set_max(mpfr_t max, const mx_format *element)
{
    mx_oracle *o = mx_oracle_new(element);
    mpfr_set_d(max, o ? mx_oracle_magnitude(o, mx_oracle_max_code(o)) : (double)NAN, MPFR_RNDN);
    mx_oracle_free(o);
}

/* Least s with amax <= max * 2^s. */
static long round_up(const mpfr_t amax, const mpfr_t max)
{
    mpfr_t scaled;
    long s = binade(amax) - binade(max);
    mpfr_init2(scaled, 64);
    mpfr_mul_2si(scaled, max, s, MPFR_RNDN); /* exact */
    if (mpfr_cmp(amax, scaled) > 0) s++;
    mpfr_clear(scaled);
    return s;
}

static long even(const mpfr_t amax, int man_bits, long emax)
{
    mpfr_t rounded;
    mpfr_init2(rounded, man_bits + 1);
    mpfr_set(rounded, amax, MPFR_RNDN);
    long s = binade(rounded) - emax;
    mpfr_clear(rounded);
    return s;
}

/* round(log2(amax / max)): the nearer power of two in the logarithm, decided by comparing squares, since
 * log2 q > s + 1/2 means q^2 > 2^(2s + 1). Ties cannot occur: 2^(1/2) is irrational. */
static long nearest(const mpfr_t amax, const mpfr_t max)
{
    mpfr_t a, b;
    long s = round_up(amax, max) - 1;
    mpfr_inits2(128, a, b, (mpfr_ptr)NULL);
    mpfr_sqr(a, amax, MPFR_RNDN);
    mpfr_sqr(b, max, MPFR_RNDN);
    mpfr_mul_2si(b, b, 2 * s + 1, MPFR_RNDN); /* all exact */
    if (mpfr_cmp(a, b) > 0) s++;
    mpfr_clears(a, b, (mpfr_ptr)NULL);
    return s;
}

int mx_oracle_scale_exponent(const mx_format *element, mx_oracle_rule rule, double amax)
{
    mpfr_t a, max;
    mpfr_inits2(64, a, max, (mpfr_ptr)NULL);
    mpfr_set_d(a, amax, MPFR_RNDN);
    set_max(max, element);
    long s = 0;
    switch (rule) {
    case MX_ORACLE_FLOOR: s = binade(a) - binade(max); break;
    case MX_ORACLE_CEIL: s = binade(a) + !power_of_two(a) - binade(max); break;
    case MX_ORACLE_ROUND_UP: s = round_up(a, max); break;
    case MX_ORACLE_EVEN: s = even(a, element->man_bits, binade(max)); break;
    case MX_ORACLE_NEAR: s = nearest(a, max); break;
    }
    mpfr_clears(a, max, (mpfr_ptr)NULL);
    return (int)s;
}

static mx_status find_amax(const float *x, int64_t n, double *amax, mx_error *e)
{
    *amax = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return mx_fail(e, MX_BAD_INPUT, "oracle block", "element %lld is not finite", (long long)i);
        *amax = fmax(*amax, fabs((double)x[i]));
    }
    return MX_OK;
}

mx_status mx_oracle_block_e8m0(mx_oracle *element, mx_oracle_rule rule, const mx_cast *cast, const float *x,
                               int64_t n, uint8_t *codes, uint8_t *scale, mx_error *e)
{
    double amax;
    mx_status status = find_amax(x, n, &amax, e);
    if (status) return status;
    int s = amax > 0 ? mx_oracle_scale_exponent(mx_oracle_format(element), rule, amax) : -127;
    s = s < -127 ? -127 : s > 127 ? 127 : s;
    *scale = (uint8_t)(s + 127);
    mpfr_t y;
    mpfr_init2(y, 64);
    for (int64_t i = 0; i < n; i++) {
        mpfr_set_d(y, (double)x[i], MPFR_RNDN);
        mpfr_div_2si(y, y, s, MPFR_RNDN);
        codes[i] = (uint8_t)mx_oracle_encode(element, cast, mpfr_get_d(y, MPFR_RNDN), 0); /* exact */
    }
    mpfr_clear(y);
    return MX_OK;
}

/* ---- fp32 arithmetic -------------------------------------------------------------------------------- */

typedef int (*operation)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

/* fl(a op b) in IEEE binary32, subnormals and overflow included. */
static float in_f32(operation op, double a, double b)
{
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_t x, y, z;
    mpfr_inits2(53, x, y, (mpfr_ptr)NULL);
    mpfr_init2(z, 24);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    mpfr_set_emin(-148); /* 2^-149 = 0.1b * 2^-148 */
    mpfr_set_emax(128);
    mpfr_subnormalize(z, op(z, x, y, MPFR_RNDN), MPFR_RNDN);
    float rounded = mpfr_get_flt(z, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    mpfr_clears(x, y, z, (mpfr_ptr)NULL);
    return rounded;
}

mx_status mx_oracle_block_f32(mx_oracle *element, bool reciprocal, const mx_cast *cast, const float *x,
                              int64_t n, uint8_t *codes, float *scale, mx_error *e)
{
    double amax, max = mx_oracle_magnitude(element, mx_oracle_max_code(element));
    mx_status status = find_amax(x, n, &amax, e);
    if (status) return status;
    if (amax == 0) return mx_fail(e, MX_BAD_INPUT, "oracle block", "all elements are zero");
    *scale = in_f32(mpfr_div, amax, max);
    float factor = reciprocal ? in_f32(mpfr_div, 1, (double)*scale) : *scale;
    for (int64_t i = 0; i < n; i++) {
        float y = in_f32(reciprocal ? mpfr_mul : mpfr_div, (double)x[i], (double)factor);
        codes[i] = (uint8_t)mx_oracle_encode(element, cast, (double)y, 0);
    }
    return MX_OK;
}
