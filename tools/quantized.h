/* SPDX-License-Identifier: Apache-2.0
 *
 * quantized.h - how a quantised tensor X lies in a file: codes X, scales X.scale, second-level scale
 * X.global (f32, [1]), and in the metadata "recipe:X" and, unless it is row-major, "layout:X.scale". In .npy
 * files X is "data" and each part has a file of its own. */
#ifndef TOOLS_QUANTIZED_H
#define TOOLS_QUANTIZED_H

#include "parts.h"

enum { QUANTIZED_NAME = 512 };
/* X and an ending, cut to QUANTIZED_NAME. */
void quantized_name(char out[QUANTIZED_NAME], const char *tensor, const char *ending);

/* Everything that follows from a tensor's shape and its recipe. */
typedef struct quantized_shape {
    const mx_recipe *recipe;
    int64_t rows, cols, block_rows, block_cols, grid_rows, grid_cols;
    bool has_scale;
    mx_dtype element, scale;
    const mx_layout *layout; /* of the scales; NULL: row-major, which needs no placing */
    int64_t placed_bytes;    /* size under that layout */
    bool whole;              /* one scale for the whole tensor */
    bool all_rows, all_cols; /* a block reaches over all rows, all columns */
} quantized_shape;

/* `layout`: a name, or NULL. `x`: the codes as they are meant, one an element. MX_BAD_USAGE: a layout that
 * cannot place these scales. */
mx_status quantized_describe(quantized_shape *s, const mx_recipe *r, const char *layout, const mx_array *x,
                             mx_error *e);
parts quantized_cut(const quantized_shape *s); /* into parts of about 2^23 elements */
part quantized_scale_part(const quantized_shape *s, const part *codes); /* the scales of a part */

/* ---- reading ------------------------------------------------------------------------------------------- */

/* As mx_store_open; beside X.npy, X.scale.npy and X.global.npy belong to it where they exist. */
mx_status quantized_open(const char *path, mx_store *out, mx_error *e);

/* How others name and pack the same: base + codes, base + scale, base + global. */
typedef struct quantized_naming {
    const char *codes, *scale, *global; /* endings; "", ".scale", ".global" */
    const char *layout;                 /* of the scales; NULL: what the metadata says */
    const char *packing;                /* layout of 4-bit codes, two a byte; NULL: one code a byte */
} quantized_naming;

#define QUANTIZED_NAMING ((quantized_naming){"", ".scale", ".global", NULL, NULL})
/* "CODES,SCALE,GLOBAL" (the last may be missing), cut apart in place; false: not of that form. */
bool quantized_parse_naming(char *text, quantized_naming *n);
/* Name of the tensor that codes `x` stand for: without the ending of codes. False: no such ending. */
bool quantized_base(const quantized_naming *n, const char *codes, char out[QUANTIZED_NAME]);

typedef struct quantized {
    const mx_store *store;
    const mx_array *codes, *scale; /* scale NULL: a plain cast */
    mx_array logical;              /* codes as they are meant: a packed row has twice the elements */
    const mx_layout *packing;      /* NULL: one code a byte */
    quantized_shape shape;
    float global;            /* as the recipe stores it; 1 where it has none */
    unsigned char *unplaced; /* all scales in canonical order, where a layout had placed them */
} quantized;

/* Recipe of codes `x`: `recipe` if not NULL, else what the metadata says; NULL (MX_OK) when nobody says. */
mx_status quantized_recipe(const mx_store *s, const mx_array *x, const mx_recipe *recipe,
                           const mx_recipe **out, mx_error *e);
/* Codes x with their scales, sizes checked. */
mx_status quantized_find(const mx_store *s, const mx_array *x, const mx_recipe *r, const quantized_naming *n,
                         quantized *out, mx_error *e);
void quantized_free(quantized *q);
parts quantized_cut_of(const quantized *q); /* as quantized_cut, in whole rows where codes are packed */
/* A part of the codes, one a byte and dense. */
mx_status quantized_codes(const quantized *q, const part *p, uint8_t *to, mx_error *e);
/* The scales of a part of the codes, canonical and dense. */
mx_status quantized_scales(const quantized *q, const part *codes, void *to, mx_error *e);

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Copy the metadata of `from` that stays true for an output: nothing about formats, recipes and cases. */
mx_status quantized_keep_metadata(const mx_store *from, mx_store *out, mx_error *e);
/* Add the arrays (codes, scales, global) and metadata of a tensor to be quantised to a description. */
mx_status quantized_add(const mx_recipe *r, const char *layout, const mx_array *x, mx_store *out,
                        mx_error *e);

mx_status copy_array(const mx_store *from, const mx_array *x, sink *to, mx_error *e);

#endif
