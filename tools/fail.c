/* SPDX-License-Identifier: Apache-2.0
 * Messages on stderr. */
#include <stdarg.h>
#include <stdio.h>

#include "command.h"
#include "fail.h"

int fail_with(const char *who, const mx_error *e)
{
    fprintf(stderr, "mxcheck %s: %s%s%s\n", who, e->place, *e->place ? ": " : "", e->message);
    return e->status == MX_CANNOT_RUN ? EXIT_CANNOT_RUN : EXIT_USAGE;
}

int fail_usage(const char *who, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "mxcheck %s: ", who);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

const char *printable(const char *text)
{
    static char buffers[4][201];
    static int next;
    char *out = buffers[next++ & 3];
    snprintf(out, sizeof buffers[0], "%s", text);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = '?';
    return out;
}
