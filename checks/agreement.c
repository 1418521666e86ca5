/* SPDX-License-Identifier: Apache-2.0 */
#include "agreement.h"

#include <math.h>
#include <stdbool.h>

typedef struct sums {
    double x2, y2, xy, e2;
} sums;

static const double *row_of(const tensor_view *v, int64_t r)
{
    int64_t at = v->group ? r / v->group * v->group_step + r % v->group : r;
    return v->x + at * v->cols;
}

static double ratio(double e2, double x2) { return x2 > 0 ? sqrt(e2 / x2) : e2 > 0 ? 1e300 : 0; }

static void add_element(agreement *a, sums *s, int64_t *same, int64_t *signed_n, double x, double y)
{
    if (!isfinite(y)) {
        a->nonfinite += isfinite(x);
        return;
    }
    s->x2 += x * x;
    s->y2 += y * y;
    s->xy += x * y;
    s->e2 += (y - x) * (y - x);
    *signed_n += x != 0;
    *same += x != 0 && y != 0 && signbit(x) == signbit(y);
}

static void add_sums(sums *to, const sums *s)
{
    to->x2 += s->x2;
    to->y2 += s->y2;
    to->xy += s->xy;
    to->e2 += s->e2;
}

agreement agree(const tensor_view *x, const tensor_view *y)
{
    agreement a = {.n = x->rows * x->cols, .worst_row = -1, .worst_block_row = -1, .worst_block_col = -1};
    sums all = {0};
    int64_t same = 0, signed_n = 0;
    double worst_empty = 0;
    int64_t empty_row = -1;
    for (int64_t r = 0; r < x->rows; r++) {
        sums row = {0};
        for (int64_t c = 0; c < x->cols; c += AGREEMENT_BLOCK) {
            sums block = {0};
            for (int64_t j = c; j < x->cols && j < c + AGREEMENT_BLOCK; j++)
                add_element(&a, &block, &same, &signed_n, row_of(x, r)[j], row_of(y, r)[j]);
            add_sums(&row, &block);
            if (block.x2 > 0 && ratio(block.e2, block.x2) > a.worst_block_relative) {
                a.worst_block_relative = ratio(block.e2, block.x2);
                a.worst_block_row = r;
                a.worst_block_col = c;
            }
        }
        add_sums(&all, &row);
        if (!(row.x2 > 0) && row.e2 > worst_empty) {
            worst_empty = row.e2;
            empty_row = r;
        } else if (row.x2 > 0 && ratio(row.e2, row.x2) > a.worst_row_relative) {
            a.worst_row_relative = ratio(row.e2, row.x2);
            a.worst_row = r;
        }
    }
    if (empty_row >= 0 && ratio(worst_empty, all.x2 / (double)x->rows) > a.worst_row_relative) {
        a.worst_row_relative = ratio(worst_empty, all.x2 / (double)x->rows);
        a.worst_row = empty_row;
    }
    a.relative = ratio(all.e2, all.x2);
    a.cosine = all.x2 > 0 && all.y2 > 0 ? all.xy / sqrt(all.x2) / sqrt(all.y2) : all.x2 == all.y2;
    a.norm_ratio = all.x2 > 0 ? sqrt(all.y2 / all.x2) : all.y2 == 0;
    a.projection = all.x2 > 0 ? all.xy / all.x2 : all.y2 == 0;
    a.signs = signed_n ? (double)same / (double)signed_n : 1;
    a.sqnr = a.relative > 1e-15 ? -20 * log10(a.relative) : 300;
    return a;
}

void agreement_to_json(const agreement *a, json_t *o)
{
    json_object_set_new(o, "n", json_integer(a->n));
    json_object_set_new(o, "rel_l2", json_real(a->relative));
    json_object_set_new(o, "cosine", json_real(a->cosine));
    json_object_set_new(o, "norm_ratio", json_real(a->norm_ratio));
    json_object_set_new(o, "projection", json_real(a->projection));
    json_object_set_new(o, "sign_agreement", json_real(a->signs));
    json_object_set_new(o, "sqnr_db", json_real(a->sqnr));
    json_object_set_new(o, "worst_row", json_integer(a->worst_row));
    json_object_set_new(o, "worst_row_rel", json_real(a->worst_row_relative));
    json_object_set_new(o, "worst_block",
                        json_pack("[II]", (json_int_t)a->worst_block_row, (json_int_t)a->worst_block_col));
    json_object_set_new(o, "worst_block_rel", json_real(a->worst_block_relative));
    json_object_set_new(o, "nonfinite", json_integer(a->nonfinite));
}
