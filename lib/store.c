/* SPDX-License-Identifier: Apache-2.0
 * Named arrays in files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checkpoint.h"
#include "npy.h"
#include "safetensors.h"
#include "store.h"

bool mx_shape_bytes(int rank, const int64_t *shape, unsigned element_bytes, int64_t *count, uint64_t *bytes)
{
    int64_t n = 1, total;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n)) return false;
    if (__builtin_mul_overflow(n, (int64_t)element_bytes, &total)) return false;
    *count = n;
    *bytes = (uint64_t)total;
    return true;
}

const char *mx_shape_text(int rank, const int64_t *shape, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%" PRId64, i ? ", " : "", shape[i]);
    if (at < size) snprintf(out + at, size - at, "]");
    return out;
}

int64_t mx_array_count(const mx_array *a) { return (int64_t)(a->bytes / a->dtype.bytes); }

void mx_array_matrix(const mx_array *a, int64_t *rows, int64_t *cols)
{
    *cols = a->rank ? a->shape[a->rank - 1] : 1;
    *rows = 1;
    for (int i = 0; i + 1 < a->rank; i++) /* cannot overflow unless a zero follows */
        if (__builtin_mul_overflow(*rows, a->shape[i], rows)) *rows = 0;
}

static mx_status no_memory(mx_error *e) { return mx_fail(e, MX_NO_MEMORY, "", "out of memory"); }

/* Room for one more of `size` bytes; capacities are the powers of two. */
static bool grow(void *array, size_t n, size_t size)
{
    if (n & (n - 1)) return true;
    void **p = array;
    size_t bytes;
    if (__builtin_mul_overflow(n ? 2 * n : 1, size, &bytes)) return false;
    void *bigger = realloc(*p, bytes);
    if (bigger) *p = bigger;
    return bigger != NULL;
}

mx_status mx_store_add(mx_store *s, const mx_array *a, mx_error *e)
{
    char *name = strdup(a->name);
    if (!name || !grow(&s->arrays, s->n_arrays, sizeof *s->arrays)) return free(name), no_memory(e);
    s->arrays[s->n_arrays] = *a;
    s->arrays[s->n_arrays++].name = name;
    return MX_OK;
}

mx_status mx_store_add_metadata(mx_store *s, const char *key, const char *value, mx_error *e)
{
    mx_pair pair = {strdup(key), strdup(value)};
    if (!pair.key || !pair.value || !grow(&s->metadata, s->n_metadata, sizeof *s->metadata)) {
        free(pair.key);
        free(pair.value);
        return no_memory(e);
    }
    s->metadata[s->n_metadata++] = pair;
    return MX_OK;
}

mx_status mx_store_adopt(mx_store *s, mx_input *in, size_t *index, mx_error *e)
{
    if (!grow(&s->files, s->n_files, sizeof *s->files)) return mx_input_close(in), no_memory(e);
    *index = s->n_files;
    s->files[s->n_files++] = *in;
    *in = (mx_input){.fd = -1};
    return MX_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const mx_array *)a)->name, ((const mx_array *)b)->name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const mx_pair *)a)->key, ((const mx_pair *)b)->key);
}

mx_status mx_store_sort(mx_store *s, mx_error *e)
{
    if (s->n_arrays) qsort(s->arrays, s->n_arrays, sizeof *s->arrays, by_name);
    if (s->n_metadata) qsort(s->metadata, s->n_metadata, sizeof *s->metadata, by_key);
    for (size_t i = 1; i < s->n_arrays; i++)
        if (!strcmp(s->arrays[i - 1].name, s->arrays[i].name)) {
            char place[sizeof e->place];
            mx_place_of(place, sizeof place, mx_store_file(s, &s->arrays[i]), s->arrays[i].name);
            return mx_fail(e, MX_BAD_INPUT, place, "name occurs twice");
        }
    return MX_OK;
}

const mx_array *mx_store_find(const mx_store *s, const char *name)
{
    mx_array key = {.name = (char *)name};
    return s->n_arrays ? bsearch(&key, s->arrays, s->n_arrays, sizeof *s->arrays, by_name) : NULL;
}

const char *mx_store_metadata(const mx_store *s, const char *key)
{
    mx_pair wanted = {.key = (char *)key};
    const mx_pair *p =
        s->n_metadata ? bsearch(&wanted, s->metadata, s->n_metadata, sizeof *s->metadata, by_key) : NULL;
    return p ? p->value : NULL;
}

const char *mx_store_file(const mx_store *s, const mx_array *a) { return s->files[a->file].name; }

mx_status mx_store_read(const mx_store *s, const mx_array *a, uint64_t offset, void *to, size_t n,
                        mx_error *e)
{
    if (offset > a->bytes || n > a->bytes - offset) {
        char place[sizeof e->place];
        mx_place_of(place, sizeof place, mx_store_file(s, a), a->name);
        return mx_fail(e, MX_BAD_USAGE, place, "has %" PRIu64 " bytes, wanted %zu from %" PRIu64 " on",
                       a->bytes, n, offset);
    }
    return mx_input_read(&s->files[a->file], a->begin + offset, to, n, e);
}

mx_status mx_store_tensor(const mx_store *s, const mx_array *a, mx_tensor *out, mx_error *e)
{
    mx_status status = mx_tensor_make(out, a->name, a->dtype.name, a->rank, a->shape, e);
    if (!status && (status = mx_store_read(s, a, 0, out->data, out->bytes, e))) mx_tensor_free(out);
    return status;
}

void mx_store_close(mx_store *s)
{
    for (size_t i = 0; i < s->n_arrays; i++)
        free(s->arrays[i].name);
    for (size_t i = 0; i < s->n_metadata; i++) {
        free(s->metadata[i].key);
        free(s->metadata[i].value);
    }
    for (size_t i = 0; i < s->n_files; i++)
        mx_input_close(&s->files[i]);
    free(s->arrays);
    free(s->metadata);
    free(s->files);
    *s = (mx_store){0};
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static mx_status open_file(const char *path, mx_store *out, mx_error *e)
{
    if (ends_with(path, ".index.json")) return mx_checkpoint_read(path, out, e);
    mx_input in;
    unsigned char magic[6] = {0};
    mx_status status = mx_input_open(path, false, &in, e);
    if (status) return status;
    if (in.size >= sizeof magic && (status = mx_input_read(&in, 0, magic, sizeof magic, e)))
        return mx_input_close(&in), status;
    return memcmp(magic, MX_NPY_MAGIC, sizeof magic) ? mx_safetensors_read(&in, out, e)
                                                     : mx_npy_read(&in, out, e);
}

static mx_status open_folder(const char *path, mx_store *out, mx_error *e)
{
    static const char *const names[] = {"model.safetensors.index.json", "model.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *file = mx_path_join(path, names[i]);
        struct stat s;
        if (!file) return no_memory(e);
        if (!stat(file, &s)) {
            mx_status status = open_file(file, out, e);
            return free(file), status;
        }
        free(file);
    }
    return mx_fail(e, MX_BAD_INPUT, path, "a folder without %s and %s", names[0], names[1]);
}

mx_status mx_store_open(const char *path, mx_store *out, mx_error *e)
{
    struct stat s;
    *out = (mx_store){0};
    mx_status status =
        !stat(path, &s) && S_ISDIR(s.st_mode) ? open_folder(path, out, e) : open_file(path, out, e);
    if (!status) status = mx_store_sort(out, e);
    if (status) mx_store_close(out);
    return status;
}
