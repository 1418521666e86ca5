/* SPDX-License-Identifier: Apache-2.0
 *
 * train_judge.h - does training notice the arithmetic?
 *
 * Loss curves are smoothed: the mean of the last `window` steps. The noise band at a step is the mean of the
 * BF16 runs of different seeds, plus and minus TRAIN_BAND standard deviations among them (variances averaged
 * over the last four windows). A scheme's curve is that mean plus the mean difference between its runs and
 * the BF16 runs of the same seeds, which takes out what the seed does. It leaves the band at the first step
 * from which it stays outside for a whole window. BF16 with sums in another order is judged as a scheme, as a
 * control.
 *
 * AdamW divides by the gradient's own size, so that a curve cannot show a wrong magnitude. Therefore the
 * gradient of the first step is compared with BF16's of the whole batch at once: its relative error with
 * twice the largest of four runs with the error of an ideal quantiser (routes flip by chance), and its size
 * by |projection - 1| <= min(3 g^2 + 0.3 g, 0.35) with that gate g. A gradient that fails is searched for
 * among the variants of scheme.h. */
#ifndef CHECKS_TRAIN_JUDGE_H
#define CHECKS_TRAIN_JUDGE_H

#include "agreement.h"
#include "train.h"

#define TRAIN_BAND 3.0

typedef struct train_probe {
    bool bad;
    char group[24];  /* parameters that go bad first, from the loss backward; "" if none */
    agreement all;   /* of the whole gradient */
    agreement worst; /* of that group */
    double expected;
    const char *named; /* variant, or NULL */
} train_probe;

/* The runs of one scheme. */
typedef struct train_curve {
    const char *scheme_name;
    bool reordered, right; /* right: leaving the band or a bad gradient is a finding */
    double *loss;          /* [steps] the curve described above, smoothed */
    int32_t left_at;       /* step, counted from 1; 0: stays inside */
    double gap;            /* curve minus mean of BF16 at the end */
    train_probe probe;
} train_curve;

typedef struct train_study {
    train_setup setup;
    train_text text;
    train_run *runs;
    size_t n_runs;
    int32_t window;
    double *mean, *low, *high; /* [steps] of the band */
    train_curve *curves;
    size_t n_curves;
} train_study;

/* Everything in `s` up to the window is set and trained; makes the rest. At least two BF16 runs of different
 * seeds are wanted, and one of the seed of every other run. */
mx_status train_judge(train_study *s, const char *const *right, size_t n_right, mx_error *e);
bool train_passed(const train_study *s);
void train_study_free(train_study *s);
int32_t train_window(const train_setup *s);
/* Smoothed loss of a run at every step. */
void train_smooth(const double *loss, int32_t steps, int32_t window, double *out);

#endif
