/* SPDX-License-Identifier: Apache-2.0
 *
 * The emulator's fast path as a kernel under test: build/mxcheck-cpu.so. It is judged like any other, by
 * vectors that the scalar code made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mx.h"
#include "mx_kernel.h"
#include "swiglu.h"

enum { MAX_OPS = 64, NAME = 96 };

static mx_kernel_op ops[MAX_OPS];
static char names[MAX_OPS][NAME];
static uint32_t n_ops;

static const mx_kernel_tensor *find(const mx_kernel_tensor *t, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(t[i].name, name)) return &t[i];
    return NULL;
}

static const mx_kernel_tensor *input(const mx_kernel_call *c, const char *name)
{
    return find(c->in, c->n_in, name);
}
static const mx_kernel_tensor *output(const mx_kernel_call *c, const char *name)
{
    return find(c->out, c->n_out, name);
}

static int answer(const mx_kernel_call *c, mx_status status, const mx_error *e)
{
    if (status == MX_OK) return MX_KERNEL_DONE;
    snprintf(c->message, c->message_size, "%s", e->message);
    return status == MX_UNSUPPORTED ? MX_KERNEL_REFUSED : MX_KERNEL_FAILED;
}

/* A vector is a matrix of one row. */
static mx_matrix matrix_of(const mx_kernel_tensor *t)
{
    return (mx_matrix){.format = mx_format_find(t->dtype),
                       .data = t->data,
                       .rows = t->rank == 2 ? t->shape[0] : 1,
                       .cols = t->rank ? t->shape[t->rank - 1] : 1,
                       .pitch = t->pitch};
}

/* Canonical scales or codes go straight into a row-major buffer, else through a buffer of their own. */
typedef struct placed {
    const mx_layout *layout;
    mx_grid grid;
    void *canonical, *target;
    int bits;
    bool owned;
    const mx_layout *turn;
} placed;

/* `turn`: the layout is that of the transposed grid. */
static bool place_begin(placed *p, const char *layout, bool scales, int bits, bool turn, int64_t rows,
                        int64_t cols, void *target)
{
    *p = (placed){.grid = {.rows = rows, .cols = cols}, .canonical = target, .target = target, .bits = bits};
    p->turn = turn ? mx_layout_find_for("transposed", scales, bits) : NULL;
    if (!layout && !turn) return true;
    p->layout = layout ? mx_layout_find_for(layout, scales, bits) : NULL;
    p->canonical = malloc((size_t)(rows * cols) * (bits == 32 ? 4 : 1) + 1);
    p->owned = true;
    return (p->layout || !layout) && p->canonical;
}

static mx_status turn(placed *p, mx_error *e)
{
    size_t bytes = (size_t)(p->grid.rows * p->grid.cols) * (p->bits == 32 ? 4 : 1);
    void *turned = malloc(bytes + 1);
    if (!turned) return mx_fail(e, MX_NO_MEMORY, "", "out of memory");
    mx_status status = mx_layout_pack(p->turn, &p->grid, p->canonical, turned, e);
    free(p->canonical);
    p->canonical = turned;
    p->grid = (mx_grid){.rows = p->grid.cols, .cols = p->grid.rows};
    if (status == MX_OK && !p->layout) memcpy(p->target, turned, bytes);
    return status;
}

static mx_status place_end(placed *p, mx_status status, mx_error *e)
{
    if (p->turn && status == MX_OK) status = turn(p, e);
    if (p->layout && status == MX_OK)
        status = mx_layout_pack(p->layout, &p->grid, p->canonical, p->target, e);
    if (p->owned) free(p->canonical);
    return status;
}

/* One direction: codes and scales of x into the named outputs. */
static mx_status quantize_into(const mx_kernel_call *c, const mx_recipe *r, const mx_matrix *x,
                               const char *q_name, const char *scale_name, mx_error *e)
{
    const mx_kernel_tensor *q = output(c, q_name), *scale = output(c, scale_name),
                           *global = output(c, "global");
    const mx_kernel_tensor *amax = input(c, "global_amax");
    int64_t grid_rows, grid_cols;
    mx_scale_grid(r, x->rows, x->cols, &grid_rows, &grid_cols);
    placed codes, scales = {.owned = false};
    bool columnwise = !strcmp(q_name, "qt");
    const char *layout = columnwise ? c->op->data_layout_t : c->op->data_layout;
    const char *scale_layout = columnwise ? c->op->scale_layout_t : c->op->scale_layout;
    bool turned = layout && !strcmp(layout, "transposed");
    bool ok = place_begin(&codes, turned ? NULL : layout, false, 8, turned, x->rows, x->cols, q->data);
    if (scale)
        ok &= place_begin(&scales, scale_layout, true, mx_recipe_scale(r)->bits == 32 ? 32 : 8, turned,
                          grid_rows, grid_cols, scale->data);
    mx_quantized out = {.codes = codes.canonical, .scales = scales.canonical};
    mx_quantize_options options = {.global_amax = amax ? amax->data : NULL, .seed = c->seed};
    mx_status status =
        ok ? mx_quantize(r, x, &options, &out, e) : mx_fail(e, MX_NO_MEMORY, "", "out of memory");
    status = place_end(&codes, status, e);
    status = place_end(&scales, status, e);
    if (global && status == MX_OK && !strcmp(q_name, "q"))
        memcpy(global->data, &out.global, sizeof out.global);
    return status;
}

