/* SPDX-License-Identifier: Apache-2.0 */
#include "train_judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

int32_t train_window(const train_setup *s)
{
    int32_t w = s->steps / 20;
    return w < 5 ? 5 : w;
}

void train_smooth(const double *loss, int32_t steps, int32_t window, double *out)
{
    for (int32_t t = 0; t < steps; t++) {
        int32_t from = t + 1 < window ? 0 : t + 1 - window;
        double sum = 0;
        for (int32_t i = from; i <= t; i++)
            sum += loss[i];
        out[t] = sum / (t + 1 - from);
    }
}

static bool is_plain(const train_run *r) { return r->scheme.arith == MX_ARITH_BF16 && !r->reordered; }

/* ---- the band ---------------------------------------------------------------------------------------------
 */

static void make_band(train_study *s, double *const *smooth)
{
    int32_t steps = s->setup.steps, span = 4 * s->window;
    double *variance = s->low; /* until the band is known */
    for (int32_t t = 0; t < steps; t++) {
        double sum = 0, squares = 0;
        int n = 0;
        for (size_t i = 0; i < s->n_runs; i++)
            if (is_plain(&s->runs[i])) {
                sum += smooth[i][t];
                n++;
            }
        s->mean[t] = sum / n;
        for (size_t i = 0; i < s->n_runs; i++)
            if (is_plain(&s->runs[i])) squares += (smooth[i][t] - s->mean[t]) * (smooth[i][t] - s->mean[t]);
        variance[t] = squares / (n - 1);
    }
    for (int32_t t = 0; t < steps; t++) {
        int32_t from = t + 1 < span ? 0 : t + 1 - span;
        double sum = 0;
        for (int32_t i = from; i <= t; i++)
            sum += variance[i];
        s->high[t] = s->mean[t] + TRAIN_BAND * sqrt(sum / (t + 1 - from));
    }
    for (int32_t t = 0; t < steps; t++)
        s->low[t] = 2 * s->mean[t] - s->high[t];
}

static const double *plain_of_seed(const train_study *s, double *const *smooth, uint64_t seed)
{
    for (size_t i = 0; i < s->n_runs; i++)
        if (is_plain(&s->runs[i]) && s->runs[i].seed == seed) return smooth[i];
    return NULL;
}

static bool belongs(const train_run *r, const train_curve *c)
{
    return !strcmp(r->scheme_name, c->scheme_name) && r->reordered == c->reordered;
}

static void make_curve(const train_study *s, double *const *smooth, train_curve *c)
{
    int32_t steps = s->setup.steps, outside = 0;
    for (int32_t t = 0; t < steps; t++) {
        double sum = 0;
        int n = 0;
        for (size_t i = 0; i < s->n_runs; i++)
            if (belongs(&s->runs[i], c)) {
                sum += smooth[i][t] - plain_of_seed(s, smooth, s->runs[i].seed)[t];
                n++;
            }
        c->loss[t] = s->mean[t] + sum / n;
        bool in = c->loss[t] >= s->low[t] && c->loss[t] <= s->high[t];
        outside = in ? 0 : outside + 1;
        if (outside == s->window && !c->left_at) c->left_at = t + 2 - s->window;
    }
    c->gap = c->loss[steps - 1] - s->mean[steps - 1];
}

/* ---- the first gradient
 * ------------------------------------------------------------------------------------ */

enum { TWINS = 4 }; /* runs with ideal noise; routes flip by chance, so the largest error counts */

typedef struct gradients {
    double *whole, *seen, *guess, *ideal[TWINS];
} gradients;

static agreement agree_vectors(const double *x, const double *y, int64_t n)
{
    tensor_view a = {x, 1, n, 0, 0}, b = {y, 1, n, 0, 0};
    return agree(&a, &b);
}

static bool group_is_bad(const agreement *a, double expected)
{
    double gate = 2 * expected, allowed = fmin(3 * gate * gate + 0.3 * gate, 0.35);
    return a->nonfinite || !(fabs(a->projection - 1) <= allowed) || !(a->relative <= gate);
}

