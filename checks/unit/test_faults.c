/* SPDX-License-Identifier: Apache-2.0
 * Public faults in casts and scale selection: the smallest input that shows each, the right bits, and that
 * the named fault gives the wrong bits that were reported. Ids are those of the flags (lib/flags_bugs.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "quantize.h"
#include "suite.h"

static float bits(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static const mx_recipe *recipe(const char *name)
{
    const mx_recipe *r = mx_recipe_find(name);
    ck_assert_msg(r, "no recipe %s", name);
    return r;
}

/* ---- casts ---------------------------------------------------------------------------------------- */

static const struct {
    const char *id, *recipe, *fault;
    uint32_t input, right, wrong;
} casts[] = {
    {"B01", "cast-e4m3-rne-sat", "fault-cast-e4m3-f16-cut", 0x3F880001, 0x39, 0x38},
    {"B01", "cast-e5m2-rne-sat", "cast-e5m2-rna-sat", 0x3F900000, 0x3C, 0x3D},
    {"B02", "cast-e4m3-rne-sat", "fault-cast-e4m3-f16-cut", 0x43C8198C, 0x7D, 0x7C},
    {"B02", "cast-e4m3-rne-sat", "fault-cast-e4m3-f16-cut", 0x4388140A, 0x79, 0x78},
    {"B02", "cast-e4m3-rne-sat", "fault-cast-e4m3-f16-cut", 0x43080088, 0x71, 0x70},
    {"B04", "cast-e4m3-rne-sat", "fault-cast-e4m3-f16", 0x4368096E, 0x77, 0x76},
    {"B04", "cast-e4m3-rne-sat", "cast-e4m3-rtz-sat", 0x4368096E, 0x77, 0x76},
    {"B06", "cast-e2m1-rne-sat", "cast-e2m1-rna-sat", 0xBFA00000, 0xA, 0xB},
    {"B06", "cast-e2m1-rne-sat", "cast-e2m1-rna-sat", 0x3E800000, 0x0, 0x1},
    {"B06", "cast-e2m1-rne-sat", "cast-e2m1-triton", 0x3E800003, 0x1, 0x0},
    {"B08", "cast-e2m1-rne-sat", "cast-e2m1-triton", 0x3E800002, 0x1, 0x0},
    {"B09", "cast-e4m3-rne-sat", "cast-e4m3-rtz-sat", 0x3FFC0000, 0x40, 0x3F},
    {"B11", "cast-e4m3-rne-sat", "fault-cast-e4m3-f16", 0xBD77FFFF, 0x97, 0x98},
    {"B12", "cast-e4m3-rne-sat", "fault-cast-e4m3-f16", 0x3A800001, 0x01, 0x00},
    {"B19", "cast-e4m3-rne-sat", "fault-cast-e4m3-top", 0x43800000, 0x78, 0x7E},
    {"B19", "cast-e4m3-rne-sat", "fault-cast-e4m3-top", 0x43960000, 0x79, 0x7E},
    {"B19", "cast-e4m3-rne-sat", "fault-cast-e4m3-top", 0x3F880000, 0x38, 0x39},
    {"B19", "cast-e4m3fnuz-rne-sat", "fault-cast-e4m3fnuz-top", 0x43000000, 0x78, 0x7F},
    {"B21", "cast-e4m3-rne-ovf", "cast-e4m3-rne-sat", 0x43E88000, 0x7F, 0x7E}, /* 465 */
    {"B21", "cast-e4m3-rne-ovf", "cast-e4m3-rne-sat", 0x447A0000, 0x7F, 0x7E}, /* 1000 */
    {"B23", "cast-e5m2-rne-sat", "cast-e4m3-rne-sat", 0x45800000, 0x6C, 0x7E}, /* 4096 */
    {"B25", "cast-e4m3fnuz-onnx", "cast-e4m3fnuz-rne-sat", 0x7F800000, 0x80, 0x7F},
    {"B25", "cast-e4m3fnuz-onnx", "cast-e4m3fnuz-rne-sat", 0xFF800000, 0x80, 0xFF},
    {"B28", "cast-e4m3fnuz-rne-sat", "fault-cast-e4m3fnuz-sign", 0xB727C5AC, 0x00, 0x80}, /* -0.00001 */
    {"B29", "cast-e4m3fnuz-rne-sat", "fault-cast-e4m3fnuz-sign", 0xB5800000, 0x00, 0x80},
    {"B38", "cast-e8m0-rne-sat", "cast-e8m0-rna-sat", 0x40400000, 0x80, 0x81}, /* 3.0 */
    {"B38", "cast-e8m0-rne-sat", "cast-e8m0-rna-sat", 0x3F400000, 0x7E, 0x7F}, /* 0.75 */
};

