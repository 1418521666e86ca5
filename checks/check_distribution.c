/* SPDX-License-Identifier: Apache-2.0
 * Stochastic rounding. Bits first: a kernel that draws as the emulator does agrees exactly, under every seed.
 * Another generator is judged by what any must do: every output is one of the two neighbours of the exact
 * value, what is representable stays, and the decisions are as likely, and as independent of each other and
 * of the seed, as the recipe says. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate.h"
#include "quantize.h"
#include "trial.h"

/* The chance that a faultless kernel fails one case. */
static const double FAMILY_ERROR = 1e-6;

/* One codes output, on the grid of x. */
typedef struct drawn {
    const trial *t;
    const mx_recipe *r;
    int out;
    int64_t rows, cols, n;
    uint8_t *lower, *upper; /* [n] codes toward and away from zero; equal where nothing is to be drawn */
    double *p;              /* [n] probability of `upper`, the fraction cut to the recipe's random bits */
    bool *negative;
    uint8_t *got[NOISE_SEEDS];
    bool *up[NOISE_SEEDS];
} drawn;

static void drawn_free(drawn *d)
{
    free(d->lower);
    free(d->upper);
    free(d->p);
    free(d->negative);
    for (int k = 0; k < NOISE_SEEDS; k++) {
        free(d->got[k]);
        free(d->up[k]);
    }
}

static bool drawn_room(drawn *d)
{
    size_t n = (size_t)d->n + 1;
    bool good = (d->lower = malloc(n)) && (d->upper = malloc(n)) && (d->p = malloc(n * sizeof *d->p)) &&
                (d->negative = malloc(n * sizeof *d->negative));
    for (int k = 0; k < d->t->n_seeds && good; k++)
        good = (d->got[k] = malloc(n)) && (d->up[k] = malloc(n * sizeof(bool)));
    return good;
}

static bool take_codes(drawn *d)
{
    const slot *s = &d->t->job->out[d->out];
    for (int k = 0; k < d->t->n_seeds; k++) {
        const unsigned char *from = d->t->drawn[k][d->out];
        if (!from) return false;
        for (int64_t i = 0; i < d->n; i++)
            d->got[k][i] = from[s->turned ? i % d->cols * d->rows + i / d->cols : i];
    }
    return true;
}

static uint8_t rounded(const mx_recipe *r, float y, mx_rounding rounding)
{
    mx_recipe directed = *r;
    directed.cast.rounding = rounding;
    return (uint8_t)mx_cast_element(&directed, y, 0);
}

/* The neighbours of y, and how likely the upper one is. */
static void neighbours(drawn *d, int64_t i, float y)
{
    const mx_format *f = d->r->element;
    d->negative[i] = signbit(y);
    d->lower[i] = rounded(d->r, y, MX_RTZ);
    d->upper[i] = rounded(d->r, y, signbit(y) ? MX_RDN : MX_RUP);
    d->p[i] = 0;
    if (d->lower[i] == d->upper[i]) return;
    double low = fabs(mx_decode(f, d->lower[i])), high = fabs(mx_decode(f, d->upper[i]));
    double fraction = (fabs((double)y) - low) / (high - low);
    d->p[i] = ldexp(floor(ldexp(fraction, d->r->cast.random_bits)), -d->r->cast.random_bits);
}

static mx_status find_neighbours(drawn *d, const mx_matrix *x, mx_error *e)
{
    float *y = malloc((size_t)(d->n + 1) * sizeof *y);
    if (!y) return mx_fail(e, MX_NO_MEMORY, "", "out of memory");
    const mx_tensor *amax = mx_case_in(d->t->job->c, "global_amax");
    mx_quantize_options o = {.global_amax = amax ? (const float *)(const void *)amax->data : NULL};
    mx_status status = mx_scaled_values(d->r, x, &o, y, e);
    for (int64_t i = 0; i < d->n && status == MX_OK; i++)
        neighbours(d, i, y[i]);
    free(y);
    return status;
}

/* ---- bits ------------------------------------------------------------------------------------------------
 */

