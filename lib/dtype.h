/* SPDX-License-Identifier: Apache-2.0
 *
 * dtype.h - what the elements of a stored array are: a format of mx.h, or a plain machine type.
 *
 * The same bytes have three names: ours ("e4m3"), that of safetensors ("F8_E4M3") and that of NumPy's
 * .npy header ("<f4"). Formats without a name of their own (sub-byte ones, fnuz) are stored as one code
 * per U8, and the file's metadata names the format ("format:<tensor>"). */
#ifndef MX_DTYPE_H
#define MX_DTYPE_H

#include "mx.h"

typedef enum mx_number {
    MX_NUMBER_FORMAT,   /* decoded by mx_decode */
    MX_NUMBER_UNSIGNED, /* and bool */
    MX_NUMBER_SIGNED,   /* two's complement */
    MX_NUMBER_DOUBLE    /* IEEE 754 binary64 */
} mx_number;

typedef struct mx_dtype {
    const char *name;        /* ours: a format name, or u8, i8, u16, i16, u32, i32, u64, i64, f64, bool */
    const char *safetensors; /* "F8_E4M3", "U8" */
    uint8_t bytes;           /* of one stored element: 1, 2, 4 or 8 */
    mx_number number;
    const mx_format *format; /* MX_NUMBER_FORMAT only */
} mx_dtype;

/* Find by our name, by that of safetensors, by a .npy descr; false if unknown. Where several formats share
 * a stored type the plain one is the answer: U8 is u8, I8 is i8, F8_E4M3 is e4m3. NumPy has no bfloat16:
 * '<u2' and raw two-byte 'V2' are taken as bf16, raw 'V1' as u8. */
bool mx_dtype_find(const char *name, mx_dtype *out);
bool mx_dtype_of_safetensors(const char *name, mx_dtype *out);
bool mx_dtype_of_npy(const char *descr, mx_dtype *out);
const char *mx_dtype_npy(const mx_dtype *d); /* descr for writing; codes of formats as '|u1', bf16 '<u2' */

/* May bytes stored as `stored` be read as format `as`? (same safetensors name and size) */
bool mx_dtype_may_be(const mx_dtype *stored, const mx_dtype *as);

/* Element i of an array as raw bits, zero-extended; little-endian storage, any alignment. */
uint64_t mx_dtype_bits(const mx_dtype *d, const void *data, int64_t i);
/* The value of such bits. Integers beyond 2^53 are rounded to nearest even: compare bits, not these. */
double mx_dtype_value(const mx_dtype *d, uint64_t bits);

#endif
