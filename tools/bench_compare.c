/* SPDX-License-Identifier: Apache-2.0
 * Today's rows beside an earlier run's. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

static bool same(const json_t *row, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text && !strcmp(text, value);
}

static const json_t *row_of(const json_t *rows, const bench_row *r)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) if (same(row, "section", r->section) && same(row, "what", r->what) &&
                                         same(row, "where", r->where) &&
                                         same(row, "unit", r->unit)) return row;
    return NULL;
}

bool bench_compare(const bench_report *report, const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    const json_t *rows = json_object_get(root, "rows");
    if (!json_is_array(rows)) {
        fprintf(stderr, "mxcheck bench: %s: %s\n", path, root ? "no rows in it" : error.text);
        json_decref(root);
        return false;
    }
    printf("\nagainst %s: rate, then share of the limit, now over then\n", path);
    for (size_t i = 0; i < report->count; i++) {
        const bench_row *r = &report->rows[i];
        const json_t *then = *r->not_run ? NULL : row_of(rows, r);
        double rate = json_number_value(json_object_get(then, "rate"));
        double ratio = json_number_value(json_object_get(then, "ratio"));
        if (rate > 0 && ratio > 0)
            printf("%-4s %-50s %6.3f %6.3f\n", r->section, r->what, r->rate / rate,
                   r->rate / r->base / ratio);
        else
            printf("%-4s %-50s no such row then, or not run\n", r->section, r->what);
    }
    json_decref(root);
    return true;
}
