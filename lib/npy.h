/* SPDX-License-Identifier: Apache-2.0
 *
 * npy.h - NumPy's .npy files, versions 1 to 3.
 *
 * Format (numpy/lib/_format_impl.py): "\x93NUMPY", version, header length (2 bytes in version 1, 4 in 2 and
 * 3), a Python dict literal with descr, fortran_order and shape, then the elements. */
#ifndef MX_NPY_H
#define MX_NPY_H

#include "store.h"

#define MX_NPY_MAGIC "\x93NUMPY"
#define MX_NPY_NAME  "data" /* what the one array of a .npy file is called in a store */

/* Check the header of `in`, which the store takes over (closed on failure), and add its array. Fortran order
 * of two or more axes and big-endian elements are MX_UNSUPPORTED; a size that is not exactly header plus
 * elements is refused. */
mx_status mx_npy_read(mx_input *in, mx_store *out, mx_error *e);

/* Start a file of one array, whose name mx_writer_put() uses; the bytes are those of numpy.save. */
mx_status mx_npy_create(const char *path, const mx_array *array, mx_writer *out, mx_error *e);

#endif