START_TEST(casts_and_their_faults)
{
    float x = bits(casts[_i].input);
    uint32_t right = mx_cast_element(recipe(casts[_i].recipe), x, 0);
    uint32_t wrong = mx_cast_element(recipe(casts[_i].fault), x, 0);
    ck_assert_msg(right == casts[_i].right, "%s: %s gives %02X", casts[_i].id, casts[_i].recipe, right);
    ck_assert_msg(wrong == casts[_i].wrong, "%s: %s gives %02X", casts[_i].id, casts[_i].fault, wrong);
}
END_TEST

START_TEST(ties_of_e2m1_both_signs)
{
    static const struct {
        float x;
        uint32_t even, away;
    } ties[] = {{0.25f, 0, 1}, {0.75f, 2, 2}, {1.25f, 2, 3}, {1.75f, 4, 4},
                {2.5f, 4, 5},  {3.5f, 6, 6},  {5, 6, 7}};
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
        for (uint32_t sign = 0; sign < 2; sign++) {
            float x = sign ? -ties[i].x : ties[i].x;
            ck_assert_uint_eq(mx_cast_element(recipe("cast-e2m1-rne-sat"), x, 0), ties[i].even | sign << 3);
            ck_assert_uint_eq(mx_cast_element(recipe("cast-e2m1-rna-sat"), x, 0), ties[i].away | sign << 3);
        }
}
END_TEST

/* B08: every finite code must come back; with flushed subnormals exactly the nonzero subnormals do not. */
START_TEST(round_trip_of_all_codes)
{
    static const struct {
        const char *recipe;
        int subnormals;
    } formats[] = {{"cast-e2m1-rne-sat", 2},
                   {"cast-e3m2-rne-sat", 6},
                   {"cast-e2m3-rne-sat", 14},
                   {"cast-e5m2-rne-sat", 6},
                   {"cast-e4m3-rne-sat", 14}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        mx_recipe flushing = *recipe(formats[i].recipe);
        const mx_recipe *r = recipe(formats[i].recipe);
        flushing.quirk = MX_QUIRK_SUBNORMAL_ZERO;
        int lost = 0;
        for (uint32_t code = 0; code < (uint32_t)1 << r->element->bits; code++) {
            double x = mx_decode(r->element, code);
            if (!isfinite(x)) continue;
            ck_assert_uint_eq(mx_cast_element(r, (float)x, 0), code);
            lost += mx_cast_element(&flushing, (float)x, 0) != code;
        }
        ck_assert_int_eq(lost, formats[i].subnormals);
    }
}
END_TEST

/* ---- decoding ------------------------------------------------------------------------------------- */

/* Dequantise one code under one scale into `format`; the bits of the answer. */
static uint32_t read_back(const char *name, uint8_t code, uint32_t scale, const char *format)
{
    uint32_t y = 0;
    mx_quantized q = {.codes = &code, .scales = &scale, .global = 1};
    mx_error e;
    ck_assert_int_eq(mx_dequantize(recipe(name), &q, 1, 1, mx_format_find(format), &y, 1, &e), MX_OK);
    return y;
}

