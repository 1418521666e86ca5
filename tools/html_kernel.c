/* SPDX-License-Identifier: Apache-2.0
 * A run of `mxcheck kernel` as a page: verdict, counts, findings with their elements, and where they lie. */
#include <string.h>

#include "html.h"

static void counts(page *p, const json_t *subject)
{
    static const char *const columns[] = {"check", "passed",  "failed",
                                          "open",  "not run", "what passing means"};
    const json_t *c;
    size_t i;
    page_table_begin(p, columns, 6);
    json_array_foreach(json_object_get(subject, "checks"), i, c)
    {
        double all = html_number(c, "passed") + html_number(c, "failed") + html_number(c, "open") +
                     html_number(c, "not_run");
        if (!(all > 0)) continue;
        html_row r = {.n = 0};
        html_cell(&r, "%s", html_string(c, "check"));
        static const char *const keys[] = {"passed", "failed", "open", "not_run"};
        for (int k = 0; k < 4; k++)
            html_cell(&r, "%.0f", html_number(c, keys[k]));
        html_cell(&r, "%s", html_string(c, "what"));
        html_row_end(p, &r);
    }
    page_table_end(p);
}

/* The map of wrong elements, as counts per tile of the tensor. */
static void map(page *p, const json_t *m)
{
    const json_t *cells = json_object_get(m, "wrong");
    size_t cols = (size_t)html_number(m, "cols"), size;
    if (!json_array_size(cells) || !cols) return;
    char *script;
    FILE *f = page_plot_begin(p, &script, &size);
    if (!f) return;
    /* Boxes, as an image of one row or column has no width that gnuplot could tell. */
    fputs("$d << E\n", f);
    for (size_t i = 0; i < json_array_size(cells); i++)
        fprintf(f, "%zu %zu %g\n", i % cols, i / cols, json_number_value(json_array_get(cells, i)));
    fprintf(f,
            "E\nset xrange [-0.5:%g]\nset yrange [%g:-0.5]\nset xlabel 'columns, tiles of %.0f'\nset ylabel "
            "'rows, tiles of %.0f'\n"
            "set palette defined (0 '#eef1f5', 0.001 '#f6c28b', 1 '#b3261e')\nset cblabel 'wrong "
            "elements'\nunset key\n"
            "set cbrange [0:*]\nset style fill solid noborder\n"
            "plot $d using 1:2:(0.5):(0.5):3 with boxxyerror fillcolor palette\n",
            (double)cols - 0.5, html_number(m, "rows") - 0.5, html_number(m, "tile_cols"),
            html_number(m, "tile_rows"));
    page_plot_end(p, f, &script, "Where the wrong elements lie");
}

static void elements(page *p, const json_t *finding)
{
    static const char *const columns[] = {"row",          "col", "block",  "input", "scale got",
                                          "scale wanted", "got", "wanted", "ulps"};
    static const char *const numbers[] = {"row", "col", "block"};
    static const char *const texts[] = {"input", "scale_got", "scale_want", "got", "want"};
    const json_t *list = json_object_get(finding, "elements"), *w;
    size_t i;
    if (!json_array_size(list)) return;
    page_table_begin(p, columns, 9);
    json_array_foreach(list, i, w)
    {
        html_row r = {.n = 0};
        for (int k = 0; k < 3; k++)
            html_cell(&r, "%.0f", html_number(w, numbers[k]));
        for (int k = 0; k < 5; k++)
            html_cell(&r, "%s", html_string(w, texts[k]));
        html_cell(&r, "%.0f", html_number(w, "ulps"));
        html_row_end(p, &r);
    }
    page_table_end(p);
}

static void finding(page *p, const json_t *f)
{
    page_paragraph(p, "%s of case %s (%s), recipe %s: %s", html_string(f, "check"), html_string(f, "case"),
                   html_string(f, "reason"), html_string(f, "recipe"), html_string(f, "text"));
    if (*html_string(f, "cause")) page_paragraph(p, "Likely cause: %s", html_string(f, "cause"));
    elements(p, f);
    map(p, json_object_get(f, "map"));
    page_preformatted(p, html_string(f, "command"));
}

void html_kernel(page *p, const json_t *report)
{
    fputs("<p class=\"verdict\">", p->out);
    page_text(p, html_string(report, "verdict"));
    fputs("</p>\n", p->out);
    const json_t *s, *f;
    size_t i, k;
    json_array_foreach(json_object_get(report, "subjects"), i, s)
    {
        char title[320];
        snprintf(title, sizeof title, "%.120s %.40s: %.20s", html_string(s, "name"),
                 html_string(s, "version"), html_string(s, "verdict"));
        page_heading(p, title);
        if (*html_string(s, "device")) page_paragraph(p, "%s", html_string(s, "device"));
        if (*html_string(s, "cannot_run")) page_paragraph(p, "Not run: %s", html_string(s, "cannot_run"));
        counts(p, s);
        json_array_foreach(json_object_get(s, "findings"), k, f) { finding(p, f); }
    }
}
