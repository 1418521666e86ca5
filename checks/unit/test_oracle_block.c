/* SPDX-License-Identifier: Apache-2.0
 * Block oracle against tables worked by hand and blocks of public bug reports. */
#include <math.h>
#include <string.h>

#include "oracle_block.h"
#include "suite.h"

/* Scale bytes by rule, worked out by hand; the amaxes are those that public reports argue about (amd/Quark,
 * ROCm/aiter#3212, ml-explore/mlx#4353, microsoft/microxcaling#4). */
static const struct {
    const char *element;
    double amax;
    int floor, ceil, round_up;
} bytes[] = {
    {"e2m1", 1, 125, 125, 125},
    {"e2m1", 0x1.333334p0, 125, 126, 125},
    {"e2m1", 1.5, 125, 126, 125},
    {"e2m1", 1.625, 125, 126, 126},
    {"e2m1", 1.75, 125, 126, 126},
    {"e2m1", 0x1.fffffcp0, 125, 126, 126},
    {"e2m1", 0x1.59999ap1, 126, 127, 126},
    {"e2m1", 4, 127, 127, 127},
    {"e2m1", 5.5, 127, 128, 127},
    {"e2m1", 6, 127, 128, 127},
    {"e2m1", 6.5, 127, 128, 128},
    {"e2m1", 7, 127, 128, 128},
    {"e2m1", 8, 128, 128, 128},
    {"e4m3", 1, 119, 119, 119},
    {"e4m3", 1.75, 119, 120, 119},
    {"e4m3", 0x1.ccccccp0, 119, 120, 120},
    {"e4m3", 1.9375, 119, 120, 120},
    {"e4m3", 150, 126, 127, 126},
    {"e4m3", 448, 127, 128, 127},
    {"e4m3", 449, 127, 128, 128},
    {"e4m3", 500, 127, 128, 128},
    {"e4m3", 511, 127, 128, 128},
    {"e4m3", 512, 128, 128, 128},
    {"e4m3", 631, 128, 129, 128},
    {"e4m3", 957, 128, 129, 129},
};

static int byte_of(const char *element, mx_oracle_rule rule, double amax)
{
    return mx_oracle_scale_exponent(mx_format_find(element), rule, amax) + 127;
}

START_TEST(scale_bytes_follow_the_rules)
{
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        int f = byte_of(bytes[i].element, MX_ORACLE_FLOOR, bytes[i].amax);
        int c = byte_of(bytes[i].element, MX_ORACLE_CEIL, bytes[i].amax);
        int r = byte_of(bytes[i].element, MX_ORACLE_ROUND_UP, bytes[i].amax);
        ck_assert_msg(f == bytes[i].floor && c == bytes[i].ceil && r == bytes[i].round_up,
                      "%s %a: floor %d ceil %d round-up %d", bytes[i].element, bytes[i].amax, f, c, r);
    }
    /* E moves up half an element ulp below the next power of two, inclusive. */
    ck_assert_int_eq(byte_of("e4m3", MX_ORACLE_EVEN, 496), 128);
    ck_assert_int_eq(byte_of("e4m3", MX_ORACLE_EVEN, 0x1.effffep8), 127);
    ck_assert_int_eq(byte_of("e2m1", MX_ORACLE_EVEN, 1.75), 126);
    ck_assert_int_eq(byte_of("e2m1", MX_ORACLE_EVEN, 0x1.bffffep0), 125);
    /* 6 * 2^(1/2) = 8.4852813742385702...: the nearest power of two changes there */
    ck_assert_int_eq(byte_of("e2m1", MX_ORACLE_NEAR, 0x1.0f876cp3), 127);
    ck_assert_int_eq(byte_of("e2m1", MX_ORACLE_NEAR, 0x1.0f876ep3), 128);
}
END_TEST

static void check_block(const char *element, mx_oracle_rule rule, const uint32_t *bits, const uint8_t *codes,
                        uint8_t scale)
{
    float x[32];
    uint8_t got[32], byte;
    mx_oracle *o = mx_oracle_new(mx_format_find(element));
    memcpy(x, bits, sizeof x);
    ck_assert_int_eq(mx_oracle_block_e8m0(o, rule, &MX_CAST_DEFAULT, x, 32, got, &byte, NULL), MX_OK);
    ck_assert_uint_eq(byte, scale);
    for (int i = 0; i < 32; i++)
        ck_assert_msg(got[i] == codes[i], "%s element %d: %02x, not %02x", element, i, got[i], codes[i]);
    mx_oracle_free(o);
}

