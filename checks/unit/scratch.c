/* SPDX-License-Identifier: Apache-2.0
 * A scratch folder per test case. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "scratch.h"
#include "suite.h"

static char folder[] = "/tmp/mxcheck-unit-XXXXXX";

void scratch_make(void)
{
    snprintf(folder, sizeof folder, "/tmp/mxcheck-unit-XXXXXX");
    if (!mkdtemp(folder)) abort();
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s, (void)kind, (void)where;
    return remove(path);
}

void scratch_remove(void) { nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

const char *scratch_path(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *scratch_write(const char *name, const void *data, size_t n)
{
    mx_error e = {0};
    const char *path = scratch_path(name);
    ck_assert_msg(mx_file_write(path, data, n, &e) == MX_OK, "%s: %s", e.place, e.message);
    return path;
}
