/* SPDX-License-Identifier: Apache-2.0
 * From a recipe's columns to a plan for the kernels. What is not asked for here in so many words is refused,
 * and left to the scalar code. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "f32.h"
#include "fast.h"
#include "fast_plan.h"
#include "plan.h"

/* The element step: one fp32 operation, perhaps a clamp, and a saturating cast to nearest even. */
static bool plan_element(const mx_recipe *r, fast_plan *p)
{
    const mx_cast *c = &r->cast;
    bool saturates =
        c->overflow == MX_SATURATE || r->clamp != MX_CLAMP_NONE || r->element->specials == MX_SPECIALS_NONE;
    uint32_t nan = mx_cast_element(r, f32_from(0x7FC00000), 0);
    bool one_nan = r->scale || nan == mx_cast_element(r, f32_from(0xFFC00000), 0);
    return c->rounding == MX_RNE && saturates && one_nan && !c->lose_neg_zero && !r->via &&
           r->quirk == MX_QUIRK_NONE && r->nonpositive_code < 0 && !(r->flush & MX_FLUSH_PRODUCT) &&
           mx_fast_cast_for(r->element, nan, &p->cast);
}

/* The step from amax to a byte as numbers for fast_e8m0; false where it takes the scalar code's. */
static bool plan_e8m0(const mx_recipe *r, const mx_format *source, fast_e8m0 *p)
{
    bool plain_amax = !r->amax_format || r->amax_format == source;
    bool plain_zero = r->zero_byte < 0 || r->zero_byte == r->min_byte;
    bool plain_inf = !r->inf_after_even || r->ratio == MX_RATIO_AMAX;
    if (r->rule > MX_RULE_EVEN || r->ratio == MX_RATIO_GLOBAL || (r->flush & MX_FLUSH_RATIO) ||
        r->byte_wraps || !plain_amax || !plain_zero || !plain_inf)
        return false;
    uint32_t half = (uint32_t)1 << (22 - r->element->man_bits);
    uint32_t add = r->rule == MX_RULE_FLOOR  ? 0
                   : r->rule != MX_RULE_EVEN ? 0x7FFFFF
                   : r->even_addend          ? r->even_addend
                                             : half;
    float max = (float)mx_format_max(r->element);
    int emax = mx_format_emax(r->element);
    *p = (fast_e8m0){
        .least = f32_bits(r->amax_floor),
        .op = r->ratio == MX_RATIO_AMAX     ? FAST_PLAIN
              : r->ratio == MX_RATIO_DIVIDE ? FAST_OVER
                                            : FAST_TIMES,
        .ratio = r->ratio == MX_RATIO_DIVIDE  ? max
                 : r->ratio == MX_RATIO_SHIFT ? ldexpf(1, -emax)
                                              : 1 / max,
        .least_p = f32_bits(r->ratio_floor),
        .add = add,
        .above = r->rule == MX_RULE_ROUND_UP ? 0x00400000 : 0,
        .emax = r->ratio == MX_RATIO_AMAX ? (uint32_t)emax : 0,
        .min = r->min_byte,
        .max = r->max_byte,
        .inf_from = r->inf_after_even ? 0x7F800000 - add : 0x7F800000,
        .inf = (uint8_t)mx_block_scale(r, INFINITY, 0, source),
        .nan = (uint8_t)mx_block_scale(r, NAN, 0, source), /* where amax lets it through */
        .factor_0 = r->multiplier_00,
        .factor_254 = r->multiplier_fe,
        .factor_255 = r->multiplier_ff,
    };
    return true;
}

static bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

static bool plan_scale(const mx_recipe *r, const mx_format *source, fast_plan *p)
{
    bool whole = !r->block_rows && !r->block_cols;
    if (!whole && (r->block_rows < 1 || !is_power_of_two(r->block_cols) || r->block_cols > FAST_CHUNK))
        return false;
    if (r->hadamard || (r->global_form != MX_GLOBAL_NONE && r->nv_scale == MX_NV_FOUR_SIX)) return false;
    p->block_rows = whole ? 1 : r->block_rows;
    p->block_cols = whole ? FAST_CHUNK : r->block_cols;
    p->op = mx_plan_make(r, 1, 1, source, 0).divide ? FAST_OVER : FAST_TIMES;
    bool stepwise = r->scale->kind == MX_KIND_EXPONENT && plan_e8m0(r, source, &p->e8m0);
    p->scale = whole ? FAST_FIXED : stepwise ? FAST_E8M0 : FAST_PLANNED;
    return true;
}