static int run_quantize(const mx_kernel_call *c)
{
    mx_error e = {MX_OK, "", ""};
    const mx_recipe *r = mx_recipe_find(c->recipe);
    if (!r) return answer(c, mx_fail(&e, MX_UNSUPPORTED, "", "no recipe '%s'", c->recipe), &e);
    mx_matrix x = matrix_of(input(c, "x"));
    return answer(c, quantize_into(c, r, &x, "q", "scale", &e), &e);
}

static int run_both(const mx_kernel_call *c)
{
    mx_error e = {MX_OK, "", ""};
    const mx_recipe *r = mx_recipe_find(c->recipe);
    if (!r || !mx_recipe_columnwise(r))
        return answer(c, mx_fail(&e, MX_UNSUPPORTED, "", "no columnwise twin of '%s'", c->recipe), &e);
    mx_matrix x = matrix_of(input(c, "x"));
    mx_status status = quantize_into(c, r, &x, "q", "scale", &e);
    if (status == MX_OK) status = quantize_into(c, mx_recipe_columnwise(r), &x, "qt", "scalet", &e);
    return answer(c, status, &e);
}

/* ---- fused activations: computed, rounded to the type of the inputs, then quantised -------------------- */

static float value_at(const mx_kernel_tensor *t, const mx_format *f, int64_t i)
{
    uint32_t bits = 0;
    memcpy(&bits, (const char *)t->data + i * f->bits / 8, (size_t)f->bits / 8);
    return (float)mx_decode(f, bits);
}

static float rounded(const mx_format *f, float y)
{
    static const mx_cast cast = {MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};
    return (float)mx_decode(f, mx_encode(f, (double)y, &cast, 0));
}

/* The activation of gate and up, or with dy its gradient [dgate | dup]: the width of a row is returned. */
static int64_t activation(const mx_kernel_call *c, float *y)
{
    const mx_kernel_tensor *gate = input(c, "gate"), *up = input(c, "up"), *dy = input(c, "dy");
    const mx_format *f = mx_format_find(gate->dtype);
    int64_t rows = gate->shape[0], cols = gate->shape[1], width = dy ? 2 * cols : cols;
    for (int64_t i = 0; y && i < rows * cols; i++) {
        int64_t r = i / cols, k = i % cols;
        float g = value_at(gate, f, r * gate->pitch + k), u = value_at(up, f, r * up->pitch + k), dgate, dup;
        if (!dy) {
            y[i] = rounded(f, mx_swiglu(g, u));
            continue;
        }
        mx_swiglu_grad(g, u, value_at(dy, f, r * dy->pitch + k), &dgate, &dup);
        y[r * width + k] = rounded(f, dgate);
        y[r * width + cols + k] = rounded(f, dup);
    }
    return width;
}

static int run_swiglu(const mx_kernel_call *c)
{
    mx_error e = {MX_OK, "", ""};
    const mx_recipe *r = mx_recipe_find(c->recipe), *t = r ? mx_recipe_columnwise(r) : NULL;
    bool both = output(c, "qt") != NULL;
    if (!r || (both && !t))
        return answer(c, mx_fail(&e, MX_UNSUPPORTED, "", "no recipe '%s'", c->recipe), &e);
    int64_t rows = input(c, "gate")->shape[0], width = activation(c, NULL);
    float *y = malloc((size_t)(rows * width) * sizeof *y + 1);
    if (!y) return answer(c, mx_fail(&e, MX_NO_MEMORY, "", "out of memory"), &e);
    activation(c, y);
    mx_matrix x = {mx_format_find("f32"), y, rows, width, width};
    mx_status status = quantize_into(c, r, &x, "q", "scale", &e);
    if (status == MX_OK && both) status = quantize_into(c, t, &x, "qt", "scalet", &e);
    free(y);
    return answer(c, status, &e);
}

