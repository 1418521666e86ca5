/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_json.h"

#include <math.h>
#include <stddef.h>

#include "json.h"

/* Each kind of member, as a table of places in mx_stats: writing and reading go through the same rows. */
typedef struct member {
    const char *name;
    size_t offset;
    int64_t low;
    size_t n; /* histograms: bins */
} member;

#define AT(field) offsetof(mx_stats, field)

static const member counters[] = {
    {"n", AT(n), 0, 0},
    {"nonfinite", AT(nonfinite), 0, 0},
    {"zero", AT(zero), 0, 0},
    {"flushed", AT(flushed), 0, 0},
    {"saturated", AT(saturated), 0, 0},
    {"subnormal", AT(subnormal), 0, 0},
    {"exact", AT(exact), 0, 0},
    {"u_n", AT(u_n), 0, 0},
    {"blocks", AT(blocks), 0, 0},
    {"zero_blocks", AT(zero_blocks), 0, 0},
    {"worst_row", AT(worst_row), -1, 0},
    {"worst_col", AT(worst_col), -1, 0},
};
static const member sums[] = {
    {"x2", AT(x2), 0, 0}, {"y2", AT(y2), 0, 0}, {"xy", AT(xy), 0, 0}, {"e2", AT(e2), 0, 0},
    {"e", AT(e), 0, 0},   {"u", AT(u), 0, 0},   {"u2", AT(u2), 0, 0},
};
static const member histograms[] = {
    {"relative", AT(relative), 0, MX_REL_BINS},
    {"ulps", AT(ulps), 0, MX_ULP_BINS},
    {"codes", AT(codes), 0, 256},
    {"scales", AT(scales), 0, 256},
    {"spread", AT(spread), 0, MX_SPREAD_BINS},
};

#define EACH(m, table) for (const member *m = table; m < table + sizeof table / sizeof *table; m++)

static json_t *histogram(const uint64_t *bins, size_t n)
{
    while (n && !bins[n - 1])
        n--;
    json_t *a = json_array();
    for (size_t i = 0; a && i < n; i++)
        json_array_append_new(a, json_integer((json_int_t)bins[i]));
    return a;
}

/* JSON has no infinity: such figures are null. */
static json_t *figure(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *figures(const mx_stats *s)
{
    double half_width = 0, bias = mx_stats_bias(s, &half_width);
    json_t *o = json_object();
    json_object_set_new(o, "sqnr_db", figure(mx_stats_sqnr(s)));
    json_object_set_new(o, "cosine", figure(mx_stats_cosine(s)));
    json_object_set_new(o, "norm_ratio", figure(mx_stats_norm_ratio(s)));
    json_object_set_new(o, "bias_ulp", figure(bias));
    json_object_set_new(o, "bias_ci95", figure(half_width));
    json_object_set_new(o, "relative_p50", figure(mx_stats_relative_quantile(s, 0.5)));
    json_object_set_new(o, "relative_p99", figure(mx_stats_relative_quantile(s, 0.99)));
    json_object_set_new(o, "relative_p999", figure(mx_stats_relative_quantile(s, 0.999)));
    return o;
}

json_t *stats_to_json(const mx_stats *s)
{
    const char *base = (const char *)s;
    char text[MX_SUM_TEXT];
    json_t *o = json_object();
    if (!o) return NULL;
    EACH(m, counters)
    json_object_set_new(o, m->name,
                        json_integer((json_int_t)(*(const int64_t *)(const void *)(base + m->offset))));
    EACH(m, sums)
    {
        mx_sum_print((const mx_sum *)(const void *)(base + m->offset), text);
        json_object_set_new(o, m->name, json_string(text));
    }
    EACH(m, histograms)
    json_object_set_new(o, m->name, histogram((const uint64_t *)(const void *)(base + m->offset), m->n));
    json_object_set_new(o, "worst_ratio", json_real(s->worst_ratio));
    json_object_set_new(o, "read", figures(s));
    return o;
}

static mx_status read_histogram(const json_t *o, const member *m, uint64_t *bins, const char *place,
                                mx_error *e)
{
    const json_t *a = json_object_get(o, m->name);
    if (!json_is_array(a) || json_array_size(a) > m->n)
        return mx_fail(e, MX_BAD_INPUT, place, "'%s' is no list of at most %zu counts", m->name, m->n);
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *v = json_array_get(a, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return mx_fail(e, MX_BAD_INPUT, place, "'%s' holds something that is no count", m->name);
        bins[i] = (uint64_t)json_integer_value(v);
    }
    return MX_OK;
}

mx_status stats_from_json(const json_t *o, mx_stats *s, const char *place, mx_error *e)
{
    char *base = (char *)s;
    mx_stats_init(s);
    mx_status status = MX_OK;
    EACH(m, counters)
    if (!status)
        status =
            mx_json_int(o, m->name, true, m->low, INT64_MAX, (int64_t *)(void *)(base + m->offset), place, e);
    EACH(m, sums)
    {
        const char *text = json_string_value(json_object_get(o, m->name));
        if (!status && (!text || mx_sum_parse((mx_sum *)(void *)(base + m->offset), text)))
            status = mx_fail(e, MX_BAD_INPUT, place, "'%s' is no exact sum", m->name);
    }
    EACH(m, histograms)
    if (!status) status = read_histogram(o, m, (uint64_t *)(void *)(base + m->offset), place, e);
    return status ? status : mx_json_real(o, "worst_ratio", true, &s->worst_ratio, place, e);
}
