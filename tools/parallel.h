/* SPDX-License-Identifier: Apache-2.0
 *
 * parallel.h - several processes of one run, under mpirun. The command itself links no MPI, so that it runs
 * on a bare node; what talks to MPI is the plug-in mxcheck-mpi.so, loaded only when the environment says that
 * mpirun started us. */
#ifndef TOOLS_PARALLEL_H
#define TOOLS_PARALLEL_H

#include <stddef.h>

#include "mx.h"

/* What mxcheck-mpi.so exports as `mx_parallel`. Functions return 0, or an error of MPI. */
#define PARALLEL_SYMBOL "mx_parallel"
typedef struct parallel_library {
    int (*begin)(int *rank, int *size);
    int (*send)(int to, const void *data, size_t n);
    int (*size)(int from, size_t *n); /* of the message that comes next from `from`; waits for it */
    int (*receive)(int from, void *data, size_t n);
    int (*end)(void);
} parallel_library;

typedef struct parallel {
    int rank, size; /* 0 of 1 where there is no MPI */
    void *handle;
    const parallel_library *library;
} parallel;

/* MX_CANNOT_RUN: started by mpirun, and the plug-in is missing or MPI fails: running on as many separate runs
 * would give each the whole work. */
mx_status parallel_begin(parallel *p, mx_error *e);
int parallel_send(const parallel *p, const char *text); /* to rank 0 */
char *parallel_receive(const parallel *p, int from);    /* malloc'd text; NULL: failed */
void parallel_end(parallel *p);

#endif
