/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"

static bool under_mpirun(void)
{
    /* Open MPI, MPICH and its kin, Slurm with PMIx. */
    static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (getenv(signs[i])) return true;
    return false;
}

mx_status parallel_begin(parallel *p, mx_error *e)
{
    *p = (parallel){0, 1, NULL, NULL};
    if (!under_mpirun()) return MX_OK;
    char path[4096];
    if (!beside_binary("mxcheck-mpi.so", path, sizeof path))
        return mx_fail(
            e, MX_CANNOT_RUN, "mxcheck-mpi.so",
            "started by mpirun, and this build has no MPI plug-in: install libopenmpi-dev and build again");
    p->handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* Open MPI's own plug-ins look for its symbols */
    p->library = p->handle ? dlsym(p->handle, PARALLEL_SYMBOL) : NULL;
    if (!p->library) return mx_fail(e, MX_CANNOT_RUN, path, "%s", dlerror());
    int error = p->library->begin(&p->rank, &p->size);
    return error ? mx_fail(e, MX_CANNOT_RUN, path, "MPI error %d", error) : MX_OK;
}

int parallel_send(const parallel *p, const char *text) { return p->library->send(0, text, strlen(text) + 1); }

char *parallel_receive(const parallel *p, int from)
{
    size_t n = 0;
    if (p->library->size(from, &n)) return NULL;
    char *text = malloc(n + 1);
    if (text && p->library->receive(from, text, n)) {
        free(text);
        return NULL;
    }
    if (text) text[n] = 0;
    return text;
}

void parallel_end(parallel *p)
{
    if (p->library) p->library->end();
}
