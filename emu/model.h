/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h - accumulation models: how a matrix unit adds up a dot product, to the last bit.
 *
 * A model is a row of one table (model_rows.c). A step is one instruction: D = C + sum over its K lanes of
 * a[k] * b[k]; a chain feeds each D into the next instruction as C, K ascending. Everything above the
 * instruction (promotion, split-K, epilogue) is a schedule: schedule.h. Whole products: gemm.h.
 *
 * The scalar code here is the plain one and the judge of the fast paths (model_fast.h). Rows that nobody
 * has measured say so in `evidence`; print mx_model_words() wherever a model's name is shown. */
#ifndef MX_MODEL_H
#define MX_MODEL_H

#include "mx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mx_model_kind {
    MX_MODEL_FUSED,      /* align all terms to the largest exponent, cut, add exactly, convert once */
    MX_MODEL_GROUPED,    /* exact sums of 16 lanes, then FUSED over them, aligned by scale exponents alone */
    MX_MODEL_EXACT,      /* the exact sum of C and all lanes, rounded once to nearest even */
    MX_MODEL_FMA,        /* d = fma(a, b, d), fp32, k ascending */
    MX_MODEL_MUL_ADD,    /* d = d + round(a * b), fp32, k ascending */
    MX_MODEL_PAIRWISE,   /* products in fp32, halves added recursively in fp32, C last */
    MX_MODEL_FLUSH_TREE, /* CDNA2: fp32 pairwise tree over L products, then C; subnormals flushed throughout
                          */
    MX_MODEL_TWO_STAGE   /* CDNA3: fused sum of products, then a floored join with C, RNE */
} mx_model_kind;

/* How an exact sum becomes the accumulator's bits. */
typedef enum mx_model_output {
    MX_OUT_F32_RZ,   /* 24 significant bits, toward zero, down to 2^-149; >= 2^128: Inf */
    MX_OUT_E8M13_RZ, /* 14 significant bits in an fp32 register, toward zero, down to 2^-139 */
    MX_OUT_F16_RNE,  /* binary16, nearest even, subnormals kept, overflow to Inf */
    MX_OUT_F32_RNE   /* binary32, nearest even */
} mx_model_output;

/* How a term loses the bits below the common grid. */
typedef enum mx_model_cut { MX_CUT_ZERO, MX_CUT_FLOOR, MX_CUT_NEAREST } mx_model_cut;

#define MX_NO_FLOOR INT16_MIN

/* One row. Columns that a kind does not use are 0. */
typedef struct mx_model {
    const char *name;
    const char *inputs; /* formats of a and b, comma-separated; any pair of them */
    mx_model_kind kind;
    int16_t lanes;    /* L: products that meet in one exact sum */
    int16_t k;        /* lanes of one instruction; 0: the whole segment is one */
    int16_t fraction; /* F: fraction bits kept below the largest exponent */
    mx_model_output output;
    int16_t exponent_floor; /* Emax is never below this; MX_NO_FLOOR: none */
    const char *scales;     /* scale formats applied inside the unit, comma-separated; NULL: none */
    int16_t scale_block;    /* lanes that share a scale pair */
    bool pair_interleave;   /* groups take lanes k mod 4 in {0,1}, then {2,3}, of the instruction */
    bool through_f16;       /* operands are converted to f16 first: exact, but subnormals become normal */
    bool late_c;            /* groups chain from zero; C is added last in the output format, RNE */
    mx_model_cut cut;       /* every known unit: MX_CUT_ZERO; the others are rivals to reject */
    bool normalise;         /* products vote with their normalised exponent (a rival; no known unit) */
    uint32_t nan_bits;      /* what a NaN result looks like */
    char evidence;          /* H: recorded on hardware by this project; V: reproduces public hardware vectors;
                               P: published as hardware-validated; S: one source; D: definition, no hardware */
    const char *units;      /* chips and instructions that the row describes */
    const char *source;
    const char *note; /* "" if nothing to add */
} mx_model;

const mx_model *mx_model_find(const char *name); /* NULL if unknown */
size_t mx_model_count(void);
const mx_model *mx_model_at(size_t i);
/* "confirmed on an H200", "not confirmed on hardware by this project: ...": show it beside the name. */
const char *mx_model_words(const mx_model *m);
bool mx_model_is_confirmed(const mx_model *m);
/* True if the unit takes this operand format. tf32 units take f32 words, whose low 13 bits they ignore. */
bool mx_model_accepts(const mx_model *m, const mx_format *f);
bool mx_model_takes_scale(const mx_model *m, const mx_format *scale); /* inside the unit */
const mx_format *mx_model_format(const mx_model *m);                  /* of C and D: f32 or f16 */

/* Operands of a dot product: n codes each, one per uint32_t. Scales, where the model takes them: one code
 * per `scale_block` lanes (the last block may be short), e8m0 or ue4m3; NULL: no scaling. */
typedef struct mx_lanes {
    const mx_format *a_format, *b_format;
    const uint32_t *a, *b;
    int64_t n;
    const mx_format *scale_format;
    const uint8_t *a_scale, *b_scale;
    int scale_block;
} mx_lanes;

/* One instruction: n <= m->k (any n where k is 0); missing lanes are zeros. c and the result are codes of
 * mx_model_format(m). Formats must be accepted by the model: the caller asks mx_model_accepts() first.
 * Rounding: as the row says. Specials: NaN anywhere, Inf * 0 or Inf - Inf give nan_bits; else Inf keeps its
 * sign; a zero result is +0. Source: the row's. */
uint32_t mx_model_step(const mx_model *m, const mx_lanes *x, uint32_t c);

/* Instructions chained over all n lanes in ascending order, from c. */
uint32_t mx_model_chain(const mx_model *m, const mx_lanes *x, uint32_t c);

/* ---- parts, for this folder's own files -------------------------------------------------------------- */

/* A code taken apart: |value| = man * 2^(exp - frac). A subnormal keeps the exponent of the smallest
 * normal; a zero has man 0. */
typedef struct mx_unpacked {
    bool negative, inf, nan;
    int16_t exp;
    uint32_t man;
} mx_unpacked;
mx_unpacked mx_unpack(const mx_format *f, uint32_t code);
int mx_unpack_frac(const mx_format *f);
/* An operand as the unit sees it: f32 words given to a tf32 unit lose their low 13 bits, fp8 subnormals on
 * their way through f16 are normalised. */
mx_unpacked mx_unpack_lane(const mx_model *m, const mx_format *f, uint32_t code);

/* sum * 2^quantum converted by an output rule. */
uint32_t mx_model_convert(mx_model_output rule, int64_t sum, int quantum);

/* man >> right, or << -right, cut as said. */
int64_t mx_model_cut_term(mx_model_cut cut, int64_t man, int right);

uint32_t mx_step_two_stage(const mx_model *m, const mx_lanes *x, uint32_t c);
uint32_t mx_step_flush_tree(const mx_model *m, const mx_lanes *x, uint32_t c);
uint32_t mx_step_ieee(const mx_model *m, const mx_lanes *x, uint32_t c);

#ifdef __cplusplus
}
#endif
#endif
