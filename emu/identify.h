/* SPDX-License-Identifier: Apache-2.0
 *
 * identify.h - which arithmetic gives these bits? Accumulation models and schedules found by search.
 *
 * A product that a kernel computed is explained by every row of the model table under every schedule of the
 * search space: chain; promotion every 1, 2, 4, 8 or 16 instructions by FADD or FFMA; split-K by 2 to 16
 * slices in tiles of 32, 64, 128 or 256, added up, down or as a tree; sliced K and short first tiles;
 * operands converted to bf16, f16 or tf32 first; scales applied wherever the recipe allows. A hypothesis
 * stands only if it gives every bit of every output. */
#ifndef MX_IDENTIFY_H
#define MX_IDENTIFY_H

#include "gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_hypothesis {
    const mx_model *model;
    mx_schedule schedule;
    int64_t compared; /* outputs that were computed; all of them if none of a sample differed */
    int64_t differ;   /* of those, how many have other bits (NaN equals NaN) */
    int64_t
        max_ulp; /* largest distance in units of the output format's last place; INT64_MAX: a class differs */
} mx_hypothesis;

/* Explain seen->d, the outputs of a kernel for operands seen->a, seen->b (with c, bias, alpha, beta, if it
 * had them); seen->model and seen->schedule are ignored. Fills at most `room` hypotheses, those that give
 * every bit first, simplest schedule first, then the nearest; *n says how many were filled and *exact how
 * many of them give every bit. MX_UNSUPPORTED: no row of the table takes such operands. */
mx_status mx_identify_product(const mx_product *seen, mx_hypothesis *out, size_t room, size_t *n,
                              size_t *exact, mx_error *e);

/* "sm90-wgmma-fp8-f32, promote:4 (confirmed on an H200): 1024 of 1024 outputs" ; returns `out`. */
const char *mx_hypothesis_text(const mx_hypothesis *h, char *out, size_t size);

/* One dot product by the kernel: n lanes of codes, c and the result as codes of the accumulator. Lanes beyond
 * the kernel's own K are 0. Returns false if it could not run. */
typedef bool (*mx_dot_runner)(void *context, const uint32_t *a, const uint32_t *b, int n, uint32_t c,
                              uint32_t *d);

/* What probing found of a single instruction. */
typedef struct mx_unit_answer {
    const mx_model *models[8]; /* rows that answer every probe as seen */
    int n_models;
    mx_model nearest;   /* where none does: a row with L, F, cut, result and order of C fitted */
    int probes, differ; /* of `nearest`, or of models[0] */
} mx_unit_answer;

/* Run probes of width, truncation, group size, order and the place of C, and random dot products over wide
 * and narrow exponent ranges, all of n lanes; name the rows that reproduce every bit. */
mx_status mx_identify_unit(const mx_format *a, const mx_format *b, int n, bool f16_accumulator,
                           mx_dot_runner run, void *context, mx_unit_answer *out, mx_error *e);

#ifdef __cplusplus
}
#endif
#endif
