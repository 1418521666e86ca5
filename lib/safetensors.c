/* SPDX-License-Identifier: Apache-2.0
 * Reading safetensors headers without believing them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "safetensors.h"

/* What a tensor's entry is checked against, and where to complain. */
typedef struct context {
    const mx_input *in;
    uint64_t data, data_size; /* where the data starts, how long it is */
    const json_t *metadata;   /* NULL if absent */
    mx_store *store;
    mx_error *e;
} context;

static mx_status bad(const context *c, const char *tensor, const char *reason, const char *detail)
{
    char place[sizeof c->e->place];
    mx_place_of(place, sizeof place, c->in->name, tensor);
    return mx_fail(c->e, MX_BAD_INPUT, place, "%s%s", reason, detail);
}

static mx_status read_shape(const context *c, const json_t *shape, mx_array *a)
{
    if (!json_is_array(shape)) return bad(c, a->name, "shape is missing or no list", "");
    if (json_array_size(shape) > MX_ARRAY_RANK) return bad(c, a->name, "shape has more than 8 axes", "");
    a->rank = (int)json_array_size(shape);
    for (int i = 0; i < a->rank; i++) {
        const json_t *n = json_array_get(shape, (size_t)i);
        if (!json_is_integer(n) || json_integer_value(n) < 0)
            return bad(c, a->name, "shape holds something that is no natural number", "");
        a->shape[i] = json_integer_value(n);
    }
    return MX_OK;
}

static mx_status read_dtype(const context *c, const json_t *dtype, mx_array *a)
{
    if (!json_is_string(dtype)) return bad(c, a->name, "dtype is missing or no text", "");
    if (!mx_dtype_of_safetensors(json_string_value(dtype), &a->dtype))
        return bad(c, a->name, "unknown dtype ", json_string_value(dtype));
    char key[512];
    if ((size_t)snprintf(key, sizeof key, "format:%s", a->name) >= sizeof key) return MX_OK;
    const json_t *format = json_object_get(c->metadata, key);
    mx_dtype as;
    if (!format) return MX_OK;
    if (!mx_dtype_find(json_string_value(format), &as))
        return bad(c, a->name, "metadata names an unknown format ", json_string_value(format));
    if (!mx_dtype_may_be(&a->dtype, &as))
        return bad(c, a->name, "dtype cannot hold the format that the metadata names, ", as.name);
    a->dtype = as;
    return MX_OK;
}

static mx_status read_offsets(const context *c, const json_t *offsets, mx_array *a)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return bad(c, a->name, "data_offsets are no pair of integers", "");
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (from < 0 || to < from) return bad(c, a->name, "data_offsets are negative or out of order", "");
    if ((uint64_t)to > c->data_size)
        return bad(c, a->name, "data_offsets reach past the end of the file", "");
    uint64_t bytes;
    int64_t count;
    char text[160];
    if (!mx_shape_bytes(a->rank, a->shape, a->dtype.bytes, &count, &bytes))
        return bad(c, a->name, "shape overflows: ", mx_shape_text(a->rank, a->shape, text, sizeof text));
    a->begin = c->data + (uint64_t)from;
    a->bytes = (uint64_t)(to - from);
    if (bytes == a->bytes) return MX_OK;
    char shape[100];
    snprintf(text, sizeof text, "%s of %s needs %" PRIu64 " bytes, data_offsets give %" PRIu64,
             mx_shape_text(a->rank, a->shape, shape, sizeof shape), a->dtype.safetensors, bytes, a->bytes);
    return bad(c, a->name, "shape contradicts data_offsets: ", text);
}

static mx_status read_tensor(const context *c, const char *name, const json_t *entry, size_t file)
{
    mx_array a = {.name = (char *)name, .file = file};
    if (!*name) return bad(c, name, "a tensor without a name", "");
    if (!json_is_object(entry)) return bad(c, name, "entry is no object", "");
    mx_status status = read_shape(c, json_object_get(entry, "shape"), &a);
    if (!status) status = read_dtype(c, json_object_get(entry, "dtype"), &a);
    if (!status) status = read_offsets(c, json_object_get(entry, "data_offsets"), &a);
    return status ? status : mx_store_add(c->store, &a, c->e);
}

