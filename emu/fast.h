/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h - quantise and dequantise with SIMD, for the recipes whose arithmetic the kernels follow to the
 * bit. mx_quantize() and mx_dequantize() call these where they apply; everything else takes the scalar code.
 */
#ifndef EMU_FAST_H
#define EMU_FAST_H

#include "mx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The instruction set in use: "avx512", "avx2", or "scalar" where the CPU has neither. The first call asks
 * the CPU; the environment variable MXCHECK_ISA (one of the three) lowers the choice. */
const char *mx_fast_isa(void);

/* Choose by name from here on, for tests and benchmarks; false, and no change, if this CPU lacks it or the
 * name is unknown. NULL returns to the first choice. */
bool mx_fast_select(const char *isa);

/* Place two 4-bit codes in each byte, code 2i in the low nibble of byte i and 2i + 1 in the high one;
 * (n + 1) / 2 bytes. The high nibbles of `codes` are ignored. */
void mx_fast_pack_nibbles(const uint8_t *codes, size_t n, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