START_TEST(decoding_of_special_and_subnormal_codes)
{
    /* B14, B15, B17: e4m3 subnormals are m * 2^-9; with an implicit one they would be (1 + m/8) * 2^-7. */
    for (uint8_t m = 1; m < 8; m++) {
        ck_assert_uint_eq(read_back("cast-e4m3-rne-sat", m, 0, "f32"), bits_of((float)m * 0x1p-9f));
        ck_assert(mx_decode(mx_format_find("ue4m3"), m) == m * 0x1p-9);
    }
    ck_assert(0.0087890625 == (1 + 1 / 8.0) * 0x1p-7);
    /* B26: widening keeps Inf and NaN. */
    ck_assert_uint_eq(read_back("cast-e5m2-rne-sat", 0x7C, 0, "bf16"), 0x7F80);
    ck_assert_uint_eq(read_back("cast-e4m3-rne-sat", 0x7F, 0, "bf16") & 0x7FFF, 0x7FC0);
    ck_assert_uint_eq(read_back("cast-e4m3-rne-sat", 0x7F, 0, "f16") & 0x7FFF, 0x7E00);
    /* B30: -0 of fp16 stays -0. */
    ck_assert_uint_eq(
        mx_cast_element(recipe("cast-e4m3-rne-sat"), (float)mx_decode(mx_format_find("f16"), 0x8000), 0),
        0x80);
    /* B32: bytes of fnuz read as fn are twice the value, and -0 and NaN swap roles. */
    ck_assert(mx_decode(mx_format_find("e4m3fnuz"), 0x38) == 0.5 &&
              mx_decode(mx_format_find("e4m3"), 0x38) == 1.0);
    ck_assert(isnan(mx_decode(mx_format_find("e4m3fnuz"), 0x80)) &&
              mx_decode(mx_format_find("e4m3"), 0x80) == 0);
    ck_assert(mx_decode(mx_format_find("e4m3fnuz"), 0x7F) == 240 &&
              isnan(mx_decode(mx_format_find("e4m3"), 0x7F)));
}
END_TEST

/* B44, B45, B48, B49, B55, B56 and D39: what a scale byte means. */
START_TEST(decoding_of_scale_bytes)
{
    static const struct {
        const char *recipe;
        uint32_t of_00, of_ff; /* fp32 bits of 1.0 under that byte; NaN stands for any */
    } readers[] = {
        {"mxfp8", 0x00400000, 0x7FC00000},         {"mxfp8-te", 0x00400000, 0x7FC00000},
        {"mxfp8-cutlass", 0x00400000, 0x7FC00000}, {"mxfp8-ao-rceil", 0x00400000, 0x7FC00000},
        {"mxfp8-te-before-3262", 0, 0x7F800000},   {"mxfp8-aiter", 0, 0x7FC00000},
        {"mxfp4-ggml", 0x00400000, 0x7F800000},
    };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        uint8_t one = recipe(readers[i].recipe)->element->bits == 4 ? 0x2 : 0x38;
        ck_assert_msg(read_back(readers[i].recipe, one, 0, "f32") == readers[i].of_00, "%s 00",
                      readers[i].recipe);
        ck_assert_msg(read_back(readers[i].recipe, one, 0xFF, "f32") == readers[i].of_ff, "%s FF",
                      readers[i].recipe);
        for (uint32_t byte = 1; byte < 0xFF; byte++)
            ck_assert_uint_eq(read_back(readers[i].recipe, one, byte, "f32"), byte << 23);
    }
    ck_assert_uint_eq(read_back("mxfp8", 0x38, 0xFF, "f16"), 0x7E00);
    ck_assert_uint_eq(read_back("mxfp8", 0x38, 0xFF, "bf16"), 0x7FC0);
    for (uint32_t byte = 0; byte < 0xFF; byte++)
        ck_assert_uint_eq(
            mx_encode(mx_format_find("e8m0"), mx_decode(mx_format_find("e8m0"), byte), &MX_CAST_DEFAULT, 0),
            byte);
    ck_assert(128 * 0x1p112 * 256 * mx_scale_value(recipe("mxfp8"), 0) == 1); /* B45 */
    ck_assert(115 / mx_scale_value(recipe("mxfp8"), 115) == 471040);          /* B55 */
    ck_assert(mx_scale_value(recipe("mxfp4"), 127) == 1);                     /* B56 */
}
END_TEST

/* ---- scale selection ------------------------------------------------------------------------------ */

/* amax; FLOOR, CEIL, RCEIL, EVEN, NEAR, RFLOOR. Below 1.2 is 3F99999A and so on: what fp32 holds. */
static const struct {
    const char *element;
    float amax;
    int floor, ceil, rceil, even, near, rfloor;
} rules[] = {
#include "scale_rules.h"
};

START_TEST(scale_bytes_by_rule)
{
    static const char *const names[] = {"floor", "ceil", "rceil", "even", "near", "rfloor"};
    const int want[] = {rules[_i].floor, rules[_i].ceil, rules[_i].rceil,
                        rules[_i].even,  rules[_i].near, rules[_i].rfloor};
    for (int k = 0; k < 6; k++) {
        char name[64];
        snprintf(name, sizeof name, "study:%s/e8m0/1x32/%s/rne", rules[_i].element, names[k]);
        uint32_t got = mx_block_scale(recipe(name), rules[_i].amax, 0, NULL);
        ck_assert_msg(got == (uint32_t)want[k], "%s of %.9g: got %u, want %d", name, (double)rules[_i].amax,
                      got, want[k]);
    }
}
END_TEST

