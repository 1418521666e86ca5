/* SPDX-License-Identifier: Apache-2.0
 * Layouts: the formulas of their owners written out again here, bijection over many shapes, thresholds
 * where 32-bit offsets wrap, padding, groups, nibble orders, and recognition. Numbers like B88 are cases
 * of public bug reports: see the comments. */
#include <stdlib.h>
#include <string.h>

#include "mx.h"
#include "suite.h"

static mx_grid grid(int64_t rows, int64_t cols) { return (mx_grid){rows, cols, 0, NULL, 0}; }

static const mx_layout *named(const char *name, int bits)
{
    const mx_layout *l = mx_layout_find_unit(name, bits);
    ck_assert_msg(l, "%s", name);
    return l;
}

/* ck_assert writes to a pipe even when it holds: too slow for the inner loops. */
#define REQUIRE(condition, ...)                                                                              \
    do {                                                                                                     \
        if (!(condition)) ck_abort_msg(__VA_ARGS__);                                                         \
    } while (0)

/* ---- the owners' formulas ------------------------------------------------------------------------- */

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static int64_t by_tile_128x4(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    (void)rows;
    return ((r / 128) * (up(cols, 4) / 4) + c / 4) * 512 + (r % 32) * 16 + ((r % 128) / 32) * 4 + c % 4;
}
static int64_t by_tile_128x4_t(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return by_tile_128x4(cols, rows, c, r);
}
static int64_t by_tile_8x4(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    (void)rows;
    return ((r / 8) * (up(cols, 4) / 4) + c / 4) * 32 + (r % 8) * 4 + c % 4;
}
/* out[p * A + mn], block 4p + j in bits 8j..8j+7: as bytes of little-endian words */
static int64_t by_deepgemm(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    (void)cols;
    return ((c / 4) * up(rows, 4) + r) * 4 + c % 4;
}
static int64_t by_mn_major(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    (void)cols;
    return c * up(rows, 4) + r;
}
static int64_t by_aiter(int64_t rows, int64_t cols, int64_t x, int64_t y)
{
    int64_t n = up(cols, 8);
    (void)rows;
    return (x / 32 * n) * 32 + (y / 8) * 256 + (y % 4) * 64 + (x % 16) * 4 + (y % 8) / 4 * 2 + (x % 32) / 16;
}
static int64_t by_n32k4(int64_t rows, int64_t cols, int64_t s, int64_t k)
{
    (void)rows;
    return (s / 32) * up(cols, 4) * 32 + (k / 4) * 128 + (s % 32) * 4 + k % 4;
}
/* Token t, block s of S: swizzled token (t/4)*4 + s/(S/4), swizzled block (s%(S/4))*4 + t%4. */
static int64_t by_v_4x4(int64_t rows, int64_t cols, int64_t t, int64_t s)
{
    int64_t blocks = up(cols, 4), group = blocks / 4;
    (void)rows;
    return (t / 4 * 4 + s / group) * blocks + s % group * 4 + t % 4;
}
static int64_t by_row_pairs(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)rows, (r / 2 * cols + c) * 2 + r % 2;
}
static int64_t by_rows(int64_t rows, int64_t cols, int64_t r, int64_t c) { return (void)rows, r * cols + c; }
static int64_t by_columns(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)cols, c * rows + r;
}
static int64_t by_te_rowwise(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)rows, r * up(cols, 4) + c;
}
static int64_t by_te_columnwise(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)rows, r * up(cols, 128) + c;
}
static int64_t by_low_first(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)rows, (r * (up(cols, 2) / 2) + c / 2) * 2 + c % 2;
}
static int64_t by_high_first(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)rows, (r * (up(cols, 2) / 2) + c / 2) * 2 + (1 - c % 2);
}
/* byte j of a 32-block: element j low, j + 16 high */
static int64_t by_split_32(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    (void)rows;
    return (r * (up(cols, 32) / 32) + c / 32) * 32 + (c % 32 < 16 ? c % 32 * 2 : (c % 32 - 16) * 2 + 1);
}
static int64_t by_split_16(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    (void)rows;
    return (r * (up(cols, 64) / 16) + c / 16) * 16 + (c % 16 < 8 ? c % 16 * 2 : (c % 16 - 8) * 2 + 1);
}
static int64_t by_mxfp4_codes(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    int64_t block = r * (up(cols, 32) / 32) + c / 32, j = c % 32;
    (void)rows;
    return (block * 17 + 1 + j % 16) * 2 + j / 16;
}
static int64_t by_mxfp4_scale(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)rows, (r * cols + c) * 17;
}
static int64_t by_nvfp4_codes(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    int64_t block = r * (up(cols, 64) / 64) + c / 64, sub = c % 64 / 16, j = c % 16;
    (void)rows;
    return (block * 36 + 4 + sub * 8 + j % 8) * 2 + j / 8;
}
static int64_t by_nvfp4_scale(int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return (void)rows, (r * (up(cols, 4) / 4) + c / 4) * 36 + c % 4;
}

