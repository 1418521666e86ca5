/* SPDX-License-Identifier: Apache-2.0
 *
 * progress.h - a progress line on stderr, only where that is a terminal, and only on work that takes longer
 * than a second. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>

typedef struct progress {
    const char *what; /* borrowed */
    double start, shown;
    bool terminal, drawn;
} progress;

progress progress_begin(const char *what);
void progress_show(progress *p, double done, double all);
void progress_end(progress *p); /* clears the line */

#endif
