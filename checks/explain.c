/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "explain_place.h"
#include "quantize.h"
#include "scene.h"

enum { MAX_BLOCK = 1 << 20 }; /* elements of the largest block that is searched */

/* What one candidate explains: how many of the wrong blocks, and does it leave the right ones right? */
typedef struct score {
    size_t wrong, right;
} score;

typedef struct best {
    char cause[160];
    score score;
    causes *complete; /* all that reproduce everything */
} best;

/* One candidate: the bytes that it would give for a block. */
typedef struct candidate {
    const mx_recipe *recipe;
    int scale_offset;      /* added to the stored scale; elements follow it */
    bool scale_unfollowed; /* the stored scale alone is off, elements are as wanted */
} candidate;

static uint32_t requantize(const scene *s, const candidate *k, int64_t b, uint8_t *codes)
{
    scene_block at = scene_at(s, b);
    mx_block block = {.x = s->x + at.row * s->cols + at.col,
                      .rows = at.rows,
                      .cols = at.cols,
                      .row_stride = s->cols,
                      .col_stride = 1,
                      .source = s->source,
                      .global_amax = s->global_amax,
                      .seed = s->t->job->c->seed,
                      .index = (uint64_t)(at.row * s->cols + at.col),
                      .index_stride = (uint64_t)s->cols};
    uint32_t scale = mx_quantize_block(k->recipe, &block, codes, at.cols);
    if (!k->scale_offset) return scale;
    int moved = (int)scale + k->scale_offset;
    if (moved < 0 || moved > 0xFE) return UINT32_MAX; /* equals no byte */
    double factor = ldexp(1, 127 - moved);
    for (int64_t i = 0; i < at.rows * at.cols && !k->scale_unfollowed; i++) {
        float x = block.x[i / at.cols * s->cols + i % at.cols];
        codes[i] = (uint8_t)mx_cast_element(k->recipe, (float)(x * factor), 0);
    }
    return (uint32_t)moved;
}

static score rate(const scene *s, const candidate *k, uint8_t *codes)
{
    score n = {0, 0};
    for (size_t i = 0; i < s->n_wrong; i++) {
        n.wrong += scene_equals(s, s->wrong[i], codes, requantize(s, k, s->wrong[i], codes));
        if (i == 63 && n.wrong == 0) return n; /* hopeless */
    }
    if (n.wrong == s->n_wrong)
        for (size_t i = 0; i < s->n_right; i++)
            n.right += scene_equals(s, s->right[i], codes, requantize(s, k, s->right[i], codes));
    return n;
}

static void consider(const scene *s, const candidate *k, uint8_t *codes, best *b, const char *cause)
{
    score n = rate(s, k, codes);
    causes *all = b->complete;
    if (n.wrong == s->n_wrong && n.right == s->n_right && all->n < FINDING_CAUSES)
        snprintf(all->text[all->n++], sizeof all->text[0], "%s", cause);
    bool better = n.wrong > b->score.wrong || (n.wrong == b->score.wrong && n.right > b->score.right);
    if (!better) return;
    b->score = n;
    snprintf(b->cause, sizeof b->cause, "%s", cause);
}

static void try_faults(const scene *s, uint8_t *codes, best *b)
{
    for (size_t i = 0; i < recipe_fault_count; i++) {
        mx_recipe broken = *s->recipe;
        if (!recipe_faults[i].plant(&broken)) continue;
        consider(s, &(candidate){.recipe = &broken}, codes, b, recipe_faults[i].cause);
    }
}

static void try_scale_offsets(const scene *s, uint8_t *codes, best *b)
{
    const mx_format *f = mx_recipe_scale(s->recipe);
    for (int magnitude = 1; f && f->kind == MX_KIND_EXPONENT && magnitude <= 8; magnitude++)
        for (int sign = 1; sign >= -1; sign -= 2)
            for (int unfollowed = 0; unfollowed < 2; unfollowed++) {
                candidate k = {s->recipe, sign * magnitude, unfollowed};
                char cause[160];
                snprintf(cause, sizeof cause, "the scale is off by %+d everywhere%s", k.scale_offset,
                         unfollowed ? ", but the elements do not follow it" : "");
                consider(s, &k, codes, b, cause);
            }
}

