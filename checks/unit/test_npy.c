/* SPDX-License-Identifier: Apache-2.0
 * .npy: bytes of numpy.save, versions 1 to 3, and headers that lie. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "scratch.h"
#include "suite.h"

/* A file of `version` with this dict and `data` zero bytes. `lie` is added to the header length. */
static const struct {
    const char *name;
    int version;
    const char *dict;
    int data, lie;
    const char *message; /* NULL: good */
} rows[] = {
    {"version 1", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, 0, NULL},
    {"version 2", 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, 0, NULL},
    {"version 3", 3, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, 0, NULL},
    {"scalar", 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (), }", 2, 0, NULL},
    {"one axis, Fortran order", 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (5,), }", 5, 0, NULL},
    {"keys in another order", 1, "{\"shape\": (5L,), \"fortran_order\": False, \"descr\": \"<u2\"}", 10, 0,
     NULL},
    {"empty", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9), }", 0, 0, NULL},
    {"raw bytes", 1, "{'descr': '<V1', 'fortran_order': False, 'shape': (3,), }", 3, 0, NULL},
    {"raw pairs", 1, "{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }", 6, 0, NULL},
    {"version 4", 4, "{}", 0, 0, "version 4.0"},
    {"version 0", 0, "{}", 0, 0, "version 0.0"},
    {"header past the end", 1, "{}", 0, 9, "ends at byte"},
    {"header absurd", 2, "{}", 0, 0x7FFFFF00, "header of"},
    {"no dict", 1, "[1]", 0, 0, "no dict"},
    {"dict cut short", 1, "{'descr': '<f4'", 0, 0, "no dict"},
    {"key missing", 1, "{'descr': '<f4', 'shape': (1,), }", 4, 0, "lacks a key"},
    {"key twice", 1, "{'descr': '<f4', 'descr': '<f4', }", 4, 0, "key twice"},
    {"key unknown", 1, "{'colour': 'red'}", 4, 0, "unknown key"},
    {"structured type", 1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, 0,
     "no simple type"},
    {"objects", 1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8, 0, "unknown element type"},
    {"big-endian", 1, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4, 0, "big-endian"},
    {"Fortran order", 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16, 0,
     "Fortran order"},
    {"order no truth value", 1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,), }", 4, 0,
     "neither True"},
    {"shape negative", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4, 0,
     "shape is no tuple"},
    {"shape too large", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", 4,
     0, "shape is no tuple"},
    {"shape of 9 axes", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, 0,
     "shape is no tuple"},
    {"shape overflows", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 4,
     0, "shape overflows"},
    {"data short", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, 0, "needs 8 bytes"},
    {"data long", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9, 0, "there are 9"},
    {"text after the dict", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", 4, 0,
     "text after the dict"},
};

START_TEST(header_is_judged)
{
    size_t dict = strlen(rows[_i].dict), head = rows[_i].version > 1 ? 12 : 10,
           n = head + dict + (size_t)rows[_i].data;
    unsigned char *file = calloc(n, 1);
    uint32_t length = (uint32_t)(dict + (size_t)rows[_i].lie);
    memcpy(file, MX_NPY_MAGIC, 6);
    file[6] = (unsigned char)rows[_i].version;
    for (size_t b = 0; b < head - 8; b++)
        file[8 + b] = (unsigned char)(length >> 8 * b);
    memcpy(file + head, rows[_i].dict, dict);
    mx_store store;
    mx_error e = {0};
    mx_status status = mx_store_open(scratch_write("x.npy", file, n), &store, &e);
    free(file);
    ck_assert_msg((status == MX_OK) == !rows[_i].message, "%s: %s", rows[_i].name, e.message);
    if (status)
        ck_assert_msg(strstr(e.message, rows[_i].message), "%s: said '%s'", rows[_i].name, e.message);
    else
        mx_store_close(&store);
}
END_TEST

START_TEST(bytes_are_those_of_numpy)
{
    /* python3 -c "import numpy as n; n.save('x.npy', n.zeros((2,3),'<f4'))"; xxd x.npy, NumPy 2.4.6 */
    static const char head[] =
        "\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    mx_array a = {.name = (char *)"any", .rank = 2, .shape = {2, 3}};
    ck_assert(mx_dtype_find("f32", &a.dtype));
    mx_writer w;
    mx_error e = {0};
    static const char zeros[24];
    const char *path = scratch_path("zeros.npy");
    ck_assert_int_eq(mx_npy_create(path, &a, &w, &e), MX_OK);
    ck_assert_int_eq(mx_writer_put(&w, "any", 0, zeros, sizeof zeros, &e), MX_OK);
    ck_assert_int_eq(mx_writer_finish(&w, &e), MX_OK);
    mx_input in;
    char *data;
    size_t n;
    ck_assert_int_eq(mx_input_open(path, false, &in, &e), MX_OK);
    ck_assert_int_eq(mx_input_all(&in, 4096, &data, &n, &e), MX_OK);
    mx_input_close(&in);
    ck_assert_uint_eq(n, 128 + 24);
    ck_assert_mem_eq(data, head, sizeof head - 1);
    ck_assert_int_eq(data[126], ' ');
    ck_assert_int_eq(data[127], '\n');
    free(data);
}
END_TEST

Suite *test_npy(void)
{
    Suite *s = suite_create("npy");
    TCase *t = tcase_create("npy");
    tcase_add_unchecked_fixture(t, scratch_make, scratch_remove);
    tcase_add_loop_test(t, header_is_judged, 0, sizeof rows / sizeof *rows);
    tcase_add_test(t, bytes_are_those_of_numpy);
    suite_add_tcase(s, t);
    return s;
}