/* B34, B35, B39, B41, B53, B66 and the zero blocks. */
START_TEST(scale_faults)
{
    static const struct {
        const char *id, *right, *fault;
        uint32_t amax;
        uint32_t want, wrong;
    } cases[] = {
        {"B34", "mxfp4-floor", "study:e2m1/e8m0/1x32/rfloor/rne", 0x402CCCCD, 126, 125},
        {"B34", "mxfp4", "study:e2m1/e8m0/1x32/rfloor/rne", 0x40B00000, 127, 126},
        {"B34", "mxfp4", "study:e2m1/e8m0/1x32/rfloor/rne", 0x3F99999A, 125, 124},
        {"B35", "mxfp8", "mxfp8-near", 0x441DC000, 0x80, 0x7F},
        {"B35", "mxfp8-floor", "mxfp8-near", 0x441DC000, 0x80, 0x7F},
        {"B39", "mxfp8-floor", "mxfp8-ceil", 0x43160000, 126, 127},
        {"B39", "mxfp8", "mxfp8-ceil", 0x43160000, 126, 127},
        {"B39", "mxfp8", "mxfp8-floor", 0x446F4000, 129, 128},
        {"B66", "mxfp8-vllm-ue8m0", "mxfp8-vllm-ue8m0-amaxfloor", 0, 94, 85},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float amax = bits(cases[i].amax);
        ck_assert_msg(mx_block_scale(recipe(cases[i].right), amax, 0, NULL) == cases[i].want, "%s right",
                      cases[i].id);
        ck_assert_msg(mx_block_scale(recipe(cases[i].fault), amax, 0, NULL) == cases[i].wrong, "%s wrong",
                      cases[i].id);
    }
    /* B41: emax taken off twice: the floor rule on amax / 2^emax. */
    ck_assert_uint_eq(mx_block_scale(recipe("mxfp4-floor"), 6.0f, 0, NULL), 127);
    ck_assert_uint_eq(mx_block_scale(recipe("mxfp4-floor"), 6.0f / 4, 0, NULL), 125);
    /* B66: the two floors agree from amax 448e-10 on (rounded up to 2^-33). */
    ck_assert_uint_eq(mx_block_scale(recipe("mxfp8-vllm-ue8m0"), 2.6078e-8f, 0, NULL),
                      mx_block_scale(recipe("mxfp8-vllm-ue8m0-amaxfloor"), 2.6078e-8f, 0, NULL));
    ck_assert_uint_ne(mx_block_scale(recipe("mxfp8-vllm-ue8m0"), 2.6076e-8f, 0, NULL),
                      mx_block_scale(recipe("mxfp8-vllm-ue8m0-amaxfloor"), 2.6076e-8f, 0, NULL));
}
END_TEST

/* TransformerEngine's fp32 scales: max/amax, its power of two, and what a tiny amax does. */
START_TEST(encoding_scales)
{
    static const struct {
        float amax, pow2;
    } cut[] = {{448, 1}, {449, 0.5f}, {300, 1}, {224, 2}, {150, 2}, {0, 1}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        mx_plan p = mx_plan_make(recipe("fp8-1x128-te-pow2"), cut[i].amax, 0, NULL, 0);
        ck_assert(p.multiplier == cut[i].pow2 && p.stored == bits_of(1 / cut[i].pow2));
    }
    float tiny = 1e-40f; /* 448/amax overflows */
    ck_assert_uint_eq(
        bits_of(mx_plan_make(recipe("fp8-1x128-te"), tiny, 0, mx_format_find("f32"), 0).multiplier),
        0x7F7FFFFF);
    ck_assert_uint_eq(
        bits_of(mx_plan_make(recipe("fp8-1x128-te"), tiny, 0, mx_format_find("bf16"), 0).multiplier),
        0x7F7F0000);
    ck_assert_uint_eq(
        bits_of(mx_plan_make(recipe("fp8-1x128-te"), tiny, 0, mx_format_find("f16"), 0).multiplier),
        0x477FE000);
}
END_TEST

