/* SPDX-License-Identifier: Apache-2.0
 *
 * child.h - the worker process of one library: started, asked, timed, killed, started again. */
#ifndef CHECKS_CHILD_H
#define CHECKS_CHILD_H

#include <sys/types.h>

#include "wire.h"

typedef struct child {
    const char *path; /* of the library; borrowed */
    double seconds;   /* limit of one exchange */
    pid_t pid;        /* 0: none running */
    int socket, output, arena_fd;
    unsigned char *arena;
    char printed[256]; /* the first bytes of what the kernel printed since the last request */
    size_t n_printed;
    wire_hello hello;
    offer *offers; /* hello.n_ops of them; owned */
} child;

/* How an exchange ended. */
typedef enum child_end {
    CHILD_ANSWERED,
    CHILD_DIED,
    CHILD_SLOW,
    CHILD_BROKEN /* no process to be had */
} child_end;

/* Map the arena and start the first worker. On return `hello` says what the library is; a library that
 * crashes or hangs while loading is MX_BAD_INPUT with the stage in words. */
mx_status child_open(child *c, const char *path, double seconds, mx_error *e);
void child_close(child *c);

/* Send a request, starting a worker first if none runs; wait for the reply. When the worker died or was
 * killed, `why` says of what: "crashed (SIGSEGV ...)". */
child_end child_ask(child *c, const wire_request *q, wire_reply *reply, char *why, size_t why_size);

/* End the worker and all of its process group. */
void child_stop(child *c);

#endif
