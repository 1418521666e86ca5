/* SPDX-License-Identifier: Apache-2.0
 * Explaining a product by search. Hypotheses are thinned out on a few outputs, then on a sample, then all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identify.h"

/* Hypotheses that are tried on every output: where a coarse output format lets more than these pass the
 * sample, the simplest are tried. */
enum { MAX_FINALISTS = 16 };

static int64_t code_bytes(const mx_format *f) { return f->bits <= 8 ? 1 : f->bits <= 16 ? 2 : 4; }

static uint32_t load(const mx_format *f, const void *data, int64_t at)
{
    uint32_t code = 0;
    memcpy(&code, (const char *)data + at * code_bytes(f), (size_t)code_bytes(f));
    return code;
}

/* Codes on a line, in order of value. */
static int64_t rank(const mx_format *f, uint32_t code)
{
    uint32_t sign = (uint32_t)1 << (f->bits - 1);
    return code & sign ? -(int64_t)(code & ~sign) : code;
}

static void compare(mx_hypothesis *h, const mx_format *f, uint32_t got, uint32_t want)
{
    h->compared++;
    if (got == want || (mx_code_is_nan(f, got) && mx_code_is_nan(f, want))) return;
    h->differ++;
    bool finite = isfinite(mx_decode(f, got)) && isfinite(mx_decode(f, want));
    int64_t ulp = finite ? llabs(rank(f, got) - rank(f, want)) : INT64_MAX;
    if (ulp > h->max_ulp) h->max_ulp = ulp;
}

/* Compute the first rows x cols outputs by a hypothesis and compare. False: it cannot be computed at all. */
static bool try_on(const mx_product *seen, mx_hypothesis *h, int64_t rows, int64_t cols)
{
    mx_product p = *seen;
    p.model = h->model;
    p.schedule = h->schedule;
    p.threads = 1; /* hypotheses are many and small */
    p.scalar = rows * cols < 64;
    p.a.rows = rows < p.a.rows ? rows : p.a.rows;
    p.b.rows = cols < p.b.rows ? cols : p.b.rows;
    h->compared = h->differ = h->max_ulp = 0;
    void *d = calloc((size_t)(p.a.rows * p.b.rows) + 1, (size_t)code_bytes(p.d_format));
    p.d = d;
    p.d_pitch = p.b.rows;
    bool ran = d && mx_gemm(&p, NULL) == MX_OK;
    for (int64_t i = 0; ran && i < p.a.rows; i++)
        for (int64_t j = 0; j < p.b.rows; j++)
            compare(h, p.d_format, load(p.d_format, d, i * p.d_pitch + j),
                    load(p.d_format, seen->d, i * seen->d_pitch + j));
    free(d);
    return ran;
}

/* ---- the search space -------------------------------------------------------------------------------- */

typedef struct search {
    const mx_product *seen;
    mx_hypothesis *all;
    size_t n, room;
    bool no_memory;
} search;

static void add(search *s, const mx_model *m, const mx_schedule *schedule)
{
    mx_hypothesis h = {.model = m, .schedule = *schedule};
    if (!try_on(s->seen, &h, 1, 1)) return;
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 256;
        void *grown = realloc(s->all, room * sizeof *s->all);
        if (!grown) {
            s->no_memory = true;
            return;
        }
        s->all = grown;
        s->room = room;
    }
    s->all[s->n++] = h;
}

static bool is_scaled(const mx_product *p) { return p->a.scale_format || p->b.scale_format; }

/* Each way in which scales that are constant along K may enter the epilogue. */
static void add_scale_orders(search *s, const mx_model *m, mx_schedule schedule)
{
    int orders = is_scaled(s->seen) && !schedule.convert && !m->scales ? MX_SCALE_B_A : MX_SCALE_AB;
    for (int i = MX_SCALE_AB; i <= orders; i++) {
        schedule.scale_order = (mx_scale_order)i;
        add(s, m, &schedule);
    }
}

