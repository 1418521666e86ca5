/* SPDX-License-Identifier: Apache-2.0
 *
 * Products on the CPU: build/mxcheck-product.so. Two arithmetics, both by vectors: scaled operands rounded to
 * bf16 and added by fp32 FMA; and Hopper's fp8 wgmma on integers, each block of 32 promoted by an FFMA. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mx_kernel.h"
#include "product_avx2.h"

/* ---- numbers ------------------------------------------------------------------------------------------- */

typedef struct element {
    const char *recipe;
    int exponent_bits, mantissa, bias;
    bool has_inf, has_nan;
} element;

static const element elements[] = {
    {"mxfp8", 4, 3, 7, false, true},
    {"mxfp8-e5m2", 5, 2, 15, true, true},
    {"mxfp4", 2, 1, 1, false, false},
};

static const element *element_of(const char *recipe)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (!strcmp(elements[i].recipe, recipe)) return &elements[i];
    return NULL;
}

static product_lane take_apart(const element *f, uint8_t code)
{
    int e = code >> f->mantissa & ((1 << f->exponent_bits) - 1), m = code & ((1 << f->mantissa) - 1);
    int top = (1 << f->exponent_bits) - 1, full = (1 << f->mantissa) - 1;
    bool negative = code >> (f->exponent_bits + f->mantissa) & 1;
    product_lane x = {0, e ? e - f->bias : 1 - f->bias, 0};
    if (f->has_nan && e == top && (f->has_inf ? m != 0 : m == full)) x.special = 2;
    if (f->has_inf && e == top && m == 0) x.special = negative ? -1 : 1;
    if (x.special) return x;
    x.significand = (e ? 1 << f->mantissa : 0) + m;
    if (negative) x.significand = -x.significand;
    return x;
}

static float value_of(const element *f, uint8_t code)
{
    product_lane x = take_apart(f, code);
    if (x.special) return x.special == 2 ? NAN : x.special > 0 ? INFINITY : -INFINITY;
    float magnitude = ldexpf((float)abs(x.significand), x.exponent - f->mantissa);
    return code >> (f->exponent_bits + f->mantissa) & 1 ? -magnitude : magnitude;
}

static float power_of(uint8_t byte) { return byte == 0xFF ? NAN : ldexpf(1, byte - 127); }

