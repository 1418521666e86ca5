/* SPDX-License-Identifier: Apache-2.0
 * Whole matrices: for every recipe that has a fast path, the fast bytes are the scalar bytes, on every
 * instruction set, for awkward shapes, pitches, alignments and numbers of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fast_checks.h"
#include "random.h"
#include "suite.h"

static const char *const sources[] = {"f32", "bf16", "f16"};

/* Mantissa fields around which some rule bumps, rounds or ties: 1.0, 1.125 .. 2.0 of each format. */
static const uint32_t edges[] = {0,        1,        2,        0x200000, 0x3FFFFF, 0x400000,
                                 0x400001, 0x5FFFFF, 0x600000, 0x600001, 0x600002, 0x6FFFFF,
                                 0x700000, 0x700001, 0x74AAAB, 0x77FFFF, 0x780000, 0x780001,
                                 0x7BFFFF, 0x7C0000, 0x7FFFFE, 0x7FFFFF};
enum { N_EDGES = sizeof edges / sizeof *edges };

typedef struct matrix {
    mx_matrix x;
    char *memory;
} matrix;

/* amax of block `b`: every exponent meets every edge in turn; some blocks hold nothing but odd ones. */
static uint32_t block_amax(uint64_t seed, int64_t b)
{
    uint32_t draw = mx_random_u32(seed, 1, (uint64_t)b);
    uint64_t k = (uint64_t)b + seed * 977;
    if (draw % 16 == 0) return draw >> 16 & 7; /* all zero, or the smallest subnormals */
    return (uint32_t)(k % 255) << 23 | edges[k / 255 % N_EDGES];
}

static uint32_t special(uint32_t draw)
{
    static const uint32_t odd[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000,
                                   0xFF800000, 0x80000000, 0x00000001, 0x807FFFFF};
    return odd[draw % 8];
}

/* fp32 bits of element `i` of a block: one is the amax itself, the rest lie up to 15 binades below it. */
static uint32_t element_bits(uint64_t seed, int64_t block, int64_t i)
{
    uint32_t amax = block_amax(seed, block), draw = mx_random_u32(seed, 2, (uint64_t)i);
    uint32_t pick = mx_random_u32(seed, 3, (uint64_t)i), down = (draw >> 23 & 15) << 23;
    bool odd_block = mx_random_u32(seed, 4, (uint64_t)block) % 8 == 0;
    if (odd_block && pick % 16 == 1) return special(pick >> 8);
    if (pick % 8 == 0) return amax | (draw & 0x80000000);
    uint32_t below = amax > down ? amax - down : 0;
    uint32_t mantissa = pick % 3 ? draw & 0x7FFFFF : edges[draw % N_EDGES];
    uint32_t bits = (below & 0x7F800000) | mantissa;
    return (bits < amax ? bits : below) | (pick & 0x80000000);
}

static void put(const mx_format *f, char *at, uint32_t bits)
{
    float v;
    uint16_t half = (uint16_t)(bits >> 16);
    memcpy(&v, &bits, 4);
    if (f->bits == 32)
        memcpy(at, &bits, 4);
    else if (f->exp_bits == 8)
        memcpy(at, &half, 2);
    else {
        mx_cast cast = MX_CAST_DEFAULT;
        cast.overflow = MX_OVERFLOW;
        half = (uint16_t)mx_encode(f, v, &cast, 0);
        memcpy(at, &half, 2);
    }
}

/* f16 sees the exponents around its own range, the wide formats all of them. */
static uint32_t narrowed(const mx_format *f, uint32_t bits)
{
    if (f->exp_bits == 8 || (bits & 0x7F800000) == 0x7F800000) return bits;
    return (bits & 0x807FFFFF) | (100 + (bits >> 23 & 0xFF) % 44) << 23;
}

static matrix make(const mx_recipe *r, const mx_format *f, int64_t rows, int64_t cols, int64_t pitch,
                   size_t misalign, uint64_t seed)
{
    int64_t block_rows, block_cols, bytes = f->bits / 8;
    mx_recipe_block(r, rows, cols, &block_rows, &block_cols);
    matrix m = {.x = {f, NULL, rows, cols, pitch}};
    m.memory = malloc((size_t)(rows * pitch * bytes) + misalign + 1);
    ck_assert_ptr_nonnull(m.memory);
    memset(m.memory, 0xFF, (size_t)(rows * pitch * bytes) + misalign + 1); /* NaN between the rows */
    m.x.data = m.memory + misalign;
    int64_t across = block_cols ? (cols - 1) / block_cols + 1 : 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            int64_t block = i / block_rows * across + j / block_cols;
            uint32_t bits = narrowed(f, element_bits(seed, block, i * cols + j));
            put(f, m.memory + misalign + (i * pitch + j) * bytes, bits);
        }
    return m;
}

