/* SPDX-License-Identifier: Apache-2.0
 * Writing vector files: equal tensors once, equal input to equal bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_io.h"
#include "safetensors.h"

/* What has been gathered of the cases before anything is written. */
typedef struct gathered {
    mx_array *arrays;
    const void **data;
    size_t n_arrays;
    mx_pair *metadata;
    size_t n_metadata;
    json_t *known; /* digest, type and shape of a tensor -> its name in the file */
    json_t *names; /* the names given so far */
    mx_error *e;
} gathered;

static mx_status no_memory(const gathered *g) { return mx_fail(g->e, MX_NO_MEMORY, "", "out of memory"); }

/* Name of the tensor in the file; NULL fills the error. A tensor whose bytes, type and shape were met before
 * keeps its first name. */
static const char *store_tensor(gathered *g, const char *id, const mx_tensor *t)
{
    char digest[MX_SHA256_TEXT], shape[100], key[200], name[sizeof t->name + sizeof((mx_case *)0)->id + 2];
    mx_sha256(t->data, t->bytes, digest);
    snprintf(key, sizeof key, "%s %s %s", digest, t->dtype,
             mx_shape_text(t->rank, t->shape, shape, sizeof shape));
    const char *known = json_string_value(json_object_get(g->known, key));
    if (known) return known;
    if (*t->stored)
        snprintf(name, sizeof name, "%s", t->stored);
    else
        snprintf(name, sizeof name, "%s/%s", id, t->name);
    if (json_object_get(g->names, name)) {
        mx_fail(g->e, MX_BAD_USAGE, id, "another tensor is already stored as '%s'", name);
        return NULL;
    }
    mx_array a = {.rank = t->rank};
    if (json_object_set_new(g->known, key, json_string(name)) ||
        json_object_set_new(g->names, name, json_true()) || !mx_dtype_find(t->dtype, &a.dtype)) {
        mx_fail(g->e, MX_NO_MEMORY, id, "out of memory");
        return NULL;
    }
    a.name = (char *)json_string_value(json_object_get(g->known, key));
    memcpy(a.shape, t->shape, sizeof t->shape);
    g->data[g->n_arrays] = t->data;
    g->arrays[g->n_arrays++] = a;
    return a.name;
}

static mx_status check_tensor(const gathered *g, const mx_case *c, const mx_tensor *t)
{
    int64_t count;
    uint64_t bytes;
    mx_dtype d;
    if (!mx_case_id_is_plain(t->name))
        return mx_fail(g->e, MX_BAD_USAGE, c->id, "'%s' is no role of a tensor", t->name);
    if (!mx_dtype_find(t->dtype, &d))
        return mx_fail(g->e, MX_BAD_USAGE, c->id, "tensor '%s' has the unknown type '%s'", t->name, t->dtype);
    if (t->rank < 0 || t->rank > MX_MAX_RANK || !mx_shape_bytes(t->rank, t->shape, d.bytes, &count, &bytes) ||
        bytes != t->bytes)
        return mx_fail(g->e, MX_BAD_USAGE, c->id, "tensor '%s' has a size that contradicts its shape",
                       t->name);
    return MX_OK;
}

static mx_status add_roles(gathered *g, const mx_case *c, const mx_tensor *tensors, int n, json_t *roles)
{
    for (int i = 0; i < n; i++) {
        mx_status status = check_tensor(g, c, &tensors[i]);
        if (status) return status;
        const char *name = store_tensor(g, c->id, &tensors[i]);
        if (!name) return MX_BAD_USAGE;
        if (json_object_set_new(roles, tensors[i].name, json_string(name))) return no_memory(g);
    }
    return MX_OK;
}

/* Every flag of a case must be explained by the table, so that a failure can say why the case exists. */
static mx_status check_flags(const gathered *g, const mx_case *c)
{
    char flags[sizeof c->flags], *rest = NULL;
    snprintf(flags, sizeof flags, "%s", c->flags);
    if (!*flags) return mx_fail(g->e, MX_BAD_USAGE, c->id, "has no flag");
    for (char *f = strtok_r(flags, ",", &rest); f; f = strtok_r(NULL, ",", &rest))
        if (!mx_flag_text(f)) return mx_fail(g->e, MX_BAD_USAGE, c->id, "unknown flag '%s'", f);
    return MX_OK;
}

