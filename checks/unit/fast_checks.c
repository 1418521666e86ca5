/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fast_checks.h"
#include "suite.h"

const fast_isa *const fast_isas[] = {&mx_fast_avx512, &mx_fast_avx2, NULL};
const char *const fast_elements[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", NULL};

uint32_t fast_code_at(const mx_format *source, const void *x, size_t i)
{
    return source->bits == 32 ? ((const uint32_t *)x)[i] : ((const uint16_t *)x)[i];
}

typedef struct cast_run {
    const mx_format *element, *source;
    const void *x;
    size_t n, tame; /* of the n inputs at x the first `tame` are below 2^64 */
    const uint8_t *want;
    uint8_t *got;
} cast_run;

static void compare(const fast_isa *isa, const char *way, const cast_run *c, size_t n)
{
    if (!memcmp(c->got, c->want, n)) return;
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(c->got[i] == c->want[i], "%s %s %s -> %s: %x gives %02x, scalar %02x", isa->name, way,
                      c->source->name, c->element->name, fast_code_at(c->source, c->x, i), c->got[i],
                      c->want[i]);
}

static void check_isa(const fast_isa *isa, const cast_run *c)
{
    fast_encode e = {.source = mx_fast_source(c->source), .op = FAST_PLAIN};
    uint32_t nan = mx_encode(c->element, (double)NAN, &MX_CAST_DEFAULT, 0);
    ck_assert(mx_fast_cast_for(c->element, nan, &e.cast));
    const float one = 1;
    size_t block = 1;
    while (block < c->n)
        block *= 2;
    isa->encode(&e, c->x, c->n, NULL, 1, c->got);
    compare(isa, "plain", c, c->n);
    e.op = FAST_TIMES;
    isa->encode(&e, c->x, c->n, &one, block, c->got);
    compare(isa, "scaled", c, c->n);
    e.tame = true;
    isa->encode(&e, c->x, c->tame, &one, block, c->got);
    compare(isa, "tame", c, c->tame);
}

int fast_check_cast(const mx_format *element, const mx_format *source, const void *x, size_t n)
{
    int isas = 0;
    uint8_t *want = malloc(2 * n);
    ck_assert_ptr_nonnull(want);
    cast_run c = {element, source, x, n, 0, want, want + n};
    for (size_t i = 0; i < n; i++) {
        double v = mx_decode(source, fast_code_at(source, x, i));
        want[i] = (uint8_t)mx_encode(element, v, &MX_CAST_DEFAULT, 0);
        if (c.tame == i && fabs(v) < 0x1p64) c.tame++;
    }
    for (int i = 0; fast_isas[i]; i++)
        if (fast_isas[i]->present()) check_isa(fast_isas[i], &c), isas++;
    free(want);
    return isas;
}
