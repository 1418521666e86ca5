/* SPDX-License-Identifier: Apache-2.0
 * Accumulation models against hand-made probes whose expected bits were worked out on paper from each
 * unit's rule, and a table that must be complete. The expected bits of rivals are tested too, so that a
 * probe is known to tell them apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "model.h"
#include "suite.h"

/* "38 88*02"-like text would hide the lanes: each entry is lane, code of a, code of b; `repeat` lanes. */
typedef struct lane {
    int16_t first, repeat;
    uint16_t a, b;
} lane;

typedef struct probe {
    const char *id, *model, *format;
    lane lanes[4];
    uint32_t c, want;
    const char *scale_format; /* NULL: unscaled */
    uint8_t sa[4], sb[4];
    int scale_block;
} probe;

#define WG  "sm90-wgmma-fp8-f32"
#define MMA "sm90-mma-fp8-f32"
#define BW  "sm100-f8f6f4-f32"
#define HB  "sm90-f16-f32"

/* Unscaled: lanes last. */
#define PROBE(id, model, format, c, want, ...)                                                               \
    {                                                                                                        \
        id, model, format, {__VA_ARGS__}, c, want, NULL, {0}, {0}, 0                                         \
    }

static const probe probes[] = {
    PROBE("H1", WG, "e4m3", 0, 0x3F800000, {0, 1, 0x38, 0x38}, {1, 31, 0x04, 0x06}),
    PROBE("H1", MMA, "e4m3", 0, 0x3F805D00, {0, 1, 0x38, 0x38}, {1, 31, 0x04, 0x06}),
    PROBE("H1", BW, "e4m3", 0, 0x3F805D00, {0, 1, 0x38, 0x38}, {1, 31, 0x04, 0x06}),
    PROBE("H2", WG, "e4m3", 0, 0x3F800000, {0, 1, 0x38, 0x38}, {1, 1, 0x88, 0x02}),
    PROBE("H2", BW, "e4m3", 0, 0x3F7FFC00, {0, 1, 0x38, 0x38}, {1, 1, 0x88, 0x02}),
    PROBE("H3", WG, "e4m3", 0, 0x3F800400, {0, 1, 0x38, 0x38}, {1, 1, 0x08, 0x04}),
    PROBE("H4", WG, "e4m3", 0, 0x39000000, {0, 1, 0x3C, 0x3C}, {1, 1, 0x08, 0x04}, {2, 1, 0xBC, 0x3C}),
    PROBE("H5", WG, "e4m3", 0x3F800FFF, 0x3F800C00, {0}),
    PROBE("H5", MMA, "e4m3", 0x3F800FFF, 0x3F800FFF, {0}),
    PROBE("H5", BW, "e4m3", 0x3F800FFF, 0x3F800FFF, {0}),
    PROBE("H6", WG, "e4m3", 0x3F800000, 0x3F800000, {0, 1, 0x04, 0x04}),
    PROBE("H6", MMA, "e4m3", 0x3F800000, 0x3F800200, {0, 1, 0x04, 0x04}),
    PROBE("H6", BW, "e4m3", 0x3F800000, 0x3F800200, {0, 1, 0x04, 0x04}),
    PROBE("H7", WG, "e4m3", 0, 0, {0, 1, 0x58, 0x58}, {1, 1, 0xD8, 0x58}, {16, 1, 0x20, 0x20}),
    PROBE("H7", "sm89-fp8-f32", "e4m3", 0, 0x3C800000, {0, 1, 0x58, 0x58}, {1, 1, 0xD8, 0x58},
          {16, 1, 0x20, 0x20}),
    PROBE("H7", MMA, "e4m3", 0, 0x3C800000, {0, 1, 0x58, 0x58}, {1, 1, 0xD8, 0x58}, {16, 1, 0x20, 0x20}),
    PROBE("H7", BW, "e4m3", 0, 0x3C800000, {0, 1, 0x58, 0x58}, {1, 1, 0xD8, 0x58}, {16, 1, 0x20, 0x20}),
    PROBE("E1", MMA, "e4m3", 0, 0x3A000000, {0, 1, 0x78, 0x78}, {1, 1, 0xF8, 0x78}, {2, 1, 0x01, 0x28}),
    PROBE("E1", WG, "e4m3", 0, 0, {0, 1, 0x78, 0x78}, {1, 1, 0xF8, 0x78}, {2, 1, 0x01, 0x28}),
    PROBE("E1", BW, "e4m3", 0, 0, {0, 1, 0x78, 0x78}, {1, 1, 0xF8, 0x78}, {2, 1, 0x01, 0x28}),
    PROBE("E2", MMA, "e4m3", 0, 0, {0, 1, 0x01, 0x28}, {2, 1, 0x78, 0x78}, {3, 1, 0xF8, 0x78}),
    PROBE("E3", MMA, "e4m3", 0x42800001, 0x42800002, {0, 1, 0x01, 0x01}),
    PROBE("E3", WG, "e4m3", 0x42800001, 0x42800000, {0, 1, 0x01, 0x01}),
    PROBE("E3", BW, "e4m3", 0x42800001, 0x42800001, {0, 1, 0x01, 0x01}),
    PROBE("F1", "sm90-wgmma-fp8-f16", "e4m3", 0, 0x3C00, {0, 1, 0x38, 0x38}, {1, 1, 0x10, 0x08},
          {2, 1, 0x04, 0x04}),
    PROBE("F1", "sm100-f8f6f4-f16", "e4m3", 0, 0x3C01, {0, 1, 0x38, 0x38}, {1, 1, 0x10, 0x08},
          {2, 1, 0x04, 0x04}),
    PROBE("F2", "sm90-wgmma-fp8-f16", "e4m3", 0, 0x7C00, {0, 1, 0x78, 0x78}),
    PROBE("B1", HB, "bf16", 0, 0x3F800001, {0, 1, 0x3F80, 0x3F80}, {1, 4, 0x3980, 0x3900}),
    PROBE("B1", "sm80-f16-f32", "bf16", 0, 0x3F800000, {0, 1, 0x3F80, 0x3F80}, {1, 4, 0x3980, 0x3900}),
    PROBE("B2", HB, "bf16", 0, 0x3F800000, {0, 1, 0x3F80, 0x3F80}, {1, 8, 0x3900, 0x3900}),
    PROBE("B3", HB, "bf16", 0, 0x3F800000, {0, 1, 0x3F80, 0x3F80}, {1, 1, 0xB800, 0x3800}),
    PROBE("B4", HB, "bf16", 0, 0x3F800000, {0, 1, 0x3F80, 0x3F80}, {1, 1, 0x3FC0, 0x3380}),
    PROBE("B5", HB, "bf16", 0, 0x33000000, {0, 1, 0x3FC0, 0x3FC0}, {1, 1, 0x3980, 0x3900},
          {2, 1, 0xBFC0, 0x3FC0}),
    PROBE("B5", "sm80-f16-f32", "bf16", 0, 0, {0, 1, 0x3FC0, 0x3FC0}, {1, 1, 0x3980, 0x3900},
          {2, 1, 0xBFC0, 0x3FC0}),
    PROBE("B6", HB, "bf16", 0, 0, {0, 1, 0x4700, 0x4700}, {1, 1, 0xC700, 0x4700}, {8, 1, 0x3F80, 0x3F80}),
    PROBE("B6", "sm80-f16-f32", "bf16", 0, 0x3F800000, {0, 1, 0x4700, 0x4700}, {1, 1, 0xC700, 0x4700},
          {8, 1, 0x3F80, 0x3F80}),
    PROBE("B7", HB, "bf16", 0, 0, {0, 1, 0x7180, 0x7180}, {1, 1, 0xF180, 0x7180}, {2, 1, 0x3F80, 0x3F80}),
    PROBE("B7", "cdna3-f16", "bf16", 0, 0x7FC00000, {0, 1, 0x7180, 0x7180}, {1, 1, 0xF180, 0x7180},
          {2, 1, 0x3F80, 0x3F80}),
    PROBE("B8", HB, "bf16", 0, 0x7F800000, {0, 2, 0x7F00, 0x3F80}),
    PROBE("B9", HB, "bf16", 0, 0x7FFFFFFF, {0, 1, 0x7F80, 0x0000}),
    PROBE("B10", HB, "bf16", 0x80000000, 0, {0, 1, 0x8000, 0x3F80}),
    PROBE("Z1", HB, "bf16", 0, 0, {0, 1, 0x1A00, 0x1A80}, {1, 1, 0x9880, 0x1900}),
    PROBE("Z2", HB, "bf16", 0, 1, {0, 1, 0x1A00, 0x1A80}, {1, 15, 0x9780, 0x1800}),
    PROBE("Z3", HB, "bf16", 0, 0, {0, 1, 0x1A00, 0x1A80}, {1, 15, 0x9880, 0x1900}),
    PROBE("Z4", "sm90-f16-f16", "f16", 0, 1, {0, 1, 0x0C00, 0x0800}, {1, 1, 0x0001, 0x0010}),
    PROBE("Z5", "sm90-f16-f16", "f16", 0, 0, {0, 1, 0x0C00, 0x0800}, {1, 1, 0x0001, 0x0001}),
#define S_LANES                                                                                              \
    {                                                                                                        \
        {0, 1, 0x38, 0x38}, { 1, 1, 0x01, 0x01 }                                                             \
    }
    {"S1", "sm100-mxf8f6f4", "e4m3", S_LANES, 0x3F800000, 0x3F810000, "e8m0", {0x7C}, {0x7B}, 32},
    {"S2", "sm100-mxf8f6f4", "e4m3", S_LANES, 0, 0x3F800020, "e8m0", {0x00}, {0xFE}, 32},
    {"S3", "sm100-mxf8f6f4", "e4m3", S_LANES, 0, 0x00001000, "e8m0", {0x00}, {0x75}, 32},
    {"S4", "sm100-mxf8f6f4", "e4m3", S_LANES, 0, 0x7F800000, "e8m0", {0xFE}, {0x80}, 32},
    {"scale NaN", "sm100-mxf8f6f4", "e4m3", S_LANES, 0, 0x7FFFFFFF, "e8m0", {0xFF}, {0x80}, 32},
    {"S5",
     "sm100-mxf4nvf4",
     "e2m1",
     {{0, 1, 2, 2}, {16, 1, 2, 2}, {32, 1, 0xA, 2}},
     0,
     0x38000000,
     "e8m0",
     {0x93, 0x75, 0x93, 0x7F},
     {0x7F, 0x7A, 0x7F, 0x7F},
     16},
    {"S6",
     "sm100-mxf4nvf4",
     "e2m1",
     {{0, 16, 7, 7}, {16, 1, 4, 2}, {32, 16, 0xF, 7}},
     0,
     0x2E000000,
     "e8m0",
     {0x7F, 0x5B, 0x7F, 0x7F},
     {0x7F, 0x7F, 0x7F, 0x7F},
     16},
    {"S7",
     "sm100-mxf4nvf4",
     "e2m1",
     {{0, 16, 7, 7}, {16, 1, 2, 2}, {32, 16, 0xF, 7}},
     0,
     0,
     "e8m0",
     {0x7F, 0x5B, 0x7F, 0x7F},
     {0x7F, 0x7F, 0x7F, 0x7F},
     16},
    {"S8",
     "sm100-mxf4nvf4",
     "e2m1",
     {{0, 64, 7, 7}},
     0,
     0x4CDC8145,
     "ue4m3",
     {0x01, 0x3F, 0x38, 0x7E},
     {0x01, 0x3F, 0xB8, 0x7E},
     16},
    {"S9",
     "sm100-mxf4nvf4",
     "e2m1",
     {{0, 64, 7, 7}},
     0,
     0x7FFFFFFF,
     "ue4m3",
     {0x7F, 0x3F, 0x38, 0x7E},
     {0x01, 0x3F, 0xB8, 0x7E},
     16},
    /* AMD, worked out from the rule. CDNA1: 1 + 2^-24 + 2^-24 is exact before the one rounding. */
    PROBE("A1", "cdna1-f16", "f16", 0, 0x3F800001, {0, 1, 0x3C00, 0x3C00}, {1, 2, 0x0C00, 0x0C00}),
    /* CDNA2: the bf16 product 2^-130 is flushed; 2^-126 is not. */
    PROBE("A2", "cdna2-f16", "bf16", 0, 0, {0, 1, 0x2000, 0x1D00}),
    PROBE("A3", "cdna2-f16", "bf16", 0, 0x00800000, {0, 1, 0x2000, 0x2000}),
    /* CDNA3: 1 - 2^-40: the product sum 1 is kept, C = -2^-40 floors to -2^-24. */
    PROBE("A4", "cdna3-f16", "f16", 0xAB800000, 0x3F7FFFFF, {0, 1, 0x3C00, 0x3C00}),
    /* and +2^-40 floors to 0: negating all does not negate the result. */
    PROBE("A5", "cdna3-f16", "f16", 0x2B800000, 0xBF800000, {0, 1, 0x3C00, 0xBC00}),
    /* fp8: C 40 binades below is dropped instead. */
    PROBE("A6", "cdna3-fp8", "e4m3fnuz", 0xAB800000, 0x3F800000, {0, 1, 0x40, 0x40}),
};

