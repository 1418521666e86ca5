/* SPDX-License-Identifier: Apache-2.0 */
#include "explain_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"

/* An output as seen: raw bytes, the same on the grid, and what was wanted. */
typedef struct seen {
    const slot *s;
    const unsigned char *raw, *got, *want;
    int64_t rows, cols, n;
    mx_dtype d;
} seen;

static uint64_t at(const seen *v, const unsigned char *p, int64_t i) { return mx_dtype_bits(&v->d, p, i); }

/* Does `want` at index map(i) reproduce everything seen? */
typedef int64_t (*mapping)(const seen *v, int64_t i);

static bool reproduces(const seen *v, mapping map)
{
    for (int64_t i = 0; i < v->n; i++) {
        int64_t k = map(v, i);
        if (k < 0 || k >= v->n || at(v, v->got, i) != at(v, v->want, k)) return false;
    }
    return v->n > 0;
}

/* The bytes are the transposed matrix: element (c, r) where (r, c) belongs. */
static int64_t transposed_index(const seen *v, int64_t i) { return i % v->rows * v->cols + i / v->rows; }
static int64_t swapped_pair(const seen *v, int64_t i)
{
    return i % v->cols + 1 < v->cols || i % 2 ? i ^ 1 : i;
}
static int64_t row_before(const seen *v, int64_t i) { return i < v->cols ? i : i - v->cols; }

static const struct {
    mapping map;
    const char *cause;
} maps[] = {
    {transposed_index, "the matrix is transposed"},
    {swapped_pair, "neighbours 2i and 2i+1 are swapped"},
    {row_before, "every row holds what belongs to the row before"},
};

/* Do all elements hold these bits; or, of those that are wrong, all? */
static bool all_are(const seen *v, uint64_t bits, bool wrong_ones)
{
    for (int64_t i = 0; i < v->n; i++)
        if (at(v, v->got, i) != bits && !(wrong_ones && at(v, v->got, i) == at(v, v->want, i))) return false;
    return v->n > 0;
}

/* Swapped nibbles inside each byte, whatever the layout says of order. */
static bool nibbles_swapped(const seen *v)
{
    unsigned char *packed = malloc(v->s->bytes + 1);
    bool same = packed && v->s->layout && v->s->layout->unit_bits == 4;
    if (same) {
        memcpy(packed, v->raw, v->s->bytes);
        same = mx_layout_pack(v->s->layout, &v->s->grid, v->want, packed, NULL) == MX_OK;
    }
    for (size_t i = 0; same && i < v->s->bytes; i++)
        same = v->raw[i] == (unsigned char)(packed[i] >> 4 | packed[i] << 4);
    free(packed);
    return same && v->s->bytes;
}

static bool another_layout(const seen *v, char *cause, size_t size)
{
    mx_layout_match match[1];
    bool scales = v->s->part == PART_SCALES || v->s->part == PART_SCALES_T;
    const char *claimed = v->s->layout ? v->s->layout->name : "row-major";
    size_t n = mx_layout_explain(&v->s->grid, scales, v->d.bytes * 8, v->want, v->raw, (int64_t)v->s->bytes,
                                 match, 1);
    if (!n || (v->s->layout == match->layout && !match->groups_ignored)) return false;
    snprintf(cause, size, "the bytes lie in layout %s%s, not in the claimed %s", match->layout->name,
             match->groups_ignored ? " with the expert groups ignored" : "", claimed);
    return true;
}

bool explain_place(const trial *t, int out, char *cause, size_t size)
{
    const slot *s = &t->job->out[out];
    seen v = {.s = s, .raw = t->run[0].out[out], .got = t->canon[out], .want = s->canon};
    if (!v.raw || !v.got || !v.want || !mx_dtype_find(s->dtype, &v.d)) return false;
    v.n = (int64_t)(s->canon_bytes / v.d.bytes);
    v.cols = s->grid.cols ? s->grid.cols : (int64_t)(s->row_bytes / v.d.bytes);
    v.rows = v.cols ? v.n / v.cols : 0;
    if (v.n < 2) return false;
    if (all_are(&v, 0, false)) return snprintf(cause, size, "the whole output is zero"), true;
    uint64_t poison = 0;
    memset(&poison, variants[0].poison, v.d.bytes);
    if (all_are(&v, poison, false)) return snprintf(cause, size, "the output was never written"), true;
    if (all_are(&v, poison, true))
        return snprintf(cause, size, "the wrong elements were never written"), true;
    if (nibbles_swapped(&v)) return snprintf(cause, size, "the nibbles of each byte are swapped"), true;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (reproduces(&v, maps[i].map)) return snprintf(cause, size, "%s", maps[i].cause), true;
    return s->grid.cols && another_layout(&v, cause, size);
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

/* Does block b, as seen, hold what was wanted of block k? Only blocks of one shape can. */
static bool holds(const scene *s, int64_t b, int64_t k, bool codes_too)
{
    scene_block to = scene_at(s, b), from = scene_at(s, k);
    if (s->scale_got && s->scale_got[b] != s->scale_want[k]) return false;
    if (to.rows != from.rows || to.cols != from.cols) return false;
    for (int64_t r = 0; r < to.rows && codes_too; r++)
        if (memcmp(s->got + (to.row + r) * s->cols + to.col, s->want + (from.row + r) * s->cols + from.col,
                   (size_t)to.cols))
            return false;
    return true;
}

static bool all_moved(const scene *s, int64_t distance, bool codes_too)
{
    int64_t blocks = s->grid_rows * s->grid_cols;
    for (size_t i = 0; i < s->n_wrong; i++) {
        int64_t k = s->wrong[i] + distance;
        if (k < 0 || k >= blocks || !holds(s, s->wrong[i], k, codes_too)) return false;
    }
    return true;
}

bool explain_blocks_moved(const scene *s, char *cause, size_t size)
{
    int64_t blocks = s->grid_rows * s->grid_cols;
    if (s->n_wrong < 2 || blocks > 65536) return false;
    for (int codes_too = 1; codes_too >= (s->scale_got ? 0 : 1); codes_too--)
        for (int64_t far = 1; far < blocks; far++)
            for (int sign = -1; sign <= 1; sign += 2) {
                int64_t distance = sign * far;
                if (!all_moved(s, distance, codes_too)) continue;
                snprintf(cause, size,
                         "%zu wrong blocks hold the %s of the block %lld further %s: a wrong index",
                         s->n_wrong, codes_too ? "bytes" : "scale", (long long)far, sign < 0 ? "back" : "on");
                return true;
            }
    return false;
}
