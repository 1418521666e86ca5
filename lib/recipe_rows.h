/* SPDX-License-Identifier: Apache-2.0
 *
 * recipe_rows.h - the tables behind mx_recipe_find, private to lib/recipe*.c. */
#ifndef MX_RECIPE_ROWS_H
#define MX_RECIPE_ROWS_H

#include "recipe.h"

/* A row stands for every element format and shape it lists; see recipe.c for how names are made. */
typedef struct mx_recipe_row {
    const char *suffix;   /* "te": mxfp8-te, mxfp8-te-col, mxfp8-e5m2-te, ... ; casts: the whole name */
    const char *elements; /* "e4m3 e5m2" */
    const char *scale;    /* "e8m0"; NULL: a cast */
    const char *shapes;   /* "1x32 32x1 32x32", "tensor"; the first is the plain name's */
    const char *amax_format, *via; /* names of the formats of these columns; NULL: none */
    struct mx_recipe columns;
} mx_recipe_row;

/* One table a family. */
typedef struct mx_recipe_table {
    const mx_recipe_row *rows;
    size_t count;
} mx_recipe_table;

extern const mx_recipe_table mx_e8m0_recipes;  /* recipe_rows_e8m0.c */
extern const mx_recipe_table mx_ue4m3_recipes; /* recipe_rows_ue4m3.c */
extern const mx_recipe_table mx_f32_recipes;   /* recipe_rows_f32.c */
extern const mx_recipe_table mx_cast_recipes;  /* recipe_casts.c */

/* A recipe for a name that is no row (recipe_parse.c); kept for the life of the process. NULL: malformed. */
const mx_recipe *mx_recipe_parse(const char *name);
/* The same recipe with rows and columns of its block swapped. */
const mx_recipe *mx_recipe_parse_transposed(const mx_recipe *parsed);

/* What every row and parsed recipe starts from: nearest even, saturating, no explicit codes. */
#define MX_CAST_WITH(rounding, overflow, nan)                                                                \
    {                                                                                                        \
        rounding, overflow, nan, {-1, -1}, false, 0                                                          \
    }

/* Columns that come in groups, for writing rows. */
#define ROW(suffix, elements, scale, shapes, ...)                                                            \
    {                                                                                                        \
        suffix, elements, scale, shapes, NULL, NULL, { __VA_ARGS__ }                                         \
    }
#define TEXT(distinguishes_, source_, date_) .distinguishes = distinguishes_, .source = source_, .date = date_
#define CAST(rounding, overflow, nan)        .nonpositive_code = -1, .cast = MX_CAST_WITH(rounding, overflow, nan)
#define NEAREST                              CAST(MX_RNE, MX_SATURATE, MX_NAN_CANONICAL)

#endif
