/* SPDX-License-Identifier: Apache-2.0 */
#include "gradient_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "recipe.h"

static const char *const operation_of[] = {"grouped-forward", "grouped-dgrad", "grouped-wgrad"};

/* Where the experts' operands lie in the grouped ones. */
typedef struct frame {
    const mx_products *p;
    const mx_recipe *recipe;
    int64_t block, a_rows, b_rows, k; /* of the whole */
    int64_t *offsets;                 /* data of the case's tensor */
} frame;

static int64_t whole_blocks(int64_t n, int64_t block) { return (n + block - 1) / block; }

/* ---- one grouped case from the experts' operands --------------------------------------------------------
 */

/* An operand of every expert: placed `down` rows and `across` lanes from the start of the grouped one. */
static void place(const frame *f, const mx_side *s, int64_t down, int64_t across, mx_tensor *codes,
                  mx_tensor *scales)
{
    int64_t pitch = codes->shape[codes->rank - 1], grid = scales->shape[scales->rank - 1];
    int64_t blocks = whole_blocks(s->k, f->block);
    size_t width = f->recipe->scale->bits > 8 ? 4 : 1;
    for (int64_t r = 0; r < s->rows; r++) {
        memcpy(codes->data + (down + r) * pitch + across, s->codes + r * s->k, (size_t)s->k);
        memcpy(scales->data + (size_t)((down + r) * grid + across / f->block) * width,
               (const char *)s->scales + (size_t)(r * blocks) * width, (size_t)blocks * width);
    }
}

static mx_status make_offsets(frame *f, mx_tensor *t, mx_error *e)
{
    int64_t n = f->p->experts + 1, at = 0;
    mx_status status = mx_tensor_make(t, "offsets", "i64", 1, &n, e);
    if (status) return status;
    f->offsets = (int64_t *)(void *)t->data;
    for (int64_t i = 0; i < f->p->experts; i++) {
        f->offsets[i] = at;
        at += f->p->form == MX_WGRAD ? whole_blocks(f->p->a[i].k, f->block) * f->block : f->p->a[i].rows;
    }
    f->offsets[f->p->experts] = at;
    f->a_rows = f->p->form == MX_WGRAD ? f->p->a[0].rows : at;
    f->b_rows = f->p->b[0].rows;
    f->k = f->p->form == MX_WGRAD ? at : f->p->a[0].k;
    return MX_OK;
}

/* Codes and scales of one operand; `each`: a matrix for every expert. */
static mx_status make_operand(const frame *f, const mx_side *sides, bool each, int64_t rows, mx_tensor *codes,
                              mx_tensor *scales, const char *name, mx_error *e)
{
    char scale_name[16];
    snprintf(scale_name, sizeof scale_name, "%s_scale", name);
    int64_t shape[3] = {f->p->experts, rows, f->k},
            grid[3] = {f->p->experts, rows, whole_blocks(f->k, f->block)};
    const int64_t *from = each ? shape : shape + 1, *grid_from = each ? grid : grid + 1;
    mx_status status = mx_tensor_make(codes, name, f->recipe->element->name, each ? 3 : 2, from, e);
    if (!status)
        status = mx_tensor_make(scales, scale_name, f->recipe->scale->name, each ? 3 : 2, grid_from, e);
    for (int64_t i = 0; i < f->p->experts && !status; i++) {
        bool lanes = f->p->form == MX_WGRAD;
        place(f, &sides[i],
              each    ? i * rows
              : lanes ? 0
                      : f->offsets[i],
              lanes ? f->offsets[i] : 0, codes, scales);
    }
    return status;
}

static mx_status make_case(frame *f, mx_case *c, mx_error *e)
{
    bool wgrad = f->p->form == MX_WGRAD;
    *c = (mx_case){.alpha = 1, .n_in = 5, .n_want = 1, .verdict = MX_VERDICT_BOUND};
    snprintf(c->id, sizeof c->id, "gradient/%s", operation_of[f->p->form]);
    snprintf(c->operation, sizeof c->operation, "%s", operation_of[f->p->form]);
    snprintf(c->recipe, sizeof c->recipe, "%.47s", f->recipe->name);
    mx_status status = make_offsets(f, &c->in[4], e);
    if (!status) status = make_operand(f, f->p->a, false, f->a_rows, &c->in[0], &c->in[1], "a", e);
    if (!status) status = make_operand(f, f->p->b, !wgrad, f->b_rows, &c->in[2], &c->in[3], "b", e);
    return status;
}

