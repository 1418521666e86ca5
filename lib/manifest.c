/* SPDX-License-Identifier: Apache-2.0
 * manifest.json: which vector files there are, with digests and case ids.
 *
 *     {"mxcheck": "1", "files": [{"name": "casts.safetensors", "sha256": "...", "bytes": 123,
 *                                 "cases": ["id", ...]}]}                                             */
#include <stdlib.h>
#include <string.h>

#include "case_io.h"
#include "safetensors.h"

static mx_status read_file(const json_t *o, const char *place, mx_manifest_file *f, mx_error *e)
{
    *f = (mx_manifest_file){.cases = json_object_get(o, "cases")};
    if (!json_is_object(o))
        return mx_fail(e, MX_BAD_INPUT, place, "'files' holds something that is no object");
    mx_status status = mx_json_text(o, "name", true, f->name, sizeof f->name, place, e);
    if (!status) status = mx_json_text(o, "sha256", true, f->sha256, sizeof f->sha256, place, e);
    if (!status) status = mx_json_int(o, "bytes", true, 0, INT64_MAX, &f->bytes, place, e);
    if (status) return status;
    if (!mx_path_is_plain(f->name))
        return mx_fail(e, MX_BAD_INPUT, place, "'%s' is no plain file name", f->name);
    if (strspn(f->sha256, "0123456789abcdef") != 64)
        return mx_fail(e, MX_BAD_INPUT, place, "'%s' has a digest that is no SHA-256", f->name);
    if (!json_is_array(f->cases))
        return mx_fail(e, MX_BAD_INPUT, place, "'%s' has no list of cases", f->name);
    return MX_OK;
}

static mx_status walk(const json_t *root, const char *place,
                      mx_status (*each)(const mx_manifest_file *, void *, mx_error *), void *context,
                      mx_error *e)
{
    char schema[16] = "";
    const json_t *files = json_object_get(root, "files");
    mx_status status = mx_json_text(root, "mxcheck", true, schema, sizeof schema, place, e);
    if (status) return status;
    if (strcmp(schema, MX_CASE_SCHEMA))
        return mx_fail(e, MX_BAD_INPUT, place, "schema '%s'; this program reads " MX_CASE_SCHEMA, schema);
    if (!json_is_array(files)) return mx_fail(e, MX_BAD_INPUT, place, "'files' is missing or no list");
    json_t *seen = json_object();
    for (size_t i = 0; i < json_array_size(files) && !status; i++) {
        mx_manifest_file f;
        if ((status = read_file(json_array_get(files, i), place, &f, e))) break;
        if (json_object_get(seen, f.name))
            status = mx_fail(e, MX_BAD_INPUT, place, "'%s' occurs twice", f.name);
        else if (json_object_set_new(seen, f.name, json_true()))
            status = mx_fail(e, MX_BAD_INPUT, place, "'%s' cannot be taken as a name", f.name);
        else
            status = each(&f, context, e);
    }
    json_decref(seen);
    return status;
}

mx_status mx_manifest_walk(const char *text, size_t n, const char *place,
                           mx_status (*each)(const mx_manifest_file *file, void *context, mx_error *e),
                           void *context, mx_error *e)
{
    json_t *root = mx_json_parse(text, n, place, e);
    if (!root) return MX_BAD_INPUT;
    mx_status status = walk(root, place, each, context, e);
    json_decref(root);
    return status;
}

static json_t *ids_of(const mx_store *store)
{
    json_t *ids = json_array();
    const size_t prefix = strlen(MX_CASE_PREFIX);
    for (size_t i = 0; i < store->n_metadata; i++) /* sorted by key, thus by id */
        if (!strncmp(store->metadata[i].key, MX_CASE_PREFIX, prefix))
            json_array_append_new(ids, json_string(store->metadata[i].key + prefix));
    return ids;
}

/* The manifest's object for one file; NULL fills `e`. */
static json_t *describe(const char *dir, const char *name, mx_error *e)
{
    mx_input in;
    mx_store store = {0};
    char hex[MX_SHA256_TEXT], *path = mx_path_join(dir, name);
    mx_status status = !mx_path_is_plain(name) ? mx_fail(e, MX_BAD_USAGE, name, "is no plain file name")
                       : !path                 ? mx_fail(e, MX_NO_MEMORY, name, "out of memory")
                                               : mx_input_open(path, true, &in, e);
    json_t *o = NULL;
    if (!status) {
        json_int_t size = (json_int_t)in.size;
        if ((status = mx_sha256_input(&in, hex, e)))
            mx_input_close(&in);
        else if (!(status = mx_safetensors_read(&in, &store, e)) && !(status = mx_store_sort(&store, e)))
            o = json_pack("{s:s, s:s, s:I, s:o}", "name", name, "sha256", hex, "bytes", size, "cases",
                          ids_of(&store));
        if (!status && !o) mx_fail(e, MX_NO_MEMORY, name, "out of memory, or no UTF-8");
    }
    mx_store_close(&store);
    free(path);
    return o;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

mx_status mx_manifest_write(const char *dir, const char *const *files, size_t n, mx_error *e)
{
    const char **sorted = malloc((n ? n : 1) * sizeof *sorted);
    char *path = mx_path_join(dir, MX_MANIFEST), *text = NULL;
    json_t *list = json_array(), *root = json_pack("{s:s, s:O}", "mxcheck", MX_CASE_SCHEMA, "files", list);
    mx_status status = sorted && path && root ? MX_OK : mx_fail(e, MX_NO_MEMORY, dir, "out of memory");
    if (!status && n) {
        memcpy(sorted, files, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_text);
    }
    for (size_t i = 0; i < n && !status; i++) {
        json_t *o = describe(dir, sorted[i], e);
        if (!o)
            status = e ? e->status : MX_BAD_INPUT;
        else
            json_array_append_new(list, o);
    }
    if (!status)
        status = (text = mx_json_dump(root)) ? mx_file_write(path, text, strlen(text), e)
                                             : mx_fail(e, MX_NO_MEMORY, dir, "out of memory");
    json_decref(list);
    json_decref(root);
    free(sorted);
    free(path);
    free(text);
    return status;
}