static void add_promotions(search *s, const mx_model *m, mx_schedule schedule)
{
    add_scale_orders(s, m, schedule);
    for (int n = 1; m->k && n <= 16; n *= 2) {
        schedule.promote = n;
        if ((int64_t)n * m->k >= (is_scaled(s->seen) ? 2 : 1) * s->seen->a.k) break; /* the same as a chain */
        for (int ffma = 0; ffma <= is_scaled(s->seen); ffma++) {
            schedule.ffma = ffma;
            add_scale_orders(s, m, schedule);
        }
    }
}

/* Slices of the same lengths are one hypothesis: `lengths` remembers what was tried. */
static bool seen_before(int64_t *lengths, int *n, int64_t length)
{
    for (int i = 0; i < *n; i++)
        if (lengths[i] == length) return true;
    lengths[(*n)++] = length;
    return false;
}

static void add_orders(search *s, const mx_model *m, mx_schedule schedule)
{
    int last = schedule.split > 2 ? MX_SPLIT_TREE : MX_SPLIT_UP;
    for (int order = MX_SPLIT_UP; order <= last; order++) {
        schedule.order = (mx_split_order)order;
        schedule.promote = 0;
        add_scale_orders(s, m, schedule);
        if (m->k != 32) continue;
        schedule.promote = 4; /* what fp8 kernels combine with a split */
        add_scale_orders(s, m, schedule);
    }
}

static void add_splits(search *s, const mx_model *m, mx_schedule schedule)
{
    static const int tiles[] = {128, 64, 256, 32}; /* the usual one names the slices */
    for (schedule.split = 2; schedule.split <= 16; schedule.split++) {
        int64_t lengths[4], begin, end;
        int tried = 0;
        for (int i = 0; i < 4; i++) {
            schedule.split_tile = tiles[i];
            mx_schedule_slice(&schedule, s->seen->a.k, schedule.split - 1, &begin, &end);
            if (begin == end) continue; /* fewer slices say the same */
            mx_schedule_slice(&schedule, s->seen->a.k, 0, &begin, &end);
            if (!seen_before(lengths, &tried, end - begin)) add_orders(s, m, schedule);
        }
    }
}

/* Warps that take turns, with the short tile first or last. */
static void add_slices(search *s, const mx_model *m, mx_schedule schedule)
{
    static const int residues[] = {0, 8, 16, 32, 64, 128};
    for (int r = 0; r < 6; r++) {
        if (residues[r] && s->seen->a.k % residues[r] == 0) continue;
        schedule.residue = residues[r];
        schedule.slice = 0;
        schedule.order = MX_SPLIT_UP;
        if (schedule.residue) add_scale_orders(s, m, schedule);
        for (schedule.slice = 2; schedule.slice <= 8; schedule.slice *= 2)
            for (schedule.slice_tile = 8; schedule.slice_tile <= 64; schedule.slice_tile *= 2)
                for (int order = MX_SPLIT_UP; order <= MX_SPLIT_TREE; order++) {
                    if (schedule.residue && schedule.residue != schedule.slice * schedule.slice_tile)
                        continue;
                    schedule.order = (mx_split_order)order;
                    add_scale_orders(s, m, schedule);
                }
    }
}

static void add_model(search *s, const mx_model *m, mx_conversion convert)
{
    mx_schedule plain = {.convert = convert};
    add_promotions(s, m, plain);
    if (m->kind != MX_MODEL_EXACT) add_splits(s, m, plain);
    if (m->k) add_slices(s, m, plain);
    if (!s->seen->c_format || s->seen->beta != 1) return;
    plain.c_first = true;
    add(s, m, &plain);
}

/* Operands as they are, and after each conversion that makes them what the unit takes. */
static void add_conversions(search *s, const mx_model *m)
{
    static const char *const formats[] = {NULL, "bf16", "f16", "tf32"};
    const mx_format *a = s->seen->a.format, *b = s->seen->b.format;
    if (mx_model_accepts(m, a) && mx_model_accepts(m, b)) add_model(s, m, MX_CONVERT_NONE);
    if (m->kind != MX_MODEL_FUSED) return;
    for (int c = MX_CONVERT_BF16; c <= MX_CONVERT_TF32; c++) {
        const mx_format *to = mx_format_find(formats[c]);
        bool narrow = a->bits <= 8 && b->bits <= 8;
        bool sensible = c == MX_CONVERT_TF32 ? a->bits == 32 && b->bits == 32 : narrow;
        if (sensible && mx_model_accepts(m, to)) add_model(s, m, (mx_conversion)c);
    }
}

