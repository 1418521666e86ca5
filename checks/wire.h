/* SPDX-License-Identifier: Apache-2.0
 *
 * wire.h - what the harness and the worker process that holds the kernel say to each other.
 *
 * A SOCK_SEQPACKET pair carries fixed-size messages; tensors lie in an arena, a memfd mapped by both. A
 * region of the arena is
 *
 *     guard page | lead | data | tail | guard page of the next region | ...
 *
 * where lead and tail are filled with the pad byte. The worker of a host kernel takes all rights from the
 * guard pages; that of a device kernel mirrors the arena in one device allocation and copies it both ways,
 * so that guard pages too are checked as bytes. */
#ifndef CHECKS_WIRE_H
#define CHECKS_WIRE_H

#include <stdint.h>

#include "subject.h"

#define WORKER_NAME    "mxcheck-worker" /* argv[0] by which main() knows that it is one */
#define WORKER_SOCKET  3
#define WORKER_ARENA   4
#define WIRE_PAGE      4096u
#define WIRE_ARENA     ((size_t)64 << 30) /* sparse: only touched pages exist */
#define WIRE_ALIGNMENT 256u

/* What the worker was doing, so that a crash can be told in words. */
typedef enum wire_stage {
    STAGE_START,
    STAGE_LOAD,
    STAGE_DESCRIBE,
    STAGE_OPEN,
    STAGE_IDLE,
    STAGE_RUN,
    STAGE_COUNT
} wire_stage;

/* Page 0 of the arena: the worker's last words. */
typedef struct wire_control {
    volatile int stage, signal;
    volatile uint64_t address, base; /* fault address, and where the worker mapped the arena */
} wire_control;

typedef struct wire_hello {
    int status; /* mx_status: MX_OK, MX_CANNOT_RUN (no device), MX_BAD_INPUT (not one of ours) */
    int n_ops;
    int on_device;
    char name[96], version[64], device[96], message[400];
} wire_hello; /* followed by n_ops messages of type offer */

typedef struct wire_tensor {
    char role[24], dtype[12];
    int32_t rank;
    int64_t shape[MX_MAX_RANK], pitch;
    uint64_t guard; /* offset in the arena of the guard page before it */
    uint64_t data;  /* offset of its first byte */
    uint64_t bytes;
    uint64_t end; /* offset of the guard page after it */
} wire_tensor;

typedef struct wire_request {
    int op, n_in, n_out;
    double alpha, beta;
    uint64_t seed, span; /* arena bytes in use, page 0 included */
    char recipe[64];
    wire_tensor t[2 * JOB_MAX_SLOTS];
} wire_request;

typedef struct wire_reply {
    int state; /* run_state */
    int left_processes;
    int device_fault; /* the device context is lost: start another worker */
    char message[512];
} wire_reply;

/* Was this process started as a worker? Every main() that may start one asks first. */
bool worker_is(int argc, char **argv);

/* main() of a worker: loads `path`, says hello, serves until the socket closes. */
int worker_main(const char *path);

#endif
