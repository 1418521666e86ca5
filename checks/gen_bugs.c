/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of public faults, with the right bits written down by hand: making the vectors fails if the
 * emulator gives anything else. The flag names the report; `mxcheck list flags` tells its story. */
#include <stdio.h>
#include <string.h>

#include "generate.h"

enum { MOST = 32 };

/* ---- casts: fp32 bits in, codes out ------------------------------------------------------------------ */

static const struct {
    const char *flag, *recipe, *dtype, *reason;
    int n;
    uint32_t in[MOST];
    uint8_t want[MOST];
} casts[] = {
    {"bug-B01",
     "cast-e4m3-rne-sat",
     "f32",
     "cut to f16 before rounding loses the bit above the tie",
     1,
     {0x3F880001},
     {0x39}},
    {"bug-B01", "cast-e5m2-rne-sat", "f32", "an exact tie goes to even", 1, {0x3F900000}, {0x3C}},
    {"bug-B02",
     "cast-e4m3-rne-sat",
     "f32",
     "values just above a midpoint",
     3,
     {0x43C8198C, 0x4388140A, 0x43080088},
     {0x7D, 0x79, 0x71}},
    {"bug-B04", "cast-e4m3-rne-sat", "f32", "within one f16 step of a midpoint", 1, {0x4368096E}, {0x77}},
    {"bug-B06",
     "cast-e2m1-rne-sat",
     "f32",
     "a tie at 0.25 goes to zero, a hair above it does not",
     2,
     {0x3E800000, 0x3E800003},
     {0x0, 0x1}},
    {"bug-B08",
     "cast-e2m1-rne-sat",
     "f32",
     "sticky bits below the subnormal midpoint",
     1,
     {0x3E800002},
     {0x1}},
    {"bug-B09",
     "cast-e4m3-rne-sat",
     "f32",
     "truncation where nearest was asked for",
     1,
     {0x3FFC0000},
     {0x40}},
    {"bug-B11",
     "cast-e4m3-rne-sat",
     "f32",
     "one ulp toward zero from a midpoint, through f16",
     1,
     {0xBD77FFFF},
     {0x97}},
    {"bug-B12",
     "cast-e4m3-rne-sat",
     "f32",
     "2^-10 + 1 ulp rounds up to the smallest subnormal",
     1,
     {0x3A800001},
     {0x01}},
    {"bug-B19",
     "cast-e4m3-rne-sat",
     "f32",
     "the top binade is not overflow",
     3,
     {0x43800000, 0x43960000, 0x3F880000},
     {0x78, 0x79, 0x38}},
    {"bug-B19",
     "cast-e4m3fnuz-rne-sat",
     "f32",
     "the top binade of FNUZ is not overflow",
     1,
     {0x43000000},
     {0x78}},
    {"bug-B21",
     "cast-e4m3-rne-sat",
     "f32",
     "overflow, saturating",
     3,
     {0x43E80000, 0x43E88000, 0x447A0000},
     {0x7E, 0x7E, 0x7E}},
    {"bug-B21",
     "cast-e4m3-rne-ovf",
     "f32",
     "overflow, not saturating: 464 is a tie and stays",
     3,
     {0x43E80000, 0x43E88000, 0x447A0000},
     {0x7E, 0x7F, 0x7F}},
    {"bug-B23", "cast-e5m2-rne-sat", "f32", "4096 fits e5m2 though not e4m3", 1, {0x45800000}, {0x6C}},
    {"bug-B25",
     "cast-e4m3fnuz-rne-ovf",
     "f32",
     "Inf is NaN in FNUZ where casts do not saturate",
     2,
     {0x7F800000, 0xFF800000},
     {0x80, 0x80}},
    {"bug-B28",
     "cast-e4m3fnuz-rne-sat",
     "f32",
     "negative underflow is +0 in FNUZ, where -0 means NaN",
     2,
     {0xB727C5AC, 0xB5800000},
     {0x00, 0x00}},
    {"bug-B28", "cast-e4m3-rne-sat", "f32", "negative underflow is -0 in E4M3", 1, {0xB727C5AC}, {0x80}},
    {"bug-B29", "cast-e4m3fnuz-rne-sat", "f32", "small negative values are not NaN", 1, {0xB5800000}, {0x00}},
    {"bug-B30",
     "cast-e4m3-rne-sat",
     "f16",
     "-0 in every lane of a vector",
     8,
     {0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000, 0, 0x80000000, 0},
     {0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x80, 0}},
    {"bug-B49",
     "cast-e8m0-rne-sat",
     "f32",
     "the lowest exponent bit counts",
     2,
     {0x3F800000, 0x3F000000},
     {0x7F, 0x7E}},
    {"bug-B116",
     "cast-e4m3-rne-sat",
     "f32",
     "the subnormal unit is 2^-9",
     3,
     {0x3B000000, 0x3B800000, 0x3C000000},
     {0x01, 0x02, 0x04}},
};

