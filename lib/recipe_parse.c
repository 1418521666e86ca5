/* SPDX-License-Identifier: Apache-2.0
 * Recipes whose name spells them out: plain casts and studies. A parsed recipe is kept for the life of the
 * process, so that its pointer is as good as a row's. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_rows.h"

enum { NAME_SIZE = 64, MAX_KEPT = 100000, MAX_WORDS = 5 };

typedef struct kept {
    struct kept *next;
    mx_recipe recipe;
    char name[NAME_SIZE];
} kept;

static kept *all_kept;
static size_t kept_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define E8M0_COLUMNS                                                                                         \
    .nan_byte = 0xFF, .inf_byte = 0xFE, .zero_byte = -1, .max_byte = 0xFE, .multiplier_00 = 0x1p127f,        \
    .multiplier_fe = 0x1p-127f, .multiplier_ff = NAN

/* The scale rules of studies. */
static const struct {
    const char *scale, *name;
    struct mx_recipe columns;
} rules[] = {
    {"e8m0", "floor", {.ratio = MX_RATIO_AMAX, .rule = MX_RULE_FLOOR, E8M0_COLUMNS}},
    {"e8m0", "ceil", {.ratio = MX_RATIO_AMAX, .rule = MX_RULE_UP, E8M0_COLUMNS}},
    {"e8m0", "rceil", {.ratio = MX_RATIO_MULTIPLY, .rule = MX_RULE_ROUND_UP, E8M0_COLUMNS}},
    {"e8m0", "up", {.ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_UP, E8M0_COLUMNS}},
    {"e8m0", "even", {.ratio = MX_RATIO_AMAX, .rule = MX_RULE_EVEN, E8M0_COLUMNS}},
    {"e8m0", "near", {.ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_LOG2_NEAR, E8M0_COLUMNS}},
    {"e8m0", "rfloor", {.ratio = MX_RATIO_DIVIDE, .rule = MX_RULE_FLOOR, E8M0_COLUMNS}},
    {"f32", "amax", {.f32_scale = MX_F32_DIVIDE, .f32_degenerate_one = true}},
    {"f32", "pow2", {.f32_scale = MX_F32_DIVIDE, .f32_pow2 = MX_POW2_UP, .f32_degenerate_one = true}},
    {"f32", "encode", {.f32_scale = MX_F32_ENCODE, .f32_degenerate_one = true}},
    {"ue4m3",
     "global",
     {.nv_scale = MX_NV_S6,
      .nv_multiplier = MX_NV_RECIPROCAL,
      .global_form = MX_GLOBAL_DECODE,
      .nv_max = 448}},
    {"ue4m3",
     "single",
     {.nv_scale = MX_NV_SINGLE,
      .nv_multiplier = MX_NV_RECIPROCAL,
      .global_form = MX_GLOBAL_NONE,
      .nv_max = 448}},
};

/* Split `text` in place at `separator`; the number of words, or 0 if there are too many. */
static int split(char *text, char separator, char *words[MAX_WORDS])
{
    int n = 0;
    for (char *p = text, *end; p; p = end ? end + 1 : NULL) {
        if (n == MAX_WORDS) return 0;
        words[n++] = p;
        end = strchr(p, separator);
        if (end) *end = 0;
    }
    return n;
}

/* A plain decimal number from low to high, without sign or leading zero; `end` as of strtol. */
static bool parse_number(const char *text, int low, int high, int *out, char **end)
{
    if (*text < '1' || *text > '9') return false;
    long n = strtol(text, end, 10);
    *out = (int)n;
    return n >= low && n <= high;
}

static bool parse_rounding(const char *word, mx_cast *cast)
{
    char *end;
    int bits;
    if (!strncmp(word, "sr", 2)) {
        if (!parse_number(word + 2, 1, 32, &bits, &end) || *end) return false;
        cast->rounding = MX_STOCHASTIC;
        cast->random_bits = (uint8_t)bits;
        return true;
    }
    return mx_rounding_find(word, &cast->rounding) && cast->rounding != MX_STOCHASTIC;
}

