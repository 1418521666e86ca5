/* SPDX-License-Identifier: Apache-2.0
 *
 * reap.h - nothing that a kernel starts outlives it, whatever it does to its process group or session.
 *
 * A process that calls reap_adopt() becomes the parent of orphans below it (Linux, prctl(2)
 * PR_SET_CHILD_SUBREAPER), and so can find and end them. */
#ifndef CHECKS_REAP_H
#define CHECKS_REAP_H

#include <stdbool.h>
#include <sys/types.h>

void reap_adopt(void);

/* A child that is meant to live, and no longer. */
void reap_keep(pid_t pid);
void reap_release(pid_t pid);

/* End every other child of this process, and what they leave, until none is there; true if there was one that
 * still ran. Not for several threads at once. */
bool reap_children(void);

#endif
