/* SPDX-License-Identifier: Apache-2.0 */
#include "bands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "file.h"

enum { BAND_BYTES = 32 << 20, BAND_ROWS = 128 }; /* BAND_ROWS: whole blocks and tiles of every layout */

typedef struct maker {
    const mx_case *c;
    const mx_data *data;
    const mx_format *format;
    const mx_recipe *recipe;
    int64_t band_rows;
} maker;

static const char *maker_init(maker *m, const mx_case *c, size_t band_bytes)
{
    *m = (maker){c, mx_data_find(c->generator), mx_format_find(c->make_dtype), mx_recipe_find(c->recipe), 0};
    int64_t block_rows, block_cols;
    if (!m->data || !m->format) return "its input has an unknown generator or type";
    if (strcmp(c->operation, "quantize") || !m->recipe || !mx_recipe_scale(m->recipe))
        return "only block quantisation is judged in bands";
    mx_recipe_block(m->recipe, c->make_rows, c->make_cols, &block_rows, &block_cols);
    if (mx_recipe_has_global(m->recipe) || BAND_ROWS % block_rows)
        return "the recipe needs the whole tensor at once";
    int64_t row_bytes = c->make_cols * m->format->bits / 8,
            rows = row_bytes ? (int64_t)band_bytes / row_bytes : 0;
    m->band_rows = rows < BAND_ROWS ? BAND_ROWS : rows / BAND_ROWS * BAND_ROWS;
    return NULL;
}

/* Rows [row, row + rows) of x, and what is wanted of them. */
static mx_status make_band(const maker *m, int64_t row, int64_t rows, mx_case *band, mx_error *e)
{
    *band = *m->c;
    *band->make_digest = 0;
    band->n_in = band->n_want = 0;
    int64_t cols = m->c->make_cols, shape[2] = {rows, cols}, grid[2];
    mx_scale_grid(m->recipe, rows, cols, &grid[0], &grid[1]);
    mx_status status = mx_tensor_make(&band->in[0], "x", m->format->name, 2, shape, e);
    if (status == MX_OK) {
        band->n_in = 1;
        status = mx_tensor_make(&band->want[0], "q", mx_recipe_element(m->recipe)->name, 2, shape, e);
    }
    if (status == MX_OK) {
        band->n_want = 1;
        status = mx_tensor_make(&band->want[1], "scale", mx_recipe_scale(m->recipe)->name, 2, grid, e);
    }
    if (status != MX_OK) return status;
    band->n_want = 2;
    size_t row_bytes = band->in[0].bytes / (size_t)rows;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++)
        mx_data_fill(m->data, m->c->seed, m->format, row + r, 1, cols, cols,
                     band->in[0].data + (size_t)r * row_bytes);
    mx_matrix x = {m->format, band->in[0].data, rows, cols, cols};
    mx_quantized out = {band->want[0].data, band->want[1].data, 1};
    return mx_quantize(m->recipe, &x, &(mx_quantize_options){.seed = m->c->seed}, &out, e);
}

static void free_band(mx_case *band)
{
    for (int i = 0; i < band->n_in; i++)
        mx_tensor_free(&band->in[i]);
    for (int i = 0; i < band->n_want; i++)
        mx_tensor_free(&band->want[i]);
}

/* Findings of the band that starts at `row` speak of the whole tensor. */
static void shift_findings(subject_result *s, size_t from, int64_t row)
{
    for (size_t i = from; i < s->n_findings; i++) {
        finding *f = &s->findings[i];
        size_t n = strlen(f->text);
        snprintf(f->text + n, sizeof f->text - n, ", in the band from row %lld", (long long)row);
        for (int k = 0; k < f->n_elements; k++)
            f->element[k].row += row;
        f->map.first_row = row;
    }
}

/* Every check counts once for the case: passed where it passed in all bands. */
static void merge(result *r, subject_result *to, const subject_result *bands, case_row *row)
{
    for (size_t i = 0; i < check_count_all; i++) {
        const check_count *n = &bands->counts[i];
        to->counts[i].failed += n->failed > 0;
        to->counts[i].open += !n->failed && n->open;
        to->counts[i].not_run += !n->failed && n->not_run;
        to->counts[i].passed += !n->failed && !n->open && !n->not_run && n->passed;
    }
    for (size_t i = 0; i < bands->n_findings; i++)
        result_add_finding(r, to, &bands->findings[i], row);
    for (size_t i = 0; i < bands->n_reasons && row->verdict == JUDGED_NOT_RUN; i++)
        result_not_run(to, bands->reasons[i].text, row);
}

static void not_run(subject_result *to, case_row *row, const char *why)
{
    row->verdict = JUDGED_NOT_RUN;
    result_not_run(to, why, row);
}

void judge_made(result *r, subject_result *to, subject *s, int op, const mx_case *c, const judge_options *o,
                case_row *row)
{
    maker m;
    const char *why = maker_init(&m, c, o->band_bytes ? o->band_bytes : BAND_BYTES);
    result scratch = {.max_findings = r->max_findings};
    if (!why && !result_add_subject(&scratch, s->name)) why = "out of memory";
    mx_case *band = why ? NULL : malloc(sizeof *band);
    mx_digest *digest = mx_digest_begin();
    mx_error e = {0};
    for (int64_t at = 0; band && !why && at < c->make_rows && row->verdict == JUDGED_PASSED;
         at += m.band_rows) {
        int64_t rows = c->make_rows - at < m.band_rows ? c->make_rows - at : m.band_rows;
        size_t known = scratch.subjects->n_findings;
        if (make_band(&m, at, rows, band, &e) == MX_OK) {
            mx_digest_add(digest, band->in[0].data, band->in[0].bytes);
            judge_stored(&scratch, result_last(&scratch), s, op, band, o, row);
        } else
            why = e.message;
        shift_findings(result_last(&scratch), known, at);
        free_band(band);
    }
    char hex[MX_SHA256_TEXT];
    mx_digest_end(digest, hex);
    row->finding = row->reason = -1; /* were indices into the scratch result */
    if (!why && row->verdict == JUDGED_PASSED && strcmp(hex, c->make_digest))
        why = "the input that was made has another SHA-256 than the case says";
    if (why)
        not_run(to, row, why);
    else
        merge(r, to, result_last(&scratch), row);
    free(band);
    result_free(&scratch);
}
