/* SPDX-License-Identifier: Apache-2.0
 * The accumulation models against matrix instructions recorded on an H200, and rival models rejected by the
 * same recordings. MX_SHOW_COUNTS=1 prints the counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "model.h"
#include "suite.h"

#define TILES    "vectors/seen/mma-tiles-h200.safetensors"
#define SPECIALS "vectors/seen/mma-special-h200.safetensors"

static uint32_t code_at(const mx_tensor *t, int64_t i)
{
    uint32_t code = 0;
    size_t size = mx_format_find(t->dtype)->bits <= 8 ? 1 : mx_format_find(t->dtype)->bits / 8;
    memcpy(&code, t->data + (size_t)i * size, size); /* little-endian, as the file */
    return code;
}

/* a [t][m][k], b [t][n][k], c and d [t][m][n]: how many of the results does `m` not give? */
static int64_t differences(const mx_case *c, const mx_model *m, int64_t *results)
{
    const mx_tensor *a = mx_case_in(c, "a"), *b = mx_case_in(c, "b"), *addend = mx_case_in(c, "c");
    const mx_tensor *d = mx_case_want(c, "d");
    ck_assert_msg(a && b && addend && d, "%s", c->id);
    int64_t rows = a->shape[1], cols = b->shape[1], k = a->shape[2], wrong = 0;
    uint32_t x[64], y[64];
    mx_lanes lanes = {mx_format_find(a->dtype), mx_format_find(b->dtype), x, y, k, NULL, NULL, NULL, 0};
    *results = d->shape[0] * rows * cols;
    for (int64_t i = 0; i < *results; i++) {
        int64_t row = i / cols, col = i / (rows * cols) * cols + i % cols;
        for (int64_t l = 0; l < k; l++) {
            x[l] = code_at(a, row * k + l);
            y[l] = code_at(b, col * k + l);
        }
        wrong += mx_model_step(m, &lanes, code_at(addend, i)) != code_at(d, i);
    }
    return wrong;
}

static void file_has_no_differences(const char *path, size_t cases)
{
    mx_case_set *set;
    mx_error e = {0};
    ck_assert_msg(mx_cases_load(path, &set, &e) == MX_OK, "%s: %s", e.place, e.message);
    ck_assert_uint_eq(mx_cases_count(set), cases);
    for (size_t i = 0; i < cases; i++) {
        const mx_case *c = mx_cases_at(set, i);
        const mx_model *m = mx_model_find(c->model);
        int64_t results, wrong;
        ck_assert_msg(m != NULL, "%s: model %s", c->id, c->model);
        wrong = differences(c, m, &results);
        if (getenv("MX_SHOW_COUNTS"))
            printf("%-32s %-20s %8lld results, %lld differ\n", c->id, m->name, (long long)results,
                   (long long)wrong);
        ck_assert_msg(wrong == 0, "%s: %lld of %lld differ from %s", c->id, (long long)wrong,
                      (long long)results, m->name);
    }
    mx_cases_free(set);
}

START_TEST(tiles_are_reproduced_to_the_last_bit) { file_has_no_differences(TILES, 12); }
END_TEST

START_TEST(special_cases_are_reproduced_to_the_last_bit) { file_has_no_differences(SPECIALS, 12); }
END_TEST

/* What a wrong idea of the unit would be: one column of its row changed. */
static void wider(mx_model *m) { m->fraction++; }
static void narrower(mx_model *m) { m->fraction--; }
static void floors(mx_model *m) { m->cut = MX_CUT_FLOOR; }
static void rounds(mx_model *m) { m->cut = MX_CUT_NEAREST; }
static void normalises(mx_model *m) { m->normalise = true; }
static void half_groups(mx_model *m) { m->lanes /= 2; }
static void c_last(mx_model *m) { m->late_c = true; }
static void c_first(mx_model *m) { m->late_c = false; }
static void in_order(mx_model *m) { m->pair_interleave = false; }
static void nearest(mx_model *m) { m->output = MX_OUT_F32_RNE; }
static void keeps_23(mx_model *m) { m->output = MX_OUT_F32_RZ; }
static void no_floor(mx_model *m) { m->exponent_floor = MX_NO_FLOOR; }

static const struct {
    const char *model, *what;
    void (*change)(mx_model *m);
    const char *path, *cases; /* every case of the file whose id starts so must reject it */
} rivals[] = {
    {"sm90-wgmma-fp8-f32", "F + 1", wider, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "F - 1", narrower, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "terms floored", floors, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "terms rounded", rounds, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "products normalised", normalises, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "L / 2, chained", half_groups, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "C added last", c_last, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "result rounded to nearest", nearest, TILES, "h200-wgmma-e"},
    {"sm90-wgmma-fp8-f32", "result keeps 23 bits", keeps_23, TILES, "h200-wgmma-e"},
    {"sm90-mma-fp8-f32", "F + 1", wider, TILES, "h200-mma-e"},
    {"sm90-mma-fp8-f32", "F - 1", narrower, TILES, "h200-mma-e"},
    {"sm90-mma-fp8-f32", "terms floored", floors, TILES, "h200-mma-e"},
    {"sm90-mma-fp8-f32", "C first", c_first, TILES, "h200-mma-e"},
    {"sm90-mma-fp8-f32", "low and high halves", in_order, TILES, "h200-mma-e4m3"},
    {"sm90-f16-f32", "F + 1", wider, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "F - 1", narrower, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "terms floored", floors, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "terms rounded", rounds, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "products normalised", normalises, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "L / 2, chained", half_groups, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "C added last", c_last, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "result rounded to nearest", nearest, TILES, "h200-wgmma-bf16"},
    {"sm90-f16-f32", "F + 1", wider, TILES, "h200-mma-f16"},
    {"sm90-f16-f32", "C added last", c_last, TILES, "h200-mma-f16"},
    {"sm90-f16-f32", "no exponent floor", no_floor, SPECIALS, "h200-wgmma-special-bf16"},
    {"sm90-f16-f16", "no exponent floor", no_floor, SPECIALS, "h200-wgmma-special-f16-f16out"},
};

START_TEST(rivals_are_rejected)
{
    mx_model rival = *mx_model_find(rivals[_i].model);
    rivals[_i].change(&rival);
    mx_case_set *set;
    ck_assert_int_eq(mx_cases_load(rivals[_i].path, &set, NULL), MX_OK);
    size_t tried = 0;
    for (size_t i = 0; i < mx_cases_count(set); i++) {
        const mx_case *c = mx_cases_at(set, i);
        if (strncmp(c->id, rivals[_i].cases, strlen(rivals[_i].cases)) != 0) continue;
        int64_t results, wrong = differences(c, &rival, &results);
        tried++;
        if (getenv("MX_SHOW_COUNTS"))
            printf("%-20s %-26s %-26s rejected by %lld of %lld\n", rival.name, rivals[_i].what, c->id,
                   (long long)wrong, (long long)results);
        ck_assert_msg(wrong > 0, "%s with %s fits %s", rival.name, rivals[_i].what, c->id);
    }
    ck_assert_uint_gt(tried, 0);
    mx_cases_free(set);
}
END_TEST

Suite *test_models_silicon(void)
{
    Suite *s = suite_create("models against silicon");
    TCase *t = tcase_create("recordings");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, tiles_are_reproduced_to_the_last_bit);
    tcase_add_test(t, special_cases_are_reproduced_to_the_last_bit);
    tcase_add_loop_test(t, rivals_are_rejected, 0, (int)(sizeof rivals / sizeof *rivals));
    suite_add_tcase(s, t);
    return s;
}
