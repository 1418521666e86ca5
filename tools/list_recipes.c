/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck list recipes` and `mxcheck list recipe-sources`, for a terminal of 110 columns. */
#include <stdio.h>
#include <string.h>

#include "list_recipes.h"
#include "recipe.h"

enum { WIDTH = 110 };

/* Print words from column `indent` on, where the cursor is, and break lines before WIDTH. */
static void wrapped(const char *text, int indent)
{
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        column += printf("%s%.*s", column > indent ? " " : "", n, text);
        text += n;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void shape_of(const mx_recipe *r, char *out, size_t size)
{
    if (!r->scale)
        snprintf(out, size, "-");
    else if (!r->block_rows)
        snprintf(out, size, "tensor");
    else
        snprintf(out, size, "%dx%d", r->block_rows, r->block_cols);
}

/* Does r differ from the plain recipe of its row in the shape alone, told by the end of its name? */
static bool is_variant(const mx_recipe *plain, const mx_recipe *r)
{
    size_t n = strlen(plain->name);
    return plain->element == r->element && !strncmp(plain->name, r->name, n) && r->name[n] == '-';
}

/* Recipes i to the result are one row of the table behind them. */
static size_t row_end(size_t i)
{
    const mx_recipe *first = mx_recipe_at(i);
    for (; i < mx_recipe_count(); i++) {
        const mx_recipe *r = mx_recipe_at(i);
        if (strcmp(r->distinguishes, first->distinguishes) || strcmp(r->source, first->source)) break;
    }
    return i;
}

/* "1x32 -col -32x32": the plain shape, and what to append to the name for the others. */
static void print_shapes(size_t first, size_t end, int width)
{
    const mx_recipe *plain = mx_recipe_at(first);
    char shapes[64];
    shape_of(plain, shapes, sizeof shapes);
    for (size_t i = first + 1; i < end; i++) {
        const mx_recipe *r = mx_recipe_at(i);
        size_t at = strlen(shapes);
        if (is_variant(plain, r))
            snprintf(shapes + at, sizeof shapes - at, " %s", r->name + strlen(plain->name));
    }
    printf("%-*s ", width, shapes);
}

/* The row's other elements and shapes, those that are no variant of one printed before. */
static void print_others(size_t first, size_t end)
{
    char names[2048] = "";
    const mx_recipe *plain = mx_recipe_at(first);
    for (size_t i = first + 1; i < end; i++) {
        const mx_recipe *r = mx_recipe_at(i);
        size_t at = strlen(names);
        if (is_variant(plain, r)) continue;
        plain = r;
        snprintf(names + at, sizeof names - at, "%s%s", at ? " " : "", r->name);
    }
    if (!*names) return;
    printf("    also ");
    wrapped(names, 9);
}

void list_recipes(void)
{
    printf("%-27s %-8s %-6s %-20s %s\n", "recipe", "element", "scale", "block, variants",
           "what sets it apart");
    for (size_t i = 0, end; i < mx_recipe_count(); i = end) {
        const mx_recipe *r = mx_recipe_at(i);
        end = row_end(i);
        printf("%-27s %-8s %-6s ", r->name, r->element->name, r->scale ? r->scale->name : "-");
        print_shapes(i, end, 20);
        wrapped(r->distinguishes, 65);
        print_others(i, end);
    }
    puts("\nA variant's name is the recipe's with its block appended: mxfp8-te-col quantises columns of 32.\n"
         "\nRecipes spelled out by their names:\n"
         "  cast-FORMAT-ROUNDING-OVERFLOW             cast-e4m3-rna-sat, cast-e5m2-rtz-ovf, "
         "cast-e2m1-sr8-sat\n"
         "  study:ELEMENT/SCALE/BLOCK/RULE/ROUNDING   study:e4m3/e8m0/1x64/rceil/rne, "
         "study:e2m1/ue4m3/1x8/global/rne\n"
         "ROUNDING: rne rna rnz rtz rup rdn srN. OVERFLOW: sat ovf satfin. BLOCK: RxC of 1, 8 to 256; or "
         "tensor.\n"
         "RULE: e8m0 floor ceil rceil up even near rfloor; f32 amax pow2 encode; ue4m3 global single.");
}

void list_recipe_sources(void)
{
    printf("%-27s %-24s %s\n", "recipe", "as of", "where it was read");
    for (size_t i = 0; i < mx_recipe_count(); i = row_end(i)) {
        const mx_recipe *r = mx_recipe_at(i);
        printf("%-27s %-24s ", r->name, r->date);
        wrapped(r->source, 53);
    }
}
