/* SPDX-License-Identifier: Apache-2.0 */
#include "small_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate.h"
#include "random.h"

static const mx_cast plain = {MX_RNE, MX_OVERFLOW, MX_NAN_CANONICAL, {-1, -1}, false, 0};

static void set(mx_tensor *t, int64_t i, double value)
{
    const mx_format *f = mx_format_find(t->dtype);
    uint32_t code = mx_encode(f, value, &plain, 0);
    memcpy(t->data + i * f->bits / 8, &code, (size_t)f->bits / 8);
}

/* ---- what a tensor holds ------------------------------------------------------------------------------- */

typedef void (*filler)(mx_tensor *t, uint64_t seed);

static void normal(mx_tensor *t, uint64_t seed)
{
    for (int64_t i = 0; i < mx_tensor_count(t); i++)
        set(t, i,
            mx_random_normal(seed, 0, (uint64_t)i) *
                ldexp(1, (int)(mx_random_u32(seed, 1, (uint64_t)i / 32) % 24) - 12));
}

/* Every midpoint between E4M3 codes with its neighbours, the edge of overflow, and the special values. */
static void midpoints(mx_tensor *t, uint64_t seed)
{
    (void)seed;
    const mx_format *f = mx_format_find("e4m3");
    static const double edges[] = {448, 463,  464,      465, 480, 500,     511,
                                   512, 1e30, INFINITY, NAN, 0.0, 0x1p-149};
    int64_t i = 0, n = mx_tensor_count(t);
    for (uint32_t code = 0; code < f->max_code; code++) {
        float mid = (float)((mx_decode(f, code) + mx_decode(f, code + 1)) / 2);
        for (int k = 0; k < 6 && i < n; k++, i++)
            set(t, i, (k & 1 ? -1 : 1) * (double)(k < 2 ? mid : nextafterf(mid, k < 4 ? 0 : INFINITY)));
    }
    for (size_t k = 0; k < 2 * sizeof edges / sizeof *edges && i < n; k++, i++)
        set(t, i, k & 1 ? -edges[k / 2] : edges[k / 2]);
}

/* Row r: a block whose maximum walks over the thresholds of every scale rule, in many binades. */
static void thresholds(mx_tensor *t, uint64_t seed)
{
    static const double amax[] = {448, 449, 450,  440, 256, 257, 384,   480,   496, 512,
                                  300, 6,   6.01, 7,   4,   5,   57344, 57345, 1,   1.5};
    int64_t cols = t->shape[1];
    for (int64_t r = 0; r < t->shape[0]; r++)
        for (int64_t c = 0; c < cols; c++) {
            double top = ldexp(amax[r % 20], 10 * (int)(r / 20 + c / 32 % 4) - 30);
            set(t, r * cols + c,
                c % 32 == 5 ? top : top * (2 * mx_random_uniform(seed, 0, (uint64_t)(r * cols + c)) - 1));
        }
}

/* Blocks with NaN, infinities, zeros, subnormals. */
static void specials(mx_tensor *t, uint64_t seed)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 0x1p-149, 0x1p-130, 3.4e38};
    int64_t cols = t->shape[1];
    for (int64_t r = 0; r < t->shape[0]; r++)
        for (int64_t c = 0; c < cols; c++)
            set(t, r * cols + c,
                r % 8 == 4 && c / 32 % 2 ? 0.0 : mx_random_normal(seed, 0, (uint64_t)(r * cols + c)));
    for (int64_t r = 0; r < t->shape[0]; r++)
        for (int64_t c = r % 7; c < cols; c += r % 8 == 4 ? 64 : 32)
            set(t, r * cols + c, odd[(r + c / 32) % 8]);
    for (int64_t r = 0; r < t->shape[0]; r++)
        set(t, r * cols, r % 2 ? -0.0 : NAN);
}

/* Blocks near the bottom of fp32, where byte 00 and flushing matter. */
static void tiny(mx_tensor *t, uint64_t seed)
{
    int64_t cols = t->shape[1];
    for (int64_t r = 0; r < t->shape[0]; r++)
        for (int64_t c = 0; c < cols; c++)
            set(t, r * cols + c,
                mx_random_normal(seed, 0, (uint64_t)(r * cols + c)) *
                    ldexp(1, -145 + (int)(2 * r + c / 32) % 40));
}

/* Multiples of a quarter up to 6: every tie of E2M1 at scale 1. */
static void quarters(mx_tensor *t, uint64_t seed)
{
    for (int64_t i = 0; i < mx_tensor_count(t); i++)
        set(t, i, i % 32 == 0 ? 6 : 0.25 * ((double)(mx_random_u32(seed, 0, (uint64_t)i) % 49) - 24));
}

/* ---- the cases -------------------------------------------------------------------------------------------
 */

