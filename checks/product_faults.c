/* SPDX-License-Identifier: Apache-2.0
 * Faults of product kernels. A new row teaches the diagnosis; order is from the most common to the rare, and
 * decides between faults that give the same bits. */
#include "product_faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- copies of a product ------------------------------------------------------------------------------ */

static bool copy_operand(plain_operand *to, mx_operand *x, int64_t copies)
{
    *to = (plain_operand){.x = x, .rows = x->rows * copies, .k = x->k, .grid_cols = x->scale_row_stride};
    to->grid_rows = (x->rows / x->block_rows + (x->rows % x->block_rows != 0)) * copies;
    to->unit = x->scale_format->bits == 32 ? 4 : 1;
    to->codes = malloc((size_t)(to->rows * to->k) + 1);
    to->scales = malloc((size_t)(to->grid_rows * to->grid_cols * to->unit) + 1);
    if (!to->codes || !to->scales) return false;
    if (to->rows > 0 && to->k > 0) memcpy(to->codes, x->data, (size_t)(to->rows * to->k));
    if (to->grid_rows > 0 && to->grid_cols > 0)
        memcpy(to->scales, x->scales, (size_t)(to->grid_rows * to->grid_cols * to->unit));
    x->data = to->codes;
    x->scales = to->scales;
    return true;
}

bool planted_make(planted *p, const product *q)
{
    *p = (planted){.q = *q};
    p->q.owned[0] = p->q.owned[1] = NULL;
    bool by_rows = q->grouped && q->form == MX_GROUPED_ROWS;
    bool good = copy_operand(&p->a, &p->q.p.a, 1) && copy_operand(&p->b, &p->q.p.b, by_rows ? q->experts : 1);
    if (good && q->grouped) {
        size_t bytes = (size_t)(q->experts + 1) * sizeof *p->offsets;
        p->offsets = malloc(bytes);
        if (!p->offsets) return false;
        memcpy(p->offsets, q->offsets, bytes);
        p->q.offsets = p->offsets;
    }
    return good;
}

void planted_free(planted *p)
{
    free(p->a.codes);
    free(p->a.scales);
    free(p->b.codes);
    free(p->b.scales);
    free(p->offsets);
    memset(p, 0, sizeof *p);
}

/* ---- scales: which block's ---------------------------------------------------------------------------- */

/* Give every scale the value that lies at from(o, row, block, n). */
typedef int64_t (*source)(const plain_operand *o, int64_t row, int64_t block, int n);

static bool move_scales(plain_operand *o, source from, int n)
{
    int64_t all = o->grid_rows * o->grid_cols;
    unsigned char *old = malloc((size_t)(all * o->unit) + 1);
    if (!old || all < 2) return free(old), false;
    memcpy(old, o->scales, (size_t)(all * o->unit));
    for (int64_t i = 0; i < all; i++) {
        int64_t k = from(o, i / o->grid_cols, i % o->grid_cols, n);
        if (k >= 0 && k < all) memcpy(o->scales + i * o->unit, old + k * o->unit, (size_t)o->unit);
    }
    free(old);
    return true;
}

static int64_t clamp(int64_t x, int64_t n) { return x < 0 ? 0 : x >= n ? n - 1 : x; }

static int64_t neighbour(const plain_operand *o, int64_t row, int64_t block, int n)
{
    return row * o->grid_cols + clamp(block + n, o->grid_cols);
}
static int64_t flat_neighbour(const plain_operand *o, int64_t row, int64_t block, int n)
{
    return row * o->grid_cols + block + n;
}
static int64_t neighbour_row(const plain_operand *o, int64_t row, int64_t block, int n)
{
    return clamp(row + n, o->grid_rows) * o->grid_cols + block;
}
/* n slices of K, each of which begins again at block 0. */
static int64_t repeated(const plain_operand *o, int64_t row, int64_t block, int n)
{
    return row * o->grid_cols + block % ((o->grid_cols + n - 1) / n);
}
static int64_t block_zero(const plain_operand *o, int64_t row, int64_t block, int n)
{
    (void)block, (void)n;
    return row * o->grid_cols;
}
static int64_t column_major(const plain_operand *o, int64_t row, int64_t block, int n)
{
    (void)n;
    return block * o->grid_rows + row;
}

