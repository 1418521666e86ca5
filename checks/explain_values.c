/* SPDX-License-Identifier: Apache-2.0
 * Simple faults of dequantised values, each seen in what was got and wanted alone. A new row teaches it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "explain_place.h"

typedef struct pair {
    double got, want;
    uint64_t ulps;
} pair;

static bool is_flushed(pair p) { return p.got == 0 && p.want != 0; }
static bool is_lost_nan(pair p) { return isnan(p.want) && !isnan(p.got) && !isinf(p.got); }
static bool is_inf_for_nan(pair p) { return isnan(p.want) && isinf(p.got); }
static bool is_nan_for_inf(pair p) { return isinf(p.want) && isnan(p.got); }
static bool is_lost_sign(pair p) { return p.want == 0 && p.got == 0; }
static bool is_negated(pair p) { return p.got == -p.want; }
static bool is_cut(pair p) { return p.ulps == 1 && fabs(p.got) < fabs(p.want); }
static bool is_rounded_away(pair p) { return p.ulps == 1 && fabs(p.got) > fabs(p.want); }

static const struct {
    bool (*is)(pair p);
    const char *cause;
} faults[] = {
    {is_lost_sign, "the sign of zero is lost"},
    {is_flushed, "values are read as zero: subnormal codes, scale byte 00, or a flush (FTZ)"},
    {is_inf_for_nan, "NaN codes or scale byte FF are read as infinity"},
    {is_lost_nan, "NaN codes are read as numbers"},
    {is_nan_for_inf, "infinity codes are read as NaN"},
    {is_negated, "the sign is inverted"},
    {is_cut, "results are truncated toward zero instead of rounded"},
    {is_rounded_away, "results are rounded away from zero"},
};

typedef struct values {
    mx_dtype d;
    const void *got, *want;
    int64_t n;
} values;

/* Element i where it is wrong. */
static bool wrong_at(const values *v, int64_t i, pair *p)
{
    uint64_t got = mx_dtype_bits(&v->d, v->got, i), want = mx_dtype_bits(&v->d, v->want, i);
    *p = (pair){mx_dtype_value(&v->d, got), mx_dtype_value(&v->d, want), 0};
    return mx_diff_one(&v->d, got, want, false, &p->ulps) != MX_DIFF_NONE;
}

static bool all_wrong_are(const values *v, bool (*is)(pair p))
{
    pair p;
    for (int64_t i = 0; i < v->n; i++)
        if (wrong_at(v, i, &p) && !is(p)) return false;
    return true;
}

/* Every wrong value is the right one times one power of two: a bias, or a scale taken twice. */
static bool find_factor(const values *v, int *exponent)
{
    pair p;
    bool found = false;
    for (int64_t i = 0; i < v->n; i++) {
        if (!wrong_at(v, i, &p)) continue;
        if (!isfinite(p.got) || !isfinite(p.want) || p.got == 0 || p.want == 0) return false;
        int e, unused;
        if (frexp(p.got, &e) != frexp(p.want, &unused)) return false;
        e -= unused;
        if (found && e != *exponent) return false;
        *exponent = e;
        found = true;
    }
    return found;
}

bool explain_values(const trial *t, int out, char *cause, size_t size)
{
    const slot *s = &t->job->out[out];
    values v = {.got = t->canon[out], .want = s->canon};
    int exponent = 0;
    if (s->part != PART_SOURCE || !v.got || !v.want || !mx_dtype_find(s->dtype, &v.d)) return false;
    v.n = (int64_t)(s->canon_bytes / v.d.bytes);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (all_wrong_are(&v, faults[i].is)) return snprintf(cause, size, "%s", faults[i].cause), true;
    if (!find_factor(&v, &exponent)) return false;
    snprintf(cause, size,
             "values are off by a factor of 2^%d: another bias, or a scale applied twice or not at all",
             exponent);
    return true;
}