static mx_status add_case(gathered *g, const mx_case *c)
{
    mx_status status = mx_case_id_is_plain(c->id) ? check_flags(g, c)
                                                  : mx_fail(g->e, MX_BAD_USAGE, c->id,
                                                            "id holds other than letters, digits, ._+=,:@-");
    if (status) return status;
    json_t *o = mx_case_to_json(c), *in = json_object(), *want = json_object();
    if (!o) status = mx_fail(g->e, MX_BAD_USAGE, c->id, "a member cannot be written as JSON");
    if (!status) status = add_roles(g, c, c->in, c->n_in, in);
    if (!status) status = add_roles(g, c, c->want, c->n_want, want);
    if (!status && (json_object_set(o, "in", in) || json_object_set(o, "want", want))) status = no_memory(g);
    if (!status) {
        char key[sizeof c->id + sizeof MX_CASE_PREFIX];
        snprintf(key, sizeof key, MX_CASE_PREFIX "%s", c->id);
        mx_pair p = {strdup(key), json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17))};
        g->metadata[g->n_metadata++] = p;
        if (!p.key || !p.value) status = no_memory(g);
    }
    json_decref(o);
    json_decref(in);
    json_decref(want);
    return status;
}

static mx_status check_ids(const gathered *g)
{
    json_t *ids = json_object();
    mx_status status = MX_OK;
    for (size_t i = 0; i < g->n_metadata && !status; i++) {
        if (json_object_get(ids, g->metadata[i].key))
            status = mx_fail(g->e, MX_BAD_USAGE, g->metadata[i].key, "id occurs twice");
        json_object_set_new(ids, g->metadata[i].key, json_true());
    }
    json_decref(ids);
    return status;
}

static mx_status write_gathered(const char *path, gathered *g)
{
    mx_writer w;
    mx_status status =
        mx_safetensors_create(path, g->arrays, g->n_arrays, g->metadata, g->n_metadata, &w, g->e);
    if (status) return status;
    for (size_t i = 0; i < g->n_arrays && !status; i++) {
        const mx_array *a = &g->arrays[i];
        int64_t count;
        uint64_t bytes = 0;
        mx_shape_bytes(a->rank, a->shape, a->dtype.bytes, &count, &bytes);
        status = mx_writer_put(&w, a->name, 0, g->data[i], (size_t)bytes, g->e);
    }
    if (!status) return mx_writer_finish(&w, g->e);
    mx_writer_abandon(&w);
    return status;
}

mx_status mx_cases_write(const char *path, const mx_case *cases, size_t n, mx_error *e)
{
    size_t most = n * 2 * MX_MAX_TENSORS + 1;
    gathered g = {.arrays = calloc(most, sizeof *g.arrays),
                  .data = calloc(most, sizeof *g.data),
                  .metadata = calloc(n + 1, sizeof *g.metadata),
                  .known = json_object(),
                  .names = json_object(),
                  .e = e};
    mx_status status = g.arrays && g.data && g.metadata && g.known && g.names ? MX_OK : no_memory(&g);
    if (!status) {
        g.metadata[g.n_metadata++] = (mx_pair){strdup("mxcheck"), strdup(MX_CASE_SCHEMA)};
        for (size_t i = 0; i < n && !status; i++)
            status = add_case(&g, &cases[i]);
        if (!status) status = check_ids(&g);
        if (!status) status = write_gathered(path, &g);
    }
    for (size_t i = 0; g.metadata && i < g.n_metadata; i++) {
        free(g.metadata[i].key);
        free(g.metadata[i].value);
    }
    free(g.arrays);
    free(g.data);
    free(g.metadata);
    json_decref(g.known);
    json_decref(g.names);
    return status;
}
