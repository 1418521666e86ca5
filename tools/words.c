/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void words_free(words *w)
{
    free(w->text);
    *w = (words){0};
}

void words_cut(words *w, const char *text)
{
    words_free(w);
    w->text = strdup(text);
    char *rest = w->text;
    for (char *word; w->n < MOST_WORDS && (word = strsep(&rest, ","));)
        if (*word) w->word[w->n++] = word;
}

int64_t word_number(struct argp_state *state, const char *name, const char *text, int64_t low, int64_t high)
{
    char *end;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || v < low || v > high)
        argp_error(state, "--%s %s: a number from %lld to %lld is wanted", name, text, (long long)low,
                   (long long)high);
    return v;
}

void word_shard(struct argp_state *state, const char *text, int most, int *shard, int *shards)
{
    char after;
    if (sscanf(text, "%d/%d%c", shard, shards, &after) != 2 || *shards < 1 || *shards > most || *shard < 0 ||
        *shard >= *shards)
        argp_error(state, "--shard takes I/N with 0 <= I < N, not '%s'", text);
}