#define MOVED(name, from)                                                                                    \
    static bool name##_a(planted *p, int n) { return n && move_scales(&p->a, from, n); }                     \
    static bool name##_b(planted *p, int n) { return n && move_scales(&p->b, from, n); }                     \
    static bool name##_both(planted *p, int n) { return name##_a(p, n) && name##_b(p, n); }
MOVED(near, neighbour)
MOVED(near_flat, flat_neighbour)
MOVED(near_row, neighbour_row)
MOVED(slice_zero, repeated)
MOVED(zeroth, block_zero)
MOVED(turned, column_major)

static bool swap_scales(planted *p, int n)
{
    (void)n;
    if (p->a.grid_cols != p->b.grid_cols || !p->a.grid_rows || !p->b.grid_rows) return false;
    planted old;
    bool good = planted_make(&old, &p->q);
    size_t row = (size_t)(p->a.grid_cols * p->a.unit);
    for (int64_t r = 0; good && r < p->a.grid_rows; r++)
        memcpy(p->a.scales + (size_t)r * row, old.b.scales + (size_t)(r % p->b.grid_rows) * row, row);
    for (int64_t r = 0; good && r < p->b.grid_rows; r++)
        memcpy(p->b.scales + (size_t)r * row, old.a.scales + (size_t)(r % p->a.grid_rows) * row, row);
    planted_free(&old);
    return good;
}

/* ---- scales: what a stored scale means ----------------------------------------------------------------- */

typedef float (*reading)(float value, uint32_t byte);

static bool read_scales(plain_operand *o, reading read)
{
    int64_t all = o->grid_rows * o->grid_cols;
    float *as = malloc((size_t)all * sizeof *as + 1);
    if (!as) return false;
    for (int64_t i = 0; i < all; i++) {
        uint32_t code = o->scales[i];
        if (o->unit == 4) memcpy(&code, o->scales + 4 * i, sizeof code);
        as[i] = read((float)mx_decode(o->x->scale_format, code), code);
    }
    free(o->scales);
    o->scales = (unsigned char *)as;
    o->unit = 4;
    o->x->scales = as;
    o->x->scale_format = mx_format_find("f32");
    return true;
}

static float as_number(float value, uint32_t byte)
{
    return value == value && byte < 256 ? (float)byte : value;
}
static float zero_at_00(float value, uint32_t byte) { return byte ? value : 0; }
static float inf_at_ff(float value, uint32_t byte) { return byte == 0xFF ? INFINITY : value; }
static float shifted_in(float value, uint32_t byte) { return inf_at_ff(zero_at_00(value, byte), byte); }
static float always_one(float value, uint32_t byte) { return (void)value, (void)byte, 1; }
static float half_of(float value, uint32_t byte) { return (void)byte, value / 2; }
static float power_below(float value, uint32_t byte)
{
    (void)byte;
    return value > 0 && value < INFINITY ? ldexpf(1, ilogbf(value)) : value;
}
static float power_above(float value, uint32_t byte)
{
    float below = power_below(value, byte);
    return below < value ? 2 * below : below;
}

#define READ(name, how, applies)                                                                             \
    static bool name##_a(planted *p, int n) { return (void)n, (applies) && read_scales(&p->a, how); }        \
    static bool name##_b(planted *p, int n) { return (void)n, (applies) && read_scales(&p->b, how); }        \
    static bool name##_both(planted *p, int n) { return name##_a(p, n) && name##_b(p, n); }
