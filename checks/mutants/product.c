/* SPDX-License-Identifier: Apache-2.0
 *
 * A plain product kernel with at most one planted fault: operands times scales, rounded to bf16, then one
 * fp32 FMA after the other. Built once for each row of product_mutants.h, and once as `control_product`. It
 * shares nothing with the emulator. */
#include <math.h>
#include <string.h>

#include "mx_kernel.h"
#include "product_mutants.h"

enum mutant {
    control_product,
#define X(name, what, check, cause) name,
    PRODUCT_MUTANTS(X)
#undef X
};

#ifndef MUTANT
#define MUTANT control_product
#endif
#define IS(name) (MUTANT == (name))

static int call_count;
static int64_t row_count;

static float float_of(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static float from_e4m3(uint8_t c)
{
    int e = c >> 3 & 15, m = c & 7;
    if ((c & 0x7F) == 0x7F) return IS(nan_dropped) ? 0 : NAN;
    float x = e ? ldexpf((float)(8 + m), e - 10) : ldexpf((float)m, -9);
    return c & 0x80 ? -x : x;
}

static float from_e8m0(uint8_t c)
{
    if (IS(scale_as_number)) return c;
    if (IS(zero_at_00)) return float_of((uint32_t)c << 23);
    return c == 0xFF ? NAN : ldexpf(1, c - 127);
}

static uint16_t to_bf16(float x)
{
    uint32_t b = bits_of(x);
    if ((b & 0x7FFFFFFF) > 0x7F800000) return 0x7FC0;
    if (IS(cut_output)) return (uint16_t)(b >> 16);
    return (uint16_t)((b + 0x7FFF + (b >> 16 & 1)) >> 16);
}

static float through_bf16(float x)
{
    uint32_t b = bits_of(x);
    if ((b & 0x7FFFFFFF) > 0x7F800000) return NAN;
    return float_of((b + 0x7FFF + (b >> 16 & 1)) & 0xFFFF0000);
}

static float load(const mx_kernel_tensor *t, int64_t i)
{
    uint16_t h;
    if (!strcmp(t->dtype, "f32")) return ((const float *)t->data)[i];
    memcpy(&h, (const uint16_t *)t->data + i, sizeof h);
    if (!strcmp(t->dtype, "bf16")) return float_of((uint32_t)h << 16);
    int e = h >> 10 & 31, m = h & 1023;
    float x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);
    return h & 0x8000 ? -x : x;
}

/* ---- operands ------------------------------------------------------------------------------------------ */

typedef struct side {
    const uint8_t *codes, *scales;
    int64_t pitch, blocks; /* per row */
    int64_t rows;          /* of one matrix */
} side;

static side side_of(const mx_kernel_tensor *codes, const mx_kernel_tensor *scales)
{
    return (side){codes->data, scales->data, codes->shape[codes->rank - 1], scales->shape[scales->rank - 1],
                  codes->shape[codes->rank - 2]};
}

static int64_t scale_block(const side *s, int64_t block, int is_a)
{
    int64_t half = (s->blocks + 1) / 2;
    if (IS(first_block)) return 0;
    if (IS(slice_scales) && block >= half) return block - half;
    if (IS(neighbour_block) && is_a && block + 1 < s->blocks) return block + 1;
    if (IS(neighbour_block_b) && !is_a && block > 0) return block - 1;
    return block;
}

/* Element (row, k), scaled; `other` has the scales that a swap would take. */
static float element(const side *s, const side *other, int64_t row, int64_t k, int is_a)
{
    const side *scales = IS(swapped_scales) ? other : s;
    int64_t r = IS(swapped_scales) ? row % other->rows : row;
    if (IS(scale_of_row_zero) && !is_a && r > 0) r--;
    float scale = from_e8m0(scales->scales[r * scales->blocks + scale_block(scales, k / 32, is_a)]);
    if (IS(scale_ignored) && !is_a) scale = 1;
    return through_bf16(from_e4m3(s->codes[row * s->pitch + k]) * scale);
}

static float add(float sum, float a, float b)
{
    sum = fmaf(a, b, sum);
    if (IS(narrow_sum)) return float_of(bits_of(sum) & 0xFFFFFC00);
    return IS(bf16_sum) ? through_bf16(sum) : sum;
}

/* Lanes [begin, end) of one output, from `sum`. */
static float dot(const side *a, const side *b, int64_t row, int64_t col, int64_t begin, int64_t end,
                 float sum)
{
    int64_t n = end - begin, whole = n / 16 * 16;
    if (IS(k_tail_dropped)) n = whole;
    if (IS(lost_slice) || IS(one_slice_only)) {
        int64_t half = ((n + 31) / 32 + 1) / 2 * 32;
        if (n > 32 && (IS(one_slice_only) || call_count % 2))
            begin += half, n -= half;
        else if (n > 32)
            n = half;
    }
    for (int64_t i = 0; i < n + (IS(k_tail_doubled) ? n - whole : 0); i++) {
        int64_t k = begin + (i < n ? i : i - n + whole);
        if (IS(order_reversed) || (IS(order_by_rows) && row_count < 16)) k = begin + n - 1 - i;
        if (IS(half_of_k) && k % 2) continue;
        sum = add(sum, element(a, b, row, k, 1), element(b, a, col, k, 0));
    }
    return sum;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

typedef struct request {
    const mx_kernel_call *c;
    const mx_kernel_tensor *c_in, *bias;
    mx_kernel_tensor *d;
    int64_t cols, k;
} request;

static const mx_kernel_tensor *input(const mx_kernel_call *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!strcmp(c->in[i].name, name)) return &c->in[i];
    return NULL;
}

