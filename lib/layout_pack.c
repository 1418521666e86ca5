/* SPDX-License-Identifier: Apache-2.0
 * Placing grids by a layout, reading them back, and finding the layout of bytes seen. */
#include <string.h>

#include "mx.h"
#include "tiling.h"

int64_t mx_layout_bytes(const mx_layout *l, const mx_grid *g)
{
    int64_t units = l->size(g), bytes;
    if (units < 0) return -1;
    if (l->unit_bits == 4) return units / 2; /* tiles of nibbles are whole bytes */
    return __builtin_mul_overflow(units, (int64_t)(l->unit_bits / 8), &bytes) ? -1 : bytes;
}

static bool groups_are_sound(const mx_grid *g)
{
    if (!g->groups) return true;
    if (g->n_groups < 0 || g->groups[0] != 0 || g->groups[g->n_groups] != g->rows) return false;
    for (int64_t i = 0; i < g->n_groups; i++)
        if (g->groups[i + 1] < g->groups[i]) return false;
    return true;
}

static mx_status check_grid(const mx_layout *l, const mx_grid *g, mx_error *e)
{
    if (!groups_are_sound(g))
        return mx_fail(e, MX_BAD_INPUT, l->name, "group offsets do not ascend from 0 to %lld rows",
                       (long long)g->rows);
    if (mx_layout_bytes(l, g) < 0)
        return mx_fail(e, MX_BAD_INPUT, l->name, "impossible grid: %lld rows, %lld columns, pitch %lld",
                       (long long)g->rows, (long long)g->cols, (long long)g->pitch);
    return MX_OK;
}

/* Calls visit(context, canonical index, unit offset) for every element, row by row; stops at false. The
 * places inside a tile are tabled once, so that an element costs no division. */
typedef bool (*visitor)(void *context, int64_t index, int64_t unit);

static inline bool walk_group(const mx_tiling *t, const mx_grid *g, const int16_t *within, int64_t start,
                              int64_t index, visitor visit, void *context)
{
    mx_tiling_steps step = mx_tiling_steps_of(t, g);
    for (int64_t r = 0; r < g->rows; r++) {
        const int16_t *place = within + r % t->tile_rows * t->tile_cols;
        int64_t tile = start + r / t->tile_rows * step.row_step;
        for (int64_t c = 0; c < g->cols; tile += step.col_step)
            for (int i = 0; i < t->tile_cols && c < g->cols; i++, c++)
                if (!visit(context, index++, tile + place[i])) return false;
    }
    return true;
}

static inline bool walk(const mx_tiling *t, const mx_grid *g, visitor visit, void *context)
{
    int16_t within[MX_TILE_MAX];
    for (int r = 0; r < t->tile_rows; r++)
        for (int c = 0; c < t->tile_cols; c++)
            within[r * t->tile_cols + c] = (int16_t)mx_tiling_within(t, r, c);
    int64_t start = 0, index = 0;
    for (int64_t i = 0; i < mx_tiling_groups(t, g); i++) {
        mx_grid one = mx_tiling_group(t, g, i);
        if (!walk_group(t, &one, within, start, index, visit, context)) return false;
        start += mx_tiling_size(t, &one);
        index += one.rows * one.cols;
    }
    return true;
}

static uint32_t read_unit(const uint8_t *p, int bits, int64_t unit)
{
    uint32_t word;
    if (bits == 4) return p[unit / 2] >> unit % 2 * 4 & 0xF;
    if (bits == 8) return p[unit];
    memcpy(&word, p + unit * 4, sizeof word);
    return word;
}

static void write_unit(uint8_t *p, int bits, int64_t unit, uint32_t value)
{
    if (bits == 4) {
        int shift = unit % 2 * 4;
        p[unit / 2] = (uint8_t)((p[unit / 2] & ~(0xF << shift)) | (value & 0xF) << shift);
    } else if (bits == 8)
        p[unit] = (uint8_t)value;
    else
        memcpy(p + unit * 4, &value, sizeof value);
}

typedef struct move {
    const uint8_t *from;
    uint8_t *to;
    int from_bits, to_bits;
} move;

static bool put(void *context, int64_t index, int64_t unit)
{
    const move *m = context;
    write_unit(m->to, m->to_bits, unit, read_unit(m->from, m->from_bits, index));
    return true;
}

static bool take(void *context, int64_t index, int64_t unit)
{
    const move *m = context;
    write_unit(m->to, m->to_bits, index, read_unit(m->from, m->from_bits, unit));
    return true;
}

