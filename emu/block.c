/* SPDX-License-Identifier: Apache-2.0
 * One block: amax, plan, elements. */
#include "f32.h"
#include "plan.h"
#include "random.h"

float mx_amax_join(float a, float b) { return isnan(a) || isnan(b) ? f32_from(0x7FFFFFFF) : fmaxf(a, b); }

float mx_block_amax(const mx_recipe *r, const mx_block *b, float so_far)
{
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->cols; j++) {
            float a = fabsf(b->x[i * b->row_stride + j * b->col_stride]);
            if (!isnan(a))
                so_far = a > so_far ? a : so_far; /* false for a NaN so far, which stays */
            else if (r->amax_nan == MX_AMAX_PROPAGATE)
                so_far = a;
            else if (r->amax_nan == MX_AMAX_AS_INF)
                so_far = INFINITY;
        }
    return so_far;
}

void mx_plan_encode_block(const mx_recipe *r, const mx_plan *p, const mx_block *b, uint8_t *codes,
                          int64_t code_stride)
{
    bool draws = r->cast.rounding == MX_STOCHASTIC;
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->cols; j++) {
            uint64_t index = b->index + (uint64_t)i * b->index_stride + (uint64_t)j;
            uint32_t random = draws ? mx_random_u32(b->seed, 0, index) : 0;
            float x = b->x[i * b->row_stride + j * b->col_stride];
            codes[i * code_stride + j] = (uint8_t)mx_plan_encode(r, p, x, random);
        }
}

/* 4/6: the summed error of a block's codes under a plan, element after element in fp32, as the kernel sums
 * it: decoded = ((q * d) * G) / (6 * max). */
static float block_error(const mx_recipe *r, const mx_plan *p, const mx_block *b, const uint8_t *codes,
                         int64_t code_stride)
{
    float sum = 0, d = (float)mx_scale_value(r, p->stored),
          whole = r->nv_max * (float)mx_format_max(r->element);
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->cols; j++) {
            float q = (float)mx_decode(r->element, codes[i * code_stride + j]);
            float e = q * d * b->global_amax / whole - b->x[i * b->row_stride + j * b->col_stride];
            sum += r->nv_mse ? e * e : fabsf(e);
        }
    return sum;
}

uint32_t mx_quantize_block(const mx_recipe *r, const mx_block *b, uint8_t *codes, int64_t code_stride)
{
    float amax = r->scale ? mx_block_amax(r, b, 0) : 0;
    mx_plan six = mx_plan_make(r, amax, b->global_amax, b->source, 0);
    bool two = r->scale && r->global_form != MX_GLOBAL_NONE && r->nv_scale == MX_NV_FOUR_SIX;
    if (!two) return mx_plan_encode_block(r, &six, b, codes, code_stride), six.stored;

    mx_plan four = mx_plan_make(r, amax, b->global_amax, b->source, 1);
    mx_plan_encode_block(r, &four, b, codes, code_stride);
    float error4 = block_error(r, &four, b, codes, code_stride);
    mx_plan_encode_block(r, &six, b, codes, code_stride);
    float error6 = block_error(r, &six, b, codes, code_stride);
    if (!(error4 < error6)) return six.stored; /* ties go to 6 */
    mx_plan_encode_block(r, &four, b, codes, code_stride);
    return four.stored;
}

/* Fixed signs of the transform in TransformerEngine and torchao. */
static const int8_t hadamard_signs[16] = {1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

/* Sums are taken in fp64, where 16 bf16 values of a common range add exactly, then rounded once. */
void mx_hadamard16(float *x, int64_t n)
{
    const mx_format *bf16 = mx_format_find("bf16");
    mx_cast cast = MX_CAST_DEFAULT;
    double y[16];
    cast.overflow = MX_OVERFLOW;
    for (int k = 0; k < 16; k++) {
        y[k] = 0;
        for (int i = 0; i < 16 && i < n; i++)
            y[k] += (double)x[i] * hadamard_signs[i] * (__builtin_parity((unsigned)(i & k)) ? -0.25 : 0.25);
    }
    for (int64_t k = 0; k < 16 && k < n; k++)
        x[k] = (float)mx_decode(bf16, mx_encode(bf16, y[k], &cast, 0));
}
