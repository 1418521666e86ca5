/* SPDX-License-Identifier: Apache-2.0
 *
 * mx.h - the vocabulary of mxcheck: formats, casts, recipes, layouts, and the emulator's entry points.
 *
 * Everything here works on bits. A value travels as a double (every format of the table, fp32 included,
 * is a subset of double), a code as the low bits of a uint32_t. No function prints or exits; those that
 * can fail return an mx_status and fill an mx_error, which may be NULL.
 *
 * Valid C11 and C++17.
 */
#ifndef MX_H
#define MX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ------------------------------------------------------------------------------------- */

typedef enum mx_status {
    MX_OK = 0,
    MX_BAD_USAGE,   /* the caller's words are off: unknown name, impossible combination */
    MX_BAD_INPUT,   /* a file or buffer is malformed */
    MX_IO,          /* the system refused: open, read, write */
    MX_NO_MEMORY,   /* allocation failed */
    MX_UNSUPPORTED, /* well formed, but this function has no such path */
    MX_CANNOT_RUN   /* device, plug-in or program missing */
} mx_status;

typedef struct mx_error {
    mx_status status;
    char message[256]; /* what is wrong, in words */
    char place[256];   /* file, offset, tensor or argument; may be empty */
} mx_error;

/* Fill `e` (NULL allowed) and return `status`, so that `return mx_fail(e, MX_IO, path, "...")` reads well. */
mx_status mx_fail(mx_error *e, mx_status status, const char *place, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* ---- formats ------------------------------------------------------------------------------------ */

typedef enum mx_kind {
    MX_KIND_FLOAT,    /* [sign] exponent mantissa */
    MX_KIND_EXPONENT, /* e8m0: 2^(code - bias), no zero, no sign */
    MX_KIND_FIXED     /* int8 of MX: two's complement, value = code / 64 */
} mx_kind;

typedef enum mx_specials {
    MX_SPECIALS_NONE,    /* every code is finite (e2m1, e2m3, e3m2, int8) */
    MX_SPECIALS_IEEE,    /* top exponent field holds Inf and NaN */
    MX_SPECIALS_ALLONES, /* only the all-ones magnitude is NaN; no Inf (e4m3, ue4m3, e8m0) */
    MX_SPECIALS_NEGZERO  /* the code of -0 is the only NaN; no Inf, no -0 (fnuz) */
} mx_specials;

/* One row of the format table: everything that encoding and decoding need. */
typedef struct mx_format {
    const char *name;
    mx_kind kind;
    mx_specials specials;
    bool is_signed;
    uint8_t bits;     /* width of a code */
    uint8_t exp_bits; /* width of the exponent field */
    uint8_t man_bits; /* width of the mantissa field; int8: fraction bits (6) */
    int16_t bias;
    uint32_t max_code; /* largest finite positive code */
    uint32_t nan_code; /* the canonical NaN; 0 where there is none */
    uint32_t inf_code; /* +Inf; 0 where there is none */
    const char *dtype; /* safetensors dtype of an unpacked array of codes, "U8" where none exists */
    const char *source;
} mx_format;

const mx_format *mx_format_find(const char *name); /* NULL if unknown */
size_t mx_format_count(void);
const mx_format *mx_format_at(size_t i);

double mx_format_max(const mx_format *f);  /* largest finite value */
int mx_format_emax(const mx_format *f);    /* exponent of the largest finite value: e4m3 8, e2m1 2 */
int mx_format_emin(const mx_format *f);    /* exponent of the smallest normal: e4m3 -6 */
double mx_format_tiny(const mx_format *f); /* smallest positive value: e4m3 2^-9 */

/* The value of a code; bits above the format's width are ignored. NaN decodes to a quiet NaN of the
 * code's sign. Exact for every format. */
double mx_decode(const mx_format *f, uint32_t code);
bool mx_code_is_nan(const mx_format *f, uint32_t code);
bool mx_code_is_inf(const mx_format *f, uint32_t code);

/* ---- casts: how a value becomes a code ------------------------------------------------------------ */

typedef enum mx_rounding {
    MX_RNE,       /* to nearest, ties to even */
    MX_RNA,       /* to nearest, ties away from zero */
    MX_RNZ,       /* to nearest, ties toward zero */
    MX_RTZ,       /* toward zero */
    MX_RUP,       /* toward +infinity */
    MX_RDN,       /* toward -infinity */
    MX_STOCHASTIC /* up with probability = discarded fraction, decided by the caller's random bits */
} mx_rounding;

typedef enum mx_overflow {
    MX_SATURATE, /* finite overflow and Inf become the largest finite value of the sign */
    MX_OVERFLOW, /* finite overflow and Inf become the format's Inf, or its NaN, or (none of them) the maximum
                  */
    MX_SATURATE_FINITE /* finite overflow saturates, Inf stays Inf or NaN */
} mx_overflow;

/* A NaN input becomes `nan_code[sign]`, or the policy below where that is -1. */
typedef enum mx_nan_policy {
    MX_NAN_CANONICAL, /* format's NaN, sign dropped; +maximum where the format has none (CUDA) */
    MX_NAN_SIGNED     /* format's NaN with the input's sign; signed maximum where it has none (CUTLASS) */
} mx_nan_policy;

typedef struct mx_cast {
    mx_rounding rounding;
    mx_overflow overflow;
    mx_nan_policy nan;
    int16_t nan_code[2]; /* explicit code for +NaN, -NaN; -1: by policy */
    bool lose_neg_zero;  /* results of -0 become +0 (formats without -0 always do) */
    uint8_t random_bits; /* MX_STOCHASTIC: how many low bits of `random` take part (0..32; 0 truncates) */
} mx_cast;

/* RNE, saturating, canonical NaN: `cvt.rn.satfinite`. */
extern const mx_cast MX_CAST_DEFAULT;

/* The one place where scalars are rounded. `x` holds the source value exactly; `random` is read by
 * MX_STOCHASTIC alone: with n random bits r, |x| rounds up when frac * 2^n + r >= 2^n (frac cut to n bits).
 * Formats without a sign (e8m0, ue4m3) take |x|, directed roundings included; e8m0 gives code 0 for all below
 * 2^-127; int8 stays symmetric and never gives 0x80. A finite x that directed rounding keeps inside does not
 * overflow, whatever the policy (IEEE 754-2019, 7.4). */
uint32_t mx_encode(const mx_format *f, double x, const mx_cast *cast, uint32_t random);

const char *mx_rounding_name(mx_rounding r); /* "rne", "rna", ... */
bool mx_rounding_find(const char *name, mx_rounding *out);

/* ---- recipes: everything that decides the bytes of a quantised tensor ------------------------------ */

struct mx_recipe; /* columns in recipe.h: most users need only its name */
typedef struct mx_recipe mx_recipe;

const mx_recipe *mx_recipe_find(const char *name); /* NULL if unknown */
size_t mx_recipe_count(void);
const mx_recipe *mx_recipe_at(size_t i);
const char *mx_recipe_name(const mx_recipe *r);
const mx_format *mx_recipe_element(const mx_recipe *r);
const mx_format *mx_recipe_scale(const mx_recipe *r); /* e8m0, ue4m3 or f32; NULL for a plain cast */
/* Block shape for a tensor of rows x cols (a whole-tensor recipe answers with the tensor's own shape). */
void mx_recipe_block(const mx_recipe *r, int64_t rows, int64_t cols, int64_t *block_rows,
                     int64_t *block_cols);
/* The recipe that a kernel with both directions uses for its columnwise copy (1x32 -> 32x1); NULL if none. */
const mx_recipe *mx_recipe_columnwise(const mx_recipe *r);
/* Do both give the same bytes for every input? True where all columns but name, text, source and date are
 * equal: "mxfp8" is the convention that "mxfp8-te" names by its owner. */
bool mx_recipe_same(const mx_recipe *a, const mx_recipe *b);
bool mx_recipe_has_global(const mx_recipe *r); /* NVFP4: a second-level fp32 scale */

/* A matrix in memory: rows x cols of `format`, row r starting `pitch` elements after row r-1. */
typedef struct mx_matrix {
    const mx_format *format; /* f32, bf16 or f16 for sources; any format for codes */
    const void *data;
    int64_t rows, cols, pitch;
} mx_matrix;

/* A quantised matrix in canonical form, before any layout or packing: one code per byte, row-major and
 * dense; one scale per block on the grid ceil(rows/block_rows) x ceil(cols/block_cols), row-major and
 * dense, each 1 byte (e8m0, ue4m3) or one fp32. The last block of a row or column is short when the
 * size is no multiple of the block: it holds the elements that exist, and nothing is padded in. */
typedef struct mx_quantized {
    uint8_t *codes;
    void *scales;
    float global; /* second-level scale as the recipe stores it; 1 where it has none */
} mx_quantized;

void mx_scale_grid(const mx_recipe *r, int64_t rows, int64_t cols, int64_t *grid_rows, int64_t *grid_cols);

/* Optional per-call facts. A zeroed struct means: global amax computed from x, random bits from seed 0. */
typedef struct mx_quantize_options {
    const float *global_amax; /* second-level amax given by the caller instead of measured; NULL: measured */
    uint64_t seed;            /* stochastic rounding: counter-based, element (r, c) draws by its own index */
    int threads;              /* 0: all that OpenMP has; the result never depends on it */
} mx_quantize_options;

/* Quantise x as recipe r says: the fast path where the CPU and the recipe have one, else the scalar code;
 * the bytes are the same. `options` may be NULL. */
mx_status mx_quantize(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                      mx_quantized *out, mx_error *e);
/* The plain code, one element after the other, through mx_encode. */
mx_status mx_quantize_scalar(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                             mx_quantized *out, mx_error *e);
/* Codes and scales back to values in `format` (f32, bf16, f16), as the recipe's owner decodes them:
 * rounded once to nearest even. y is rows x cols with `pitch` elements per row. */
mx_status mx_dequantize(const mx_recipe *r, const mx_quantized *q, int64_t rows, int64_t cols,
                        const mx_format *format, void *y, int64_t pitch, mx_error *e);

/* ---- layouts: where an element or scale lies ------------------------------------------------------- */

/* A grid (codes or scales) of rows x cols units placed in memory. Offsets and sizes count units of
 * `unit_bits` bits (4: nibbles, low one first; 8: bytes; 32: fp32 scales). All arithmetic is in 64 bits. */
typedef struct mx_grid {
    int64_t rows, cols;
    int64_t pitch; /* row-major and transposed: units from one row (or column) to the next; 0 means dense.
                      Other layouts ignore it */
    const int64_t
        *groups; /* first row of each expert group, n_groups + 1 ascending entries; NULL: one group */
    int64_t n_groups;
} mx_grid;

struct mx_tiling; /* the numbers behind a layout's functions; lib/tiling.h */

typedef struct mx_layout {
    const char *name; /* rows of one name differ in unit_bits: see mx_layout_find_unit() */
    uint8_t unit_bits;
    bool for_codes, for_scales; /* what it places */
    bool grouped;               /* each expert group starts at a tile of its own; others ignore groups */
    int64_t pad; /* bits of a unit that holds no element; -1: nobody says, or something else lives there */
    int64_t (*size)(const mx_grid *g); /* padded size in units; -1: impossible grid, or past 2^63 */
    int64_t (*offset)(const mx_grid *g, int64_t r, int64_t c);                 /* unit of (r, c) */
    bool (*inverse)(const mx_grid *g, int64_t offset, int64_t *r, int64_t *c); /* false: padding */
    const struct mx_tiling *tiling;
    const char *source;
    const char *note;
} mx_layout;

const mx_layout *mx_layout_find(const char *name); /* first row of that name; NULL if unknown */
/* The row of that name for units of `unit_bits`: "row-major" places bytes (8) and fp32 scales (32). */
const mx_layout *mx_layout_find_unit(const char *name, int unit_bits);
/* The row of that name that places scales, or codes, given as canonical units of `canonical_bits` (8: one
 * byte a code or scale, 4-bit codes too; 32: fp32 scales). Never ambiguous. */
const mx_layout *mx_layout_find_for(const char *name, bool scales, int canonical_bits);
int mx_layout_canonical_bits(const mx_layout *l);
size_t mx_layout_count(void);
const mx_layout *mx_layout_at(size_t i);

/* Buffer size of the padded grid; -1 where mx_layout.size is. */
int64_t mx_layout_bytes(const mx_layout *l, const mx_grid *g);
/* Place a canonical grid (dense and row-major, 1 byte a unit, or 4 for 32-bit units) into `out`,
 * mx_layout_bytes() long, pads filled with the layout's pad, or left alone where that is -1; and read it
 * back. MX_BAD_INPUT: impossible grid, or groups that do not ascend from 0 to rows. */
mx_status mx_layout_pack(const mx_layout *l, const mx_grid *g, const void *canonical, void *out, mx_error *e);
mx_status mx_layout_unpack(const mx_layout *l, const mx_grid *g, const void *in, void *canonical,
                           mx_error *e);

/* Which layouts put `canonical` where `seen` has it? A match reproduces every element; `wrong_pads` counts
 * the pads that differ from the layout's own. */
typedef struct mx_layout_match {
    const mx_layout *layout;
    bool groups_ignored; /* it fits when the groups of the grid are left out */
    bool pitch_ignored;  /* it fits when the pitch of the grid is left out */
    int64_t bytes;       /* size of the placed grid, at most seen_bytes */
    int64_t wrong_pads;
} mx_layout_match;

/* Try every layout for codes, or for scales, with canonical units of `canonical_bits` (8 or 32). Stores
 * the first `room` matches, those that fill `seen` with the right pads first, and returns how many there
 * are: more than one where the data cannot tell (constant, one row, ...). */
size_t mx_layout_explain(const mx_grid *g, bool scales, int canonical_bits, const void *canonical,
                         const void *seen, int64_t seen_bytes, mx_layout_match *out, size_t room);

#ifdef __cplusplus
}
#endif
#endif
