/* SPDX-License-Identifier: Apache-2.0
 *
 * Laying a case out for one offer: where each tensor's bytes go in the layouts that the kernel claims. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "emulate.h"
#include "operations.h"
#include "product.h"

void subject_close(subject *s)
{
    if (s->close) s->close(s);
    free(s->offers);
    *s = (subject){0};
}

void subject_offer_all(subject *s, const mx_case *const *cases, size_t n)
{
    s->offers = calloc(n ? n : 1, sizeof *s->offers);
    if (!s->offers) return;
    for (size_t i = 0; i < n; i++) {
        int k = 0;
        while (k < s->n_offers && (strcmp(s->offers[k].operation, cases[i]->operation) ||
                                   strcmp(s->offers[k].recipe, cases[i]->recipe)))
            k++;
        if (k < s->n_offers || s->n_offers == SUBJECT_MAX_OPS) continue;
        offer *o = &s->offers[s->n_offers++];
        o->runnable = true;
        snprintf(o->operation, sizeof o->operation, "%s", cases[i]->operation);
        snprintf(o->recipe, sizeof o->recipe, "%s", cases[i]->recipe);
        snprintf(o->name, sizeof o->name, "%.31s:%.31s", o->operation, o->recipe);
    }
}

static bool listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
        while (*p == ' ')
            p++;
        if (!strncmp(p, word, n) && (p[n] == ',' || p[n] == 0 || p[n] == ' ')) return true;
    }
    return false;
}

static const char *or_row_major(const char *layout) { return *layout ? layout : "row-major"; }

/* "place" is nothing but its layout: there "row-major" is no default. */
static bool placed_elsewhere(const offer *o, const mx_case *c)
{
    return !strcmp(c->operation, "place") &&
           (strcmp(o->scale_layout, c->scale_layout) || strcmp(o->data_layout, c->data_layout));
}

/* The recipe claimed is the case's, by name or by all that it does. */
static bool claims(const offer *o, const char *recipe)
{
    if (!strcmp(o->recipe, recipe) || !strcmp(o->recipe, "*")) return true;
    const mx_recipe *a = mx_recipe_find(o->recipe), *b = mx_recipe_find(recipe);
    return a && b && mx_recipe_same(a, b);
}

bool offer_takes(const offer *o, const mx_case *c, const char **why)
{
    const char *unused;
    if (!why) why = &unused;
    *why = NULL;
    if (strcmp(o->operation, c->operation)) return false;
    if (!claims(o, c->recipe)) return false;
    if (placed_elsewhere(o, c)) return false;
    if (*c->scale_layout && strcmp(or_row_major(o->scale_layout), c->scale_layout)) return false;
    if (*c->data_layout && strcmp(or_row_major(o->data_layout), c->data_layout)) return false;
    if (*c->output && *o->output && strcmp(o->output, c->output)) return false;
    if (!o->runnable) return *why = *o->note ? o->note : "described only", false;
    if (*c->make_dtype && *o->inputs && !listed(o->inputs, c->make_dtype)) return false;
    const operation *op = operation_find(c->operation);
    if (*o->inputs && op)
        for (int i = 0; i < c->n_in; i++)
            for (const role *r = op->in; r->name; r++)
                if (!strcmp(r->name, c->in[i].name) && r->part == PART_SOURCE &&
                    !listed(o->inputs, c->in[i].dtype))
                    return false;
    return true;
}

/* ---- slots ---------------------------------------------------------------------------------------- */

/* The recipe behind a tensor: the columnwise copy has its own. */
static const mx_recipe *recipe_of(const job *j, part p)
{
    const mx_recipe *r = mx_recipe_find(j->c->recipe);
    return r && (p == PART_CODES_T || p == PART_SCALES_T) ? mx_recipe_columnwise(r) : r;
}

static const char *layout_name(const offer *o, part p)
{
    switch (p) {
    case PART_CODES: return o->data_layout;
    case PART_SCALES: return o->scale_layout;
    case PART_CODES_T: return o->data_layout_t;
    case PART_SCALES_T: return o->scale_layout_t;
    default: return "";
    }
}

/* With codes [cols, rows], scales lie on the grid [cols, row blocks], unless their layout turns them itself.
 */
