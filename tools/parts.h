/* SPDX-License-Identifier: Apache-2.0
 *
 * parts.h - walking a stored matrix in parts that fit memory, and moving the parts. */
#ifndef TOOLS_PARTS_H
#define TOOLS_PARTS_H

#include "store.h"

typedef struct part {
    int64_t row, col, rows, cols; /* rows 0: before the first */
} part;

/* How a matrix is cut into parts of at most part_rows x part_cols. */
typedef struct parts {
    int64_t rows, cols, part_rows, part_cols;
} parts;

/* Parts begin at multiples of row_step and col_step (0: that axis cannot be cut) and have at most `elements`
 * elements, unless a single step has more. Columns are cut only where whole rows are too many. */
parts parts_make(int64_t rows, int64_t cols, int64_t row_step, int64_t col_step, int64_t elements);
bool parts_next(const parts *t, part *p); /* the next one, row by row; false after the last */
int64_t parts_largest(const parts *t);    /* elements of the largest */

/* A part of array `a` as dense rows; `cols` is the stored matrix's row length. */
mx_status part_read(const mx_store *s, const mx_array *a, int64_t cols, const part *p, void *to, mx_error *e);

/* Outputs: one .safetensors file, or for arrays "data", "data.scale" ... the files X.npy, X.scale.npy ...
 * where the path is X.npy. They appear when all is written. */
typedef struct sink {
    mx_writer *writers;
    size_t n;
} sink;

bool is_npy(const char *path); /* ends with .npy */
/* X.npy, "data.scale" -> X.scale.npy; malloc'd, NULL: no memory. */
char *npy_path(const char *path, const char *array);

mx_status sink_open(sink *s, const char *path, const mx_array *arrays, size_t n, const mx_pair *metadata,
                    size_t n_metadata, mx_error *e);
mx_status sink_put(sink *s, const char *name, uint64_t offset, const void *data, size_t n, mx_error *e);
/* A part of array `name`, whose rows have `cols` elements of `element_bytes`. */
mx_status sink_part(sink *s, const char *name, unsigned element_bytes, int64_t cols, const part *p,
                    const void *from, mx_error *e);
mx_status sink_finish(sink *s, mx_error *e);
void sink_abandon(sink *s);

#endif
