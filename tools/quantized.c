/* SPDX-License-Identifier: Apache-2.0
 * Names, shapes and metadata of quantised tensors in files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npy.h"
#include "quantized.h"
#include "tiling.h"

enum { PART_ELEMENTS = 1 << 23, COPY_BYTES = 1 << 22 };

void quantized_name(char out[QUANTIZED_NAME], const char *tensor, const char *ending)
{
    snprintf(out, QUANTIZED_NAME, "%.*s%s", (int)(QUANTIZED_NAME - 1 - strlen(ending)), tensor, ending);
}

static mx_status find_layout(quantized_shape *s, const char *layout, const char *tensor, mx_error *e)
{
    if (!layout || !strcmp(layout, "row-major")) return MX_OK;
    if (!s->has_scale)
        return mx_fail(e, MX_BAD_USAGE, tensor, "the recipe has no scales for layout '%s' to place", layout);
    s->layout = mx_layout_find_unit(layout, 8 * s->scale.bytes);
    if (!s->layout || !s->layout->for_scales)
        return mx_fail(e, MX_BAD_USAGE, tensor, "layout '%s' does not place %s scales", layout,
                       s->scale.name);
    mx_grid g = {.rows = s->grid_rows, .cols = s->grid_cols};
    s->placed_bytes = mx_layout_bytes(s->layout, &g);
    if (s->placed_bytes < 0)
        return mx_fail(e, MX_BAD_USAGE, tensor, "layout '%s' cannot place %lld x %lld scales", layout,
                       (long long)s->grid_rows, (long long)s->grid_cols);
    return MX_OK;
}

mx_status quantized_describe(quantized_shape *s, const mx_recipe *r, const char *layout, const mx_array *x,
                             mx_error *e)
{
    *s = (quantized_shape){.recipe = r, .has_scale = mx_recipe_scale(r) != NULL};
    mx_array_matrix(x, &s->rows, &s->cols);
    if (mx_recipe_element(r)->bits > 8)
        return mx_fail(e, MX_BAD_USAGE, mx_recipe_name(r), "is a cast to %s, not to codes of a byte",
                       mx_recipe_element(r)->name);
    mx_dtype_find(mx_recipe_element(r)->name, &s->element);
    if (s->has_scale) mx_dtype_find(mx_recipe_scale(r)->name, &s->scale);
    int64_t wide_rows, wide_cols; /* blocks that grow with the matrix reach over all of it */
    mx_recipe_block(r, s->rows, s->cols, &s->block_rows, &s->block_cols);
    mx_recipe_block(r, (int64_t)1 << 40, (int64_t)1 << 40, &wide_rows, &wide_cols);
    s->all_rows = s->has_scale && wide_rows == (int64_t)1 << 40;
    s->all_cols = s->has_scale && wide_cols == (int64_t)1 << 40;
    s->whole = s->all_rows && s->all_cols;
    if (s->has_scale) mx_scale_grid(r, s->rows, s->cols, &s->grid_rows, &s->grid_cols);
    return find_layout(s, layout, x->name, e);
}

parts quantized_cut(const quantized_shape *s)
{
    if (s->whole || !s->has_scale) return parts_make(s->rows, s->cols, 1, 1, PART_ELEMENTS);
    return parts_make(s->rows, s->cols, s->all_rows ? 0 : s->block_rows, s->all_cols ? 0 : s->block_cols,
                      PART_ELEMENTS);
}