static const struct {
    const char *id, *operation, *recipe, *dtype;
    int64_t rows, cols, pitch;
    int misalign;
    filler fill;
    const char *flags;
} rows[] = {
    {"small/cast-midpoints", "cast", "cast-e4m3-cuda-sat", "f32", 0, 790, 0, 0, midpoints, "cast-tie"},
    {"small/mxfp8-normal", "quantize", "mxfp8", "f32", 8, 160, 0, 0, normal, "data"},
    {"small/mxfp8-bf16", "quantize", "mxfp8", "bf16", 8, 160, 0, 0, normal, "data"},
    {"small/mxfp8-thresholds", "quantize", "mxfp8", "f32", 80, 128, 0, 0, thresholds, "scale-rule"},
    {"small/mxfp8-specials", "quantize", "mxfp8", "f32", 16, 128, 0, 0, specials, "special"},
    {"small/mxfp8-tiny", "quantize", "mxfp8", "f32", 20, 128, 0, 0, tiny, "subnormal"},
    {"small/mxfp8-tail", "quantize", "mxfp8", "f32", 5, 70, 0, 0, normal, "tail"},
    {"small/mxfp8-one", "quantize", "mxfp8", "f32", 1, 1, 0, 0, normal, "tail"},
    {"small/mxfp8-pitch", "quantize", "mxfp8", "f32", 5, 70, 83, 0, normal, "pitch"},
    {"small/mxfp8-misaligned", "quantize", "mxfp8", "bf16", 3, 96, 0, 2, normal, "misaligned"},
    {"small/mxfp8-tiles", "quantize", "mxfp8", "f32", 133, 200, 0, 0, normal, "tiles"},
    {"small/mxfp8-empty", "quantize", "mxfp8", "f32", 0, 64, 0, 0, normal, "empty"},
    {"small/e5m2-thresholds", "quantize", "mxfp8-e5m2", "f32", 40, 64, 0, 0, thresholds, "scale-rule"},
    {"small/e5m2-tiny", "quantize", "mxfp8-e5m2", "f32", 20, 64, 0, 0, tiny, "subnormal"},
    {"small/mxfp4-quarters", "quantize", "mxfp4", "f32", 8, 64, 0, 0, quarters, "cast-tie"},
    {"small/mxfp4-thresholds", "quantize", "mxfp4", "f32", 40, 64, 0, 0, thresholds, "scale-rule"},
    {"small/mxfp8-decode", "dequantize", "mxfp8", "f32", 0, 0, 0, 0, NULL, "all-codes"},
    {"small/mxfp4-tail", "quantize", "mxfp4", "f32", 3, 50, 0, 0, normal, "tail"},
    {"small/mxfp8-noise", "quantize", "study:e4m3/e8m0/1x32/rceil/sr16", "f32", 64, 256, 0, 0, normal,
     "stochastic"},
};

/* Every code under 32 scale bytes, the outermost ones among them. */
static bool make_decode(mx_case *c)
{
    const int64_t codes[2] = {32, 256}, scales[2] = {32, 8};
    snprintf(c->output, sizeof c->output, "f32");
    c->n_in = 2;
    if (mx_tensor_make(&c->in[0], "q", "e4m3", 2, codes, NULL) != MX_OK ||
        mx_tensor_make(&c->in[1], "scale", "e8m0", 2, scales, NULL) != MX_OK)
        return false;
    for (int i = 0; i < 32 * 256; i++)
        c->in[0].data[i] = (unsigned char)i;
    for (int i = 0; i < 32 * 8; i++)
        c->in[1].data[i] = (unsigned char)(i / 8 == 31 ? 0xFF : 8 * (i / 8) + 1);
    return emulate_case(c, c->want, &c->n_want, NULL) == MX_OK;
}

static bool make(mx_case *c, size_t i)
{
    *c = (mx_case){
        .pitch = rows[i].pitch, .cols = rows[i].cols, .misalign = rows[i].misalign, .alpha = 1, .n_in = 1};
    snprintf(c->id, sizeof c->id, "%s", rows[i].id);
    snprintf(c->operation, sizeof c->operation, "%s", rows[i].operation);
    snprintf(c->recipe, sizeof c->recipe, "%s", rows[i].recipe);
    snprintf(c->flags, sizeof c->flags, "%s", rows[i].flags);
    if (!strcmp(rows[i].flags, "stochastic")) c->verdict = MX_VERDICT_BOUND;
    snprintf(c->reason, sizeof c->reason, "made for the unit tests");
    if (!strcmp(rows[i].operation, "dequantize")) return make_decode(c);
    int64_t width = rows[i].pitch ? rows[i].pitch : rows[i].cols;
    bool vector = !strcmp(rows[i].operation, "cast");
    int64_t shape[2] = {vector ? width : rows[i].rows, width};
    if (mx_tensor_make(&c->in[0], "x", rows[i].dtype, vector ? 1 : 2, shape, NULL) != MX_OK) return false;
    rows[i].fill(&c->in[0], i + 1);
    return emulate_case(c, c->want, &c->n_want, NULL) == MX_OK;
}

small_cases small_cases_make(void)
{
    small_cases s = {.cases = calloc(SMALL_CASES, sizeof *s.cases)};
    bool good = s.cases;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && good; i++, s.n++) {
        good = make(&s.cases[i], i);
        s.list[i] = &s.cases[i];
    }
    if (!good) small_cases_free(&s);
    return s;
}

void small_cases_free(small_cases *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (int k = 0; k < s->cases[i].n_in; k++)
            mx_tensor_free(&s->cases[i].in[k]);
        for (int k = 0; k < s->cases[i].n_want; k++)
            mx_tensor_free(&s->cases[i].want[k]);
    }
    free(s->cases);
    *s = (small_cases){.n = 0};
}

const mx_case *small_case(const small_cases *s, const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->cases[i].id, id)) return &s->cases[i];
    return NULL;
}
