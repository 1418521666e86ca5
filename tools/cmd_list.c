/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck list TABLE`: prints the tables that everything else is driven by. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "data.h"
#include "list_cases.h"
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

static void list_data(void)
{
    for (size_t i = 0; i < mx_data_count(); i++)
        printf("%-10s %s\n", mx_data_at(i)->name, mx_data_at(i)->note);
}

/* A new table is a new row. */
static const struct {
    const char *name;
    void (*print)(void);
    int (*print_from)(const char *vectors); /* tables that are read from vectors; returns an exit status */
} tables[] = {
    {"data", list_data, NULL},       {"formats", list_formats, NULL},
    {"recipes", list_recipes, NULL}, {"recipe-sources", list_recipe_sources, NULL},
    {"layouts", list_layouts, NULL}, {"models", list_models, NULL},
    {"flags", list_flags, NULL},     {"cases", NULL, list_cases},
};

enum { N_TABLES = sizeof tables / sizeof *tables };

typedef struct arguments {
    const char *table, *vectors;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    if (key == 'v')
        a->vectors = arg;
    else if (key == ARGP_KEY_ARG && state->arg_num == 0)
        a->table = arg;
    else if (key == ARGP_KEY_NO_ARGS)
        argp_usage(state);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"vectors", 'v', "DIR", 0, "for cases: a folder with manifest.json, or one .safetensors file", 0},
        {0}};
    static const struct argp argp = {
        options,
        parse,
        "TABLE",
        "Print a table: formats, recipes, recipe-sources, layouts, models, flags, cases.\v"
        "Examples: mxcheck list recipes\n          mxcheck list cases --vectors vectors/",
        NULL,
        NULL,
        NULL};
    arguments a = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    for (int i = 0; i < N_TABLES; i++)
        if (!strcmp(a.table, tables[i].name)) {
            if (tables[i].print_from) return tables[i].print_from(a.vectors);
            return tables[i].print(), EXIT_PASSED;
        }
    fprintf(stderr, "mxcheck list: no table '%s'; there are:", a.table);
    for (int i = 0; i < N_TABLES; i++)
        fprintf(stderr, " %s", tables[i].name);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

const command command_list = {"list", "print a table: formats, recipes, layouts, models, flags, cases", 80,
                              run};
