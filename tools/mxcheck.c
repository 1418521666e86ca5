/* SPDX-License-Identifier: Apache-2.0
 * The front door: finds the subcommand and hands over. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "wire.h"

static const command *commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.h"
#undef COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static int by_rank(const void *a, const void *b)
{
    return (*(const command *const *)a)->rank - (*(const command *const *)b)->rank;
}

static void help(FILE *out)
{
    fputs("Usage: mxcheck COMMAND [OPTION...]\n"
          "Numerical verification of low-precision GPU kernels: MXFP8, MXFP4, NVFP4, FP8.\n\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nExample: mxcheck kernel --vectors vectors/\n"
          "`mxcheck COMMAND --help` explains one. Exit status: 0 passed, 1 findings, 2 bad usage or input,\n"
          "3 could not run.\n",
          out);
}

int main(int argc, char **argv)
{
    if (worker_is(argc, argv)) return worker_main(argv[1]);
    argp_err_exit_status = EXIT_USAGE;
    qsort(commands, N_COMMANDS, sizeof *commands, by_rank);
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
        return help(stdout), EXIT_PASSED;
    if (!strcmp(name, "--version")) return puts("mxcheck " MX_VERSION), EXIT_PASSED;
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(name, commands[i]->name)) {
            char title[64];
            snprintf(title, sizeof title, "mxcheck %s", name);
            argv[1] = title;
            return commands[i]->run(argc - 1, argv + 1);
        }
    if (*name) fprintf(stderr, "mxcheck: no command '%s'\n\n", name);
    help(stderr);
    return EXIT_USAGE;
}
