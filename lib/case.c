/* SPDX-License-Identifier: Apache-2.0
 * Sets of cases in memory, and reading them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "case_io.h"
#include "safetensors.h"

/* A case takes about 5 KB: a header of many small ones must not take the machine's memory. */
enum { MANIFEST_MAX = 16 << 20, CASES_MAX = 1 << 16 };
/* Cases are held in memory, and a sparse file may claim any size. */
static const uint64_t file_max = (uint64_t)4 << 30;

struct mx_case_set {
    mx_case *cases;
    size_t n, room;
    mx_tensor *tensors; /* owned: what the cases borrow */
    size_t n_tensors;
    json_t *ids; /* a set: id -> true */
};

static const mx_tensor *find_role(const mx_tensor *tensors, int n, const char *role)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(tensors[i].name, role)) return &tensors[i];
    return NULL;
}

const mx_tensor *mx_case_in(const mx_case *c, const char *role) { return find_role(c->in, c->n_in, role); }

const mx_tensor *mx_case_want(const mx_case *c, const char *role)
{
    return find_role(c->want, c->n_want, role);
}

size_t mx_cases_count(const mx_case_set *set) { return set->n; }

const mx_case *mx_cases_at(const mx_case_set *set, size_t i) { return i < set->n ? &set->cases[i] : NULL; }

mx_case_set *mx_cases_new(void)
{
    mx_case_set *set = calloc(1, sizeof *set);
    if (set && !(set->ids = json_object())) {
        free(set);
        return NULL;
    }
    return set;
}

void mx_cases_free(mx_case_set *set)
{
    if (!set) return;
    for (size_t i = 0; i < set->n_tensors; i++)
        mx_tensor_free(&set->tensors[i]);
    free(set->tensors);
    free(set->cases);
    json_decref(set->ids);
    free(set);
}

/* ---- one file ------------------------------------------------------------------------------------- */

/* The file's tensors, loaded once however many cases share them; loaded[i] belongs to store->arrays[i]. */
typedef struct loader {
    mx_case_set *set;
    const mx_store *store;
    mx_tensor **loaded;
} loader;

static mx_status load_array(loader *l, const mx_array *a, const char *role, mx_tensor *out, mx_error *e)
{
    mx_tensor **slot = &l->loaded[a - l->store->arrays];
    if (!*slot) {
        mx_tensor *t = &l->set->tensors[l->set->n_tensors];
        mx_status status = mx_tensor_make(t, role, a->dtype.name, a->rank, a->shape, e);
        if (!status && (status = mx_store_read(l->store, a, 0, t->data, t->bytes, e))) mx_tensor_free(t);
        if (status) return status;
        l->set->n_tensors++;
        *slot = t;
    }
    *out = **slot;
    snprintf(out->name, sizeof out->name, "%s", role);
    if (strlen(a->name) < sizeof out->stored) strcpy(out->stored, a->name);
    return MX_OK;
}

static mx_status load_roles(loader *l, const json_t *roles, const char *place, mx_tensor *out, int *n,
                            mx_error *e)
{
    const char *role;
    json_t *value;
    if (roles && !json_is_object(roles)) return mx_fail(e, MX_BAD_INPUT, place, "tensors are no object");
    if (json_object_size(roles) > MX_MAX_TENSORS)
        return mx_fail(e, MX_BAD_INPUT, place, "more than %d tensors", MX_MAX_TENSORS);
    json_object_foreach((json_t *)roles, role, value)
    {
        const char *name = json_string_value(value);
        const mx_array *a = name ? mx_store_find(l->store, name) : NULL;
        if (!mx_case_id_is_plain(role)) return mx_fail(e, MX_BAD_INPUT, place, "'%s' is no role", role);
        if (!a)
            return mx_fail(e, MX_BAD_INPUT, place, "tensor '%s' for '%s' is not in the file",
                           name ? name : "(no text)", role);
        mx_status status = load_array(l, a, role, &out[*n], e);
        if (status) return status;
        ++*n;
    }
    return MX_OK;
}

static mx_status check_x(const mx_case *c, const char *place, mx_error *e)
{
    const mx_tensor *x = mx_case_in(c, "x");
    if (x && c->pitch && (!x->rank || x->shape[x->rank - 1] != c->pitch))
        return mx_fail(e, MX_BAD_INPUT, place, "pitch is not the stored length of x's rows");
    if (x && *c->make_digest) return mx_fail(e, MX_BAD_INPUT, place, "x is both stored and to be made");
    return MX_OK;
}

static mx_status add_case(loader *l, const char *id, const char *text, mx_error *e)
{
    mx_case_set *set = l->set;
    char place[sizeof e->place];
    snprintf(place, sizeof place, "%s: case '%s'", l->store->files[0].name, id);
    json_t *o = mx_json_parse(text, strlen(text), place, e);
    if (!o) return MX_BAD_INPUT;
    if (set->n == CASES_MAX)
        return json_decref(o), mx_fail(e, MX_UNSUPPORTED, place, "more than %d cases", CASES_MAX);
    if (set->n == set->room) {
        size_t room = set->room ? 2 * set->room : 16;
        mx_case *bigger = realloc(set->cases, room * sizeof *bigger);
        if (!bigger) return json_decref(o), mx_fail(e, MX_NO_MEMORY, place, "out of memory");
        set->cases = bigger;
        set->room = room;
    }
    mx_case *c = &set->cases[set->n];
    mx_status status = mx_case_from_json(o, id, place, c, e);
    if (!status && json_object_get(set->ids, id)) status = mx_fail(e, MX_BAD_INPUT, place, "id occurs twice");
    if (!status) status = load_roles(l, json_object_get(o, "in"), place, c->in, &c->n_in, e);
    if (!status) status = load_roles(l, json_object_get(o, "want"), place, c->want, &c->n_want, e);
    if (!status) status = check_x(c, place, e);
    json_decref(o);
    if (status) return status;
    json_object_set_new(set->ids, id, json_true());
    set->n++;
    return MX_OK;
}

