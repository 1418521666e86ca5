/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <stdlib.h>
#include <string.h>

/* Floating-point outputs: any NaN counts as the same, so it is hashed as the same. */
static void settle_nans(const mx_format *f, void *data, size_t bytes)
{
    size_t width = f->bits / 8u;
    for (size_t at = 0; at + width <= bytes; at += width) {
        uint32_t code = 0;
        memcpy(&code, (char *)data + at, width);
        if (mx_code_is_nan(f, code)) memcpy((char *)data + at, &f->nan_code, width);
    }
}

void digest_tensor(const char *dtype, const void *data, size_t bytes, char hex[MX_SHA256_TEXT])
{
    const mx_format *f = mx_format_find(dtype);
    unsigned char *copy = f && f->bits >= 16 && f->bits % 8 == 0 ? malloc(bytes + 1) : NULL;
    if (copy) {
        memcpy(copy, data, bytes);
        settle_nans(f, copy, bytes);
    }
    mx_sha256(copy ? copy : data, bytes, hex);
    free(copy);
}

void digest_record(const trial *t, FILE *out)
{
    const job *j = t->job;
    for (int i = 0; i < j->n_out; i++) {
        char hex[MX_SHA256_TEXT], want[MX_SHA256_TEXT];
        if (!t->canon[i] || !j->out[i].canon) continue;
        digest_tensor(j->out[i].dtype, t->canon[i], j->out[i].canon_bytes, hex);
        digest_tensor(j->out[i].dtype, j->out[i].canon, j->out[i].canon_bytes, want);
        if (strcmp(hex, want))
            continue; /* right, and yet not the same: padding that the layout leaves open, a bound */
        fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", j->offer->name, j->c->id, j->offer->model,
                j->offer->schedule, j->offer->output, j->out[i].role, hex);
    }
}
