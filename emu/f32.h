/* SPDX-License-Identifier: Apache-2.0
 *
 * f32.h - single-precision steps as GPUs take them: rounded once, NaN made canonical, subnormals flushed
 * where the code under emulation was built so. Private to emu/. */
#ifndef EMU_F32_H
#define EMU_F32_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static inline float f32_from(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* The NaN that arithmetic instructions of NVIDIA GPUs produce (PTX ISA, "NaN payloads"): 7FFFFFFF. */
static inline float f32_result(float x) { return isnan(x) ? f32_from(0x7FFFFFFF) : x; }

static inline float f32_flush(float x, bool flush)
{
    return flush && fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static inline float f32_multiply(float a, float b, bool flush)
{
    return f32_result(f32_flush(f32_flush(a, flush) * f32_flush(b, flush), flush));
}

static inline float f32_divide(float a, float b, bool flush)
{
    return f32_result(f32_flush(f32_flush(a, flush) / f32_flush(b, flush), flush));
}

#endif