START_TEST(blocks_of_public_reports)
{
    /* B24 (microsoft/microxcaling#4 and others): amax 960. */
    static const uint32_t b24[32] = {
        0x446F4000, 0x446F4000, 0x4461999A, 0x44700000, 0x44500000, 0x4391E4E4, 0xC2F9A6B5, 0x4443E2F2,
        0x4467D4D5, 0xC3691DF4, 0x4411DCCE, 0x426728C1, 0x430816CF, 0x4454CC5F, 0xC4567B63, 0xC44E6F73,
        0xC46FE40B, 0x44264F57, 0x440B1410, 0x4439018E, 0x446F4F26, 0x4415944B, 0xC29A1525, 0x440C43BB,
        0xC43EDCE0, 0x438BEBC7, 0xC43252C7, 0x445E559F, 0x422EC952, 0xC32AAD15, 0xC3EB71C4, 0x44091DEA};
    static const uint8_t b24_floor[32] = {0x7E, 0x7E, 0x7E, 0x7E, 0x7D, 0x71, 0xE8, 0x7C, 0x7E, 0xEF, 0x79,
                                          0x5E, 0x69, 0x7D, 0xFD, 0xFD, 0xFE, 0x7A, 0x79, 0x7C, 0x7E, 0x79,
                                          0xE2, 0x79, 0xFC, 0x71, 0xFB, 0x7E, 0x5B, 0xEB, 0xF7, 0x79};
    static const uint8_t b24_up[32] = {0x77, 0x77, 0x76, 0x77, 0x75, 0x69, 0xE0, 0x74, 0x76, 0xE7, 0x71,
                                       0x56, 0x61, 0x75, 0xF5, 0xF5, 0xF7, 0x72, 0x71, 0x74, 0x77, 0x71,
                                       0xDA, 0x71, 0xF4, 0x69, 0xF3, 0x76, 0x53, 0xE3, 0xEF, 0x71};
    check_block("e4m3", MX_ORACLE_FLOOR, b24, b24_floor, 0x80);
    check_block("e4m3", MX_ORACLE_ROUND_UP, b24, b24_up, 0x81);
    /* B06: e2m1, packed with element 0 in the low nibble. */
    static const uint32_t b06[32] = {
        0x3EB14E3C, 0xBD4C63F1, 0x3EC240B8, 0xC01816F0, 0x3ECAC083, 0x3F195183, 0xBF200000, 0xBED9096C,
        0xBF1E83E4, 0x3E8D5CFB, 0xBEBFCB92, 0x3E15B574, 0x3F058794, 0xBF04F766, 0xBF5985F0, 0xBF52DE01,
        0x3F03B646, 0x3EB39C0F, 0x3CF41F21, 0xBEB14120, 0x3EC88CE7, 0x3DE075F7, 0x3FB985F0, 0x3FD9B717,
        0xBF0C1BDA, 0xC0057247, 0x3FE7AACE, 0x3EB7A787, 0x3FBB295F, 0xC0141D7E, 0x3EAEB1C4, 0xBF64A234};
    static const uint8_t packed[16] = {0x81, 0xE2, 0x22, 0xAA, 0x1A, 0x19, 0xA2, 0xBB,
                                       0x12, 0x90, 0x02, 0x55, 0xEA, 0x16, 0xE5, 0xC1};
    uint8_t codes[32];
    for (int i = 0; i < 32; i++)
        codes[i] = i % 2 ? packed[i / 2] >> 4 : packed[i / 2] & 15;
    check_block("e2m1", MX_ORACLE_FLOOR, b06, codes, 0x7E);
}
END_TEST

START_TEST(edges_of_the_scale)
{
    mx_oracle *o = mx_oracle_new(mx_format_find("e4m3"));
    float zero[3] = {0, -0.0f, 0}, tiny[2] = {0x1p-149f, -0x1p-149f}, bad[1] = {INFINITY};
    uint8_t codes[3], byte;
    mx_error e;
    ck_assert_int_eq(mx_oracle_block_e8m0(o, MX_ORACLE_FLOOR, &MX_CAST_DEFAULT, zero, 3, codes, &byte, &e),
                     MX_OK);
    ck_assert(byte == 0 && codes[0] == 0 && codes[1] == 0x80);
    ck_assert_int_eq(mx_oracle_block_e8m0(o, MX_ORACLE_ROUND_UP, &MX_CAST_DEFAULT, tiny, 2, codes, &byte, &e),
                     MX_OK);
    ck_assert(byte == 0 && codes[0] == 0 && codes[1] == 0x80); /* 2^-149 / 2^-127 = 2^-22 rounds to zero */
    ck_assert_int_eq(mx_oracle_block_e8m0(o, MX_ORACLE_FLOOR, &MX_CAST_DEFAULT, bad, 1, codes, &byte, &e),
                     MX_BAD_INPUT);
    mx_oracle_free(o);
}
END_TEST

START_TEST(fp32_scales_round_every_step)
{
    mx_oracle *o = mx_oracle_new(mx_format_find("e4m3"));
    float x[3] = {100, -448, 1}, scale;
    uint8_t codes[3];
    ck_assert_int_eq(mx_oracle_block_f32(o, false, &MX_CAST_DEFAULT, x, 3, codes, &scale, NULL), MX_OK);
    ck_assert(scale == 1 && codes[0] == 0x6C && codes[1] == 0xFE &&
              codes[2] == 0x38); /* 100 -> 96 or 104: tie */
    float y[1] = {1};
    ck_assert_int_eq(mx_oracle_block_f32(o, true, &MX_CAST_DEFAULT, y, 1, codes, &scale, NULL), MX_OK);
    ck_assert(scale == 0x1.24924ap-9f && codes[0] == 0x7E); /* fl(1/448) = 3B124925 */
    float zero[1] = {0};
    ck_assert_int_eq(mx_oracle_block_f32(o, true, &MX_CAST_DEFAULT, zero, 1, codes, &scale, NULL),
                     MX_BAD_INPUT);
    mx_oracle_free(o);
}
END_TEST

Suite *test_oracle_block(void)
{
    Suite *s = suite_create("oracle blocks");
    TCase *t = tcase_create("ideal");
    tcase_add_test(t, scale_bytes_follow_the_rules);
    tcase_add_test(t, blocks_of_public_reports);
    tcase_add_test(t, edges_of_the_scale);
    tcase_add_test(t, fp32_scales_round_every_step);
    suite_add_tcase(s, t);
    return s;
}