static uint32_t answer(const probe *p, const mx_model *m)
{
    uint32_t a[64] = {0}, b[64] = {0};
    const mx_format *f = mx_format_find(p->format);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < p->lanes[i].repeat; k++) {
            a[p->lanes[i].first + k] = p->lanes[i].a;
            b[p->lanes[i].first + k] = p->lanes[i].b;
        }
    mx_lanes x = {f, f, a, b, m->k, NULL, p->sa, p->sb, p->scale_block};
    if (p->scale_format) x.scale_format = mx_format_find(p->scale_format);
    return mx_model_step(m, &x, p->c);
}

START_TEST(probe_gives_the_expected_bits)
{
    const probe *p = &probes[_i];
    const mx_model *m = mx_model_find(p->model);
    ck_assert_msg(m && mx_model_accepts(m, mx_format_find(p->format)), "%s %s", p->id, p->model);
    uint32_t got = answer(p, m);
    ck_assert_msg(got == p->want, "%s on %s: %08X, want %08X", p->id, p->model, got, p->want);
}
END_TEST

/* Probe, model, what F would be otherwise, and the bits that it would then give. */
static const struct {
    const char *id, *model;
    int fraction;
    uint32_t want;
} other_widths[] = {
    {"H1", WG, 14, 0x3F803C00},
    {"H2", WG, 14, 0x3F7FFC00},
    {"H3", WG, 12, 0x3F800000},
    {"H4", WG, 12, 0},
    {"H5", WG, 13, 0x3F800C00},
    {"H7", WG, 14, 0x3C800000},
    {"B1", HB, 24, 0x3F800000},
    {"B2", HB, 26, 0x3F800001},
    {"B5", HB, 24, 0},
    {"S5", "sm100-mxf4nvf4", 34, 0},
    {"S5", "sm100-mxf4nvf4", 25, 0},
    {"S6", "sm100-mxf4nvf4", 34, 0},
    {"S7", "sm100-mxf4nvf4", 36, 0x2D800000},
};

