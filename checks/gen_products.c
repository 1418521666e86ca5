/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden products. Only operands are stored: the outputs follow from the model and schedule that a kernel
 * claims. Most operands are chosen such that no order and no known unit can lose anything (emu/bound.h,
 * mx_bound_certified): then the answer is one number for every kernel, and the case says "exact". */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bound.h"
#include "generate.h"
#include "product.h"
#include "random.h"
#include "recipe.h"

/* One operand: the value of element (row, lane), and the scale of (row, block) as a power of two. */
typedef struct fill {
    const char *name;
    double (*value)(int64_t row, int64_t lane, bool is_a);
    int (*scale)(int64_t row, int64_t block, bool is_a);
} fill;

static uint32_t draw(int64_t row, int64_t lane, bool is_a)
{
    return mx_random_u32(2026, is_a, (uint64_t)(row * 65536 + lane));
}

static double value_zero(int64_t row, int64_t lane, bool is_a)
{
    return (void)row, (void)lane, (void)is_a, 0;
}
static double value_one(int64_t row, int64_t lane, bool is_a) { return (void)row, (void)lane, (void)is_a, 1; }

/* a has two lanes in each 16, b is 1 or -1: T stays below 2^14 quanta at six binades of scale each. */
static double value_sparse(int64_t row, int64_t lane, bool is_a)
{
    int64_t at = lane % 16, block = lane / 16;
    if (is_a && at != (row + 5 * block) % 16 && at != (3 * row + block + 7) % 16) return 0;
    return draw(row, lane, is_a) & 1 ? -1 : 1;
}

static double value_integer(int64_t row, int64_t lane, bool is_a) { return draw(row, lane, is_a) % 13 - 6.0; }

static double value_half(int64_t row, int64_t lane, bool is_a)
{
    static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    uint32_t r = draw(row, lane, is_a);
    return (r & 8 ? -1 : 1) * e2m1[r & 7];
}

static double value_normal(int64_t row, int64_t lane, bool is_a)
{
    return 16 * mx_random_normal(2027, is_a, (uint64_t)(row * 65536 + lane));
}

/* Magnitudes over the whole range of the format. */
static double value_wide(int64_t row, int64_t lane, bool is_a)
{
    uint32_t r = draw(row, lane, is_a);
    return (r & 1 ? -1 : 1) * (1 + (r >> 1 & 7) / 8.0) * ldexp(1, (int)(r >> 8) % 18 - 9);
}

static double value_zero_rows(int64_t row, int64_t lane, bool is_a)
{
    if (row % 3 == 1) return is_a && row % 2 ? -0.0 : 0;
    return value_integer(row, lane, is_a);
}

/* A different exponent for each of six blocks in sequence, and for neighbouring rows. */
static int scale_blocks(int64_t row, int64_t block, bool is_a)
{
    static const int order[] = {0, 3, 1, 4, 2, 5};
    return (order[(block + (is_a ? 0 : 2)) % 6] + (int)(row % 6)) % 6 + (int)(row / 6 % 5) - 3;
}

/* Three binades: deep products stay below 2^14 quanta. */
static int scale_few(int64_t row, int64_t block, bool is_a) { return (int)(draw(row, block, is_a) % 3); }

static int scale_one(int64_t row, int64_t block, bool is_a) { return (void)row, (void)block, (void)is_a, 0; }

/* One scale is 2: of a, of b, or one of each. */
static int scale_hot_a(int64_t row, int64_t block, bool is_a) { return is_a && row == 2 && block == 1; }
static int scale_hot_b(int64_t row, int64_t block, bool is_a) { return !is_a && row == 3 && block == 1; }
static int scale_hot_last(int64_t row, int64_t block, bool is_a)
{
    return is_a ? 3 * (row == 0 && block == 0) : 2 * (row == 1 && block == 3);
}

static int scale_normal(int64_t row, int64_t block, bool is_a)
{
    return (int)(draw(row, block, is_a) % 9) - 4;
}

static int scale_far(int64_t row, int64_t block, bool is_a)
{
    (void)block;
    return (is_a ? -1 : 1) * (60 + (int)(row % 40));
}

/* bug-B82: the second block of each operand weighs 8 in all. */
static int scale_b82(int64_t row, int64_t block, bool is_a)
{
    return (void)row, is_a ? 0 : 3 * (int)(block % 2);
}
/* bug-B86: bands of rows and columns. */
static int scale_bands(int64_t row, int64_t block, bool is_a)
{
    return (void)block, is_a ? 1 + (int)(row / 128 % 2) : (int)(row / 64 % 2);
}

