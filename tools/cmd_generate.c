/* SPDX-License-Identifier: Apache-2.0
 * `mxcheck generate`: make the golden vectors. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "generate.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **out = state->input;
    switch (key) {
    case 'o': *out = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    case ARGP_KEY_END:
        if (!*out) argp_error(state, "where to? --out DIR is missing");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int make_file(const char *dir, const gen_file *file, size_t *cases, mx_error *e)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", dir, file->name) >= (int)sizeof path)
        return mx_fail(e, MX_BAD_USAGE, dir, "path too long");
    gen g;
    gen_init(&g, e);
    file->make(&g);
    mx_status s = g.status;
    if (!s) s = mx_cases_write(path, g.cases, g.n, e);
    *cases += g.n;
    if (!s) fprintf(stderr, "%-22s %5zu cases\n", file->name, g.n);
    gen_free(&g);
    return s;
}

static int run(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"out", 'o', "DIR", 0, "Directory to write to; made if it does not exist", 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Make the golden vectors: the same bytes on every machine.\v"
               "Writes one safetensors file a topic and manifest.json with their SHA-256.\n\n"
               "Example: mxcheck generate --out vectors/"};
    const char *out = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &out);

    mx_error e = {MX_OK, "", ""};
    const char **names = calloc(gen_file_count, sizeof *names);
    size_t cases = 0;
    mx_status s = names ? MX_OK : mx_fail(&e, MX_NO_MEMORY, out, "out of memory");
    if (!s && mkdir(out, 0777) && errno != EEXIST) s = mx_fail(&e, MX_IO, out, "%s", strerror(errno));
    for (size_t i = 0; !s && i < gen_file_count; i++) {
        s = make_file(out, &gen_files[i], &cases, &e);
        names[i] = gen_files[i].name;
    }
    if (!s) s = mx_manifest_write(out, names, gen_file_count, &e);
    free(names);
    if (s) {
        fprintf(stderr, "mxcheck generate: %s: %s\n", e.place, e.message);
        return EXIT_USAGE;
    }
    printf("%zu cases in %zu files under %s\n", cases, gen_file_count, out);
    return EXIT_PASSED;
}

const command command_generate = {"generate", "make golden vectors", 20, run};
