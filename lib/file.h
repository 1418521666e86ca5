/* SPDX-License-Identifier: Apache-2.0
 *
 * file.h - reading with bounds, writing atomically, digests.
 *
 * Inputs come from strangers: only regular files are opened (no FIFO can hang us, no device is read), and
 * every read is checked against the size seen at opening. Files are read with pread, not mapped: a file
 * that shrinks under us is an error value, not a SIGBUS. Outputs appear under their name only when whole:
 * they are written beside it and renamed. */
#ifndef MX_FILE_H
#define MX_FILE_H

#include "mx.h"

typedef struct mx_input {
    char *name; /* for messages */
    int fd;     /* -1: memory */
    const unsigned char *memory;
    uint64_t size;
} mx_input;

/* Open a regular file for reading. `nofollow`: refuse a symbolic link (the last part of the path). */
mx_status mx_input_open(const char *path, bool nofollow, mx_input *in, mx_error *e);
/* Read from n bytes of memory, which must outlive `in`. */
mx_status mx_input_memory(const char *name, const void *data, size_t n, mx_input *in, mx_error *e);
/* Read exactly n bytes at `offset`; reaching past the end is MX_BAD_INPUT. */
mx_status mx_input_read(const mx_input *in, uint64_t offset, void *to, size_t n, mx_error *e);
void mx_input_close(mx_input *in);
/* All of it, with a zero byte after the end, malloc'd; more than `limit` bytes is MX_BAD_INPUT. */
mx_status mx_input_all(const mx_input *in, size_t limit, char **data, size_t *n, mx_error *e);

typedef struct mx_output {
    char *path, *temporary;
    int fd;
} mx_output;

mx_status mx_output_open(const char *path, mx_output *out, mx_error *e);
mx_status mx_output_write(mx_output *out, uint64_t offset, const void *data, size_t n, mx_error *e);
/* Rename into place; the temporary file is gone whatever the answer. */
mx_status mx_output_commit(mx_output *out, mx_error *e);
void mx_output_abandon(mx_output *out);
/* A whole file in one step. */
mx_status mx_file_write(const char *path, const void *data, size_t n, mx_error *e);

/* Lower-case hexadecimal SHA-256 (FIPS 180-4, libmd). */
#define MX_SHA256_TEXT 65
void mx_sha256(const void *data, size_t n, char hex[MX_SHA256_TEXT]);
mx_status mx_sha256_input(const mx_input *in, char hex[MX_SHA256_TEXT], mx_error *e);

/* The same over pieces. mx_digest_end() frees; both others take NULL, which mx_digest_begin() returns when
 * there is no memory. */
typedef struct mx_digest mx_digest;
mx_digest *mx_digest_begin(void);
void mx_digest_add(mx_digest *d, const void *data, size_t n);
void mx_digest_end(mx_digest *d, char hex[MX_SHA256_TEXT]);

/* dir/name, malloc'd; NULL: no memory. */
char *mx_path_join(const char *dir, const char *name);
/* Is it the name of a file in a folder: not empty, no slash, neither "." nor "..", no control characters? */
bool mx_path_is_plain(const char *name);
/* "file: tensor 'name'" for mx_error.place. */
void mx_place_of(char *out, size_t size, const char *file, const char *tensor);

#endif
