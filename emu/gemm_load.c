/* SPDX-License-Identifier: Apache-2.0
 * Operands into panels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_load.h"

static size_t code_bytes(const mx_format *f) { return f->bits <= 8 ? 1 : f->bits <= 16 ? 2 : 4; }

static uint32_t load_code(const mx_format *f, const void *data, int64_t at)
{
    switch (code_bytes(f)) {
    case 1: return ((const uint8_t *)data)[at];
    case 2: return ((const uint16_t *)data)[at];
    default: return ((const uint32_t *)data)[at];
    }
}

float mx_load_value(const mx_format *f, const void *data, int64_t at)
{
    if (f->bits == 32) return ((const float *)data)[at];
    return (float)mx_decode(f, load_code(f, data, at));
}

void mx_store_value(const mx_format *f, void *data, int64_t at, float x)
{
    mx_cast cast = MX_CAST_DEFAULT;
    if (f->bits > 8) cast.overflow = MX_OVERFLOW;
    if (f->bits == 32 && !isnan(x)) { /* most products: no rounding to do */
        memcpy((uint32_t *)data + at, &x, sizeof x);
        return;
    }
    uint32_t code = mx_encode(f, (double)x, &cast, 0);
    switch (code_bytes(f)) {
    case 1: ((uint8_t *)data)[at] = (uint8_t)code; break;
    case 2: ((uint16_t *)data)[at] = (uint16_t)code; break;
    default: ((uint32_t *)data)[at] = code;
    }
}

/* ---- operands ---------------------------------------------------------------------------------------- */

mx_operand mx_operand_dense(const mx_format *format, const void *data, int64_t rows, int64_t k)
{
    return (mx_operand){.format = format, .data = data, .rows = rows, .k = k, .row_stride = k, .k_stride = 1};
}

mx_operand mx_operand_scaled(const mx_format *format, const void *data, int64_t rows, int64_t k,
                             const mx_format *scale_format, const void *scales, int64_t block_rows,
                             int64_t block_k)
{
    mx_operand x = mx_operand_dense(format, data, rows, k);
    x.scale_format = scale_format;
    x.scales = scales;
    x.block_rows = block_rows;
    x.block_k = block_k;
    x.scale_k_stride = 1;
    x.scale_row_stride = k / block_k + (k % block_k != 0);
    return x;
}

static const void *advance(const mx_format *f, const void *data, int64_t by)
{
    return data ? (const char *)data + by * (int64_t)code_bytes(f) : NULL;
}

static mx_status cut_out(const mx_operand *x, int64_t first, int64_t n, int64_t size, int64_t block,
                         mx_error *e)
{
    if (first < 0 || n < 0 || first > size || n > size - first)
        return mx_fail(e, MX_BAD_USAGE, "operand", "%lld + %lld lies outside %lld", (long long)first,
                       (long long)n, (long long)size);
    if (x->scale_format && n && first % block)
        return mx_fail(e, MX_UNSUPPORTED, "operand", "%lld is no multiple of the scale block %lld",
                       (long long)first, (long long)block);
    return MX_OK;
}

mx_status mx_operand_rows(const mx_operand *x, int64_t first, int64_t n, mx_operand *out, mx_error *e)
{
    mx_status status = cut_out(x, first, n, x->rows, x->block_rows, e);
    if (status) return status;
    *out = *x;
    out->rows = n;
    if (!n) return MX_OK;
    out->data = advance(x->format, x->data, first * x->row_stride);
    if (x->scale_format)
        out->scales = advance(x->scale_format, x->scales, first / x->block_rows * x->scale_row_stride);
    return MX_OK;
}

mx_status mx_operand_lanes(const mx_operand *x, int64_t first, int64_t n, mx_operand *out, mx_error *e)
{
    mx_status status = cut_out(x, first, n, x->k, x->block_k, e);
    if (status) return status;
    *out = *x;
    out->k = n;
    if (!n) return MX_OK;
    out->data = advance(x->format, x->data, first * x->k_stride);
    if (x->scale_format)
        out->scales = advance(x->scale_format, x->scales, first / x->block_k * x->scale_k_stride);
    return MX_OK;
}

static int64_t scale_index(const mx_operand *x, int64_t row, int64_t lane)
{
    return row / x->block_rows * x->scale_row_stride + lane / x->block_k * x->scale_k_stride;
}

void mx_load_factors(const mx_operand *x, int64_t row, int64_t n, int64_t lane, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] =
            x->scale_format ? mx_load_value(x->scale_format, x->scales, scale_index(x, row + i, lane)) : 1;
}

/* ---- where scales enter ------------------------------------------------------------------------------ */

static bool constant_over(const mx_operand *x, int64_t lanes)
{
    return !x->scale_format || x->block_k % lanes == 0 || x->block_k >= x->k;
}

static bool unit_takes(const mx_model *m, const mx_operand *x)
{
    if (!x->scale_format) return true;
    int block = m->scale_block ? m->scale_block : 1;
    return mx_model_takes_scale(m, x->scale_format) && (x->block_k % block == 0 || x->block_k >= x->k);
}

