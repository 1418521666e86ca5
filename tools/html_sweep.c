/* SPDX-License-Identifier: Apache-2.0
 * A sweep as a page: per tensor the figures, SQNR against block size, and how errors and scales are
 * distributed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "stats.h"

enum { MOST_LINES = 8 };

/* The study "study:FORMAT/e8m0/1xN/RULE/ROUNDING" in parts; false for other recipes. */
typedef struct study {
    char series[64]; /* FORMAT RULE ROUNDING */
    double block;
} study;

static bool parse_study(const char *recipe, double cols, study *s)
{
    char format[16], shape[16], rule[16], rounding[24];
    if (sscanf(recipe, "study:%15[^/]/e8m0/%15[^/]/%15[^/]/%23s", format, shape, rule, rounding) != 4)
        return false;
    snprintf(s->series, sizeof s->series, "%s %s %s", format, rule, rounding);
    s->block = strcmp(shape, "row") ? atof(shape + (shape[0] == '1' && shape[1] == 'x' ? 2 : 0)) : cols;
    return s->block > 0;
}

static bool of(const json_t *cell, const char *data) { return !strcmp(html_string(cell, "data"), data); }

static const json_t *stats(const json_t *cell) { return json_object_get(cell, "stats"); }

static double figure(const json_t *cell, const char *key)
{
    return html_number(json_object_get(stats(cell), "read"), key);
}

static double share(const json_t *cell, const char *key)
{
    return 100 * html_number(stats(cell), key) / html_number(stats(cell), "n");
}

static void table(page *p, const json_t *cells, const char *data)
{
    static const char *const columns[] = {"recipe",    "SQNR dB",     "cosine",      "norm ratio",
                                          "rel. p50",  "rel. p99",    "bias, ulp",   "± 95 %",
                                          "flushed %", "saturated %", "subnormal %", "worst block at"};
    page_table_begin(p, columns, sizeof columns / sizeof *columns);
    size_t i;
    const json_t *c;
    json_array_foreach(cells, i, c)
    {
        if (!of(c, data)) continue;
        html_row r = {.n = 0};
        html_cell(&r, "%s", html_string(c, "recipe"));
        html_cell(&r, "%.2f", figure(c, "sqnr_db"));
        html_cell(&r, "%.6f", figure(c, "cosine"));
        html_cell(&r, "%.5f", figure(c, "norm_ratio"));
        html_cell(&r, "%.3g", figure(c, "relative_p50"));
        html_cell(&r, "%.3g", figure(c, "relative_p99"));
        html_cell(&r, "%+.5f", figure(c, "bias_ulp"));
        html_cell(&r, "%.5f", figure(c, "bias_ci95"));
        html_cell(&r, "%.3g", share(c, "flushed"));
        html_cell(&r, "%.3g", share(c, "saturated"));
        html_cell(&r, "%.3g", share(c, "subnormal"));
        html_cell(&r, "%.0f, %.0f", html_number(stats(c), "worst_row"), html_number(stats(c), "worst_col"));
        html_row_end(p, &r);
    }
    page_table_end(p);
}

/* One line a series of studies: SQNR against block size. */
static void plot_blocks(page *p, const json_t *cells, const char *data)
{
    char names[MOST_LINES][64];
    int n = 0;
    size_t i, size;
    const json_t *c;
    char *script;
    FILE *f = page_plot_begin(p, &script, &size);
    if (!f) return;
    fputs("set logscale x 2\nset xlabel 'block size'\nset ylabel 'SQNR, dB'\n", f);
    json_array_foreach(cells, i, c)
    {
        study s;
        bool known = !of(c, data) || !parse_study(html_string(c, "recipe"), html_number(c, "cols"), &s);
        for (int k = 0; k < n && !known; k++)
            known = !strcmp(names[k], s.series);
        if (!known && n < MOST_LINES) strcpy(names[n++], s.series);
    }
    for (int k = 0; k < n; k++) {
        fprintf(f, "$d%d << E\n", k);
        json_array_foreach(cells, i, c)
        {
            study s;
            if (of(c, data) && parse_study(html_string(c, "recipe"), html_number(c, "cols"), &s) &&
                !strcmp(s.series, names[k]) && isfinite(figure(c, "sqnr_db")))
                fprintf(f, "%g %.6g\n", s.block, figure(c, "sqnr_db"));
        }
        fputs("E\n", f);
    }
    for (int k = 0; k < n; k++) {
        fprintf(f, "%s $d%d with linespoints pt 7 ps 0.5 title ", k ? "," : "plot", k);
        plot_quote(f, names[k]);
    }
    if (!n) fputs("set xrange [0:1]\nset yrange [0:1]\nplot NaN notitle", f);
    fputc('\n', f);
    page_plot_end(p, f, &script, "SQNR against block size (the last point is a whole row)");
}

