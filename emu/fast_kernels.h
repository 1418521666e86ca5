/* SPDX-License-Identifier: Apache-2.0
 *
 * fast_kernels.h - what one instruction set offers to the fast path. fast_impl.h writes these functions
 * once over a few vector macros; fast_avx512.c and fast_avx2.c compile them; fast.c picks one at run time
 * and walks tensors with them. Private to emu/.
 *
 * None of them changes MXCSR: subnormals are kept, and rounding is to nearest even. */
#ifndef EMU_FAST_KERNELS_H
#define EMU_FAST_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fast_source { FAST_F32, FAST_BF16, FAST_F16 } fast_source;

/* Constants of a saturating round-to-nearest-even cast from fp32 into one signed format. */
typedef struct fast_cast {
    uint32_t shift;      /* 23 - mantissa bits */
    uint32_t widen;      /* shift << 23: from the exponent of a value to that of a float with its quantum */
    uint32_t min_normal; /* fp32 bits of the smallest normal value */
    uint32_t excess;     /* (127 + emin) << mantissa bits */
    uint32_t max_bits;   /* fp32 bits of the largest finite value */
    uint32_t max_code;   /* its code */
    uint32_t sign_shift; /* from bit 31 down to the format's sign bit */
    uint32_t nan_code;   /* NaN of either sign becomes this */
} fast_cast;

/* Constants of decoding one signed format through fp16. */
typedef struct fast_uncast {
    uint16_t magnitude;    /* mask of a code's magnitude bits */
    uint16_t not_nan;      /* magnitudes above this, in fp16's place, are NaN */
    int shift, sign_shift; /* from a code's fields to fp16's */
    float rescale;         /* 2^(15 - bias): from what fp16 reads to the value */
} fast_uncast;

/* One fp32 operation, or none: of an element and its block's factor, of amax and a constant. */
typedef enum fast_scaling { FAST_PLAIN, FAST_TIMES, FAST_OVER } fast_scaling;

/* An e8m0 byte from amax: p = amax (at least `least`) [times or over `ratio`], at least `least_p`; the byte
 * is the exponent field of p + `add` less `emax`, clamped at 0, and 0 unless p > `above`. With that, floor:
 * add 0; ceil: add 7FFFFF; even: add half an ulp of the element; all with the element's emax rceil: amax /
 * 448 or its product, add 7FFFFF, above 00400000, emax 0; up: the same, above 0 All are fp32 bits. */
typedef struct fast_e8m0 {
    uint32_t least;
    fast_scaling op;
    float ratio;
    uint32_t least_p, add, above, emax;
    uint32_t min, max; /* limits of the byte before infinity and NaN are looked at */
    uint32_t inf_from; /* amax bits from here to Inf give `inf`, NaN gives `nan` */
    uint8_t inf, nan;
    float factor_0, factor_254, factor_255; /* 2^(127 - byte) elsewhere */
} fast_e8m0;

/* An fp32 scale: max(amax, least) op ratio. The factor of an element is the scale, or its reciprocal. */
typedef struct fast_fp32 {
    float least;
    fast_scaling op;
    float ratio;
    bool reciprocal;
} fast_fp32;

/* How elements become codes, for a run of them. */
typedef struct fast_encode {
    fast_cast cast;
    fast_source source;
    fast_scaling op;
    bool tame;    /* a promise: every product is below 2^64 in magnitude */
    bool stream;  /* write around the cache; the output is aligned to 64 bytes */
    size_t ahead; /* bytes of input from here to what is needed next, to be fetched meanwhile; 0: nothing */
} fast_encode;

/* How codes become values. */
typedef struct fast_decode {
    fast_uncast cast;
    fast_source to;
    bool exact; /* a promise: factors are times cast.rescale already, and no product is rounded or infinite */
    bool stream; /* write around the cache; the output is aligned to 64 bytes */
} fast_decode;

typedef struct fast_isa {
    const char *name;
    bool (*present)(void); /* does this CPU, under this kernel, run it? */

    /* amax[j] = fp32 bits of the largest magnitude among x[j*block .. ]; the last block may be short. As
     * integers NaN is the largest of all, so it wins; with `skip_nan` it counts as 0. */
    void (*amax_row)(fast_source s, const void *x, size_t n, size_t block, bool skip_nan, uint32_t *amax);
    /* amax[i] = max(amax[i], |x[i]|), the same for blocks that span rows. */
    void (*amax_fold)(fast_source s, const void *x, size_t n, bool skip_nan, uint32_t *amax);
    /* Byte and element factor of each amax; the arrays have room for n rounded up to 64. True if every
     * product of an element and its factor is tame: a number below 2^64. */
    bool (*scale_e8m0)(const fast_e8m0 *r, size_t n, const uint32_t *amax, uint8_t *bytes, float *factor);
    /* out[i] = cast(x[i] op factor[i / block]), block a power of two. */
    void (*encode)(const fast_encode *e, const void *x, size_t n, const float *factor, size_t block,
                   uint8_t *out);
    /* y[i] = code[i] * factor[i / block], rounded once to fp32, and again to a narrower output. */
    void (*decode)(const fast_decode *d, const uint8_t *codes, size_t n, const float *factor, size_t block,
                   void *y);
    /* out[i] = codes[2i] in the low nibble, codes[2i + 1] in the high one; an odd last code stands alone. */
    void (*pack_nibbles)(const uint8_t *codes, size_t n, uint8_t *out);
    void (*finish)(void); /* orders streamed stores before whatever the thread does next */
} fast_isa;

extern const fast_isa mx_fast_avx512, mx_fast_avx2;

#endif
