/* SPDX-License-Identifier: Apache-2.0
 * Chains over tiles on vectors: what qualifies, packing, and what goes back to the scalar code. */
#include <stdlib.h>
#include <string.h>

#include "fast.h"
#include "model_fast.h"

enum { MAX_WIDTH = 32, MAX_ROWS = 256, MAX_LANES = 128 };

/* ---- what qualifies ---------------------------------------------------------------------------------- */

static const struct isa {
    const char *name;
    mx_fast_kernel kernel;
    int width;
} isas[] = {{"avx512", mx_fast_chain_avx512, 32}, {"avx2", mx_fast_chain_avx2, 16}};

/* What fast.h settled on for this CPU and run; NULL: the scalar code. */
static const struct isa *choose(void)
{
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (!strcmp(isas[i].name, mx_fast_isa())) return &isas[i];
    return NULL;
}

static bool make_rule(const mx_model *m, mx_fast_rule *rule)
{
    bool f32 = m->output == MX_OUT_F32_RZ || m->output == MX_OUT_E8M13_RZ;
    if (m->kind != MX_MODEL_FUSED || !f32 || m->cut != MX_CUT_ZERO || m->normalise) return false;
    if (m->fraction < 13 || m->fraction > 25 || (m->late_c && !m->pair_interleave)) return false;
    if (MAX_LANES % m->k || m->k % m->lanes || (m->pair_interleave && m->k != 2 * m->lanes)) return false;
    *rule = (mx_fast_rule){.lanes = m->lanes, .fraction = m->fraction, .part = m->lanes};
    rule->e8m13 = m->output == MX_OUT_E8M13_RZ;
    rule->late_c = m->late_c;
    /* Each product is below 2^(F + 2), C below 2^(F + 1). */
    int64_t bound = ((int64_t)m->lanes * 4 + 2) << m->fraction;
    if (bound >= (int64_t)1 << 31) rule->part = 8;
    return m->lanes % rule->part == 0 && m->lanes % 2 == 0;
}

/* ---- packing ----------------------------------------------------------------------------------------- */

typedef struct element {
    float value;
    int16_t exponent;
    bool special;
} element;

typedef struct packed {
    float power[512];                   /* 2^(i - 256), 0 below the range of fp32 */
    element table_a[256], table_b[256]; /* of formats of up to 8 bits */
    int place[MAX_LANES];
    bool row_special[MAX_ROWS]; /* NaN or Inf, in elements or scales */
    uint32_t column_special;    /* a bit per column of the group */
    float row_value[MAX_ROWS * MAX_LANES];
    uint32_t row_exponent[MAX_ROWS * MAX_LANES];
    int32_t row_scale[MAX_ROWS * MAX_LANES];
    uint32_t acc[MAX_WIDTH];
    int32_t group_scale[MAX_LANES * MAX_WIDTH];
    int16_t group_exponent[MAX_LANES * MAX_WIDTH];
    float group_value[MAX_LANES * MAX_WIDTH];
} packed;

/* Where lane k goes: groups of an interleaved instruction are made contiguous. */
static int place_of(const mx_model *m, int k)
{
    if (!m->pair_interleave) return k;
    int base = k / m->k * m->k, l = k % m->k;
    return base + (l >> 1 & 1) * m->lanes + (l >> 2) * 2 + (l & 1);
}

static inline element unpack(const packed *s, const mx_format *f, uint32_t code)
{
    if (f->bits == 32) code &= 0xFFFFE000u; /* a tf32 unit's view of fp32 */
    uint32_t mask = ((uint32_t)1 << f->man_bits) - 1, man = code & mask;
    uint32_t top = ((uint32_t)1 << f->exp_bits) - 1, field = code >> f->man_bits & top;
    uint32_t magnitude = field << f->man_bits | man;
    element x = {0, MX_FAST_NONE, false};
    x.special = (f->specials == MX_SPECIALS_IEEE && field == top) ||
                (f->specials == MX_SPECIALS_ALLONES && magnitude == f->nan_code);
    if (!magnitude) return x;
    x.exponent = (int16_t)((field ? (int)field : 1) - f->bias);
    if (field) man |= mask + 1;
    x.value = (float)(int32_t)man * s->power[x.exponent - f->man_bits + 256];
    if (code >> (f->bits - 1) & 1) x.value = -x.value;
    return x;
}