static void fill_pads(const mx_layout *l, int64_t bytes, uint8_t *out)
{
    if (l->pad < 0) return;
    if (l->unit_bits == 32)
        for (int64_t i = 0; i < bytes / 4; i++)
            write_unit(out, 32, i, (uint32_t)l->pad);
    else if (bytes)
        memset(out, l->unit_bits == 4 ? (int)(l->pad * 0x11) : (int)l->pad, (size_t)bytes);
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

static bool whole_units(const mx_layout *l)
{
    return l->tiling->tile_rows * l->tiling->tile_cols == 1 && l->unit_bits >= 8 && !l->tiling->grouped;
}

static inline void copy_units(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (bytes == 1)
        *to = *from;
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

/* Grids without tiles are the large ones: rows that stay together are copied whole, transposed ones square
 * by square, for the cache's sake. Grid `a` has its units at r * a.row_step + c * a.col_step, b likewise. */
static void copy_strided(const mx_grid *g, size_t width, const uint8_t *from, mx_tiling_steps a, uint8_t *to,
                         mx_tiling_steps b)
{
    enum { SQUARE = 64 };
    const bool whole = a.col_step == 1 && b.col_step == 1;
    const int64_t run = whole ? g->cols : 1, across = whole ? g->cols : SQUARE;
    for (int64_t r0 = 0; r0 < g->rows; r0 += SQUARE)
        for (int64_t c0 = 0; c0 < g->cols; c0 += across)
            for (int64_t r = r0; r < lesser(r0 + SQUARE, g->rows); r++)
                for (int64_t c = c0; c < lesser(c0 + across, g->cols); c += run)
                    copy_units(to + (size_t)(r * b.row_step + c * b.col_step) * width,
                               from + (size_t)(r * a.row_step + c * a.col_step) * width, (size_t)run * width);
}

mx_status mx_layout_pack(const mx_layout *l, const mx_grid *g, const void *canonical, void *out, mx_error *e)
{
    mx_status status = check_grid(l, g, e);
    if (status) return status;
    fill_pads(l, mx_layout_bytes(l, g), out);
    if (whole_units(l)) {
        mx_tiling_steps dense = {g->cols, 1};
        copy_strided(g, l->unit_bits / 8, canonical, dense, out, mx_tiling_steps_of(l->tiling, g));
        return MX_OK;
    }
    move m = {canonical, out, mx_layout_canonical_bits(l), l->unit_bits};
    walk(l->tiling, g, put, &m);
    return MX_OK;
}

mx_status mx_layout_unpack(const mx_layout *l, const mx_grid *g, const void *in, void *canonical, mx_error *e)
{
    mx_status status = check_grid(l, g, e);
    if (status) return status;
    if (whole_units(l)) {
        mx_tiling_steps dense = {g->cols, 1};
        copy_strided(g, l->unit_bits / 8, in, mx_tiling_steps_of(l->tiling, g), canonical, dense);
        return MX_OK;
    }
    move m = {in, canonical, l->unit_bits, mx_layout_canonical_bits(l)};
    walk(l->tiling, g, take, &m);
    return MX_OK;
}

/* ---- explanation ---------------------------------------------------------------------------------- */

typedef struct comparison {
    const uint8_t *canonical, *seen;
    int canonical_bits, unit_bits;
} comparison;

static bool same(void *context, int64_t index, int64_t unit)
{
    const comparison *c = context;
    return read_unit(c->canonical, c->canonical_bits, index) == read_unit(c->seen, c->unit_bits, unit);
}

static int64_t others(const uint8_t *p, int bits, int64_t n, uint32_t value)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += read_unit(p, bits, i) != value;
    return count;
}

/* Once every element is in its place, what else differs from the pad is padding. */
static int64_t wrong_pads(const mx_layout *l, const mx_grid *g, const comparison *c)
{
    uint32_t pad = (uint32_t)l->pad;
    if (l->pad < 0) return 0;
    return others(c->seen, l->unit_bits, l->size(g), pad) -
           others(c->canonical, c->canonical_bits, g->rows * g->cols, pad);
}

static bool matches(const mx_layout *l, const mx_grid *g, const comparison *base, int64_t seen_bytes,
                    mx_layout_match *match)
{
    comparison c = *base;
    c.unit_bits = l->unit_bits;
    int64_t bytes = mx_layout_bytes(l, g);
    if (bytes < 0 || bytes > seen_bytes || !walk(l->tiling, g, same, &c)) return false;
    match->layout = l;
    match->bytes = bytes;
    match->wrong_pads = wrong_pads(l, g, base);
    return true;
}

static bool better(const mx_layout_match *a, const mx_layout_match *b)
{
    if (a->bytes != b->bytes) return a->bytes > b->bytes;
    return a->wrong_pads < b->wrong_pads;
}

/* Insertion into the `kept` best so far; a worse one falls off the end. */
static size_t insert(mx_layout_match *out, size_t room, size_t kept, mx_layout_match match)
{
    for (size_t i = 0; i < kept; i++)
        if (better(&match, &out[i])) {
            mx_layout_match pushed = out[i];
            out[i] = match;
            match = pushed;
        }
    if (kept < room) out[kept++] = match;
    return kept;
}

size_t mx_layout_explain(const mx_grid *g, bool scales, int bits, const void *canonical, const void *seen,
                         int64_t seen_bytes, mx_layout_match *out, size_t room)
{
    comparison base = {canonical, seen, bits, 0};
    size_t n = 0, kept = 0;
    if (!groups_are_sound(g)) return 0;
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = mx_layout_at(i);
        if (!(scales ? l->for_scales : l->for_codes) || mx_layout_canonical_bits(l) != bits) continue;
        for (int variant = 0; variant < 4; variant++) {
            mx_layout_match match = {NULL, variant & 1, variant & 2, 0, 0};
            mx_grid grid = *g;
            if (match.groups_ignored && !(l->grouped && g->groups)) continue;
            if (match.pitch_ignored && !(l->tiling->pitched && g->pitch)) continue;
            if (match.groups_ignored) grid.groups = NULL;
            if (match.pitch_ignored) grid.pitch = 0;
            if (matches(l, &grid, &base, seen_bytes, &match)) {
                kept = insert(out, room, kept, match);
                n++;
            }
        }
    }
    return n;
}
