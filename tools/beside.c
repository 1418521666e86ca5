/* SPDX-License-Identifier: Apache-2.0 */
#include "beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool beside_binary(const char *name, char *path, size_t size)
{
    static const char *const places[] = {"", "../lib/mxcheck/"};
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = 0;
    char *end = strrchr(self, '/');
    if (!end) return false;
    end[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(path, size, "%s%s%s", self, places[i], name) < (int)size && !access(path, R_OK))
            return true;
    return false;
}
