/* SPDX-License-Identifier: Apache-2.0
 * What widely used implementations do with the same block: each line holds what one of them stores, taken
 * from its own code or from its source worked by hand, and not from this emulator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantize.h"
#include "suite.h"

/* One input and everybody's answers to it. */
typedef struct disagreement {
    const char *id, *source, *global, *input, *rest, *answers;
} disagreement;

static const disagreement blocks[] = {
#include "disagreements.h"
};

static const struct {
    const char *id, *recipe, *input, *codes;
} casts[] = {
#include "disagreements_cast.h"
};

/* Hexadecimal words up to anything else. */
static int words(const char *list, uint32_t *out, int max)
{
    int n = 0;
    for (char *end; n < max; list = end) {
        unsigned long v = strtoul(list, &end, 16);
        if (end == list) break;
        out[n++] = (uint32_t)v;
    }
    return n;
}

static float value_of(const char *source, uint32_t bits)
{
    return (float)mx_decode(mx_format_find(source), bits);
}

static uint32_t quantize(const mx_recipe *r, const disagreement *d, uint8_t codes[32])
{
    uint32_t in[32];
    float x[32], global = value_of(d->source, (uint32_t)strtoul(d->global, NULL, 16));
    int n = words(d->input, in, 32), size = r->block_cols == 16 ? 16 : 32;
    uint32_t rest = (uint32_t)strtoul(d->rest, NULL, 16);
    for (int i = 0; i < size; i++)
        x[i] = value_of(d->source, i < n ? in[i] : rest);
    mx_block b = {x, 1, size, size, 1, mx_format_find(d->source), global, 0, 0, 0};
    return mx_quantize_block(r, &b, codes, size);
}

/* "scale/codes" against what the recipe gives. */
static void judge(const disagreement *d, const char *name, const char *answer)
{
    const mx_recipe *r = mx_recipe_find(name);
    ck_assert_msg(r, "%s: no recipe %s", d->id, name);
    uint32_t want[32], scale_want = (uint32_t)strtoul(answer, NULL, 16);
    int n = words(strchr(answer, '/') + 1, want, 32);
    uint8_t codes[32];
    char got[128];
    uint32_t scale = quantize(r, d, codes);
    bool same = scale == scale_want;
    int at = snprintf(got, sizeof got, "%02X/", (unsigned)scale);
    for (int i = 0; i < n; i++) {
        at += snprintf(got + at, sizeof got - (size_t)at, "%02X ", codes[i]);
        same = same && codes[i] == want[i];
    }
    ck_assert_msg(same, "%s %s: got %s, want %.40s", d->id, name, got, answer);
}

START_TEST(everybody_answers_as_recorded)
{
    const disagreement *d = &blocks[_i];
    char text[1024], *lines, *names;
    snprintf(text, sizeof text, "%s", d->answers);
    for (char *line = strtok_r(text, ";", &lines); line; line = strtok_r(NULL, ";", &lines)) {
        char *answer = strchr(line, ':');
        ck_assert_ptr_nonnull(answer);
        *answer++ = 0;
        for (char *name = strtok_r(line, " \n", &names); name; name = strtok_r(NULL, " \n", &names))
            judge(d, name, answer);
    }
}
END_TEST

START_TEST(every_converter_answers_as_recorded)
{
    const mx_recipe *r = mx_recipe_find(casts[_i].recipe);
    ck_assert_msg(r, "%s", casts[_i].recipe);
    uint32_t in[64], want[64];
    int n = words(casts[_i].input, in, 64);
    ck_assert_int_eq(n, words(casts[_i].codes, want, 64));
    for (int i = 0; i < n; i++) {
        float x;
        memcpy(&x, &in[i], sizeof x);
        uint32_t got = mx_cast_element(r, x, 0);
        ck_assert_msg(got == want[i], "%s %s of %08X: got %02X, want %02X", casts[_i].id, r->name, in[i], got,
                      want[i]);
    }
}
END_TEST

/* Four blocks tell fifteen MXFP8 conventions apart: the fingerprint of an unknown kernel. */
START_TEST(four_blocks_are_a_fingerprint)
{
    static const char *const conventions[] = {"ao-rceil",     "ao-floor",     "ao-ceil",   "ao-even",
                                              "ao-rceil-old", "ao-floor-old", "te",        "fi",
                                              "fi-cute",      "triton-up",    "triton-dn", "triton-dn448",
                                              "aiter",        "dg",           "vllm-ue8m0"};
    static const disagreement four[] = {{"D4", "f32", "0", "43960000 3F800000", "0", ""},
                                        {"D5", "f32", "0", "43F80000", "0", ""},
                                        {"D11", "f32", "0", "7F800000 3F800000 FF800000", "3F800000", ""},
                                        {"D18", "f32", "0", "04600002 00800000", "0", ""}};
    enum { N = sizeof conventions / sizeof *conventions };
    uint8_t print[N][4][33];
    for (int i = 0; i < N; i++) {
        char name[48];
        snprintf(name, sizeof name, "mxfp8-%s", conventions[i]);
        const mx_recipe *r = mx_recipe_find(name);
        ck_assert_msg(r, "%s", name);
        for (int k = 0; k < 4; k++)
            print[i][k][32] = (uint8_t)quantize(r, &four[k], print[i][k]);
        for (int j = 0; j < i; j++)
            ck_assert_msg(memcmp(print[i], print[j], sizeof print[i]), "%s and %s look alike", conventions[i],
                          conventions[j]);
    }
}
END_TEST

/* D1 to D40, each with an answer here or in test_faults.c (D39: reading scale bytes back). */
START_TEST(no_disagreement_is_missing)
{
    bool seen[41] = {[39] = true};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].id[0] == 'D') seen[atoi(blocks[i].id + 1)] = true;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        if (casts[i].id[0] == 'D') seen[atoi(casts[i].id + 1)] = true;
    for (int d = 1; d <= 40; d++)
        ck_assert_msg(seen[d], "D%d", d);
}
END_TEST

START_TEST(same_bytes_under_two_names)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {{"mxfp8", "mxfp8-te", true},
                {"mxfp8-col", "mxfp8-te-col", true},
                {"mxfp8-e5m2", "mxfp8-e5m2-te", true},
                {"mxfp8-32x32", "mxfp8-te-32x32", true},
                {"mxfp8", "mxfp8-ao-rceil", false},
                {"mxfp8", "mxfp8-col", false},
                {"mxfp8", "mxfp8-floor", false},
                {"nvfp4", "nvfp4-te", false},
                {"mxfp8", "study:e4m3/e8m0/1x32/rceil/rne", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(mx_recipe_same(mx_recipe_find(rows[i].a), mx_recipe_find(rows[i].b)) == rows[i].same,
                      "%s, %s", rows[i].a, rows[i].b);
}
END_TEST

Suite *test_recipes(void)
{
    Suite *s = suite_create("recipes");
    TCase *t = tcase_create("disagreements");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, everybody_answers_as_recorded, 0, (int)(sizeof blocks / sizeof *blocks));
    tcase_add_loop_test(t, every_converter_answers_as_recorded, 0, (int)(sizeof casts / sizeof *casts));
    tcase_add_test(t, same_bytes_under_two_names);
    tcase_add_test(t, four_blocks_are_a_fingerprint);
    tcase_add_test(t, no_disagreement_is_missing);
    suite_add_tcase(s, t);
    return s;
}
