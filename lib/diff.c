/* SPDX-License-Identifier: Apache-2.0
 * Comparing two arrays: class, then sign, then distance. */
#include <math.h>
#include <string.h>

#include "diff.h"

static const char *const kind_names[MX_DIFF_KINDS] = {"same", "nan",   "inf",     "zero-sign",
                                                      "sign", "value", "pad-bits"};
static const uint64_t bin_limits[MX_DIFF_BINS] = {0, 1, 2, 4, 8, 64, 4096, UINT64_MAX};

const char *mx_diff_kind_name(mx_diff_kind kind) { return kind < MX_DIFF_KINDS ? kind_names[kind] : "?"; }

uint64_t mx_diff_bin_limit(int bin) { return bin_limits[bin]; }

/* Width of the part of the stored bits that means something. */
static int width(const mx_dtype *d) { return d->format ? d->format->bits : 8 * d->bytes; }

static uint64_t low_bits(int n) { return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1; }

/* Sign-magnitude encodings order by magnitude; two's complement and unsigned ones as integers. */
static bool sign_magnitude(const mx_dtype *d)
{
    if (d->number == MX_NUMBER_FORMAT) return d->format->kind == MX_KIND_FLOAT && d->format->is_signed;
    return d->number == MX_NUMBER_DOUBLE;
}

static bool two_complement(const mx_dtype *d)
{
    return d->number == MX_NUMBER_SIGNED || (d->format && d->format->kind == MX_KIND_FIXED);
}

/* A place on the line of representable values, split into sign and distance from zero. */
typedef struct place {
    bool negative;
    uint64_t magnitude;
} place;

static place place_of(const mx_dtype *d, uint64_t bits)
{
    int n = width(d);
    bits &= low_bits(n);
    uint64_t top = (uint64_t)1 << (n - 1);
    if (sign_magnitude(d)) return (place){(bits & top) != 0, bits & (top - 1)};
    if (two_complement(d) && bits & top) return (place){true, (~bits & low_bits(n)) + 1};
    return (place){false, bits};
}

static bool is_nan(const mx_dtype *d, uint64_t bits)
{
    if (d->format) return mx_code_is_nan(d->format, (uint32_t)bits);
    return d->number == MX_NUMBER_DOUBLE && isnan(mx_dtype_value(d, bits));
}

static bool is_inf(const mx_dtype *d, uint64_t bits)
{
    if (d->format) return mx_code_is_inf(d->format, (uint32_t)bits);
    return d->number == MX_NUMBER_DOUBLE && isinf(mx_dtype_value(d, bits));
}

static uint64_t distance(place a, place b)
{
    if (a.negative == b.negative)
        return a.magnitude > b.magnitude ? a.magnitude - b.magnitude : b.magnitude - a.magnitude;
    return a.magnitude + b.magnitude; /* each at most 2^63: the sum may wrap to 0 only for INT64_MIN twice,
                                         whose signs are equal */
}

mx_diff_kind mx_diff_one(const mx_dtype *d, uint64_t got, uint64_t want, bool pin_nan, uint64_t *ulps)
{
    uint64_t ignored = 0, *out = ulps ? ulps : &ignored;
    *out = 0;
    if (got == want) return MX_DIFF_NONE;
    bool got_nan = is_nan(d, got), want_nan = is_nan(d, want);
    if (got_nan || want_nan) {
        if (got_nan && want_nan && !pin_nan) return MX_DIFF_NONE;
        *out = MX_DIFF_NO_DISTANCE;
        return MX_DIFF_NAN;
    }
    if (!((got ^ want) & low_bits(width(d)))) return MX_DIFF_PAD_BITS;
    if (is_inf(d, got) || is_inf(d, want)) {
        *out = MX_DIFF_NO_DISTANCE;
        return MX_DIFF_INF;
    }
    place a = place_of(d, got), b = place_of(d, want);
    *out = distance(a, b);
    if (a.negative == b.negative) return MX_DIFF_VALUE;
    return a.magnitude || b.magnitude ? MX_DIFF_SIGN : MX_DIFF_ZERO_SIGN;
}

static void record(mx_diff *r, const mx_difference *one)
{
    r->count[one->kind]++;
    if (r->n_first < MX_DIFF_KEPT) r->first[r->n_first++] = *one;
    if (one->ulps == MX_DIFF_NO_DISTANCE) return;
    int bin = 0;
    while (one->ulps > bin_limits[bin])
        bin++;
    r->bins[bin]++;
    if (one->ulps > r->max_ulps) {
        r->max_ulps = one->ulps;
        r->max_index = one->index;
    }
}

void mx_diff_add(mx_diff *r, const mx_dtype *d, const void *got, const void *want, int64_t n, int64_t index,
                 bool pin_nan)
{
    if (n <= 0) return;
    r->elements += n;
    if (!memcmp(got, want, (size_t)n * d->bytes)) {
        r->count[MX_DIFF_NONE] += n;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        mx_difference one = {
            .index = index + i, .got = mx_dtype_bits(d, got, i), .want = mx_dtype_bits(d, want, i)};
        one.kind = mx_diff_one(d, one.got, one.want, pin_nan, &one.ulps);
        if (one.kind == MX_DIFF_NONE) {
            r->count[MX_DIFF_NONE]++;
            continue;
        }
        one.got_value = mx_dtype_value(d, one.got);
        one.want_value = mx_dtype_value(d, one.want);
        record(r, &one);
    }
}

void mx_diff_merge(mx_diff *r, const mx_diff *more)
{
    r->elements += more->elements;
    for (int i = 0; i < MX_DIFF_KINDS; i++)
        r->count[i] += more->count[i];
    for (int i = 0; i < MX_DIFF_BINS; i++)
        r->bins[i] += more->bins[i];
    if (more->max_ulps > r->max_ulps) {
        r->max_ulps = more->max_ulps;
        r->max_index = more->max_index;
    }
    for (int i = 0; i < more->n_first && r->n_first < MX_DIFF_KEPT; i++)
        r->first[r->n_first++] = more->first[i];
}

int64_t mx_diff_total(const mx_diff *r) { return r->elements - r->count[MX_DIFF_NONE]; }
