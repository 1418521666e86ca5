/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - named arrays in files: one way to read and one way to write them.
 *
 * A store is a .safetensors file, a .npy file, or a checkpoint split over many files. Opening reads and
 * checks headers alone; elements are read on demand in pieces, so that a tensor larger than memory can be
 * streamed. A writer is the mirror image: shapes first, then bytes in any order, and the file appears when
 * all of them are there. */
#ifndef MX_STORE_H
#define MX_STORE_H

#include "case.h"
#include "dtype.h"
#include "file.h"

#define MX_ARRAY_RANK 8

typedef struct mx_array {
    char *name;
    mx_dtype dtype;
    int rank;
    int64_t shape[MX_ARRAY_RANK];
    uint64_t begin, bytes; /* in its file */
    size_t file;           /* index into mx_store.files */
} mx_array;

typedef struct mx_pair {
    char *key, *value;
} mx_pair;

typedef struct mx_store {
    mx_array *arrays; /* sorted by name, names differ */
    size_t n_arrays;
    mx_pair *metadata; /* sorted by key */
    size_t n_metadata;
    mx_input *files;
    size_t n_files;
} mx_store;

/* Open a .safetensors or .npy file (told apart by its first bytes), a model.safetensors.index.json, or a
 * folder that holds one of model.safetensors.index.json and model.safetensors. */
mx_status mx_store_open(const char *path, mx_store *out, mx_error *e);
void mx_store_close(mx_store *s);
const mx_array *mx_store_find(const mx_store *s, const char *name); /* NULL if absent */
const char *mx_store_metadata(const mx_store *s, const char *key);  /* NULL if absent */
const char *mx_store_file(const mx_store *s, const mx_array *a);    /* path it lies in */
int64_t mx_array_count(const mx_array *a);                          /* elements */
/* The array seen as a matrix: all axes but the last are rows; a scalar is 1 x 1. */
void mx_array_matrix(const mx_array *a, int64_t *rows, int64_t *cols);
/* "[2, 3]" into out. */
const char *mx_shape_text(int rank, const int64_t *shape, char *out, size_t size);

/* Read n bytes of the array from byte `offset` on. */
mx_status mx_store_read(const mx_store *s, const mx_array *a, uint64_t offset, void *to, size_t n,
                        mx_error *e);
/* All of it into a fresh tensor of the same name; rank at most MX_MAX_RANK. */
mx_status mx_store_tensor(const mx_store *s, const mx_array *a, mx_tensor *out, mx_error *e);

/* Elements of a shape, and their bytes; false when the product does not fit in 63 bits. Multiplied in
 * order, as safetensors does: [0, 2^40, 2^40] is empty, [2^40, 2^40, 0] overflows. */
bool mx_shape_bytes(int rank, const int64_t *shape, unsigned element_bytes, int64_t *count, uint64_t *bytes);

/* For readers: add a parsed array or pair (the name is copied), then sort. A name twice is refused. */
mx_status mx_store_add(mx_store *s, const mx_array *a, mx_error *e);
mx_status mx_store_add_metadata(mx_store *s, const char *key, const char *value, mx_error *e);
mx_status mx_store_sort(mx_store *s, mx_error *e);
/* Take over `in` as a file of the store, closing it on failure. */
mx_status mx_store_adopt(mx_store *s, mx_input *in, size_t *index, mx_error *e);

typedef struct mx_writer {
    mx_output out;
    mx_array *arrays; /* begin and bytes are filled in */
    uint64_t *written;
    size_t n, last; /* last: where the latest bytes went, and the search for a name begins */
} mx_writer;

/* Bytes of array `name` at `offset` within it. Each byte must be written once. */
mx_status mx_writer_put(mx_writer *w, const char *name, uint64_t offset, const void *data, size_t n,
                        mx_error *e);
/* Put the file in place; MX_BAD_USAGE when bytes are missing. The writer is closed whatever the answer. */
mx_status mx_writer_finish(mx_writer *w, mx_error *e);
void mx_writer_abandon(mx_writer *w);
/* For writers of a format: copy the descriptions of n arrays. */
mx_status mx_writer_begin(mx_writer *w, const char *path, const mx_array *arrays, size_t n, mx_error *e);

#endif
