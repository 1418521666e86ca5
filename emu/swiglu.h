/* SPDX-License-Identifier: Apache-2.0
 *
 * swiglu.h - SwiGLU and its gradient as a fixed sequence of IEEE fp32 operations.
 *
 * Every step is one operation rounded to nearest even, fma rounds once, nothing is flushed:
 *
 *   sigma(g):  c = min(max(g, -88), 80), a NaN giving -88
 *              m = fma(c, -0x1.715476p+0, 0x1.8p+23); n = m - 0x1.8p+23
 *              f = fma(c, -0x1.715476p+0, -n)
 *              p = (((((f A + B) f + C) f + D) f + E) f + 1), each an fma, with
 *                  A = 0x1.5bba14p-10, B = 0x1.3cea88p-7, C = 0x1.c6b752p-5, D = 0x1.ebf9bcp-3, E =
 * 0x1.62e42ap-1 d = 1 + p 2^n; sigma = d > 2^126 ? 0 : 1 / d forward:   a = g sigma; y = a u backward:  a = g
 * sigma; h = fma(a, 1 - sigma, sigma); dgate = (dy u) h; dup = dy a
 *
 * Results are rounded to the type of the inputs before anything is quantised: the bits are those of an
 * unfused layer that stores its activation. */
#ifndef EMU_SWIGLU_H
#define EMU_SWIGLU_H

float mx_sigma(float g);
float mx_swiglu(float gate, float up);
void mx_swiglu_grad(float gate, float up, float dy, float *dgate, float *dup);

#endif
