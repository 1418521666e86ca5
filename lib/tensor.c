/* SPDX-License-Identifier: Apache-2.0
 * Dense arrays in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "store.h"

size_t mx_dtype_bytes(const char *dtype)
{
    mx_dtype d;
    return mx_dtype_find(dtype, &d) ? d.bytes : 0;
}

mx_status mx_tensor_make(mx_tensor *t, const char *name, const char *dtype, int rank, const int64_t *shape,
                         mx_error *e)
{
    mx_dtype d;
    int64_t count;
    uint64_t bytes;
    *t = (mx_tensor){.rank = rank};
    if (!mx_dtype_find(dtype, &d)) return mx_fail(e, MX_BAD_USAGE, name, "unknown type '%s'", dtype);
    if (rank < 0 || rank > MX_MAX_RANK)
        return mx_fail(e, MX_UNSUPPORTED, name, "%d axes; at most %d are taken here", rank, MX_MAX_RANK);
    if (strlen(name) >= sizeof t->name)
        return mx_fail(e, MX_BAD_INPUT, name, "name is longer than %zu bytes", sizeof t->name - 1);
    if (!mx_shape_bytes(rank, shape, d.bytes, &count, &bytes) || bytes > SIZE_MAX - 63)
        return mx_fail(e, MX_BAD_INPUT, name, "shape is too large");
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->dtype, sizeof t->dtype, "%s", d.name);
    if (rank) memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    t->bytes = (size_t)bytes;
    /* One byte at least, so that NULL always means failure. */
    t->data = calloc(t->bytes ? t->bytes : 1, 1);
    if (!t->data) return mx_fail(e, MX_NO_MEMORY, name, "no memory for %zu bytes", t->bytes);
    return MX_OK;
}

void mx_tensor_free(mx_tensor *t)
{
    free(t->data);
    *t = (mx_tensor){0};
}

int64_t mx_tensor_count(const mx_tensor *t)
{
    size_t each = mx_dtype_bytes(t->dtype);
    return each ? (int64_t)(t->bytes / each) : 0;
}
