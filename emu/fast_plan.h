/* SPDX-License-Identifier: Apache-2.0
 *
 * fast_plan.h - a recipe reduced to the numbers that the fast path's kernels take. Private to emu/. */
#ifndef EMU_FAST_PLAN_H
#define EMU_FAST_PLAN_H

#include "fast_kernels.h"
#include "mx.h"

typedef enum fast_scale { FAST_UNSCALED, FAST_E8M0, FAST_FP32 } fast_scale;

typedef struct fast_plan {
    fast_cast cast;
    fast_scaling op;  /* of an element and its block's factor */
    bool skip_nan;    /* amax ignores NaN elements */
    int block_rows;   /* at least 1 */
    int block_cols;   /* 1 to FAST_CHUNK */
    fast_scale scale; /* which of the two below applies */
    fast_e8m0 e8m0;
    fast_fp32 fp32;
} fast_plan;

/* Elements of a row that are worked on at a time, so that they are still in cache when they are cast. */
enum { FAST_CHUNK = 1024 };

/* Constants for casting to and from `element`, a signed float format of at most 8 bits; false where the
 * kernels do not follow its arithmetic. `nan_code` is what NaN of either sign becomes. */
bool mx_fast_cast_for(const mx_format *element, uint32_t nan_code, fast_cast *out);
bool mx_fast_uncast_for(const mx_format *element, fast_uncast *out);

/* Quantise x by a plan with one instruction set. Buffers as in mx_quantize(). */
void mx_fast_run(const fast_isa *isa, const fast_plan *plan, const mx_matrix *x, int threads,
                 const mx_quantized *out);

const fast_isa *mx_fast_current(void); /* NULL: scalar code only */

#endif