static const struct formula {
    const char *name;
    int bits;
    int64_t (*offset)(int64_t rows, int64_t cols, int64_t r, int64_t c);
} formulas[] = {
    {"row-major", 8, by_rows},
    {"row-major", 32, by_rows},
    {"transposed", 8, by_columns},
    {"transposed", 32, by_columns},
    {"tile-128x4", 8, by_tile_128x4},
    {"tile-128x4-t", 8, by_tile_128x4_t},
    {"tile-8x4", 8, by_tile_8x4},
    {"deepgemm-ue8m0", 8, by_deepgemm},
    {"deepgemm-f32", 32, by_mn_major},
    {"aiter-shuffle", 8, by_aiter},
    {"aiter-n32k4", 8, by_n32k4},
    {"trtllm-v-4x4", 8, by_v_4x4},
    {"te-rowwise", 8, by_te_rowwise},
    {"te-columnwise", 8, by_te_columnwise},
    {"k-major-128x128", 32, by_te_rowwise},
    {"fp4-low-first", 4, by_low_first},
    {"fp4-high-first", 4, by_high_first},
    {"fp4-row-pairs", 4, by_row_pairs},
    {"fp4-ggml-mxfp4", 4, by_split_32},
    {"fp4-ggml-nvfp4", 4, by_split_16},
    {"ggml-mxfp4-block", 4, by_mxfp4_codes},
    {"ggml-mxfp4-block", 8, by_mxfp4_scale},
    {"ggml-nvfp4-block", 4, by_nvfp4_codes},
    {"ggml-nvfp4-block", 8, by_nvfp4_scale},
};

static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 64, 90, 127, 128, 129, 180, 257};
#define N_SIZES (sizeof sizes / sizeof *sizes)

START_TEST(every_layout_follows_its_owners_formula)
{
    ck_assert_uint_eq(sizeof formulas / sizeof *formulas, mx_layout_count());
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = named(formulas[i].name, formulas[i].bits);
        for (size_t a = 0; a < N_SIZES; a++)
            for (size_t b = 0; b < N_SIZES; b++) {
                mx_grid g = grid(sizes[a], sizes[b]);
                for (int64_t r = 0; r < g.rows; r++)
                    for (int64_t c = 0; c < g.cols; c += 1 + g.rows / 40) {
                        int64_t want = formulas[i].offset(g.rows, g.cols, r, c), got = l->offset(&g, r, c);
                        REQUIRE(got == want, "%s %lldx%lld (%lld,%lld): %lld, not %lld", l->name,
                                (long long)g.rows, (long long)g.cols, (long long)r, (long long)c,
                                (long long)got, (long long)want);
                    }
            }
    }
}
END_TEST

/* ---- bijection ------------------------------------------------------------------------------------ */

