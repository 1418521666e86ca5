/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

progress progress_begin(const char *what)
{
    double start = now();
    return (progress){what, start, start, isatty(STDERR_FILENO), false};
}

void progress_show(progress *p, double done, double all)
{
    if (!p->terminal) return;
    double t = now();
    if (t - p->start < 1 || t - p->shown < 0.1) return;
    p->shown = t;
    p->drawn = true;
    double left = done > 0 ? (t - p->start) * (all - done) / done : 0;
    fprintf(stderr, "\r\033[K%.60s: %3.0f %%, %.0f s left", p->what, all > 0 ? 100 * done / all : 100, left);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = false;
}