mx_status mx_cases_add(mx_case_set *set, const mx_store *store, mx_error *e)
{
    const char *file = store->files[0].name, *schema = mx_store_metadata(store, "mxcheck");
    if (!schema) return mx_fail(e, MX_BAD_INPUT, file, "holds no cases: no 'mxcheck' in its metadata");
    if (strcmp(schema, MX_CASE_SCHEMA))
        return mx_fail(e, MX_BAD_INPUT, file, "cases of schema '%s'; this program reads " MX_CASE_SCHEMA,
                       schema);
    /* Room for all tensors at once: `loaded` points into it. */
    size_t n = set->n_tensors + store->n_arrays;
    mx_tensor *tensors = realloc(set->tensors, (n ? n : 1) * sizeof *tensors);
    loader l = {set, store, calloc(store->n_arrays ? store->n_arrays : 1, sizeof *l.loaded)};
    if (tensors) set->tensors = tensors;
    if (!tensors || !l.loaded) return free(l.loaded), mx_fail(e, MX_NO_MEMORY, file, "out of memory");
    mx_status status = MX_OK;
    const size_t prefix = strlen(MX_CASE_PREFIX);
    for (size_t i = 0; i < store->n_metadata && !status; i++) {
        const mx_pair *p = &store->metadata[i];
        if (!strncmp(p->key, MX_CASE_PREFIX, prefix)) status = add_case(&l, p->key + prefix, p->value, e);
    }
    free(l.loaded);
    return status;
}

/* ---- files and folders ------------------------------------------------------------------------------ */

typedef struct folder {
    const char *path;
    mx_case_set *set;
} folder;

/* The ids that the manifest promises for a file are those that were just added, from index `first` on. */
static mx_status check_ids(const mx_manifest_file *f, const mx_case_set *set, size_t first, const char *path,
                           mx_error *e)
{
    if (json_array_size(f->cases) != set->n - first)
        return mx_fail(e, MX_BAD_INPUT, path, "holds %zu cases, the manifest lists %zu", set->n - first,
                       json_array_size(f->cases));
    for (size_t i = first; i < set->n; i++) {
        const char *id = json_string_value(json_array_get(f->cases, i - first));
        if (!id || strcmp(id, set->cases[i].id))
            return mx_fail(e, MX_BAD_INPUT, path, "case '%s' is '%s' in the manifest", set->cases[i].id,
                           id ? id : "(no text)");
    }
    return MX_OK;
}

static mx_status check_digest(const mx_manifest_file *f, const mx_input *in, mx_error *e)
{
    char hex[MX_SHA256_TEXT];
    if (in->size != (uint64_t)f->bytes)
        return mx_fail(e, MX_BAD_INPUT, in->name, "has %llu bytes, the manifest says %lld",
                       (unsigned long long)in->size, (long long)f->bytes);
    mx_status status = mx_sha256_input(in, hex, e);
    if (status || !strcmp(hex, f->sha256)) return status;
    return mx_fail(e, MX_BAD_INPUT, in->name, "SHA-256 is %.12s..., the manifest says %.12s...", hex,
                   f->sha256);
}

static mx_status add_input(mx_case_set *set, mx_input *in, mx_error *e)
{
    mx_store store = {0};
    if (in->size > file_max) {
        mx_fail(e, MX_UNSUPPORTED, in->name, "has more than 4 GiB, too much for a file of cases");
        return mx_input_close(in), MX_UNSUPPORTED;
    }
    mx_status status = mx_safetensors_read(in, &store, e);
    if (!status) status = mx_store_sort(&store, e);
    if (!status) status = mx_cases_add(set, &store, e);
    mx_store_close(&store);
    return status;
}

static mx_status add_manifest_file(const mx_manifest_file *f, void *context, mx_error *e)
{
    folder *d = context;
    size_t first = d->set->n;
    mx_input in;
    char *path = mx_path_join(d->path, f->name);
    mx_status status =
        path ? mx_input_open(path, true, &in, e) : mx_fail(e, MX_NO_MEMORY, f->name, "out of memory");
    if (!status) {
        if ((status = check_digest(f, &in, e)))
            mx_input_close(&in);
        else if (!(status = add_input(d->set, &in, e)))
            status = check_ids(f, d->set, first, path, e);
    }
    free(path);
    return status;
}

static mx_status load_folder(const char *path, mx_case_set *set, mx_error *e)
{
    mx_input in;
    char *text, *manifest = mx_path_join(path, MX_MANIFEST);
    size_t n;
    mx_status status =
        manifest ? mx_input_open(manifest, true, &in, e) : mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    if (!status) {
        status = mx_input_all(&in, MANIFEST_MAX, &text, &n, e);
        mx_input_close(&in);
    }
    if (!status) {
        status = mx_manifest_walk(text, n, manifest, add_manifest_file, &(folder){path, set}, e);
        free(text);
    }
    free(manifest);
    return status;
}

mx_status mx_cases_load(const char *path, mx_case_set **out, mx_error *e)
{
    struct stat s;
    mx_input in;
    mx_status status;
    mx_case_set *set = mx_cases_new();
    if (!set) return mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    if (!stat(path, &s) && S_ISDIR(s.st_mode))
        status = load_folder(path, set, e);
    else if (!(status = mx_input_open(path, false, &in, e)))
        status = add_input(set, &in, e);
    if (status) {
        mx_cases_free(set);
        return status;
    }
    *out = set;
    return MX_OK;
}