static void check_bijection(const mx_layout *l, const mx_grid *g)
{
    int64_t size = l->size(g), elements = 0;
    ck_assert_msg(size >= 0 && (size > 0) == (g->rows > 0 && g->cols > 0), "%s size %lld", l->name,
                  (long long)size);
    for (int64_t unit = 0; unit < size; unit++) {
        int64_t r = -1, c = -1;
        if (!l->inverse(g, unit, &r, &c)) continue;
        elements++;
        REQUIRE(r >= 0 && r < g->rows && c >= 0 && c < g->cols, "%s: unit %lld -> (%lld,%lld)", l->name,
                (long long)unit, (long long)r, (long long)c);
        REQUIRE(l->offset(g, r, c) == unit, "%s: unit %lld -> (%lld,%lld) -> %lld", l->name, (long long)unit,
                (long long)r, (long long)c, (long long)l->offset(g, r, c));
    }
    /* inverse is injective (offset takes it back), so equal counts make it a bijection onto the grid */
    ck_assert_msg(elements == g->rows * g->cols, "%s %lldx%lld: %lld elements", l->name, (long long)g->rows,
                  (long long)g->cols, (long long)elements);
    int64_t r, c;
    ck_assert(!l->inverse(g, size, &r, &c) && !l->inverse(g, -1, &r, &c));
}

START_TEST(every_unit_is_an_element_or_padding)
{
    static const int64_t shapes[][2] = {{0, 0},   {0, 7},    {7, 0},    {1, 1},   {1, 31},   {31, 1},
                                        {33, 33}, {127, 90}, {128, 90}, {129, 4}, {45, 129}, {5, 180},
                                        {180, 5}, {257, 3},  {2, 2880}, {64, 64}, {130, 12}};
    for (size_t i = 0; i < mx_layout_count(); i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            mx_grid g = grid(shapes[k][0], shapes[k][1]);
            check_bijection(mx_layout_at(i), &g);
        }
}
END_TEST

START_TEST(groups_restart_at_a_tile)
{
    static const int64_t groups[] = {0, 0, 1, 1, 130, 258, 258, 290};
    for (size_t i = 0; i < mx_layout_count(); i++) {
        mx_grid g = {290, 5, 0, groups, 7};
        check_bijection(mx_layout_at(i), &g);
    }
    mx_grid g = {290, 5, 0, groups, 7};
    const mx_layout *tile = named("tile-128x4", 8);
    ck_assert_int_eq(tile->size(&g), 5 * 2 * 512);             /* 1 + 2 + 1 + 1 tile rows, 2 tiles each */
    ck_assert_int_eq(tile->offset(&g, 0, 0), 0);               /* group 1: row 0 alone */
    ck_assert_int_eq(tile->offset(&g, 1, 0), 2 * 512);         /* group 3 begins */
    ck_assert_int_eq(tile->offset(&g, 129, 4), 4 * 512 + 512); /* its row 128: second tile row, tile 1 */
    ck_assert_int_eq(tile->offset(&g, 130, 0), 6 * 512);       /* group 4 begins */
    ck_assert_int_eq(tile->offset(&g, 258, 1), 8 * 512 + 1);   /* group 6, after the empty group 5 */
    mx_grid none = {0, 5, 0, groups, 0};
    ck_assert_int_eq(tile->size(&none), 0);
}
END_TEST

START_TEST(pitch_leaves_gaps_between_rows)
{
    const mx_layout *rows = named("row-major", 8), *columns = named("transposed", 8);
    mx_grid g = {3, 5, 8, NULL, 0};
    int64_t r, c;
    check_bijection(rows, &g);
    check_bijection(columns, &g);
    ck_assert_int_eq(rows->size(&g), 21); /* ends with the last element */
    ck_assert_int_eq(rows->offset(&g, 2, 4), 20);
    ck_assert_int_eq(columns->offset(&g, 2, 4), 34);
    ck_assert(!rows->inverse(&g, 5, &r, &c) && !rows->inverse(&g, 7, &r, &c) && rows->inverse(&g, 8, &r, &c));
    g.pitch = 7;
    ck_assert_int_eq(named("fp4-low-first", 4)->size(&g), -1); /* the second row would start inside a byte */
    g.pitch = 4;
    ck_assert_int_eq(rows->size(&g), -1);
}
END_TEST

/* ---- offsets past 2^31 ----------------------------------------------------------------------------- */