static mx_status name_gradient(const train_study *s, const train_run *r, const gradients *g,
                               const char **named, mx_error *e)
{
    mx_status status = MX_OK;
    for (size_t i = 0; i < scheme_variant_count() && !status && !*named; i++) {
        train_run guess = *r;
        scheme_vary(&guess.scheme, scheme_variant_at(i));
        guess.scheme.run = NULL; /* the emulator's own */
        guess.drops = scheme_variant_at(i)->drops_micro_batch;
        status = train_first_gradient(&s->setup, &s->text, &guess, -1, g->guess, e);
        if (!status &&
            agree_vectors(g->seen, g->guess, r->parameters).relative <= (r->scheme.run ? 5e-3 : 1e-6))
            *named = scheme_variant_at(i)->name;
    }
    return status;
}

static mx_status compare_groups(const train_study *s, const train_run *r, const gradients *g, train_probe *p,
                                mx_error *e)
{
    lm *model;
    const lm_group *groups;
    mx_status status = lm_make(&s->setup.shape, 1, &model, e);
    if (status) return status;
    for (int i = lm_groups(model, &groups) - 1; i >= 0; i--) {
        if (groups[i].rows == 1) continue; /* gains: too few numbers to judge */
        int64_t at = groups[i].at, n = groups[i].n;
        agreement a = agree_vectors(g->whole + at, g->seen + at, n);
        double expected = 0.01;
        for (int t = 0; t < TWINS; t++)
            expected = fmax(expected, agree_vectors(g->whole + at, g->ideal[t] + at, n).relative);
        if (p->bad || !group_is_bad(&a, expected)) continue;
        p->bad = true;
        p->worst = a;
        p->expected = expected;
        snprintf(p->group, sizeof p->group, "%s", groups[i].name);
    }
    p->all = agree_vectors(g->whole, g->seen, r->parameters);
    lm_free(model);
    return MX_OK;
}

static mx_status probe_run(const train_study *s, const train_run *r, const gradients *g, train_probe *p,
                           mx_error *e)
{
    train_setup whole = s->setup;
    train_run bf16 = *r, ideal = *r;
    whole.micro = 1;
    bf16.scheme = (mx_scheme){.name = "bf16", .arith = MX_ARITH_BF16};
    bf16.drops = ideal.drops = false;
    scheme_vary(&ideal.scheme, scheme_variant_at(0));
    if (ideal.scheme.arith == MX_ARITH_QUANTIZED) ideal.scheme.arith = MX_ARITH_IDEAL;
    mx_status status = train_first_gradient(&whole, &s->text, &bf16, -1, g->whole, e);
    if (!status) status = train_first_gradient(&s->setup, &s->text, r, -1, g->seen, e);
    for (int t = 0; t < TWINS && !status; t++) {
        ideal.scheme.seed = (r->seed << 40) + ((uint64_t)t << 32);
        status = train_first_gradient(&s->setup, &s->text, &ideal, -1, g->ideal[t], e);
    }
    if (!status) status = compare_groups(s, r, g, p, e);
    return !status && p->bad ? name_gradient(s, r, g, &p->named, e) : status;
}

