/* SPDX-License-Identifier: Apache-2.0 */
#include "gradient_result.h"

#include <math.h>
#include <string.h>

#include "scheme.h"

static const char *const fault_words[] = {"", "not finite", "magnitude", "error"};

bool gradient_passed(const gradient_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].right && (rows[i].status || rows[i].first >= 0)) return false;
    return true;
}

void gradient_verdict(const gradient_row *rows, size_t n, char *out, size_t size)
{
    int right = 0, good = 0, wrong = 0, seen = 0, not_run = 0;
    const gradient_row *first = NULL;
    for (size_t i = 0; i < n; i++) {
        bool fails = !rows[i].status && rows[i].first >= 0;
        not_run += rows[i].status != MX_OK;
        right += rows[i].right;
        good += rows[i].right && !rows[i].status && !fails;
        wrong += !rows[i].right;
        seen += !rows[i].right && fails;
        if (rows[i].right && fails && !first) first = &rows[i];
    }
    int at = snprintf(out, size, "gradient: %s: %d of %d schemes stay within what their format explains",
                      gradient_passed(rows, n) ? "PASS" : "FAIL", good, right);
    if (wrong)
        at +=
            snprintf(out + at, size - (size_t)at, "; known to lose more: %d, of which %d seen", wrong, seen);
    if (not_run) at += snprintf(out + at, size - (size_t)at, "; not run: %d", not_run);
    if (first)
        snprintf(out + at, size - (size_t)at, "; first: %s, %s", first->scheme->name,
                 gradient_tensors[first->first]);
}

void gradient_reason(const gradient_row *row, char *out, size_t size)
{
    *out = 0;
    if (row->status) {
        snprintf(out, size, "not run: %s", row->error.message);
        return;
    }
    if (row->first < 0) return;
    const agreement *a = &row->to_reference[row->first];
    const char *tensor = gradient_tensors[row->first];
    int at = 0;
    switch (row->fault[row->first]) {
    case GRADIENT_GOOD: break;
    case GRADIENT_NOT_FINITE:
        at = snprintf(out, size, "%s: %lld elements are NaN or Inf", tensor, (long long)a->nonfinite);
        break;
    case GRADIENT_MAGNITUDE:
        at = snprintf(out, size, "%s: magnitude fault: %.4g times (2^%+.2f) what it should be%s", tensor,
                      a->projection, a->projection > 0 ? log2(a->projection) : 0,
                      a->cosine > 0.99 ? ", though the direction is right" : "");
        break;
    case GRADIENT_ERROR:
        at = snprintf(out, size, "%s: error %.3g, %.2f times what the format explains", tensor, a->relative,
                      a->relative / row->expected[row->first]);
        break;
    }
    const scheme_variant *v = row->named ? scheme_variant_find(row->named) : NULL;
    if (v && v != scheme_variant_at(0))
        snprintf(out + at, size - (size_t)at, "; these are the results of '%s': %s", v->name, v->words);
}

/* ---- text -------------------------------------------------------------------------------------------------
 */

static const int shown[] = {2, 9, 6, 7, 4, 8}; /* output dx dW1 dW3 dW2 drouter */
enum { SHOWN = sizeof shown / sizeof *shown };

static void print_row(const gradient_row *row, FILE *out)
{
    char reason[320];
    gradient_reason(row, reason, sizeof reason);
    fprintf(out, "%-32s", row->scheme->name);
    if (row->status) {
        fprintf(out, " %s\n", reason);
        return;
    }
    double cosine = 1, off = 1, worst_row = 0, ratio = 0;
    for (int i = 0; i < GRADIENT_TENSORS; i++) {
        const agreement *a = &row->to_reference[i];
        cosine = fmin(cosine, a->cosine);
        if (fabs(log(a->norm_ratio)) > fabs(log(off))) off = a->norm_ratio;
        worst_row = fmax(worst_row, a->worst_row_relative);
        ratio = fmax(ratio, a->relative / row->gate[i]);
    }
    for (int i = 0; i < SHOWN; i++)
        fprintf(out, "%8.2g", row->to_reference[shown[i]].relative);
    fprintf(out, "%7.2f%8.4f%8.4f%9.2g  %s\n", ratio, cosine, off, worst_row,
            row->first < 0 ? "pass"
            : row->right   ? "FAIL"
                           : "seen");
    if (*reason) fprintf(out, "    %s\n", reason);
}

