/* SPDX-License-Identifier: Apache-2.0 */
#include "swiglu.h"

#include <math.h>

float mx_sigma(float g)
{
    const float minus_log2_e = -0x1.715476p+0f, magic = 0x1.8p+23f;
    static const float coefficients[] = {0x1.3cea88p-7f, 0x1.c6b752p-5f, 0x1.ebf9bcp-3f, 0x1.62e42ap-1f, 1};
    float c = isnan(g) || g < -88 ? -88 : g > 80 ? 80 : g;
    float m = fmaf(c, minus_log2_e, magic), n = m - magic;
    float f = fmaf(c, minus_log2_e, -n), p = 0x1.5bba14p-10f;
    for (int i = 0; i < 5; i++)
        p = fmaf(p, f, coefficients[i]);
    float d = 1 + ldexpf(p, (int)n);
    return d > 0x1p+126f ? 0 : 1 / d;
}

float mx_swiglu(float gate, float up) { return gate * mx_sigma(gate) * up; }

void mx_swiglu_grad(float gate, float up, float dy, float *dgate, float *dup)
{
    float s = mx_sigma(gate), a = gate * s, h = fmaf(a, 1 - s, s);
    *dgate = dy * up * h;
    *dup = dy * a;
}
