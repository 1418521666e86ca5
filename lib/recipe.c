/* SPDX-License-Identifier: Apache-2.0
 * Recipes by name: rows are expanded once into one recipe per element format and block shape; names that
 * are no row are parsed (recipe_parse.c) and kept. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "recipe_rows.h"

enum { MAX_RECIPES = 512, NAME_SIZE = 48 };

static struct {
    mx_recipe recipes[MAX_RECIPES];
    char names[MAX_RECIPES][NAME_SIZE];
    const mx_recipe_row *rows[MAX_RECIPES];
    size_t count;
} table;
static pthread_once_t expanded = PTHREAD_ONCE_INIT;

/* Copy the next blank-separated word of *list; false at its end. */
static bool next_word(const char **list, char *word, size_t size)
{
    const char *p = *list + strspn(*list, " ");
    size_t n = strcspn(p, " ");
    if (n == 0 || n >= size) return false;
    memcpy(word, p, n);
    word[n] = 0;
    *list = p + n;
    return true;
}

/* "mxfp8" for e4m3, "mxfp8-e5m2" for e5m2: a family's customary element goes without saying. */
static const char *family_of(const char *scale, const char *element)
{
    static const struct {
        const char *scale, *element, *family;
    } families[] = {
        {"e8m0", "e4m3", "mxfp8"},          {"e8m0", "e5m2", "mxfp8-e5m2"},  {"e8m0", "e2m3", "mxfp6-e2m3"},
        {"e8m0", "e3m2", "mxfp6-e3m2"},     {"e8m0", "e2m1", "mxfp4"},       {"e8m0", "int8", "mxint8"},
        {"e8m0", "e4m3fnuz", "mxfp8-fnuz"}, {"ue4m3", "e2m1", "nvfp4"},      {"f32", "e4m3", "fp8"},
        {"f32", "e5m2", "fp8-e5m2"},        {"f32", "e4m3fnuz", "fp8-fnuz"},
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].scale, scale) && !strcmp(families[i].element, element))
            return families[i].family;
    return "unnamed";
}

/* family[-shape][-suffix][-col]: fp32-scaled recipes always tell their shape, the others only where it is
 * not the row's first. */
static void make_name(char *name, const mx_recipe_row *row, const char *element, const char *shape,
                      bool first)
{
    bool tell = !strcmp(row->scale, "f32");
    bool column = !first && !tell && (!strcmp(shape, "32x1") || !strcmp(shape, "16x1"));
    snprintf(name, NAME_SIZE, "%s%s%s%s%s%s%s", family_of(row->scale, element), tell ? "-" : "",
             tell ? shape : "", *row->suffix ? "-" : "", row->suffix, first || tell ? "" : "-",
             first || tell ? ""
             : column      ? "col"
                           : shape);
}

static void add(const mx_recipe_row *row, const char *element, const char *shape, bool first)
{
    if (table.count == MAX_RECIPES) return; /* a unit test asks that the last row is found */
    mx_recipe *r = &table.recipes[table.count];
    char *name = table.names[table.count];
    table.rows[table.count++] = row;
    int rows = 0, cols = 0;
    *r = row->columns;
    r->element = mx_format_find(element);
    r->scale = mx_format_find(row->scale);
    r->amax_format = mx_format_find(row->amax_format);
    r->via = mx_format_find(row->via);
    if (sscanf(shape, "%dx%d", &rows, &cols) == 2) r->block_rows = rows, r->block_cols = cols;
    if (row->scale)
        make_name(name, row, element, shape, first);
    else
        snprintf(name, NAME_SIZE, "%s", row->suffix);
    r->name = name;
}

static void expand_row(const mx_recipe_row *row)
{
    char element[16], shape[16];
    for (const char *elements = row->elements; next_word(&elements, element, sizeof element);) {
        bool first = true;
        for (const char *shapes = row->shapes; next_word(&shapes, shape, sizeof shape); first = false)
            add(row, element, shape, first);
    }
}

static void expand(void)
{
    const mx_recipe_table *tables[] = {&mx_e8m0_recipes, &mx_ue4m3_recipes, &mx_f32_recipes,
                                       &mx_cast_recipes};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            expand_row(&tables[t]->rows[i]);
}

size_t mx_recipe_count(void)
{
    pthread_once(&expanded, expand);
    return table.count;
}

const mx_recipe *mx_recipe_at(size_t i) { return i < mx_recipe_count() ? &table.recipes[i] : NULL; }

const mx_recipe *mx_recipe_find(const char *name)
{
    for (size_t i = 0; name && i < mx_recipe_count(); i++)
        if (!strcmp(table.recipes[i].name, name)) return &table.recipes[i];
    return name ? mx_recipe_parse(name) : NULL;
}

const char *mx_recipe_name(const mx_recipe *r) { return r->name; }
const mx_format *mx_recipe_element(const mx_recipe *r) { return r->element; }
const mx_format *mx_recipe_scale(const mx_recipe *r) { return r->scale; }
bool mx_recipe_has_global(const mx_recipe *r) { return r->global_form != MX_GLOBAL_NONE; }

void mx_recipe_block(const mx_recipe *r, int64_t rows, int64_t cols, int64_t *block_rows, int64_t *block_cols)
{
    *block_rows = r->block_rows ? r->block_rows : rows;
    *block_cols = r->block_cols ? r->block_cols : cols;
}

static int64_t blocks_in(int64_t size, int64_t block)
{
    return size > 0 && block > 0 ? (size - 1) / block + 1 : 0;
}

void mx_scale_grid(const mx_recipe *r, int64_t rows, int64_t cols, int64_t *grid_rows, int64_t *grid_cols)
{
    int64_t block_rows, block_cols;
    mx_recipe_block(r, rows, cols, &block_rows, &block_cols);
    *grid_rows = r->scale ? blocks_in(rows, block_rows) : 0;
    *grid_cols = r->scale ? blocks_in(cols, block_cols) : 0;
}

const mx_recipe *mx_recipe_columnwise(const mx_recipe *r)
{
    if (!r->scale || r->block_rows == r->block_cols) return r->scale ? r : NULL;
    size_t i = (size_t)(r - table.recipes);
    if (r < table.recipes || i >= mx_recipe_count()) return mx_recipe_parse_transposed(r);
    for (size_t j = 0; j < table.count; j++) {
        const mx_recipe *t = &table.recipes[j];
        if (table.rows[j] == table.rows[i] && t->element == r->element && t->block_rows == r->block_cols &&
            t->block_cols == r->block_rows)
            return t;
    }
    return NULL;
}

bool mx_recipe_same(const mx_recipe *a, const mx_recipe *b)
{
    mx_recipe columns[2];
    const mx_recipe *const rows[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        memcpy(&columns[i], rows[i], sizeof columns[i]);
        columns[i].name = columns[i].distinguishes = columns[i].source = columns[i].date = NULL;
    }
    return !memcmp(&columns[0], &columns[1], sizeof columns[0]);
}