/* The exponent as the unit sees it. */
static element unpack_lane(const packed *s, const mx_model *m, const mx_format *f, uint32_t code)
{
    element x = unpack(s, f, code);
    if (x.exponent != MX_FAST_NONE && !x.special)
        x.exponent = mx_unpack_lane(m, f, code & ((1u << f->bits) - 1)).exp;
    return x;
}

static void make_tables(packed *s, const mx_model *m, const mx_format *a, const mx_format *b)
{
    for (int i = 0; i < 512; i++) {
        int exponent = i - 256;
        uint32_t bits = exponent > 127 || exponent < -149 ? 0
                        : exponent < -126                 ? (uint32_t)1 << (exponent + 149)
                                                          : (uint32_t)(exponent + 127) << 23;
        memcpy(&s->power[i], &bits, sizeof bits);
    }
    for (uint32_t code = 0; code < 256; code++) {
        if (a->bits <= 8) s->table_a[code] = unpack_lane(s, m, a, code);
        if (b->bits <= 8) s->table_b[code] = unpack_lane(s, m, b, code);
    }
    for (int k = 0; k < MAX_LANES; k++)
        s->place[k] = place_of(m, k);
}

/* Lanes of whole steps; those past k stay zeros. */
static int padded_lanes(const mx_model *m, int64_t k)
{
    int unit = m->pair_interleave ? m->k : m->lanes;
    return (int)((k + unit - 1) / unit * unit);
}

static int32_t scale_of(const mx_panel *p, int64_t row, int64_t lane, bool *special)
{
    int64_t blocks = (p->k + p->scale_block - 1) / p->scale_block;
    uint8_t code = p->scales[row * blocks + lane / p->scale_block];
    *special |= code == p->scale_format->nan_code;
    return (int32_t)code - p->scale_format->bias;
}

/* n codes, taken apart into `to`; formats of up to 8 bits by table. True if one is NaN or Inf. */
static bool unpack_all(const packed *s, const mx_format *f, const element *table, const uint32_t *codes,
                       int n, element *to)
{
    bool special = false;
    if (f->bits <= 8)
        for (int k = 0; k < n; k++)
            to[k] = table[codes[k] & 255];
    else
        for (int k = 0; k < n; k++)
            to[k] = unpack(s, f, codes[k]);
    for (int k = 0; k < n; k++)
        special |= to[k].special;
    return special;
}

static void pack_row(packed *s, const mx_model *m, const mx_panel *p, int64_t row)
{
    bool *special = &s->row_special[row];
    float *value = s->row_value + row * MAX_LANES;
    uint32_t *exponent = s->row_exponent + row * MAX_LANES;
    int lanes = padded_lanes(m, p->k);
    element line[MAX_LANES];
    for (int k = (int)p->k; k < lanes; k++)
        line[k] = (element){0, MX_FAST_NONE, false};
    *special = unpack_all(s, p->format, s->table_a, p->codes + row * p->k, (int)p->k, line);
    for (int k = 0; k < lanes; k++) {
        value[s->place[k]] = line[k].value;
        exponent[s->place[k]] = (uint16_t)line[k].exponent * 0x10001u;
    }
    for (int64_t k = 0; p->scale_format && k < p->k; k += m->lanes)
        s->row_scale[row * MAX_LANES + k / m->lanes] = scale_of(p, row, k, special);
}

static void pack_column(packed *s, const mx_model *m, const mx_panel *p, int64_t row, int j, int width)
{
    int lanes = padded_lanes(m, p->k);
    bool special = false, there = row < p->rows;
    element line[MAX_LANES];
    for (int k = there ? (int)p->k : 0; k < lanes; k++)
        line[k] = (element){0, MX_FAST_NONE, false};
    if (there) special = unpack_all(s, p->format, s->table_b, p->codes + row * p->k, (int)p->k, line);
    for (int k = 0; k < lanes; k++) {
        s->group_value[s->place[k] * width + j] = line[k].value;
        s->group_exponent[s->place[k] * width + j] = line[k].exponent;
    }
    for (int64_t k = 0; p->scale_format && k < p->k; k += m->lanes)
        s->group_scale[k / m->lanes * width + j] = there ? scale_of(p, row, k, &special) : 0;
    s->column_special |= (uint32_t)special << j;
}

