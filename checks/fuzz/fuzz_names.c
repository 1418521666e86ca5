/* SPDX-License-Identifier: Apache-2.0
 * Any text as the name of a recipe, layout, format, type, flag, rounding or schedule; what is found is found
 * again as the same row. */
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "dtype.h"
#include "mx.h"
#include "schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_recipe(const char *name)
{
    const mx_recipe *r = mx_recipe_find(name);
    if (!r) return;
    if (mx_recipe_find(name) != r || !mx_recipe_element(r) || !*mx_recipe_name(r)) abort();
    /* Any recipe that a name can spell must cope with any size. */
    int64_t rows, cols;
    mx_recipe_block(r, 3, 5, &rows, &cols);
    mx_scale_grid(r, 3, 5, &rows, &cols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *name = malloc(n + 1);
    mx_dtype d;
    mx_rounding rounding;
    mx_schedule schedule;
    mx_error e = {0};
    memcpy(name, data, n);
    name[n] = 0;
    check_recipe(name);
    if (mx_dtype_find(name, &d) && strcmp(d.name, name)) abort();
    (void)mx_dtype_of_safetensors(name, &d);
    (void)mx_dtype_of_npy(name, &d);
    (void)mx_layout_find(name);
    (void)mx_flag_text(name);
    if (mx_rounding_find(name, &rounding) && strcmp(mx_rounding_name(rounding), name)) abort();
    if (mx_schedule_parse(name, &schedule, &e) && !*e.message) abort();
    free(name);
    return 0;
}
