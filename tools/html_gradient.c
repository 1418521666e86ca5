/* SPDX-License-Identifier: Apache-2.0
 * Gradient agreement as a page: heat maps of relative error over schemes and tensors, and the numbers. */
#include <math.h>
#include <string.h>

#include "html.h"

enum { MOST = 64 };

/* Distinct names in the order in which they come. */
typedef struct names {
    char name[MOST][96];
    int n;
} names;

static int place_of(names *list, const char *name)
{
    int i = 0;
    while (i < list->n && strcmp(list->name[i], name))
        i++;
    if (i == list->n && i < MOST) snprintf(list->name[list->n++], sizeof list->name[0], "%s", name);
    return i < MOST ? i : -1;
}

static const char *scheme(const json_t *cell, char *text, size_t size)
{
    const char *variant = html_string(cell, "variant");
    bool plain = !*variant || !strcmp(variant, "right") || !strcmp(variant, "plain");
    snprintf(text, size, "%s%s%s", html_string(cell, "recipe"), plain ? "" : " @", plain ? "" : variant);
    return text;
}

static void heat_map(page *p, const json_t *cells, const char *against)
{
    names schemes = {.n = 0}, tensors = {.n = 0};
    const json_t *c;
    size_t i, size;
    char *script, text[96];
    FILE *f = page_plot_begin(p, &script, &size);
    if (!f) return;
    fputs("$d << E\n", f);
    json_array_foreach(cells, i, c)
    {
        double error = html_number(c, "rel_l2");
        if (strcmp(html_string(c, "against"), against)) continue;
        int y = place_of(&schemes, scheme(c, text, sizeof text)),
            x = place_of(&tensors, html_string(c, "tensor"));
        if (x >= 0 && y >= 0) fprintf(f, "%d %d %g\n", x, y, error > 0 ? log10(error) : -8);
    }
    fprintf(f,
            "E\nset terminal svg noenhanced size %d,%d font 'sans-serif,11'\nset yrange [] reverse\nunset "
            "key\nset xtics (",
            240 + 60 * tensors.n, 120 + 16 * schemes.n);
    for (int k = 0; k < tensors.n; k++) {
        fputs(k ? "," : "", f);
        plot_quote(f, tensors.name[k]);
        fprintf(f, " %d", k);
    }
    fputs(") rotate by -30\nset ytics (", f);
    for (int k = 0; k < schemes.n; k++) {
        fputs(k ? "," : "", f);
        plot_quote(f, schemes.name[k]);
        fprintf(f, " %d", k);
    }
    fputs(")\nset palette defined (0 '#e8f1fa', 0.5 '#7fb0d8', 0.8 '#f0a35e', 1 '#a8201a')\n"
          "set cblabel 'log10 of relative L2 error'\nplot $d with image pixels\n",
          f);
    char caption[128];
    snprintf(caption, sizeof caption, "Relative L2 error against %s", against);
    page_plot_end(p, f, &script, caption);
}

static void table(page *p, const json_t *cells)
{
    static const char *const columns[] = {"scheme",     "tensor",         "against", "relative L2", "cosine",
                                          "norm ratio", "sign agreement", "SQNR dB", "worst row",   "fault"};
    const json_t *c;
    size_t i;
    char text[96];
    page_table_begin(p, columns, 10);
    json_array_foreach(cells, i, c)
    {
        html_row r = {.n = 0};
        html_cell(&r, "%s", scheme(c, text, sizeof text));
        html_cell(&r, "%s", html_string(c, "tensor"));
        html_cell(&r, "%s", html_string(c, "against"));
        html_cell(&r, "%.3e", html_number(c, "rel_l2"));
        html_cell(&r, "%.6f", html_number(c, "cosine"));
        html_cell(&r, "%.5f", html_number(c, "norm_ratio"));
        html_cell(&r, "%.4f", html_number(c, "sign_agreement"));
        html_cell(&r, "%.2f", html_number(c, "sqnr_db"));
        html_cell(&r, "%.0f", html_number(c, "worst_row"));
        html_cell(&r, "%s", html_string(c, "fault"));
        html_row_end(p, &r);
    }
    page_table_end(p);
}

void html_gradient(page *p, const json_t *report)
{
    const json_t *cells = json_object_get(report, "cells");
    fputs("<p class=\"verdict\">", p->out);
    page_text(p, html_string(report, "verdict"));
    fputs("</p>\n<div class=\"plots\">\n", p->out);
    heat_map(p, cells, "fp64");
    heat_map(p, cells, "bf16");
    fputs("</div>\n", p->out);
    table(p, cells);
}
