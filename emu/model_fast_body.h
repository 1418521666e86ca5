/* SPDX-License-Identifier: Apache-2.0
 *
 * model_fast_body.h - the vector step, once for every instruction set. The including file defines
 *   VF, VI, VW, VM    vectors of W / 2 floats, W / 2 int32, W int16, and masks of VI;  VWIDE  exact wide sums
 * and the operations used below, each a thin name for one or a few instructions. */

/* gcc leaves short loops of constant length rolled unless told. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll_count(8)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Everything about one half of the columns that is settled before products are cut. */
typedef struct half {
    VF product_scale, c_scale, result_scale;
    VM bad; /* lanes out of range */
} half;

static inline half prepare(const mx_fast_rule *rule, VI votes, VI scale, VI acc)
{
    const VI none = vi_set(MX_FAST_NONE / 2), zero = vi_set(0), bias = vi_set(127);
    const VI f = vi_set(rule->fraction);
    half h;
    VI magnitude = vi_and(acc, vi_set(0x7FFFFFFF));
    VI c_exp = vi_sub(vi_max(vi_shift_right(magnitude, 23), vi_set(1)), bias);
    c_exp = vi_select(vi_equal(magnitude, zero), vi_set(2 * MX_FAST_NONE), c_exp);
    VI emax = vi_max(vi_add(votes, scale), c_exp);
    emax = vi_select(vi_greater(emax, none), emax, zero); /* nothing at all: any grid gives +0 */
    /* Above: a product might overflow fp32. Below: a result might be subnormal, or a lost bit of an inexact
     * product might matter. */
    h.bad = vm_or(vi_greater(vi_set(-100), emax), vi_greater(emax, vi_set(125)));
    VI shift = vi_sub(f, vi_sub(emax, scale)); /* brings the grid of the unscaled products to 1 */
    shift = vi_min(vi_max(shift, vi_set(-126)), vi_set(126));
    h.product_scale = vf_power(vi_add(shift, bias));
    h.c_scale = vf_power(vi_add(vi_sub(f, emax), bias));
    h.result_scale = vf_power(vi_add(vi_sub(emax, f), bias));
    return h;
}

static inline VI cut(VF x, VF scale) { return vi_truncate(vf_mul(x, scale)); }

static inline VI finish(const mx_fast_rule *rule, const half *h, VF significand)
{
    if (rule->e8m13) significand = vf_mask(significand, (int32_t)0xFFFFFC00);
    return vf_bits(vf_mul(significand, h->result_scale));
}

/* One step of `lanes` lanes; acc[2] are the halves of the columns. */
static inline __attribute__((always_inline)) void one_step(const mx_fast_rule *rule, int lanes, int part,
                                                           const float *a, const uint32_t *a_exp,
                                                           const float *b, const int16_t *b_exp, VI scale0,
                                                           VI scale1, VI *acc, VM *bad)
{
    VW votes = vw_vote(b_exp, a_exp[0]), others = votes;
    UNROLL
    for (int l = 0; l < lanes; l += 2) {
        votes = vw_max(votes, vw_vote(b_exp + l * W, a_exp[l]));
        others = vw_max(others, vw_vote(b_exp + (l + 1) * W, a_exp[l + 1]));
    }
    votes = vw_max(votes, others);
    half h0 = prepare(rule, vw_low(votes), scale0, acc[0]),
         h1 = prepare(rule, vw_high(votes), scale1, acc[1]);
    bad[0] = vm_or(bad[0], h0.bad);
    bad[1] = vm_or(bad[1], h1.bad);
    VI sum0 = cut(vf_from_bits(acc[0]), h0.c_scale), sum1 = cut(vf_from_bits(acc[1]), h1.c_scale);
    if (part == lanes) {
        UNROLL
        for (int l = 0; l < lanes; l++) {
            VF x = vf_set(a[l]);
            sum0 = vi_add(sum0, cut(vf_mul(x, vf_load(b + l * W)), h0.product_scale));
            sum1 = vi_add(sum1, cut(vf_mul(x, vf_load(b + l * W + W / 2)), h1.product_scale));
        }
        acc[0] = finish(rule, &h0, vf_truncated(sum0));
        acc[1] = finish(rule, &h1, vf_truncated(sum1));
        return;
    }
    VWIDE wide0 = wide_from(sum0), wide1 = wide_from(sum1);
    for (int first = 0; first < lanes; first += part) {
        sum0 = sum1 = vi_set(0);
        UNROLL
        for (int l = first; l < first + part; l++) {
            VF x = vf_set(a[l]);
            sum0 = vi_add(sum0, cut(vf_mul(x, vf_load(b + l * W)), h0.product_scale));
            sum1 = vi_add(sum1, cut(vf_mul(x, vf_load(b + l * W + W / 2)), h1.product_scale));
        }
        wide0 = wide_add(wide0, sum0);
        wide1 = wide_add(wide1, sum1);
    }
    acc[0] = finish(rule, &h0, wide_truncated(wide0));
    acc[1] = finish(rule, &h1, wide_truncated(wide1));
}