static int complexity(const mx_schedule *s)
{
    return (s->split > 1) * 8 + (s->slice > 1) * 8 + (s->residue != 0) * 3 + (s->order != MX_SPLIT_UP) * 2 +
           (s->promote != 0) * 4 + (s->convert != 0) * 16 + (s->scale_order != MX_SCALE_AB) + s->ffma;
}

/* What is known best comes first among equals. */
static int standing(const mx_model *m) { return (int)(strchr("HVPSD", m->evidence) - "HVPSD"); }

static int order_of(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Fewest differences first, then the simplest schedule, then the best evidence, then the table's order. */
static int by_fit(const void *x, const void *y)
{
    const mx_hypothesis *a = x, *b = y;
    int order = order_of(a->differ * b->compared, b->differ * a->compared);
    if (!order) order = order_of(b->compared, a->compared);
    if (!order) order = order_of(a->max_ulp, b->max_ulp);
    if (!order) order = order_of(complexity(&a->schedule), complexity(&b->schedule));
    if (!order) order = order_of(standing(a->model), standing(b->model));
    if (!order) order = (a->model > b->model) - (a->model < b->model);
    return order ? order : memcmp(&a->schedule, &b->schedule, sizeof a->schedule);
}

/* Look closer at the best of what is left. */
static void refine(search *s, int64_t rows, int64_t cols, size_t at_least, size_t at_most)
{
    qsort(s->all, s->n, sizeof *s->all, by_fit);
    size_t keep = 0;
    while (keep < s->n && keep < at_most && (keep < at_least || s->all[keep].differ == 0))
        keep++;
    s->n = keep;
    for (size_t i = 0; i < keep; i++)
        try_on(s->seen, &s->all[i], rows, cols);
}

mx_status mx_identify_product(const mx_product *seen, mx_hypothesis *out, size_t room, size_t *n,
                              size_t *exact, mx_error *e)
{
    search s = {.seen = seen};
    *n = *exact = 0;
    for (size_t i = 0; i < mx_model_count(); i++)
        add_conversions(&s, mx_model_at(i));
    if (s.no_memory || !s.n) {
        bool memory = s.no_memory;
        free(s.all);
        return memory ? mx_fail(e, MX_NO_MEMORY, "identify", "no memory for hypotheses")
                      : mx_fail(e, MX_UNSUPPORTED, "identify", "no accumulation model takes %s x %s",
                                seen->a.format->name, seen->b.format->name);
    }
    refine(&s, 4, 8, 64, s.n);
    refine(&s, 8, 16, 16, s.n);
    refine(&s, seen->a.rows, seen->b.rows, 4, MAX_FINALISTS);
    qsort(s.all, s.n, sizeof *s.all, by_fit);
    for (size_t i = 0; i < s.n && *n < room; i++) {
        out[(*n)++] = s.all[i];
        *exact += s.all[i].differ == 0;
    }
    free(s.all);
    return MX_OK;
}

const char *mx_hypothesis_text(const mx_hypothesis *h, char *out, size_t size)
{
    char schedule[160];
    mx_schedule_text(&h->schedule, schedule, sizeof schedule);
    int n = snprintf(out, size, "%s, %s (%s): %lld of %lld outputs", h->model->name, schedule,
                     mx_model_words(h->model), (long long)(h->compared - h->differ), (long long)h->compared);
    if (h->differ && n > 0 && (size_t)n < size && h->max_ulp != INT64_MAX)
        snprintf(out + n, size - (size_t)n, ", others within %lld ulp", (long long)h->max_ulp);
    return out;
}
