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

/* Can mx_quantize_fast() do recipe r on an x of this format, and mx_dequantize_fast() read it into `to`? */
bool mx_fast_supports(const mx_recipe *r, const mx_format *x);
bool mx_fast_reads(const mx_recipe *r, const mx_format *to);

/* As mx_quantize() and mx_dequantize(), which check the arguments first: these take them as sound.
 * MX_UNSUPPORTED where the question above is answered by no. The result is that of the scalar code, byte for
 * byte, for any instruction set and number of threads. */
mx_status mx_quantize_fast(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                           mx_quantized *out, mx_error *e);
mx_status mx_dequantize_fast(const mx_recipe *r, const mx_quantized *q, int64_t rows, int64_t cols,
                             const mx_format *format, void *y, int64_t pitch, mx_error *e);

/* Place two 4-bit codes in each byte, code 2i in the low nibble of byte i and 2i + 1 in the high one;
 * (n + 1) / 2 bytes. The high nibbles of `codes` are ignored. */
void mx_fast_pack_nibbles(const uint8_t *codes, size_t n, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
