/* SPDX-License-Identifier: Apache-2.0
 *
 * generate.h - how golden cases are made: inputs chosen for a reason, wanted outputs by the scalar emulator.
 *
 * Everything is a function of tables and seeds, so that the committed set can be made again byte for byte. */
#ifndef CHECKS_GENERATE_H
#define CHECKS_GENERATE_H

#include "case.h"

/* The cases of one vector file while it is made. The first error sticks; later calls do nothing. */
typedef struct gen {
    mx_case *cases;
    size_t n, room;
    mx_error *error;
    mx_status status;
} gen;

void gen_init(gen *g, mx_error *error);
void gen_free(gen *g); /* frees the cases and their tensors */

/* A new case of `operation` under `recipe`; NULL after an error. Flags are comma-separated names of flags.c.
 */
mx_case *gen_case(gen *g, const char *operation, const char *recipe, const char *flags, const char *reason,
                  const char *id_format, ...) __attribute__((format(printf, 6, 7)));

/* A zeroed input tensor of the case, in file as `tensor` (equal names share storage when equal in bytes). */
mx_tensor *gen_input(gen *g, mx_case *c, const char *role, const char *tensor, const char *dtype,
                     int64_t rows, int64_t cols);

/* Set element i: from fp32 bits or a value, rounded to nearest even into the tensor's dtype (never
 * saturated). */
void gen_set_bits(mx_tensor *t, int64_t i, uint32_t f32_bits);
void gen_set_value(mx_tensor *t, int64_t i, double value);

/* Fill in what the emulator answers; the case is complete then. */
void gen_answer(gen *g, mx_case *c);

/* One row per vector file. */
typedef struct gen_file {
    const char *name; /* "cast.safetensors" */
    void (*make)(gen *g);
} gen_file;
extern const gen_file gen_files[];
extern const size_t gen_file_count;

void gen_cast(gen *g);     /* element casts: midpoints, codes, edges, all 65536 16-bit inputs */
void gen_scales(gen *g);   /* blocks whose amax sweeps every rule's thresholds */
void gen_special(gen *g);  /* NaN, Inf, zeros, tiny values in each position */
void gen_shapes(gen *g);   /* odd sizes, tails, pitch, misaligned bases, empty tensors */
void gen_data(gen *g);     /* realistic tensors; large ones as a recipe with a digest */
void gen_decode(gen *g);   /* every code under every scale byte */
void gen_layouts(gen *g);  /* scale grids and nibbles in their layouts, expert groups */
void gen_fused(gen *g);    /* SwiGLU with quantisation, forward and backward */
void gen_bugs(gen *g);     /* public faults with their right bits */
void gen_noise(gen *g);    /* stochastic rounding, judged by its distribution */
void gen_products(gen *g); /* products, dense and grouped */

#endif
