/* SPDX-License-Identifier: Apache-2.0
 * Which unit answers so? Probes that separate widths, truncation, groups, order and the place of C, then
 * random data; every row of the table is tried on all answers, and if none fits, a fused unit is fitted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "identify.h"
#include "random.h"

enum { MAX_N = 64, N_PROBES = 1500, FIRST = 96, SEED = 41 };

typedef struct probe {
    uint32_t a[MAX_N], b[MAX_N], c, d;
} probe;

typedef struct probes {
    const mx_format *fa, *fb, *fc;
    int n, count;
    probe p[N_PROBES];
} probes;

static uint32_t code(const mx_format *f, double x) { return mx_encode(f, x, &MX_CAST_DEFAULT, 0); }

static double power(const mx_format *f, int exponent)
{
    int low = mx_format_emin(f) - f->man_bits, high = mx_format_emax(f);
    return ldexp(1, exponent < low ? low : exponent > high ? high : exponent);
}

/* Lane k becomes +-2^exponent, as even a split between the operands as the formats allow. */
static void set_lane(probes *s, probe *p, int k, int exponent, bool negative)
{
    int half = exponent / 2;
    double a = power(s->fa, half), b = power(s->fb, exponent - ilogb(a));
    p->a[k] = code(s->fa, negative ? -a : a);
    p->b[k] = code(s->fb, b);
}

/* Terms of 1 and of 2^-shift: how many bits are kept, and how the rest is lost. */
static void width_probe(probes *s, probe *p, uint32_t r)
{
    int shift = 2 + (int)(r % 40), first = (int)(r >> 8) % s->n;
    set_lane(s, p, first, 0, r >> 16 & 1);
    for (int k = 0; k < s->n; k++)
        if (k != first && (r >> 17 & 3) > (mx_random_u32(SEED, 9, r + (uint32_t)k) & 3))
            set_lane(s, p, k, -shift, r >> 20 & 1);
    if (r >> 21 & 1) p->c = code(s->fc, (r >> 22 & 1 ? -1 : 1) * ldexp(1, -(int)(r >> 23) % 30));
}

/* Large terms that cancel, and a small one: who meets whom, and when. */
static void group_probe(probes *s, probe *p, uint32_t r)
{
    int big = 4 + (int)(r % 12);
    for (int i = 0; i < 2; i++)
        set_lane(s, p, (int)(r >> (4 + 6 * i)) % s->n, big, i);
    set_lane(s, p, (int)(r >> 18) % s->n, -10 - (int)(r >> 24) % 12, false);
    if (r >> 30 & 1) p->c = code(s->fc, ldexp(1, big));
}

static uint32_t finite_code(const mx_format *f, uint32_t r)
{
    uint32_t bits = f->bits == 32 ? r : r & (((uint32_t)1 << f->bits) - 1);
    return mx_code_is_nan(f, bits) || mx_code_is_inf(f, bits) ? f->max_code : bits;
}

/* Random data: all bits, or a few binades. */
static void random_probe(probes *s, probe *p, uint32_t r, uint32_t index)
{
    for (int k = 0; k < s->n; k++) {
        uint32_t ra = mx_random_u32(SEED, 2, index * MAX_N + (uint32_t)k),
                 rb = mx_random_u32(SEED, 3, index * MAX_N + (uint32_t)k);
        bool wide = r & 1;
        p->a[k] =
            wide ? finite_code(s->fa, ra)
                 : code(s->fa, ldexp(1 + ra % 256 / 256.0, (int)(ra >> 8) % 6 - 3) * (ra >> 31 ? -1 : 1));
        p->b[k] =
            wide ? finite_code(s->fb, rb)
                 : code(s->fb, ldexp(1 + rb % 256 / 256.0, (int)(rb >> 8) % 6 - 3) * (rb >> 31 ? -1 : 1));
    }
    double c = ldexp(1 + (r >> 8 & 0xFFFFF) * 0x1p-20, (int)(r >> 4 & 15) - 8);
    if (r & 2) p->c = code(s->fc, r & 4 ? -c : c);
}

