/* SPDX-License-Identifier: Apache-2.0
 * A matrix quantised in parts has the bytes of the whole, for every recipe. */
#include <stdlib.h>
#include <string.h>

#include "band.h"
#include "data.h"
#include "random.h"
#include "suite.h"

enum { ROWS = 70, COLS = 150, MOST = ROWS * COLS };

static uint16_t x[MOST]; /* bf16 */
static uint8_t whole_codes[MOST], part_codes[MOST], codes[MOST];
static float whole_scales[MOST], part_scales[MOST], scales[MOST];

static void fill(void)
{
    for (int i = 0; i < MOST; i++)
        x[i] = (uint16_t)mx_encode(mx_format_find("bf16"),
                                   mx_random_normal(7, 0, (uint64_t)i) * (i % 97 ? 1 : 1e5), &MX_CAST_DEFAULT,
                                   0);
    x[5 * COLS + 3] = 0x7FC0; /* a NaN in a part of its own */
    for (int i = 40 * COLS; i < 42 * COLS; i++)
        x[i] = 0;
}

/* Copy a part's grid of `each`-byte units into the whole's, `cols` wide. */
static void put(void *to, const void *from, int64_t cols, int64_t row, int64_t col, int64_t n_rows,
                int64_t n_cols, size_t each)
{
    for (int64_t i = 0; i < n_rows; i++)
        memcpy((char *)to + (size_t)((row + i) * cols + col) * each,
               (const char *)from + (size_t)(i * n_cols) * each, (size_t)n_cols * each);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Cut at multiples of two or three blocks, or anywhere where there is one scale or none. */
static void quantize_in_parts(const mx_recipe *r, float *global)
{
    int64_t block_rows, block_cols, grid_rows = 0, grid_cols = 0;
    mx_recipe_block(r, ROWS, COLS, &block_rows, &block_cols);
    if (r->scale) mx_scale_grid(r, ROWS, COLS, &grid_rows, &grid_cols);
    bool one = !r->block_rows && !r->block_cols;
    int64_t part_rows = one ? 23 : 2 * block_rows, part_cols = one ? 31 : 3 * block_cols;
    mx_band where = {.matrix_cols = COLS, .seed = 42, .threads = 1};
    size_t each = r->scale && r->scale->bits > 8 ? 4 : 1;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < ROWS; i += part_rows)
            for (int64_t j = 0; j < COLS; j += part_cols) {
                int64_t n = least(part_rows, ROWS - i), m = least(part_cols, COLS - j);
                mx_matrix part = {mx_format_find("bf16"), x + i * COLS + j, n, m, COLS};
                mx_quantized q = {codes, scales, 0};
                where.first_row = i;
                where.first_col = j;
                if (!pass) {
                    ck_assert_int_eq(mx_band_amax(r, &part, &where.amax, NULL), MX_OK);
                    continue;
                }
                ck_assert_int_eq(mx_band_quantize(r, &part, &where, &q, NULL), MX_OK);
                *global = q.global;
                put(part_codes, codes, COLS, i, j, n, m, 1);
                if (r->scale)
                    put(part_scales, scales, grid_cols, i / block_rows, j / block_cols,
                        (n - 1) / block_rows + 1, (m - 1) / block_cols + 1, each);
            }
}

START_TEST(parts_have_the_bytes_of_the_whole)
{
    fill();
    int compared = 0;
    for (size_t i = 0; i < mx_recipe_count(); i++) {
        const mx_recipe *r = mx_recipe_at(i);
        if (r->element->bits > 8) continue;
        mx_matrix m = {mx_format_find("bf16"), x, ROWS, COLS, COLS};
        mx_quantized whole = {whole_codes, whole_scales, 0};
        mx_quantize_options options = {.seed = 42, .threads = 1};
        float global = -1;
        memset(whole_scales, 0, sizeof whole_scales);
        memset(part_scales, 0, sizeof part_scales);
        ck_assert_int_eq(mx_quantize(r, &m, &options, &whole, NULL), MX_OK);
        quantize_in_parts(r, &global);
        ck_assert_msg(!memcmp(whole_codes, part_codes, MOST), "%s: codes", r->name);
        ck_assert_msg(!memcmp(whole_scales, part_scales, sizeof whole_scales), "%s: scales", r->name);
        ck_assert_msg(!memcmp(&global, &whole.global, sizeof global), "%s: global %g %g", r->name,
                      (double)global, (double)whole.global);
        compared++;
    }
    ck_assert_int_gt(compared, 100);
}
END_TEST

Suite *test_band(void)
{
    Suite *s = suite_create("band");
    TCase *t = tcase_create("band");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, parts_have_the_bytes_of_the_whole);
    suite_add_tcase(s, t);
    return s;
}