typedef struct result {
    mx_quantized q;
    uint8_t *memory;
    size_t bytes;
} result;

/* Buffers with guards: whatever is written beside them shows in the comparison. */
static result room(const mx_recipe *r, int64_t rows, int64_t cols)
{
    int64_t grid_rows, grid_cols;
    mx_scale_grid(r, rows, cols, &grid_rows, &grid_cols);
    size_t codes = (size_t)(rows * cols), scales = (size_t)(grid_rows * grid_cols) * 4;
    result o = {.bytes = codes + scales + 3 * 64 + 3};
    o.memory = malloc(o.bytes);
    ck_assert_ptr_nonnull(o.memory);
    memset(o.memory, 0xEE, o.bytes);
    o.q.codes = o.memory + 64;
    o.q.scales = o.memory + (128 + codes + 3) / 4 * 4;
    return o;
}

static void check_matrix(const mx_recipe *r, const matrix *m, const char *what)
{
    result want = room(r, m->x.rows, m->x.cols);
    ck_assert_int_eq(mx_quantize_scalar(r, &m->x, NULL, &want.q, NULL), MX_OK);
    for (int i = 0; fast_isas[i]; i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            if (!mx_fast_select(fast_isas[i]->name)) continue;
            result got = room(r, m->x.rows, m->x.cols);
            mx_quantize_options options = {.threads = threads};
            ck_assert_int_eq(mx_quantize_fast(r, &m->x, &options, &got.q, NULL), MX_OK);
            for (size_t k = 0; memcmp(got.memory, want.memory, want.bytes) && k < want.bytes; k++)
                ck_assert_msg(got.memory[k] == want.memory[k],
                              "%s %s %s %lldx%lld %s, %d threads: byte %zu of codes (%lld) and scales: %02x, "
                              "scalar %02x",
                              r->name, m->x.format->name, fast_isas[i]->name, (long long)m->x.rows,
                              (long long)m->x.cols, what, threads, k - 64, (long long)(m->x.rows * m->x.cols),
                              got.memory[k], want.memory[k]);
            ck_assert_msg(!memcmp(&got.q.global, &want.q.global, 4), "%s global", r->name);
            free(got.memory);
        }
    free(want.memory);
}

static void check_shape(const mx_recipe *r, const mx_format *f, int64_t rows, int64_t cols, int64_t gap,
                        size_t misalign, uint64_t seed)
{
    char what[48];
    snprintf(what, sizeof what, "pitch +%d, at +%zu, seed %llu", (int)gap, misalign,
             (unsigned long long)seed);
    matrix m = make(r, f, rows, cols, cols + gap, misalign, seed);
    check_matrix(r, &m, what);
    free(m.memory);
}

/* Every recipe and source: blocks enough that each exponent meets a part of the edges. */
START_TEST(every_recipe_with_a_fast_path)
{
    size_t tried = 0;
    for (size_t i = 0; i < mx_recipe_count(); i++)
        for (int s = 0; s < 3; s++) {
            const mx_recipe *r = mx_recipe_at(i);
            const mx_format *f = mx_format_find(sources[s]);
            if ((s && i % 2 != (size_t)s - 1) || !mx_fast_supports(r, f)) continue; /* f32, and one more */
            int64_t rows = 3 * (r->block_rows ? r->block_rows : 1) - 1;
            int64_t cols = (r->block_rows > 32  ? 4
                            : r->block_rows > 1 ? 70
                                                : 90) *
                           (r->block_cols > 16 || r->block_rows > 1 ? r->block_cols : 16);
            if (!cols) cols = 1100;
            check_shape(r, f, rows, cols + 5, s, (size_t)s, i);
            tried++;
        }
    ck_assert_uint_ge(tried, mx_fast_supports(mx_recipe_find("mxfp8"), mx_format_find("f32")) ? 100 : 0);
}
END_TEST

static const char *const main_recipes[] = {"mxfp8",      "mxfp8-floor",    "mxfp8-ceil",    "mxfp8-even",
                                           "mxfp8-up",   "mxfp8-ao-rceil", "mxfp8-te",      "mxfp8-col",
                                           "mxfp4",      "mxfp6-e2m3",     "mxfp8-e5m2",    "mxfp8-32x32",
                                           "mxfp6-e3m2", "mxfp4-even",     "mxfp8-ao-even", "mxfp8-dg"};
enum { N_MAIN = sizeof main_recipes / sizeof *main_recipes };

