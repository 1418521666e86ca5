/* SPDX-License-Identifier: Apache-2.0
 * A case and its JSON object: one table of text members serves both directions. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_io.h"

static const char *const verdicts[] = {"exact", "bound", "open"};
enum { N_VERDICTS = sizeof verdicts / sizeof *verdicts };

#define TEXT(member, required)                                                                               \
    {                                                                                                        \
#member, offsetof(mx_case, member), sizeof((mx_case *)0)->member, required                           \
    }
static const struct {
    const char *key;
    size_t offset, size;
    bool required;
} texts[] = {
    TEXT(operation, true),  TEXT(recipe, false),      TEXT(reason, true),
    TEXT(generator, false), TEXT(model, false),       TEXT(schedule, false),
    TEXT(output, false),    TEXT(data_layout, false), TEXT(scale_layout, false),
};
enum { N_TEXTS = sizeof texts / sizeof *texts };

/* Of x, in elements: enough for offsets beyond 2^32, small enough for 64-bit arithmetic on rows. */
static const int64_t pitch_max = (int64_t)1 << 33;
static const int64_t make_max = (int64_t)1 << 36; /* elements of a generated input */

bool mx_case_id_is_plain(const char *id)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+=,:@-";
    return *id && strchr(letters, *id) && !id[strspn(id, all)] && strlen(id) < sizeof((mx_case *)0)->id;
}

static json_t *flags_to_json(const char *flags)
{
    json_t *list = json_array();
    for (const char *at = flags; *at;) {
        size_t n = strcspn(at, ",");
        if (n) json_array_append_new(list, json_stringn(at, n));
        at += n + (at[n] == ',');
    }
    return list;
}

static bool is_product(const mx_case *c)
{
    if (mx_case_in(c, "a")) return true;
    return !(c->beta == 0 && (c->alpha == 0 || c->alpha == 1));
}

json_t *mx_case_to_json(const mx_case *c)
{
    char seed[24];
    snprintf(seed, sizeof seed, "0x%" PRIx64, c->seed);
    json_t *o = json_object();
    bool bad = !o;
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = (const char *)c + texts[i].offset;
        if (*text || texts[i].required) bad |= json_object_set_new(o, texts[i].key, json_string(text)) != 0;
    }
    bad |= json_object_set_new(o, "flags", flags_to_json(c->flags)) != 0;
    bad |= (unsigned)c->verdict >= N_VERDICTS ||
           json_object_set_new(o, "verdict", json_string(verdicts[c->verdict])) != 0;
    bad |= json_object_set_new(o, "seed", json_string(seed)) != 0;
    if (c->pitch) bad |= json_object_set_new(o, "pitch", json_integer(c->pitch)) != 0;
    if (c->cols) bad |= json_object_set_new(o, "cols", json_integer(c->cols)) != 0;
    if (c->misalign) bad |= json_object_set_new(o, "misalign", json_integer(c->misalign)) != 0;
    if (is_product(c)) {
        bad |= json_object_set_new(o, "alpha", json_real(c->alpha)) != 0;
        bad |= json_object_set_new(o, "beta", json_real(c->beta)) != 0;
    }
    if (*c->make_digest)
        bad |= json_object_set_new(o, "make",
                                   json_pack("{s:I, s:I, s:s, s:s}", "rows", (json_int_t)c->make_rows, "cols",
                                             (json_int_t)c->make_cols, "dtype", c->make_dtype, "digest",
                                             c->make_digest)) != 0;
    if (bad) json_decref(o);
    return bad ? NULL : o;
}

static mx_status read_flags(const json_t *list, const char *place, mx_case *c, mx_error *e)
{
    size_t i, at = 0;
    json_t *flag;
    if (!json_is_array(list)) return mx_fail(e, MX_BAD_INPUT, place, "'flags' is missing or no list");
    json_array_foreach(list, i, flag)
    {
        const char *text = json_string_value(flag);
        if (!text || !mx_case_id_is_plain(text) || strchr(text, ','))
            return mx_fail(e, MX_BAD_INPUT, place, "'flags' holds something that is no flag");
        int n = snprintf(c->flags + at, sizeof c->flags - at, "%s%s", at ? "," : "", text);
        if ((size_t)n >= sizeof c->flags - at) return mx_fail(e, MX_BAD_INPUT, place, "too many flags");
        at += (size_t)n;
    }
    return MX_OK;
}

