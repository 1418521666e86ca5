/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck list flags` and `mxcheck list cases`. */
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "command.h"
#include "fail.h"
#include "flags.h"
#include "list_cases.h"
#include "store.h"

void list_flags(void)
{
    printf("%-18s %-19s %s\n", "flag", "kind of fault", "effect [source]");
    for (size_t i = 0; i < mx_flag_count(); i++) {
        const mx_flag *f = mx_flag_row(i);
        printf("%-18s %-19s %s [%s]\n", f->name, f->kind, f->effect, f->source);
    }
}

/* "bf16 [2, 33]" of the first input, or of the one that is made. */
static void shape_of(const mx_case *c, char *out, size_t size)
{
    char shape[100];
    int64_t made[2] = {c->make_rows, c->make_cols};
    const mx_tensor *t = c->n_in ? &c->in[0] : NULL;
    if (t)
        snprintf(out, size, "%s %s", t->dtype, mx_shape_text(t->rank, t->shape, shape, sizeof shape));
    else if (*c->make_digest)
        snprintf(out, size, "%s %s, made", c->make_dtype, mx_shape_text(2, made, shape, sizeof shape));
    else
        snprintf(out, size, "-");
}

int list_cases(const char *vectors)
{
    static const char *const verdicts[] = {"exact", "bound", "open"};
    mx_case_set *set;
    mx_error e = {0};
    if (!vectors) return fail_usage("list", "cases of which vectors? --vectors DIR");
    if (mx_cases_load(vectors, &set, &e)) return fail_with("list", &e);
    printf("%-40s %-20s %-20s %-7s %-18s %s\n", "case", "operation", "recipe", "verdict", "first input",
           "flags: reason");
    for (size_t i = 0; i < mx_cases_count(set); i++) {
        const mx_case *c = mx_cases_at(set, i);
        char shape[160];
        shape_of(c, shape, sizeof shape);
        printf("%-40s %-20s %-20s %-7s %-18s %s: %s\n", c->id, printable(c->operation),
               *c->recipe ? printable(c->recipe) : "-", verdicts[c->verdict], shape, c->flags,
               printable(c->reason));
    }
    mx_cases_free(set);
    return EXIT_PASSED;
}