static bool comparable(const mx_recipe *a, const mx_recipe *b)
{
    return a != b && a->element->bits == b->element->bits && !a->scale == !b->scale &&
           (!a->scale || (a->scale->bits == b->scale->bits && a->block_rows == b->block_rows &&
                          a->block_cols == b->block_cols));
}

static void try_recipes(const scene *s, uint8_t *codes, best *b)
{
    for (size_t i = 0; i < mx_recipe_count(); i++) {
        const mx_recipe *r = mx_recipe_at(i);
        if (!comparable(r, s->recipe) || r->hadamard) continue;
        char cause[160];
        snprintf(cause, sizeof cause, "follows recipe %.48s instead of %.48s", r->name, s->recipe->name);
        consider(s, &(candidate){.recipe = r}, codes, b, cause);
    }
}

/* Elements that sit at the format's maximum in the wrong blocks, got against wanted: another scale rule
 * that clips is no fault of the element cast. */
static size_t count_clipped(const scene *s, const uint8_t *codes)
{
    size_t n = 0;
    uint32_t mask = (1u << (s->recipe->element->bits - 1)) - 1;
    for (size_t i = 0; i < s->n_wrong; i++) {
        scene_block k = scene_at(s, s->wrong[i]);
        for (int64_t e = 0; e < k.rows * k.cols; e++)
            n += (codes[(k.row + e / k.cols) * s->cols + k.col + e % k.cols] & mask) ==
                 s->recipe->element->max_code;
    }
    return n;
}

/* What explains only part; or, beside complete causes, what else is worth saying. */
static void tell(const scene *s, const best *b, finding *f)
{
    size_t got = count_clipped(s, s->got), want = count_clipped(s, s->want);
    if (s->recipe->scale && s->recipe->element->is_signed && got > want)
        snprintf(f->aside, sizeof f->aside, "%zu elements are clipped by its scale", got - want);
    if (!b->score.wrong || f->causes.n) return;
    const char *searched = s->all_wrong > s->n_wrong ? " searched" : "";
    if (b->score.wrong == s->n_wrong)
        snprintf(f->cause, sizeof f->cause, "%s (all %zu wrong blocks, but not everywhere)", b->cause,
                 s->n_wrong);
    else
        snprintf(f->cause, sizeof f->cause, "%s (explains %zu of %zu wrong blocks%s)", b->cause,
                 b->score.wrong, s->n_wrong, searched);
}

static void search(const scene *s, finding *f)
{
    best b = {.complete = &f->causes};
    uint8_t *codes = malloc((size_t)(s->block_rows * s->block_cols) + 1);
    if (codes && s->x && !s->recipe->hadamard) {
        try_faults(s, codes, &b);
        try_scale_offsets(s, codes, &b);
        if (!f->causes.n) try_recipes(s, codes, &b);
    }
    free(codes);
    tell(s, &b, f);
}

bool explain_block(const trial *t, const slot *codes, int64_t *rows, int64_t *cols)
{
    const mx_recipe *r = mx_recipe_find(t->job->c->recipe);
    if (r && codes->part == PART_CODES_T) r = mx_recipe_columnwise(r);
    if (!r || !mx_recipe_scale(r)) return false;
    bool turned = codes->turned;
    mx_recipe_block(r, turned ? codes->grid.cols : codes->grid.rows,
                    turned ? codes->grid.rows : codes->grid.cols, rows, cols);
    return *rows > 0 && *cols > 0;
}

void explain(const trial *t, int out, finding *f)
{
    char *sure = f->causes.text[0];
    if (explain_place(t, out, sure, sizeof f->causes.text[0]) ||
        explain_values(t, out, sure, sizeof f->causes.text[0])) {
        f->causes.n = 1;
        return;
    }
    scene s;
    if (scene_make(&s, t, out) && s.block_rows * s.block_cols <= MAX_BLOCK && s.n_wrong) {
        search(&s, f);
        if (!f->causes.n) f->causes.n = explain_blocks_moved(&s, sure, sizeof f->causes.text[0]);
    }
    scene_free(&s);
}
