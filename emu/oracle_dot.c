/* SPDX-License-Identifier: Apache-2.0
 * Dot products by MPFR, with so many bits that nothing is rounded before the end. */
#include <string.h>

#include <mpfr.h>

#include "oracle_dot.h"

enum { BITS = 4096 };

static void set_code(mpfr_t to, const mx_format *f, uint32_t code)
{
    uint32_t man = code & (((uint32_t)1 << f->man_bits) - 1), field;
    if (f->kind == MX_KIND_EXPONENT) {
        mpfr_set_ui_2exp(to, 1, (mpfr_exp_t)code - f->bias, MPFR_RNDN);
        return;
    }
    if (f->kind == MX_KIND_FIXED) {
        mpfr_set_si_2exp(to, (int8_t)code, -f->man_bits, MPFR_RNDN);
        return;
    }
    field = code >> f->man_bits & (((uint32_t)1 << f->exp_bits) - 1);
    if (field) man |= (uint32_t)1 << f->man_bits;
    mpfr_set_ui_2exp(to, man, (mpfr_exp_t)(field ? field : 1) - f->bias - f->man_bits, MPFR_RNDN);
    if (f->is_signed && code >> (f->bits - 1) & 1) mpfr_neg(to, to, MPFR_RNDN);
}

/* mpfr_get_flt rounds once, subnormals included. */
static uint32_t to_f32(mpfr_t x)
{
    float value = mpfr_zero_p(x) ? 0 : mpfr_get_flt(x, MPFR_RNDN);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

double mx_oracle_dot(const mx_format *fa, const mx_format *fb, const uint32_t *a, const uint32_t *b,
                     int64_t n, const double *scale_a, const double *scale_b, double c, uint32_t *f32)
{
    mpfr_t sum, x, y;
    mpfr_inits2(BITS, sum, x, y, (mpfr_ptr)NULL);
    mpfr_set_d(sum, c, MPFR_RNDN);
    for (int64_t k = 0; k < n; k++) {
        set_code(x, fa, a[k]);
        set_code(y, fb, b[k]);
        mpfr_mul(x, x, y, MPFR_RNDN);
        if (scale_a) mpfr_mul_d(x, x, scale_a[k], MPFR_RNDN);
        if (scale_b) mpfr_mul_d(x, x, scale_b[k], MPFR_RNDN);
        mpfr_add(sum, sum, x, MPFR_RNDN);
    }
    double value = mpfr_zero_p(sum) ? 0 : mpfr_get_d(sum, MPFR_RNDN);
    if (f32) *f32 = to_f32(sum);
    mpfr_clears(sum, x, y, (mpfr_ptr)NULL);
    return value;
}
