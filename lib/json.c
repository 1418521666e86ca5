/* SPDX-License-Identifier: Apache-2.0
 * Strict JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "json.h"

json_t *mx_json_parse(const char *text, size_t n, const char *place, mx_error *e)
{
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        bool utf8 = json_error_code(&error) == json_error_invalid_utf8;
        mx_fail(e, MX_BAD_INPUT, place, "JSON, byte %d: %s%s", error.position, utf8 ? "no UTF-8: " : "",
                error.text);
        return NULL;
    }
    if (json_is_object(root)) return root;
    json_decref(root);
    mx_fail(e, MX_BAD_INPUT, place, "JSON is no object");
    return NULL;
}

static mx_status absent(bool required, const char *key, const char *place, mx_error *e)
{
    return required ? mx_fail(e, MX_BAD_INPUT, place, "'%s' is missing", key) : MX_OK;
}

mx_status mx_json_text(const json_t *o, const char *key, bool required, char *out, size_t size,
                       const char *place, mx_error *e)
{
    const json_t *v = json_object_get(o, key);
    if (!v) return absent(required, key, place, e);
    if (!json_is_string(v)) return mx_fail(e, MX_BAD_INPUT, place, "'%s' is no text", key);
    if (json_string_length(v) >= size)
        return mx_fail(e, MX_BAD_INPUT, place, "'%s' is longer than %zu bytes", key, size - 1);
    strcpy(out, json_string_value(v));
    return MX_OK;
}

mx_status mx_json_int(const json_t *o, const char *key, bool required, int64_t low, int64_t high,
                      int64_t *out, const char *place, mx_error *e)
{
    const json_t *v = json_object_get(o, key);
    if (!v) return absent(required, key, place, e);
    if (!json_is_integer(v)) return mx_fail(e, MX_BAD_INPUT, place, "'%s' is no integer", key);
    int64_t x = json_integer_value(v);
    if (x < low || x > high)
        return mx_fail(e, MX_BAD_INPUT, place, "'%s' is %" PRId64 ", not within %" PRId64 " to %" PRId64, key,
                       x, low, high);
    *out = x;
    return MX_OK;
}

mx_status mx_json_real(const json_t *o, const char *key, bool required, double *out, const char *place,
                       mx_error *e)
{
    const json_t *v = json_object_get(o, key);
    if (!v) return absent(required, key, place, e);
    if (!json_is_number(v)) return mx_fail(e, MX_BAD_INPUT, place, "'%s' is no number", key);
    *out = json_number_value(v);
    return MX_OK;
}

char *mx_json_dump(const json_t *o)
{
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    size_t n = text ? strlen(text) : 0;
    char *line = text ? realloc(text, n + 2) : NULL;
    if (!line) return free(text), NULL;
    line[n] = '\n';
    line[n + 1] = 0;
    return line;
}

mx_status mx_json_write(const char *path, json_t *o, mx_error *e)
{
    char *text = o ? mx_json_dump(o) : NULL;
    mx_status s =
        text ? mx_file_write(path, text, strlen(text), e) : mx_fail(e, MX_NO_MEMORY, path, "no memory");
    free(text);
    json_decref(o);
    return s;
}
