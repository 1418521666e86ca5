/* SPDX-License-Identifier: Apache-2.0
 * Padding that a layout defines holds what the layout says: a consumer reads it. */
#include <stdio.h>
#include <string.h>

#include "trial.h"

static uint32_t unit_at(const unsigned char *p, int bits, int64_t unit)
{
    uint32_t word = p[bits == 4 ? unit / 2 : 0];
    if (bits == 4) return word >> unit % 2 * 4 & 0xF;
    if (bits == 8) return p[unit];
    memcpy(&word, p + 4 * unit, sizeof word);
    return word;
}

static judgement judge_slot(const slot *s, const unsigned char *got, finding *f)
{
    const mx_layout *l = s->layout;
    int64_t units = l->size(&s->grid), first = -1, r, c;
    uint32_t seen = 0;
    for (int64_t u = 0; u < units; u++) {
        if (l->inverse(&s->grid, u, &r, &c)) continue;
        f->total++;
        uint32_t value = unit_at(got, l->unit_bits, u);
        if (value == (uint32_t)l->pad) continue;
        if (!f->wrong++) {
            first = u;
            seen = value;
        }
    }
    if (!f->wrong) return f->total ? JUDGED_PASSED : JUDGED_NOTHING;
    snprintf(f->tensor, sizeof f->tensor, "%s", s->role);
    snprintf(f->text, sizeof f->text,
             "%lld of %lld padding units of '%s' are not %02X: unit %lld of layout %s holds %02X",
             (long long)f->wrong, (long long)f->total, s->role, (unsigned)l->pad, (long long)first, l->name,
             seen);
    bool poison =
        seen == variants[0].poison ||
        (l->unit_bits == 4 && (seen == variants[0].poison >> 4 || seen == (variants[0].poison & 0xF)));
    snprintf(f->cause, sizeof f->cause, "%s",
             poison ? "stale padding: the padding is not written" : "the padding is computed from something");
    return JUDGED_FAILED;
}

static judgement judge(const trial *t, finding *f)
{
    judgement all = JUDGED_NOTHING;
    for (int i = 0; i < t->job->n_out; i++) {
        const slot *s = &t->job->out[i];
        if (!s->layout || s->layout->pad < 0) continue;
        finding one = *f;
        judgement j = judge_slot(s, t->run[0].out[i], &one);
        if (j == JUDGED_NOTHING) continue;
        all = j;
        if (j == JUDGED_FAILED) return *f = one, j;
    }
    return all;
}

const check check_padding = {"padding", "a layout's padding holds what the layout says", true, true, false,
                             judge};