/* Cells worth a line of their own: named recipes, and studies of block 32. */
static bool telling(const json_t *c, const char *data)
{
    study s;
    if (!of(c, data)) return false;
    return !parse_study(html_string(c, "recipe"), html_number(c, "cols"), &s) || s.block == 32;
}

/* "e4m3 1x32 rceil rne" for a study, other names as they are. */
static void quote_name(FILE *f, const json_t *c)
{
    study s;
    char text[128];
    const char *recipe = html_string(c, "recipe");
    if (parse_study(recipe, html_number(c, "cols"), &s)) {
        snprintf(text, sizeof text, "%s 1x%.0f", s.series, s.block);
        recipe = text;
    }
    plot_quote(f, recipe);
}

typedef void (*put_points)(FILE *f, const json_t *cell);

static double bin(const json_t *cell, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(stats(cell), key), i));
}

static void put_ulps(FILE *f, const json_t *c)
{
    double n = html_number(stats(c), "n");
    for (size_t i = 0; i < MX_ULP_BINS; i++)
        fprintf(f, "%g %g\n", ((double)i + 0.5) / (MX_ULP_BINS / 2) - 1, 100 * bin(c, "ulps", i) / n);
}

static void put_cdf(FILE *f, const json_t *c)
{
    double below = html_number(stats(c), "exact"), n = below;
    for (size_t i = 0; i < MX_REL_BINS; i++)
        n += bin(c, "relative", i);
    for (size_t i = 0; i < MX_REL_BINS; i++) {
        below += bin(c, "relative", i);
        fprintf(f, "%g %g\n", ldexp(1 + ((double)(i % 8) + 1) / 8, (int)(i / 8) - 28), 100 * below / n);
    }
}

static void put_scales(FILE *f, const json_t *c)
{
    double n = html_number(stats(c), "blocks");
    for (size_t i = 0; i < 256; i++)
        if (bin(c, "scales", i) > 0) fprintf(f, "%zu %g\n", i, 100 * bin(c, "scales", i) / n);
}

static void plot_lines(page *p, const json_t *cells, const char *data, const char *setup, const char *with,
                       put_points put, const char *caption)
{
    size_t i, size;
    const json_t *c;
    char *script;
    FILE *f = page_plot_begin(p, &script, &size);
    if (!f) return;
    const json_t *shown[MOST_LINES];
    int n = 0;
    json_array_foreach(cells, i, c)
    {
        if (n == MOST_LINES || !telling(c, data)) continue;
        fprintf(f, "$d%d << E\n", n);
        put(f, c);
        fputs("E\n", f);
        shown[n++] = c;
    }
    fputs(setup, f);
    for (int k = 0; k < n; k++) {
        fprintf(f, "%s $d%d with %s title ", k ? "," : "plot", k, with);
        quote_name(f, shown[k]);
    }
    if (!n) fputs("set xrange [0:1]\nset yrange [0:1]\nplot NaN notitle", f);
    fputc('\n', f);
    page_plot_end(p, f, &script, caption);
}

void html_sweep(page *p, const json_t *report)
{
    const json_t *cells = json_object_get(report, "cells"), *c;
    size_t i;
    page_paragraph(p, "%zu cells. Each is one recipe on one tensor.", json_array_size(cells));
    const char *last = "";
    json_array_foreach(cells, i, c)
    {
        const char *data = html_string(c, "data");
        if (!strcmp(data, last)) continue;
        last = data;
        char title[160];
        snprintf(title, sizeof title, "%s, %.0f x %.0f", data, html_number(c, "rows"),
                 html_number(c, "cols"));
        page_heading(p, title);
        fputs("<div class=\"plots\">\n", p->out);
        plot_blocks(p, cells, data);
        plot_lines(p, cells, data, "set xlabel 'error, ulp, away from zero'\nset ylabel '% of elements'\n",
                   "histeps", put_ulps, "Errors in ulps, signed away from zero: what lies left of 0 shrank");
        plot_lines(p, cells, data,
                   "set logscale x\nset xlabel 'relative error'\nset ylabel '% of non-zero elements'\n"
                   "set format x '%g'\nset xrange [1e-4:4]\nset yrange [0:100]\n",
                   "lines", put_cdf, "Share of elements whose relative error is at most x");
        plot_lines(p, cells, data,
                   "set xlabel 'scale byte (exponent field of fp32 scales)'\nset ylabel '% of blocks'\n",
                   "linespoints pt 7 ps 0.4", put_scales, "Scale bytes in use");
        fputs("</div>\n", p->out);
        table(p, cells, data);
    }
    page_paragraph(
        p, "rel.: quantiles of |error| / |x|; bias: mean error in ulps away from zero, with its 95 %% "
           "confidence interval; worst block: row and column of its first element.");
}
