/* SPDX-License-Identifier: Apache-2.0
 * Runs the suites: fast ones by default, `unit all` the exhaustive ones too, `unit NAME...` those named. */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "wire.h"

static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {
#define SUITE(name) {#name, name},
#include "suites.h"
#undef SUITE
};

static int wanted(const char *name, int argc, char **argv)
{
    if (argc == 1) return !strncmp(name, "test_", 5);
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name) || !strcmp(argv[i], "all")) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    if (worker_is(argc, argv)) return worker_main(argv[1]); /* tests of child.c run kernels too */
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (wanted(suites[i].name, argc, argv)) srunner_add_suite(runner, suites[i].make());
    srunner_run_all(runner, CK_ENV);
    int tests = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed || !tests ? EXIT_FAILURE : EXIT_SUCCESS;
}
