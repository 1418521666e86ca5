/* SPDX-License-Identifier: Apache-2.0
 * The MPI side of parallel.h. Built with mpicc where there is one. */
#include <limits.h>

#include <mpi.h>

#include "parallel.h"

/* Messages are cut into pieces that fit MPI's int counts; the first says how many bytes come. */
enum { PIECE = 1 << 30, TAG = 7 };

static int begin(int *rank, int *size)
{
    int error = MPI_Init(NULL, NULL);
    if (!error) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return error ? error : MPI_Comm_size(MPI_COMM_WORLD, size);
}

static int send_pieces(int to, const void *data, size_t n)
{
    unsigned long long all = n;
    int error = MPI_Send(&all, 1, MPI_UNSIGNED_LONG_LONG, to, TAG, MPI_COMM_WORLD);
    for (size_t at = 0; at < n && !error; at += PIECE)
        error = MPI_Send((const char *)data + at, n - at < PIECE ? (int)(n - at) : PIECE, MPI_BYTE, to, TAG,
                         MPI_COMM_WORLD);
    return error;
}

static int next_size(int from, size_t *n)
{
    unsigned long long all = 0;
    int error = MPI_Recv(&all, 1, MPI_UNSIGNED_LONG_LONG, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *n = (size_t)all;
    return error;
}

static int receive_pieces(int from, void *data, size_t n)
{
    int error = 0;
    for (size_t at = 0; at < n && !error; at += PIECE)
        error = MPI_Recv((char *)data + at, n - at < PIECE ? (int)(n - at) : PIECE, MPI_BYTE, from, TAG,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return error;
}

static int end(void) { return MPI_Finalize(); }

extern const parallel_library mx_parallel;
const parallel_library mx_parallel = {begin, send_pieces, next_size, receive_pieces, end};
