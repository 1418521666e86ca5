/* SPDX-License-Identifier: Apache-2.0 */
#include "train_result.h"

#include <math.h>
#include <string.h>

#include "model.h"
#include "scheme.h"

static bool curve_is_seen(const train_curve *c) { return c->left_at || c->probe.bad; }

void train_verdict(const train_study *s, char *out, size_t size)
{
    int right = 0, inside = 0, wrong = 0, seen = 0;
    const train_curve *first = NULL;
    for (size_t i = 0; i < s->n_curves; i++) {
        const train_curve *c = &s->curves[i];
        right += c->right;
        inside += c->right && !curve_is_seen(c);
        wrong += !c->right;
        seen += !c->right && curve_is_seen(c);
        if (c->right && curve_is_seen(c) && !first) first = c;
    }
    int at = snprintf(out, size, "train: %s: %d of %d schemes stay within the noise of BF16 over %d steps",
                      train_passed(s) ? "PASS" : "FAIL", inside, right, s->setup.steps);
    if (wrong)
        at +=
            snprintf(out + at, size - (size_t)at, "; known to lose more: %d, of which %d seen", wrong, seen);
    if (first && first->left_at)
        snprintf(out + at, size - (size_t)at, "; first: %s leaves the band at step %d", first->scheme_name,
                 first->left_at);
    else if (first)
        snprintf(out + at, size - (size_t)at, "; first: %s, gradient of %s", first->scheme_name,
                 first->probe.group);
}

void train_probe_reason(const train_probe *p, char *out, size_t size)
{
    *out = 0;
    if (!p->bad) return;
    double off = fabs(p->worst.projection - 1);
    int at = off > p->worst.relative / 3
                 ? snprintf(out, size, "gradient of %s: magnitude fault: %.4g times what it should be",
                            p->group, p->worst.projection)
                 : snprintf(out, size, "gradient of %s: error %.3g, %.1f times what the format explains",
                            p->group, p->worst.relative, p->worst.relative / p->expected);
    const scheme_variant *v = p->named ? scheme_variant_find(p->named) : NULL;
    if (v && v != scheme_variant_at(0))
        snprintf(out + at, size - (size_t)at, "; it is that of '%s': %s", v->name, v->words);
}

static void print_curve(const train_study *s, const train_curve *c, FILE *out)
{
    char reason[320], left[24] = "-";
    int32_t last = s->setup.steps - 1;
    double width = (s->high[last] - s->mean[last]) / TRAIN_BAND;
    train_probe_reason(&c->probe, reason, sizeof reason);
    if (c->left_at) snprintf(left, sizeof left, "%d", c->left_at);
    fprintf(out, "%-32s%9.4f%+9.4f%+8.1f%8s%9.3f%8.4f%8.3f  %s\n",
            c->reordered ? "bf16, sums reordered" : c->scheme_name, c->loss[last], c->gap, c->gap / width,
            left, c->probe.all.relative, c->probe.all.cosine, c->probe.all.projection,
            !curve_is_seen(c) ? "inside"
            : c->right        ? "FAIL"
                              : "seen");
    if (*reason) fprintf(out, "    %s\n", reason);
}