void gradient_print(const gradient_scene *s, const gradient_row *rows, size_t n, FILE *out)
{
    char verdict[256];
    const mx_moe_shape *p = &s->setup.shape;
    gradient_verdict(rows, n, verdict, sizeof verdict);
    fprintf(out, "%s\n\n", verdict);
    fprintf(
        out,
        "MoE layer: %lld tokens, dim %lld, hidden %lld, %d experts, top %d; x %s, dout %s, seed %llu\n"
        "BF16 would route %lld of %lld tokens elsewhere; every run uses the routes of fp64\n"
        "relative L2 errors against fp64. /gate: the largest over all tensors; the gate is the error of an "
        "ideal "
        "quantiser\nof that format and of BF16, times %.2f, and more where chance is large\n\n",
        (long long)p->tokens, (long long)p->dim, (long long)p->hidden, p->experts, p->top, s->setup.x_data,
        s->setup.dout_data, (unsigned long long)s->setup.seed, (long long)s->rerouted, (long long)p->tokens,
        GRADIENT_MARGIN);
    fprintf(out, "%-32s", "scheme");
    for (int i = 0; i < SHOWN; i++)
        fprintf(out, "%8s", gradient_tensors[shown[i]]);
    fprintf(out, "%7s%8s%8s%9s\n", "/gate", "cosine", "norm", "row");
    fprintf(out, "%-32s%8s%8s%8s%8s%8s%8s%7s%8s%8s%9s\n", "", "", "", "", "", "", "", "", "least", "worst",
            "worst");
    fprintf(out, "%-32s", "bf16");
    for (int i = 0; i < SHOWN; i++)
        fprintf(out, "%8.2g", s->floor[shown[i]].relative);
    fprintf(out, "\n");
    for (size_t i = 0; i < n; i++)
        print_row(&rows[i], out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------
 */

/* "recipe" and "variant" members of a scheme's name. */
static json_t *named_object(const mx_scheme *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "recipe", json_stringn(s->name, strcspn(s->name, "@")));
    json_object_set_new(o, "variant", json_string(scheme_variant_of(s->name)->name));
    return o;
}

static json_t *scheme_to_json(const gradient_row *row)
{
    char reason[320];
    json_t *o = named_object(row->scheme);
    const mx_recipe *r = row->scheme->forward ? row->scheme->forward : row->scheme->gradient;
    int64_t rows = 1, cols = 0;
    if (r) mx_recipe_block(r, 0, 0, &rows, &cols);
    gradient_reason(row, reason, sizeof reason);
    json_object_set_new(o, "right", json_boolean(row->right));
    json_object_set_new(o, "element", json_string(r ? mx_recipe_element(r)->name : "bf16"));
    json_object_set_new(o, "block", json_integer(cols));
    json_object_set_new(o, "verdict",
                        json_string(row->status      ? "not run"
                                    : row->first < 0 ? "pass"
                                                     : "fail"));
    json_object_set_new(o, "first_bad",
                        !row->status && row->first >= 0 ? json_string(gradient_tensors[row->first])
                                                        : json_null());
    json_object_set_new(o, "named", row->named ? json_string(row->named) : json_null());
    json_object_set_new(o, "reason", json_string(reason));
    return o;
}

static void add_cell(json_t *cells, const mx_scheme *s, int tensor, const char *against, const agreement *a,
                     const gradient_row *row)
{
    json_t *o = named_object(s);
    json_object_set_new(o, "tensor", json_string(gradient_tensors[tensor]));
    json_object_set_new(o, "against", json_string(against));
    agreement_to_json(a, o);
    if (row) {
        json_object_set_new(o, "expected", json_real(row->expected[tensor]));
        json_object_set_new(o, "gate", json_real(row->gate[tensor]));
        json_object_set_new(o, "fault", json_string(fault_words[row->fault[tensor]]));
    }
    json_array_append_new(cells, o);
}

static json_t *setup_to_json(const gradient_scene *s)
{
    const mx_moe_shape *p = &s->setup.shape;
    return json_pack("{sI sI sI si si sI ss ss sI}", "tokens", (json_int_t)p->tokens, "dim",
                     (json_int_t)p->dim, "hidden", (json_int_t)p->hidden, "experts", p->experts, "top",
                     p->top, "seed", (json_int_t)s->setup.seed, "x_data", s->setup.x_data, "dout_data",
                     s->setup.dout_data, "rerouted", (json_int_t)s->rerouted);
}

static json_t *chance_to_json(const gradient_scene *s)
{
    json_t *o = json_object();
    for (int t = 0; t < GRADIENT_TENSORS; t++)
        json_object_set_new(o, gradient_tensors[t],
                            json_pack("{sf sf}", "scatter", s->scatter[t], "drift", s->drift[t]));
    return o;
}

json_t *gradient_to_json(const gradient_scene *s, const gradient_row *rows, size_t n)
{
    char verdict[256];
    const mx_scheme bf16 = {.name = "bf16"};
    json_t *o = json_object(), *schemes = json_array(), *cells = json_array();
    gradient_verdict(rows, n, verdict, sizeof verdict);
    for (int t = 0; t < GRADIENT_TENSORS; t++)
        add_cell(cells, &bf16, t, "fp64", &s->floor[t], NULL);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(schemes, scheme_to_json(&rows[i]));
        for (int t = 0; !rows[i].status && t < GRADIENT_TENSORS; t++) {
            add_cell(cells, rows[i].scheme, t, "fp64", &rows[i].to_reference[t], &rows[i]);
            add_cell(cells, rows[i].scheme, t, "bf16", &rows[i].to_bf16[t], NULL);
        }
    }
    json_object_set_new(o, "mxcheck", json_string("gradient"));
    json_object_set_new(o, "schema", json_integer(1));
    json_object_set_new(o, "verdict", json_string(verdict));
    json_object_set_new(o, "passed", json_boolean(gradient_passed(rows, n)));
    json_object_set_new(o, "setup", setup_to_json(s));
    json_object_set_new(o, "margin", json_real(GRADIENT_MARGIN));
    json_object_set_new(o, "chance", chance_to_json(s));
    json_object_set_new(o, "schemes", schemes);
    json_object_set_new(o, "cells", cells);
    return o;
}
