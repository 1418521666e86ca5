/* SPDX-License-Identifier: Apache-2.0
 * html.h - reports as pages: one function a kind of report, told apart by the member "mxcheck". */
#ifndef TOOLS_HTML_H
#define TOOLS_HTML_H

#include <jansson.h>

#include "page.h"

/* Write `report` (as --json wrote it) as one self-contained file. MX_CANNOT_RUN where gnuplot is missing. */
mx_status html_write(const json_t *report, const char *place, const char *path, mx_error *e);

void html_sweep(page *p, const json_t *report);
void html_kernel(page *p, const json_t *report);
void html_gradient(page *p, const json_t *report);
void html_train(page *p, const json_t *report);

/* Members of an object, with a default where they are absent or of another kind. */
const char *html_string(const json_t *o, const char *key);
double html_number(const json_t *o, const char *key); /* NaN */

/* Cells of a table as they are filled. */
enum { HTML_CELLS = 24, HTML_CELL = 96 };
typedef struct html_row {
    char text[HTML_CELLS][HTML_CELL];
    int n;
} html_row;
void html_cell(html_row *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void html_row_end(page *p, html_row *r);

#endif
