/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing .npy headers. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"

enum { HEADER_MAX = 1 << 16 }; /* NumPy itself refuses to parse more than 10000 by default */

/* A cursor over the dict literal. The text ends with a zero byte. */
typedef struct cursor {
    const char *at;
} cursor;

static bool take(cursor *c, const char *token)
{
    while (isspace((unsigned char)*c->at))
        c->at++;
    size_t n = strlen(token);
    if (strncmp(c->at, token, n)) return false;
    c->at += n;
    return true;
}

static bool take_text(cursor *c, char *out, size_t size)
{
    const char *quote = take(c, "'") ? "'" : take(c, "\"") ? "\"" : NULL;
    if (!quote) return false;
    size_t n = strcspn(c->at, quote);
    if (c->at[n] != *quote || n >= size) return false;
    memcpy(out, c->at, n);
    out[n] = 0;
    c->at += n + 1;
    return true;
}

static bool take_number(cursor *c, int64_t *out)
{
    *out = 0;
    if (!isdigit((unsigned char)*c->at)) return false;
    for (; isdigit((unsigned char)*c->at); c->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *c->at - '0', out))
            return false;
    take(c, "L"); /* Python 2 wrote long integers so */
    return true;
}

static bool take_shape(cursor *c, mx_array *a)
{
    if (!take(c, "(")) return false;
    for (a->rank = 0; !take(c, ")"); a->rank++) {
        if (a->rank == MX_ARRAY_RANK || !take_number(c, &a->shape[a->rank])) return false;
        if (!take(c, ",") && strncmp(c->at, ")", 1)) return false;
    }
    return true;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: three keys, each once, in any order. */
static const char *parse(cursor *c, char *descr, size_t descr_size, bool *fortran, mx_array *a)
{
    bool seen[3] = {false};
    if (!take(c, "{")) return "header is no dict";
    while (!take(c, "}")) {
        char key[16];
        if (!take_text(c, key, sizeof key) || !take(c, ":")) return "header is no dict of texts";
        int which = !strcmp(key, "descr") ? 0 : !strcmp(key, "fortran_order") ? 1 : 2;
        if (which == 2 && strcmp(key, "shape")) return "header has an unknown key";
        if (seen[which]) return "header has a key twice";
        seen[which] = true;
        if (which == 0 && !take_text(c, descr, descr_size)) return "descr is no simple type";
        if (which == 1 && !(*fortran = take(c, "True")) && !take(c, "False"))
            return "fortran_order is neither True nor False";
        if (which == 2 && !take_shape(c, a)) return "shape is no tuple of at most 8 natural numbers";
        if (!take(c, ",") && *c->at != '}') return "header is no dict";
    }
    take(c, ""); /* spaces and the newline */
    return !(seen[0] && seen[1] && seen[2]) ? "header lacks a key" : *c->at ? "text after the dict" : NULL;
}

static mx_status check(const mx_input *in, const char *descr, bool fortran, uint64_t begin, mx_array *a,
                       mx_error *e)
{
    if (*descr == '>') return mx_fail(e, MX_UNSUPPORTED, in->name, "big-endian elements (%s)", descr);
    if (!mx_dtype_of_npy(descr, &a->dtype))
        return mx_fail(e, MX_BAD_INPUT, in->name, "unknown element type '%s'", descr);
    if (fortran && a->rank > 1)
        return mx_fail(e, MX_UNSUPPORTED, in->name, "Fortran order: save numpy.ascontiguousarray(x)");
    int64_t count;
    char shape[100];
    mx_shape_text(a->rank, a->shape, shape, sizeof shape);
    if (!mx_shape_bytes(a->rank, a->shape, a->dtype.bytes, &count, &a->bytes))
        return mx_fail(e, MX_BAD_INPUT, in->name, "shape overflows: %s", shape);
    if (in->size - begin != a->bytes)
        return mx_fail(e, MX_BAD_INPUT, in->name,
                       "shape %s of %s needs %" PRIu64 " bytes after the header, there are %" PRIu64, shape,
                       descr, a->bytes, in->size - begin);
    a->begin = begin;
    return MX_OK;
}

/* Version, header length and text. `begin`: where the elements start. */
static mx_status read_text(const mx_input *in, char **text, uint64_t *begin, mx_error *e)
{
    unsigned char head[12];
    mx_status status = mx_input_read(in, 0, head, 10, e);
    if (status) return status;
    if (memcmp(head, MX_NPY_MAGIC, 6)) return mx_fail(e, MX_BAD_INPUT, in->name, "no .npy file");
    if (head[6] < 1 || head[6] > 3 || head[7])
        return mx_fail(e, MX_UNSUPPORTED, in->name, "version %d.%d of .npy; 1.0 to 3.0 are known", head[6],
                       head[7]);
    bool wide = head[6] > 1;
    if (wide && (status = mx_input_read(in, 0, head, 12, e))) return status;
    size_t length = head[8] | (size_t)head[9] << 8;
    if (wide) length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (length > HEADER_MAX)
        return mx_fail(e, MX_BAD_INPUT, in->name, "header of %zu bytes; at most %d are taken", length,
                       HEADER_MAX);
    *begin = (wide ? 12 : 10) + length;
    if (!(*text = calloc(length + 1, 1))) return mx_fail(e, MX_NO_MEMORY, in->name, "out of memory");
    if ((status = mx_input_read(in, wide ? 12 : 10, *text, length, e))) return free(*text), status;
    if (strlen(*text) == length) return MX_OK;
    free(*text);
    return mx_fail(e, MX_BAD_INPUT, in->name, "header holds a zero byte");
}

mx_status mx_npy_read(mx_input *in, mx_store *out, mx_error *e)
{
    char *text = NULL, descr[16] = "";
    bool fortran = false;
    mx_array a = {.name = MX_NPY_NAME};
    uint64_t begin = 0;
    mx_status status = read_text(in, &text, &begin, e);
    if (!status) {
        const char *reason = parse(&(cursor){text}, descr, sizeof descr, &fortran, &a);
        free(text);
        status = reason ? mx_fail(e, MX_BAD_INPUT, in->name, "%s", reason)
                        : check(in, descr, fortran, begin, &a, e);
    }
    if (status) return mx_input_close(in), status;
    if ((status = mx_store_adopt(out, in, &a.file, e))) return status;
    return mx_store_add(out, &a, e);
}

mx_status mx_npy_create(const char *path, const mx_array *array, mx_writer *out, mx_error *e)
{
    char shape[200] = "", text[384];
    size_t at = 0;
    for (int i = 0; i < array->rank; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%" PRId64, i ? ", " : "", array->shape[i]);
    int n =
        snprintf(text, sizeof text, "%s%c%c%c%c{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
                 MX_NPY_MAGIC, 1, 0, 0, 0, mx_dtype_npy(&array->dtype), shape, array->rank == 1 ? "," : "");
    while ((n + 1) % 64) /* the elements start at a multiple of 64 */
        text[n++] = ' ';
    text[n++] = '\n';
    text[8] = (char)((n - 10) & 0xFF);
    text[9] = (char)((n - 10) >> 8);
    mx_status status = mx_writer_begin(out, path, array, 1, e);
    if (status) return status;
    out->arrays[0].begin = (uint64_t)n;
    if ((status = mx_output_write(&out->out, 0, text, (size_t)n, e))) mx_writer_abandon(out);
    return status;
}