static uint16_t to_bf16(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    if (x != x) return 0x7FC0;
    return (uint16_t)((b + 0x7FFF + (b >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t h)
{
    uint32_t b = (uint32_t)h << 16;
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static float from_f16(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    float x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);
    return h & 0x8000 ? -x : x;
}

static float load(const mx_kernel_tensor *t, int64_t i)
{
    uint16_t h;
    float x;
    if (!strcmp(t->dtype, "f32")) return memcpy(&x, (const char *)t->data + 4 * i, sizeof x), x;
    memcpy(&h, (const char *)t->data + 2 * i, sizeof h);
    return strcmp(t->dtype, "bf16") ? from_f16(h) : from_bf16(h);
}

/* ---- what a call asks for ------------------------------------------------------------------------------ */

typedef struct side {
    const uint8_t *codes, *scales;
    int64_t pitch, scale_pitch;
} side;

typedef struct problem {
    const mx_kernel_call *call;
    const element *format;
    const mx_kernel_tensor *c, *bias;
    mx_kernel_tensor *d;
    side a, b;
    int64_t rows, cols, stride; /* stride: cols rounded up to whole vectors */
    float *sums;
} problem;

static const mx_kernel_tensor *input(const mx_kernel_call *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!strcmp(c->in[i].name, name)) return &c->in[i];
    return NULL;
}

static int say(const mx_kernel_call *c, int status, const char *text)
{
    snprintf(c->message, c->message_size, "%s", text);
    return status;
}

static void store_row(const problem *p, int64_t row)
{
    float alpha = (float)p->call->alpha, beta = (float)p->call->beta;
    for (int64_t j = 0; j < p->cols; j++) {
        float x = p->sums[j];
        if (p->c && beta != 0)
            x = fmaf(alpha, x, beta * load(p->c, row * p->c->pitch + j));
        else if (alpha != 1)
            x *= alpha;
        if (p->bias) x += load(p->bias, j);
        if (!strcmp(p->d->dtype, "f32"))
            memcpy((char *)p->d->data + 4 * (row * p->d->pitch + j), &x, sizeof x);
        else {
            uint16_t h = to_bf16(x);
            memcpy((char *)p->d->data + 2 * (row * p->d->pitch + j), &h, sizeof h);
        }
    }
}

/* Rows [first, last) of a, lanes [begin, end), against the matrix b; row r of a is row r + shift of d. */
typedef struct piece {
    int64_t first, last, begin, end, shift;
    side b;
} piece;

/* ---- fp32 FMA over bf16 -------------------------------------------------------------------------------- */

static float scaled(const problem *p, const side *s, int64_t row, int64_t k)
{
    float x = value_of(p->format, s->codes[row * s->pitch + k]);
    return from_bf16(to_bf16(x * power_of(s->scales[row * s->scale_pitch + k / 32])));
}

static bool multiply_fma(problem *p, const piece *w)
{
    int64_t k = w->end - w->begin;
    float *b = calloc((size_t)(k * p->stride) + 1, sizeof *b), *a = malloc((size_t)k * sizeof *a + 1);
    for (int64_t i = 0; a && b && i < k; i++)
        for (int64_t j = 0; j < p->cols; j++)
            b[i * p->stride + j] = scaled(p, &w->b, j, w->begin + i);
    for (int64_t r = w->first; a && b && r < w->last; r++) {
        for (int64_t i = 0; i < k; i++)
            a[i] = scaled(p, &p->a, r, w->begin + i);
        product_fma_row(a, b, k, p->stride, p->sums);
        store_row(p, r + w->shift);
    }
    bool good = a && b;
    free(a);
    free(b);
    return good;
}

/* ---- fp8 wgmma on integers -------------------------------------------------------------------------------
 */

typedef struct columns {
    int32_t *significand, *exponent;
    int8_t *special;
    bool *any;    /* [block][stride] */
    float *scale; /* [block][stride] */
} columns;

static void free_columns(columns *x)
{
    free(x->significand);
    free(x->exponent);
    free(x->special);
    free(x->any);
    free(x->scale);
}

static bool make_columns(columns *x, const problem *p, const piece *w)
{
    size_t cells = (size_t)((w->end - w->begin) * p->stride) + 1;
    size_t blocks = (size_t)((w->end / 32 - w->begin / 32 + 1) * p->stride) + 1;
    *x = (columns){calloc(cells, sizeof(int32_t)), calloc(cells, sizeof(int32_t)), calloc(cells, 1),
                   calloc(blocks, sizeof(bool)), calloc(blocks, sizeof(float))};
    if (!x->significand || !x->exponent || !x->special || !x->any || !x->scale) return false;
    for (int64_t k = w->begin; k < w->end; k++)
        for (int64_t j = 0; j < p->cols; j++) {
            int64_t at = (k - w->begin) * p->stride + j, block = (k / 32 - w->begin / 32) * p->stride + j;
            product_lane lane = take_apart(p->format, w->b.codes[j * w->b.pitch + k]);
            x->significand[at] = lane.significand;
            x->exponent[at] = lane.exponent;
            x->special[at] = lane.special;
            x->any[block] |= lane.special != 0;
            x->scale[block] = power_of(w->b.scales[j * w->b.scale_pitch + k / 32]);
        }
    return true;
}

static void step_row(const problem *p, const piece *w, const columns *x, int64_t row)
{
    memset(p->sums, 0, (size_t)p->stride * sizeof *p->sums);
    for (int64_t k = w->begin, next; k < w->end; k = next) {
        next = (k / 32 + 1) * 32 < w->end ? (k / 32 + 1) * 32 : w->end;
        product_lane a[32];
        for (int64_t i = k; i < next; i++)
            a[i - k] = take_apart(p->format, p->a.codes[row * p->a.pitch + i]);
        int64_t at = (k - w->begin) * p->stride, block = (k / 32 - w->begin / 32) * p->stride;
        product_block b = {x->significand + at, x->exponent + at, x->special + at, x->any + block,
                           x->scale + block,    next - k,         p->stride};
        product_step_row(a, power_of(p->a.scales[row * p->a.scale_pitch + k / 32]), &b, p->format->mantissa,
                         p->sums);
    }
}

static bool multiply_steps(problem *p, const piece *w)
{
    columns x;
    bool good = make_columns(&x, p, w);
    for (int64_t r = w->first; good && r < w->last; r++) {
        step_row(p, w, &x, r);
        store_row(p, r + w->shift);
    }
    free_columns(&x);
    return good;
}

/* ---- operations ------------------------------------------------------------------------------------------
 */

typedef bool (*multiply)(problem *, const piece *);

static side side_of(const mx_kernel_tensor *codes, const mx_kernel_tensor *scales)
{
    return (side){codes->data, scales->data, codes->shape[codes->rank - 1], scales->shape[scales->rank - 1]};
}

static bool whole(problem *p, multiply m)
{
    int64_t k = p->a.pitch;
    return m(p, &(piece){0, p->rows, 0, k, 0, p->b});
}

static bool grouped_rows(problem *p, multiply m, const mx_kernel_tensor *offsets)
{
    const int64_t *at = offsets->data;
    bool good = true;
    for (int64_t e = 0; e + 1 < offsets->shape[0] && good; e++) {
        side b = p->b;
        b.codes += e * p->cols * b.pitch;
        b.scales += e * p->cols * b.scale_pitch;
        good = at[e] == at[e + 1] || m(p, &(piece){at[e], at[e + 1], 0, b.pitch, 0, b});
    }
    return good;
}

static bool grouped_lanes(problem *p, multiply m, const mx_kernel_tensor *offsets)
{
    const int64_t *at = offsets->data;
    bool good = true;
    for (int64_t e = 0; e + 1 < offsets->shape[0] && good; e++)
        good = m(p, &(piece){0, p->rows, at[e], at[e + 1], e * p->rows, p->b});
    return good;
}

static int run(const mx_kernel_call *c, multiply m)
{
    const mx_kernel_tensor *a = input(c, "a"), *b = input(c, "b"), *offsets = input(c, "offsets");
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return say(c, MX_KERNEL_REFUSED, "needs AVX2 and FMA");
    problem p = {.call = c,
                 .format = element_of(c->recipe),
                 .c = input(c, "c"),
                 .bias = input(c, "bias"),
                 .d = &c->out[0],
                 .a = side_of(a, input(c, "a_scale")),
                 .b = side_of(b, input(c, "b_scale")),
                 .rows = a->shape[0],
                 .cols = b->shape[b->rank - 2]};
    if (!p.format) return say(c, MX_KERNEL_REFUSED, "another recipe");
    p.stride = (p.cols + PRODUCT_WIDTH - 1) / PRODUCT_WIDTH * PRODUCT_WIDTH;
    p.sums = calloc((size_t)p.stride + 1, sizeof *p.sums);
    bool good = p.sums != NULL;
    if (good && !offsets) good = whole(&p, m);
    if (good && offsets) good = b->rank == 3 ? grouped_rows(&p, m, offsets) : grouped_lanes(&p, m, offsets);
    free(p.sums);
    return good ? MX_KERNEL_DONE : say(c, MX_KERNEL_FAILED, "out of memory");
}

static int run_fma(const mx_kernel_call *c) { return run(c, multiply_fma); }
static int run_steps(const mx_kernel_call *c) { return run(c, multiply_steps); }

#define OP(KIND, OPERATION, RECIPE, OUT, MODEL, SCHEDULE)                                                    \
    {                                                                                                        \
        .name = OPERATION "-" #KIND "-" RECIPE "-" OUT, .operation = OPERATION, .recipe = RECIPE,            \
        .inputs = "f32,bf16,f16", .output = OUT, .model = MODEL, .schedule = SCHEDULE, .run = run_##KIND     \
    }
#define FORMS(KIND, RECIPE, OUT, MODEL, SCHEDULE)                                                            \
    OP(KIND, "gemm", RECIPE, OUT, MODEL, SCHEDULE),                                                          \
        OP(KIND, "grouped-forward", RECIPE, OUT, MODEL, SCHEDULE),                                           \
        OP(KIND, "grouped-dgrad", RECIPE, OUT, MODEL, SCHEDULE),                                             \
        OP(KIND, "grouped-wgrad", RECIPE, OUT, MODEL, SCHEDULE)
#define OUTPUTS(KIND, RECIPE, MODEL, SCHEDULE)                                                               \
    FORMS(KIND, RECIPE, "f32", MODEL, SCHEDULE), FORMS(KIND, RECIPE, "bf16", MODEL, SCHEDULE)

static const mx_kernel_op ops[] = {
    OUTPUTS(fma, "mxfp8", "fma-f32", "dequant-bf16"),
    OUTPUTS(fma, "mxfp8-e5m2", "fma-f32", "dequant-bf16"),
    OUTPUTS(fma, "mxfp4", "fma-f32", "dequant-bf16"),
    OUTPUTS(steps, "mxfp8", "sm90-wgmma-fp8-f32", "promote-ffma:1"),
    OUTPUTS(steps, "mxfp8-e5m2", "sm90-wgmma-fp8-f32", "promote-ffma:1"),
};

const mx_kernel_library *mx_kernel_describe(void)
{
    static const mx_kernel_library library = {.abi = MX_KERNEL_ABI,
                                              .name = "CPU products",
                                              .version = MX_VERSION,
                                              .n_ops = sizeof ops / sizeof *ops,
                                              .ops = ops};
    return &library;
}
