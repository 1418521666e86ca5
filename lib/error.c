/* SPDX-License-Identifier: Apache-2.0
 * Errors are values: code, message, place. */
#include <stdarg.h>
#include <stdio.h>

#include "mx.h"

mx_status mx_fail(mx_error *e, mx_status status, const char *place, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        e->status = status;
        vsnprintf(e->message, sizeof e->message, format, args);
        snprintf(e->place, sizeof e->place, "%s", place ? place : "");
        va_end(args);
    }
    return status;
}