START_TEST(scale_as_fp32)
{
    /* B42: 448 / 4.28125 in fp32 and in bf16. */
    mx_plan right = mx_plan_make(recipe("fp8-tensor-te"), bits(0x40890000), 0, mx_format_find("bf16"), 0);
    mx_plan wrong =
        mx_plan_make(recipe("fp8-tensor-bf16-quotient"), bits(0x40890000), 0, mx_format_find("bf16"), 0);
    ck_assert_uint_eq(bits_of(right.multiplier), 0x42D148E0);
    ck_assert_uint_eq(bits_of(wrong.multiplier), 0x42D10000);
    /* B51: four fp32 scales shifted and or-ed into a word without masking leak their mantissas. */
    uint32_t b = 0x3BE48E8A, leaking = b >> 23 | b >> 15 | b >> 7 | b << 1;
    ck_assert_uint_eq(leaking, 0x77FFFFFF);
    ck_assert_uint_eq((b >> 23) * 0x01010101u, 0x77777777);
    /* B53, B59: 0.7 read by its exponent is 0.5; 0.9 rounded up without requantising is 1, off by 1/0.9. */
    ck_assert_uint_eq(bits_of(bits(0x3F333333 & 0x7F800000)), bits_of(0.5f));
    mx_plan up = mx_plan_make(recipe("fp8-1x128-pow2"), 448 * bits(0x3F666666), 0, NULL, 0);
    ck_assert_uint_eq(up.stored, 0x3F800000);
    ck_assert(fabs(1 / (double)bits(0x3F666666) - 1.1111111) < 1e-6);
}
END_TEST

/* B63, B64, B67: blocks of zeros and nearly so. */
START_TEST(zero_blocks)
{
    static const float zeros[128];
    uint8_t codes[128];
    mx_block b = {zeros, 1, 128, 128, 1, NULL, 0, 0, 0, 0};
    uint32_t scale = mx_quantize_block(recipe("fp8-1x128-ao-infer"), &b, codes, 128);
    ck_assert(scale == 0 && codes[0] == 0x7F); /* the fault: 0/0 */
    for (size_t i = 0; i < mx_recipe_count(); i++) {
        const mx_recipe *r = mx_recipe_at(i);
        if (!strcmp(r->name, "fp8-1x128-ao-infer") || !strcmp(r->name, "fp8-128x128-ao-infer") ||
            strstr(r->name, "deepseek-2024") || !r->scale || r->nv_unguarded)
            continue;
        b.cols = r->block_cols == 16 ? 16 : 32;
        scale = mx_quantize_block(r, &b, codes, 128);
        ck_assert_msg(isfinite(mx_scale_value(r, scale)), "%s", r->name);
        ck_assert_msg(isfinite(mx_global_store(r, 0)), "%s", r->name); /* B63: 2688/0 */
        for (int k = 0; k < b.cols; k++)
            ck_assert_msg(codes[k] == 0, "%s: zero becomes %02X", r->name, codes[k]);
    }
    b.cols = 16; /* B64 again: P = 0 */
    ck_assert_uint_eq(mx_quantize_block(recipe("nvfp4-ao-old"), &b, codes, 16), 0x7F);
    float small[16] = {0.005f};
    b = (mx_block){small, 1, 16, 16, 1, NULL, 0.005f, 0, 0, 0};
    ck_assert_uint_eq(mx_quantize_block(recipe("nvfp4-single"), &b, codes, 16), 0);
    ck_assert_uint_eq(mx_quantize_block(recipe("nvfp4"), &b, codes, 16), 0x7E);
    ck_assert_uint_eq(codes[0], 7);
}
END_TEST

/* ---- whole blocks as they were reported ----------------------------------------------------------- */

static const uint32_t block_b06[] = {
    0x3EB14E3C, 0xBD4C63F1, 0x3EC240B8, 0xC01816F0, 0x3ECAC083, 0x3F195183, 0xBF200000, 0xBED9096C,
    0xBF1E83E4, 0x3E8D5CFB, 0xBEBFCB92, 0x3E15B574, 0x3F058794, 0xBF04F766, 0xBF5985F0, 0xBF52DE01,
    0x3F03B646, 0x3EB39C0F, 0x3CF41F21, 0xBEB14120, 0x3EC88CE7, 0x3DE075F7, 0x3FB985F0, 0x3FD9B717,
    0xBF0C1BDA, 0xC0057247, 0x3FE7AACE, 0x3EB7A787, 0x3FBB295F, 0xC0141D7E, 0x3EAEB1C4, 0xBF64A234};
