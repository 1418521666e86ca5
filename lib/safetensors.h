/* SPDX-License-Identifier: Apache-2.0
 *
 * safetensors.h - the container of vectors and checkpoints.
 *
 * Format (github.com/huggingface/safetensors, README.md, "Format"): 8 bytes little-endian header size N;
 * N bytes of JSON, {"name": {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {text: text}},
 * padded with spaces; then the data, which the tensors cover without gap or overlap.
 *
 * Beyond that, "format:<tensor>" in the metadata names the format of codes whose dtype does not tell
 * ("U8" of e2m1, "F8_E4M3" of ue4m3). */
#ifndef MX_SAFETENSORS_H
#define MX_SAFETENSORS_H

#include "store.h"

#define MX_SAFETENSORS_HEADER_MAX 100000000u /* as the reference implementation has it */

/* Check the header of `in`, which the store takes over (closed on failure), and add its arrays. Refused,
 * with file, tensor and reason: a truncated or oversized header, bad JSON, unknown dtypes, negative or
 * overflowing shapes, offsets outside the file, out of order, overlapping or leaving gaps, sizes that
 * contradict the shape, bytes after the last tensor. */
mx_status mx_safetensors_read(mx_input *in, mx_store *out, mx_error *e);

/* Start a file of n arrays (name, dtype, rank, shape are read). Deterministic: tensors lie by element size,
 * largest first, then by name; metadata is sorted by key; "format:" entries are added by themselves; the
 * data starts at a multiple of 8. */
mx_status mx_safetensors_create(const char *path, const mx_array *arrays, size_t n, const mx_pair *metadata,
                                size_t n_metadata, mx_writer *out, mx_error *e);

#endif