START_TEST(offsets_are_right_past_32_bits)
{
    /* B88 (unslothai/unsloth#6884): 1048576 x 6144 elements; the row at which row * cols leaves int32. */
    mx_grid g = grid(1048576, 6144);
    const mx_layout *rows = named("row-major", 8);
    ck_assert_int_eq(rows->size(&g), INT64_C(6442450944));
    ck_assert_int_eq(rows->offset(&g, 349525, 2047), INT64_C(2147483647));
    ck_assert_int_eq(rows->offset(&g, 349525, 2048), INT64_C(2147483648));
    ck_assert_int_eq(rows->offset(&g, 1048575, 6143), INT64_C(6442450943));
    /* B89 (vllm-project/vllm#53390): token 61681 of stride 34816. */
    g = (mx_grid){61682, 34816, 34816, NULL, 0};
    ck_assert_int_eq(rows->offset(&g, 61680, 0), INT64_C(2147450880));
    ck_assert_int_eq(rows->offset(&g, 61681, 0), INT64_C(2147485696));
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = mx_layout_at(i);
        static const int64_t shapes[][2] = {
            {1048576, 6144}, {61682, 34816}, {INT64_C(1) << 33, 3}, {3, INT64_C(1) << 33}, {131072, 7168}};
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            mx_grid big = grid(shapes[k][0], shapes[k][1]);
            int64_t size = l->size(&big), step_r = 1 + big.rows / 97, step_c = 1 + big.cols / 89, r, c;
            ck_assert_int_ge(size, big.rows * big.cols);
            for (int64_t a = big.rows - 1; a >= 0; a -= step_r)
                for (int64_t b = big.cols - 1; b >= 0; b -= step_c) {
                    int64_t unit = l->offset(&big, a, b);
                    REQUIRE(unit >= 0 && unit < size, "%s: unit %lld", l->name, (long long)unit);
                    REQUIRE(l->inverse(&big, unit, &r, &c) && r == a && c == b, "%s", l->name);
                }
        }
    }
}
END_TEST

START_TEST(impossible_grids_are_refused)
{
    static const int64_t falling[] = {0, 5, 3, 8}, short_of[] = {0, 5, 7};
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = mx_layout_at(i);
        mx_grid g = grid(INT64_C(1) << 40, INT64_C(1) << 40);
        mx_error e;
        ck_assert_int_eq(l->size(&g), -1);
        ck_assert_int_eq(mx_layout_bytes(l, &g), -1);
        g = grid(INT64_MAX, 1);
        ck_assert(l->size(&g) == -1 || l->size(&g) >= INT64_MAX - 127);
        g = grid(-1, 4);
        ck_assert_int_eq(l->size(&g), -1);
        ck_assert_int_eq(mx_layout_pack(l, &g, "", NULL, &e), MX_BAD_INPUT);
        g = (mx_grid){8, 1, 0, falling, 3};
        ck_assert_int_eq(mx_layout_pack(l, &g, "", NULL, &e), MX_BAD_INPUT);
        g = (mx_grid){8, 1, 0, short_of, 2};
        ck_assert_int_eq(mx_layout_unpack(l, &g, "", NULL, &e), MX_BAD_INPUT);
    }
    ck_assert_ptr_null(mx_layout_find("tile-128x5"));
    ck_assert_ptr_null(mx_layout_find(NULL));
    ck_assert_ptr_null(mx_layout_find_unit("tile-128x4", 32));
    ck_assert_ptr_null(mx_layout_find_for("tile-128x4", false, 8));
}
END_TEST

START_TEST(a_name_a_purpose_and_a_width_make_one_layout)
{
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = mx_layout_at(i);
        int bits = l->unit_bits == 32 ? 32 : 8;
        if (l->for_codes) ck_assert_ptr_eq(mx_layout_find_for(l->name, false, bits), l);
        if (l->for_scales) ck_assert_ptr_eq(mx_layout_find_for(l->name, true, bits), l);
    }
}
END_TEST

/* ---- pack and unpack ------------------------------------------------------------------------------- */