static bool transposed(const offer *o, part p)
{
    bool columnwise = p == PART_CODES_T || p == PART_SCALES_T,
         scales = p == PART_SCALES || p == PART_SCALES_T;
    const char *name = layout_name(o, p);
    size_t n = strlen(name);
    bool turns_itself = scales && n > 2 && !strcmp(name + n - 2, "-t");
    return !strcmp(columnwise ? o->data_layout_t : o->data_layout, "transposed") && !turns_itself;
}

/* The matrix view of a tensor: all but the last axis are rows. */
static void as_matrix(const mx_tensor *t, int64_t *rows, int64_t *cols)
{
    *cols = t->rank ? t->shape[t->rank - 1] : 1;
    *rows = 1;
    for (int i = 0; i + 1 < t->rank; i++)
        *rows *= t->shape[i];
}

static void dense(slot *s, size_t rows, size_t row_bytes, size_t pitch_bytes)
{
    s->rows = rows;
    s->row_bytes = row_bytes;
    s->pitch_bytes = pitch_bytes;
    s->bytes = rows ? (rows - 1) * pitch_bytes + row_bytes : 0;
    if (!row_bytes) s->bytes = 0;
}

/* A source or plain tensor: rows of data at a pitch. A case stores pitched rows with their pad; the pad is
 * dropped here and poisoned anew for each run. */
static mx_status slot_rows(slot *s, const mx_case *c, const mx_tensor *t, bool input, mx_error *e)
{
    size_t size = mx_dtype_bytes(t->dtype);
    if (!size)
        return mx_fail(e, MX_UNSUPPORTED, c->id, "tensor '%s' has unknown dtype '%s'", t->name, t->dtype);
    int64_t rows, cols;
    as_matrix(t, &rows, &cols);
    int64_t pitch = cols;
    if (input && c->pitch && c->pitch == cols && c->cols < cols && s->part == PART_SOURCE) {
        cols = c->cols;
        s->shape[s->rank - 1] = cols;
    }
    s->pitch = pitch;
    dense(s, (size_t)rows, (size_t)cols * size, (size_t)pitch * size);
    s->canon = t->data;
    s->canon_bytes = t->bytes;
    if (!input) return MX_OK;
    s->data = malloc(s->rows * s->row_bytes + 1);
    if (!s->data) return mx_fail(e, MX_NO_MEMORY, c->id, "out of memory");
    for (size_t r = 0; r < s->rows; r++)
        memcpy(s->data + r * s->row_bytes, t->data + r * s->pitch_bytes, s->row_bytes);
    return MX_OK;
}

/* Where each expert's part of a grid starts: rows of the case's groups; or the matrices of a tensor that has
 * one for each expert; or, where the groups are columns, nothing. */
static mx_status take_groups(job *j, slot *s, mx_error *e)
{
    const mx_tensor *offsets = mx_case_in(j->c, "offsets");
    if (s->rank == 3) {
        int64_t n = s->shape[0] + 1;
        mx_tensor *owned = &j->computed[j->n_computed];
        mx_status status = mx_tensor_make(owned, "groups", "i64", 1, &n, e);
        if (status != MX_OK) return status;
        j->n_computed++;
        int64_t *starts = (int64_t *)(void *)owned->data;
        for (int64_t i = 0; i < n; i++)
            starts[i] = i * s->shape[1];
        s->grid.groups = starts;
        s->grid.n_groups = n - 1;
        return MX_OK;
    }
    if (!offsets || strcmp(offsets->dtype, "i64") || mx_tensor_count(offsets) < 2) return MX_OK;
    if (!strcmp(j->c->operation, "grouped-wgrad")) return MX_OK;
    s->grid.groups = (const int64_t *)(const void *)offsets->data;
    s->grid.n_groups = mx_tensor_count(offsets) - 1;
    return MX_OK;
}

static mx_status take_layout(job *j, slot *s, const mx_layout *l, mx_error *e)
{
    s->layout = l;
    mx_status status = take_groups(j, s, e);
    if (status != MX_OK) return status;
    int64_t bytes = mx_layout_bytes(s->layout, &s->grid);
    if (bytes < 0) return mx_fail(e, MX_UNSUPPORTED, j->c->id, "layout '%s' cannot hold this grid", l->name);
    dense(s, 1, (size_t)bytes, (size_t)bytes);
    return MX_OK;
}