/* ---- blocks: fp32 bits in, scale byte and leading codes out ------------------------------------------- */

#define B06_BLOCK                                                                                            \
    {                                                                                                        \
        0x3EB14E3C, 0xBD4C63F1, 0x3EC240B8, 0xC01816F0, 0x3ECAC083, 0x3F195183, 0xBF200000, 0xBED9096C,      \
            0xBF1E83E4, 0x3E8D5CFB, 0xBEBFCB92, 0x3E15B574, 0x3F058794, 0xBF04F766, 0xBF5985F0, 0xBF52DE01,  \
            0x3F03B646, 0x3EB39C0F, 0x3CF41F21, 0xBEB14120, 0x3EC88CE7, 0x3DE075F7, 0x3FB985F0, 0x3FD9B717,  \
            0xBF0C1BDA, 0xC0057247, 0x3FE7AACE, 0x3EB7A787, 0x3FBB295F, 0xC0141D7E, 0x3EAEB1C4, 0xBF64A234   \
    }
#define B24_BLOCK                                                                                            \
    {                                                                                                        \
        0x446F4000, 0x446F4000, 0x4461999A, 0x44700000, 0x44500000, 0x4391E4E4, 0xC2F9A6B5, 0x4443E2F2,      \
            0x4467D4D5, 0xC3691DF4, 0x4411DCCE, 0x426728C1, 0x430816CF, 0x4454CC5F, 0xC4567B63, 0xC44E6F73,  \
            0xC46FE40B, 0x44264F57, 0x440B1410, 0x4439018E, 0x446F4F26, 0x4415944B, 0xC29A1525, 0x440C43BB,  \
            0xC43EDCE0, 0x438BEBC7, 0xC43252C7, 0x445E559F, 0x422EC952, 0xC32AAD15, 0xC3EB71C4, 0x44091DEA   \
    }

static const struct {
    const char *flag, *recipe, *reason;
    int n; /* values given; the rest of the block is zero */
    uint32_t in[MOST];
    uint8_t scale;
    int n_codes;
    uint8_t codes[MOST];
} blocks[] = {
    {"bug-B06",
     "mxfp4-floor",
     "ties of a real block go to even",
     32,
     B06_BLOCK,
     0x7E,
     32,
     {0x1, 0x8, 0x2, 0xE, 0x2, 0x2, 0xA, 0xA, 0xA, 0x1, 0x9, 0x1, 0x2, 0xA, 0xB, 0xB,
      0x2, 0x1, 0x0, 0x9, 0x2, 0x0, 0x5, 0x5, 0xA, 0xE, 0x6, 0x1, 0x5, 0xE, 0x1, 0xC}},
    {"bug-B24",
     "mxfp8-floor",
     "the floor rule clips the largest elements",
     32,
     B24_BLOCK,
     0x80,
     32,
     {0x7E, 0x7E, 0x7E, 0x7E, 0x7D, 0x71, 0xE8, 0x7C, 0x7E, 0xEF, 0x79, 0x5E, 0x69, 0x7D, 0xFD, 0xFD,
      0xFE, 0x7A, 0x79, 0x7C, 0x7E, 0x79, 0xE2, 0x79, 0xFC, 0x71, 0xFB, 0x7E, 0x5B, 0xEB, 0xF7, 0x79}},
    {"bug-B24",
     "mxfp8",
     "the round-up rule does not clip",
     32,
     B24_BLOCK,
     0x81,
     32,
     {0x77, 0x77, 0x76, 0x77, 0x75, 0x69, 0xE0, 0x74, 0x76, 0xE7, 0x71, 0x56, 0x61, 0x75, 0xF5, 0xF5,
      0xF7, 0x72, 0x71, 0x74, 0x77, 0x71, 0xDA, 0x71, 0xF4, 0x69, 0xF3, 0x76, 0x53, 0xE3, 0xEF, 0x71}},
    {"bug-B34", "mxfp4", "amax 2.7: not the exponent of amax / 6", 1, {0x402CCCCD}, 126, 1, {0x7}},
    {"bug-B34", "mxfp4", "amax 5.5: not the exponent of amax / 6", 1, {0x40B00000}, 127, 1, {0x7}},
    {"bug-B34", "mxfp4", "amax 1.2: not the exponent of amax / 6", 1, {0x3F99999A}, 125, 1, {0x6}},
    {"bug-B35", "mxfp8", "amax 631 is not rounded down in log space", 1, {0x441DC000}, 0x80, 1, {0x7A}},
    {"bug-B39", "mxfp8", "amax 150, round-up rule", 1, {0x43160000}, 126, 1, {0x79}},
    {"bug-B39", "mxfp8-floor", "amax 957, floor rule clips to 896", 1, {0x446F4000}, 128, 1, {0x7E}},
    {"bug-B41", "mxfp4", "the exponent offset is applied once", 1, {0x40C00000}, 127, 1, {0x7}},
    {"bug-B64", "mxfp8", "a zero block is zeros, not NaN", 1, {0}, 0x00, 1, {0x00}},
    {"bug-B64", "mxfp4", "a zero block is zeros, not NaN", 1, {0}, 0x00, 1, {0x0}},
};