static mx_status make_result(const frame *f, const offer *o, mx_case *c, mx_error *e)
{
    int64_t shape[3] = {f->p->experts, f->a_rows, f->b_rows};
    bool wgrad = f->p->form == MX_WGRAD;
    snprintf(c->output, sizeof c->output, "%.11s", o->output);
    return mx_tensor_make(&c->want[0], "d", o->output, wgrad ? 3 : 2, wgrad ? shape : shape + 1, e);
}

/* ---- running ---------------------------------------------------------------------------------------------
 */

static mx_status find_offer(const subject *s, const mx_case *c, int *index, mx_error *e)
{
    const char *why = NULL, *reason = NULL;
    for (int i = 0; i < s->n_offers; i++) {
        if (s->offers[i].runnable && offer_takes(&s->offers[i], c, &why)) {
            *index = i;
            return MX_OK;
        }
        if (why) reason = why;
    }
    return mx_fail(e, MX_CANNOT_RUN, s->name, "no operation '%s' for recipe %s%s%s", c->operation, c->recipe,
                   reason ? ": " : "", reason ? reason : "");
}

static mx_status state_of(const outcome *o, const subject *s, const char *operation, mx_error *e)
{
    static const char *const words[] = {"done", "refused", "failed", "crashed", "timed out", "no answer"};
    if (o->state == RUN_DONE) return MX_OK;
    return mx_fail(e, MX_CANNOT_RUN, s->name, "%s %s: %.150s", operation, words[o->state], o->message);
}

static void take_results(const frame *f, const mx_tensor *d, const unsigned char *data)
{
    mx_dtype type;
    if (!mx_dtype_find(d->dtype, &type)) return;
    for (int64_t i = 0; i < f->p->experts; i++) {
        int64_t rows = f->p->a[i].rows, first = f->p->form == MX_WGRAD ? i * f->a_rows : f->offsets[i];
        for (int64_t j = 0; j < rows * f->b_rows; j++)
            f->p->d[i][j] = (float)mx_dtype_value(&type, mx_dtype_bits(&type, data, first * f->b_rows + j));
    }
}

static mx_status run_case(subject *s, const frame *f, mx_case *c, mx_error *e)
{
    int index = 0;
    job j;
    outcome o = {.state = RUN_DONE};
    mx_status status = find_offer(s, c, &index, e);
    if (!status) status = make_result(f, &s->offers[index], c, e);
    if (status) return status;
    status = job_make(&j, &s->offers[index], index, c, e);
    if (!status) {
        s->run(s, &j, &variants[1], &o);
        status = state_of(&o, s, c->operation, e);
        if (!status && !o.out[0]) status = mx_fail(e, MX_CANNOT_RUN, s->name, "no output came back");
        if (!status) take_results(f, &c->want[0], o.out[0]);
        outcome_free(&o, &j);
    }
    job_free(&j);
    return status;
}

static mx_status check_recipe(const mx_products *p, const mx_recipe **out, mx_error *e)
{
    const mx_recipe *r = p->a[0].recipe;
    if (!r || !r->scale || r != p->b[0].recipe)
        return mx_fail(e, MX_UNSUPPORTED, "kernel", "both operands must be of one recipe with block scales");
    if (r->block_rows != 1 || !r->block_cols || mx_recipe_has_global(r))
        return mx_fail(e, MX_UNSUPPORTED, "kernel",
                       "%s: only blocks along a row, without a second-level scale, have a grouped form",
                       r->name);
    *out = r;
    return MX_OK;
}

mx_status gradient_kernel_run(void *context, const mx_products *p, mx_error *e)
{
    frame f = {.p = p};
    mx_case c;
    mx_status status = check_recipe(p, &f.recipe, e);
    if (status) return status;
    f.block = f.recipe->block_cols;
    status = make_case(&f, &c, e);
    if (!status) status = run_case(context, &f, &c, e);
    for (int i = 0; i < c.n_in; i++)
        mx_tensor_free(&c.in[i]);
    mx_tensor_free(&c.want[0]);
    return status;
}
