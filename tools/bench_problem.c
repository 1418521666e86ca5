/* SPDX-License-Identifier: Apache-2.0
 * Tensors of an operation at a size, by the table of checks/operations.h. Codes and scales that are inputs
 * are made by a quantiser of the same library, so that they are what such a kernel meets. */
#include "bench_problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"

static const double FAR_LARGER_THAN_A_CACHE = 1 << 29;

const mx_kernel_op *bench_op(const mx_kernel_library *library, const char *name)
{
    for (uint32_t i = 0; i < library->n_ops; i++)
        if (!strcmp(library->ops[i].name, name)) return &library->ops[i];
    return NULL;
}

bool bench_is_product(const mx_kernel_op *op)
{
    const operation *o = operation_find(op->operation);
    return o && o->product;
}

/* The matrix that a role holds: its logical shape, and its rows and columns once leading axes are rows. */
typedef struct shape {
    int rank;
    int64_t axis[3], rows, cols;
} shape;

static shape matrix(int64_t rows, int64_t cols) { return (shape){2, {rows, cols}, rows, cols}; }
static shape stack(int64_t groups, int64_t rows, int64_t cols)
{
    return (shape){3, {groups, rows, cols}, groups * rows, cols};
}

static bool begins(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

static shape shape_of(const mx_kernel_op *op, const char *name, const bench_size *s)
{
    const bool wgrad = !strcmp(op->operation, "grouped-wgrad"), grouped = begins(op->operation, "grouped");
    if (!bench_is_product(op)) {
        const bool halves = !strcmp(op->operation, "swiglu-grad-quantize") && (*name == 'q' || *name == 's');
        return matrix(s->rows, halves ? 2 * s->cols : s->cols);
    }
    if (!strcmp(name, "offsets")) return (shape){1, {s->groups + 1}, 1, s->groups + 1};
    if (*name == 'a') return wgrad ? matrix(s->n, s->rows) : matrix(s->rows, s->cols);
    if (*name == 'b')
        return wgrad     ? matrix(s->cols, s->rows)
               : grouped ? stack(s->groups, s->n, s->cols)
                         : matrix(s->n, s->cols);
    return wgrad ? stack(s->groups, s->n, s->cols) : matrix(s->rows, s->n);
}

/* Fill in everything of a tensor but its memory. */
static bool describe(mx_kernel_tensor *t, const mx_kernel_op *op, const role *r, const bench_size *size)
{
    shape s = shape_of(op, r->name, size);
    *t = (mx_kernel_tensor){.name = r->name, .rank = s.rank};
    const bool copy_t = r->part == PART_CODES_T || r->part == PART_SCALES_T;
    const bool codes = r->part == PART_CODES || r->part == PART_CODES_T;
    const bool scales = r->part == PART_SCALES || r->part == PART_SCALES_T;
    if (!codes && !scales) {
        const bool plain = r->part == PART_PLAIN;
        t->dtype = plain ? "i64" : op->output && !begins(op->operation, "quant") ? op->output : "bf16";
        t->pitch = s.cols;
        memcpy(t->shape, s.axis, sizeof s.axis);
        t->bytes = (size_t)(s.rows * s.cols) * (plain ? 8 : mx_format_find(t->dtype)->bits / 8u);
        return true;
    }
    const mx_recipe *recipe = mx_recipe_find(op->recipe);
    if (recipe && copy_t) recipe = mx_recipe_columnwise(recipe);
    if (!recipe || !mx_recipe_scale(recipe)) return false;
    const mx_format *f = codes ? mx_recipe_element(recipe) : mx_recipe_scale(recipe);
    const char *layout = codes ? (copy_t ? op->data_layout_t : op->data_layout)
                               : (copy_t ? op->scale_layout_t : op->scale_layout);
    const char *data_layout = copy_t ? op->data_layout_t : op->data_layout;
    int64_t rows = s.rows, cols = s.cols;
    if (scales) mx_scale_grid(recipe, s.rows, s.cols, &rows, &cols);
    if (data_layout && !strcmp(data_layout, "transposed")) {
        int64_t swap = rows;
        rows = cols, cols = swap;
        s.rank = 2, s.axis[0] = rows, s.axis[1] = cols;
    }
    t->dtype = f->name, t->rank = s.rank;
    memcpy(t->shape, s.axis, sizeof s.axis);
    if (scales) t->shape[s.rank - 1] = cols, t->shape[s.rank - 2] = s.rank == 3 ? rows / s.axis[0] : rows;
    const mx_grid grid = {.rows = rows, .cols = cols};
    if (!layout || !strcmp(layout, "row-major") || !strcmp(layout, "transposed")) {
        t->pitch = cols;
        t->bytes = (size_t)(rows * cols) * (f->bits == 32 ? 4 : 1);
        return true;
    }
    const mx_layout *l = mx_layout_find_for(layout, scales, f->bits == 32 ? 32 : 8);
    t->bytes = l ? (size_t)mx_layout_bytes(l, &grid) : 0;
    return l != NULL;
}

static bool allocate(bench_problem *p, mx_kernel_tensor *t, char *why, size_t n)
{
    int error = p->device->library->allocate(&t->data, t->bytes);
    if (!error) return true;
    t->data = NULL;
    snprintf(why, n, "%s for %zu bytes", p->device->library->error_text(error), t->bytes);
    return false;
}

/* A quantiser of this library that writes what op reads as `codes` and `scales`. */
static const mx_kernel_op *maker_for(const mx_kernel_library *l, const mx_kernel_op *op)
{
    const mx_recipe *recipe = mx_recipe_find(op->recipe);
    const bool tiled = op->scale_layout && !strcmp(op->scale_layout, "tile-128x4");
    for (uint32_t i = 0; recipe && i < l->n_ops; i++) {
        const mx_kernel_op *m = &l->ops[i];
        const mx_recipe *made = mx_recipe_find(m->recipe);
        int64_t rows, cols;
        if (!m->run || strcmp(m->operation, "quantize") || m->data_layout || !made) continue;
        mx_recipe_block(made, 128, 128, &rows, &cols);
        if (rows == 1 && cols == 32 && mx_recipe_element(made) == mx_recipe_element(recipe) &&
            tiled == (m->scale_layout && !strcmp(m->scale_layout, "tile-128x4")))
            return m;
    }
    return NULL;
}

/* Normal values, quantised into a pair of inputs. */
static bool make_codes(bench_problem *p, const mx_kernel_op *op, mx_kernel_tensor *codes,
                       mx_kernel_tensor *scales, uint64_t seed, char *why, size_t n)
{
    const mx_kernel_op *maker = maker_for(p->device->library, op);
    if (!maker) return snprintf(why, n, "no quantiser makes inputs for %s", op->name), false;
    mx_kernel_tensor x = {.name = "x", .dtype = "bf16", .rank = codes->rank, .pitch = codes->pitch};
    int64_t elements = 1;
    for (int i = 0; i < x.rank; i++)
        x.shape[i] = codes->shape[i], elements *= codes->shape[i];
    x.bytes = (size_t)elements * 2;
    if (!allocate(p, &x, why, n)) return false;
    mx_kernel_tensor out[2] = {*codes, *scales};
    out[0].name = "q", out[1].name = "scale";
    const mx_kernel_call call = {.op = maker,
                                 .n_in = 1,
                                 .n_out = 2,
                                 .in = &x,
                                 .out = out,
                                 .alpha = 1,
                                 .message = why,
                                 .message_size = n};
    bool good = !p->device->timer->fill(x.data, "bf16", elements, seed) &&
                maker->run(&call) == MX_KERNEL_DONE && !p->device->library->synchronize();
    if (!good && !*why) snprintf(why, n, "%s failed to make inputs", maker->name);
    p->device->library->release(x.data);
    return good;
}

static bool fill_offsets(bench_problem *p, mx_kernel_tensor *t, const bench_size *s)
{
    int64_t *offsets = calloc((size_t)s->groups + 1, sizeof *offsets);
    for (int64_t g = 0; offsets && g <= s->groups; g++)
        offsets[g] = s->rows / s->groups * g;
    bool good = offsets && !p->device->library->upload(t->data, offsets, t->bytes);
    free(offsets);
    return good;
}

static bool fill_inputs(bench_problem *p, const mx_kernel_op *op, mx_kernel_tensor *in, const operation *o,
                        uint32_t n_in, uint32_t set, const bench_size *size, char *why, size_t n)
{
    for (uint32_t i = 0; i < n_in; i++) {
        const role *r = o->in;
        while (strcmp(r->name, in[i].name))
            r++;
        if (r->part == PART_PLAIN && !fill_offsets(p, &in[i], size)) return false;
        if (r->part == PART_SOURCE &&
            p->device->timer->fill(in[i].data, in[i].dtype, (int64_t)(in[i].bytes / 2), set * 16 + i + 1))
            return false;
        if (r->part == PART_CODES && !make_codes(p, op, &in[i], &in[i + 1], set * 16 + i + 1, why, n))
            return false;
    }
    return true;
}

/* The roles that take part: optional ones but for the offsets of a grouped product are left out. */
static bool add_all(bench_problem *p, const mx_kernel_op *op, const role *roles, const bench_size *size,
                    mx_kernel_tensor *to, uint32_t *count, char *why, size_t n)
{
    for (const role *r = roles; r->name; r++) {
        if (r->optional) continue;
        if (!describe(&to[*count], op, r, size)) return snprintf(why, n, "unknown recipe or layout"), false;
        if (!allocate(p, &to[(*count)++], why, n)) return false;
    }
    return true;
}

static bool make_set(bench_problem *p, uint32_t set, const mx_kernel_op *op, const operation *o,
                     const bench_size *size, char *why, size_t n)
{
    mx_kernel_call *c = &p->calls[set];
    *c = (mx_kernel_call){.op = op, .in = p->in[set], .out = p->out[set], .alpha = 1};
    p->n_calls = set + 1;
    return add_all(p, op, o->in, size, p->in[set], &c->n_in, why, n) &&
           add_all(p, op, o->out, size, p->out[set], &c->n_out, why, n) &&
           fill_inputs(p, op, p->in[set], o, c->n_in, set, size, why, n);
}

bool bench_problem_make(bench_problem *p, const bench_device *device, const mx_kernel_op *op,
                        const bench_size *size, char *why, size_t n)
{
    const operation *o = operation_find(op->operation);
    *p = (bench_problem){.device = device};
    if (!o) return snprintf(why, n, "unknown operation %s", op->operation), false;
    uint32_t sets = 1;
    for (uint32_t set = 0; set < sets; set++) {
        if (!make_set(p, set, op, o, size, why, n)) {
            if (!*why) snprintf(why, n, "inputs of %s could not be made", op->name);
            bench_problem_free(p);
            return false;
        }
        if (set) continue;
        for (uint32_t i = 0; i < p->calls[0].n_in; i++)
            p->bytes += (double)p->in[0][i].bytes;
        for (uint32_t i = 0; i < p->calls[0].n_out; i++)
            p->bytes += (double)p->out[0][i].bytes;
        while (sets < BENCH_SETS && sets * p->bytes < FAR_LARGER_THAN_A_CACHE)
            sets++;
    }
    return true;
}

void bench_problem_free(bench_problem *p)
{
    for (uint32_t set = 0; set < p->n_calls; set++)
        for (uint32_t i = 0; i < BENCH_TENSORS; i++) {
            if (p->in[set][i].data) p->device->library->release(p->in[set][i].data);
            if (p->out[set][i].data) p->device->library->release(p->out[set][i].data);
        }
    *p = (bench_problem){0};
}
