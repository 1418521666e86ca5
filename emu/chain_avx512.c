/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include <stdlib.h>

enum { TILE_ROWS = 6 };
#define VECTOR_BYTES 64
#define ELEMENT      float
#define NAME(x)      f32_##x
#include "chain_impl.h"
#define ELEMENT double
#define NAME(x) f64_##x
#include "chain_impl.h"

const mx_chain_isa mx_chain_avx512 = {f32_product, f64_product};
