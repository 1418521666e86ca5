/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"

/* An output on the grid of x as 32-bit words: turned ones are turned back. */
static uint32_t *on_grid(const slot *s, const void *data)
{
    mx_dtype d;
    int64_t n = s->grid.rows * s->grid.cols;
    uint32_t *out = data && mx_dtype_find(s->dtype, &d) ? malloc(((size_t)n + 1) * sizeof *out) : NULL;
    for (int64_t i = 0; out && i < n; i++) {
        int64_t r = i / s->grid.cols, c = i % s->grid.cols;
        out[s->turned ? c * s->grid.rows + r : i] = (uint32_t)mx_dtype_bits(&d, data, i);
    }
    return out;
}

static uint8_t *codes_on_grid(const slot *s, const void *data)
{
    uint32_t *words = on_grid(s, data);
    int64_t n = s->grid.rows * s->grid.cols;
    uint8_t *out = words ? malloc((size_t)n + 1) : NULL;
    for (int64_t i = 0; out && i < n; i++)
        out[i] = (uint8_t)words[i];
    free(words);
    return out;
}

static bool take_source(scene *s, const job *j)
{
    mx_dtype d;
    if (j->n_in < 1 || strcmp(j->in[0].role, "x") || !mx_dtype_find(j->in[0].dtype, &d) || !d.format)
        return true;
    int64_t n = s->rows * s->cols;
    if ((int64_t)(j->in[0].rows * j->in[0].row_bytes) != n * d.bytes) return true;
    s->source = d.format;
    s->x = malloc(((size_t)n + 1) * sizeof *s->x);
    for (int64_t i = 0; s->x && i < n; i++) {
        s->x[i] = (float)mx_dtype_value(&d, mx_dtype_bits(&d, j->in[0].data, i));
        if (fabsf(s->x[i]) > s->global_amax) s->global_amax = fabsf(s->x[i]);
    }
    const mx_tensor *given = mx_case_in(j->c, "global_amax");
    if (given && given->bytes >= sizeof(float)) memcpy(&s->global_amax, given->data, sizeof(float));
    return s->x != NULL;
}

scene_block scene_at(const scene *s, int64_t b)
{
    scene_block k = {b / s->grid_cols * s->block_rows, b % s->grid_cols * s->block_cols, s->block_rows,
                     s->block_cols};
    if (k.row + k.rows > s->rows) k.rows = s->rows - k.row;
    if (k.col + k.cols > s->cols) k.cols = s->cols - k.col;
    return k;
}

static const uint8_t *row_of(const scene *s, const uint8_t *codes, scene_block k, int64_t r)
{
    return codes + (k.row + r) * s->cols + k.col;
}

bool scene_equals(const scene *s, int64_t b, const uint8_t *codes, uint32_t scale)
{
    if (s->scale_got && s->scale_got[b] != scale) return false;
    scene_block k = scene_at(s, b);
    for (int64_t r = 0; r < k.rows; r++)
        if (memcmp(row_of(s, s->got, k, r), codes + r * k.cols, (size_t)k.cols)) return false;
    return true;
}

static bool block_is_right(const scene *s, int64_t b)
{
    if (s->scale_got && s->scale_got[b] != s->scale_want[b]) return false;
    scene_block k = scene_at(s, b);
    for (int64_t r = 0; r < k.rows; r++)
        if (memcmp(row_of(s, s->got, k, r), row_of(s, s->want, k, r), (size_t)k.cols)) return false;
    return true;
}

static bool sort_blocks(scene *s)
{
    s->wrong = malloc(SCENE_BLOCKS * sizeof *s->wrong);
    s->right = malloc(SCENE_BLOCKS * sizeof *s->right);
    if (!s->wrong || !s->right) return false;
    for (int64_t b = 0; b < s->grid_rows * s->grid_cols; b++)
        if (block_is_right(s, b)) {
            if (s->n_right < SCENE_BLOCKS) s->right[s->n_right++] = b;
        } else {
            if (s->n_wrong < SCENE_BLOCKS) s->wrong[s->n_wrong++] = b;
            s->all_wrong++;
        }
    return true;
}

/* Blocks of the recipe; a cast has none, and is searched in pieces of a row. */
static void take_blocks(scene *s)
{
    enum { PIECE = 16 };
    mx_recipe_block(s->recipe, s->rows, s->cols, &s->block_rows, &s->block_cols);
    if (!mx_recipe_scale(s->recipe)) {
        s->block_rows = 1;
        s->block_cols = PIECE;
    }
    s->grid_rows = (s->rows + s->block_rows - 1) / s->block_rows;
    s->grid_cols = (s->cols + s->block_cols - 1) / s->block_cols;
}

bool scene_make(scene *s, const trial *t, int out)
{
    const job *j = t->job;
    part p = j->out[out].part;
    bool columnwise = p == PART_CODES_T || p == PART_SCALES_T;
    *s = (scene){.t = t, .recipe = mx_recipe_find(j->c->recipe)};
    if (s->recipe && columnwise) s->recipe = mx_recipe_columnwise(s->recipe);
    if (!s->recipe || p == PART_SOURCE || p == PART_PLAIN || p == PART_PLACED) return false;
    for (int i = 0; i < j->n_out; i++) {
        const slot *o = &j->out[i];
        if (o->part == (columnwise ? PART_CODES_T : PART_CODES)) {
            s->rows = o->turned ? o->grid.cols : o->grid.rows;
            s->cols = o->turned ? o->grid.rows : o->grid.cols;
            s->got = codes_on_grid(o, t->canon[i]);
            s->want = codes_on_grid(o, o->canon);
        }
        if (o->part == (columnwise ? PART_SCALES_T : PART_SCALES)) {
            s->scale_got = on_grid(o, t->canon[i]);
            s->scale_want = on_grid(o, o->canon);
        }
    }
    if (!s->got || !s->want || s->rows < 1 || s->cols < 1) return false;
    take_blocks(s);
    return take_source(s, j) && sort_blocks(s);
}

void scene_free(scene *s)
{
    free(s->x);
    free(s->got);
    free(s->want);
    free(s->scale_got);
    free(s->scale_want);
    free(s->wrong);
    free(s->right);
    *s = (scene){0};
}
