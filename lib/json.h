/* SPDX-License-Identifier: Apache-2.0
 *
 * json.h - JSON from strangers: strict parsing (duplicate keys, bad UTF-8, trailing text and NUL are
 * refused by Jansson), and typed members with an error that names the place. */
#ifndef MX_JSON_H
#define MX_JSON_H

#include <jansson.h>

#include "mx.h"

/* An object from n bytes of text; NULL fills `e`, whose message names the byte. */
json_t *mx_json_parse(const char *text, size_t n, const char *place, mx_error *e);

/* Member `key` of object `o`. Absent is MX_OK and leaves the output as it was, unless `required`; a wrong
 * type, a text that does not fit, and a number out of [low, high] are MX_BAD_INPUT at `place`. */
mx_status mx_json_text(const json_t *o, const char *key, bool required, char *out, size_t size,
                       const char *place, mx_error *e);
mx_status mx_json_int(const json_t *o, const char *key, bool required, int64_t low, int64_t high,
                      int64_t *out, const char *place, mx_error *e);
mx_status mx_json_real(const json_t *o, const char *key, bool required, double *out, const char *place,
                       mx_error *e);

/* Indented text with members in the order they were set, and a newline; malloc'd, NULL: no memory. */
char *mx_json_dump(const json_t *o);
/* The same into a file, written whole or not at all. Takes over the reference to `o`; NULL (a report that
 * could not be made) is MX_NO_MEMORY. */
mx_status mx_json_write(const char *path, json_t *o, mx_error *e);

#endif