static mx_status ask(probes *s, mx_dot_runner run, void *context, mx_error *e)
{
    for (s->count = 0; s->count < N_PROBES; s->count++) {
        probe *p = &s->p[s->count];
        uint32_t r = mx_random_u32(SEED, 1, (uint64_t)s->count);
        memset(p, 0, sizeof *p);
        if (s->count % 3 == 0)
            width_probe(s, p, r);
        else if (s->count % 3 == 1)
            group_probe(s, p, r);
        else
            random_probe(s, p, r, (uint32_t)s->count);
        if (!run(context, p->a, p->b, s->n, p->c, &p->d))
            return mx_fail(e, MX_CANNOT_RUN, "identify", "the kernel did not run on probe %d", s->count);
    }
    return MX_OK;
}

/* Differences on the first `n` probes; counting stops past `limit`. */
static int differences(const probes *s, const mx_model *m, int n, int limit)
{
    int wrong = 0;
    for (int i = 0; i < n && wrong <= limit; i++) {
        mx_lanes x = {s->fa, s->fb, s->p[i].a, s->p[i].b, s->n, NULL, NULL, NULL, 0};
        uint32_t d = mx_model_chain(m, &x, s->p[i].c);
        wrong += d != s->p[i].d && !(mx_code_is_nan(s->fc, d) && mx_code_is_nan(s->fc, s->p[i].d));
    }
    return wrong;
}

static void try_rows(const probes *s, mx_unit_answer *out)
{
    for (size_t i = 0; i < mx_model_count(); i++) {
        const mx_model *m = mx_model_at(i);
        bool takes = mx_model_accepts(m, s->fa) && mx_model_accepts(m, s->fb) && mx_model_format(m) == s->fc;
        if (takes && differences(s, m, s->count, 0) == 0 && out->n_models < 8)
            out->models[out->n_models++] = m;
    }
}

static void consider(const probes *s, const mx_model *m, mx_unit_answer *out)
{
    int sample = differences(s, m, FIRST, FIRST);
    if (sample * s->count > 2 * FIRST * (out->differ + 8)) return; /* hopeless */
    int wrong = differences(s, m, s->count, out->differ);
    if (wrong >= out->differ) return;
    out->differ = wrong;
    out->nearest = *m;
}

/* Each column in turn: L and F first, since they decide most. */
static void fit(const probes *s, mx_unit_answer *out)
{
    static const int lanes[] = {1, 2, 4, 8, 16, 32, 64};
    bool f16 = s->fc->bits == 16;
    mx_model m = {.name = "fitted",
                  .inputs = "",
                  .kind = MX_MODEL_FUSED,
                  .k = (int16_t)s->n,
                  .evidence = 'D',
                  .exponent_floor = MX_NO_FLOOR,
                  .nan_bits = s->fc->nan_code,
                  .units = "the kernel under test",
                  .source = "fitted to its answers to probes",
                  .note = ""};
    out->differ = s->count + 1;
    for (int i = 0; i < 7 && lanes[i] <= s->n; i++)
        for (int fraction = 10; fraction <= 36; fraction++)
            for (int rest = 0; rest < 36; rest++) {
                m.lanes = (int16_t)lanes[i];
                m.fraction = (int16_t)fraction;
                m.cut = (mx_model_cut)(rest % 3);
                m.late_c = rest / 3 % 2;
                m.output = f16 ? MX_OUT_F16_RNE
                               : (mx_model_output)(rest / 6 % 3 == 2 ? MX_OUT_F32_RNE : rest / 6 % 3);
                m.pair_interleave = rest / 18 && s->n == 2 * lanes[i];
                if ((rest / 18 && !m.pair_interleave) || (f16 && rest / 6 % 3)) continue;
                consider(s, &m, out);
                if (out->differ == 0) return;
            }
}

mx_status mx_identify_unit(const mx_format *a, const mx_format *b, int n, bool f16_accumulator,
                           mx_dot_runner run, void *context, mx_unit_answer *out, mx_error *e)
{
    memset(out, 0, sizeof *out);
    if (n < 1 || n > MAX_N)
        return mx_fail(e, MX_BAD_USAGE, "identify", "a dot product has 1 to %d lanes here, not %d", MAX_N, n);
    probes *s = calloc(1, sizeof *s);
    if (!s) return mx_fail(e, MX_NO_MEMORY, "identify", "no memory for probes");
    *s = (probes){.fa = a, .fb = b, .fc = mx_format_find(f16_accumulator ? "f16" : "f32"), .n = n};
    mx_status status = ask(s, run, context, e);
    out->probes = s->count;
    if (!status) try_rows(s, out);
    if (!status && !out->n_models) fit(s, out);
    free(s);
    return status;
}
