/* SPDX-License-Identifier: Apache-2.0
 * Products in one fixed order: the plain form, and the choice among the forms. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

#include "fast.h"

enum { TILE_ROWS = 6 };
#define VECTOR_BYTES 16
#define ELEMENT      float
#define NAME(x)      f32_##x
#include "chain_impl.h"
#define ELEMENT double
#define NAME(x) f64_##x
#include "chain_impl.h"

static const mx_chain_isa *choose(void)
{
    static const mx_chain_isa plain = {f32_product, f64_product};
    const char *isa = mx_fast_isa();
    return !strcmp(isa, "avx512") ? &mx_chain_avx512 : !strcmp(isa, "avx2") ? &mx_chain_avx2 : &plain;
}

bool mx_chain_f32(const float *a, const float *b, float *d, int64_t m, int64_t n, int64_t k, int slices)
{
    return choose()->f32(a, b, d, m, n, k, slices);
}

bool mx_chain_f64(const double *a, const double *b, double *d, int64_t m, int64_t n, int64_t k, int slices)
{
    return choose()->f64(a, b, d, m, n, k, slices);
}
