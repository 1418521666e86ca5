/* SPDX-License-Identifier: Apache-2.0
 *
 * fast_plan.h - a recipe reduced to what the fast path's kernels take. Private to emu/. */
#ifndef EMU_FAST_PLAN_H
#define EMU_FAST_PLAN_H

#include "fast_kernels.h"
#include "recipe.h"

typedef enum fast_scale {
    FAST_UNSCALED, /* a plain cast */
    FAST_FIXED,    /* one factor for all */
    FAST_E8M0,     /* `e8m0`, in vectors */
    FAST_PLANNED   /* mx_plan_make() for each block: slower, and free of a second implementation */
} fast_scale;

typedef struct fast_plan {
    const mx_recipe *recipe;
    const mx_format *source;
    fast_cast cast;
    fast_scaling op; /* of an element and its block's factor */
    int block_rows;  /* at least 1 */
    int block_cols;  /* a power of two up to FAST_CHUNK */
    fast_scale scale;
    float fixed;
    fast_e8m0 e8m0;
    float global_amax;
} fast_plan;

typedef struct fast_reader {
    const mx_recipe *recipe;
    const mx_format *to;
    fast_uncast uncast;
} fast_reader;

/* Elements of a row that are worked on at a time, so that they are still in cache when they are cast. */
enum { FAST_CHUNK = 1024 };

/* Constants for casting to and from `element`, a signed float format of at most 8 bits; false where the
 * kernels do not follow its arithmetic. `nan_code` is what NaN of either sign becomes. */
bool mx_fast_cast_for(const mx_format *element, uint32_t nan_code, fast_cast *out);
bool mx_fast_uncast_for(const mx_format *element, fast_uncast *out);

/* Quantise x by a plan with one instruction set. Buffers as in mx_quantize(). */
void mx_fast_run(const fast_isa *isa, const fast_plan *plan, const mx_matrix *x, int threads,
                 const mx_quantized *out);
/* Largest magnitude of a whole matrix, by a recipe's NaN policy; 0 if it is empty. */
float mx_fast_amax(const fast_isa *isa, mx_amax_nan nan, const mx_matrix *x, int threads);
/* Dequantise rows x cols codes into y. Buffers as in mx_dequantize(). */
void mx_fast_read(const fast_isa *isa, const fast_reader *reader, const mx_quantized *q, int64_t rows,
                  int64_t cols, void *y, int64_t pitch, int threads);

const fast_isa *mx_fast_current(void); /* NULL: scalar code only */
fast_source mx_fast_source(const mx_format *f);

#endif
