/* SPDX-License-Identifier: Apache-2.0
 * The language model's fp64 gradient against finite differences; training: threads, resume, bands, and
 * gradients that a loss curve would hide. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "scheme.h"
#include "suite.h"
#include "train_judge.h"
#include "train_result.h"

static const char verses[] =
    "And the earth was without form, and void; and darkness was upon the face of the deep. And the Spirit of "
    "God moved upon the face of the waters. And God said, Let there be light: and there was light. And God "
    "saw "
    "the light, that it was good: and God divided the light from the darkness. And God called the light Day, "
    "and the darkness he called Night. And the evening and the morning were the first day.";

static train_setup small(const train_text *text, int steps)
{
    return (train_setup){{text->vocabulary, 8, 16, 2, 2, 16, 3, 2}, steps, 4, 2, 3e-3, 7};
}

static void make_text(train_text *t)
{
    ck_assert_int_eq(train_text_make(verses, sizeof verses - 1, t, NULL), MX_OK);
}

/* ---- the model --------------------------------------------------------------------------------------------
 */

static double loss_of(lm *m, const double *w, const uint8_t *tokens)
{
    static const mx_scheme fp64 = {.name = "fp64"};
    double loss;
    ck_assert_int_eq(lm_step(m, &fp64, w, tokens, 0, 1, NULL, &loss, NULL), MX_OK);
    return loss;
}

/* Central differences, step 1e-5, on some parameters of every group. */
START_TEST(gradient_of_the_model)
{
    enum { SEQUENCES = 2, EACH = 12 };
    const lm_shape shape = {11, 6, 8, 2, 2, 6, 3, 2};
    static const mx_scheme fp64 = {.name = "fp64"};
    lm *m;
    const lm_group *groups;
    ck_assert_int_eq(lm_make(&shape, SEQUENCES, &m, NULL), MX_OK);
    size_t n = (size_t)lm_parameters(m);
    float *start = malloc(n * sizeof *start);
    double *w = malloc(n * sizeof *w), *grad = calloc(n, sizeof *grad), loss;
    uint8_t tokens[SEQUENCES * 7];
    for (int i = 0; i < SEQUENCES * 7; i++)
        tokens[i] = (uint8_t)(mx_random_u32(3, 0, (uint64_t)i) % 11);
    lm_start(m, 5, start);
    for (size_t i = 0; i < n; i++)
        w[i] = start[i];
    ck_assert_int_eq(lm_step(m, &fp64, w, tokens, 0, 1, grad, &loss, NULL), MX_OK);
    int count = lm_groups(m, &groups), moving = 0;
    for (int g = 0; g < count; g++)
        for (int j = 0; j < EACH; j++) {
            size_t i =
                (size_t)(groups[g].at + (int64_t)mx_random_u32(4, (uint32_t)g, (uint64_t)j) % groups[g].n);
            double kept = w[i];
            w[i] = kept + 1e-5;
            double above = loss_of(m, w, tokens);
            w[i] = kept - 1e-5;
            double below = loss_of(m, w, tokens), slope = (above - below) / 2e-5;
            w[i] = kept;
            ck_assert_msg(fabs(slope - grad[i]) < 1e-8, "%s: %g, differences give %g", groups[g].name,
                          grad[i], slope);
            moving += fabs(slope) > 1e-6;
        }
    ck_assert_int_gt(moving, count * EACH / 2);
    free(start);
    free(w);
    free(grad);
    lm_free(m);
}
END_TEST

START_TEST(smoothing_by_hand)
{
    const double loss[] = {4, 2, 3, 1};
    double out[4];
    train_smooth(loss, 4, 2, out);
    ck_assert(out[0] == 4 && out[1] == 3 && out[2] == 2.5 && out[3] == 2);
}
END_TEST

/* ---- training ---------------------------------------------------------------------------------------------
 */