static const fill fills[] = {
    {"ones", value_one, scale_one},          {"zero", value_zero, scale_one},
    {"blocks", value_sparse, scale_blocks},  {"few", value_sparse, scale_few},
    {"hot-a", value_one, scale_hot_a},       {"hot-b", value_one, scale_hot_b},
    {"hot-both", value_one, scale_hot_last}, {"integers", value_integer, scale_one},
    {"halves", value_half, scale_blocks},    {"normal", value_normal, scale_normal},
    {"wide", value_wide, scale_normal},      {"zero-rows", value_zero_rows, scale_one},
    {"far", value_sparse, scale_far},        {"b82", value_one, scale_b82},
    {"bands", value_one, scale_bands},
};
enum { N_FILLS = sizeof fills / sizeof *fills };

static const fill *find_fill(const char *name)
{
    int i = 0;
    while (i + 1 < N_FILLS && strcmp(fills[i].name, name))
        i++;
    return &fills[i];
}

/* ---- one case ------------------------------------------------------------------------------------------ */

typedef struct shape {
    int64_t m, n, k;
    const char *groups; /* "0,5,5,6": offsets; "": not grouped */
} shape;

static void set_scale(mx_tensor *t, int64_t i, int exponent)
{
    const mx_format *f = mx_format_find(t->dtype);
    if (f->kind == MX_KIND_EXPONENT)
        t->data[i] = (uint8_t)(127 + exponent);
    else
        gen_set_value(t, i, ldexp(1, exponent));
}

/* Tensor and scales of one operand, the rows of all experts one after the other. */
static void make_operand(gen *g, mx_case *c, const fill *f, bool is_a, int64_t experts, int64_t rows,
                         int64_t k)
{
    const mx_recipe *r = mx_recipe_find(c->recipe);
    char tensor[96], scale[96];
    const char *name = is_a ? "a" : "b";
    int64_t all = rows * (experts ? experts : 1), block = r->block_cols, grid = k / block + (k % block != 0);
    snprintf(tensor, sizeof tensor, "products/%s/%s/%s/%lldx%lld", f->name, name, r->element->name,
             (long long)all, (long long)k);
    snprintf(scale, sizeof scale, "products/%s/%s_scale/%s%lld/%lldx%lld", f->name, name, r->scale->name,
             (long long)block, (long long)all, (long long)grid);
    mx_tensor *t = gen_input(g, c, name, tensor, r->element->name, all, k);
    char role[16];
    snprintf(role, sizeof role, "%s_scale", name);
    mx_tensor *s = t ? gen_input(g, c, role, scale, r->scale->name, all, grid) : NULL;
    if (!s) return;
    for (int64_t i = 0; i < all * k; i++)
        gen_set_value(t, i, f->value(i / k, i % k, is_a));
    for (int64_t i = 0; i < all * grid; i++)
        set_scale(s, i, f->scale(i / grid, i % grid, is_a));
    if (!experts) return;
    t->rank = s->rank = 3;
    t->shape[0] = s->shape[0] = experts;
    t->shape[1] = s->shape[1] = rows;
    t->shape[2] = k;
    s->shape[2] = grid;
    char shape3[96]; /* another shape of the same bytes is another tensor of the file */
    snprintf(shape3, sizeof shape3, "%.80s-%lld", t->stored, (long long)experts);
    memcpy(t->stored, shape3, sizeof shape3);
    snprintf(shape3, sizeof shape3, "%.80s-%lld", s->stored, (long long)experts);
    memcpy(s->stored, shape3, sizeof shape3);
}

static int64_t make_offsets(gen *g, mx_case *c, const char *groups)
{
    int64_t list[64], n = 0;
    for (const char *p = groups; *p && n < 64; p += strcspn(p, ","), p += *p == ',') {
        list[n] = 0;
        for (const char *q = p; *q >= '0' && *q <= '9'; q++)
            list[n] = 10 * list[n] + (*q - '0');
        n++;
    }
    char tensor[96];
    snprintf(tensor, sizeof tensor, "products/offsets/%.60s", groups);
    for (char *p = tensor; *p; p++)
        if (*p == ',') *p = '-';
    mx_tensor *t = gen_input(g, c, "offsets", tensor, "i64", 1, n);
    if (!t) return 0;
    t->rank = 1;
    t->shape[0] = n;
    memcpy(t->data, list, (size_t)n * sizeof *list);
    return n - 1;
}

