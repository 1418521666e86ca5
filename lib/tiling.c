/* SPDX-License-Identifier: Apache-2.0
 * Offsets, inverses and sizes of tiled layouts. See tiling.h. */
#include "tiling.h"

static int64_t tiles_of(int64_t n, int pad, int tile) { return (n / pad + (n % pad != 0)) * (pad / tile); }

/* Tiles along the slow and the fast direction, and units from one slow step to the next. */
typedef struct extent {
    int64_t slow, fast, lead;
} extent;

static bool extent_of(const mx_tiling *t, const mx_grid *g, extent *x)
{
    if (g->rows < 0 || g->cols < 0 || g->rows > INT64_MAX - t->pad_rows || g->cols > INT64_MAX - t->pad_cols)
        return false;
    int64_t down = tiles_of(g->rows, t->pad_rows, t->tile_rows);
    int64_t across = tiles_of(g->cols, t->pad_cols, t->tile_cols);
    x->slow = t->column_major ? across : down;
    x->fast = t->column_major ? down : across;
    if (__builtin_mul_overflow(x->fast, (int64_t)t->stride, &x->lead)) return false;
    if (t->pitched && g->pitch) {
        if (g->pitch < x->lead || g->pitch % t->stride != 0) return false; /* rows start at a whole byte */
        x->lead = g->pitch;
    }
    return true;
}

/* A pitched grid ends with its last element: what a kernel may touch, not a whole last pitch. */
static int64_t ungrouped_size(const mx_tiling *t, const mx_grid *g)
{
    extent x;
    int64_t before, size;
    if (!extent_of(t, g, &x)) return -1;
    if (x.slow == 0 || x.fast == 0) return 0;
    if (__builtin_mul_overflow(x.slow - 1, x.lead, &before) ||
        __builtin_add_overflow(before, x.fast * t->stride, &size))
        return -1;
    return size;
}

int64_t mx_tiling_groups(const mx_tiling *t, const mx_grid *g)
{
    return t->grouped && g->groups ? g->n_groups : 1;
}

mx_grid mx_tiling_group(const mx_tiling *t, const mx_grid *g, int64_t group)
{
    mx_grid one = *g;
    one.groups = NULL;
    one.n_groups = 0;
    if (t->grouped && g->groups && __builtin_sub_overflow(g->groups[group + 1], g->groups[group], &one.rows))
        one.rows = -1; /* refused by every function that sizes it */
    return one;
}

int64_t mx_tiling_size(const mx_tiling *t, const mx_grid *g)
{
    int64_t total = 0;
    for (int64_t i = 0; i < mx_tiling_groups(t, g); i++) {
        mx_grid one = mx_tiling_group(t, g, i);
        int64_t size = ungrouped_size(t, &one);
        if (size < 0 || __builtin_add_overflow(total, size, &total)) return -1;
    }
    return total;
}

int mx_tiling_within(const mx_tiling *t, int r, int c)
{
    int unit = 0;
    for (int i = 0; i < t->n_digits; i++) {
        const mx_tile_digit *d = &t->digit[i];
        unit += (d->of_col ? c : r) / d->div % d->mod * d->step;
    }
    return t->base + (unit ^ t->flip);
}

mx_tiling_steps mx_tiling_steps_of(const mx_tiling *t, const mx_grid *g)
{
    extent x = {0, 0, 0};
    extent_of(t, g, &x);
    return t->column_major ? (mx_tiling_steps){t->stride, x.lead} : (mx_tiling_steps){x.lead, t->stride};
}

/* The group of row r, and the unit where it starts. Empty groups hold no row. */
static int64_t group_of_row(const mx_tiling *t, const mx_grid *g, int64_t r, int64_t *start)
{
    int64_t group = 0;
    *start = 0;
    while (group + 1 < mx_tiling_groups(t, g) && r >= g->groups[group + 1]) {
        mx_grid one = mx_tiling_group(t, g, group++);
        *start += ungrouped_size(t, &one);
    }
    return group;
}

int64_t mx_tiling_offset(const mx_tiling *t, const mx_grid *g, int64_t r, int64_t c)
{
    int64_t start, group = group_of_row(t, g, r, &start);
    mx_grid one = mx_tiling_group(t, g, group);
    if (t->grouped && g->groups) r -= g->groups[group];
    mx_tiling_steps step = mx_tiling_steps_of(t, &one);
    return start + r / t->tile_rows * step.row_step + c / t->tile_cols * step.col_step +
           mx_tiling_within(t, (int)(r % t->tile_rows), (int)(c % t->tile_cols));
}

/* The element at `unit` of a tile; false: something else lives there. */
static bool inverse_within(const mx_tiling *t, int64_t unit, int64_t *r, int64_t *c)
{
    if (unit < t->base || unit >= t->base + t->tile_rows * t->tile_cols) return false;
    int64_t u = (unit - t->base) ^ t->flip;
    for (int i = 0; i < t->n_digits; i++) {
        const mx_tile_digit *d = &t->digit[i];
        *(d->of_col ? c : r) += u / d->step % d->mod * d->div;
    }
    return true;
}

bool mx_tiling_inverse(const mx_tiling *t, const mx_grid *g, int64_t offset, int64_t *r, int64_t *c)
{
    if (offset < 0) return false;
    int64_t group = 0, first_row = 0;
    mx_grid one = mx_tiling_group(t, g, 0);
    if (mx_tiling_groups(t, g) == 0) return false;
    for (int64_t size; offset >= (size = ungrouped_size(t, &one)); one = mx_tiling_group(t, g, group)) {
        offset -= size;
        if (++group >= mx_tiling_groups(t, g)) return false;
    }
    if (t->grouped && g->groups) first_row = g->groups[group];

    extent x;
    if (!extent_of(t, &one, &x)) return false;
    int64_t slow = offset / x.lead, rest = offset % x.lead;
    int64_t fast = rest / t->stride;
    if (fast >= x.fast) return false; /* between the end of a row and the next pitch */
    *r = (t->column_major ? fast : slow) * t->tile_rows;
    *c = (t->column_major ? slow : fast) * t->tile_cols;
    if (!inverse_within(t, rest % t->stride, r, c) || *r >= one.rows || *c >= one.cols) return false;
    *r += first_row;
    return true;
}