/* Every exponent with every edge as amax, in each source. */
START_TEST(every_threshold_of_every_rule)
{
    const mx_recipe *r = mx_recipe_find(main_recipes[_i]);
    ck_assert_msg(r, "%s", main_recipes[_i]);
    for (int s = 0; s < 3; s++) {
        const mx_format *f = mx_format_find(sources[s]);
        if (!mx_fast_supports(r, f)) continue;
        int64_t blocks = s ? 300 : 255 * N_EDGES, across = r->block_rows > 1 ? 90 : 60;
        if (r->block_rows == 32 && r->block_cols == 32) blocks /= 16;
        check_shape(r, f, (blocks / across + 1) * r->block_rows, across * r->block_cols, 0, 0, 1);
    }
}
END_TEST

static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 1023, 1025, 2880};

START_TEST(odd_shapes_pitches_and_addresses)
{
    static const char *const names[] = {"mxfp8", "mxfp8-te-col", "mxfp8-32x32", "e4m3"};
    uint64_t seed = 0;
    for (int n = 0; n < 4; n++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int s = 0; s < 3; s++) {
                const mx_recipe *r = mx_recipe_find(names[n]);
                const mx_format *f = mx_format_find(sources[s]);
                if (!r || !mx_fast_supports(r, f)) continue;
                int64_t rows = sizes[k] > 1000 ? 2 : sizes[(k * 5 + (size_t)s) % 12];
                check_shape(r, f, rows, sizes[k], (int64_t)(seed % 3), seed % 7, seed);
                seed++;
            }
}
END_TEST

/* e8m0 bytes of one grid row lie close together, and the rows go through all of them: products of a whole
 * row are then exact, or all near an end of the range. */
static void band_scales(const mx_recipe *r, mx_quantized *q, int64_t rows, int64_t cols)
{
    int64_t grid_rows, grid_cols;
    mx_scale_grid(r, rows, cols, &grid_rows, &grid_cols);
    if (!r->scale || r->scale->kind != MX_KIND_EXPONENT) return;
    for (int64_t i = 0; i < grid_rows * grid_cols; i++)
        ((uint8_t *)q->scales)[i] = (uint8_t)(i / grid_cols * 256 / grid_rows + i % 3);
}

static void check_reading(const mx_recipe *r, const mx_format *to, int64_t rows, int64_t cols)
{
    result q = room(r, rows, cols);
    int64_t pitch = cols + 3;
    size_t bytes = (size_t)(rows * pitch) * 4;
    char *want = malloc(2 * bytes + 2), *got = want + bytes + 1;
    ck_assert_ptr_nonnull(want);
    for (size_t i = 0; i < q.bytes; i++)
        q.memory[i] = (uint8_t)mx_random_u32(7, 0, i);
    band_scales(r, &q.q, rows, cols);
    q.q.global = 1;
    memset(want, 0xEE, 2 * bytes + 2);
    ck_assert(mx_fast_select("scalar"));
    ck_assert_int_eq(mx_dequantize(r, &q.q, rows, cols, to, want, pitch, NULL), MX_OK);
    for (int i = 0; fast_isas[i]; i++) {
        if (!mx_fast_select(fast_isas[i]->name)) continue;
        memset(got, 0xEE, bytes);
        ck_assert_int_eq(mx_dequantize(r, &q.q, rows, cols, to, got, pitch, NULL), MX_OK);
        ck_assert_msg(!memcmp(got, want, bytes), "%s -> %s with %s", r->name, to->name, fast_isas[i]->name);
    }
    free(want);
    free(q.memory);
}

START_TEST(every_recipe_reads_back_alike)
{
    for (size_t i = 0; i < mx_recipe_count(); i++)
        for (int s = 0; s < 3; s++) {
            const mx_recipe *r = mx_recipe_at(i);
            const mx_format *to = mx_format_find(sources[s]);
            ck_assert(mx_fast_select(NULL));
            if (i % 3 == (size_t)s && mx_fast_reads(r, to))
                check_reading(r, to, r->block_rows > 1 ? 700 : 86, 133);
        }
}
END_TEST

Suite *test_fast_blocks(void)
{
    Suite *s = suite_create("fast blocks");
    TCase *t = tcase_create("against the scalar code");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_recipe_with_a_fast_path);
    tcase_add_loop_test(t, every_threshold_of_every_rule, 0, N_MAIN);
    tcase_add_test(t, odd_shapes_pitches_and_addresses);
    tcase_add_test(t, every_recipe_reads_back_alike);
    suite_add_tcase(s, t);
    return s;
}
