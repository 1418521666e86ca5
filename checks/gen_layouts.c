/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden layouts: grids of distinct bytes and where each layout puts them, padding included. */
#include <stdio.h>

#include "generate.h"
#include "random.h"

static const struct {
    int64_t rows, cols;
    const char *flags, *reason;
} grids[] = {
    {1, 1, "padding,odd-size", "one unit"},
    {3, 5, "padding,odd-size", "smaller than any tile"},
    {33, 7, "padding,odd-size", "one past 32 rows"},
    {129, 6, "padding,odd-size", "one past 128 rows"},
    {128, 8, "padding", "whole tiles"},
    {5, 90, "padding,bug-B69", "2880 elements a row: 90 scales padded to 92"},
    {100, 16, "padding,bug-B78", "100 rows padded to 128: the pad is written too"},
};

/* Rows per expert, with empty and one-row experts. */
static const int64_t group_rows[] = {0, 1, 0, 130, 32, 0};
enum { N_GROUPS = sizeof group_rows / sizeof *group_rows };

static void fill(mx_tensor *t, const mx_layout *l, uint64_t seed)
{
    uint8_t mask = l->unit_bits < 8 ? (uint8_t)((1 << l->unit_bits) - 1) : 0xFF;
    for (size_t i = 0; i < t->bytes; i++)
        t->data[i] = (uint8_t)mx_random_u32(seed, 0, i) & mask;
}

static void place(gen *g, const mx_layout *l, int64_t rows, int64_t cols, const char *flags,
                  const char *reason, bool grouped)
{
    mx_case *c = gen_case(g, "place", "", flags, reason, "place:%s-%d:%lldx%lld%s", l->name, l->unit_bits,
                          (long long)rows, (long long)cols, grouped ? "-grouped" : "");
    if (!c) return;
    snprintf(l->for_scales ? c->scale_layout : c->data_layout,
             l->for_scales ? sizeof c->scale_layout : sizeof c->data_layout, "%s", l->name);
    c->seed = 7;
    mx_tensor *grid = gen_input(g, c, "grid", "", l->unit_bits == 32 ? "u32" : "u8", rows, cols);
    if (!grid) return;
    fill(grid, l, c->seed);
    if (grouped) {
        mx_tensor *offsets = gen_input(g, c, "offsets", "", "i64", 1, N_GROUPS + 1);
        int64_t *at = offsets ? (int64_t *)(void *)offsets->data : NULL;
        for (int k = 0; at && k < N_GROUPS; k++)
            at[k + 1] = at[k] + group_rows[k];
    }
    gen_answer(g, c);
}

void gen_layouts(gen *g)
{
    int64_t all = 0;
    for (int k = 0; k < N_GROUPS; k++)
        all += group_rows[k];
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = mx_layout_at(i);
        for (size_t k = 0; k < sizeof grids / sizeof *grids; k++)
            place(g, l, grids[k].rows, grids[k].cols, grids[k].flags, grids[k].reason, false);
        if (l->grouped)
            place(g, l, all, 5, "empty-group,one-row-group,padding",
                  "each expert starts at a tile of its own", true);
    }
}
