/* SPDX-License-Identifier: Apache-2.0
 * Matrices in parts, read and written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "parts.h"
#include "safetensors.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The largest multiple of `step` up to `want`, at least one step, at most the whole. */
static int64_t length(int64_t whole, int64_t step, int64_t want)
{
    if (!step || step >= whole) return whole;
    return want < step ? step : least(want / step * step, whole);
}

parts parts_make(int64_t rows, int64_t cols, int64_t row_step, int64_t col_step, int64_t elements)
{
    parts t = {rows, cols, 0, 0};
    if (!rows || !cols) return t;
    t.part_rows = length(rows, row_step, elements / cols);
    t.part_cols = t.part_rows > elements / cols ? length(cols, col_step, elements / t.part_rows) : cols;
    return t;
}

bool parts_next(const parts *t, part *p)
{
    if (!t->part_rows || !t->part_cols) return false;
    if (p->rows) p->col += p->cols;
    if (p->col >= t->cols) {
        p->col = 0;
        p->row += p->rows;
    }
    if (p->row >= t->rows) return false;
    p->rows = least(t->part_rows, t->rows - p->row);
    p->cols = least(t->part_cols, t->cols - p->col);
    return true;
}

int64_t parts_largest(const parts *t) { return t->part_rows * t->part_cols; }

/* A part of whole rows is one piece; else each row is one. */
static int64_t pieces(int64_t cols, const part *p, int64_t *elements)
{
    bool whole = p->cols == cols;
    *elements = whole ? p->rows * p->cols : p->cols;
    return whole ? 1 : p->rows;
}

mx_status part_read(const mx_store *s, const mx_array *a, int64_t cols, const part *p, void *to, mx_error *e)
{
    int64_t each, n = pieces(cols, p, &each);
    size_t bytes = (size_t)each * a->dtype.bytes;
    mx_status status = MX_OK;
    for (int64_t i = 0; i < n && !status; i++)
        status = mx_store_read(s, a, (uint64_t)((p->row + i) * cols + p->col) * a->dtype.bytes,
                               (char *)to + (size_t)i * bytes, bytes, e);
    return status;
}

bool is_npy(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".npy");
}

char *npy_path(const char *path, const char *array)
{
    const char *role = strncmp(array, MX_NPY_NAME, strlen(MX_NPY_NAME)) ? array : array + strlen(MX_NPY_NAME);
    size_t stem = strlen(path) - strlen(".npy"), size = stem + strlen(role) + sizeof ".npy";
    char *name = malloc(size);
    if (name) snprintf(name, size, "%.*s%s.npy", (int)stem, path, role);
    return name;
}

static mx_status open_npy(sink *s, const char *path, const mx_array *arrays, size_t n, mx_error *e)
{
    mx_status status = MX_OK;
    for (size_t i = 0; i < n && !status; i++) {
        char *name = npy_path(path, arrays[i].name);
        status = name ? mx_npy_create(name, &arrays[i], &s->writers[s->n], e)
                      : mx_fail(e, MX_NO_MEMORY, path, "out of memory");
        if (!status) s->n++;
        free(name);
    }
    return status;
}

mx_status sink_open(sink *s, const char *path, const mx_array *arrays, size_t n, const mx_pair *metadata,
                    size_t n_metadata, mx_error *e)
{
    mx_status status;
    *s = (sink){.writers = calloc(n ? n : 1, sizeof *s->writers)};
    if (!s->writers) return mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    if (is_npy(path))
        status = open_npy(s, path, arrays, n, e);
    else if (!(status = mx_safetensors_create(path, arrays, n, metadata, n_metadata, s->writers, e)))
        s->n = 1;
    if (status) sink_abandon(s);
    return status;
}

mx_status sink_put(sink *s, const char *name, uint64_t offset, const void *data, size_t n, mx_error *e)
{
    size_t i = 0;
    while (s->n > 1 && i + 1 < s->n && strcmp(s->writers[i].arrays[0].name, name))
        i++;
    return mx_writer_put(&s->writers[i], name, offset, data, n, e);
}

mx_status sink_part(sink *s, const char *name, unsigned element_bytes, int64_t cols, const part *p,
                    const void *from, mx_error *e)
{
    int64_t each, n = pieces(cols, p, &each);
    size_t bytes = (size_t)each * element_bytes;
    mx_status status = MX_OK;
    for (int64_t i = 0; i < n && !status; i++)
        status = sink_put(s, name, (uint64_t)((p->row + i) * cols + p->col) * element_bytes,
                          (const char *)from + (size_t)i * bytes, bytes, e);
    return status;
}

mx_status sink_finish(sink *s, mx_error *e)
{
    mx_status status = MX_OK;
    for (size_t i = 0; i < s->n; i++)
        if (status)
            mx_writer_abandon(&s->writers[i]);
        else
            status = mx_writer_finish(&s->writers[i], e);
    free(s->writers);
    *s = (sink){0};
    return status;
}

void sink_abandon(sink *s)
{
    for (size_t i = 0; i < s->n; i++)
        mx_writer_abandon(&s->writers[i]);
    free(s->writers);
    *s = (sink){0};
}
