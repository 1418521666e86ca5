/* SPDX-License-Identifier: Apache-2.0
 * The fast path's front: which instruction set, and the constants of each format. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fast.h"
#include "fast_plan.h"

/* Best first. A new instruction set is a new row. */
static const fast_isa *const known[] = {&mx_fast_avx512, &mx_fast_avx2};
enum { N_KNOWN = sizeof known / sizeof *known };

static const fast_isa scalar = {.name = "scalar"};
static _Atomic(const fast_isa *) current;

static const fast_isa *find(const char *name)
{
    if (name && !strcmp(name, scalar.name)) return &scalar;
    for (int i = 0; i < N_KNOWN; i++)
        if ((!name || !strcmp(name, known[i]->name)) && known[i]->present()) return known[i];
    return name ? NULL : &scalar;
}

static const fast_isa *chosen(void)
{
    const fast_isa *isa = atomic_load(&current);
    if (isa) return isa;
    isa = find(getenv("MXCHECK_ISA"));
    if (!isa) isa = find(NULL); /* a name that this CPU lacks must not stop the program */
    atomic_store(&current, isa);
    return isa;
}

const fast_isa *mx_fast_current(void) { return chosen() == &scalar ? NULL : chosen(); }

const char *mx_fast_isa(void) { return chosen()->name; }

bool mx_fast_select(const char *isa)
{
    const fast_isa *found = find(isa);
    if (found) atomic_store(&current, found);
    return found;
}

void mx_fast_pack_nibbles(const uint8_t *codes, size_t n, uint8_t *out)
{
    const fast_isa *isa = mx_fast_current();
    if (isa) {
        isa->pack_nibbles(codes, n, out);
        return;
    }
    for (size_t i = 0; i < n; i += 2)
        out[i / 2] = (uint8_t)((codes[i] & 15) | (i + 1 < n ? codes[i + 1] << 4 : 0));
}

static uint32_t bits_of(double value)
{
    float f = (float)value; /* exact: only values of the small formats come here */
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

bool mx_fast_cast_for(const mx_format *element, uint32_t nan_code, fast_cast *out)
{
    if (element->kind != MX_KIND_FLOAT || !element->is_signed || element->bits > 8 ||
        element->specials == MX_SPECIALS_NEGZERO)
        return false;
    uint32_t shift = 23u - element->man_bits;
    uint32_t min_normal = (uint32_t)(127 + mx_format_emin(element)) << 23;
    *out = (fast_cast){
        .shift = shift,
        .widen = shift << 23,
        .min_normal = min_normal,
        .excess = min_normal >> shift,
        .max_bits = bits_of(mx_format_max(element)),
        .max_code = element->max_code,
        .sign_shift = 32u - element->bits,
        .nan_code = nan_code,
    };
    return true;
}

bool mx_fast_uncast_for(const mx_format *element, fast_uncast *out)
{
    fast_cast c;
    if (!mx_fast_cast_for(element, 0, &c)) return false;
    int shift = 10 - element->man_bits;
    *out = (fast_uncast){
        .magnitude = (uint16_t)((1u << (element->bits - 1)) - 1),
        .shift = shift,
        .sign_shift = 16 - element->bits,
        .not_nan = element->specials == MX_SPECIALS_ALLONES ? (uint16_t)(element->max_code << shift) : 0x7C00,
        .rescale = ldexpf(1, 15 - element->bias),
    };
    return true;
}
