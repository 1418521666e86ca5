/* SPDX-License-Identifier: Apache-2.0
 * One view of a checkpoint's shards. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "json.h"
#include "safetensors.h"

enum { INDEX_MAX = 100000000, SHARDS_MAX = 4096 };

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

/* Open each file of the map once; `opened` is an object from file name to index in the store. */
static mx_status open_shards(json_t *map, const char *index_path, const char *folder, json_t *opened,
                             mx_store *out, mx_error *e)
{
    const char *tensor;
    json_t *value;
    json_object_foreach(map, tensor, value)
    {
        const char *file = json_string_value(value);
        if (!file || !mx_path_is_plain(file))
            return mx_fail(e, MX_BAD_INPUT, index_path,
                           "tensor '%s' lies in '%s', which is no plain file name", tensor,
                           file ? file : "(no text)");
        if (json_object_get(opened, file)) continue;
        if (out->n_files == SHARDS_MAX)
            return mx_fail(e, MX_UNSUPPORTED, index_path, "more than %d files", SHARDS_MAX);
        mx_input in;
        char *path = mx_path_join(folder, file);
        mx_status status =
            path ? mx_input_open(path, false, &in, e) : mx_fail(e, MX_NO_MEMORY, index_path, "out of memory");
        free(path);
        json_int_t index = (json_int_t)out->n_files;
        if (!status) status = mx_safetensors_read(&in, out, e);
        if (status) return status;
        json_object_set_new(opened, file, json_integer(index));
    }
    return MX_OK;
}

/* Keep the arrays that the map places in the file they were found in. */
static void keep_mapped(json_t *map, json_t *opened, mx_store *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_arrays; i++) {
        mx_array *a = &s->arrays[i];
        const char *file = json_string_value(json_object_get(map, a->name));
        if (file && json_integer_value(json_object_get(opened, file)) == (json_int_t)a->file)
            s->arrays[kept++] = *a;
        else
            free(a->name);
    }
    s->n_arrays = kept;
}

static mx_status check_complete(json_t *map, const char *index_path, const mx_store *s, mx_error *e)
{
    const char *tensor;
    json_t *file;
    json_object_foreach(map, tensor, file)
    {
        if (!mx_store_find(s, tensor))
            return mx_fail(e, MX_BAD_INPUT, index_path, "tensor '%s' is not in '%s'", tensor,
                           json_string_value(file));
    }
    return MX_OK;
}

static mx_status read_map(const char *index_path, json_t *index, mx_store *out, mx_error *e)
{
    json_t *map = json_object_get(index, "weight_map"), *opened = json_object();
    char *folder = folder_of(index_path);
    mx_status status = !json_is_object(map) ? mx_fail(e, MX_BAD_INPUT, index_path, "no weight_map object")
                       : !folder || !opened ? mx_fail(e, MX_NO_MEMORY, index_path, "out of memory")
                                            : open_shards(map, index_path, folder, opened, out, e);
    if (!status) {
        keep_mapped(map, opened, out);
        if (!(status = mx_store_sort(out, e))) status = check_complete(map, index_path, out, e);
    }
    free(folder);
    json_decref(opened);
    return status;
}

mx_status mx_checkpoint_read(const char *index_path, mx_store *out, mx_error *e)
{
    mx_input in;
    char *text;
    size_t n;
    mx_status status = mx_input_open(index_path, false, &in, e);
    if (status) return status;
    status = mx_input_all(&in, INDEX_MAX, &text, &n, e);
    mx_input_close(&in);
    if (status) return status;
    json_t *index = mx_json_parse(text, n, index_path, e);
    free(text);
    if (!index) return MX_BAD_INPUT;
    status = read_map(index_path, index, out, e);
    json_decref(index);
    return status;
}