/* Distinct enough that no permutation hides: units of a prime modulus within the unit's width. */
static void *canonical_of(const mx_layout *l, int64_t n)
{
    uint8_t *p = malloc((size_t)n * 4 + 4);
    for (int64_t i = 0; i < n; i++) {
        uint32_t value = (uint32_t)(i * 2654435761u);
        if (l->unit_bits == 32)
            memcpy(p + i * 4, &value, 4);
        else
            p[i] = (uint8_t)(l->unit_bits == 4 ? value >> 28 : value >> 24);
    }
    return p;
}

static uint32_t unit_of(const mx_layout *l, const uint8_t *p, int64_t unit)
{
    uint32_t word;
    if (l->unit_bits == 4) return unit % 2 ? p[unit / 2] >> 4 : p[unit / 2] & 15u;
    if (l->unit_bits == 8) return p[unit];
    memcpy(&word, p + unit * 4, 4);
    return word;
}

START_TEST(pack_fills_every_unit_and_unpack_reads_it_back)
{
    static const int64_t groups[] = {0, 3, 3, 131, 132};
    static const int64_t shapes[][2] = {{0, 0}, {1, 1}, {3, 5}, {132, 9}, {132, 90}, {33, 200}, {260, 33}};
    for (size_t i = 0; i < mx_layout_count(); i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            const mx_layout *l = mx_layout_at(i);
            mx_grid g = grid(shapes[k][0], shapes[k][1]);
            if (g.rows == 132) g.groups = groups, g.n_groups = 4;
            if (g.rows == 33) g.pitch = 512; /* those without a pitch ignore it */
            int64_t n = g.rows * g.cols, bytes = mx_layout_bytes(l, &g);
            uint8_t *in = canonical_of(l, n), *out = malloc((size_t)bytes + 1),
                    *back = malloc((size_t)n * 4 + 1);
            memset(out, 0xA5, (size_t)bytes + 1); /* B78 (vllm-project/vllm#27439): stale pads must show */
            ck_assert_int_eq(mx_layout_pack(l, &g, in, out, NULL), MX_OK);
            ck_assert_uint_eq(out[bytes], 0xA5);
            for (int64_t unit = 0; unit < l->size(&g); unit++) {
                int64_t r, c;
                uint32_t stale = l->unit_bits == 4   ? (unit % 2 ? 0xA : 0x5)
                                 : l->unit_bits == 8 ? 0xA5
                                                     : 0xA5A5A5A5;
                uint32_t want =
                    l->inverse(&g, unit, &r, &c)
                        ? unit_of(l->unit_bits == 4 ? named("row-major", 8) : l, in, r * g.cols + c)
                    : l->pad < 0 ? stale
                                 : (uint32_t)l->pad;
                REQUIRE(unit_of(l, out, unit) == want, "%s unit %lld: %x, not %x", l->name, (long long)unit,
                        unit_of(l, out, unit), want);
            }
            ck_assert_int_eq(mx_layout_unpack(l, &g, out, back, NULL), MX_OK);
            ck_assert(!memcmp(in, back, (size_t)n * (l->unit_bits == 32 ? 4 : 1)));
            free(in), free(out), free(back);
        }
}
END_TEST

START_TEST(padding_has_the_sizes_and_values_of_its_owner)
{
    /* B69 (TransformerEngine#3070): 5760 x 2880 weight. 90 blocks a row pad to 92, 180 block rows stay,
     * 2880 columns pad to 2944. */
    mx_grid rowwise = grid(5760, 90), columnwise = grid(180, 2880);
    ck_assert_int_eq(named("te-rowwise", 8)->size(&rowwise) - 5760 * 90, 11520);
    ck_assert_int_eq(named("te-columnwise", 8)->size(&columnwise), 180 * 2944);
    ck_assert_int_eq(named("te-columnwise", 8)->size(&columnwise) - 180 * 2880, 11520);
    /* B78: 100 rows of 16 scales: 28 pad rows, 448 bytes. */
    mx_grid b78 = grid(100, 16);
    ck_assert_int_eq(named("tile-128x4", 8)->size(&b78) - 1600, 448);
    /* B81 (vllm-project/vllm#49784): pads of fp32 scales hold 1.0. */
    float in[3] = {2, 4, 8}, out[4];
    mx_grid b81 = grid(1, 3);
    ck_assert_int_eq(mx_layout_pack(named("k-major-128x128", 32), &b81, in, out, NULL), MX_OK);
    ck_assert(out[0] == 2 && out[1] == 4 && out[2] == 8 && out[3] == 1);
}
END_TEST