static mx_status read_verdict(const json_t *o, const char *place, mx_case *c, mx_error *e)
{
    char name[16] = "";
    mx_status status = mx_json_text(o, "verdict", true, name, sizeof name, place, e);
    if (status) return status;
    for (int i = 0; i < N_VERDICTS; i++)
        if (!strcmp(verdicts[i], name)) return c->verdict = (mx_verdict_kind)i, MX_OK;
    return mx_fail(e, MX_BAD_INPUT, place, "verdict '%s' is none of exact, bound, open", name);
}

static mx_status read_seed(const json_t *o, const char *place, mx_case *c, mx_error *e)
{
    char text[24] = "0x0", *end;
    mx_status status = mx_json_text(o, "seed", false, text, sizeof text, place, e);
    if (status) return status;
    errno = 0;
    c->seed = strtoull(text, &end, 16);
    bool good = !strncmp(text, "0x", 2) && text[2] && text[2] != '-' && text[2] != '+' && !*end && !errno;
    return good ? MX_OK : mx_fail(e, MX_BAD_INPUT, place, "seed '%s' is no 64-bit hexadecimal number", text);
}

static mx_status read_make(const json_t *make, const char *place, mx_case *c, mx_error *e)
{
    if (!make) return MX_OK;
    if (!json_is_object(make)) return mx_fail(e, MX_BAD_INPUT, place, "'make' is no object");
    mx_status status = mx_json_int(make, "rows", true, 0, make_max, &c->make_rows, place, e);
    if (!status) status = mx_json_int(make, "cols", true, 0, make_max, &c->make_cols, place, e);
    if (!status) status = mx_json_text(make, "dtype", true, c->make_dtype, sizeof c->make_dtype, place, e);
    if (!status) status = mx_json_text(make, "digest", true, c->make_digest, sizeof c->make_digest, place, e);
    if (status) return status;
    int64_t n;
    if (__builtin_mul_overflow(c->make_rows, c->make_cols, &n) || n > make_max)
        return mx_fail(e, MX_BAD_INPUT, place, "'make' asks for more than 2^36 elements");
    if (!mx_dtype_bytes(c->make_dtype))
        return mx_fail(e, MX_BAD_INPUT, place, "'make' names the unknown type '%s'", c->make_dtype);
    if (strspn(c->make_digest, "0123456789abcdef") != 64)
        return mx_fail(e, MX_BAD_INPUT, place, "'make' has a digest that is no SHA-256");
    return MX_OK;
}

mx_status mx_case_from_json(const json_t *o, const char *id, const char *place, mx_case *c, mx_error *e)
{
    *c = (mx_case){.alpha = 1};
    int64_t misalign = 0;
    if (!mx_case_id_is_plain(id)) return mx_fail(e, MX_BAD_INPUT, place, "'%s' is no case id", id);
    snprintf(c->id, sizeof c->id, "%s", id);
    mx_status status = MX_OK;
    for (size_t i = 0; i < N_TEXTS && !status; i++)
        status = mx_json_text(o, texts[i].key, texts[i].required, (char *)c + texts[i].offset, texts[i].size,
                              place, e);
    if (!status) status = read_flags(json_object_get(o, "flags"), place, c, e);
    if (!status) status = read_verdict(o, place, c, e);
    if (!status) status = read_seed(o, place, c, e);
    if (!status) status = mx_json_int(o, "pitch", false, 0, pitch_max, &c->pitch, place, e);
    if (!status) status = mx_json_int(o, "cols", false, 0, c->pitch, &c->cols, place, e);
    if (!status) status = mx_json_int(o, "misalign", false, 0, 15, &misalign, place, e);
    if (!status) status = mx_json_real(o, "alpha", false, &c->alpha, place, e);
    if (!status) status = mx_json_real(o, "beta", false, &c->beta, place, e);
    if (!status) status = read_make(json_object_get(o, "make"), place, c, e);
    c->misalign = (int)misalign;
    return status;
}