/* The output of "place" is compared on the grid, since a layout may leave its padding open. */
static mx_status slot_placed(job *j, slot *s, const mx_tensor *t, mx_error *e)
{
    const mx_tensor *grid = mx_case_in(j->c, "grid");
    bool scales = *j->c->scale_layout;
    const char *name = scales ? j->c->scale_layout : j->c->data_layout;
    const mx_layout *l = grid ? mx_layout_find_for(name, scales, (int)mx_dtype_bytes(grid->dtype) * 8) : NULL;
    if (!l) return mx_fail(e, MX_UNSUPPORTED, j->c->id, "unknown layout '%s'", name);
    as_matrix(grid, &s->grid.rows, &s->grid.cols);
    snprintf(s->dtype, sizeof s->dtype, "%s", grid->dtype);
    mx_status status = take_layout(j, s, l, e);
    if (status != MX_OK) return status;
    if (t->bytes != s->bytes)
        return mx_fail(e, MX_BAD_INPUT, j->c->id, "'packed' is not of the layout's size");
    mx_tensor *owned = &j->computed[j->n_computed++];
    *owned = *grid;
    owned->data = malloc(grid->bytes + 1);
    if (!owned->data) return mx_fail(e, MX_NO_MEMORY, j->c->id, "out of memory");
    s->canon = owned->data;
    s->canon_bytes = grid->bytes;
    return mx_layout_unpack(l, &s->grid, t->data, owned->data, e);
}

