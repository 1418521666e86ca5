/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "stats_json.h"

sweep_cell *sweep_result_add(sweep_result *r, size_t n)
{
    if (r->n + n > r->room) {
        size_t room = 2 * (r->n + n);
        sweep_cell *cells = realloc(r->cells, room * sizeof *cells);
        if (!cells) return NULL;
        r->cells = cells;
        r->room = room;
    }
    sweep_cell *first = &r->cells[r->n];
    memset(first, 0, n * sizeof *first);
    r->n += n;
    return first;
}

void sweep_result_free(sweep_result *r)
{
    free(r->cells);
    memset(r, 0, sizeof *r);
}

static bool same_cell(const sweep_cell *a, const sweep_cell *b)
{
    return !strcmp(a->data, b->data) && !strcmp(a->recipe, b->recipe) && a->rows == b->rows &&
           a->cols == b->cols && a->seed == b->seed;
}

mx_status sweep_result_merge(sweep_result *r, const sweep_result *other, const char *place, mx_error *e)
{
    if (r->shards != other->shards || r->n != other->n)
        return mx_fail(e, MX_BAD_INPUT, place,
                       "a part of another sweep: %zu cells in %d parts, not %zu in %d", other->n,
                       other->shards, r->n, r->shards);
    for (int i = 0; i < r->shards; i++) {
        if (r->have[i] && other->have[i])
            return mx_fail(e, MX_BAD_INPUT, place, "part %d is there already", i);
        r->have[i] |= other->have[i];
    }
    for (size_t i = 0; i < r->n; i++) {
        if (!same_cell(&r->cells[i], &other->cells[i]))
            return mx_fail(e, MX_BAD_INPUT, place, "cell %zu is %s on %s, not %s on %s", i,
                           other->cells[i].recipe, other->cells[i].data, r->cells[i].recipe,
                           r->cells[i].data);
        mx_stats_merge(&r->cells[i].stats, &other->cells[i].stats);
    }
    return MX_OK;
}

/* ---- JSON
 * --------------------------------------------------------------------------------------------------- */

json_t *sweep_result_to_json(const sweep_result *r)
{
    json_t *o = json_object(), *have = json_array(), *cells = json_array();
    json_object_set_new(o, "mxcheck", json_string("sweep"));
    json_object_set_new(o, "schema", json_integer(1));
    json_object_set_new(o, "shards", json_integer(r->shards));
    for (int i = 0; i < r->shards; i++)
        if (r->have[i]) json_array_append_new(have, json_integer(i));
    json_object_set_new(o, "have", have);
    for (size_t i = 0; i < r->n; i++) {
        const sweep_cell *c = &r->cells[i];
        json_t *cell = json_object();
        json_object_set_new(cell, "data", json_string(c->data));
        json_object_set_new(cell, "recipe", json_string(c->recipe));
        json_object_set_new(cell, "rows", json_integer(c->rows));
        json_object_set_new(cell, "cols", json_integer(c->cols));
        json_object_set_new(cell, "seed", json_integer((json_int_t)c->seed));
        json_object_set_new(cell, "stats", stats_to_json(&c->stats));
        json_array_append_new(cells, cell);
    }
    json_object_set_new(o, "cells", cells);
    return o;
}

static mx_status read_have(const json_t *o, sweep_result *r, const char *place, mx_error *e)
{
    const json_t *have = json_object_get(o, "have");
    if (!json_is_array(have)) return mx_fail(e, MX_BAD_INPUT, place, "'have' is no list");
    for (size_t i = 0; i < json_array_size(have); i++) {
        const json_t *part = json_array_get(have, i);
        json_int_t k = json_is_integer(part) ? json_integer_value(part) : -1;
        if (k < 0 || k >= r->shards || r->have[k])
            return mx_fail(e, MX_BAD_INPUT, place, "'have' does not list different parts of %d", r->shards);
        r->have[k] = 1;
    }
    return MX_OK;
}

static mx_status read_cell(const json_t *o, sweep_cell *c, const char *place, mx_error *e)
{
    int64_t seed = 0;
    mx_status s = mx_json_text(o, "data", true, c->data, sizeof c->data, place, e);
    if (!s) s = mx_json_text(o, "recipe", true, c->recipe, sizeof c->recipe, place, e);
    if (!s) s = mx_json_int(o, "rows", true, 0, INT64_MAX, &c->rows, place, e);
    if (!s) s = mx_json_int(o, "cols", true, 0, INT64_MAX, &c->cols, place, e);
    if (!s) s = mx_json_int(o, "seed", true, INT64_MIN, INT64_MAX, &seed, place, e);
    c->seed = (uint64_t)seed;
    return s ? s : stats_from_json(json_object_get(o, "stats"), &c->stats, place, e);
}

