/* SPDX-License-Identifier: Apache-2.0
 * Units identified from their answers: every row must find itself, and a unit outside the table is fitted. */
#include <string.h>

#include "identify.h"
#include "suite.h"

typedef struct subject {
    const mx_model *model;
    const mx_format *a, *b;
    int calls, refuse_after;
} subject;

static bool answer(void *context, const uint32_t *a, const uint32_t *b, int n, uint32_t c, uint32_t *d)
{
    subject *s = context;
    mx_lanes x = {s->a, s->b, a, b, n, NULL, NULL, NULL, 0};
    *d = mx_model_chain(s->model, &x, c);
    return !s->refuse_after || ++s->calls < s->refuse_after;
}

static const struct {
    const char *model, *format;
    int n;
} rows[] = {
    {"sm90-wgmma-fp8-f32", "e4m3", 32},
    {"sm90-wgmma-fp8-f32", "e5m2", 32},
    {"sm90-mma-fp8-f32", "e4m3", 32},
    {"sm89-fp8-f32", "e4m3", 32},
    {"sm100-f8f6f4-f32", "e4m3", 32},
    {"sm90-f16-f32", "bf16", 16},
    {"sm80-f16-f32", "f16", 16},
    {"sm70-f16-f32", "f16", 16},
    {"sm90-f16-f16", "f16", 16},
    {"sm90-tf32", "tf32", 8},
    {"cdna3-f16", "bf16", 16},
    {"cdna2-f16", "bf16", 16},
    {"cdna1-f16", "f16", 16},
    {"cdna3-fp8", "e4m3fnuz", 32},
    {"fma-f32", "bf16", 16},
    {"pairwise-f32", "bf16", 16},
    {"exact", "e4m3", 32},
    {"sm90-mma-fp8-f32-chained", "e4m3", 32},
};

START_TEST(row_finds_itself)
{
    subject s = {.model = mx_model_find(rows[_i].model), .a = mx_format_find(rows[_i].format)};
    s.b = s.a;
    mx_unit_answer found;
    mx_error e = {0};
    bool f16 = mx_model_format(s.model)->bits == 16;
    ck_assert_msg(!mx_identify_unit(s.a, s.b, rows[_i].n, f16, answer, &s, &found, &e), "%s", e.message);
    bool there = false;
    for (int i = 0; i < found.n_models; i++) {
        there |= found.models[i] == s.model;
        const mx_model *m = found.models[i]; /* others only if they are the same rule, on these formats */
        ck_assert_msg(m->kind == s.model->kind && m->fraction == s.model->fraction &&
                          m->lanes == s.model->lanes,
                      "%s taken for %s", s.model->name, m->name);
    }
    ck_assert_msg(there, "%s not found", s.model->name);
}
END_TEST

START_TEST(unknown_unit_is_fitted)
{
    mx_model odd = *mx_model_find("sm90-f16-f32");
    odd.lanes = 8;
    odd.fraction = 17;
    odd.cut = MX_CUT_FLOOR;
    odd.exponent_floor = MX_NO_FLOOR;
    subject s = {.model = &odd, .a = mx_format_find("bf16"), .b = mx_format_find("bf16")};
    mx_unit_answer found;
    ck_assert(!mx_identify_unit(s.a, s.b, 16, false, answer, &s, &found, NULL));
    ck_assert_int_eq(found.n_models, 0);
    ck_assert_msg(found.differ == 0, "%d of %d differ: L %d F %d cut %d output %d late %d", found.differ,
                  found.probes, found.nearest.lanes, found.nearest.fraction, found.nearest.cut,
                  found.nearest.output, found.nearest.late_c);
    ck_assert(found.nearest.lanes == 8 && found.nearest.fraction == 17 && found.nearest.cut == MX_CUT_FLOOR);
}
END_TEST

START_TEST(a_kernel_that_stops_is_reported)
{
    subject s = {.model = mx_model_find("sm90-f16-f32"),
                 .a = mx_format_find("bf16"),
                 .b = mx_format_find("bf16"),
                 .refuse_after = 10};
    mx_unit_answer found;
    mx_error e = {0};
    ck_assert_int_eq(mx_identify_unit(s.a, s.b, 16, false, answer, &s, &found, &e), MX_CANNOT_RUN);
    ck_assert(strstr(e.message, "probe 9") != NULL);
    ck_assert_int_eq(mx_identify_unit(s.a, s.b, 65, false, answer, &s, &found, &e), MX_BAD_USAGE);
}
END_TEST

Suite *test_identify(void)
{
    Suite *s = suite_create("identify");
    TCase *t = tcase_create("units");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, row_finds_itself, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(t, unknown_unit_is_fitted);
    tcase_add_test(t, a_kernel_that_stops_is_reported);
    suite_add_tcase(s, t);
    return s;
}
