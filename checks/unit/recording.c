/* SPDX-License-Identifier: Apache-2.0
 * See recording.h. */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "recording.h"
#include "suite.h"

int recording_paths(char (*path)[256], int room)
{
    glob_t found;
    ck_assert_msg(glob("vectors/seen/cvt-*.txt", 0, NULL, &found) == 0,
                  "no vectors/seen/cvt-*.txt: run from the top folder");
    ck_assert_int_le((int)found.gl_pathc, room);
    int n = (int)found.gl_pathc;
    for (int i = 0; i < n; i++)
        ck_assert_int_lt(snprintf(path[i], sizeof path[i], "%s", found.gl_pathv[i]), (int)sizeof path[i]);
    globfree(&found);
    return n;
}

static void read_line(const char *line, recording *r)
{
    char word[32];
    unsigned pattern, code;
    if (sscanf(line, "format %31s", word) == 1)
        r->format = mx_format_find(word);
    else if (sscanf(line, "rounding %31s", word) == 1)
        ck_assert(mx_rounding_find(word, &r->cast.rounding));
    else if (sscanf(line, "overflow %31s", word) == 1)
        r->cast.overflow = !strcmp(word, "saturate") ? MX_SATURATE : MX_OVERFLOW;
    else {
        ck_assert_msg(sscanf(line, "%x %x", &pattern, &code) == 2, "%s", line);
        ck_assert_int_lt(r->n_steps, MAX_STEPS);
        ck_assert(r->n_steps ? pattern > r->first[r->n_steps - 1] : pattern == 0);
        r->first[r->n_steps] = pattern;
        r->code[r->n_steps++] = code;
    }
}

void recording_read(const char *path, recording *r)
{
    char line[256];
    FILE *f = fopen(path, "r");
    ck_assert_msg(f, "%s", path);
    *r = (recording){.cast = MX_CAST_DEFAULT};
    while (fgets(line, sizeof line, f))
        if (*line != '#') read_line(line, r);
    fclose(f);
    ck_assert_msg(r->format && r->n_steps > 1, "%s", path);
}

uint32_t recording_code(const recording *r, uint32_t pattern, uint64_t *end)
{
    int low = 0, high = r->n_steps;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (r->first[middle] <= pattern)
            low = middle;
        else
            high = middle;
    }
    if (end) *end = high < r->n_steps ? r->first[high] : (uint64_t)1 << 32;
    return r->code[low];
}

double value_of_f32(uint32_t pattern)
{
    float x;
    memcpy(&x, &pattern, sizeof x);
    return (double)x;
}