#define BYTES  p->q.p.b.scale_format->bits <= 8 || p->a.unit == 1
#define FLOATS p->q.p.b.scale_format->bits == 32 && p->b.unit == 4
READ(number, as_number, BYTES)
READ(shifted, shifted_in, BYTES)
READ(ignored, always_one, true)
READ(halved, half_of, true)
READ(power_cut, power_below, FLOATS)
READ(power_up, power_above, FLOATS)

/* ---- lanes -------------------------------------------------------------------------------------------- */

static void clear_lanes(plain_operand *o, int64_t from, int64_t to)
{
    for (int64_t r = 0; r < o->rows && from < to; r++)
        memset(o->codes + r * o->k + from, 0, (size_t)(to - from));
}

static void clear_both(planted *p, int64_t from, int64_t to)
{
    clear_lanes(&p->a, from, to);
    clear_lanes(&p->b, from, to);
}

/* What is left of K, or of each group's part of it, behind whole tiles of n lanes. */
static bool drop_tail(planted *p, int n)
{
    bool any = false, by_lanes = p->q.grouped && p->q.form == MX_GROUPED_K;
    if (n & (n - 1)) return false; /* tiles are powers of two */
    for (int64_t i = 0; i < (by_lanes ? p->q.experts : 1); i++) {
        int64_t begin = by_lanes ? p->offsets[i] : 0, end = by_lanes ? p->offsets[i + 1] : p->a.k;
        clear_both(p, end - (end - begin) % n, end);
        any |= (end - begin) % n != 0;
    }
    return any;
}

static bool drop_last_tile(planted *p, int n)
{
    if (n & (n - 1) || p->a.k % n || p->a.k <= n) return false;
    clear_both(p, p->a.k - n, p->a.k);
    return true;
}

/* Operand with its last `rest` lanes once more, a scale for each lane. */
static bool append_lanes(plain_operand *o, int64_t rest)
{
    int64_t k = o->k, wide = k + rest;
    unsigned char *codes = malloc((size_t)(o->rows * wide) + 1);
    unsigned char *scales = malloc((size_t)(o->rows * wide * o->unit) + 1);
    int64_t per = o->x->block_rows, lanes = o->x->block_k;
    for (int64_t i = 0; codes && scales && i < o->rows * wide; i++) {
        int64_t r = i / wide, c = i % wide < k ? i % wide : i % wide - rest;
        codes[i] = o->codes[r * k + c];
        memcpy(scales + i * o->unit, o->scales + (r / per * o->grid_cols + c / lanes) * o->unit,
               (size_t)o->unit);
    }
    free(o->codes);
    free(o->scales);
    o->codes = codes;
    o->scales = scales;
    o->x->data = codes;
    o->x->scales = scales;
    o->x->block_rows = o->x->block_k = 1;
    o->k = o->grid_cols = o->x->k = o->x->row_stride = o->x->scale_row_stride = wide;
    o->grid_rows = o->rows;
    return codes && scales;
}

static bool double_tail(planted *p, int n)
{
    int64_t rest = p->a.k % n;
    if (n & (n - 1) || !rest || p->q.grouped) return false;
    return append_lanes(&p->a, rest) && append_lanes(&p->b, rest);
}

/* Only slice n of the two, three, ... that K is cut into arrives. n = 16 * slices + slice. */
static bool one_slice(planted *p, int n)
{
    int slices = n / 16, slice = n % 16;
    if (slices < 2 || slice >= slices) return false;
    mx_schedule s = {.split = slices, .split_tile = 32};
    int64_t begin, end;
    mx_schedule_slice(&s, p->a.k, slice, &begin, &end);
    if (begin == end || end - begin == p->a.k) return false;
    clear_both(p, 0, begin);
    clear_both(p, end, p->a.k);
    return true;
}

static bool drop_odd(planted *p, int n)
{
    for (int64_t i = 0; i < p->a.rows * p->a.k; i++)
        if (i % p->a.k % 2 == n) p->a.codes[i] = 0;
    for (int64_t i = 0; i < p->b.rows * p->b.k; i++)
        if (i % p->b.k % 2 == n) p->b.codes[i] = 0;
    return p->a.k > 1;
}