static const mx_tensor *named(const mx_tensor *t, int n, const char *role)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(t[i].name, role)) return &t[i];
    return NULL;
}

static bool follows_emulator(const drawn *d)
{
    bool same = true;
    for (int k = 0; k < d->t->n_seeds && same; k++) {
        mx_case c = *d->t->job->c;
        mx_tensor out[MX_MAX_TENSORS];
        int n = 0;
        c.seed = d->t->seed[k];
        same = emulate_case(&c, out, &n, NULL) == MX_OK;
        const mx_tensor *q = named(out, n, d->t->job->out[d->out].role);
        same = same && q && q->bytes == (size_t)d->n && !memcmp(q->data, d->got[k], q->bytes);
        for (int i = 0; i < n; i++)
            mx_tensor_free(&out[i]);
    }
    return same;
}

/* ---- neighbours ------------------------------------------------------------------------------------------
 */

static void keep_stranger(const drawn *d, int64_t i, uint8_t got, finding *f)
{
    const mx_format *e = d->r->element;
    mismatch_add(&f->map, i / d->cols, i % d->cols);
    f->wrong++;
    if (f->n_elements == FINDING_ELEMENTS) return;
    wrong_element *w = &f->element[f->n_elements++];
    *w = (wrong_element){.row = i / d->cols, .col = i % d->cols, .block = -1, .ulps = UINT64_MAX};
    snprintf(w->got, sizeof w->got, "%02X (%.6g)", got, mx_decode(e, got));
    if (d->lower[i] == d->upper[i])
        snprintf(w->want, sizeof w->want, "%02X (%.6g)", d->lower[i], mx_decode(e, d->lower[i]));
    else
        snprintf(w->want, sizeof w->want, "%02X or %02X", d->lower[i], d->upper[i]);
}

/* Sort every output into lower or upper; what is neither is a finding. */
static bool all_neighbours(drawn *d, finding *f)
{
    int64_t moved = 0;
    mismatch_begin(&f->map, d->rows, d->cols);
    for (int k = 0; k < d->t->n_seeds; k++)
        for (int64_t i = 0; i < d->n; i++) {
            uint8_t got = d->got[k][i];
            d->up[k][i] = got == d->upper[i] && d->upper[i] != d->lower[i];
            if (got == d->lower[i] || d->up[k][i]) continue;
            moved += d->lower[i] == d->upper[i];
            keep_stranger(d, i, got, f);
        }
    if (!f->wrong) return f->map.height = 0, true;
    f->total = d->n * d->t->n_seeds;
    snprintf(f->text, sizeof f->text,
             "%" PRId64 " of %" PRId64 " codes are neither neighbour of the exact value; %" PRId64
             " of them lie where that is representable",
             f->wrong, f->total, moved);
    if (moved == f->wrong) snprintf(f->cause, sizeof f->cause, "representable values do not stay");
    return false;
}

/* ---- words -----------------------------------------------------------------------------------------------
 */

/* Do all decisions follow a rule without noise? */
static const char *without_noise(const drawn *d)
{
    bool nearest = true, toward = true;
    for (int k = 0; k < d->t->n_seeds; k++)
        for (int64_t i = 0; i < d->n; i++) {
            if (!(d->p[i] > 0)) continue;
            toward &= !d->up[k][i];
            nearest &= d->p[i] == 0.5 || d->up[k][i] == (d->p[i] > 0.5);
        }
    return toward    ? "elements are truncated: no random bits reach the rounding"
           : nearest ? "elements round to nearest: no random bits reach the rounding"
                     : NULL;
}

static bool seeds_agree(const drawn *d)
{
    for (int k = 1; k < d->t->n_seeds; k++)
        if (memcmp(d->got[k], d->got[0], (size_t)d->n)) return false;
    return d->t->n_seeds > 1;
}

