/* SPDX-License-Identifier: Apache-2.0
 * Making cases: the plumbing that the gen_*.c files share. */
#include "generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate.h"

const gen_file gen_files[] = {
    {"cast.safetensors", gen_cast},       {"scales.safetensors", gen_scales},
    {"special.safetensors", gen_special}, {"shapes.safetensors", gen_shapes},
    {"data.safetensors", gen_data},       {"decode.safetensors", gen_decode},
    {"layouts.safetensors", gen_layouts}, {"bugs.safetensors", gen_bugs},
    {"fused.safetensors", gen_fused},     {"products.safetensors", gen_products},
    {"noise.safetensors", gen_noise},
};
const size_t gen_file_count = sizeof gen_files / sizeof *gen_files;

void gen_init(gen *g, mx_error *error)
{
    memset(g, 0, sizeof *g);
    g->error = error;
}

void gen_free(gen *g)
{
    for (size_t i = 0; i < g->n; i++) {
        for (int k = 0; k < g->cases[i].n_in; k++)
            mx_tensor_free(&g->cases[i].in[k]);
        for (int k = 0; k < g->cases[i].n_want; k++)
            mx_tensor_free(&g->cases[i].want[k]);
    }
    free(g->cases);
    memset(g, 0, sizeof *g);
}

static void copy_text(gen *g, char *to, size_t size, const char *text)
{
    if (strlen(text) >= size && !g->status)
        g->status = mx_fail(g->error, MX_BAD_USAGE, text, "text too long");
    snprintf(to, size, "%s", text);
}

mx_case *gen_case(gen *g, const char *operation, const char *recipe, const char *flags, const char *reason,
                  const char *id_format, ...)
{
    if (g->status) return NULL;
    if (g->n == g->room) {
        size_t room = g->room ? 2 * g->room : 32;
        mx_case *cases = realloc(g->cases, room * sizeof *cases);
        if (!cases) {
            g->status = mx_fail(g->error, MX_NO_MEMORY, operation, "out of memory");
            return NULL;
        }
        g->cases = cases;
        g->room = room;
    }
    mx_case *c = &g->cases[g->n++];
    memset(c, 0, sizeof *c);
    c->alpha = 1;
    va_list args;
    va_start(args, id_format);
    vsnprintf(c->id, sizeof c->id, id_format, args);
    va_end(args);
    copy_text(g, c->operation, sizeof c->operation, operation);
    copy_text(g, c->recipe, sizeof c->recipe, recipe);
    copy_text(g, c->flags, sizeof c->flags, flags);
    copy_text(g, c->reason, sizeof c->reason, reason);
    copy_text(g, c->generator, sizeof c->generator, "mxcheck generate 1");
    return c;
}

mx_tensor *gen_input(gen *g, mx_case *c, const char *role, const char *tensor, const char *dtype,
                     int64_t rows, int64_t cols)
{
    if (g->status || !c) return NULL;
    int64_t shape[2] = {rows, cols};
    mx_tensor *t = &c->in[c->n_in];
    g->status = mx_tensor_make(t, role, dtype, 2, shape, g->error);
    if (g->status) return NULL;
    c->n_in++;
    copy_text(g, t->stored, sizeof t->stored, tensor);
    return t;
}

void gen_set_value(mx_tensor *t, int64_t i, double value)
{
    static const mx_cast cast = {MX_RNE, MX_OVERFLOW, MX_NAN_SIGNED, {-1, -1}, false, 0};
    const mx_format *f = mx_format_find(t->dtype);
    uint32_t code = mx_encode(f, value, &cast, 0);
    if (f->bits == 32)
        ((uint32_t *)(void *)t->data)[i] = code;
    else if (f->bits == 16)
        ((uint16_t *)(void *)t->data)[i] = (uint16_t)code;
    else
        t->data[i] = (uint8_t)code;
}

void gen_set_bits(mx_tensor *t, int64_t i, uint32_t f32_bits)
{
    if (!strcmp(t->dtype, "f32")) { /* NaN payloads included */
        memcpy(t->data + 4 * i, &f32_bits, 4);
        return;
    }
    gen_set_value(t, i, mx_decode(mx_format_find("f32"), f32_bits));
}

void gen_answer(gen *g, mx_case *c)
{
    if (g->status || !c) return;
    g->status = emulate_case(c, c->want, &c->n_want, g->error);
}
