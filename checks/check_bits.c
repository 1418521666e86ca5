/* SPDX-License-Identifier: Apache-2.0
 * Bit for bit: codes, scales, values and second-level scales, each in its own check, on the grid of the
 * tensor whatever the layout. What is wrong is first counted, then told for the first elements, then
 * explained. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"
#include "diff.h"
#include "explain.h"
#include "operations.h"

static void describe(char *text, size_t size, const mx_dtype *d, uint64_t bits)
{
    snprintf(text, size, "%0*" PRIX64 " (%.9g)", 2 * d->bytes, bits, mx_dtype_value(d, bits));
}

/* The element of x behind an output element; the first input that is a source answers. */
static void describe_input(const trial *t, int64_t row, int64_t col, wrong_element *w)
{
    const job *j = t->job;
    for (int i = 0; i < j->n_in; i++) {
        const slot *s = &j->in[i];
        mx_dtype d;
        if (s->part == PART_PLAIN || s->part == PART_SCALES || !mx_dtype_find(s->dtype, &d)) continue;
        int64_t cols = (int64_t)(s->row_bytes / (d.bytes ? d.bytes : 1));
        if (s->layout || row >= (int64_t)s->rows || col >= cols) return;
        describe(w->input, sizeof w->input, &d, mx_dtype_bits(&d, s->data, row * cols + col));
        return;
    }
}

static const slot *scale_slot(const trial *t, part codes, int *index)
{
    part want = codes == PART_CODES_T ? PART_SCALES_T : PART_SCALES;
    for (int i = 0; i < t->job->n_out; i++)
        if (t->job->out[i].part == want) return *index = i, &t->job->out[i];
    return NULL;
}

/* The scale that governs element (row, col) of x, got and wanted. */
static void describe_scale(const trial *t, const slot *codes, int64_t row, int64_t col, wrong_element *w)
{
    int index;
    int64_t rows, cols;
    mx_dtype d;
    w->block = -1;
    const slot *s = scale_slot(t, codes->part, &index);
    if (!s || !s->canon || !mx_dtype_find(s->dtype, &d) || !explain_block(t, codes, &rows, &cols)) return;
    row /= rows;
    col /= cols;
    w->block = s->turned ? col * s->grid.cols + row : row * s->grid.cols + col;
    if (w->block >= s->grid.rows * s->grid.cols) return;
    describe(w->scale_got, sizeof w->scale_got, &d, mx_dtype_bits(&d, t->canon[index], w->block));
    describe(w->scale_want, sizeof w->scale_want, &d, mx_dtype_bits(&d, s->canon, w->block));
}

/* Elements of one row of an output on its canonical grid. */
static int64_t width_of(const slot *s, const mx_dtype *d)
{
    int64_t cols = s->layout || s->part != PART_SOURCE ? s->grid.cols : (int64_t)(s->row_bytes / d->bytes);
    return cols > 0 ? cols : 1;
}

static void keep_element(const trial *t, const slot *s, const mx_difference *m, const mx_dtype *d, finding *f)
{
    int64_t cols = width_of(s, d);
    wrong_element *w = &f->element[f->n_elements++];
    *w = (wrong_element){.row = m->index / cols, .col = m->index % cols, .block = -1, .ulps = m->ulps};
    describe(w->got, sizeof w->got, d, m->got);
    describe(w->want, sizeof w->want, d, m->want);
    bool scales = s->part == PART_SCALES || s->part == PART_SCALES_T;
    if (s->turned) {
        int64_t swap = w->row;
        w->row = w->col;
        w->col = swap;
    }
    if (scales) w->block = m->index;
    if (s->part == PART_CODES || s->part == PART_CODES_T) describe_scale(t, s, w->row, w->col, w);
    if (!scales && s->part != PART_PLAIN) describe_input(t, w->row, w->col, w);
}

