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

static void print_block(const mx_recipe *r, char *out, size_t size)
{
    if (!r->scale)
        snprintf(out, size, "-");
    else if (!r->block_rows)
        snprintf(out, size, "tensor");
    else
        snprintf(out, size, "%dx%d", r->block_rows, r->block_cols);
}

void list_recipes(void)
{
    printf("%-27s %-8s %-6s %-8s %s\n", "recipe", "element", "scale", "block", "what sets it apart");
    const char *told = "";
    for (size_t i = 0; i < mx_recipe_count(); i++) {
        const mx_recipe *r = mx_recipe_at(i);
        char block[24];
        print_block(r, block, sizeof block);
        printf("%-27s %-8s %-6s %-8s ", r->name, r->element->name, r->scale ? r->scale->name : "-", block);
        wrapped(r->distinguishes == told ? "\"" : r->distinguishes, 53);
        told = r->distinguishes;
    }
    puts("\nAlso, spelled out by their names:\n"
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
    printf("%-27s %-25s %s\n", "recipe", "as of", "where it was read");
    const char *told = "";
    for (size_t i = 0; i < mx_recipe_count(); i++) {
        const mx_recipe *r = mx_recipe_at(i);
        bool again = r->distinguishes == told;
        told = r->distinguishes;
        if (again) continue; /* another shape of the same row */
        printf("%-27s %-25s ", r->name, r->date);
        wrapped(r->source, 54);
    }
}
