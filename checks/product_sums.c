/* SPDX-License-Identifier: Apache-2.0 */
#include "product_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct loop {
    int bits; /* significant bits that the accumulator keeps */
    bool to_zero, descending, halves;
    const char *cause;
} loop;

static const loop loops[] = {
    {24, false, true, false, "K is walked in descending order"},
    {24, false, false, true, "two sums run beside each other, over even and odd lanes, and are added last"},
    {8, false, false, false, "the accumulator keeps 8 bits (bf16), rounded at each step"},
    {8, true, false, false, "the accumulator keeps 8 bits (bf16), cut at each step"},
    {11, false, false, false, "the accumulator keeps 11 bits (fp16), rounded at each step"},
    {11, true, false, false, "the accumulator keeps 11 bits (tf32, fp16), cut at each step"},
    {14, true, false, false, "the accumulator keeps 14 bits, cut at each step"},
    {14, false, false, false, "the accumulator keeps 14 bits, rounded at each step"},
    {24, true, false, false, "the fp32 accumulator is cut at each step instead of rounded"},
};

static size_t code_bytes(const mx_format *f) { return f->bits <= 16 ? 2 : 4; }

static uint32_t code_at(const mx_format *f, const void *d, int64_t i)
{
    uint32_t code = 0;
    memcpy(&code, (const char *)d + (size_t)i * code_bytes(f), code_bytes(f));
    return code;
}

static uint32_t encode(const mx_format *f, double x, mx_rounding rounding)
{
    mx_cast cast = {rounding, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};
    return mx_encode(f, x, &cast, 0);
}

static bool same(const mx_format *f, uint32_t x, uint32_t y)
{
    return x == y || (mx_code_is_nan(f, x) && mx_code_is_nan(f, y));
}

/* ---- one loop ------------------------------------------------------------------------------------------ */

static void load_row(const mx_operand *x, int64_t row, bool bf16, double *out)
{
    const mx_format *to = mx_format_find("bf16");
    for (int64_t k = 0; k < x->k; k++) {
        int64_t at = row / x->block_rows * x->scale_row_stride + k / x->block_k * x->scale_k_stride;
        uint32_t code = ((const uint8_t *)x->scales)[at];
        if (x->scale_format->bits == 32) memcpy(&code, (const char *)x->scales + 4 * at, 4);
        out[k] = mx_decode(x->format, ((const uint8_t *)x->data)[row * x->row_stride + k * x->k_stride]) *
                 mx_decode(x->scale_format, code);
        if (bf16) out[k] = mx_decode(to, encode(to, out[k], MX_RNE));
    }
}

/* a * b + sum to `bits` bits. In double, a product is exact and the sum is rounded to 53 bits first: that is
 * told apart from the truth in one of 2^28 sums, which the comparison of all outputs can bear. */
static double step(const loop *l, double sum, double a, double b)
{
    if (l->bits == 24 && !l->to_zero) return (double)fmaf((float)a, (float)b, (float)sum);
    double x = fma(a, b, sum);
    if (!isfinite(x) || x == 0) return x;
    int exponent;
    double m = ldexp(frexp(x, &exponent), l->bits);
    return ldexp(l->to_zero ? trunc(m) : rint(m), exponent - l->bits);
}

static double run_loop(const loop *l, const double *a, const double *b, int64_t k)
{
    double sum[2] = {0, 0};
    for (int64_t i = 0; i < k; i++) {
        int64_t at = l->descending ? k - 1 - i : i;
        double *to = &sum[l->halves && i % 2];
        *to = step(l, *to, a[at], b[at]);
    }
    return l->halves ? (double)((float)sum[0] + (float)sum[1]) : sum[0];
}

/* Are all outputs those of the loop? Stops at the first that is not. */
static bool fits(const product *q, const void *got, const loop *l, double *a, double *b)
{
    bool bf16 = q->p.schedule.convert == MX_CONVERT_BF16;
    for (int64_t r = 0; r < q->rows; r++) {
        mx_product one;
        int64_t local;
        if (product_of_row(q, r, &one, &local, NULL)) return false;
        load_row(&one.a, local, bf16, a);
        for (int64_t c = 0; c < q->cols; c++) {
            load_row(&one.b, c, bf16, b);
            uint32_t code = encode(q->p.d_format, run_loop(l, a, b, one.a.k), MX_RNE);
            if (!same(q->p.d_format, code, code_at(q->p.d_format, got, r * q->cols + c))) return false;
        }
    }
    return q->rows && q->cols;
}

/* ---- results ------------------------------------------------------------------------------------------- */

static bool negated(const product *q, const void *got, const void *want)
{
    const mx_format *f = q->p.d_format;
    uint32_t sign = (uint32_t)1 << (f->bits - 1);
    for (int64_t i = 0; i < q->rows * q->cols; i++)
        if (!same(f, code_at(f, got, i), code_at(f, want, i) ^ sign)) return false;
    return q->rows && q->cols;
}

/* The claimed sums in fp32, cut to the output format. */
static bool is_cut(const product *q, const void *got)
{
    const mx_format *f = q->p.d_format;
    product wide = *q;
    int64_t n = q->rows * q->cols;
    float *d = f->bits < 32 && q->p.model ? malloc((size_t)n * sizeof *d + 1) : NULL;
    wide.p.d_format = mx_format_find("f32");
    bool good = d && product_run(&wide, d, NULL) == MX_OK;
    for (int64_t i = 0; i < n && good; i++)
        good = same(f, encode(f, (double)d[i], MX_RTZ), code_at(f, got, i));
    free(d);
    return good && n;
}

void causes_note(causes *all, const char *text)
{
    if (all->n < FINDING_CAUSES) snprintf(all->text[all->n++], sizeof all->text[0], "%s", text);
}

void product_sums_explain(const product *q, const void *got, const void *want, causes *all)
{
    if (negated(q, got, want)) causes_note(all, "the sign of every output is inverted");
    if (is_cut(q, got)) causes_note(all, "the fp32 result is cut, not rounded, to the output format");
    if (q->p.alpha != 1 || q->p.c_format || q->p.bias_format || q->p.a.format->bits > 8) return;
    double *row = malloc((size_t)(2 * q->p.a.k + 1) * sizeof *row);
    for (size_t i = 0; i < sizeof loops / sizeof *loops && row; i++)
        if (fits(q, got, &loops[i], row, row + q->p.a.k)) causes_note(all, loops[i].cause);
    free(row);
}
