/* SPDX-License-Identifier: Apache-2.0
 *
 * reference.h - what the quantisers should give, in host code that shares nothing with them: values travel as
 * double, powers of two come from ldexp, and rounding is written out. */
#ifndef MX_GPU_REFERENCE_H
#define MX_GPU_REFERENCE_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

struct Spec {
    std::string recipe;
    int man, emin, emax, bits;
    double max;
    int nan_code;
    bool floor, keep_nan;
    int inf_code;
    int block_rows, block_cols;
    bool nvfp4;
};

static bool has(const std::string &s, const char *part) { return s.find(part) != std::string::npos; }

static Spec spec_of(const std::string &recipe)
{
    Spec s = {recipe, 3, -6, 8, 8, 448, 0x7F, false, false, 0xFE, 1, 32, false};
    if (has(recipe, "e5m2")) s.man = 2, s.emin = -14, s.emax = 15, s.max = 57344;
    if (has(recipe, "fp4")) s.man = 1, s.emin = 0, s.emax = 2, s.max = 6, s.bits = 4, s.nan_code = 7;
    s.nvfp4 = has(recipe, "nvfp4");
    s.floor = has(recipe, "floor");
    s.keep_nan = has(recipe, "ao-");
    if (s.keep_nan) s.inf_code = 0xFF;
    if (s.nvfp4) s.block_cols = 16;
    if (has(recipe, "-col")) s.block_rows = s.block_cols, s.block_cols = 1;
    if (has(recipe, "-32x32")) s.block_rows = 32;
    return s;
}

/* Nearest even, saturating; NaN of either sign to nan_code. */
static int ref_encode(double y, int bits, int man, int emin, double max, int nan_code)
{
    if (std::isnan(y)) return nan_code;
    int sign = std::signbit(y) ? 1 << (bits - 1) : 0;
    double a = std::fabs(y);
    if (a > max) a = max;
    if (a == 0) return sign;
    int e = std::ilogb(a);
    if (e < emin) e = emin;
    int n =
        (int)std::nearbyint(std::ldexp(a, man - e)); /* may carry into the next binade: the sum does so too */
    return sign | (n + ((e - emin) << man));
}
static double ref_e4m3(int code)
{
    int e = code >> 3 & 15, m = code & 7;
    return e ? std::ldexp(8 + m, e - 10) : std::ldexp(m, -9);
}

struct Ref {
    std::vector<uint8_t> codes, scales; /* canonical: rows x cols, and the grid of blocks */
    int64_t grid_rows, grid_cols;
    float global;
};

static Ref ref_quantize(const Spec &s, const std::vector<float> &x, int64_t rows, int64_t cols)
{
    Ref r;
    r.grid_rows = (rows + s.block_rows - 1) / s.block_rows;
    r.grid_cols = (cols + s.block_cols - 1) / s.block_cols;
    r.codes.assign(rows * cols, 0);
    r.scales.assign(r.grid_rows * r.grid_cols, 0);
    r.global = 0;
    for (float v : x)
        if (!std::isnan(v)) r.global = std::fmax(r.global, std::fabs(v));
    float S = std::fmin(2688.0f / r.global, 3.402823466e38f);
    if (r.global == 0 || S == 0) S = 1;
#pragma omp parallel for
    for (int64_t b = 0; b < r.grid_rows * r.grid_cols; b++) {
        int64_t r0 = b / r.grid_cols * s.block_rows, r1 = std::min(r0 + s.block_rows, rows);
        int64_t c0 = b % r.grid_cols * s.block_cols, c1 = std::min(c0 + s.block_cols, cols);
        float amax = 0;
        bool nan = false;
        for (int64_t i = r0; i < r1; i++)
            for (int64_t k = c0; k < c1; k++) {
                float v = std::fabs(x[i * cols + k]);
                nan |= std::isnan(v);
                if (v > amax) amax = v;
            }
        int code;
        float factor;
        if (s.nvfp4) {
            code = ref_encode(amax * (S * (1.0f / 6.0f)), 8, 3, -6, 448, 0x7F);
            factor = std::fmin(1.0f / ((float)ref_e4m3(code) * (1.0f / S)), 3.402823466e38f);
        } else {
            if (nan && s.keep_nan)
                code = 255;
            else if (std::isinf(amax))
                code = s.inf_code;
            else if (s.floor)
                code = amax == 0 ? 0 : std::max(std::ilogb(amax) - s.emax + 127, 0);
            else {
                float p = amax * (float)(1.0 / s.max);
                int e = p == 0 ? -300 : std::ilogb(p);
                if (p != 0 && std::ldexp(1.0, e) != p) e++;
                code = std::max(e + 127, 0);
            }
            factor = code == 255 ? NAN : (float)std::ldexp(1.0, 127 - code);
        }
        r.scales[b] = (uint8_t)code;
        for (int64_t i = r0; i < r1; i++)
            for (int64_t k = c0; k < c1; k++)
                r.codes[i * cols + k] =
                    (uint8_t)ref_encode(x[i * cols + k] * factor, s.bits, s.man, s.emin, s.max, s.nan_code);
    }
    return r;
}

/* silu.cuh's definition, read from its comment. */
static float ref_sigma(float g)
{
    float c = std::fmin(std::fmax(g, -88.0f), 80.0f);
    float m = std::fma(c, -0x1.715476p+0f, 0x1.8p+23f), n = m - 0x1.8p+23f;
    float f = std::fma(c, -0x1.715476p+0f, -n);
    float p = std::fma(f, 0x1.5bba14p-10f, 0x1.3cea88p-7f);
    p = std::fma(p, f, 0x1.c6b752p-5f);
    p = std::fma(p, f, 0x1.ebf9bcp-3f);
    p = std::fma(p, f, 0x1.62e42ap-1f);
    p = std::fma(p, f, 1.0f);
    float e = std::ldexp(p, (int)n), d = 1.0f + e;
    return d > 0x1p+126f ? 0.0f : 1.0f / d;
}
static float ref_swiglu(float g, float u)
{
    float a = g * ref_sigma(g);
    return a * u;
}
static void ref_swiglu_grad(float g, float u, float dy, float *dgate, float *dup)
{
    float s = ref_sigma(g), a = g * s, r = 1.0f - s, h = std::fma(a, r, s), t = dy * u;
    *dgate = t * h;
    *dup = dy * a;
}

#endif