static void say_between(const drawn *d, const noise_test *w, const noise_result *r, char *to, size_t size)
{
    (void)r;
    uint64_t a = d->t->seed[w->seed_a], b = d->t->seed[w->seed_b];
    if (seeds_agree(d))
        snprintf(to, size, "repeated noise: the seed is ignored, %d seeds give the same bytes",
                 d->t->n_seeds);
    else if (w->lag)
        snprintf(to, size,
                 "repeated noise: seeds only shift it; %#" PRIx64 " and %#" PRIx64 " agree %" PRId64
                 " elements apart (correlation %+.2f)",
                 a, b, w->lag, w->effect);
    else
        snprintf(to, size,
                 "seeds are not independent: draws of %#" PRIx64 " and %#" PRIx64 " correlate by %+.2f", a, b,
                 w->effect);
}

static bool rejected_lag(const noise_result *r, int64_t lag)
{
    for (int i = 0; i < r->n; i++)
        if (r->test[i].kind == NOISE_WITHIN && r->test[i].lag == lag) return r->test[i].rejected;
    return false;
}

static void say_within(const drawn *d, const noise_test *w, const noise_result *r, char *to, size_t size)
{
    int64_t run = 0;
    while (rejected_lag(r, run + 1))
        run++;
    if (run)
        snprintf(to, size,
                 "repeated noise: neighbouring elements share a draw (up to %" PRId64
                 " apart; correlation %+.2f)",
                 run, w->effect);
    else if (d->rows > 1 && w->lag % d->cols == 0)
        snprintf(to, size, "repeated noise: rows %" PRId64 " apart draw alike (correlation %+.2f)",
                 w->lag / d->cols, w->effect);
    else
        snprintf(to, size, "repeated noise: elements %" PRId64 " apart draw alike (correlation %+.2f)",
                 w->lag, w->effect);
}

static void say_mean(const drawn *d, const noise_test *w, const noise_result *r, char *to, size_t size)
{
    (void)d, (void)r;
    const char *where = w->kind == NOISE_MEAN ? (w->effect > 0 ? "away from zero" : "toward zero")
                                              : (w->effect > 0 ? "toward +infinity" : "toward -infinity");
    snprintf(to, size, "one-sided bias: rounds %s too often, mean error %+.5f ulp (95 %%: +-%.5f)", where,
             w->effect, w->interval);
}

static void say_curve(const drawn *d, const noise_test *w, const noise_result *r, char *to, size_t size)
{
    (void)d, (void)r;
    snprintf(to, size,
             "the chance to round away from zero is not the discarded fraction: off by %+.3f where that is "
             "near %.2f",
             w->effect, w->at);
}

static void say_spread(const drawn *d, const noise_test *w, const noise_result *r, char *to, size_t size)
{
    (void)d, (void)r;
    snprintf(to, size, "draws are not independent: sums of 256 spread %.2f times as far as they should",
             w->effect);
}

static const struct {
    const char *test;
    void (*say)(const drawn *d, const noise_test *w, const noise_result *r, char *to, size_t size);
} words[] = {
    [NOISE_BETWEEN_SEEDS] = {"correlation between seeds", say_between},
    [NOISE_WITHIN] = {"correlation within a tensor", say_within},
    [NOISE_MEAN] = {"mean of magnitudes", say_mean},
    [NOISE_SIGNED_MEAN] = {"mean of signed values", say_mean},
    [NOISE_CURVE] = {"chi-square of the share that rounds up", say_curve},
    [NOISE_SPREAD] = {"Kolmogorov-Smirnov of sums of draws", say_spread},
};

static judgement judge_noise(const drawn *d, finding *f)
{
    noise_sample s = {d->n, d->cols, d->t->n_seeds, d->p, d->negative, {NULL}};
    for (int k = 0; k < s.seeds; k++)
        s.up[k] = d->up[k];
    noise_result *r = malloc(sizeof *r);
    if (!r || !noise_judge(&s, FAMILY_ERROR, r)) {
        free(r);
        snprintf(f->text, sizeof f->text, "could not be judged: out of memory");
        return JUDGED_FAILED;
    }
    const noise_test *w = noise_worst(r);
    judgement j = w ? JUDGED_FAILED : r->n ? JUDGED_PASSED : JUDGED_NOTHING;
    if (w) {
        int rejected = 0;
        for (int i = 0; i < r->n; i++)
            rejected += r->test[i].rejected;
        snprintf(f->text, sizeof f->text,
                 "%s: statistic %.4g, p = %.2g; %d of %d tests reject (Holm, family error %g) over %" PRId64
                 " draws, %d seeds",
                 words[w->kind].test, w->statistic, w->p, rejected, r->n, FAMILY_ERROR, r->draws, s.seeds);
        const char *rule = without_noise(d);
        if (rule)
            snprintf(f->cause, sizeof f->cause, "%s", rule);
        else
            words[w->kind].say(d, w, r, f->cause, sizeof f->cause);
    }
    free(r);
    return j;
}

