/* SPDX-License-Identifier: Apache-2.0
 * Writing safetensors headers: the same arrays give the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "safetensors.h"

/* Largest elements first, so that each tensor lies aligned to its element: torch views slices of the file
 * as their type and needs that. */
static int in_file_order(const void *a, const void *b)
{
    const mx_array *x = a, *y = b;
    if (x->dtype.bytes != y->dtype.bytes) return x->dtype.bytes > y->dtype.bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Does the stored dtype alone say which format it is? */
static bool tells(const mx_dtype *d)
{
    mx_dtype plain;
    return mx_dtype_of_safetensors(d->safetensors, &plain) && !strcmp(plain.name, d->name);
}

static bool set_text(json_t *o, const char *key, const char *value)
{
    return json_object_set_new(o, key, json_string(value)) == 0;
}

static bool add_entry(json_t *header, const mx_array *a)
{
    json_t *shape = json_array();
    for (int i = 0; i < a->rank; i++)
        json_array_append_new(shape, json_integer(a->shape[i]));
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", a->dtype.safetensors, "shape", shape,
                              "data_offsets", (json_int_t)a->begin, (json_int_t)(a->begin + a->bytes));
    return json_object_set_new(header, a->name, entry) == 0;
}

static bool add_metadata(json_t *metadata, const mx_array *arrays, size_t n, const mx_pair *pairs,
                         size_t n_pairs)
{
    bool good = true;
    for (size_t i = 0; i < n_pairs; i++)
        good &= set_text(metadata, pairs[i].key, pairs[i].value);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(arrays[i].name) + 8;
        char *key = tells(&arrays[i].dtype) ? NULL : malloc(size);
        if (!key) continue;
        snprintf(key, size, "format:%s", arrays[i].name);
        good &= set_text(metadata, key, arrays[i].dtype.name);
        free(key);
    }
    return good;
}

/* The header's text, padded so that 8 + its length is a multiple of 8; malloc'd. */
static char *header_text(const mx_writer *w, const mx_pair *pairs, size_t n_pairs, size_t *length)
{
    json_t *header = json_object(), *metadata = json_object();
    bool good = header && metadata && add_metadata(metadata, w->arrays, w->n, pairs, n_pairs);
    char *sorted = good ? json_dumps(metadata, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(metadata);
    /* Parsed again to fix the sorted order, which plain dumping keeps. */
    metadata = sorted ? json_loads(sorted, 0, NULL) : NULL;
    free(sorted);
    good = metadata != NULL;
    if (good && json_object_size(metadata)) good = json_object_set(header, "__metadata__", metadata) == 0;
    for (size_t i = 0; good && i < w->n; i++)
        good = add_entry(header, &w->arrays[i]);
    char *text = good ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(metadata);
    json_decref(header);
    if (!text) return NULL;
    *length = strlen(text);
    char *padded = realloc(text, *length + 9);
    if (!padded) return free(text), NULL;
    while (*length % 8)
        padded[(*length)++] = ' ';
    return padded;
}

static mx_status check_names(const mx_writer *w, const char *path, mx_error *e)
{
    json_t *seen = json_object();
    mx_status status = MX_OK;
    for (size_t i = 0; i < w->n && !status; i++) {
        const char *name = w->arrays[i].name;
        if (!*name || !strcmp(name, "__metadata__"))
            status = mx_fail(e, MX_BAD_USAGE, path, "a tensor cannot be named '%s'", name);
        else if (json_object_get(seen, name))
            status = mx_fail(e, MX_BAD_USAGE, path, "two tensors are named '%s'", name);
        else if (json_object_set_new(seen, name, json_true()))
            status = mx_fail(e, MX_BAD_USAGE, path, "a tensor's name is not UTF-8");
    }
    json_decref(seen);
    return status;
}

mx_status mx_safetensors_create(const char *path, const mx_array *arrays, size_t n, const mx_pair *metadata,
                                size_t n_metadata, mx_writer *out, mx_error *e)
{
    mx_status status = mx_writer_begin(out, path, arrays, n, e);
    if (status) return status;
    if (n) qsort(out->arrays, n, sizeof *out->arrays, in_file_order);
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) { /* offsets within the data first: the header's length depends on them */
        out->arrays[i].begin = at;
        if (__builtin_add_overflow(at, out->arrays[i].bytes, &at) || at > INT64_MAX / 2)
            status = mx_fail(e, MX_BAD_USAGE, path, "tensors are too large for one file");
    }
    if (!status) status = check_names(out, path, e);
    size_t length = 0;
    char *text = status ? NULL : header_text(out, metadata, n_metadata, &length);
    if (!status && !text) status = mx_fail(e, MX_BAD_USAGE, path, "a name is not UTF-8, or out of memory");
    unsigned char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)length >> 8 * i);
    if (!status) status = mx_output_write(&out->out, 0, size, sizeof size, e);
    if (!status) status = mx_output_write(&out->out, 8, text, length, e);
    free(text);
    for (size_t i = 0; i < n; i++)
        out->arrays[i].begin += 8 + length;
    if (status) mx_writer_abandon(out);
    return status;
}