mx_status sweep_result_from_json(const json_t *o, sweep_result *r, const char *place, mx_error *e)
{
    memset(r, 0, sizeof *r);
    char kind[16];
    int64_t shards = 0, schema = 0;
    mx_status s = mx_json_text(o, "mxcheck", true, kind, sizeof kind, place, e);
    if (!s) s = mx_json_int(o, "schema", true, 1, 1, &schema, place, e);
    if (!s) s = mx_json_int(o, "shards", true, 1, SWEEP_MOST_SHARDS, &shards, place, e);
    if (!s && strcmp(kind, "sweep"))
        s = mx_fail(e, MX_BAD_INPUT, place, "a report of '%s', not of a sweep", kind);
    r->shards = (int)shards;
    if (!s) s = read_have(o, r, place, e);
    const json_t *cells = json_object_get(o, "cells");
    if (!s && !json_is_array(cells)) s = mx_fail(e, MX_BAD_INPUT, place, "'cells' is no list");
    for (size_t i = 0; !s && i < json_array_size(cells); i++) {
        sweep_cell *c = sweep_result_add(r, 1);
        s = c ? read_cell(json_array_get(cells, i), c, place, e)
              : mx_fail(e, MX_NO_MEMORY, place, "out of memory");
    }
    if (s) sweep_result_free(r);
    return s;
}

/* ---- text
 * --------------------------------------------------------------------------------------------------- */

static void print_bar(double value, double most, FILE *out)
{
    int n = most > 0 && value > 0 ? (int)lrint(20 * value / most) : 0;
    for (int i = 0; i < 20; i++)
        fputc(i < n ? '#' : ' ', out);
}

/* Rows of the scale histogram by their spread, the middle one: half the rows have no larger one. */
static int median_spread(const mx_stats *s)
{
    uint64_t all = 0, below = 0;
    for (int i = 0; i < MX_SPREAD_BINS; i++)
        all += s->spread[i];
    for (int i = 0; i < MX_SPREAD_BINS; i++)
        if ((below += s->spread[i]) * 2 >= all) return i;
    return 0;
}

static int used(const uint64_t *bins)
{
    int n = 0;
    for (int i = 0; i < 256; i++)
        n += bins[i] != 0;
    return n;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static void print_cell(const sweep_cell *c, double most, FILE *out)
{
    const mx_stats *s = &c->stats;
    double half_width = 0, bias = mx_stats_bias(s, &half_width), sqnr = mx_stats_sqnr(s);
    fprintf(out, "%-32s %6.2f ", c->recipe, sqnr);
    print_bar(sqnr, most, out);
    fprintf(out, " %7.2g %7.2g %+9.5f %7.5f %6.3g %6.3g %6.3g %4d %3d %3d  %lld,%lld\n",
            mx_stats_relative_quantile(s, 0.5), mx_stats_relative_quantile(s, 0.99), bias, half_width,
            percent(s->flushed, s->n - s->zero), percent(s->saturated, s->n), percent(s->subnormal, s->n),
            median_spread(s), used(s->scales), used(s->codes), (long long)s->worst_row,
            (long long)s->worst_col);
}

void sweep_result_print(const sweep_result *r, FILE *out)
{
    int parts = 0;
    for (int i = 0; i < r->shards; i++)
        parts += r->have[i];
    fprintf(out, "sweep: %zu cells", r->n);
    if (parts < r->shards) fprintf(out, ", INCOMPLETE: %d of %d parts", parts, r->shards);
    fputc('\n', out);
    double most = 0;
    for (size_t i = 0; i < r->n; i++) {
        double sqnr = mx_stats_sqnr(&r->cells[i].stats);
        if (isfinite(sqnr) && sqnr > most) most = sqnr;
    }
    for (size_t i = 0; i < r->n; i++) {
        const sweep_cell *c = &r->cells[i];
        if (!i || strcmp(c->data, c[-1].data)) {
            fprintf(out, "\n%s, %lld x %lld\n", c->data, (long long)c->rows, (long long)c->cols);
            fprintf(out, "%-32s %6s %-20s %7s %7s %9s %7s %6s %6s %6s %4s %3s %3s  %s\n", "recipe", "SQNR",
                    "dB", "rel p50", "rel p99", "bias ulp", "+-95%", "flush%", "sat%", "subn%", "sprd", "sc",
                    "cod", "worst block");
        }
        print_cell(c, most, out);
    }
    fputs("\nrel: |error| / |x| quantiles; bias: mean error in ulps away from zero; flush: share of non-zero "
          "x that "
          "became 0;\nsprd: median over rows of largest minus smallest scale byte; sc, cod: scale bytes and "
          "codes in "
          "use; worst block: row,column\n",
          out);
}
