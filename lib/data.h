/* SPDX-License-Identifier: Apache-2.0
 *
 * data.h - synthetic tensors, one row a distribution. An element is a pure function of (seed, row, column),
 * so that any tile of a tensor of any size can be made alone. */
#ifndef MX_DATA_H
#define MX_DATA_H

#include "mx.h"

typedef struct mx_data {
    const char *name;
    const char *note; /* what it stands for, with its parameters */
    double (*value)(uint64_t seed, uint64_t row, uint64_t col);
} mx_data;

const mx_data *mx_data_find(const char *name); /* NULL if unknown */
size_t mx_data_count(void);
const mx_data *mx_data_at(size_t i);

/* Rows [row0, row0 + rows) of a tensor with `cols` columns, rounded to nearest even into `format` (f32, bf16
 * or f16; overflow becomes Inf), rows `pitch` elements apart. */
void mx_data_fill(const mx_data *d, uint64_t seed, const mx_format *format, int64_t row0, int64_t rows,
                  int64_t cols, int64_t pitch, void *out);

#endif
