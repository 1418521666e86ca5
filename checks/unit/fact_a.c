/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "fact_a.h"
#include "quantize.h"

const fact_a facts_a[] = {{"e4m3", 8, 0x600000, 0x04600001},
                          {"e5m2", 15, 0x600000, 0x07E00001},
                          {"e2m1", 2, 0x400000, 0x01400001},
                          {"e2m3", 2, 0x700000, 0x01700001},
                          {"e3m2", 4, 0x600000, 0x02600001}};
const int facts_a_count = sizeof facts_a / sizeof *facts_a;

static uint32_t integer_rule(const fact_a *f, uint32_t b)
{
    int byte = (int)(b >> 23) - f->emax + ((b & 0x7FFFFF) > f->limit);
    return byte < 0 ? 0 : (uint32_t)byte;
}

tally fact_a_try(const fact_a *f, uint32_t first, uint32_t step, uint64_t count)
{
    char name[64];
    tally t = {0};
    snprintf(name, sizeof name, "study:%s/e8m0/1x32/rceil/rne", f->element);
    mx_recipe multiply = *mx_recipe_find(name), divide = multiply, up = multiply, flush = multiply;
    divide.ratio = MX_RATIO_DIVIDE;
    up.ratio = MX_RATIO_DIVIDE;
    up.rule = MX_RULE_UP;
    flush.flush = MX_FLUSH_ALL;
    bool e4m3 = !strcmp(f->element, "e4m3");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = first + i * step;
        if (bits >= 0x7F800000) break;
        uint32_t b = (uint32_t)bits, want = integer_rule(f, b);
        float amax;
        memcpy(&amax, &b, sizeof amax);
        uint32_t got = mx_block_scale(&multiply, amax, 0, NULL);
        bool exception = b == f->exception && got == 0 && want == 1;
        t.tried++;
        t.exceptions += exception;
        t.wrong += got != want && !exception;
        t.mul_div_apart += got != mx_block_scale(&divide, amax, 0, NULL);
        if (!e4m3) continue;
        bool differs = mx_block_scale(&up, amax, 0, NULL) != got;
        t.up_wrong += differs != (b >= 0x000000E1 && b <= 0x04600001);
        differs = mx_block_scale(&flush, amax, 0, NULL) != want;
        t.flush_wrong += differs != (b >= 0x04600001 && b <= 0x04DFFFFE);
    }
    return t;
}
