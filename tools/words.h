/* SPDX-License-Identifier: Apache-2.0
 * words.h - comma-separated lists and numbers of a command line. */
#ifndef TOOLS_WORDS_H
#define TOOLS_WORDS_H

#include <argp.h>
#include <stdint.h>

enum { MOST_WORDS = 64 };

typedef struct words {
    char *text;
    const char *word[MOST_WORDS];
    int n;
} words;

/* Cut a comma-separated list into *w, replacing what it held; words_free() when done. */
void words_cut(words *w, const char *text);
void words_free(words *w);
/* The number after --name; argp_error() where it is none from low to high. */
int64_t word_number(struct argp_state *state, const char *name, const char *text, int64_t low, int64_t high);

/* "I/N" after --shard: part I of N, N at most `most`; argp_error() otherwise. */
void word_shard(struct argp_state *state, const char *text, int most, int *shard, int *shards);

#endif
