/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck list TABLE`: prints the tables that everything else is driven by. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "list_recipes.h"
#include "model.h"
#include "mx.h"

static void list_formats(void)
{
    printf("%-9s %4s %4s %4s %5s %14s %14s  %s\n", "format", "bits", "exp", "man", "bias", "largest",
           "smallest", "source");
    for (size_t i = 0; i < mx_format_count(); i++) {
        const mx_format *f = mx_format_at(i);
        printf("%-9s %4d %4d %4d %5d %14.8g %14.8g  %s\n", f->name, f->bits, f->exp_bits, f->man_bits,
               f->bias, mx_format_max(f), mx_format_tiny(f), f->source);
    }
}

static void list_layouts(void)
{
    printf("%-18s %4s %-13s %-8s %-10s %s\n", "layout", "bits", "places", "grouped", "pad", "what and where");
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = mx_layout_at(i);
        char pad[16] = "-";
        if (l->pad >= 0) snprintf(pad, sizeof pad, "%0*X", l->unit_bits / 4, (unsigned)l->pad);
        printf("%-18s %4d %-13s %-8s %-10s %s [%s]\n", l->name, l->unit_bits,
               l->for_codes && l->for_scales ? "codes, scales"
               : l->for_codes                ? "codes"
                                             : "scales",
               l->grouped ? "yes" : "no", pad, l->note, l->source);
    }
}

static void list_models(void)
{
    static const char *const outputs[] = {"f32 toward 0", "e8m13 toward 0", "f16 nearest", "f32 nearest"};
    printf("%-19s %3s %3s %3s %-15s %s\n", "model", "L", "K", "F", "result", "what, evidence, source");
    for (size_t i = 0; i < mx_model_count(); i++) {
        const mx_model *m = mx_model_at(i);
        printf("%-19s %3d %3d %3d %-15s %s; %s%s%s [%s]\n", m->name, m->lanes, m->k, m->fraction,
               outputs[m->output], m->units, mx_model_words(m), *m->note ? "; " : "", m->note, m->source);
    }
}

/* A new table is a new row. */
static const struct {
    const char *name;
    void (*print)(void);
} tables[] = {
    {"formats", list_formats},
    {"recipes", list_recipes},
    {"recipe-sources", list_recipe_sources},
    {"layouts", list_layouts},
    {"models", list_models},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **table = state->input;
    if (key == ARGP_KEY_ARG && state->arg_num == 0)
        *table = arg;
    else if (key == ARGP_KEY_NO_ARGS)
        argp_usage(state);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {.parser = parse,
                                     .args_doc = "TABLE",
                                     .doc = "Print a table: formats, ...\vExample: mxcheck list formats"};
    const char *table = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &table);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(table, tables[i].name)) return tables[i].print(), EXIT_PASSED;
    fprintf(stderr, "mxcheck list: no table '%s'; there are:", table);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        fprintf(stderr, " %s", tables[i].name);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

const command command_list = {"list", "print a table: formats, recipes, layouts, models, flags, cases", 80,
                              run};
