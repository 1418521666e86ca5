/* SPDX-License-Identifier: Apache-2.0
 *
 * command.h - one subcommand a file: tools/cmd_NAME.c defines `const command command_NAME`. */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

/* Exit statuses of every subcommand. */
enum {
    EXIT_PASSED = 0,    /* all that was asked for ran, and passed */
    EXIT_FINDINGS = 1,  /* something differs */
    EXIT_USAGE = 2,     /* bad usage or bad input */
    EXIT_CANNOT_RUN = 3 /* no device, plug-in or program missing */
};

typedef struct command {
    const char *name;
    const char *summary;               /* one line for `mxcheck --help` */
    int rank;                          /* place in that list; smaller is earlier */
    int (*run)(int argc, char **argv); /* argv[0] is "mxcheck NAME"; returns an exit status */
} command;

#define COMMAND(name) extern const command command_##name;
#include "commands.h"
#undef COMMAND

#endif
