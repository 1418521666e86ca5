/* SPDX-License-Identifier: Apache-2.0
 *
 * page.h - one self-contained HTML page: headings, tables, and plots that gnuplot draws as SVG. */
#ifndef TOOLS_PAGE_H
#define TOOLS_PAGE_H

#include <stdio.h>

#include "mx.h"

typedef struct page {
    FILE *out;
    char *text; /* what `out` writes to */
    size_t size;
    int plots;
    mx_status status; /* the first error sticks */
    mx_error *error;
} page;

mx_status page_begin(page *p, const char *title, mx_error *e);
void page_text(page *p, const char *text); /* escaped */
void page_heading(page *p, const char *text);
void page_paragraph(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_preformatted(page *p, const char *text);

/* A table: columns named, then rows of as many cells each; a cell that parses as a number is set to the
 * right. */
void page_table_begin(page *p, const char *const *columns, int n);
void page_table_row(page *p, const char *const *cells, int n);
void page_table_end(page *p);

/* A plot: `script` gets gnuplot commands (data inline as $name << E ... E), run by page_plot_end(). */
FILE *page_plot_begin(page *p, char **script, size_t *size);
void page_plot_end(page *p, FILE *f, char **script, const char *caption);

/* Text between single quotes of a gnuplot script. */
void plot_quote(FILE *f, const char *text);

mx_status page_finish(page *p, const char *path); /* written whole or not at all */

#endif