START_TEST(a_row_prefix_does_not_depend_on_the_rows_after_it)
{
    /* B71 (ROCm/rocm-libraries#11775): scales shuffled for M = 1..33 must agree with the same rows of a
     * full tile. Layouts whose rows are strided by M itself are excepted. */
    static const char *const tiled[] = {"tile-128x4", "tile-8x4", "aiter-shuffle", "aiter-n32k4"};
    for (size_t i = 0; i < 4; i++) {
        const mx_layout *l = named(tiled[i], 8);
        mx_grid full = grid(33, 12);
        for (int64_t m = 1; m <= 33; m++) {
            mx_grid g = grid(m, 12);
            for (int64_t r = 0; r < m; r++)
                for (int64_t c = 0; c < 12; c++)
                    ck_assert_int_eq(l->offset(&g, r, c), l->offset(&full, r, c));
        }
    }
}
END_TEST

START_TEST(nibbles_lie_in_the_order_of_their_owner)
{
    /* B107 (triton-lang/triton#5197): [1.0, 6.0] is 72, not 27. */
    static const uint8_t pair[] = {2, 7}, triple[] = {1, 2, 3};
    uint8_t out[18], codes[32], scale[] = {0x7F};
    mx_grid two = grid(1, 2), three = grid(1, 3), block = grid(1, 32), one = grid(1, 1);
    mx_layout_pack(named("fp4-low-first", 4), &two, pair, out, NULL);
    ck_assert_uint_eq(out[0], 0x72);
    mx_layout_pack(named("fp4-high-first", 4), &two, pair, out, NULL);
    ck_assert_uint_eq(out[0], 0x27);
    mx_layout_pack(named("fp4-low-first", 4), &three, triple, out, NULL);
    ck_assert(out[0] == 0x21 && out[1] == 0x03);
    mx_layout_pack(named("fp4-high-first", 4), &three, triple, out, NULL);
    ck_assert(out[0] == 0x12 && out[1] == 0x30);
    /* B108 (kekzl/imp#567): a ggml block splits halves; codes and scale share the 17 bytes. */
    for (int i = 0; i < 32; i++)
        codes[i] = (uint8_t)(i < 16 ? i : 31 - i);
    out[17] = 0xEE;
    mx_layout_pack(named("ggml-mxfp4-block", 4), &block, codes, out, NULL);
    mx_layout_pack(named("ggml-mxfp4-block", 8), &one, scale, out, NULL);
    ck_assert_int_eq(mx_layout_bytes(named("ggml-mxfp4-block", 4), &block), 17);
    ck_assert_uint_eq(out[0], 0x7F);
    ck_assert_uint_eq(out[1], 0xF0); /* element 0 low, element 16 (15) high */
    ck_assert_uint_eq(out[2], 0xE1);
    ck_assert_uint_eq(out[16], 0x0F);
    ck_assert_uint_eq(out[17], 0xEE);
}
END_TEST

START_TEST(transposing_a_tile_moves_every_byte)
{
    /* B94 (mlc-ai/pith-train#74): a tile of 16384 bytes, exact transpose. */
    static uint8_t in[16384], out[16384];
    mx_grid g = grid(128, 128);
    for (int i = 0; i < 16384; i++)
        in[i] = (uint8_t)(i * 2654435761u >> 24);
    mx_layout_pack(named("transposed", 8), &g, in, out, NULL);
    for (int r = 0; r < 128; r++)
        for (int c = 0; c < 128; c++)
            REQUIRE(out[c * 128 + r] == in[r * 128 + c], "(%d,%d)", r, c);
}
END_TEST

/* ---- recognition ----------------------------------------------------------------------------------- */