START_TEST(probe_tells_widths_apart)
{
    const char *id = other_widths[_i].id, *name = other_widths[_i].model;
    mx_model m = *mx_model_find(name);
    m.fraction = (int16_t)other_widths[_i].fraction;
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        if (!strcmp(probes[i].id, id) && !strcmp(probes[i].model, name)) {
            uint32_t got = answer(&probes[i], &m);
            ck_assert_msg(got == other_widths[_i].want, "%s with F = %d: %08X", id, m.fraction, got);
            return;
        }
    ck_abort_msg("no probe %s", id);
}
END_TEST

START_TEST(table_is_complete)
{
    for (size_t i = 0; i < mx_model_count(); i++) {
        const mx_model *m = mx_model_at(i);
        ck_assert_msg(m->name && m->inputs && m->units && m->source && m->note && m->evidence, "row %zu", i);
        ck_assert_ptr_eq(mx_model_find(m->name), m);
        ck_assert_msg(strcmp(mx_model_words(m), "evidence unknown"), "%s", m->name);
        ck_assert(mx_model_format(m) != NULL);
        if (m->kind == MX_MODEL_FUSED)
            ck_assert_msg(m->lanes > 0 && m->k > 0 && m->fraction > 0, "%s", m->name);
    }
    ck_assert_ptr_null(mx_model_find("none"));
}
END_TEST

