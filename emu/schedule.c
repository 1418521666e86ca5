/* SPDX-License-Identifier: Apache-2.0
 * Schedules as text and back. */
#include <stdarg.h>
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

/* "SxT" or "SxT:ORDER" */
static bool parse_parts(const char *p, int32_t *parts, int32_t *tile, mx_split_order *order)
{
    *parts = number(&p, MX_MAX_SPLIT);
    if (!*parts || *p++ != 'x') return false;
    *tile = number(&p, 1 << 20);
    if (!*tile || !*p) return *tile != 0;
    if (*p++ != ':') return false;
    for (int i = 0; i < 3; i++)
        if (!strcmp(p, orders[i])) {
            *order = (mx_split_order)i;
            return true;
        }
    return false;
}

static bool parse_split(const char *p, mx_schedule *s)
{
    return parse_parts(p, &s->split, &s->split_tile, &s->order);
}

static bool parse_slice(const char *p, mx_schedule *s)
{
    return parse_parts(p, &s->slice, &s->slice_tile, &s->order);
}

static bool parse_residue(const char *p, mx_schedule *s)
{
    s->residue = number(&p, 1 << 20);
    return s->residue && !*p;
}

static bool parse_c_first(const char *p, mx_schedule *s) { return s->c_first = true, !*p; }
static bool parse_bf16(const char *p, mx_schedule *s) { return s->convert = MX_CONVERT_BF16, !*p; }
static bool parse_f16(const char *p, mx_schedule *s) { return s->convert = MX_CONVERT_F16, !*p; }
static bool parse_tf32(const char *p, mx_schedule *s) { return s->convert = MX_CONVERT_TF32, !*p; }
static bool parse_ab(const char *p, mx_schedule *s) { return s->scale_order = MX_SCALE_AB, !*p; }
static bool parse_a_b(const char *p, mx_schedule *s) { return s->scale_order = MX_SCALE_A_B, !*p; }
static bool parse_b_a(const char *p, mx_schedule *s) { return s->scale_order = MX_SCALE_B_A, !*p; }

static const struct {
    const char *word; /* with its colon where a number follows */
    bool (*parse)(const char *rest, mx_schedule *s);
} tokens[] = {
    {"chain", parse_chain},     {"promote:", parse_promote},  {"promote-ffma:", parse_ffma},
    {"split:", parse_split},    {"slice:", parse_slice},      {"residue:", parse_residue},
    {"c-first", parse_c_first}, {"dequant-bf16", parse_bf16}, {"dequant-f16", parse_f16},
    {"round-tf32", parse_tf32}, {"scale-ab", parse_ab},       {"scale-a-b", parse_a_b},
    {"scale-b-a", parse_b_a},
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
                "'%s' is none of chain, promote:N, promote-ffma:N, split:SxT[:up|down|tree], slice:SxT, "
                "residue:T, c-first, dequant-bf16, dequant-f16, round-tf32, scale-ab, scale-a-b, scale-b-a",
                token);
        p = comma ? comma + 1 : NULL;
    }
    return MX_OK;
}

static void append(char *all, size_t size, const char *format, ...)
{
    size_t n = strlen(all);
    va_list args;
    va_start(args, format);
    if (n && n + 1 < size) all[n++] = ',';
    vsnprintf(all + n, size - n, format, args);
    va_end(args);
}

static void append_parts(char *all, size_t size, const char *word, int32_t parts, int32_t tile,
                         mx_split_order order)
{
    if (parts > 1)
        append(all, size, "%s:%dx%d%s%s", word, parts, tile, order ? ":" : "", order ? orders[order] : "");
}

const char *mx_schedule_text(const mx_schedule *s, char *out, size_t size)
{
    static const char *const conversions[] = {"", "dequant-bf16", "dequant-f16", "round-tf32"};
    static const char *const scales[] = {"", "scale-a-b", "scale-b-a"};
    char all[256] = "";
    if (s->convert) append(all, sizeof all, "%s", conversions[s->convert]);
    if (s->residue) append(all, sizeof all, "residue:%d", s->residue);
    append_parts(all, sizeof all, "split", s->split, s->split_tile, s->order);
    append_parts(all, sizeof all, "slice", s->slice, s->slice_tile, s->order);
    if (s->promote) append(all, sizeof all, "promote%s:%d", s->ffma ? "-ffma" : "", s->promote);
    if (s->c_first) append(all, sizeof all, "c-first");
    if (s->scale_order) append(all, sizeof all, "%s", scales[s->scale_order]);
    snprintf(out, size, "%s", *all ? all : "chain");
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