static mx_status read_metadata(const context *c)
{
    const char *key;
    json_t *value;
    if (c->metadata && !json_is_object(c->metadata))
        return mx_fail(c->e, MX_BAD_INPUT, c->in->name, "__metadata__ is no object");
    json_object_foreach((json_t *)c->metadata, key, value)
    {
        if (!json_is_string(value))
            return mx_fail(c->e, MX_BAD_INPUT, c->in->name, "__metadata__ '%s' is no text", key);
        mx_status status = mx_store_add_metadata(c->store, key, json_string_value(value), c->e);
        if (status) return status;
    }
    return MX_OK;
}

static int by_place(const void *a, const void *b)
{
    const mx_array *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The tensors of this file must tile its data. Sorting them by place is harmless: the store sorts again. */
static mx_status check_tiling(const context *c, size_t first)
{
    mx_array *arrays = c->store->arrays ? c->store->arrays + first : NULL;
    size_t n = c->store->n_arrays - first;
    uint64_t at = c->data;
    if (n) qsort(arrays, n, sizeof *arrays, by_place);
    for (size_t i = 0; i < n; i++) {
        if (arrays[i].begin < at) return bad(c, arrays[i].name, "overlaps the tensor before it", "");
        if (arrays[i].begin > at) return bad(c, arrays[i].name, "leaves a gap before it", "");
        at += arrays[i].bytes;
    }
    if (at == c->data + c->data_size) return MX_OK;
    return mx_fail(c->e, MX_BAD_INPUT, c->in->name, "%" PRIu64 " bytes after the last tensor",
                   c->data + c->data_size - at);
}

static mx_status read_entries(context *c, json_t *header, size_t file)
{
    size_t first = c->store->n_arrays;
    const char *name;
    json_t *entry;
    c->metadata = json_object_get(header, "__metadata__");
    mx_status status = read_metadata(c);
    json_object_foreach(header, name, entry)
    {
        if (!status && strcmp(name, "__metadata__")) status = read_tensor(c, name, entry, file);
    }
    return status ? status : check_tiling(c, first);
}

static mx_status header_size(const mx_input *in, uint64_t *size, mx_error *e)
{
    unsigned char bytes[8];
    if (in->size < sizeof bytes)
        return mx_fail(e, MX_BAD_INPUT, in->name, "%" PRIu64 " bytes are too few for a safetensors file",
                       in->size);
    mx_status status = mx_input_read(in, 0, bytes, sizeof bytes, e);
    if (status) return status;
    *size = 0;
    for (int i = 7; i >= 0; i--)
        *size = *size << 8 | bytes[i];
    if (*size > MX_SAFETENSORS_HEADER_MAX)
        return mx_fail(e, MX_BAD_INPUT, in->name,
                       "header of %" PRIu64 " bytes: no safetensors file, or larger than the %u allowed",
                       *size, MX_SAFETENSORS_HEADER_MAX);
    if (*size > in->size - sizeof bytes)
        return mx_fail(e, MX_BAD_INPUT, in->name,
                       "truncated: header of %" PRIu64 " bytes in a file of %" PRIu64, *size, in->size);
    return MX_OK;
}

static mx_status read_header(const mx_input *in, uint64_t size, json_t **header, mx_error *e)
{
    char *text = malloc((size_t)size + 1);
    if (!text) return mx_fail(e, MX_NO_MEMORY, in->name, "out of memory");
    mx_status status = mx_input_read(in, 8, text, (size_t)size, e);
    if (!status && !(*header = mx_json_parse(text, (size_t)size, in->name, e))) status = MX_BAD_INPUT;
    free(text);
    return status;
}

mx_status mx_safetensors_read(mx_input *in, mx_store *out, mx_error *e)
{
    uint64_t size = 0;
    size_t file;
    json_t *header = NULL;
    mx_status status = header_size(in, &size, e);
    if (!status) status = read_header(in, size, &header, e);
    if (status) return mx_input_close(in), status;
    if (!(status = mx_store_adopt(out, in, &file, e))) {
        context c = {.in = &out->files[file],
                     .data = 8 + size,
                     .data_size = out->files[file].size - 8 - size,
                     .store = out,
                     .e = e};
        status = read_entries(&c, header, file);
    }
    json_decref(header);
    return status;
}