static int run_dequantize(const mx_kernel_call *c)
{
    mx_error e = {MX_OK, "", ""};
    const mx_kernel_tensor *q = input(c, "q"), *scale = input(c, "scale"), *global = input(c, "global");
    const mx_kernel_tensor *y = output(c, "y");
    const mx_recipe *r = mx_recipe_find(c->recipe);
    if (!r) return answer(c, mx_fail(&e, MX_UNSUPPORTED, "", "no recipe '%s'", c->recipe), &e);
    mx_quantized in = {.codes = q->data, .scales = scale->data, .global = 1};
    if (global) memcpy(&in.global, global->data, sizeof in.global);
    mx_status status =
        mx_dequantize(r, &in, y->shape[0], y->shape[1], mx_format_find(y->dtype), y->data, y->pitch, &e);
    return answer(c, status, &e);
}

static int run_place(const mx_kernel_call *c)
{
    mx_error e = {MX_OK, "", ""};
    const mx_kernel_tensor *grid = input(c, "grid"), *offsets = input(c, "offsets"),
                           *packed = output(c, "packed");
    const char *name = c->op->scale_layout ? c->op->scale_layout : c->op->data_layout;
    const mx_layout *l =
        mx_layout_find_for(name, c->op->scale_layout != NULL, strcmp(grid->dtype, "u32") ? 8 : 32);
    if (!l) return answer(c, mx_fail(&e, MX_UNSUPPORTED, "", "no layout '%s' for %s", name, grid->dtype), &e);
    mx_grid g = {.rows = grid->shape[0], .cols = grid->shape[1]};
    if (offsets) {
        g.groups = offsets->data;
        g.n_groups = offsets->shape[0] - 1;
    }
    return answer(c, mx_layout_pack(l, &g, grid->data, packed->data, &e), &e);
}

/* ---- operations: any recipe, and every layout ---------------------------------------------------------- */

static mx_kernel_op *add(const char *operation, const char *detail, mx_kernel_run run)
{
    snprintf(names[n_ops], NAME, "%s%s%s", operation, *detail ? "-" : "", detail);
    ops[n_ops] = (mx_kernel_op){
        .name = names[n_ops], .operation = operation, .recipe = "*", .inputs = "f32,bf16,f16", .run = run};
    return &ops[n_ops++];
}

static void add_dequantize(const char *to) { add("dequantize", to, run_dequantize)->output = to; }

/* The layouts that tensor cores read. */
static void add_tiled(const char *recipe, const char *data_layout)
{
    mx_kernel_op *op = add("quantize", recipe, run_quantize);
    op->recipe = recipe;
    op->data_layout = data_layout;
    op->scale_layout = "tile-128x4";
}

static void add_place(const mx_layout *l, bool scales)
{
    for (uint32_t i = 0; i < n_ops; i++) { /* rows of one name are one operation */
        const char *name = scales ? ops[i].scale_layout : ops[i].data_layout;
        if (!strcmp(ops[i].operation, "place") && name && !strcmp(name, l->name)) return;
    }
    mx_kernel_op *op = add(scales ? "place-scales" : "place-codes", l->name, run_place);
    op->operation = "place";
    op->recipe = "";
    op->inputs = NULL;
    if (scales)
        op->scale_layout = l->name;
    else
        op->data_layout = l->name;
}

const mx_kernel_library *mx_kernel_describe(void)
{
    static mx_kernel_library library = {
        .abi = MX_KERNEL_ABI, .name = "CPU fast path", .version = MX_VERSION, .ops = ops};
    if (n_ops) return &library;
    add("cast", "", run_quantize);
    add("quantize", "", run_quantize);
    add("quantize-both", "", run_both);
    mx_kernel_op *turned = add("quantize-both", "transposed", run_both);
    turned->data_layout_t = "transposed";
    mx_kernel_op *tiled = add("quantize-both", "transposed-tile-128x4", run_both);
    tiled->data_layout_t = "transposed";
    tiled->scale_layout = tiled->scale_layout_t = "tile-128x4";
    tiled->recipe = "mxfp8";
    add("swiglu-quantize", "", run_swiglu);
    add("swiglu-quantize-both", "", run_swiglu);
    add("swiglu-grad-quantize", "", run_swiglu);
    add_dequantize("f32");
    add_dequantize("bf16");
    add_dequantize("f16");
    add_tiled("mxfp8", NULL);
    add_tiled("mxfp4", "fp4-low-first");
    add_tiled("nvfp4-te", "fp4-low-first");
    for (size_t i = 0; i < mx_layout_count() && n_ops + 2 < MAX_OPS; i++) {
        if (mx_layout_at(i)->for_scales) add_place(mx_layout_at(i), true);
        if (mx_layout_at(i)->for_codes) add_place(mx_layout_at(i), false);
    }
    library.n_ops = n_ops;
    return &library;
}