static void pack_group(packed *s, const mx_model *m, const mx_panel *p, int64_t first, int width)
{
    s->column_special = 0;
    for (int j = 0; j < width; j++)
        pack_column(s, m, p, first + j, j, width);
}

/* ---- tiles ------------------------------------------------------------------------------------------- */

/* One output by the scalar code. */
static void one_output(const mx_model *m, mx_panel a, mx_panel b, int64_t i, int64_t j, uint32_t *acc)
{
    int64_t scales = a.scale_format ? (a.k + a.scale_block - 1) / a.scale_block : 0;
    a.rows = b.rows = 1;
    a.codes += i * a.k;
    b.codes += j * b.k;
    if (scales) {
        a.scales += i * scales;
        b.scales += j * scales;
    }
    mx_chain_tile_scalar(m, &a, &b, acc, 1, NULL);
}

static void one_row(packed *s, const struct isa *isa, const mx_model *m, const mx_fast_rule *rule,
                    const mx_panel *a, const mx_panel *b, int64_t i, int64_t first, uint32_t *acc)
{
    int64_t n = b->rows - first < isa->width ? b->rows - first : isa->width;
    uint32_t bad = s->row_special[i] ? ~0u : s->column_special, all = (uint32_t)(((uint64_t)1 << n) - 1);
    if ((bad & all) != all) {
        const int32_t *scale = a->scale_format ? s->row_scale + i * MAX_LANES : NULL;
        mx_fast_row row = {s->row_value + i * MAX_LANES, s->row_exponent + i * MAX_LANES, scale};
        mx_fast_group group = {s->group_value, s->group_exponent, s->group_scale};
        memset(s->acc, 0, sizeof s->acc);
        memcpy(s->acc, acc, (size_t)n * sizeof *acc);
        bad |= isa->kernel(rule, &row, &group, padded_lanes(m, a->k) / m->lanes, s->acc);
    }
    for (int64_t j = 0; j < n; j++)
        if (bad >> j & 1)
            one_output(m, *a, *b, i, first + j, &acc[j]);
        else
            acc[j] = s->acc[j];
}

static void chain_tile(const mx_model *m, const mx_panel *a, const mx_panel *b, uint32_t *acc, int64_t ld,
                       void *scratch)
{
    packed *s = scratch;
    mx_fast_rule rule;
    const struct isa *isa = choose();
    if (!make_rule(m, &rule) || !a->k) return;
    make_tables(s, m, a->format, b->format);
    for (int64_t i = 0; i < a->rows; i++)
        pack_row(s, m, a, i);
    for (int64_t first = 0; first < b->rows; first += isa->width) {
        pack_group(s, m, b, first, isa->width);
        for (int64_t i = 0; i < a->rows; i++)
            one_row(s, isa, m, &rule, a, b, i, first, acc + i * ld + first);
    }
}

mx_chain_tile mx_chain_tile_fast(const mx_model *m, const mx_format *a, const mx_format *b, int64_t rows,
                                 int64_t k, size_t *scratch)
{
    mx_fast_rule rule;
    *scratch = sizeof(packed);
    if (m->through_f16 && (a->bits > 8 || b->bits > 8)) return NULL;
    /* Scaled products must stay far from the ends of fp32 before scaling: narrow formats do. */
    if (m->scales && (a->bits > 8 || b->bits > 8)) return NULL;
    bool plain = a->kind == MX_KIND_FLOAT && b->kind == MX_KIND_FLOAT;
    bool ok = plain && rows <= MAX_ROWS && k <= MAX_LANES && make_rule(m, &rule) && choose();
    return ok ? chain_tile : NULL;
}
