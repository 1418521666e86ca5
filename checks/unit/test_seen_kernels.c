/* SPDX-License-Identifier: Apache-2.0
 * What kernels answered on hardware (vectors/seen/kernels-*.tsv, made by `mxcheck kernel --record`), judged
 * again by the emulator: every digest is that of the emulator's own answer. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "digest.h"
#include "emulate.h"
#include "suite.h"

enum { FIELDS = 7 };

static const mx_case *find_case(const mx_case_set *set, const char *id)
{
    for (size_t i = 0; i < mx_cases_count(set); i++)
        if (!strcmp(mx_cases_at(set, i)->id, id)) return mx_cases_at(set, i);
    return NULL;
}

static bool split(char *line, char *field[FIELDS])
{
    for (int i = 0; i < FIELDS; i++)
        if (!(field[i] = strsep(&line, "\t\n"))) return false;
    return true;
}

/* The emulator's answer to one case, kept for the lines of its other tensors. */
typedef struct answer {
    char key[512];
    mx_tensor out[MX_MAX_TENSORS];
    int n;
} answer;

static void answer_free(answer *a)
{
    while (a->n)
        mx_tensor_free(&a->out[--a->n]);
}

static void answer_of(answer *a, const mx_case_set *set, char *field[FIELDS])
{
    char key[512];
    mx_error e = {MX_OK, "", ""};
    snprintf(key, sizeof key, "%s %s %s %s", field[1], field[2], field[3], field[4]);
    if (!strcmp(key, a->key)) return;
    answer_free(a);
    const mx_case *c = find_case(set, field[1]);
    ck_assert_msg(c, "no case %s: the vectors have changed since the recording", field[1]);
    mx_case claimed = *c;
    snprintf(claimed.model, sizeof claimed.model, "%s", field[2]);
    snprintf(claimed.schedule, sizeof claimed.schedule, "%s", field[3]);
    if (*field[4]) snprintf(claimed.output, sizeof claimed.output, "%s", field[4]);
    mx_status s = emulate_case(&claimed, a->out, &a->n, &e);
    ck_assert_msg(s == MX_OK || s == MX_UNSUPPORTED, "%s: %s", e.place, e.message);
    strcpy(a->key, key);
}

/* Kernels that store the columnwise copy transposed gave the same matrix column by column. */
static void transposed(const mx_tensor *t, char hex[MX_SHA256_TEXT])
{
    int64_t rows = t->shape[0], cols = t->rank > 1 ? t->shape[1] : 1;
    size_t width = rows * cols > 0 ? t->bytes / (size_t)(rows * cols) : 0;
    unsigned char *turned = malloc(t->bytes + 1);
    ck_assert_ptr_nonnull(turned);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            memcpy(turned + (size_t)(c * rows + r) * width, t->data + (size_t)(r * cols + c) * width, width);
    digest_tensor(t->dtype, turned, t->bytes, hex);
    free(turned);
}

static size_t judge_file(const char *path, const mx_case_set *set)
{
    FILE *f = fopen(path, "r");
    char line[1024];
    answer a = {.n = 0};
    size_t n = 0;
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        char *field[FIELDS], hex[MX_SHA256_TEXT];
        if (line[0] == '#') continue;
        ck_assert_msg(split(line, field), "%s: a line of fewer than %d fields", path, FIELDS);
        answer_of(&a, set, field);
        if (!a.n) continue; /* a claim that the emulator cannot follow: the bound judged it on the device */
        const mx_tensor *t = NULL;
        for (int i = 0; i < a.n; i++)
            if (!strcmp(a.out[i].name, field[5])) t = &a.out[i];
        ck_assert_msg(t, "%s: the emulator has no %s", field[1], field[5]);
        digest_tensor(t->dtype, t->data, t->bytes, hex);
        if (strcmp(hex, field[6])) transposed(t, hex);
        ck_assert_msg(!strcmp(hex, field[6]), "%s: %s of %s differs from what the hardware gave", field[0],
                      field[5], field[1]);
        n++;
    }
    answer_free(&a);
    fclose(f);
    return n;
}

START_TEST(hardware_answers_are_the_emulators)
{
    glob_t files;
    mx_case_set *set;
    mx_error e = {MX_OK, "", ""};
    if (glob("vectors/seen/kernels-*.tsv", 0, NULL, &files)) return; /* none recorded yet */
    ck_assert_msg(mx_cases_load("vectors", &set, &e) == MX_OK, "%s: %s", e.place, e.message);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t n = judge_file(files.gl_pathv[i], set);
        ck_assert_msg(n > 0, "%s holds no answer", files.gl_pathv[i]);
        printf("%s: %zu tensors equal\n", files.gl_pathv[i], n);
    }
    globfree(&files);
    mx_cases_free(set);
}
END_TEST

Suite *test_seen_kernels(void)
{
    Suite *s = suite_create("kernels seen on hardware");
    TCase *t = tcase_create("digests");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, hardware_answers_are_the_emulators);
    suite_add_tcase(s, t);
    return s;
}