static uint32_t bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* 1 + 2^-24 + 2^-24 - 1: each order of fp32 addition gives something else. */
START_TEST(plain_orders_differ_as_they_should)
{
    const mx_format *f32 = mx_format_find("f32");
    uint32_t a[4] = {bits(1), bits(0x1p-24f), bits(0x1p-24f), bits(-1)}, b[4];
    for (int i = 0; i < 4; i++)
        b[i] = bits(1);
    mx_lanes x = {f32, f32, a, b, 4, NULL, NULL, NULL, 0};
    ck_assert_uint_eq(mx_model_chain(mx_model_find("exact"), &x, 0), bits(0x1p-23f));
    ck_assert_uint_eq(mx_model_chain(mx_model_find("fma-f32"), &x, 0), 0);
    ck_assert_uint_eq(mx_model_chain(mx_model_find("pairwise-f32"), &x, 0), bits(0x1p-24f));
    /* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, minus its own rounding. */
    uint32_t p[2] = {bits(1), bits(0x1.001p0f)}, q[2] = {bits(-0x1.002p0f), bits(0x1.001p0f)};
    mx_lanes y = {f32, f32, p, q, 2, NULL, NULL, NULL, 0};
    ck_assert_uint_eq(mx_model_chain(mx_model_find("fma-f32"), &y, 0), bits(0x1p-24f));
    ck_assert_uint_eq(mx_model_chain(mx_model_find("mul-add-f32"), &y, 0), 0);
}
END_TEST