static unsigned char *transpose(const slot *s, const mx_tensor *t, size_t unit)
{
    unsigned char *out = malloc(t->bytes + 1);
    int64_t rows = s->grid.cols, cols = s->grid.rows; /* of t */
    for (int64_t r = 0; out && r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            memcpy(out + (size_t)(c * rows + r) * unit, t->data + (size_t)(r * cols + c) * unit, unit);
    return out;
}

/* Codes or scales: a canonical grid placed by a layout. Row-major ones stay rows, so that they may be of
 * any size of unit. */
static mx_status slot_grid(job *j, slot *s, const mx_tensor *t, bool input, mx_error *e)
{
    const char *name = layout_name(j->offer, s->part);
    bool turn = transposed(j->offer, s->part);
    size_t unit = mx_dtype_bytes(t->dtype);
    int64_t rows, cols;
    as_matrix(t, &rows, &cols);
    s->turned = turn;
    s->grid = (mx_grid){.rows = turn ? cols : rows, .cols = turn ? rows : cols};
    const unsigned char *canon = t->data;
    if (turn && s->rank == 2) {
        s->shape[0] = cols;
        s->shape[1] = rows;
        mx_tensor *owned = &j->computed[j->n_computed++];
        *owned = *t;
        owned->data = transpose(s, t, unit);
        if (!owned->data) return mx_fail(e, MX_NO_MEMORY, j->c->id, "out of memory");
        canon = owned->data;
    }
    s->canon = canon;
    s->canon_bytes = t->bytes;
    if (!*name || !strcmp(name, "row-major") || !strcmp(name, "transposed")) {
        dense(s, (size_t)s->grid.rows, (size_t)s->grid.cols * unit, (size_t)s->grid.cols * unit);
        s->pitch = s->grid.cols;
    } else {
        bool scales = s->part == PART_SCALES || s->part == PART_SCALES_T;
        const mx_layout *l = mx_layout_find_for(name, scales, (int)unit * 8);
        if (!l) return mx_fail(e, MX_UNSUPPORTED, j->offer->name, "unknown layout '%s'", name);
        mx_status status = take_layout(j, s, l, e);
        if (status != MX_OK) return status;
    }
    if (!input) return MX_OK;
    s->data = malloc(s->bytes + 1);
    if (!s->data) return mx_fail(e, MX_NO_MEMORY, j->c->id, "out of memory");
    if (s->layout) return mx_layout_pack(s->layout, &s->grid, canon, s->data, e);
    memcpy(s->data, canon, s->bytes);
    return MX_OK;
}

/* Codes are stored under a plain dtype where safetensors has none; the kernel is told the format. */
static void name_format(const job *j, slot *s)
{
    const mx_recipe *r = recipe_of(j, s->part);
    const mx_format *f = NULL;
    if (r && (s->part == PART_CODES || s->part == PART_CODES_T)) f = mx_recipe_element(r);
    if (r && (s->part == PART_SCALES || s->part == PART_SCALES_T)) f = mx_recipe_scale(r);
    if (f) snprintf(s->dtype, sizeof s->dtype, "%s", f->name);
}

static mx_status slot_make(job *j, slot *s, const role *r, const mx_tensor *t, bool input, mx_error *e)
{
    mx_tensor list = *t;
    if (operation_find(j->c->operation)->flat || r->part == PART_PLAIN) {
        list.rank = 1;
        list.shape[0] = mx_tensor_count(t);
        t = &list;
    }
    *s = (slot){.part = r->part, .rank = t->rank};
    snprintf(s->role, sizeof s->role, "%s", r->name);
    snprintf(s->dtype, sizeof s->dtype, "%s", t->dtype);
    memcpy(s->shape, t->shape, sizeof s->shape);
    name_format(j, s);
    if (r->part == PART_PLACED) return slot_placed(j, s, t, e);
    if (input && r->part == PART_SOURCE) s->misalign = j->c->misalign;
    bool placed = r->part != PART_SOURCE && r->part != PART_PLAIN;
    return placed ? slot_grid(j, s, t, input, e) : slot_rows(s, j->c, t, input, e);
}

/* ---- the job -------------------------------------------------------------------------------------- */

static const mx_tensor *computed(const job *j, const char *name)
{
    for (int i = 0; i < j->n_computed; i++)
        if (!strcmp(j->computed[i].name, name)) return &j->computed[i];
    return NULL;
}

/* What a case leaves open of a product, the offer decides. A claim that cannot be emulated is left out here:
 * the check of products tells. */
static mx_status answer_product(const job *j, mx_tensor *out, int *n, mx_error *e)
{
    mx_case asked = *j->c;
    const offer *o = j->offer;
    if (!*asked.output) snprintf(asked.output, sizeof asked.output, "%.11s", o->output);
    if (!*asked.model) {
        snprintf(asked.model, sizeof asked.model, "%s", o->model);
        snprintf(asked.schedule, sizeof asked.schedule, "%s", o->schedule);
    }
    if (*asked.model && emulate_case(&asked, out, n, e) == MX_OK) return MX_OK;
    *asked.model = *asked.schedule = 0;
    return emulate_case(&asked, out, n, e);
}

/* A case may leave its wants to the emulator: large ones do, and products, which depend on the claim. */
static mx_status answer(job *j, mx_error *e)
{
    if (j->c->n_want) return MX_OK;
    mx_tensor *out = j->computed + j->n_computed;
    int n = 0;
    mx_status status =
        product_is(j->c->operation) ? answer_product(j, out, &n, e) : emulate_case(j->c, out, &n, e);
    j->n_computed += n;
    return status;
}

mx_status job_make(job *j, const offer *o, int op_index, const mx_case *c, mx_error *e)
{
    *j = (job){.offer = o, .op_index = op_index, .c = c};
    const operation *op = operation_find(c->operation);
    if (!op) return mx_fail(e, MX_UNSUPPORTED, c->id, "unknown operation '%s'", c->operation);
    if (c->misalign < 0 || c->misalign >= 256)
        return mx_fail(e, MX_BAD_INPUT, c->id, "misalign %d is not in 0 to 255", c->misalign);
    for (const role *r = op->in; r->name; r++) {
        const mx_tensor *t = mx_case_in(c, r->name);
        if (!t && r->optional) continue;
        if (!t)
            return mx_fail(e, MX_BAD_INPUT, c->id, "operation '%s' needs an input '%s'", op->name, r->name);
        mx_status status = slot_make(j, &j->in[j->n_in++], r, t, true, e);
        if (status != MX_OK) return status;
    }
    mx_status status = answer(j, e);
    for (const role *r = op->out; r->name && status == MX_OK; r++) {
        const mx_tensor *t = c->n_want ? mx_case_want(c, r->name) : computed(j, r->name);
        if (!t && r->optional) continue;
        if (!t)
            return mx_fail(e, MX_BAD_INPUT, c->id, "operation '%s' needs a wanted '%s'", op->name, r->name);
        status = slot_make(j, &j->out[j->n_out++], r, t, false, e);
    }
    return status;
}

void job_free(job *j)
{
    for (int i = 0; i < j->n_in; i++)
        free(j->in[i].data);
    for (int i = 0; i < j->n_computed; i++)
        free(j->computed[i].data);
    *j = (job){0};
}
