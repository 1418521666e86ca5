/* SPDX-License-Identifier: Apache-2.0 */
#include "sum.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE = -1088, SPECIAL_POSITIVE = 1, SPECIAL_NEGATIVE = 2, SPECIAL_NAN = 4 };

/* A digit added is below 2^32, so 2^30 additions fit a word beside a digit already there. */
#define MOST_PENDING (UINT32_C(1) << 30)

/* Bring every word but the last into [0, 2^32); the last carries the sign. */
static void propagate(mx_sum *s)
{
    int64_t carry = 0;
    for (int i = 0; i < MX_SUM_WORDS; i++) {
        int64_t v = s->word[i] + carry;
        carry = v >> 32;
        s->word[i] = i == MX_SUM_WORDS - 1 ? v : v & 0xFFFFFFFF;
    }
    s->pending = 0;
}

void mx_sum_add(mx_sum *s, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7FF);
    uint64_t m = bits & 0xFFFFFFFFFFFFF;
    if (exponent == 0x7FF) {
        s->special |= m ? SPECIAL_NAN : bits >> 63 ? SPECIAL_NEGATIVE : SPECIAL_POSITIVE;
        return;
    }
    if (exponent)
        m |= (uint64_t)1 << 52;
    else
        exponent = 1;
    int position = exponent - 1075 - BASE; /* of the lowest bit of m */
    int i = position >> 5, shift = position & 31;
    uint64_t low = (m & 0xFFFFFFFF) << shift, high = (m >> 32) << shift;
    int64_t d0 = (int64_t)(low & 0xFFFFFFFF);
    int64_t d1 = (int64_t)((low >> 32) + (high & 0xFFFFFFFF));
    int64_t d2 = (int64_t)(high >> 32);
    int64_t sign = bits >> 63 ? -1 : 1;
    s->word[i] += sign * d0;
    s->word[i + 1] += sign * d1;
    s->word[i + 2] += sign * d2;
    s->pending += 2;
    if (s->pending >= MOST_PENDING) propagate(s);
}

void mx_sum_merge(mx_sum *s, const mx_sum *other)
{
    mx_sum o = *other;
    propagate(&o);
    if (s->pending >= MOST_PENDING - 2) propagate(s);
    for (int i = 0; i < MX_SUM_WORDS; i++)
        s->word[i] += o.word[i];
    s->pending += 2;
    s->special |= o.special;
}

static double special_value(uint8_t special)
{
    if (special & SPECIAL_NAN || special == (SPECIAL_POSITIVE | SPECIAL_NEGATIVE)) return (double)NAN;
    return special & SPECIAL_POSITIVE ? (double)INFINITY : -(double)INFINITY;
}

double mx_sum_value(const mx_sum *sum)
{
    if (sum->special) return special_value(sum->special);
    mx_sum s = *sum;
    propagate(&s);
    bool negative = s.word[MX_SUM_WORDS - 1] < 0;
    if (negative) {
        for (int i = 0; i < MX_SUM_WORDS; i++)
            s.word[i] = -s.word[i];
        propagate(&s);
    }
    int top = MX_SUM_WORDS - 1;
    while (top >= 0 && !s.word[top])
        top--;
    if (top < 0) return 0;
    /* 64 leading bits from three words, with a sticky bit; then one rounding to 53 bits or to 2^-1074. */
    uint64_t w[3];
    for (int i = 0; i < 3; i++)
        w[i] = top - i >= 0 ? (uint64_t)s.word[top - i] : 0;
    int lead = __builtin_clzll(w[0]) - 32; /* leading zero bits of the top digit */
    bool sticky = false;
    for (int i = top - 3; i >= 0; i--)
        sticky |= s.word[i] != 0;
    uint64_t m = w[0] << 32 | w[1];
    if (lead) m = m << lead | w[2] >> (32 - lead);
    sticky |= lead ? (w[2] << lead & 0xFFFFFFFF) != 0 : w[2] != 0;
    int exponent = 32 * (top - 1) + BASE - lead; /* of m's lowest bit */
    int drop = exponent + 11 >= -1074 ? 11 : -1074 - exponent;
    if (drop > 63) return 0; /* cannot be: no double is below 2^-1074 */
    uint64_t kept = m >> drop, rest = m << (64 - drop), half = (uint64_t)1 << 63;
    kept += rest > half || (rest == half && (sticky || kept & 1));
    double value = ldexp((double)kept, exponent + drop);
    return negative ? -value : value;
}

void mx_sum_print(const mx_sum *sum, char text[MX_SUM_TEXT])
{
    mx_sum s = *sum;
    propagate(&s);
    int first = 0, last = MX_SUM_WORDS - 1;
    while (first < last && !s.word[first])
        first++;
    while (last > first && !s.word[last])
        last--;
    int n = sprintf(text, "%d:%d", s.special, first);
    for (int i = first; i <= last; i++)
        n += sprintf(text + n, ":%016" PRIx64, (uint64_t)s.word[i]);
}

int mx_sum_parse(mx_sum *s, const char *text)
{
    memset(s, 0, sizeof *s);
    char *end;
    unsigned long special = strtoul(text, &end, 10);
    if (end == text || *end != ':' || special > 7) return -1;
    text = end + 1;
    unsigned long i = strtoul(text, &end, 10);
    if (end == text) return -1;
    for (; *end == ':'; i++) {
        text = end + 1;
        if (i >= MX_SUM_WORDS || strspn(text, "0123456789abcdef") != 16) return -1;
        s->word[i] = (int64_t)strtoull(text, &end, 16);
        /* A digit out of range would break the carries' bound: only print's canonical form is accepted. */
        if (i < MX_SUM_WORDS - 1 && (s->word[i] < 0 || s->word[i] > 0xFFFFFFFF)) return -1;
    }
    s->special = (uint8_t)special;
    return *end ? -1 : 0;
}
