/* SPDX-License-Identifier: Apache-2.0
 * Writing arrays: in any order, whole or not at all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

static void release(mx_writer *w)
{
    for (size_t i = 0; w->arrays && i < w->n; i++)
        free(w->arrays[i].name);
    free(w->arrays);
    free(w->written);
    *w = (mx_writer){.out = {.fd = -1}};
}

mx_status mx_writer_begin(mx_writer *w, const char *path, const mx_array *arrays, size_t n, mx_error *e)
{
    *w = (mx_writer){.out = {.fd = -1}, .n = n};
    w->arrays = calloc(n ? n : 1, sizeof *w->arrays);
    w->written = calloc(n ? n : 1, sizeof *w->written);
    bool copied = w->arrays && w->written;
    for (size_t i = 0; copied && i < n; i++) {
        w->arrays[i] = arrays[i];
        copied = (w->arrays[i].name = strdup(arrays[i].name)) != NULL;
        int64_t count;
        if (!mx_shape_bytes(arrays[i].rank, arrays[i].shape, arrays[i].dtype.bytes, &count,
                            &w->arrays[i].bytes)) {
            release(w);
            return mx_fail(e, MX_BAD_USAGE, arrays[i].name, "shape is too large");
        }
    }
    mx_status status =
        copied ? mx_output_open(path, &w->out, e) : mx_fail(e, MX_NO_MEMORY, path, "out of memory");
    if (status) release(w);
    return status;
}

mx_status mx_writer_put(mx_writer *w, const char *name, uint64_t offset, const void *data, size_t n,
                        mx_error *e)
{
    for (size_t k = 0; k < w->n; k++) {
        size_t i = (w->last + k) % w->n;
        const mx_array *a = &w->arrays[i];
        if (strcmp(a->name, name)) continue;
        w->last = i;
        if (offset > a->bytes || n > a->bytes - offset)
            return mx_fail(e, MX_BAD_USAGE, name, "has room for %" PRIu64 " bytes", a->bytes);
        w->written[i] += n;
        return mx_output_write(&w->out, a->begin + offset, data, n, e);
    }
    return mx_fail(e, MX_BAD_USAGE, name, "no such array in the file being written");
}

mx_status mx_writer_finish(mx_writer *w, mx_error *e)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->written[i] != w->arrays[i].bytes) {
            mx_status status =
                mx_fail(e, MX_BAD_USAGE, w->arrays[i].name, "%" PRIu64 " of %" PRIu64 " bytes were written",
                        w->written[i], w->arrays[i].bytes);
            return mx_writer_abandon(w), status;
        }
    mx_status status = mx_output_commit(&w->out, e);
    release(w);
    return status;
}

void mx_writer_abandon(mx_writer *w)
{
    mx_output_abandon(&w->out);
    release(w);
}
