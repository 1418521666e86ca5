/* SPDX-License-Identifier: Apache-2.0 */
#include "html.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const struct {
    const char *kind, *title;
    void (*write)(page *p, const json_t *report);
} kinds[] = {
    {"sweep", "mxcheck sweep: error distributions", html_sweep},
    {"kernel", "mxcheck kernel: checks of a kernel", html_kernel},
    {"gradient", "mxcheck gradient: agreement of forward, dgrad and wgrad", html_gradient},
    {"train", "mxcheck train: loss curves", html_train},
};

const char *html_string(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

double html_number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

void html_cell(html_row *r, const char *format, ...)
{
    if (r->n == HTML_CELLS) return;
    va_list args;
    va_start(args, format);
    vsnprintf(r->text[r->n++], HTML_CELL, format, args);
    va_end(args);
}

void html_row_end(page *p, html_row *r)
{
    const char *cells[HTML_CELLS];
    for (int i = 0; i < r->n; i++)
        cells[i] = r->text[i];
    page_table_row(p, cells, r->n);
    r->n = 0;
}

mx_status html_write(const json_t *report, const char *place, const char *path, mx_error *e)
{
    const char *kind = html_string(report, "mxcheck");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kind, kinds[i].kind)) continue;
        page p;
        mx_status s = page_begin(&p, kinds[i].title, e);
        if (s) return s;
        kinds[i].write(&p, report);
        return page_finish(&p, path);
    }
    return mx_fail(e, MX_BAD_INPUT, place,
                   "a report of kind '%.40s': sweep, kernel, gradient and train have pages", kind);
}
