/* SPDX-License-Identifier: Apache-2.0 */
#include "explain_product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "dtype.h"
#include "explain_place.h"
#include "identify.h"
#include "product_faults.h"
#include "product_sums.h"

enum { MAX_WORK = 1 << 24, SEEN_ROWS = 32, HYPOTHESES = 4 };

static uint32_t code_at(const mx_format *f, const void *d, int64_t i)
{
    uint32_t code = 0;
    size_t bytes = f->bits <= 16 ? 2 : 4;
    memcpy(&code, (const char *)d + (size_t)i * bytes, bytes);
    return code;
}

static bool same(const mx_format *f, uint32_t x, uint32_t y)
{
    return x == y || (mx_code_is_nan(f, x) && mx_code_is_nan(f, y));
}

/* Outputs [0, n) of d against those of the seen ones that start at `first`. */
static bool same_run(const mx_format *f, const void *d, const void *got, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!same(f, code_at(f, d, i), code_at(f, got, first + i))) return false;
    return true;
}

static bool row_in_bounds(const product *q, const void *got, int64_t row)
{
    mx_product one;
    int64_t local;
    bool fits = product_of_row(q, row, &one, &local, NULL) == MX_OK;
    for (int64_t c = 0; c < q->cols && fits; c++) {
        mx_bound b;
        double x = mx_decode(q->p.d_format, code_at(q->p.d_format, got, row * q->cols + c));
        fits = mx_bound_product(&one, NULL, local, c, &b, NULL, NULL) == MX_OK &&
               (isnan(b.low) ? isnan(x) : b.low <= x && x <= b.high);
    }
    return fits;
}

/* One row alone: a quick no for most candidates. */
static bool gives_row(const product *q, const void *got, int64_t row, void *d, bool *bits)
{
    mx_product one;
    int64_t local;
    *bits = false;
    if (product_of_row(q, row, &one, &local, NULL)) return false;
    if (q->p.model && mx_operand_rows(&one.a, local, 1, &one.a, NULL) == MX_OK) {
        one.c = NULL;
        one.c_format = NULL;
        one.d = d;
        one.d_pitch = q->cols;
        *bits = !q->p.c_format && mx_gemm(&one, NULL) == MX_OK;
    }
    if (*bits) return same_run(q->p.d_format, d, got, row * q->cols, q->cols);
    return q->p.c_format || row_in_bounds(q, got, row);
}

/* Does the product, as it is now, give every output seen? By the claimed arithmetic bit for bit, else within
 * what can be proved; `bits` says which. `row` is one that was wrong. */
static bool gives(const product *q, const void *got, int64_t row, bool *bits)
{
    char *d = malloc((size_t)(q->rows * q->cols) * 4 + 1);
    bool fits = d && gives_row(q, got, row, d, bits);
    if (fits) {
        *bits = q->p.model && product_run(q, d, NULL) == MX_OK;
        if (*bits) fits = same_run(q->p.d_format, d, got, 0, q->rows * q->cols);
    }
    for (int64_t r = 0; r < q->rows && fits && !*bits; r++)
        fits = row_in_bounds(q, got, r);
    free(d);
    return fits;
}

/* What is known of a mismatch while causes are collected. */
typedef struct search {
    const product *q;
    const void *got;
    int64_t row;    /* one that is wrong */
    bool need_bits; /* what can be proved of the right product holds, so that it tells nothing of a fault */
    finding *f;
} search;

static void try_fault(search *s, const product_fault *fault, int n)
{
    planted p;
    bool bits = false,
         fits = planted_make(&p, s->q) && fault->plant(&p, n) && gives(&p.q, s->got, s->row, &bits);
    planted_free(&p);
    if (!fits || (s->need_bits && !bits)) return;
    char text[160];
    snprintf(text, sizeof text, fault->cause, n);
    if (bits || s->f->causes.n)
        causes_note(&s->f->causes, text);
    else if (!*s->f->cause)
        snprintf(s->f->cause, sizeof s->f->cause, "%s (every output lies where that puts it)", text);
}

static int64_t first_wrong_row(const product *q, const void *got, const void *want)
{
    int64_t r = 0;
    while (r + 1 < q->rows &&
           same_run(q->p.d_format, (const char *)want + (size_t)(r * q->cols) * (q->p.d_format->bits / 8),
                    got, r * q->cols, q->cols))
        r++;
    return r;
}

static void try_faults(search *s)
{
    for (size_t i = 0; i < product_fault_count; i++)
        for (int n = product_faults[i].from; n <= product_faults[i].to; n++)
            try_fault(s, &product_faults[i], n);
}