/* ---- the check -------------------------------------------------------------------------------------------
 */

/* Everything but the codes is free of noise. Wrong under the case's own seed is told by its own check. */
static judgement judge_scales(const trial *t, finding *f)
{
    for (int i = 0; i < t->job->n_out; i++) {
        const slot *s = &t->job->out[i];
        if (s->part == PART_CODES || s->part == PART_CODES_T || !s->canon) continue;
        if (!t->canon[i] || memcmp(t->canon[i], s->canon, s->canon_bytes)) return JUDGED_NOTHING;
        for (int k = 0; k < t->n_seeds; k++) {
            if (t->drawn[k][i] && !memcmp(t->drawn[k][i], s->canon, s->canon_bytes)) continue;
            snprintf(f->tensor, sizeof f->tensor, "%s", s->role);
            snprintf(f->text, sizeof f->text, "'%s' changes with the seed (under %#" PRIx64 ")", s->role,
                     t->seed[k]);
            return JUDGED_FAILED;
        }
    }
    return JUDGED_PASSED;
}

static judgement judge_output(const trial *t, int out, const mx_matrix *x, finding *f)
{
    const slot *s = &t->job->out[out];
    drawn d = {.t = t, .out = out, .rows = x->rows, .cols = x->cols, .n = x->rows * x->cols};
    d.r = mx_recipe_find(t->job->c->recipe);
    if (s->part == PART_CODES_T) d.r = mx_recipe_columnwise(d.r);
    snprintf(f->tensor, sizeof f->tensor, "%s", s->role);
    mx_error e = {MX_OK, "out of memory", ""};
    judgement j = JUDGED_NOT_RUN;
    bool good = d.r && s->canon_bytes == (size_t)d.n && drawn_room(&d) && take_codes(&d);
    if (good && follows_emulator(&d))
        j = JUDGED_PASSED;
    else if (good && find_neighbours(&d, x, &e) == MX_OK)
        j = all_neighbours(&d, f) ? judge_noise(&d, f) : JUDGED_FAILED;
    else
        snprintf(f->text, sizeof f->text, "the distribution of '%s' cannot be judged: %s", s->role,
                 e.message);
    drawn_free(&d);
    return j;
}

static judgement judge_distribution(const trial *t, finding *f)
{
    if (!trial_is_random(t)) return JUDGED_NOTHING;
    const mx_tensor *tensor = mx_case_in(t->job->c, "x");
    if (*t->seed_message || !tensor) {
        snprintf(f->text, sizeof f->text, "%.200s",
                 tensor ? t->seed_message : "the distribution of an operation without 'x' is not judged");
        return tensor ? JUDGED_FAILED : JUDGED_NOT_RUN;
    }
    judgement scales = judge_scales(t, f);
    if (scales != JUDGED_PASSED) return scales;
    mx_matrix x = emulate_matrix(t->job->c, tensor);
    judgement all = JUDGED_NOTHING;
    for (int i = 0; i < t->job->n_out && all != JUDGED_FAILED; i++) {
        part p = t->job->out[i].part;
        if (p != PART_CODES && p != PART_CODES_T) continue;
        judgement j = judge_output(t, i, &x, f);
        if (j == JUDGED_FAILED || all == JUDGED_NOTHING || j == JUDGED_NOT_RUN) all = j;
    }
    return all;
}

const check check_distribution = {"distribution", "stochastic rounding: neighbours, unbiased, independent",
                                  true,           true,
                                  false,          judge_distribution};