static mx_status probe_curve(const train_study *s, train_curve *c, mx_error *e)
{
    const train_run *r = s->runs;
    while (!belongs(r, c))
        r++;
    size_t n = (size_t)r->parameters;
    double *memory = malloc((3 + TWINS) * n * sizeof *memory);
    if (!memory) return mx_fail(e, MX_NO_MEMORY, "training", "no memory");
    gradients g = {.whole = memory, .seen = memory + n, .guess = memory + 2 * n};
    for (int t = 0; t < TWINS; t++)
        g.ideal[t] = memory + (size_t)(3 + t) * n;
    mx_status status = probe_run(s, r, &g, &c->probe, e);
    free(memory);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------
 */

static mx_status find_curves(train_study *s, const char *const *right, size_t n_right, mx_error *e)
{
    s->curves = calloc(s->n_runs, sizeof *s->curves);
    s->mean = calloc((size_t)s->setup.steps * 3, sizeof *s->mean);
    if (!s->curves || !s->mean) return mx_fail(e, MX_NO_MEMORY, "training", "no memory");
    s->low = s->mean + s->setup.steps;
    s->high = s->low + s->setup.steps;
    for (size_t i = 0; i < s->n_runs; i++) {
        const train_run *r = &s->runs[i];
        bool known = is_plain(r);
        for (size_t j = 0; j < s->n_curves && !known; j++)
            known = belongs(r, &s->curves[j]);
        if (known) continue;
        train_curve *c = &s->curves[s->n_curves++];
        *c = (train_curve){.scheme_name = r->scheme_name, .reordered = r->reordered, .right = r->reordered};
        c->loss = calloc((size_t)s->setup.steps, sizeof *c->loss);
        if (!c->loss) return mx_fail(e, MX_NO_MEMORY, "training", "no memory");
        for (size_t j = 0; j < n_right; j++)
            c->right |= !strcmp(right[j], r->scheme_name);
    }
    return MX_OK;
}

static mx_status check_runs(const train_study *s, mx_error *e)
{
    int plain = 0;
    for (size_t i = 0; i < s->n_runs; i++) {
        if (s->runs[i].status) {
            if (e) *e = s->runs[i].error;
            return s->runs[i].status;
        }
        plain += is_plain(&s->runs[i]);
    }
    return plain < 2 ? mx_fail(e, MX_BAD_USAGE, "training", "two BF16 runs at least make a band") : MX_OK;
}

mx_status train_judge(train_study *s, const char *const *right, size_t n_right, mx_error *e)
{
    size_t steps = (size_t)s->setup.steps;
    mx_status status = check_runs(s, e);
    if (!status) status = find_curves(s, right, n_right, e);
    double **smooth = calloc(s->n_runs + 1, sizeof *smooth), *memory = malloc(s->n_runs * steps * 8 + 8);
    if (!status && (!smooth || !memory)) status = mx_fail(e, MX_NO_MEMORY, "training", "no memory");
    for (size_t i = 0; i < s->n_runs && !status; i++) {
        smooth[i] = memory + i * steps;
        train_smooth(s->runs[i].loss, s->setup.steps, s->window, smooth[i]);
    }
    for (size_t i = 0; i < s->n_runs && !status; i++)
        if (!plain_of_seed(s, smooth, s->runs[i].seed))
            status = mx_fail(e, MX_BAD_USAGE, "training", "no BF16 run of seed %llu to compare with",
                             (unsigned long long)s->runs[i].seed);
    if (!status) make_band(s, smooth);
    for (size_t i = 0; i < s->n_curves && !status; i++)
        make_curve(s, smooth, &s->curves[i]);
    bool alone = s->n_runs && s->runs[s->n_runs - 1].scheme.run; /* a kernel takes one call at a time */
#pragma omp parallel for schedule(dynamic) if (!alone)
    for (size_t i = 0; i < s->n_curves; i++) {
        mx_error mine;
        mx_status one = status ? status : probe_curve(s, &s->curves[i], &mine);
        if (one && !status) {
#pragma omp critical
            {
                status = one;
                if (e) *e = mine;
            }
        }
    }
    free(smooth);
    free(memory);
    return status;
}

bool train_passed(const train_study *s)
{
    for (size_t i = 0; i < s->n_curves; i++)
        if (s->curves[i].right && (s->curves[i].left_at || s->curves[i].probe.bad)) return false;
    return true;
}

void train_study_free(train_study *s)
{
    for (size_t i = 0; i < s->n_runs; i++)
        train_run_free(&s->runs[i]);
    for (size_t i = 0; i < s->n_curves; i++)
        free(s->curves[i].loss);
    free(s->runs);
    free(s->curves);
    free(s->mean);
    train_text_free(&s->text);
    *s = (train_study){0};
}