/* Of a grouped product, the rows of the largest group; K groups: the expert with the most lanes. */
static bool part_seen(const product *q, const void *got, mx_product *seen)
{
    int64_t first = 0, local, size = -1;
    size_t bytes = q->p.d_format->bits <= 16 ? 2 : 4;
    bool by_rows = q->form == MX_GROUPED_ROWS;
    for (int64_t i = 0; i < q->experts; i++)
        if (q->offsets[i + 1] - q->offsets[i] > size) {
            size = q->offsets[i + 1] - q->offsets[i];
            first = by_rows ? q->offsets[i] : i * q->p.a.rows;
        }
    if (first >= q->rows || product_of_row(q, first, seen, &local, NULL)) return false;
    if (q->grouped && by_rows && mx_operand_rows(&q->p.a, first, size, &seen->a, NULL)) return false;
    seen->d = (char *)(uintptr_t)got + (size_t)(first * q->cols) * bytes;
    seen->d_pitch = q->cols;
    if (seen->a.rows > SEEN_ROWS) seen->a.rows = SEEN_ROWS;
    if (seen->b.rows > SEEN_ROWS) seen->b.rows = SEEN_ROWS;
    return seen->a.rows > 0 && seen->b.rows > 0 && seen->a.k > 0;
}

/* A hypothesis was found on a part; does it hold everywhere? */
static bool gives_all(const product *q, const mx_hypothesis *h, const void *got)
{
    product other = *q;
    int64_t n = q->rows * q->cols;
    char *d = malloc((size_t)n * 4 + 1);
    other.p.model = h->model;
    other.p.schedule = h->schedule;
    bool all = d && product_run(&other, d, NULL) == MX_OK && same_run(q->p.d_format, d, got, 0, n);
    free(d);
    return all;
}

static void try_models(const product *q, const void *got, finding *f)
{
    mx_product seen;
    mx_hypothesis found[HYPOTHESES];
    size_t n = 0, exact = 0;
    char text[200], schedule[160];
    if (!part_seen(q, got, &seen) ||
        mx_identify_product(&seen, found, HYPOTHESES, &n, &exact, NULL) != MX_OK || !n)
        return;
    if (exact && gives_all(q, &found[0], got)) {
        mx_schedule_text(&found[0].schedule, schedule, sizeof schedule);
        snprintf(text, sizeof text, "the arithmetic is that of %.40s, %.100s", found[0].model->name,
                 schedule);
        causes_note(&f->causes, text);
    } else if (!*f->cause && !exact && 2 * found[0].differ < found[0].compared)
        snprintf(f->cause, sizeof f->cause, "nearest known arithmetic: %s",
                 mx_hypothesis_text(&found[0], text, sizeof text));
}

const char explain_stale_sum[] =
    "sums start from what the output held: an accumulator that is not initialised";

bool explain_is_stale_sum(const trial *t)
{
    const slot *s = &t->job->out[0];
    mx_dtype d;
    if (t->n_runs < 3 || !t->runs_differ || t->repeats_differ || !product_is(t->job->c->operation) ||
        !mx_dtype_find(s->dtype, &d) || !s->bytes || s->pitch_bytes != s->row_bytes)
        return false;
    for (size_t i = 0; i < s->bytes / d.bytes; i++)
        if (!isnan(mx_dtype_value(&d, mx_dtype_bits(&d, t->run[1].out[0], (int64_t)i)))) return false;
    return !s->canon || !memcmp(t->run[2].out[0], s->canon, s->bytes);
}

void explain_product(const trial *t, const product *q, const void *got, const void *want, finding *f)
{
    char place[160] = "";
    if (explain_place(t, 0, place, sizeof place)) causes_note(&f->causes, place);
    if (explain_is_stale_sum(t)) causes_note(&f->causes, explain_stale_sum);
    int64_t k = q->p.a.k > 0 ? q->p.a.k : 1;
    product alone = *q;
    alone.p.threads = 1; /* candidates are many and small */
    if (q->rows * q->cols <= MAX_WORK / k) {
        search s = {&alone, got, first_wrong_row(q, got, want), false, f};
        s.need_bits = row_in_bounds(q, got, s.row);
        try_faults(&s);
        product_sums_explain(&alone, got, want, &f->causes);
    }
    if (!f->causes.n) try_models(&alone, got, f);
    if (!f->causes.n && !*f->cause && t->repeats_differ)
        snprintf(f->cause, sizeof f->cause, "runs differ: a race, or a reduction that is missing");
}