/* The accumulator of a chain that starts anew is added to what was there, in fp32, to nearest even. */
static inline void add_late(VI *acc, VI *late, VM *bad)
{
    for (int i = 0; i < 2; i++) {
        VI exponent = vi_and(late[i], vi_set(0x7F800000));
        bad[i] = vm_or(bad[i], vi_equal(exponent, vi_set(0x7F800000)));
        acc[i] = vf_bits(vf_add(vf_from_bits(acc[i]), vf_from_bits(late[i])));
    }
}

static inline __attribute__((always_inline)) uint32_t run(const mx_fast_rule *rule, int lanes, int part,
                                                          const mx_fast_row *row, const mx_fast_group *group,
                                                          int steps, uint32_t *acc_bits)
{
    VI acc[2] = {vi_load(acc_bits), vi_load(acc_bits + W / 2)}, late[2] = {acc[0], acc[1]};
    VM bad[2] = {vm_none(), vm_none()};
    VI scale0 = vi_set(0), scale1 = vi_set(0);
    for (int s = 0; s < steps; s++) {
        if (row->scale) {
            VI mine = vi_set(row->scale[s]);
            scale0 = vi_add(mine, vi_load((const uint32_t *)group->scale + s * W));
            scale1 = vi_add(mine, vi_load((const uint32_t *)group->scale + s * W + W / 2));
        }
        if (rule->late_c && s % 2 == 0) {
            late[0] = acc[0];
            late[1] = acc[1];
            acc[0] = acc[1] = vi_set(0);
        }
        int at = s * lanes;
        one_step(rule, lanes, part, row->value + at, row->exponent2 + at, group->value + at * W,
                 group->exponent + at * W, scale0, scale1, acc, bad);
        if (rule->late_c && s % 2 == 1) add_late(acc, late, bad);
    }
    vi_store(acc_bits, acc[0]);
    vi_store(acc_bits + W / 2, acc[1]);
    return vm_bits(bad[0]) | vm_bits(bad[1]) << (W / 2);
}

/* Fixed lane counts let the compiler unroll; the table's rows use these. */
static uint32_t dispatch(const mx_fast_rule *rule, const mx_fast_row *row, const mx_fast_group *group,
                         int steps, uint32_t *acc)
{
    bool whole = rule->part == rule->lanes;
    if (rule->lanes == 32 && whole) return run(rule, 32, 32, row, group, steps, acc);
    if (rule->lanes == 32 && rule->part == 8) return run(rule, 32, 8, row, group, steps, acc);
    if (rule->lanes == 16 && rule->part == 8) return run(rule, 16, 8, row, group, steps, acc);
    return run(rule, rule->lanes, rule->part, row, group, steps, acc);
}
