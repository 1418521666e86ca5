/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel offered to mxcheck: an MXFP8 quantiser for the CPU. Build it and have it judged:
 *
 *     cc -O2 -shared -fPIC -I/usr/local/include -o mine.so kernel.c -lm
 *     mxcheck kernel --vectors vectors/ --kernel ./mine.so */
#include <math.h>
#include <string.h>

#include "mx_kernel.h"

static unsigned char e4m3(float x)
{
    float m = fminf(fabsf(x), 480);
    int e = m > 0 ? ilogbf(m) : -6, sign = signbit(x) ? 0x80 : 0;
    if (isnan(x)) return 0x7F;
    if (e < -6) e = -6;
    int code =
        (e + 6) * 8 + (int)rintf(ldexpf(m, 3 - e)); /* to nearest even; a carry moves into the exponent */
    return (unsigned char)(sign | (code > 0x7E ? 0x7E : code));
}

static int quantize(const mx_kernel_call *call)
{
    const mx_kernel_tensor *x = &call->in[0];
    unsigned char *q = call->out[0].data, *scale = call->out[1].data;
    for (int64_t r = 0; r < x->shape[0]; r++)
        for (int64_t c = 0; c < x->shape[1]; c += 32) {
            const float *block = (const float *)x->data + r * x->pitch + c;
            int64_t n = x->shape[1] - c < 32 ? x->shape[1] - c : 32;
            float amax = 0;
            for (int64_t i = 0; i < n; i++)
                amax = fmaxf(amax, fabsf(block[i])); /* fmaxf ignores NaN */
            float p = amax * (1 / 448.0f);
            uint32_t bits;
            memcpy(&bits, &p, sizeof bits);
            uint32_t s = (bits >> 23) + ((bits & 0x7FFFFF) && bits > 0x00400000); /* rounded up */
            s = s > 0xFE ? 0xFE : s;
            *scale++ = (unsigned char)s;
            for (int64_t i = 0; i < n; i++)
                *q++ = e4m3(ldexpf(block[i], 127 - (int)s));
        }
    return MX_KERNEL_DONE;
}

const mx_kernel_library *mx_kernel_describe(void)
{
    static const mx_kernel_op op = {
        .name = "quantize", .operation = "quantize", .recipe = "mxfp8", .inputs = "f32", .run = quantize};
    static const mx_kernel_library library = {
        .abi = MX_KERNEL_ABI, .name = "example in C", .version = "1", .n_ops = 1, .ops = &op};
    return &library;
}