static mx_case *make(gen *g, const char *topic, const char *operation, const char *recipe,
                     const char *fill_name, const char *flags, const char *reason, shape s)
{
    const fill *f = find_fill(fill_name);
    mx_case *c = gen_case(g, operation, recipe, flags, reason, "products:%s:%s:%s:%s:%lldx%lldx%lld%s%s",
                          topic, operation, recipe, f->name, (long long)s.m, (long long)s.n, (long long)s.k,
                          *s.groups ? ":" : "", s.groups);
    if (!c) return NULL;
    for (char *p = c->id; *p; p++)
        if (*p == ',') *p = '-';
    bool by_rows = *s.groups && strcmp(operation, "grouped-wgrad");
    make_operand(g, c, f, true, 0, s.m, s.k);
    int commas = 0;
    for (const char *p = s.groups; *p; p++)
        commas += *p == ',';
    make_operand(g, c, f, false, by_rows ? commas : 0, s.n, s.k);
    if (*s.groups) make_offsets(g, c, s.groups);
    return c;
}

/* The case is complete: exact if every output is certified. */
static void settle(gen *g, mx_case *c)
{
    product q;
    if (g->status || !c) return;
    bool exact = true;
    mx_status s = product_make(&q, c, "f32", g->error);
    mx_unit unit = {0};
    if (!s) unit = mx_unit_weakest(q.p.a.format, q.p.b.format);
    for (int64_t r = 0; r < q.rows && !s && exact; r++) {
        mx_product one;
        int64_t local;
        s = product_of_row(&q, r, &one, &local, g->error);
        for (int64_t i = 0; i < q.cols && !s && exact; i++) {
            mx_dot_facts f;
            mx_bound b;
            s = mx_bound_product(&one, &unit, local, i, &b, &f, g->error);
            exact = mx_bound_certified(&unit, &f, &b);
        }
    }
    c->verdict = exact ? MX_VERDICT_EXACT : MX_VERDICT_BOUND;
    product_free(&q);
    g->status = s;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static const int64_t sides[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
static const int64_t depths[] = {1,  2,  15, 16, 17, 31,  32,  33,  47,  48,  49,  63, 64,
                                 65, 80, 95, 96, 97, 112, 127, 128, 129, 160, 192, 255};
#define COUNT(x) (sizeof(x) / sizeof *(x))

static void sweeps(gen *g, const char *recipe)
{
    for (size_t i = 0; i < COUNT(sides); i++) {
        settle(g, make(g, "rows", "gemm", recipe, "blocks", "block-scales,row-prefix,odd-size",
                       "M from 1 to 129: each row as in the largest case", (shape){sides[i], 5, 64, ""}));
        settle(g, make(g, "columns", "gemm", recipe, "blocks", "block-scales,odd-size,bug-B56",
                       "N from 1 to 129, M of 3", (shape){3, sides[i], 64, ""}));
    }
    for (size_t i = 0; i < COUNT(depths); i++)
        settle(g, make(g, "depth", "gemm", recipe, "blocks", "block-scales,k-tail",
                       "K around every multiple of 16 and 32", (shape){5, 7, depths[i], ""}));
}

typedef struct row {
    const char *topic, *operation, *recipe, *fill, *flags, *reason;
    shape s;
} row;

#define FWD "grouped-forward"
#define DGR "grouped-dgrad"
#define WGR "grouped-wgrad"

static const row rows[] = {
    {"ones", "gemm", "mxfp8", "ones", "conservation", "ones count K", {33, 17, 160, ""}},
    {"ones", "gemm", "mxfp8", "ones", "conservation,split-k", "ones count K", {2, 3, 4096, ""}},
    {"ones", "gemm", "mxfp4", "ones", "conservation,bug-B109", "ones of 4 bits count K", {64, 64, 64, ""}},
    {"ones", "gemm", "nvfp4-te", "ones", "conservation", "ones of 4 bits count K", {5, 6, 80, ""}},
    {"one-hot",
     "gemm",
     "mxfp8",
     "hot-a",
     "one-hot-scale,bug-B76",
     "one scale of a is 2: a row",
     {5, 6, 128, ""}},
    {"one-hot", "gemm", "mxfp8", "hot-b", "one-hot-scale,bug-B76", "one of b: a column", {5, 6, 128, ""}},
    {"one-hot", "gemm", "mxfp8", "hot-both", "one-hot-scale,bug-B76", "one of each", {6, 5, 160, ""}},
    {"one-hot", "gemm", "mxfp4", "hot-a", "one-hot-scale", "one scale of a is 2: a row", {5, 6, 128, ""}},
    {"one-hot", "gemm", "mxfp4", "hot-b", "one-hot-scale", "one of b: a column", {5, 6, 128, ""}},
    {"split",
     "gemm",
     "mxfp8",
     "few",
     "block-scales,split-k,bug-B106",
     "deep and narrow: kernels that split K must agree with those that do not",
     {3, 4, 768, ""}},
    {"split",
     "gemm",
     "mxfp8",
     "normal",
     "split-k,bug-B106",
     "order of slices shows in the last bits",
     {2, 2, 2048, ""}},
    {"integers", "gemm", "mxfp8", "integers", "accumulation", "dense integers", {16, 16, 128, ""}},
    {"integers", "gemm", "mxfp8-e5m2", "integers", "accumulation", "dense integers", {16, 16, 128, ""}},
    {"halves", "gemm", "mxfp4", "halves", "block-scales", "every code of E2M1", {17, 9, 96, ""}},
    {"halves", "gemm", "nvfp4-te", "halves", "block-scales", "every code of E2M1", {17, 9, 80, ""}},
    {"normal", "gemm", "mxfp8", "normal", "realistic-normal,accumulation", "normal data", {33, 17, 192, ""}},
    {"normal",
     "gemm",
     "mxfp8-e5m2",
     "normal",
     "realistic-normal,accumulation",
     "normal data",
     {17, 9, 160, ""}},
    {"normal", "gemm", "mxfp4", "normal", "realistic-normal,accumulation", "normal data", {17, 9, 160, ""}},
    {"normal",
     "gemm",
     "nvfp4-te",
     "normal",
     "realistic-normal,accumulation",
     "normal data",
     {17, 9, 144, ""}},
    {"normal",
     "gemm",
     "fp8-1x128",
     "normal",
     "realistic-normal,accumulation",
     "normal data",
     {17, 9, 320, ""}},
    {"wide",
     "gemm",
     "mxfp8",
     "wide",
     "accumulation",
     "terms from 2^-9 to 2^8: the cut of the unit shows",
     {33, 17, 128, ""}},
    {"wide", "gemm", "mxfp8-e5m2", "wide", "accumulation", "the cut of the unit shows", {17, 17, 128, ""}},
    {"zeros",
     "gemm",
     "mxfp8",
     "zero-rows",
     "signed-zero",
     "rows and columns of zeros, some of them -0",
     {9, 9, 64, ""}},
    {"far", "gemm", "mxfp8", "far", "block-scales", "scales of 2^-99 against 2^99", {41, 8, 64, ""}},
    {"b71", "gemm", "mxfp4", "halves", "bug-B71,row-prefix", "fewer than 32 rows", {1, 32, 64, ""}},
    {"b71", "gemm", "mxfp4", "halves", "bug-B71,row-prefix", "fewer than 32 rows", {2, 32, 64, ""}},
    {"b71", "gemm", "mxfp4", "halves", "bug-B71,row-prefix", "fewer than 32 rows", {4, 32, 64, ""}},
    {"b71", "gemm", "mxfp4", "halves", "bug-B71,row-prefix", "fewer than 32 rows", {8, 32, 64, ""}},
    {"b71", "gemm", "mxfp4", "halves", "bug-B71,row-prefix", "fewer than 32 rows", {16, 32, 64, ""}},
    {"b71", "gemm", "mxfp4", "halves", "bug-B71,row-prefix", "32 rows", {32, 32, 64, ""}},
    {"b56",
     "gemm",
     "mxfp4",
     "ones",
     "bug-B56",
     "narrow: the raw scale byte is used in one loop",
     {1, 5, 512, ""}},
    {"b69", "gemm", "mxfp8", "few", "bug-B69,padding", "2880 columns: 90 scales of 92", {3, 4, 2880, ""}},
    {"b82", "gemm", "mxfp8", "b82", "bug-B82,block-scales", "288 = 32 + 32 * 8, not 64", {4, 4, 64, ""}},
    {"b84", "gemm", "nvfp4-te", "halves", "bug-B84,k-tail", "K is an odd multiple of 16", {5, 8, 16, ""}},
    {"b84", "gemm", "nvfp4-te", "halves", "bug-B84,k-tail", "K is an odd multiple of 16", {5, 8, 48, ""}},
    {"b84", "gemm", "nvfp4-te", "halves", "bug-B84,k-tail", "K is an odd multiple of 16", {5, 8, 1040, ""}},
    {"b86", "gemm", "mxfp8", "bands", "bug-B86,waves", "D[128, 0] is 512, not 1024", {256, 128, 128, ""}},
    {"b96",
     "gemm",
     "mxfp8",
     "blocks",
     "bug-B96,transposed",
     "scales of b lie along K, not along N",
     {32, 64, 64, ""}},
    {"experts",
     FWD,
     "mxfp8",
     "blocks",
     "expert-groups,empty-group,one-row-group",
     "groups of 5, 0, 1, 10 rows",
     {16, 9, 96, "0,5,5,6,16"}},
    {"experts", FWD, "mxfp8", "blocks", "expert-groups", "one expert", {7, 5, 64, "0,7"}},
    {"experts",
     FWD,
     "mxfp8",
     "blocks",
     "expert-groups,empty-group",
     "all experts but the last are empty",
     {3, 5, 64, "0,0,0,0,3"}},
    {"experts", FWD, "mxfp8", "blocks", "expert-groups,empty", "no rows at all", {0, 5, 64, "0,0,0"}},
    {"experts",
     FWD,
     "mxfp8",
     "blocks",
     "expert-groups",
     "groups around a tile of 128 rows",
     {386, 8, 64, "0,127,255,384,386"}},
    {"experts",
     FWD,
     "mxfp8",
     "normal",
     "expert-groups,realistic-normal",
     "normal data",
     {50, 16, 96, "0,17,17,50"}},
    {"experts",
     FWD,
     "mxfp8-e5m2",
     "blocks",
     "expert-groups,empty-group",
     "groups of 5, 0, 1, 10 rows",
     {16, 9, 96, "0,5,5,6,16"}},
    {"experts",
     FWD,
     "mxfp4",
     "halves",
     "expert-groups,empty-group",
     "groups of 5, 0, 1, 10 rows",
     {16, 9, 96, "0,5,5,6,16"}},
    {"experts",
     DGR,
     "mxfp8",
     "blocks",
     "expert-groups,empty-group,one-row-group,transposed",
     "groups of 5, 0, 1, 10 rows",
     {16, 9, 96, "0,5,5,6,16"}},
    {"experts",
     DGR,
     "mxfp8",
     "normal",
     "expert-groups,realistic-normal",
     "normal data",
     {50, 16, 96, "0,17,17,50"}},
    {"experts",
     DGR,
     "mxfp8-e5m2",
     "blocks",
     "expert-groups,empty-group",
     "groups of 5, 0, 1, 10 rows",
     {16, 9, 96, "0,5,5,6,16"}},
    {"experts",
     WGR,
     "mxfp8",
     "blocks",
     "expert-groups,empty-group",
     "whole scale blocks; the last group has one lane",
     {9, 10, 129, "0,32,32,96,128,129"}},
    {"experts", WGR, "mxfp8", "blocks", "expert-groups,empty", "no tokens at all", {5, 6, 0, "0,0,0"}},
    {"experts",
     WGR,
     "mxfp8",
     "normal",
     "expert-groups,realistic-normal",
     "normal data",
     {17, 16, 160, "0,64,64,160"}},
    {"experts",
     WGR,
     "mxfp8-e5m2",
     "blocks",
     "expert-groups,empty-group",
     "whole scale blocks",
     {9, 10, 96, "0,32,32,96"}},
    {"b91",
     WGR,
     "mxfp8",
     "blocks",
     "bug-B91,empty-group",
     "3, 0, 5, 0 tokens: exact zeros without tokens",
     {4, 5, 8, "0,3,3,8,8"}},
    {"shared-block",
     WGR,
     "mxfp8",
     "blocks",
     "expert-groups",
     "groups begin inside a scale block",
     {9, 7, 70, "0,1,33,40,70"}},
    {"empty", "gemm", "mxfp8", "blocks", "empty", "no rows", {0, 5, 64, ""}},
    {"empty", "gemm", "mxfp8", "blocks", "empty", "no columns", {5, 0, 64, ""}},
    {"empty", "gemm", "mxfp8", "blocks", "empty", "K of 0: zeros must be written", {5, 6, 0, ""}},
};

/* ---- single values ------------------------------------------------------------------------------------- */

static mx_tensor *input_of(gen *g, mx_case *c, const char *role)
{
    for (int i = 0; c && i < c->n_in && !g->status; i++)
        if (!strcmp(c->in[i].name, role)) {
            /* Spoilt tensors are the case's own. */
            c->in[i].stored[0] = 0;
            return &c->in[i];
        }
    return NULL;
}

/* Codes or scale bytes to put somewhere. */
typedef struct patch {
    const char *role;
    int64_t row, col;
    uint32_t code;
} patch;

typedef struct special {
    const char *topic, *operation, *recipe, *fill, *flags, *reason;
    shape s;
    patch patches[6];
} special;

static const special specials[] = {
    {"nan",
     "gemm",
     "mxfp8",
     "integers",
     "nan",
     "NaN in one element of a and one of b: a row and a column",
     {5, 6, 64, ""},
     {{"a", 1, 40, 0x7F}, {"b", 2, 3, 0xFF}}},
    {"nan-scale",
     "gemm",
     "mxfp8",
     "integers",
     "nan,every-scale-byte",
     "scale byte FF in one block of each operand",
     {5, 6, 64, ""},
     {{"a_scale", 1, 1, 0xFF}, {"b_scale", 2, 0, 0xFF}}},
    {"nan-zero",
     "gemm",
     "mxfp8",
     "zero-rows",
     "nan,every-scale-byte",
     "scale FF over a row of zeros is NaN still",
     {6, 6, 64, ""},
     {{"a_scale", 1, 0, 0xFF}}},
    {"inf",
     "gemm",
     "mxfp8-e5m2",
     "integers",
     "inf",
     "Inf, -Inf, Inf * 0 and Inf - Inf",
     {6, 6, 64, ""},
     {{"a", 1, 3, 0x7C},
      {"a", 2, 5, 0xFC},
      {"a", 3, 7, 0x7C},
      {"b", 4, 7, 0x00},
      {"a", 5, 3, 0x7C},
      {"a", 5, 9, 0xFC}}},
    {"scale-00",
     "gemm",
     "mxfp8",
     "ones",
     "every-scale-byte,bug-B45",
     "byte 00 is 2^-127, not 0; 2^127 undoes it",
     {4, 4, 32, ""},
     {{"a_scale", 1, 0, 0x00}, {"a_scale", 2, 0, 0x00}, {"b_scale", 2, 0, 0xFE}, {"b_scale", 3, 0, 0xF0}}},
    {"scale-fe",
     "gemm",
     "mxfp8",
     "ones",
     "every-scale-byte",
     "byte FE is 2^127",
     {4, 4, 32, ""},
     {{"a_scale", 1, 0, 0xFE}, {"b_scale", 2, 0, 0x01}, {"b_scale", 3, 0, 0x40}}},
    {"b101",
     "gemm",
     "mxfp8",
     "zero",
     "bug-B101,accumulation",
     "1 + 2^-15: kept by an fp32 sum, lost by a unit of 13 bits",
     {2, 2, 32, ""},
     {{"a", 0, 0, 0x38}, {"b", 0, 0, 0x38}, {"a", 0, 1, 0x01}, {"b", 0, 1, 0x08}}},
    {"b93",
     FWD,
     "mxfp8",
     "integers",
     "bug-B93,nan,expert-groups",
     "the rows of a neighbouring expert are NaN; the others must not notice",
     {9, 6, 64, "0,3,6,9"},
     {{"a", 3, 0, 0x7F}, {"a", 4, 33, 0x7F}, {"a", 5, 63, 0xFF}}},
};

static void spoil(gen *g, mx_case *c, const patch *p)
{
    mx_tensor *t = p->role ? input_of(g, c, p->role) : NULL;
    if (t) t->data[p->row * t->shape[t->rank - 1] + p->col] = (uint8_t)p->code;
}

static void make_special(gen *g, const special *s)
{
    mx_case *c = make(g, s->topic, s->operation, s->recipe, s->fill, s->flags, s->reason, s->s);
    for (int i = 0; i < 6; i++)
        spoil(g, c, &s->patches[i]);
    settle(g, c);
}

/* bug-B45: 128 * 2^8 * 2^-127 * 2^112 = 1. */
static void make_b45(gen *g)
{
    mx_case *c = make(g, "b45", "gemm", "mxfp8", "ones", "bug-B45,every-scale-byte",
                      "256 under byte 00 against 2^112: each output is 1", (shape){3, 4, 128, ""});
    mx_tensor *a = input_of(g, c, "a"), *sa = input_of(g, c, "a_scale"), *sb = input_of(g, c, "b_scale");
    if (!a || !sa || !sb) return;
    memset(a->data, 0x78, a->bytes);
    memset(sa->data, 0x00, sa->bytes);
    memset(sb->data, 127 + 112, sb->bytes);
    settle(g, c);
}

/* fp32 scales that are no powers of two, or whose product leaves the range of fp32. */
static void make_f32_scales(gen *g)
{
    static const struct {
        const char *topic, *flags, *reason;
        float scale;
    } cases[] = {
        {"b53", "bug-B53", "scale 0.7 is used as 0.5 where only its exponent is kept", 0.7f},
        {"b59", "bug-B59", "scale 0.9 is rounded up to 1 and the codes are kept", 0.9f},
        {"b68", "bug-B68", "both scales 1e-23: their product is 0 in fp32, never NaN", 1e-23f},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        mx_case *c = make(g, cases[i].topic, "gemm", "fp8-1x128", "integers", cases[i].flags, cases[i].reason,
                          (shape){4, 5, 160, ""});
        mx_tensor *sa = input_of(g, c, "a_scale"), *sb = input_of(g, c, "b_scale");
        if (!sa || !sb) return;
        for (int64_t k = 0; k < mx_tensor_count(sa); k++)
            gen_set_value(sa, k, (double)cases[i].scale);
        for (int64_t k = 0; k < mx_tensor_count(sb) && cases[i].scale < 1e-20f; k++)
            gen_set_value(sb, k, (double)cases[i].scale);
        settle(g, c);
    }
}

/* alpha, beta, c and bias at K = 32 to 128: bug-B77 lost the bias where K was no multiple of 128. */
static void make_epilogues(gen *g)
{
    static const struct {
        double alpha, beta;
        const char *c, *bias;
    } forms[] = {{1, 0, NULL, "f32"}, {1, 1, "f32", NULL}, {0.5, 2, "bf16", NULL}, {2, -1, "f16", "bf16"}};
    for (int64_t k = 32; k <= 128; k += 32)
        for (size_t i = 0; i < COUNT(forms); i++) {
            char topic[32];
            snprintf(topic, sizeof topic, "epilogue-%d", (int)i);
            mx_case *c = make(g, topic, "gemm", "mxfp8", "integers", "epilogue,bug-B77",
                              "alpha a b^T + beta c + bias", (shape){9, 10, k, ""});
            if (!c) return;
            c->alpha = forms[i].alpha;
            c->beta = forms[i].beta;
            char tensor[96];
            if (forms[i].c) {
                snprintf(tensor, sizeof tensor, "products/c/%s", forms[i].c);
                mx_tensor *t = gen_input(g, c, "c", tensor, forms[i].c, 9, 10);
                for (int64_t j = 0; t && j < 90; j++)
                    gen_set_value(t, j, (double)(j % 31) - 15);
            }
            if (forms[i].bias) {
                snprintf(tensor, sizeof tensor, "products/bias/%s", forms[i].bias);
                mx_tensor *t = gen_input(g, c, "bias", tensor, forms[i].bias, 1, 10);
                for (int64_t j = 0; t && j < 10; j++)
                    gen_set_value(t, j, 64 + (double)j);
                if (t) t->rank = 1, t->shape[0] = 10;
            }
            settle(g, c);
        }
}

void gen_products(gen *g)
{
    sweeps(g, "mxfp8");
    for (size_t i = 0; i < COUNT(rows); i++)
        settle(g, make(g, rows[i].topic, rows[i].operation, rows[i].recipe, rows[i].fill, rows[i].flags,
                       rows[i].reason, rows[i].s));
    for (size_t i = 0; i < COUNT(specials); i++)
        make_special(g, &specials[i]);
    make_b45(g);
    make_f32_scales(g);
    make_epilogues(g);
}