static void put(const request *r, int64_t at, float x)
{
    if (IS(all_zero)) x = 0;
    if (IS(sign_lost)) x = -x;
    if (!strcmp(r->d->dtype, "f32"))
        ((float *)r->d->data)[at] = x;
    else
        ((uint16_t *)r->d->data)[at] = to_bf16(x);
}

static void finish(const request *r, int64_t row, int64_t col, float x)
{
    float alpha = (float)r->c->alpha, beta = (float)r->c->beta;
    if (IS(beta_lost)) beta = 1;
    if (r->c_in && beta != 0)
        x = fmaf(alpha, x, beta * load(r->c_in, row * r->cols + col));
    else if (alpha != 1)
        x *= alpha;
    if (r->bias && !(IS(bias_lost) && r->k % 128)) x += load(r->bias, col);
    put(r, IS(product_transposed) ? col * (r->d->shape[0]) + row : row * r->cols + col, x);
}

static float start(const request *r, int64_t row, int64_t col)
{
    return IS(stale_accumulator) ? load(r->d, row * r->cols + col) : 0;
}

/* Rows [first, last) of a against one matrix b; d's row is a's. */
static void rows_times(const request *r, const side *a, const side *b, int64_t first, int64_t last)
{
    if (IS(few_rows_wrong) && last - first < 32) last--;
    for (int64_t row = first; row < last; row++)
        for (int64_t col = 0; col < r->cols; col++)
            finish(r, row, col, dot(a, b, row, col, 0, r->k, start(r, row, col)));
}

static int gemm(const mx_kernel_call *c)
{
    side a = side_of(input(c, "a"), input(c, "a_scale")), b = side_of(input(c, "b"), input(c, "b_scale"));
    request r = {c, input(c, "c"), input(c, "bias"), &c->out[0], b.rows, a.pitch};
    call_count++;
    row_count = a.rows;
    rows_times(&r, &a, &b, 0, a.rows);
    return MX_KERNEL_DONE;
}

static int by_rows(const mx_kernel_call *c)
{
    side a = side_of(input(c, "a"), input(c, "a_scale")), all = side_of(input(c, "b"), input(c, "b_scale"));
    const mx_kernel_tensor *offsets = input(c, "offsets");
    const int64_t *at = offsets->data;
    int64_t experts = offsets->shape[0] - 1;
    request r = {c, NULL, NULL, &c->out[0], all.rows, a.pitch};
    call_count++;
    for (int64_t e = 0; e < experts; e++) {
        int64_t begin = at[e], end = at[e + 1];
        int64_t from = IS(expert_off) && e + 1 < experts ? e + 1 : e;
        int64_t scales = IS(expert_scales_off) && e + 1 < experts ? e + 1 : from;
        side b = all;
        b.codes += from * all.rows * all.pitch;
        b.scales += scales * all.rows * all.blocks;
        if (IS(group_off)) {
            begin += e > 0 && begin < at[experts];
            end += e + 1 < experts && end < at[experts];
        }
        rows_times(&r, &a, &b, begin, end);
    }
    return MX_KERNEL_DONE;
}

static int by_lanes(const mx_kernel_call *c)
{
    side a = side_of(input(c, "a"), input(c, "a_scale")), b = side_of(input(c, "b"), input(c, "b_scale"));
    const mx_kernel_tensor *offsets = input(c, "offsets");
    const int64_t *at = offsets->data;
    request r = {c, NULL, NULL, &c->out[0], b.rows, a.pitch};
    call_count++;
    for (int64_t e = 0; e + 1 < offsets->shape[0]; e++)
        for (int64_t i = 0; i < a.rows * b.rows && !(IS(empty_group_skipped) && at[e] == at[e + 1]); i++) {
            int64_t place = e * a.rows * b.rows + i;
            float sum = dot(&a, &b, i / b.rows, i % b.rows, at[e], at[e + 1], 0);
            put(&r, place, sum);
        }
    return MX_KERNEL_DONE;
}

#define OP(name_, operation_, output_, run_)                                                                 \
    {                                                                                                        \
        .name = name_, .operation = operation_, .recipe = "mxfp8", .inputs = "f32,bf16,f16",                 \
        .output = output_, .model = "fma-f32", .schedule = "dequant-bf16", .run = run_                       \
    }

static const mx_kernel_op ops[] = {
    OP("gemm", "gemm", "f32", gemm),
    OP("gemm-bf16", "gemm", "bf16", gemm),
    OP("forward", "grouped-forward", "f32", by_rows),
    OP("dgrad", "grouped-dgrad", "bf16", by_rows),
    OP("wgrad", "grouped-wgrad", "f32", by_lanes),
};

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const mx_kernel_library *mx_kernel_describe(void)
{
    static const mx_kernel_library library = {.abi = MX_KERNEL_ABI,
                                              .name = TEXT(MUTANT),
                                              .version = "1",
                                              .n_ops = sizeof ops / sizeof *ops,
                                              .ops = ops};
    return &library;
}