/* ---- decoding: code and scale byte in, value bits out -------------------------------------------------- */

static const struct {
    const char *flag, *recipe, *output, *reason;
    uint8_t code, scale;
    uint32_t want;
} decodes[] = {
    {"bug-B14", "nvfp4-single", "f32", "a subnormal e4m3 scale has no leading one", 0x2, 0x01, 0x3B000000},
    {"bug-B15", "nvfp4-single", "f32", "seven subnormal scales, in steps of 2^-9", 0x2, 0x03, 0x3BC00000},
    {"bug-B17", "nvfp4-single", "f32", "scale bytes below 08", 0x2, 0x07, 0x3C600000},
    {"bug-B26", "mxfp8-e5m2", "bf16", "e5m2 Inf widens to Inf", 0x7C, 0x7F, 0x7F80},
    {"bug-B44", "mxfp8", "f32", "scale byte 00 is 2^-127, not 0", 0x38, 0x00, 0x00400000},
    {"bug-B55", "mxfp8", "f32", "a scale byte is an exponent, not a number", 0x38, 115, 0x39800000},
    {"bug-B115", "nvfp4-single", "f32", "an e4m3 scale has a mantissa", 0x2, 0x3C, 0x3FC00000},
};

static void mismatch(gen *g, const mx_case *c, const char *what, unsigned got, unsigned want)
{
    if (g->status) return;
    g->status = mx_fail(g->error, MX_BAD_INPUT, c->id,
                        "%s: the emulator gives %02X, the report's right bits are %02X", what, got, want);
}

static void require_bytes(gen *g, const mx_case *c, const char *role, const uint8_t *want, int n)
{
    const mx_tensor *t = g->status ? NULL : mx_case_want(c, role);
    for (int i = 0; t && i < n; i++)
        if (t->data[i] != want[i]) mismatch(g, c, role, t->data[i], want[i]);
}

static void make_cast(gen *g, size_t k)
{
    mx_case *c = gen_case(g, "cast", casts[k].recipe, casts[k].flag, casts[k].reason, "%s:%s:%d",
                          casts[k].flag + 4, casts[k].recipe, (int)k);
    mx_tensor *x = gen_input(g, c, "x", "", casts[k].dtype, 1, casts[k].n);
    for (int i = 0; x && i < casts[k].n; i++)
        gen_set_bits(x, i, casts[k].in[i]);
    gen_answer(g, c);
    require_bytes(g, c, "q", casts[k].want, casts[k].n);
}

static void make_block(gen *g, size_t k)
{
    mx_case *c = gen_case(g, "quantize", blocks[k].recipe, blocks[k].flag, blocks[k].reason, "%s:%s:%d",
                          blocks[k].flag + 4, blocks[k].recipe, (int)k);
    mx_tensor *x = gen_input(g, c, "x", "", "f32", 1, 32);
    for (int i = 0; x && i < blocks[k].n; i++)
        gen_set_bits(x, i, blocks[k].in[i]);
    gen_answer(g, c);
    require_bytes(g, c, "scale", &blocks[k].scale, 1);
    require_bytes(g, c, "q", blocks[k].codes, blocks[k].n_codes);
}

static void make_decode(gen *g, size_t k)
{
    const mx_recipe *r = mx_recipe_find(decodes[k].recipe);
    mx_case *c = gen_case(g, "dequantize", decodes[k].recipe, decodes[k].flag, decodes[k].reason, "%s:%s:%d",
                          decodes[k].flag + 4, decodes[k].recipe, (int)k);
    if (!c || !r) return;
    snprintf(c->output, sizeof c->output, "%s", decodes[k].output);
    mx_tensor *q = gen_input(g, c, "q", "", mx_recipe_element(r)->name, 1, 1);
    mx_tensor *scale = gen_input(g, c, "scale", "", mx_recipe_scale(r)->name, 1, 1);
    if (!scale) return;
    q->data[0] = decodes[k].code;
    scale->data[0] = decodes[k].scale;
    gen_answer(g, c);
    uint8_t want[4] = {(uint8_t)decodes[k].want, (uint8_t)(decodes[k].want >> 8),
                       (uint8_t)(decodes[k].want >> 16), (uint8_t)(decodes[k].want >> 24)};
    require_bytes(g, c, "y", want, (int)mx_dtype_bytes(decodes[k].output));
}

void gen_bugs(gen *g)
{
    for (size_t k = 0; k < sizeof casts / sizeof *casts; k++)
        make_cast(g, k);
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        make_block(g, k);
    for (size_t k = 0; k < sizeof decodes / sizeof *decodes; k++)
        make_decode(g, k);
}