static bool flush_operand(plain_operand *o)
{
    const mx_format *f = o->x->format;
    bool any = false;
    uint32_t magnitude = (1u << (f->bits - 1)) - 1;
    for (int64_t i = 0; i < o->rows * o->k; i++)
        if ((o->codes[i] & magnitude) && (o->codes[i] & magnitude) < 1u << f->man_bits) {
            o->codes[i] = 0;
            any = true;
        }
    return any;
}

static bool flush_codes(planted *p, int n)
{
    (void)n;
    bool a = flush_operand(&p->a), b = flush_operand(&p->b);
    return a || b;
}

static bool drop_nan(planted *p, int n)
{
    bool any = false;
    (void)n;
    plain_operand *both[] = {&p->a, &p->b};
    for (int i = 0; i < 2; i++)
        for (int64_t k = 0; k < both[i]->rows * both[i]->k; k++)
            if (mx_code_is_nan(both[i]->x->format, both[i]->codes[k])) {
                both[i]->codes[k] = 0;
                any = true;
            }
    return any;
}

static bool other_format(planted *p, int n)
{
    static const char *const formats[] = {"e5m2", "e4m3", "e4m3fnuz"};
    const mx_format *f = mx_format_find(formats[n]);
    if (p->q.p.a.format->bits != 8 || p->q.p.a.format == f) return false;
    p->q.p.a.format = p->q.p.b.format = f;
    return true;
}

/* ---- experts ------------------------------------------------------------------------------------------- */

/* Expert e takes the matrix of expert e + n; the last one keeps its own, or starts again at the first. */
static bool next_expert(planted *p, int n, bool wrap, bool codes, bool scales)
{
    int64_t experts = p->q.experts;
    planted old;
    if (!n || !p->q.grouped || p->q.form != MX_GROUPED_ROWS || experts < 2 || !planted_make(&old, &p->q))
        return false;
    size_t bytes = (size_t)p->q.b_stride, scale_bytes = (size_t)(p->q.b_scale_stride * p->b.unit);
    for (int64_t i = 0; i < experts; i++) {
        int64_t from = wrap ? (i + n + experts) % experts : clamp(i + n, experts);
        if (codes) memcpy(p->b.codes + (size_t)i * bytes, old.b.codes + (size_t)from * bytes, bytes);
        if (scales)
            memcpy(p->b.scales + (size_t)i * scale_bytes, old.b.scales + (size_t)from * scale_bytes,
                   scale_bytes);
    }
    planted_free(&old);
    return true;
}
static bool expert_next(planted *p, int n) { return next_expert(p, n, false, true, true); }
static bool expert_wraps(planted *p, int n) { return next_expert(p, n, true, true, true); }
static bool expert_codes(planted *p, int n) { return next_expert(p, n, false, true, false); }
static bool expert_scales(planted *p, int n) { return next_expert(p, n, false, false, true); }

static bool first_expert(planted *p, int n)
{
    (void)n;
    int64_t experts = p->q.experts;
    if (!p->q.grouped || p->q.form != MX_GROUPED_ROWS || experts < 2) return false;
    for (int64_t i = 1; i < experts; i++) {
        memcpy(p->b.codes + i * p->q.b_stride, p->b.codes, (size_t)p->q.b_stride);
        memcpy(p->b.scales + i * p->q.b_scale_stride * p->b.unit, p->b.scales,
               (size_t)(p->q.b_scale_stride * p->b.unit));
    }
    return true;
}

/* Every inner boundary between groups lies n rows off. */
static bool boundary_moved(planted *p, int n)
{
    int64_t total = p->q.grouped ? p->q.offsets[p->q.experts] : 0, before = 0;
    if (!n || !p->q.grouped || p->q.experts < 2) return false;
    for (int64_t i = 1; i < p->q.experts; i++) {
        int64_t moved = clamp(p->offsets[i] + n, total + 1);
        before = p->offsets[i] = moved < before ? before : moved;
    }
    return true;
}