static bool make_plan(const mx_recipe *r, const mx_format *source, fast_plan *p)
{
    *p = (fast_plan){.recipe = r, .source = source, .block_rows = 1, .block_cols = FAST_CHUNK};
    bool known = source && source->kind == MX_KIND_FLOAT &&
                 (source->bits == 32 || (source->bits == 16 && source->specials == MX_SPECIALS_IEEE));
    return known && plan_element(r, p) && (!r->scale || plan_scale(r, source, p));
}

bool mx_fast_supports(const mx_recipe *r, const mx_format *x)
{
    fast_plan p;
    return r && mx_fast_current() && make_plan(r, x, &p);
}

mx_status mx_quantize_fast(const mx_recipe *r, const mx_matrix *x, const mx_quantize_options *options,
                           mx_quantized *out, mx_error *e)
{
    const fast_isa *isa = mx_fast_current();
    fast_plan p;
    if (!isa || !make_plan(r, x->format, &p))
        return mx_fail(e, MX_UNSUPPORTED, r->name, "no fast path on this CPU (%s)", mx_fast_isa());
    int threads = options && options->threads > 0 ? options->threads : omp_get_max_threads();
    bool empty = x->rows == 0 || x->cols == 0;
    if (options && options->global_amax)
        p.global_amax = *options->global_amax;
    else if (mx_recipe_has_global(r) && !empty)
        p.global_amax = mx_fast_amax(isa, r->amax_nan, x, threads);
    out->global = mx_global_store(r, p.global_amax);
    if (p.scale == FAST_FIXED && !empty) {
        float amax = mx_fast_amax(isa, r->amax_nan, x, threads);
        mx_plan whole = mx_plan_make(r, amax, p.global_amax, x->format, 0);
        p.fixed = whole.multiplier;
        memcpy(out->scales, &whole.stored, r->scale->bits > 8 ? 4 : 1);
    }
    mx_fast_run(isa, &p, x, threads, out);
    return MX_OK;
}

/* ---- reading back ----------------------------------------------------------------------------------- */

/* Products must be exact in fp32, or rounded there for the last time. */
static bool make_reader(const mx_recipe *r, const mx_format *to, fast_reader *p)
{
    bool blocks = r->block_rows > 0 && is_power_of_two(r->block_cols) && r->block_cols <= FAST_CHUNK;
    bool exact = !r->scale || (blocks && (r->scale->kind == MX_KIND_EXPONENT || to->bits == 32));
    bool known = to->bits == 32 || (to->bits == 16 && to->specials == MX_SPECIALS_IEEE);
    *p = (fast_reader){.recipe = r, .to = to};
    return to->kind == MX_KIND_FLOAT && known && exact && !mx_recipe_has_global(r) &&
           mx_fast_uncast_for(r->element, &p->uncast);
}

bool mx_fast_reads(const mx_recipe *r, const mx_format *to)
{
    fast_reader p;
    return r && to && mx_fast_current() && make_reader(r, to, &p);
}

mx_status mx_dequantize_fast(const mx_recipe *r, const mx_quantized *q, int64_t rows, int64_t cols,
                             const mx_format *format, void *y, int64_t pitch, mx_error *e)
{
    const fast_isa *isa = mx_fast_current();
    fast_reader p;
    if (!isa || !make_reader(r, format, &p))
        return mx_fail(e, MX_UNSUPPORTED, r->name, "no fast path to %s on this CPU (%s)", format->name,
                       mx_fast_isa());
    mx_fast_read(isa, &p, q, rows, cols, y, pitch, omp_get_max_threads());
    return MX_OK;
}