START_TEST(a_layout_is_recognised_from_bytes)
{
    /* B72, B74 (vllm-project/vllm#42118, #50084), B108, B109 (PTO-ISA/SuperNPUBench#184): name the order that
     * was really used. */
    static const int64_t groups[] = {0, 40, 41, 150};
    for (size_t i = 0; i < mx_layout_count(); i++) {
        const mx_layout *l = mx_layout_at(i);
        mx_grid g = {150, 70, 0, groups, 3};
        int64_t bytes = mx_layout_bytes(l, &g);
        uint8_t *in = canonical_of(l, 150 * 70), *seen = calloc(1, (size_t)bytes);
        mx_layout_match match[4];
        mx_layout_pack(l, &g, in, seen, NULL);
        size_t n =
            mx_layout_explain(&g, l->for_scales, l->unit_bits == 32 ? 32 : 8, in, seen, bytes, match, 4);
        ck_assert_msg(n >= 1 && match[0].layout == l, "%s: %zu matches, first %s", l->name, n,
                      n ? match[0].layout->name : "-");
        ck_assert(match[0].bytes == bytes && match[0].wrong_pads == 0 && !match[0].groups_ignored);
        seen[l->unit_bits == 4 ? l->offset(&g, 149, 69) / 2 : l->offset(&g, 149, 69) * l->unit_bits / 8] ^=
            0xFF;
        ck_assert_msg(
            mx_layout_explain(&g, l->for_scales, l->unit_bits == 32 ? 32 : 8, in, seen, bytes, match, 4) == 0,
            "%s: a wrong element still matched", l->name);
        free(in), free(seen);
    }
}
END_TEST

START_TEST(ignored_groups_pitch_and_stale_pads_are_told)
{
    static const int64_t groups[] = {0, 40, 41, 150};
    mx_grid g = {150, 6, 0, groups, 3}, flat = {150, 6, 0, NULL, 0}, pitched = {5, 6, 9, NULL, 0};
    const mx_layout *tile = named("tile-128x4", 8), *rows = named("row-major", 8);
    uint8_t *in = canonical_of(tile, 150 * 6), seen[3 * 1024];
    mx_layout_match match;
    mx_layout_pack(tile, &flat, in, seen, NULL);
    ck_assert_uint_eq(mx_layout_explain(&g, true, 8, in, seen, sizeof seen, &match, 1), 1);
    ck_assert(match.layout == tile && match.groups_ignored);
    seen[tile->offset(&flat, 149, 5) + 1] = 0xA5; /* column 6 of the last row: a pad */
    ck_assert_uint_eq(mx_layout_explain(&flat, true, 8, in, seen, sizeof seen, &match, 1), 1);
    ck_assert_int_eq(match.wrong_pads, 1);
    ck_assert_uint_ge(mx_layout_explain(&pitched, false, 8, in, in, 30, &match, 1), 1);
    ck_assert(match.layout == rows && match.pitch_ignored);
    free(in);
}
END_TEST

Suite *test_layout(void)
{
    Suite *s = suite_create("layout");
    TCase *t = tcase_create("place");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_layout_follows_its_owners_formula);
    tcase_add_test(t, every_unit_is_an_element_or_padding);
    tcase_add_test(t, groups_restart_at_a_tile);
    tcase_add_test(t, pitch_leaves_gaps_between_rows);
    tcase_add_test(t, offsets_are_right_past_32_bits);
    tcase_add_test(t, impossible_grids_are_refused);
    tcase_add_test(t, a_name_a_purpose_and_a_width_make_one_layout);
    tcase_add_test(t, pack_fills_every_unit_and_unpack_reads_it_back);
    tcase_add_test(t, padding_has_the_sizes_and_values_of_its_owner);
    tcase_add_test(t, a_row_prefix_does_not_depend_on_the_rows_after_it);
    tcase_add_test(t, nibbles_lie_in_the_order_of_their_owner);
    tcase_add_test(t, transposing_a_tile_moves_every_byte);
    tcase_add_test(t, a_layout_is_recognised_from_bytes);
    tcase_add_test(t, ignored_groups_pitch_and_stale_pads_are_told);
    suite_add_tcase(s, t);
    return s;
}
