/* SPDX-License-Identifier: Apache-2.0
 * The check of stochastic rounding, on a subject made here: the emulator with seeds of its own, and with one
 * thing broken at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "emulate.h"
#include "judge.h"
#include "suite.h"

enum { ROWS = 64, COLS = 128 };

typedef enum fault {
    NONE,
    OWN_DRAWS, /* no fault: another generator */
    ZEROS,
    MOVED, /* zeros of x become the smallest code */
    SCALE_DRAWN,
    ONE_SEED, /* refuses others */
    NEAREST
} fault;

/* Answer as the emulator does under a seed of ours, then break it. */
static void answer(subject *s, const job *j, const variant *v, outcome *o)
{
    fault f = *(const fault *)s->impl;
    mx_case c = *j->c;
    mx_tensor out[MX_MAX_TENSORS];
    int n = 0;
    (void)v;
    *o = (outcome){.state = RUN_DONE};
    if (f == ONE_SEED && c.seed != 77) {
        o->state = RUN_REFUSED;
        snprintf(o->message, sizeof o->message, "only seed 77");
        return;
    }
    if (f != NONE) c.seed = c.seed * 1000003 + 5;
    if (f == NEAREST) snprintf(c.recipe, sizeof c.recipe, "study:e4m3/e8m0/1x32/rceil/rne");
    ck_assert_int_eq(emulate_case(&c, out, &n, NULL), MX_OK);
    for (int i = 0; i < n; i++) {
        bool codes = j->out[i].part == PART_CODES || j->out[i].part == PART_CODES_T;
        unsigned char *to = o->out[i] = malloc(out[i].bytes + 1);
        ck_assert(to && out[i].bytes == j->out[i].bytes && !strcmp(out[i].name, j->out[i].role));
        for (size_t k = 0; k < out[i].bytes; k++) { /* turned: [cols, rows] */
            size_t rows = (size_t)j->out[i].grid.cols, cols = (size_t)j->out[i].grid.rows;
            to[j->out[i].turned ? k % cols * rows + k / cols : k] = out[i].data[k];
        }
        if (codes && f == ZEROS) memset(to, 0, out[i].bytes);
        for (size_t k = 0; codes && f == MOVED && k < out[i].bytes; k++)
            to[k] |= to[k] == 0;
        if (!codes && f == SCALE_DRAWN && j->c->seed != 77) to[0]++;
        mx_tensor_free(&out[i]);
    }
}

static result judged(const char *operation, fault f)
{
    result r = {.max_findings = 10};
    mx_case c = {.alpha = 1, .seed = 77, .verdict = MX_VERDICT_BOUND, .n_in = 1};
    offer o = {.runnable = true, .name = "fake"};
    int64_t shape[2] = {ROWS, COLS};
    snprintf(c.id, sizeof c.id, "noise");
    snprintf(c.operation, sizeof c.operation, "%s", operation);
    snprintf(c.recipe, sizeof c.recipe, "study:e4m3/e8m0/1x32/rceil/sr16");
    snprintf(o.operation, sizeof o.operation, "%s", operation);
    snprintf(o.recipe, sizeof o.recipe, "%s", c.recipe);
    if (strcmp(operation, "quantize")) snprintf(o.data_layout_t, sizeof o.data_layout_t, "transposed");
    ck_assert_int_eq(mx_tensor_make(&c.in[0], "x", "f32", 2, shape, NULL), MX_OK);
    mx_data_fill(mx_data_find("normal"), 3, mx_format_find("f32"), 0, ROWS, COLS, COLS, c.in[0].data);
    memset(c.in[0].data + 400, 0, 400);
    subject s = {.name = "fake", .run = answer, .offers = &o, .n_offers = 1, .impl = &f};
    judge_options options = {.repeat = 2, .vectors = "V", .argument = ""};
    const mx_case *list[] = {&c};
    ck_assert(result_add_subject(&r, s.name));
    judge_subject(&r, &s, list, 1, &options);
    mx_tensor_free(&c.in[0]);
    return r;
}

static const check_count *count_of(const result *r, const char *name)
{
    for (size_t i = 0; i < check_count_all; i++)
        if (!strcmp(checks[i]->name, name)) return &r->subjects[0].counts[i];
    ck_abort_msg("no check %s", name);
    return NULL;
}

static const char *const operations[] = {"quantize", "quantize-both"};

START_TEST(the_emulator_agrees_bit_for_bit)
{
    result r = judged(operations[_i], NONE);
    ck_assert_int_eq(count_of(&r, "codes")->passed, 1);
    ck_assert_int_eq(count_of(&r, "distribution")->passed, 1);
    ck_assert_uint_eq(r.subjects[0].n_findings, 0);
    result_free(&r);
}
END_TEST

START_TEST(another_generator_is_as_good)
{
    result r = judged(operations[_i], OWN_DRAWS);
    ck_assert_int_eq(count_of(&r, "codes")->passed + count_of(&r, "codes")->failed, 0);
    ck_assert_int_eq(count_of(&r, "scales")->passed, 1);
    ck_assert_int_eq(count_of(&r, "distribution")->passed, 1);
    ck_assert_uint_eq(r.subjects[0].n_findings, 0);
    result_free(&r);
}
END_TEST

static const struct {
    fault fault;
    const char *text, *cause;
} faults[] = {
    {ZEROS, "neither neighbour", ""},
    {MOVED, "neither neighbour", "representable values do not stay"},
    {SCALE_DRAWN, "'scale' changes with the seed", ""},
    {ONE_SEED, "only seed 77", ""},
    {NEAREST, "correlation", "round to nearest: no random bits"},
};

START_TEST(faults_are_told)
{
    result r = judged("quantize", faults[_i].fault);
    ck_assert_int_eq(count_of(&r, "distribution")->failed, 1);
    ck_assert_uint_eq(r.subjects[0].n_findings, 1);
    const finding *f = &r.subjects[0].findings[0];
    ck_assert_msg(strstr(f->text, faults[_i].text) && strstr(f->cause, faults[_i].cause), "%s; %s", f->text,
                  f->cause);
    result_free(&r);
}
END_TEST

Suite *test_distribution(void)
{
    Suite *s = suite_create("distribution");
    TCase *t = tcase_create("stochastic rounding");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_emulator_agrees_bit_for_bit, 0, 2);
    tcase_add_loop_test(t, another_generator_is_as_good, 0, 2);
    tcase_add_loop_test(t, faults_are_told, 0, (int)(sizeof faults / sizeof *faults));
    suite_add_tcase(s, t);
    return s;
}