/* The map is of the tensor as it is stored: with its own rows, turned or not. */
static void map_wrong(const slot *s, const mx_dtype *d, const unsigned char *got, int64_t n,
                      mismatch_map *map)
{
    int64_t cols = width_of(s, d);
    mismatch_begin(map, n / cols, cols);
    for (int64_t i = 0; i < n; i++)
        if (mx_diff_one(d, mx_dtype_bits(d, got, i), mx_dtype_bits(d, s->canon, i), s->part != PART_SOURCE,
                        NULL) != MX_DIFF_NONE)
            mismatch_add(map, i / cols, i % cols);
}

static judgement compare_slot(const trial *t, int out, finding *f)
{
    const slot *s = &t->job->out[out];
    mx_dtype d;
    if (!s->canon || !mx_dtype_find(s->dtype, &d)) return JUDGED_NOTHING;
    if (t->canon[out] && !memcmp(t->canon[out], s->canon, s->canon_bytes)) return JUDGED_PASSED;
    if ((s->part == PART_CODES || s->part == PART_CODES_T) && trial_is_random(t)) return JUDGED_NOTHING;
    int64_t n = (int64_t)(s->canon_bytes / d.bytes);
    mx_diff *diff = calloc(1, sizeof *diff);
    if (!diff || !t->canon[out]) {
        free(diff);
        snprintf(f->text, sizeof f->text, "could not be compared: out of memory");
        return JUDGED_FAILED;
    }
    mx_diff_add(diff, &d, t->canon[out], s->canon, n, 0, s->part != PART_SOURCE);
    int64_t wrong = mx_diff_total(diff);
    if (wrong) {
        f->wrong = wrong;
        f->total = n;
        snprintf(f->tensor, sizeof f->tensor, "%s", s->role);
        snprintf(f->text, sizeof f->text, "%lld of %lld elements of '%s' differ", (long long)wrong,
                 (long long)n, s->role);
        for (int i = 0; i < diff->n_first && f->n_elements < FINDING_ELEMENTS; i++)
            keep_element(t, s, &diff->first[i], &d, f);
        if (wrong > 1) map_wrong(s, &d, t->canon[out], n, &f->map);
        if (t->explain) explain(t, out, f);
    }
    free(diff);
    if (!wrong) return JUDGED_PASSED;
    return t->job->c->verdict == MX_VERDICT_OPEN ? JUDGED_OPEN : JUDGED_FAILED;
}

judgement judge_part(const trial *t, part p, finding *f)
{
    for (int i = 0; i < t->job->n_out; i++)
        if (t->job->out[i].part == p) return compare_slot(t, i, f);
    return JUDGED_NOTHING;
}

static judgement judge_codes(const trial *t, finding *f) { return judge_part(t, PART_CODES, f); }
static judgement judge_scales(const trial *t, finding *f) { return judge_part(t, PART_SCALES, f); }
static judgement judge_codes_t(const trial *t, finding *f) { return judge_part(t, PART_CODES_T, f); }
static judgement judge_scales_t(const trial *t, finding *f) { return judge_part(t, PART_SCALES_T, f); }
static judgement judge_values(const trial *t, finding *f)
{
    const operation *op = operation_find(t->job->c->operation);
    return op && op->product ? JUDGED_NOTHING : judge_part(t, PART_SOURCE, f);
}
static judgement judge_global(const trial *t, finding *f) { return judge_part(t, PART_PLAIN, f); }

const check check_codes = {"codes",    "every element code has the recipe's bits", true, true, false,
                           judge_codes};
const check check_scales = {"scales", "every scale has the recipe's bits", true, true, false, judge_scales};
const check check_codes_t = {"codes-t", "codes of the columnwise copy", true, true, false, judge_codes_t};
const check check_scales_t = {"scales-t", "scales of the columnwise copy", true, true, false, judge_scales_t};
const check check_values = {"values",    "dequantised values have the right bits", true, true, false,
                            judge_values};
const check check_global = {"global",    "the second-level scale has the right bits", true, true, false,
                            judge_global};
