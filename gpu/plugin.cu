/* SPDX-License-Identifier: Apache-2.0
 *
 * plugin.cu - the library that mxcheck loads: every operation of gpu/, gathered from the files' tables. */
#include "ops.h"

namespace
{

constexpr uint32_t MAX_OPS = 512;

#define ADDRESS(name) &mx_gpu_##name,
const mx_gpu_table *const tables[] = {MX_GPU_TABLES(ADDRESS) nullptr};
#undef ADDRESS

/* The tables are constants of other object files, so their sizes are known to the linker only: the one array
 * that the ABI asks for is filled while the library is loaded, and never changes. */
struct Gathered {
    mx_kernel_op ops[MAX_OPS];
    mx_kernel_library library;

    Gathered() : library{MX_KERNEL_ABI, "gpu", MX_VERSION, 0, ops, MX_KERNEL_CUDA_MEMORY}
    {
        for (const mx_gpu_table *const *t = tables; *t; t++)
            for (uint32_t i = 0; i < (*t)->n_ops && library.n_ops < MAX_OPS; i++)
                ops[library.n_ops++] = (*t)->ops[i];
    }
};

const Gathered gathered;

} // namespace

extern "C" __attribute__((visibility("default"))) const mx_kernel_library *mx_kernel_describe(void)
{
    return &gathered.library;
}
