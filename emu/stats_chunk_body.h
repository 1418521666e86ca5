/* SPDX-License-Identifier: Apache-2.0
 *
 * stats_chunk_body.h - the loops of stats_chunk.h, compiled once per instruction set. They have no branches
 * and constant lengths, so that the compiler makes vectors of them; where it would not, vectors are those
 * that gcc and clang share, of CHUNK_BYTES bytes. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "stats_chunk.h"

typedef struct prepared {
    float x[MX_CHUNK], y[MX_CHUNK]; /* 0 where either is NaN or Inf */
    float inverse_ulp[MX_CHUNK];
    int32_t finite[MX_CHUNK], largest[MX_CHUNK], counted[MX_CHUNK], far[MX_CHUNK]; /* -1: yes, 0: no */
} prepared;

static inline void prepare(const mx_chunk_format *f, const float *x, const float *y, const float *inverse,
                           prepared *p, mx_chunk *out)
{
    int32_t finite = 0, zero = 0, flushed = 0, subnormal = 0;
    for (int i = 0; i < MX_CHUNK; i++) {
        int32_t good = -((fabsf(x[i]) <= FLT_MAX) & (fabsf(y[i]) <= FLT_MAX));
        p->finite[i] = good;
        p->x[i] = good ? x[i] : 0;
        p->y[i] = good ? y[i] : 0;
        finite -= good;
    }
    for (int i = 0; i < MX_CHUNK; i++) {
        float a = fabsf(p->x[i]), b = fabsf(p->y[i]), scaled = b * inverse[i];
        p->counted[i] = -(a != 0);
        zero -= ~p->counted[i];
        flushed -= p->counted[i] & -(b == 0);
        subnormal -= -(scaled < f->normal) & -(b != 0);
        p->largest[i] = -(scaled >= f->largest);
        /* Just inside the interval in which x lies. */
        uint32_t bits, grew = (uint32_t) - (b > a);
        uint32_t margin = (0x3F802000 & ~grew) | (0x3F7FC000 & grew); /* 1 + 2^-10, 1 - 2^-10 */
        float by;
        memcpy(&by, &margin, 4);
        scaled *= by;
        memcpy(&bits, &scaled, 4);
        int32_t exponent = (int32_t)(bits & 0x7F800000);
        exponent = exponent < f->least ? f->least : exponent;
        exponent = exponent > f->most ? f->most : exponent;
        uint32_t one_over = f->twice - (uint32_t)exponent;
        memcpy(&by, &one_over, 4);
        p->inverse_ulp[i] = inverse[i] * by;
    }
    out->nonfinite = MX_CHUNK - finite;
    out->zero = zero - out->nonfinite;
    out->flushed = flushed;
    out->subnormal = subnormal;
}

typedef double lanes_d __attribute__((vector_size(CHUNK_BYTES)));
typedef int64_t lanes_i __attribute__((vector_size(CHUNK_BYTES)));
typedef float narrow_f __attribute__((vector_size(CHUNK_BYTES / 2)));
typedef int32_t narrow_i __attribute__((vector_size(CHUNK_BYTES / 2)));

#define LOAD_FLOATS(from) __builtin_convertvector(*(const narrow_f_at *)(const void *)(from), lanes_d)
#define LOAD_MASKS(from)  __builtin_convertvector(*(const narrow_i_at *)(const void *)(from), lanes_i)
/* The same, at any address and as any type. */
typedef narrow_f narrow_f_at __attribute__((aligned(4), may_alias));
typedef narrow_i narrow_i_at __attribute__((aligned(4), may_alias));
typedef lanes_d lanes_at __attribute__((aligned(8), may_alias));

#define PLUS(sum, value) *(lanes_at *)(void *)(sum) += (value)

static inline void add_lanes(prepared *p, const float *inverse, mx_chunk_lanes *lanes, mx_chunk *out)
{
    mx_chunk_lanes l = *lanes;
    const lanes_d half_bins = (lanes_d){0} + MX_ULP_BINS / 2, last = half_bins + (MX_ULP_BINS / 2 - 1);
    for (int i = 0; i < MX_CHUNK; i += CHUNK_BYTES / 8) {
        int k = i % MX_CHUNK_LANES;
        lanes_d x = LOAD_FLOATS(p->x + i), y = LOAD_FLOATS(p->y + i), by = LOAD_FLOATS(inverse + i);
        lanes_d e = y - x, x2 = x * x, e2 = e * e;
        PLUS(l.x2 + k, x2);
        PLUS(l.y2 + k, y * y);
        PLUS(l.xy + k, x * y);
        PLUS(l.e2 + k, e2);
        PLUS(l.e + k, e);
        *(lanes_at *)(out->x2 + i) = x2 * by * by;
        *(lanes_at *)(out->e2 + i) = e2 * by * by;
        lanes_d away = (lanes_d)((lanes_i)e ^ ((x < 0) & INT64_MIN));
        lanes_d ulps = away * LOAD_FLOATS(p->inverse_ulp + i), bin = ulps * half_bins + half_bins;
        lanes_i below = bin<0, beyond = bin> last, far = ulps < -0.5;
        bin = (lanes_d)((((lanes_i)bin & ~below) & ~beyond) | ((lanes_i)last & beyond));
        *(narrow_i_at *)(void *)(out->ulp_bin + i) = __builtin_convertvector(bin, narrow_i);
        *(narrow_i_at *)(void *)(p->far + i) = __builtin_convertvector(far, narrow_i);
        lanes_i keep = LOAD_MASKS(p->counted + i) & ~(far & LOAD_MASKS(p->largest + i));
        lanes_d kept = (lanes_d)((lanes_i)ulps & keep);
        PLUS(l.u + k, kept);
        PLUS(l.u2 + k, kept * kept);
    }
    *lanes = l;
}

static inline void find_bins(const prepared *p, mx_chunk *out)
{
    int32_t saturated = 0, counted = 0, exact = 0;
    for (int i = 0; i < MX_CHUNK; i++) {
        float e = p->y[i] - p->x[i], relative = fabsf(e / p->x[i]); /* 0 / 0 is not counted */
        uint32_t bits;
        memcpy(&bits, &relative, 4);
        int32_t at = (int32_t)(bits >> 20) - ((127 + MX_REL_LOWEST) << 3);
        at = at < 0 ? 0 : at;
        at = at > MX_REL_BINS - 1 ? MX_REL_BINS - 1 : at;
        int32_t same = p->counted[i] & -(e == 0);
        int32_t in_bin = p->counted[i] & ~same;
        out->relative_bin[i] = (at & in_bin) | (MX_CHUNK_NO_RELATIVE & ~in_bin);
        out->ulp_bin[i] = (out->ulp_bin[i] & p->counted[i]) | (MX_CHUNK_NO_ULP & ~p->counted[i]);
        exact -= same;
        saturated -= p->counted[i] & p->far[i] & p->largest[i];
        counted -= p->counted[i];
    }
    out->exact = exact;
    out->saturated = saturated;
    out->u_n = counted - saturated;
}

static inline void chunk_add(const mx_chunk_format *f, const float *x, const float *y, const float *inverse,
                             mx_chunk_lanes *lanes, mx_chunk *out)
{
    prepared p;
    prepare(f, x, y, inverse, &p, out);
    add_lanes(&p, inverse, lanes, out);
    find_bins(&p, out);
}