static bool parse_overflow(const char *word, mx_overflow *out)
{
    static const char *const names[] = {"sat", "ovf", "satfin"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(word, names[i])) return *out = (mx_overflow)i, true;
    return false;
}

static bool block_side(int n) { return n == 1 || (n >= 8 && n <= 256 && !(n & (n - 1))); }

static bool parse_shape(const char *word, mx_recipe *r)
{
    int rows = 0, cols = 0;
    char *end;
    if (!strcmp(word, "row")) {
        rows = 1;
    } else if (strcmp(word, "tensor")) {
        if (!parse_number(word, 1, 256, &rows, &end) || *end != 'x') return false;
        if (!parse_number(end + 1, 1, 256, &cols, &end) || *end) return false;
        if (!block_side(rows) || !block_side(cols)) return false;
    }
    r->block_rows = rows;
    r->block_cols = cols;
    return true;
}

static bool parse_cast(char *text, mx_recipe *r)
{
    char *words[MAX_WORDS];
    if (split(text, '-', words) != 4) return false;
    r->element = mx_format_find(words[1]);
    r->distinguishes = "a plain cast";
    return r->element && parse_rounding(words[2], &r->cast) && parse_overflow(words[3], &r->cast.overflow);
}

static bool parse_study(char *text, mx_recipe *r)
{
    char *words[MAX_WORDS];
    if (split(text + strlen("study:"), '/', words) != 5) return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].scale, words[1]) || strcmp(rules[i].name, words[3])) continue;
        mx_cast cast = r->cast;
        *r = rules[i].columns;
        r->cast = cast;
        r->nonpositive_code = -1;
        r->distinguishes = "a study";
        r->element = mx_format_find(words[0]);
        r->scale = mx_format_find(words[1]);
        bool fits = r->element && r->element->bits <= 8 && r->element->kind != MX_KIND_EXPONENT &&
                    r->element->is_signed;
        return fits && parse_shape(words[2], r) && parse_rounding(words[4], &r->cast);
    }
    return false;
}

static bool parse(const char *name, mx_recipe *r)
{
    char text[NAME_SIZE];
    snprintf(text, sizeof text, "%s", name);
    *r = (mx_recipe){.nonpositive_code = -1, .cast = MX_CAST_WITH(MX_RNE, MX_SATURATE, MX_NAN_CANONICAL)};
    bool good = !strncmp(name, "cast-", 5)    ? parse_cast(text, r)
                : !strncmp(name, "study:", 6) ? parse_study(text, r)
                                              : false;
    r->source = "spelled out by its name";
    r->date = "";
    return good;
}

static const mx_recipe *find_kept(const char *name)
{
    for (const kept *k = all_kept; k; k = k->next)
        if (!strcmp(k->name, name)) return &k->recipe;
    return NULL;
}

const mx_recipe *mx_recipe_parse(const char *name)
{
    mx_recipe r;
    if (strlen(name) >= NAME_SIZE || !parse(name, &r)) return NULL;
    pthread_mutex_lock(&lock);
    const mx_recipe *found = find_kept(name);
    kept *k = found || kept_count == MAX_KEPT ? NULL : malloc(sizeof *k);
    if (k) {
        k->recipe = r;
        strcpy(k->name, name);
        k->recipe.name = k->name;
        k->next = all_kept;
        all_kept = k;
        kept_count++;
        found = &k->recipe;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

const mx_recipe *mx_recipe_parse_transposed(const mx_recipe *parsed)
{
    char name[2 * NAME_SIZE];
    const char *shape = strchr(parsed->name, '/');
    if (shape) shape = strchr(shape + 1, '/');
    if (!shape) return NULL;
    snprintf(name, sizeof name, "%.*s/%dx%d%s", (int)(shape - parsed->name), parsed->name, parsed->block_cols,
             parsed->block_rows, strchr(shape + 1, '/'));
    return mx_recipe_parse(name);
}