static void start_run(const train_setup *setup, const char *name, uint64_t seed, bool reordered, train_run *r)
{
    *r = (train_run){.scheme_name = name, .seed = seed, .reordered = reordered};
    ck_assert_int_eq(scheme_parse(name, &r->scheme, NULL), MX_OK);
    r->drops = scheme_variant_of(name)->drops_micro_batch;
    ck_assert_int_eq(train_run_make(setup, r, NULL), MX_OK);
}

START_TEST(resumed_runs_give_the_same_bits)
{
    static const char *const names[] = {"bf16", "mxfp8", "study:e4m3/e8m0/1x32/rceil/sr16"};
    train_text text;
    make_text(&text);
    train_setup setup = small(&text, 12);
    train_run once[3], twice[3];
    char path[] = "/tmp/mxcheck-train-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    for (int i = 0; i < 3; i++) {
        start_run(&setup, names[i], 1, false, &once[i]);
        start_run(&setup, names[i], 1, false, &twice[i]);
        train_run_to(&setup, &text, &once[i], 12, NULL, NULL);
        train_run_to(&setup, &text, &twice[i], 5, NULL, NULL);
    }
    mx_error e = {MX_OK, "", ""};
    ck_assert_msg(train_save(&setup, twice, 3, path, &e) == MX_OK, "%s", e.message);
    for (int i = 0; i < 3; i++) {
        train_run_free(&twice[i]);
        start_run(&setup, names[i], 1, false, &twice[i]);
    }
    ck_assert_msg(train_load(&setup, twice, 3, path, &e) == MX_OK, "%s: %s", e.place, e.message);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(twice[i].step, 5);
        train_run_to(&setup, &text, &twice[i], 12, NULL, NULL);
        size_t bytes = (size_t)once[i].parameters * sizeof(float);
        ck_assert(!memcmp(once[i].loss, twice[i].loss, 12 * sizeof(double)));
        ck_assert(!memcmp(once[i].p, twice[i].p, bytes) && !memcmp(once[i].v, twice[i].v, bytes));
    }
    train_setup other = setup;
    other.rate = 1e-3;
    ck_assert_int_eq(train_load(&other, twice, 3, path, &e), MX_BAD_INPUT);
    ck_assert_int_eq(train_load(&setup, twice, 2, path, &e), MX_BAD_INPUT);
    unlink(path);
    for (int i = 0; i < 3; i++) {
        train_run_free(&once[i]);
        train_run_free(&twice[i]);
    }
    train_text_free(&text);
}
END_TEST

/* Micro-batches add up to the batch: the same gradient, up to the order of sums. */
START_TEST(micro_batches_add_up)
{
    train_text text;
    make_text(&text);
    train_setup two = small(&text, 1), one = two;
    one.micro = 1;
    train_run r;
    start_run(&two, "bf16", 1, false, &r);
    r.scheme.arith = MX_ARITH_F64;
    double *a = malloc((size_t)r.parameters * 8), *b = malloc((size_t)r.parameters * 8), worst = 0, size = 0;
    ck_assert_int_eq(train_first_gradient(&two, &text, &r, -1, a, NULL), MX_OK);
    ck_assert_int_eq(train_first_gradient(&one, &text, &r, -1, b, NULL), MX_OK);
    for (int64_t i = 0; i < r.parameters; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        size = fmax(size, fabs(a[i]));
    }
    ck_assert(size > 1e-3 && worst < 1e-12);
    free(a);
    free(b);
    train_run_free(&r);
    train_text_free(&text);
}
END_TEST

static void make_study(train_study *s, const char *const *names, size_t n, int steps)
{
    *s = (train_study){0};
    make_text(&s->text);
    s->setup = small(&s->text, steps);
    s->window = train_window(&s->setup);
    s->runs = calloc(n + 3, sizeof *s->runs);
    start_run(&s->setup, "bf16", 1, false, &s->runs[0]);
    start_run(&s->setup, "bf16", 2, false, &s->runs[1]);
    start_run(&s->setup, "bf16", 1, true, &s->runs[2]);
    for (size_t i = 0; i < n; i++)
        start_run(&s->setup, names[i], 1, false, &s->runs[3 + i]);
    s->n_runs = n + 3;
}