static const uint8_t bytes_b06[] = {0x81, 0xE2, 0x22, 0xAA, 0x1A, 0x19, 0xA2, 0xBB,
                                    0x12, 0x90, 0x02, 0x55, 0xEA, 0x16, 0xE5, 0xC1};
static const uint32_t block_b24[] = {
    0x446F4000, 0x446F4000, 0x4461999A, 0x44700000, 0x44500000, 0x4391E4E4, 0xC2F9A6B5, 0x4443E2F2,
    0x4467D4D5, 0xC3691DF4, 0x4411DCCE, 0x426728C1, 0x430816CF, 0x4454CC5F, 0xC4567B63, 0xC44E6F73,
    0xC46FE40B, 0x44264F57, 0x440B1410, 0x4439018E, 0x446F4F26, 0x4415944B, 0xC29A1525, 0x440C43BB,
    0xC43EDCE0, 0x438BEBC7, 0xC43252C7, 0x445E559F, 0x422EC952, 0xC32AAD15, 0xC3EB71C4, 0x44091DEA};
static const uint8_t floor_b24[] = {0x7E, 0x7E, 0x7E, 0x7E, 0x7D, 0x71, 0xE8, 0x7C, 0x7E, 0xEF, 0x79,
                                    0x5E, 0x69, 0x7D, 0xFD, 0xFD, 0xFE, 0x7A, 0x79, 0x7C, 0x7E, 0x79,
                                    0xE2, 0x79, 0xFC, 0x71, 0xFB, 0x7E, 0x5B, 0xEB, 0xF7, 0x79};
static const uint8_t rceil_b24[] = {0x77, 0x77, 0x76, 0x77, 0x75, 0x69, 0xE0, 0x74, 0x76, 0xE7, 0x71,
                                    0x56, 0x61, 0x75, 0xF5, 0xF5, 0xF7, 0x72, 0x71, 0x74, 0x77, 0x71,
                                    0xDA, 0x71, 0xF4, 0x69, 0xF3, 0x76, 0x53, 0xE3, 0xEF, 0x71};

static uint32_t quantize32(const mx_recipe *r, const uint32_t in[32], uint8_t codes[32])
{
    float x[32];
    memcpy(x, in, sizeof x);
    mx_block b = {x, 1, 32, 32, 1, NULL, 0, 0, 0, 0};
    return mx_quantize_block(r, &b, codes, 32);
}

START_TEST(the_block_of_b06)
{
    uint8_t codes[32];
    mx_recipe away = *recipe("mxfp4-floor");
    away.cast.rounding = MX_RNA;
    ck_assert_uint_eq(quantize32(recipe("mxfp4-floor"), block_b06, codes), 0x7E);
    for (int i = 0; i < 16; i++)
        ck_assert_uint_eq(codes[2 * i] | codes[2 * i + 1] << 4, bytes_b06[i]);
    quantize32(&away, block_b06, codes);
    for (int i = 0; i < 16; i++)
        ck_assert_uint_eq(codes[2 * i] | codes[2 * i + 1] << 4, i == 3 ? 0xAB : bytes_b06[i]);
}
END_TEST

START_TEST(the_block_of_b24)
{
    uint8_t codes[32];
    ck_assert_uint_eq(quantize32(recipe("mxfp8-floor"), block_b24, codes), 0x80);
    ck_assert_mem_eq(codes, floor_b24, 32);
    ck_assert_uint_eq(quantize32(recipe("mxfp8"), block_b24, codes), 0x81);
    ck_assert_mem_eq(codes, rceil_b24, 32);
}
END_TEST

Suite *test_faults(void)
{
    Suite *s = suite_create("faults");
    TCase *t = tcase_create("public");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, casts_and_their_faults, 0, (int)(sizeof casts / sizeof *casts));
    tcase_add_test(t, ties_of_e2m1_both_signs);
    tcase_add_test(t, round_trip_of_all_codes);
    tcase_add_test(t, decoding_of_special_and_subnormal_codes);
    tcase_add_test(t, decoding_of_scale_bytes);
    tcase_add_loop_test(t, scale_bytes_by_rule, 0, (int)(sizeof rules / sizeof *rules));
    tcase_add_test(t, scale_faults);
    tcase_add_test(t, encoding_scales);
    tcase_add_test(t, scale_as_fp32);
    tcase_add_test(t, zero_blocks);
    tcase_add_test(t, the_block_of_b06);
    tcase_add_test(t, the_block_of_b24);
    suite_add_tcase(s, t);
    return s;
}