mx_status mx_scale_place_find(const mx_product *p, mx_scale_place *out, mx_error *e)
{
    const mx_operand *a = &p->a, *b = &p->b;
    int64_t stretch = (int64_t)p->schedule.promote * p->model->k;
    bool same = !a->scale_format || !b->scale_format || a->scale_format == b->scale_format;
    if ((a->scale_format && (a->block_k < 1 || a->block_rows < 1)) ||
        (b->scale_format && (b->block_k < 1 || b->block_rows < 1)))
        return mx_fail(e, MX_BAD_USAGE, "product", "a scaled operand needs block sizes of at least 1");
    if (p->schedule.convert)
        *out = MX_PLACE_BEFORE;
    else if (!a->scale_format && !b->scale_format)
        *out = MX_PLACE_NONE;
    else if (same && p->model->scales && unit_takes(p->model, a) && unit_takes(p->model, b))
        *out = MX_PLACE_UNIT;
    else if (constant_over(a, a->k + 1) && constant_over(b, b->k + 1))
        *out = MX_PLACE_EPILOGUE;
    else if (stretch && constant_over(a, stretch) && constant_over(b, stretch))
        *out = MX_PLACE_PROMOTION;
    else
        return mx_fail(e, MX_UNSUPPORTED, "product",
                       "model %s takes no such scales inside, and the schedule gives them no place: promote "
                       "within scale blocks, or dequantise first",
                       p->model->name);
    return MX_OK;
}

const mx_format *mx_unit_format(const mx_product *p, const mx_operand *x)
{
    static const char *const names[] = {NULL, "bf16", "f16", "tf32"};
    return p->schedule.convert ? mx_format_find(names[p->schedule.convert]) : x->format;
}

/* ---- panels ------------------------------------------------------------------------------------------ */

/* The longest stretch of lanes over which neither operand's scale changes, counted from lane 0. */
static int64_t common_block(const mx_operand *a, const mx_operand *b)
{
    int64_t x = a->scale_format ? a->block_k : b->block_k, y = b->scale_format ? b->block_k : x;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

bool mx_panel_make(mx_panel *panel, const mx_product *p, const mx_operand *x, mx_scale_place place,
                   int64_t rows, int64_t k)
{
    memset(panel, 0, sizeof *panel);
    panel->format = mx_unit_format(p, x);
    panel->codes = malloc((size_t)(rows * k) * sizeof *panel->codes);
    if (place != MX_PLACE_UNIT) return panel->codes != NULL;
    int64_t block = p->model->scale_block ? p->model->scale_block : common_block(&p->a, &p->b);
    panel->scale_block = (int)(block < k ? block : k);
    panel->scale_format = p->a.scale_format ? p->a.scale_format : p->b.scale_format;
    panel->scales = malloc((size_t)(rows * (k / panel->scale_block + 1)));
    return panel->codes && panel->scales;
}

void mx_panel_free(mx_panel *panel)
{
    free(panel->codes);
    free(panel->scales);
}

/* The value of an element with its scales, and the code that it becomes. cvt.rna.tf32 rounds ties away; the
 * others to even. */
static uint32_t converted(const mx_operand *x, const mx_format *to, int64_t row, int64_t lane, double *exact)
{
    mx_cast cast = {MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};
    double value =
        mx_decode(x->format, load_code(x->format, x->data, row * x->row_stride + lane * x->k_stride));
    if (x->scale_format)
        value *= mx_decode(x->scale_format, load_code(x->scale_format, x->scales, scale_index(x, row, lane)));
    if (x->global != 0) value *= (double)x->global;
    *exact = value;
    return mx_encode(to, value, &cast, 0);
}

int64_t mx_operand_inexact_bf16(const mx_operand *x)
{
    const mx_format *bf16 = mx_format_find("bf16");
    int64_t n = 0;
    for (int64_t row = 0; row < x->rows; row++)
        for (int64_t lane = 0; lane < x->k; lane++) {
            double exact;
            uint32_t code = converted(x, bf16, row, lane, &exact);
            n += !isnan(exact) && mx_decode(bf16, code) != exact;
        }
    return n;
}

void mx_load_codes(const mx_operand *x, int64_t row, int64_t lane, int64_t n, uint32_t *to)
{
    int64_t at = row * x->row_stride + lane * x->k_stride, step = x->k_stride;
    if (code_bytes(x->format) == 1) {
        const uint8_t *from = (const uint8_t *)x->data + at;
        for (int64_t k = 0; k < n; k++)
            to[k] = from[k * step];
    } else
        for (int64_t k = 0; k < n; k++)
            to[k] = load_code(x->format, x->data, at + k * step);
}

void mx_panel_load(mx_panel *panel, const mx_product *p, const mx_operand *x, int64_t row, int64_t rows,
                   int64_t lane, int64_t k)
{
    double exact;
    panel->rows = rows;
    panel->k = k;
    for (int64_t i = 0; i < rows; i++) {
        if (!p->schedule.convert)
            mx_load_codes(x, row + i, lane, k, panel->codes + i * k);
        else
            for (int64_t l = 0; l < k; l++)
                panel->codes[i * k + l] = converted(x, panel->format, row + i, lane + l, &exact);
    }
    if (!panel->scale_format) return;
    int64_t n = (k + panel->scale_block - 1) / panel->scale_block;
    uint8_t one = (uint8_t)(panel->scale_format->bias << panel->scale_format->man_bits);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t s = 0; s < n; s++)
            panel->scales[i * n + s] =
                x->scale_format ? (uint8_t)load_code(x->scale_format, x->scales,
                                                     scale_index(x, row + i, lane + s * panel->scale_block))
                                : one;
}
