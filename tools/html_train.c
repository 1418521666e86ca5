/* SPDX-License-Identifier: Apache-2.0
 * Training as a page: loss curves with the noise band of BF16, and the verdict of each recipe. */
#include <math.h>
#include <string.h>

#include "html.h"

enum { MOST_RUNS = 24 };

static double at(const json_t *list, size_t i) { return json_number_value(json_array_get(list, i)); }

static void put_band(FILE *f, const json_t *band)
{
    const json_t *low = json_object_get(band, "low"), *high = json_object_get(band, "high");
    fputs("$band << E\n", f);
    for (size_t i = 0; i < json_array_size(low) && i < json_array_size(high); i++)
        fprintf(f, "%g %g %g\n", (double)i, at(low, i), at(high, i));
    fputs("E\n", f);
}

static void curves(page *p, const json_t *report)
{
    const json_t *runs = json_object_get(report, "curves"), *r, *band = json_object_get(report, "band");
    size_t i, size;
    char *script;
    bool has_band = json_array_size(json_object_get(band, "low")) > 0;
    FILE *f = page_plot_begin(p, &script, &size);
    if (!f) return;
    fputs("set terminal svg noenhanced size 900,480 font 'sans-serif,12' linewidth 1.2\n"
          "set xlabel 'step'\nset ylabel 'loss, nats a character'\n",
          f);
    if (has_band) put_band(f, band);
    json_array_foreach(runs, i, r)
    {
        const json_t *loss = json_object_get(r, "loss");
        if (i == MOST_RUNS) break;
        fprintf(f, "$r%zu << E\n", i);
        for (size_t k = 0; k < json_array_size(loss); k++)
            fprintf(f, "%g %g\n", (double)k, at(loss, k));
        fputs("E\n", f);
    }
    const char *plot = "plot";
    if (has_band) {
        fputs("plot $band with filledcurves fc rgb '#9bbcdc' fs transparent solid 0.5 noborder title 'BF16 "
              "noise band'",
              f);
        plot = ",";
    }
    json_array_foreach(runs, i, r)
    {
        char title[160];
        if (i == MOST_RUNS) break;
        bool right = !strcmp(html_string(r, "variant"), "right");
        snprintf(title, sizeof title, "%s%s%s%s", html_string(r, "recipe"), right ? "" : " @",
                 right ? "" : html_string(r, "variant"),
                 json_is_true(json_object_get(r, "reordered")) ? ", sums reordered" : "");
        fprintf(f, "%s $r%zu with lines title ", plot, i);
        plot_quote(f, title);
        plot = ",";
    }
    if (!strcmp(plot, "plot")) fputs("set xrange [0:1]\nset yrange [0:1]\nplot NaN notitle", f);
    fputc('\n', f);
    page_plot_end(
        p, f, &script,
        "Training loss, smoothed; the band is BF16 over its seeds, three standard deviations each way");
}

static void table(page *p, const json_t *report)
{
    static const char *const columns[] = {"recipe",         "variant",
                                          "gap at the end", "leaves at step",
                                          "verdict",        "first gradient: relative L2",
                                          "norm ratio",     "what it looks like"};
    const json_t *r;
    size_t i;
    page_table_begin(p, columns, sizeof columns / sizeof *columns);
    json_array_foreach(json_object_get(report, "curves"), i, r)
    {
        const json_t *gradient = json_object_get(r, "gradient");
        double left = html_number(r, "left_at");
        html_row row = {.n = 0};
        html_cell(&row, "%s", html_string(r, "recipe"));
        html_cell(&row, "%s",
                  json_is_true(json_object_get(r, "reordered")) ? "sums reordered"
                                                                : html_string(r, "variant"));
        html_cell(&row, "%+.4f", html_number(r, "gap"));
        if (left > 0)
            html_cell(&row, "%.0f", left);
        else
            html_cell(&row, "never");
        html_cell(&row, "%s", html_string(r, "verdict"));
        html_cell(&row, "%.4f", html_number(gradient, "rel_l2"));
        html_cell(&row, "%.4f", html_number(gradient, "norm_ratio"));
        html_cell(&row, "%s", html_string(gradient, "named"));
        html_row_end(p, &row);
    }
    page_table_end(p);
}

void html_train(page *p, const json_t *report)
{
    fputs("<p class=\"verdict\">", p->out);
    page_text(p, html_string(report, "verdict"));
    fputs("</p>\n<div class=\"plots\">\n", p->out);
    curves(p, report);
    fputs("</div>\n", p->out);
    table(p, report);
}
