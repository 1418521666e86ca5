/* SPDX-License-Identifier: Apache-2.0
 * Grouped products of mixture-of-experts layers: one product per expert. */
#include <string.h>

#include "gemm.h"

static int64_t code_bytes(const mx_format *f) { return f->bits <= 8 ? 1 : f->bits <= 16 ? 2 : 4; }

static const void *shift(const mx_format *f, const void *data, int64_t by)
{
    return f && data ? (const char *)data + by * code_bytes(f) : data;
}

static mx_status check_offsets(const int64_t *offsets, int64_t experts, int64_t total, mx_error *e)
{
    if (experts < 1 || offsets[0] != 0 || offsets[experts] != total)
        return mx_fail(e, MX_BAD_INPUT, "offsets", "offsets must run from 0 to %lld over at least one group",
                       (long long)total);
    for (int64_t i = 0; i < experts; i++)
        if (offsets[i + 1] < offsets[i])
            return mx_fail(e, MX_BAD_INPUT, "offsets", "group %lld ends before it starts", (long long)i);
    return MX_OK;
}

/* Rows of a, d and c that belong to one expert, and the expert's b. */
static mx_status rows_of_expert(const mx_product *p, int64_t first, int64_t n, int64_t b_shift,
                                int64_t scale_shift, mx_product *out, mx_error *e)
{
    *out = *p;
    out->b.data = shift(p->b.format, p->b.data, b_shift);
    out->b.scales = shift(p->b.scale_format, p->b.scales, scale_shift);
    out->c = shift(p->c_format, p->c, first * p->c_pitch);
    out->d = (char *)p->d + first * p->d_pitch * code_bytes(p->d_format);
    return mx_operand_rows(&p->a, first, n, &out->a, e);
}

static mx_status lanes_of_expert(const mx_product *p, int64_t first, int64_t n, int64_t expert,
                                 mx_product *out, mx_error *e)
{
    *out = *p;
    out->d = (char *)p->d + expert * p->a.rows * p->d_pitch * code_bytes(p->d_format);
    out->c = shift(p->c_format, p->c, expert * p->a.rows * p->c_pitch);
    mx_status status = mx_operand_lanes(&p->a, first, n, &out->a, e);
    return status ? status : mx_operand_lanes(&p->b, first, n, &out->b, e);
}

static void write_zeros(const mx_product *p)
{
    for (int64_t i = 0; i < p->a.rows; i++)
        memset((char *)p->d + i * p->d_pitch * code_bytes(p->d_format), 0,
               (size_t)(p->b.rows * code_bytes(p->d_format)));
}

mx_status mx_gemm_grouped(const mx_product *p, mx_grouped_form form, const int64_t *offsets, int64_t experts,
                          int64_t b_stride, int64_t b_scale_stride, mx_error *e)
{
    if (!p->a.format || !p->b.format || !p->d_format)
        return mx_fail(e, MX_BAD_USAGE, "product", "a grouped product needs formats of a, b and d");
    mx_status status = check_offsets(offsets, experts, form == MX_GROUPED_ROWS ? p->a.rows : p->a.k, e);
    for (int64_t i = 0; i < experts && !status; i++) {
        int64_t first = offsets[i], n = offsets[i + 1] - first;
        mx_product one;
        if (form == MX_GROUPED_ROWS)
            status = rows_of_expert(p, first, n, i * b_stride, i * b_scale_stride, &one, e);
        else
            status = lanes_of_expert(p, first, n, i, &one, e);
        if (status) return status;
        if (n)
            status = mx_gemm(&one, e);
        else if (form == MX_GROUPED_K)
            write_zeros(&one);
    }
    return status;
}
