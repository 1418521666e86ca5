/* SPDX-License-Identifier: Apache-2.0
 * Errors are values: code, message, place. */
#include <stdarg.h>
#include <stdio.h>

#include "mx.h"

/* Names in a message may come from a hostile file; they must not reach a terminal as control sequences. */
static void disarm(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F) *text = '?';
}

mx_status mx_fail(mx_error *e, mx_status status, const char *place, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        e->status = status;
        vsnprintf(e->message, sizeof e->message, format, args);
        snprintf(e->place, sizeof e->place, "%s", place ? place : "");
        va_end(args);
        disarm(e->message);
        disarm(e->place);
    }
    return status;
}
