/* SPDX-License-Identifier: Apache-2.0 */
#include "prove.h"

#include <stdio.h>
#include <string.h>

#include "random.h"
#include "recipe.h"

enum { ELEMENTS = 1 << 23 }; /* of one part */

static int64_t block_elements(const mx_recipe *r, int64_t *rows, int64_t *cols)
{
    *rows = *cols = 1;
    if (r->scale) mx_recipe_block(r, 256, 256, rows, cols);
    return *rows * *cols;
}

mx_status prove_domain_make(const char *operation, const char *recipe, const char *input, prove_domain *d,
                            mx_error *e)
{
    *d = (prove_domain){mx_recipe_find(recipe), mx_format_find(input), 0, 0, 0};
    if (!d->recipe) return mx_fail(e, MX_BAD_USAGE, recipe, "no such recipe");
    if (!d->input || d->input->kind != MX_KIND_FLOAT || (d->input->bits != 16 && d->input->bits != 32))
        return mx_fail(e, MX_UNSUPPORTED, input, "inputs of bf16, f16 and f32 can be exhausted");
    if (strcmp(operation, d->recipe->scale ? "quantize" : "cast"))
        return mx_fail(e, MX_UNSUPPORTED, operation, "only casts and quantisers have a domain to exhaust");
    if (d->recipe->scale && (!d->recipe->block_rows || !d->recipe->block_cols))
        return mx_fail(e, MX_UNSUPPORTED, recipe, "its blocks are as large as the tensor");
    if (mx_recipe_has_global(d->recipe) || d->recipe->hadamard)
        return mx_fail(e, MX_UNSUPPORTED, recipe, "a block's bytes depend on more than the block");
    int64_t rows, cols;
    d->patterns = (int64_t)1 << d->input->bits;
    d->per_part = ELEMENTS / block_elements(d->recipe, &rows, &cols);
    if (d->per_part > d->patterns) d->per_part = d->patterns;
    d->parts = (d->patterns + d->per_part - 1) / d->per_part;
    return MX_OK;
}

/* A pattern no larger in magnitude than `top`: up to 16 binades below, of either sign. A special top stands
 * among values around 1. */
static uint32_t companion(const mx_format *f, uint32_t top, uint32_t draw)
{
    uint32_t sign = (uint32_t)1 << (f->bits - 1), magnitude = top & (sign - 1);
    uint32_t one = (uint32_t)f->bias << f->man_bits;
    if (magnitude >= f->inf_code) magnitude = one;
    uint32_t reach = (uint32_t)16 << f->man_bits;
    uint32_t below = draw % (magnitude < reach ? magnitude + 1 : reach);
    return (magnitude - below) | (draw & 0x80000000u ? sign : 0);
}

static void put(mx_tensor *x, int64_t at, const mx_format *f, uint32_t bits)
{
    if (f->bits == 16)
        ((uint16_t *)(void *)x->data)[at] = (uint16_t)bits;
    else
        ((uint32_t *)(void *)x->data)[at] = bits;
}

static void fill(const prove_domain *d, int64_t first, int64_t n, mx_tensor *x)
{
    int64_t rows, cols, size = block_elements(d->recipe, &rows, &cols), across = rows > 1 ? n : 1;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < n; b++) {
        uint32_t top = (uint32_t)(first + b);
        int64_t row0 = rows > 1 ? 0 : b, col0 = rows > 1 ? b * cols : 0;
        for (int64_t i = 0; i < size; i++) {
            uint32_t draw = size > 1 ? mx_random_u32(17, top, (uint64_t)i) : 0;
            put(x, (row0 + i / cols) * across * cols + col0 + i % cols, d->input,
                i == top % size ? top : companion(d->input, top, draw));
        }
    }
}

mx_status prove_case(const prove_domain *d, int64_t part, mx_case *c, mx_error *e)
{
    memset(c, 0, sizeof *c);
    int64_t first = part * d->per_part,
            n = d->patterns - first < d->per_part ? d->patterns - first : d->per_part;
    int64_t rows, cols;
    block_elements(d->recipe, &rows, &cols);
    snprintf(c->id, sizeof c->id, "prove:%s:%s:%lld", d->recipe->name, d->input->name, (long long)part);
    snprintf(c->operation, sizeof c->operation, "%s", d->recipe->scale ? "quantize" : "cast");
    snprintf(c->recipe, sizeof c->recipe, "%s", d->recipe->name);
    snprintf(c->flags, sizeof c->flags, "all-codes");
    snprintf(c->reason, sizeof c->reason, "%s patterns %08llX to %08llX%s", d->input->name,
             (unsigned long long)first, (unsigned long long)(first + n - 1),
             d->recipe->scale ? ", each as the largest of a block" : "");
    snprintf(c->generator, sizeof c->generator, "mxcheck prove 1");
    c->alpha = 1;
    int64_t shape[2] = {rows > 1 ? rows : n, rows > 1 ? n * cols : cols};
    if (!d->recipe->scale) {
        shape[0] = 1;
        shape[1] = n;
    }
    mx_status s = mx_tensor_make(&c->in[0], "x", d->input->name, 2, shape, e);
    if (s) return s;
    c->n_in = 1;
    fill(d, first, n, &c->in[0]);
    return MX_OK;
}

void prove_case_free(mx_case *c)
{
    if (c->n_in) mx_tensor_free(&c->in[0]);
    c->n_in = 0;
}
