/* SPDX-License-Identifier: Apache-2.0
 * Any text as manifest.json; names that come through must stay in their folder. */
#include <stdlib.h>
#include <string.h>

#include "case_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static mx_status check(const mx_manifest_file *f, void *context, mx_error *e)
{
    (void)e;
    ++*(int *)context;
    if (strchr(f->name, '/') || !strcmp(f->name, "..") || strlen(f->sha256) != 64 || f->bytes < 0) abort();
    return MX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    mx_error e = {0};
    int files = 0;
    if (mx_manifest_walk((const char *)data, n, "fuzz", check, &files, &e) && !*e.message) abort();
    return 0;
}
