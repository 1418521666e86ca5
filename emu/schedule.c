/* SPDX-License-Identifier: Apache-2.0
 * Schedules as text and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

static const char *const orders[] = {"up", "down", "tree"};

/* A decimal number of 1 .. limit at *p, which moves past it; 0 if there is none. */
static int32_t number(const char **p, long limit)
{
    char *end;
    if (**p < '0' || **p > '9') return 0;
    long n = strtol(*p, &end, 10);
    *p = end;
    return n >= 1 && n <= limit ? (int32_t)n : 0;
}

static bool parse_chain(const char *p, mx_schedule *s)
{
    (void)s;
    return !*p;
}

static bool parse_promote(const char *p, mx_schedule *s)
{
    s->promote = number(&p, 1 << 20);
    return s->promote && !*p;
}

static bool parse_ffma(const char *p, mx_schedule *s)
{
    s->ffma = true;
    return parse_promote(p, s);
}

static bool parse_split(const char *p, mx_schedule *s)
{
    s->split = number(&p, MX_MAX_SPLIT);
    if (!s->split || *p++ != 'x') return false;
    s->split_tile = number(&p, 1 << 20);
    if (!s->split_tile || !*p) return s->split_tile != 0;
    if (*p++ != ':') return false;
    for (int i = 0; i < 3; i++)
        if (!strcmp(p, orders[i])) {
            s->order = (mx_split_order)i;
            return true;
        }
    return false;
}

static bool parse_c_first(const char *p, mx_schedule *s) { return s->c_first = true, !*p; }
static bool parse_dequant(const char *p, mx_schedule *s) { return s->dequantize = true, !*p; }
static bool parse_ab(const char *p, mx_schedule *s) { return s->scale_order = MX_SCALE_AB, !*p; }
static bool parse_a_b(const char *p, mx_schedule *s) { return s->scale_order = MX_SCALE_A_B, !*p; }
static bool parse_b_a(const char *p, mx_schedule *s) { return s->scale_order = MX_SCALE_B_A, !*p; }

static const struct {
    const char *word; /* with its colon where a number follows */
    bool (*parse)(const char *rest, mx_schedule *s);
} tokens[] = {
    {"chain", parse_chain},  {"promote:", parse_promote}, {"promote-ffma:", parse_ffma},
    {"split:", parse_split}, {"c-first", parse_c_first},  {"dequant-bf16", parse_dequant},
    {"scale-ab", parse_ab},  {"scale-a-b", parse_a_b},    {"scale-b-a", parse_b_a},
};

mx_status mx_schedule_parse(const char *text, mx_schedule *out, mx_error *e)
{
    memset(out, 0, sizeof *out);
    const char *p = text && *text ? text : "chain";
    while (p) {
        const char *comma = strchr(p, ',');
        char token[64];
        size_t n = comma ? (size_t)(comma - p) : strlen(p);
        bool good = false;
        snprintf(token, sizeof token, "%.*s", (int)(n < 63 ? n : 63), p);
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens && !good; i++) {
            size_t word = strlen(tokens[i].word);
            good = n < 63 && !strncmp(token, tokens[i].word, word) && tokens[i].parse(token + word, out);
        }
        if (!good)
            return mx_fail(
                e, MX_BAD_USAGE, "schedule",
                "'%s' is no part of a schedule (chain, promote:N, promote-ffma:N, split:SxT[:up|down|"
                "tree], c-first, dequant-bf16, scale-ab, scale-a-b, scale-b-a)",
                token);
        p = comma ? comma + 1 : NULL;
    }
    return MX_OK;
}

const char *mx_schedule_text(const mx_schedule *s, char *out, size_t size)
{
    char split[64] = "", promote[40] = "";
    if (s->split > 1)
        snprintf(split, sizeof split, ",split:%dx%d%s%s", s->split, s->split_tile, s->order ? ":" : "",
                 s->order ? orders[s->order] : "");
    if (s->promote) snprintf(promote, sizeof promote, ",promote%s:%d", s->ffma ? "-ffma" : "", s->promote);
    static const char *const scale[] = {"", ",scale-a-b", ",scale-b-a"};
    char all[256];
    snprintf(all, sizeof all, "%s%s%s%s%s", s->dequantize ? ",dequant-bf16" : "", split, promote,
             s->c_first ? ",c-first" : "", scale[s->scale_order]);
    snprintf(out, size, "%s", *all ? all + 1 : "chain");
    return out;
}

void mx_schedule_slice(const mx_schedule *s, int64_t k, int i, int64_t *begin, int64_t *end)
{
    if (s->split <= 1) {
        *begin = 0;
        *end = k;
        return;
    }
    int64_t tiles = k / s->split_tile + (k % s->split_tile != 0);
    int64_t chunk = (tiles + s->split - 1) / s->split, length = chunk * s->split_tile;
    *begin = length && i > k / length ? k : i * length;
    *end = k - *begin < length ? k : *begin + length;
}