part quantized_scale_part(const quantized_shape *s, const part *codes)
{
    int64_t end_row = (codes->row + codes->rows - 1) / s->block_rows;
    int64_t end_col = (codes->col + codes->cols - 1) / s->block_cols;
    part p = {.row = codes->row / s->block_rows, .col = codes->col / s->block_cols};
    p.rows = end_row - p.row + 1;
    p.cols = end_col - p.col + 1;
    return p;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Add X.scale.npy as "data.scale" to the store of X.npy, if it is there. */
static mx_status add_sibling(const char *path, const char *name, mx_store *out, mx_error *e)
{
    mx_input in;
    char *file = npy_path(path, name), *copy = strdup(name);
    mx_status status = MX_OK;
    if (!file || !copy)
        status = mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    else if (!access(file, F_OK) && !(status = mx_input_open(file, false, &in, e)) &&
             !(status = mx_npy_read(&in, out, e))) {
        free(out->arrays[out->n_arrays - 1].name);
        out->arrays[out->n_arrays - 1].name = copy;
        copy = NULL;
    }
    free(file);
    free(copy);
    return status;
}

mx_status quantized_open(const char *path, mx_store *out, mx_error *e)
{
    mx_status status = mx_store_open(path, out, e);
    if (status || !is_npy(path)) return status;
    status = add_sibling(path, MX_NPY_NAME ".scale", out, e);
    if (!status) status = add_sibling(path, MX_NPY_NAME ".global", out, e);
    if (!status) status = mx_store_sort(out, e);
    if (status) mx_store_close(out);
    return status;
}

mx_status quantized_recipe(const mx_store *s, const mx_array *x, const mx_recipe *recipe,
                           const mx_recipe **out, mx_error *e)
{
    char key[QUANTIZED_NAME + 8];
    snprintf(key, sizeof key, "recipe:%.*s", QUANTIZED_NAME - 1, x->name);
    const char *name = mx_store_metadata(s, key);
    *out = recipe;
    if (recipe || !name) return MX_OK;
    if ((*out = mx_recipe_find(name))) return MX_OK;
    return mx_fail(e, MX_BAD_INPUT, mx_store_file(s, x), "tensor '%s' names the unknown recipe '%s'", x->name,
                   name);
}

static mx_status misfit(const mx_store *s, const mx_array *a, const char *what, mx_error *e)
{
    char place[sizeof e->place];
    mx_place_of(place, sizeof place, mx_store_file(s, a), a->name);
    return mx_fail(e, MX_BAD_INPUT, place, "%s", what);
}

static mx_status check_scale(const quantized *q, mx_error *e)
{
    const quantized_shape *s = &q->shape;
    char what[160];
    uint64_t wanted =
        s->layout ? (uint64_t)s->placed_bytes : (uint64_t)(s->grid_rows * s->grid_cols) * s->scale.bytes;
    if (q->scale->dtype.bytes != s->scale.bytes && !s->layout)
        return misfit(q->store, q->scale, "elements have another size than the recipe's scales", e);
    if (q->scale->bytes == wanted) return MX_OK;
    snprintf(what, sizeof what, "has %llu bytes; %lld x %lld scales%s%s need %llu",
             (unsigned long long)q->scale->bytes, (long long)s->grid_rows, (long long)s->grid_cols,
             s->layout ? " in layout " : "", s->layout ? s->layout->name : "", (unsigned long long)wanted);
    return misfit(q->store, q->scale, what, e);
}

static mx_status read_global(quantized *q, const char *name, mx_error *e)
{
    const mx_array *g = mx_store_find(q->store, name);
    q->global = 1;
    if (!mx_recipe_has_global(q->shape.recipe)) return MX_OK;
    if (!g) return misfit(q->store, q->codes, "has no second-level scale beside it", e);
    if (g->bytes != sizeof q->global || strcmp(g->dtype.name, "f32"))
        return misfit(q->store, g, "is no single f32", e);
    return mx_store_read(q->store, g, 0, &q->global, sizeof q->global, e);
}

static mx_status unplace(quantized *q, mx_error *e)
{
    const quantized_shape *s = &q->shape;
    mx_grid g = {.rows = s->grid_rows, .cols = s->grid_cols};
    unsigned char *placed = malloc((size_t)s->placed_bytes + 1);
    q->unplaced = calloc((size_t)(s->grid_rows * s->grid_cols) + 1, s->scale.bytes);
    mx_status status = placed && q->unplaced
                           ? mx_store_read(q->store, q->scale, 0, placed, (size_t)s->placed_bytes, e)
                           : mx_fail(e, MX_NO_MEMORY, q->scale->name, "out of memory");
    if (!status) status = mx_layout_unpack(s->layout, &g, placed, q->unplaced, e);
    free(placed);
    return status;
}

bool quantized_parse_naming(char *text, quantized_naming *n)
{
    char *scale = strchr(text, ','), *global = scale ? strchr(scale + 1, ',') : NULL;
    if (!scale || (global && strchr(global + 1, ','))) return false;
    *scale = 0;
    n->codes = text;
    n->scale = scale + 1;
    if (global) {
        *global = 0;
        n->global = global + 1;
    }
    return *n->scale != 0;
}

bool quantized_base(const quantized_naming *n, const char *codes, char out[QUANTIZED_NAME])
{
    size_t all = strlen(codes), ending = strlen(n->codes);
    if (all < ending || all - ending >= QUANTIZED_NAME || strcmp(codes + all - ending, n->codes))
        return false;
    snprintf(out, QUANTIZED_NAME, "%.*s", (int)(all - ending), codes);
    return true;
}

/* Codes as they are meant. Packed ones must lie row by row, each row in bytes of its own. */
static mx_status unpack_shape(quantized *q, const char *packing, mx_error *e)
{
    q->logical = *q->codes;
    if (!packing) return MX_OK;
    q->packing = mx_layout_find_unit(packing, 4);
    if (!q->packing || !q->packing->for_codes || q->packing->tiling->tile_rows != 1 ||
        q->packing->tiling->column_major)
        return mx_fail(e, MX_BAD_USAGE, packing, "packs no rows of 4-bit codes");
    if (!q->logical.rank) return misfit(q->store, q->codes, "cannot be packed rows", e);
    int64_t *last = &q->logical.shape[q->logical.rank - 1];
    if (__builtin_mul_overflow(*last, (int64_t)2, last))
        return misfit(q->store, q->codes, "cannot be packed rows", e);
    mx_grid row = {.rows = 1, .cols = *last};
    if (mx_layout_bytes(q->packing, &row) != *last / 2)
        return misfit(q->store, q->codes, "has rows that this packing does not give", e);
    return MX_OK;
}

parts quantized_cut_of(const quantized *q)
{
    parts cut = quantized_cut(&q->shape);
    if (q->packing) cut.part_cols = cut.cols;
    return cut;
}

mx_status quantized_codes(const quantized *q, const part *p, uint8_t *to, mx_error *e)
{
    int64_t cols = q->shape.cols;
    if (!q->packing) return part_read(q->store, q->codes, cols, p, to, e);
    uint8_t *packed = malloc((size_t)cols + 1), *row = malloc((size_t)cols + 1);
    part line = {0, 0, 1, cols / 2};
    mx_grid g = {.rows = 1, .cols = cols};
    mx_status status = packed && row ? MX_OK : mx_fail(e, MX_NO_MEMORY, q->codes->name, "out of memory");
    for (int64_t i = 0; i < p->rows && !status; i++) {
        line.row = p->row + i;
        status = part_read(q->store, q->codes, cols / 2, &line, packed, e);
        if (!status) status = mx_layout_unpack(q->packing, &g, packed, row, e);
        if (!status) memcpy(to + i * p->cols, row + p->col, (size_t)p->cols);
    }
    free(packed);
    free(row);
    return status;
}

mx_status quantized_find(const mx_store *s, const mx_array *x, const mx_recipe *r, const quantized_naming *n,
                         quantized *out, mx_error *e)
{
    char base[QUANTIZED_NAME], name[QUANTIZED_NAME], key[QUANTIZED_NAME + 8];
    *out = (quantized){.store = s, .codes = x, .global = 1};
    if (x->dtype.bytes != 1) return misfit(s, x, "holds no codes of one byte", e);
    if (!quantized_base(n, x->name, base))
        return misfit(s, x, "has another name than --names gives to codes", e);
    mx_status status = unpack_shape(out, n->packing, e);
    if (status) return status;
    quantized_name(name, base, n->scale);
    snprintf(key, sizeof key, "layout:%s", name);
    const char *layout = n->layout ? n->layout : mx_store_metadata(s, key);
    if ((status = quantized_describe(&out->shape, r, layout, &out->logical, e))) return status;
    if (out->packing && out->shape.element.format->bits != 4)
        return mx_fail(e, MX_BAD_USAGE, mx_recipe_name(r), "has codes of %d bits, which %s does not pack",
                       out->shape.element.format->bits, out->packing->name);
    if (out->shape.has_scale) {
        if (!(out->scale = mx_store_find(s, name))) return misfit(s, x, "has no scales beside it", e);
        status = check_scale(out, e);
    }
    quantized_name(name, base, n->global);
    if (!status) status = read_global(out, name, e);
    if (!status && out->shape.layout) status = unplace(out, e);
    if (status) quantized_free(out);
    return status;
}

void quantized_free(quantized *q)
{
    free(q->unplaced);
    q->unplaced = NULL;
}

mx_status quantized_scales(const quantized *q, const part *codes, void *to, mx_error *e)
{
    const quantized_shape *s = &q->shape;
    if (!q->scale) return MX_OK;
    part p = quantized_scale_part(s, codes);
    if (!q->unplaced) return part_read(q->store, q->scale, s->grid_cols, &p, to, e);
    size_t row = (size_t)p.cols * s->scale.bytes;
    for (int64_t i = 0; i < p.rows; i++)
        memcpy((char *)to + (size_t)i * row,
               q->unplaced + (size_t)((p.row + i) * s->grid_cols + p.col) * s->scale.bytes, row);
    return MX_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

mx_status quantized_keep_metadata(const mx_store *from, mx_store *out, mx_error *e)
{
    static const char *const dropped[] = {"format:", "recipe:", "layout:", "case:", "mxcheck"};
    mx_status status = MX_OK;
    for (size_t i = 0; i < from->n_metadata && !status; i++) {
        const mx_pair *p = &from->metadata[i];
        bool keep = true;
        for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
            keep &= strncmp(p->key, dropped[k], strlen(dropped[k])) != 0;
        if (keep) status = mx_store_add_metadata(out, p->key, p->value, e);
    }
    return status;
}

static mx_status add_array(mx_store *out, const char *name, const mx_dtype *d, int rank, const int64_t *shape,
                           mx_error *e)
{
    mx_array a = {.name = (char *)name, .dtype = *d, .rank = rank};
    memcpy(a.shape, shape, (size_t)rank * sizeof *shape);
    return mx_store_add(out, &a, e);
}

mx_status quantized_add(const mx_recipe *r, const char *layout, const mx_array *x, mx_store *out, mx_error *e)
{
    quantized_shape s;
    mx_dtype f32;
    char name[QUANTIZED_NAME], key[QUANTIZED_NAME + 8];
    mx_status status = quantized_describe(&s, r, layout, x, e);
    if (status) return status;
    mx_dtype_find("f32", &f32);
    status = add_array(out, x->name, &s.element, x->rank, x->shape, e);
    quantized_name(name, x->name, ".scale");
    int64_t grid[2] = {s.grid_rows, s.grid_cols},
            placed[1] = {s.placed_bytes / (s.has_scale ? s.scale.bytes : 1)};
    if (!status && s.has_scale)
        status = add_array(out, name, &s.scale, s.layout ? 1 : 2, s.layout ? placed : grid, e);
    snprintf(key, sizeof key, "layout:%s", name);
    if (!status && s.layout) status = mx_store_add_metadata(out, key, s.layout->name, e);
    quantized_name(name, x->name, ".global");
    int64_t one[1] = {1};
    if (!status && mx_recipe_has_global(r)) status = add_array(out, name, &f32, 1, one, e);
    snprintf(key, sizeof key, "recipe:%.*s", QUANTIZED_NAME - 1, x->name);
    return status ? status : mx_store_add_metadata(out, key, mx_recipe_name(r), e);
}

mx_status copy_array(const mx_store *from, const mx_array *x, sink *to, mx_error *e)
{
    char *piece = malloc(COPY_BYTES);
    mx_status status = piece ? MX_OK : mx_fail(e, MX_NO_MEMORY, x->name, "out of memory");
    for (uint64_t at = 0; at < x->bytes && !status; at += COPY_BYTES) {
        size_t n = x->bytes - at < COPY_BYTES ? (size_t)(x->bytes - at) : COPY_BYTES;
        if (!(status = mx_store_read(from, x, at, piece, n, e)))
            status = sink_put(to, x->name, at, piece, n, e);
    }
    free(piece);
    return status;
}