/* AdamW hides magnitudes; the first gradient does not. Every fault is caught and named. */
START_TEST(faults_in_gradients_are_named)
{
    static const char *const names[] = {"mxfp8", "mxfp8@gradients-scaled", "mxfp8@dropped-micro-batch",
                                        "mxfp8@wgrad-rowwise"};
    static const char *const words[] = {"", "magnitude fault: 0.1", "'dropped-micro-batch'",
                                        "rowwise scales reused"};
    train_study s;
    make_study(&s, names, 4, 6);
    for (size_t i = 0; i < s.n_runs; i++)
        train_run_to(&s.setup, &s.text, &s.runs[i], 6, NULL, NULL);
    mx_error e = {MX_OK, "", ""};
    ck_assert_msg(train_judge(&s, names, 1, &e) == MX_OK, "%s", e.message);
    ck_assert_int_eq(s.n_curves, 5);
    ck_assert(s.curves[0].reordered && !s.curves[0].probe.bad);
    for (int i = 0; i < 4; i++) {
        char why[320];
        const train_probe *p = &s.curves[i + 1].probe;
        train_probe_reason(p, why, sizeof why);
        ck_assert_msg(p->bad == (i > 0) && strstr(why, words[i]), "%s: %s", names[i], why);
        const char *variant = strchr(names[i], '@');
        if (variant) ck_assert_str_eq(p->named, variant + 1);
    }
    train_study_free(&s);
}
END_TEST

/* A curve that departs for good is seen to leave where it does; a short excursion and NaN are told apart. */
START_TEST(leaving_the_band)
{
    static const char *const names[] = {"mxfp8", "mxfp4", "nvfp4"};
    enum { STEPS = 100 };
    train_study s;
    make_study(&s, names, 3, STEPS);
    for (size_t i = 0; i < s.n_runs; i++)
        for (int t = 0; t < STEPS; t++)
            s.runs[i].loss[t] = 3 - 0.01 * t + (s.runs[i].seed == 2 ? 0.02 : 0);
    for (int t = 50; t < STEPS; t++) {
        s.runs[3].loss[t] += t == 60 ? 0.5 : 0; /* one bad step */
        s.runs[4].loss[t] += 1;
        s.runs[5].loss[t] = t < 70 ? s.runs[5].loss[t] : NAN;
    }
    s.runs[5].step = STEPS;
    ck_assert_int_eq(train_judge(&s, names, 3, NULL), MX_OK);
    ck_assert_int_eq(s.window, 5);
    ck_assert_int_eq(s.curves[0].left_at, 0);
    ck_assert_int_eq(s.curves[2].left_at, 51);
    ck_assert_int_eq(s.curves[3].left_at, 71);
    ck_assert(!train_passed(&s));
    ck_assert_double_eq_tol(s.curves[2].gap, 1, 1e-9);
    train_study_free(&s);
}
END_TEST

START_TEST(a_band_needs_two_seeds)
{
    train_study s;
    make_study(&s, NULL, 0, 2);
    s.runs[1].reordered = true;
    ck_assert_int_eq(train_judge(&s, NULL, 0, NULL), MX_BAD_USAGE);
    train_study_free(&s);
}
END_TEST

Suite *test_train(void)
{
    Suite *s = suite_create("train");
    TCase *c = tcase_create("train");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, gradient_of_the_model);
    tcase_add_test(c, smoothing_by_hand);
    tcase_add_test(c, resumed_runs_give_the_same_bits);
    tcase_add_test(c, micro_batches_add_up);
    tcase_add_test(c, faults_in_gradients_are_named);
    tcase_add_test(c, leaving_the_band);
    tcase_add_test(c, a_band_needs_two_seeds);
    suite_add_tcase(s, c);
    return s;
}
