/* SPDX-License-Identifier: Apache-2.0
 * Blackwell's descriptors against constants worked out from the PTX ISA by hand, its scale tiles against the
 * layout table. */
#include "../../gpu/tcgen05_desc.h"

#include "mx.h"
#include "suite.h"

START_TEST(instruction_constants)
{
    const int e4m3 = MX_TCGEN05_E4M3;
    ck_assert_uint_eq(mx_tcgen05_instruction(e4m3, e4m3, 128, 128), 0x08A00000);
    ck_assert_uint_eq(mx_tcgen05_instruction(e4m3, e4m3, 128, 256), 0x08C00000);
    ck_assert_uint_eq(mx_tcgen05_instruction(e4m3, e4m3, 256, 256), 0x10C00000);
    ck_assert_uint_eq(mx_tcgen05_instruction(MX_TCGEN05_E5M2, e4m3, 128, 8), 0x08820080);
    ck_assert_uint_eq(mx_tcgen05_instruction(e4m3, MX_TCGEN05_E2M1, 128, 8), 0x08821400);
}
END_TEST

START_TEST(instruction_names_the_scale_byte)
{
    const uint32_t base = 0x08C00000;
    ck_assert_uint_eq(mx_tcgen05_instruction_at(base, 0), base);
    ck_assert_uint_eq(mx_tcgen05_instruction_at(base, 1), 0x28C00010);
    ck_assert_uint_eq(mx_tcgen05_instruction_at(base, 2), 0x48C00020);
    ck_assert_uint_eq(mx_tcgen05_instruction_at(base, 3), 0x68C00030);
    ck_assert_uint_eq(mx_tcgen05_instruction_at(base, 7), mx_tcgen05_instruction_at(base, 3));
}
END_TEST

START_TEST(shared_descriptors)
{
    /* swizzle 2 at bit 61, version 1 at bit 46, 1024 / 16 = 64 at bit 32, 0x12400 / 16 = 0x1240 */
    ck_assert_uint_eq(mx_tcgen05_codes(0x12400), 0x4000404000001240ull);
    ck_assert_uint_eq(mx_tcgen05_along(mx_tcgen05_codes(0x12400), 96), 0x4000404000001246ull);
    ck_assert_uint_eq(mx_tcgen05_scale_tile(0x30200), 0x0000400800003020ull);
    ck_assert_uint_eq(mx_tcgen05_shared(0, 128, 256, 6), 0xC000401000080000ull);
    /* the address field holds 18 bits of the address */
    ck_assert_uint_eq(mx_tcgen05_codes(0x40000), mx_tcgen05_codes(0));
}
END_TEST

START_TEST(scale_tiles_are_the_layout)
{
    const mx_layout *layout = mx_layout_find("tile-128x4");
    ck_assert_ptr_nonnull(layout);
    const int64_t blocks[] = {1, 4, 5, 13};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        mx_grid grid = {.rows = 300, .cols = blocks[b]};
        for (int64_t r = 0; r < grid.rows; r++)
            for (int64_t c = 0; c < grid.cols; c++)
                ck_assert_int_eq(mx_tcgen05_scale_tile_of(r, c, grid.cols) * 512 +
                                     mx_tcgen05_scale_byte_of(r, c),
                                 layout->offset(&grid, r, c));
    }
}
END_TEST

/* tcgen05.cp 32x128b puts 16 bytes of a tile into each lane: four columns of four bytes. */
START_TEST(scales_in_tensor_memory)
{
    for (int row = 0; row < 256; row++)
        for (int block = 0; block < 4; block++) {
            const int byte = mx_tcgen05_scale_byte_of(row, block);
            ck_assert_int_eq(byte / 16, mx_tcgen05_scale_lane(row));
            ck_assert_int_eq(byte % 16 / 4, mx_tcgen05_scale_column(row));
            ck_assert_int_eq(byte % 4, block);
        }
    ck_assert_int_eq(mx_tcgen05_scale_columns(128), 4);
    ck_assert_int_eq(mx_tcgen05_scale_columns(192), 8); /* copied as 256 */
    ck_assert_int_eq(mx_tcgen05_scale_columns(256), 8);
}
END_TEST

START_TEST(tensor_memory)
{
    ck_assert_int_eq(mx_tcgen05_columns(1), 32);
    ck_assert_int_eq(mx_tcgen05_columns(256), 256);
    ck_assert_int_eq(mx_tcgen05_columns(320), 512);
    ck_assert_int_eq(mx_tcgen05_columns(513), 0);
    ck_assert_uint_eq(mx_tcgen05_at(0x100, 96, 8), 0x600108);
}
END_TEST

Suite *test_tcgen05_desc(void)
{
    Suite *s = suite_create("tcgen05_desc");
    TCase *t = tcase_create("descriptors");
    tcase_add_test(t, instruction_constants);
    tcase_add_test(t, instruction_names_the_scale_byte);
    tcase_add_test(t, shared_descriptors);
    tcase_add_test(t, scale_tiles_are_the_layout);
    tcase_add_test(t, scales_in_tensor_memory);
    tcase_add_test(t, tensor_memory);
    suite_add_tcase(s, t);
    return s;
}
