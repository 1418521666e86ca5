/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden casts. Random inputs do not see rounding faults: of all fp32 patterns, a handful sits on ties. So
 * every tie, its fp32 neighbours, every code, both ends of the subnormal range and the overflow edges are
 * listed; and for 16-bit inputs simply everything. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

typedef struct values {
    float *v;
    size_t n, room;
} values;

static void push(values *l, float x)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->v = realloc(l->v, l->room * sizeof *l->v);
        if (!l->v) abort();
    }
    l->v[l->n++] = x;
}

/* x, its two fp32 neighbours on each side, and the same of -x. */
static void push_around(values *l, double x)
{
    float f = (float)x, below = nextafterf(f, 0), above = nextafterf(f, INFINITY);
    float all[] = {nextafterf(below, 0), below, f, above, nextafterf(above, INFINITY)};
    for (int i = 0; i < 5; i++) {
        push(l, all[i]);
        push(l, -all[i]);
    }
}

/* Every boundary of format f: codes, midpoints, half the smallest value, the two overflow thresholds. */
static void boundaries(const mx_format *f, values *l)
{
    push_around(l, mx_format_tiny(f) / 2);
    push_around(l, mx_format_tiny(f) / 4);
    for (uint32_t code = 0; code < f->max_code; code++) {
        double a = mx_decode(f, code), b = mx_decode(f, code + 1);
        push_around(l, a);
        push_around(l, (a + b) / 2);
    }
    double top = mx_format_max(f), step = top - mx_decode(f, f->max_code - 1);
    push_around(l, top);
    push_around(l, top + step / 2); /* where non-saturating modes leave the format */
    push_around(l, top + step);
    push_around(l, 2 * top);
}

static void push_specials(values *l)
{
    static const uint32_t bits[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000,
                                    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000,
                                    0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        float x;
        memcpy(&x, &bits[i], 4);
        push(l, x);
    }
}

static void cast_f32(gen *g, const char *recipe)
{
    const mx_recipe *r = mx_recipe_find(recipe);
    if (!r) {
        g->status = mx_fail(g->error, MX_BAD_USAGE, recipe, "no such cast");
        return;
    }
    const mx_format *f = mx_recipe_element(r);
    values l = {0};
    boundaries(f, &l);
    push_specials(&l);
    mx_case *c = gen_case(
        g, "cast", recipe,
        "midpoint,midpoint-neighbour,all-codes,subnormal,top-binade,overflow-edge,signed-zero,nan,inf",
        "every code and midpoint of the format with its fp32 neighbours, overflow edges, specials",
        "cast:%s:f32", recipe);
    char tensor[96];
    snprintf(tensor, sizeof tensor, "boundaries/%s", f->name);
    mx_tensor *x = gen_input(g, c, "x", tensor, "f32", 1, (int64_t)l.n);
    if (x) memcpy(x->data, l.v, l.n * sizeof *l.v);
    free(l.v);
    gen_answer(g, c);
}

static void cast_all_16(gen *g, const char *recipe, const char *dtype)
{
    mx_case *c = gen_case(g, "cast", recipe, "midpoint,all-codes,subnormal,overflow-edge,signed-zero,nan,inf",
                          "all 65536 inputs of a 16-bit type", "cast:%s:%s", recipe, dtype);
    char tensor[96];
    snprintf(tensor, sizeof tensor, "all/%s", dtype);
    mx_tensor *x = gen_input(g, c, "x", tensor, dtype, 1, 65536);
    for (int i = 0; x && i < 65536; i++)
        ((uint16_t *)(void *)x->data)[i] = (uint16_t)i;
    gen_answer(g, c);
}

/* What CUDA's conversions and the other stacks do, and each plain rounding of the MX formats. */
static const char *const f32_casts[] = {
    "cast-e4m3-cuda-sat",    "cast-e4m3-cuda-nosat",  "cast-e4m3-mldtypes", "cast-e5m2-cuda-sat",
    "cast-e5m2-cuda-nosat",  "cast-e2m1-cuda",        "cast-e2m3-cuda",     "cast-e3m2-cuda",
    "cast-e8m0-cuda-rp-sat", "cast-e8m0-cuda-rz-sat", "cast-int8-rne-sat",  "cast-e4m3fnuz-rne-sat",
    "cast-e5m2fnuz-rne-sat", "cast-e4m3-rna-sat",     "cast-e4m3-rtz-sat",  "cast-e4m3-rup-sat",
    "cast-e4m3-rdn-sat",     "cast-e4m3-rnz-sat",     "cast-e2m1-rna-sat",  "cast-e2m1-rtz-sat",
};

static const struct {
    const char *recipe, *dtype;
} whole_casts[] = {
    {"cast-e4m3-cuda-sat", "bf16"}, {"cast-e4m3-cuda-sat", "f16"}, {"cast-e5m2-cuda-sat", "bf16"},
    {"cast-e5m2-cuda-sat", "f16"},  {"cast-e2m1-cuda", "bf16"},    {"cast-e4m3-cuda-nosat", "bf16"},
};

void gen_cast(gen *g)
{
    for (size_t i = 0; i < sizeof f32_casts / sizeof *f32_casts; i++)
        cast_f32(g, f32_casts[i]);
    for (size_t i = 0; i < sizeof whole_casts / sizeof *whole_casts; i++)
        cast_all_16(g, whole_casts[i].recipe, whole_casts[i].dtype);
}