/* tf32 units ignore the low 13 bits of an fp32 word. */
START_TEST(tf32_words_are_truncated)
{
    const mx_format *f32 = mx_format_find("f32");
    uint32_t a[8] = {0x3F801FFF}, b[8] = {0x3F800000};
    mx_lanes x = {f32, f32, a, b, 8, NULL, NULL, NULL, 0};
    const mx_model *m = mx_model_find("sm90-tf32");
    ck_assert(mx_model_accepts(m, f32));
    ck_assert_uint_eq(mx_model_step(m, &x, 0), 0x3F800000);
    a[0] = 0x3F802000;
    ck_assert_uint_eq(mx_model_step(m, &x, 0), 0x3F802000);
}
END_TEST

Suite *test_models(void)
{
    Suite *s = suite_create("models");
    TCase *t = tcase_create("probes");
    tcase_add_loop_test(t, probe_gives_the_expected_bits, 0, (int)(sizeof probes / sizeof *probes));
    tcase_add_loop_test(t, probe_tells_widths_apart, 0, (int)(sizeof other_widths / sizeof *other_widths));
    tcase_add_test(t, table_is_complete);
    tcase_add_test(t, plain_orders_differ_as_they_should);
    tcase_add_test(t, tf32_words_are_truncated);
    suite_add_tcase(s, t);
    return s;
}