void train_print(const train_study *s, FILE *out)
{
    char verdict[320], schedule[64];
    const train_setup *p = &s->setup;
    const mx_scheme *scheme = &s->runs[s->n_runs - 1].scheme;
    int seeds = 0;
    for (size_t i = 0; i < s->n_runs; i++)
        seeds += s->runs[i].scheme.arith == MX_ARITH_BF16 && !s->runs[i].reordered;
    train_verdict(s, verdict, sizeof verdict);
    fprintf(out, "%s\n\n", verdict);
    fprintf(out,
            "transformer: %d layers, dim %d, %d heads, %d experts (top %d) of width %d, context %d: %lld "
            "parameters\n%d steps of %d sequences in %d micro-batches; band of %d BF16 seeds, %.0f standard "
            "deviations, window %d\nsums: %s\n\n",
            p->shape.layers, p->shape.dim, p->shape.heads, p->shape.experts, p->shape.top, p->shape.hidden,
            p->shape.context, (long long)s->runs[0].parameters, p->steps, p->batch, p->micro, seeds,
            TRAIN_BAND, s->window,
            scheme->run     ? "by the kernel under test"
            : scheme->model ? scheme->model->name
                            : "fp32, k ascending");
    if (scheme->model)
        fprintf(out, "model %s, schedule %s: %s\n\n", scheme->model->name,
                mx_schedule_text(&scheme->schedule, schedule, sizeof schedule),
                mx_model_words(scheme->model));
    fprintf(out, "%-32s%9s%9s%8s%8s%9s%8s%8s\n", "", "loss at", "against", "in std", "leaves", "gradient", "",
            "");
    fprintf(out, "%-32s%9s%9s%8s%8s%9s%8s%8s\n", "scheme", "the end", "BF16", "devs", "at step", "error",
            "cosine", "size");
    fprintf(out, "%-32s%9.4f\n", "bf16", s->mean[p->steps - 1]);
    for (size_t i = 0; i < s->n_curves; i++)
        print_curve(s, &s->curves[i], out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------
 */

static json_t *numbers(const double *x, int32_t n)
{
    json_t *a = json_array();
    for (int32_t i = 0; i < n; i++)
        json_array_append_new(a, isfinite(x[i]) ? json_real(x[i]) : json_null());
    return a;
}

static json_t *named_object(const char *name, bool reordered)
{
    json_t *o = json_object();
    json_object_set_new(o, "recipe", json_stringn(name, strcspn(name, "@")));
    json_object_set_new(o, "variant", json_string(reordered ? "reordered" : scheme_variant_of(name)->name));
    json_object_set_new(o, "reordered", json_boolean(reordered));
    return o;
}

static json_t *setup_to_json(const train_study *s)
{
    const train_setup *p = &s->setup;
    const mx_scheme *scheme = &s->runs[s->n_runs - 1].scheme;
    char schedule[64];
    return json_pack("{si si si si si si si si si si si si sI sf sI ss ss}", "steps", p->steps, "window",
                     s->window, "batch", p->batch, "micro", p->micro, "context", p->shape.context, "dim",
                     p->shape.dim, "heads", p->shape.heads, "layers", p->shape.layers, "hidden",
                     p->shape.hidden, "experts", p->shape.experts, "top", p->shape.top, "vocabulary",
                     p->shape.vocabulary, "parameters", (json_int_t)s->runs[0].parameters, "rate", p->rate,
                     "data_seed", (json_int_t)p->data_seed, "model",
                     scheme->run     ? "kernel"
                     : scheme->model ? scheme->model->name
                                     : "fp32, k ascending",
                     "schedule", mx_schedule_text(&scheme->schedule, schedule, sizeof schedule));
}

static json_t *runs_to_json(const train_study *s)
{
    json_t *a = json_array();
    for (size_t i = 0; i < s->n_runs; i++) {
        json_t *o = named_object(s->runs[i].scheme_name, s->runs[i].reordered);
        json_object_set_new(o, "seed", json_integer((json_int_t)s->runs[i].seed));
        json_object_set_new(o, "loss", numbers(s->runs[i].loss, s->setup.steps));
        json_array_append_new(a, o);
    }
    return a;
}

static json_t *probe_to_json(const train_probe *p)
{
    char reason[320];
    json_t *o = json_object();
    agreement_to_json(&p->all, o);
    train_probe_reason(p, reason, sizeof reason);
    json_object_set_new(o, "bad", json_boolean(p->bad));
    json_object_set_new(o, "group", json_string(p->group));
    json_object_set_new(o, "named", p->named ? json_string(p->named) : json_null());
    json_object_set_new(o, "reason", json_string(reason));
    return o;
}

static json_t *curves_to_json(const train_study *s)
{
    json_t *a = json_array();
    for (size_t i = 0; i < s->n_curves; i++) {
        const train_curve *c = &s->curves[i];
        json_t *o = named_object(c->scheme_name, c->reordered);
        json_object_set_new(o, "right", json_boolean(c->right));
        json_object_set_new(o, "loss", numbers(c->loss, s->setup.steps));
        json_object_set_new(o, "left_at", c->left_at ? json_integer(c->left_at) : json_null());
        json_object_set_new(o, "gap", isfinite(c->gap) ? json_real(c->gap) : json_null());
        json_object_set_new(o, "verdict",
                            json_string(c->left_at     ? "left"
                                        : c->probe.bad ? "bad gradient"
                                                       : "inside"));
        json_object_set_new(o, "gradient", probe_to_json(&c->probe));
        json_array_append_new(a, o);
    }
    return a;
}

json_t *train_to_json(const train_study *s)
{
    char verdict[320];
    int32_t steps = s->setup.steps;
    json_t *o = json_object(), *band = json_object();
    train_verdict(s, verdict, sizeof verdict);
    json_object_set_new(band, "mean", numbers(s->mean, steps));
    json_object_set_new(band, "low", numbers(s->low, steps));
    json_object_set_new(band, "high", numbers(s->high, steps));
    json_object_set_new(o, "mxcheck", json_string("train"));
    json_object_set_new(o, "schema", json_integer(1));
    json_object_set_new(o, "verdict", json_string(verdict));
    json_object_set_new(o, "passed", json_boolean(train_passed(s)));
    json_object_set_new(o, "setup", setup_to_json(s));
    json_object_set_new(o, "runs", runs_to_json(s));
    json_object_set_new(o, "band", band);
    json_object_set_new(o, "curves", curves_to_json(s));
    return o;
}