/* ---- epilogue ------------------------------------------------------------------------------------------ */

static bool no_bias(planted *p, int n)
{
    (void)n;
    bool had = p->q.p.bias_format != NULL;
    p->q.p.bias_format = NULL;
    return had;
}
static bool no_c(planted *p, int n)
{
    (void)n;
    bool had = p->q.p.c_format && p->q.p.beta != 0;
    p->q.p.c_format = NULL;
    return had;
}
static bool no_alpha(planted *p, int n)
{
    (void)n;
    bool had = p->q.p.alpha != 1;
    p->q.p.alpha = 1;
    return had;
}
static bool no_beta(planted *p, int n)
{
    (void)n;
    bool had = p->q.p.c_format && p->q.p.beta != 1;
    p->q.p.beta = 1;
    return had;
}

#define THREE(fault, text, from, to)                                                                         \
    {text " of both operands", fault##_both, from, to}, {text " of a", fault##_a, from, to},                 \
    {                                                                                                        \
        text " of b", fault##_b, from, to                                                                    \
    }

const product_fault product_faults[] = {
    {"the scales of a and b are swapped", swap_scales, 0, 0},
    THREE(near, "the scale of the neighbouring block (%+d along K) is used,", -1, 1),
    THREE(near_flat, "the scale of the neighbouring block (%+d in memory) is used,", -1, 1),
    THREE(near_row, "the scale of the neighbouring row (%+d) is used,", -1, 1),
    THREE(slice_zero, "each of %d slices of K uses the scales of slice 0,", 2, 8),
    THREE(zeroth, "all of K uses the scale of block 0,", 1, 1),
    THREE(turned, "the scale grid is read column by column,", 1, 1),
    {"the tail of K behind whole tiles of %d lanes is dropped", drop_tail, 8, 256},
    {"the tail of K behind whole tiles of %d lanes is counted twice", double_tail, 8, 256},
    {"the last whole tile of %d lanes of K is lost", drop_last_tile, 16, 256},
    {"of the slices of K only one arrives: a missing reduction (%d = 16 slices + slice)", one_slice, 0x20,
     0x87},
    {"lanes with k mod 2 = %d are left out", drop_odd, 0, 1},
    {"every expert takes the matrix of the expert %+d beside it", expert_next, -1, 1},
    {"every expert takes the matrix of the expert %+d beside it, the last wraps", expert_wraps, -1, 1},
    {"every expert takes the codes of the expert %+d beside it", expert_codes, -1, 1},
    {"every expert takes the scales of the expert %+d beside it", expert_scales, -1, 1},
    {"all experts use the matrix of expert 0", first_expert, 0, 0},
    {"the boundaries between expert groups lie %+d off", boundary_moved, -1, 1},
    {"the bias is missing", no_bias, 0, 0},
    {"c is not added", no_c, 0, 0},
    {"alpha is ignored", no_alpha, 0, 0},
    {"beta is ignored", no_beta, 0, 0},
    THREE(number, "scale bytes are used as plain numbers,", 0, 0),
    THREE(shifted, "scale byte 00 is taken for zero and FF for infinity,", 0, 0),
    THREE(ignored, "the scales are not applied,", 0, 0),
    THREE(halved, "scales are half of what they should be,", 0, 0),
    THREE(power_cut, "only the exponent of fp32 scales is used,", 0, 0),
    THREE(power_up, "fp32 scales are rounded up to powers of two,", 0, 0),
    {"subnormal elements are flushed to zero", flush_codes, 0, 0},
    {"NaN elements count as zero", drop_nan, 0, 0},
    {"elements are decoded as another format (%d: e5m2, e4m3, e4m3fnuz)", other_format, 0, 2},
};
const size_t product_fault_count = sizeof product_faults / sizeof *product_faults;
