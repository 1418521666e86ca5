/* SPDX-License-Identifier: Apache-2.0
 * safetensors: round trips, determinism, and each kind of lying header as a row of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"
#include "scratch.h"
#include "suite.h"

/* ---- hostile headers ---------------------------------------------------------------------------------- */

/* `header` is followed by `data` zero bytes. The size before it is its length plus `lie`. */
static const struct {
    const char *name, *header;
    int data;
    int64_t lie;
    const char *message; /* fragment of "place: message" */
} hostile[] = {
    {"header size past the end", "{}", 0, 1, "truncated: header of 3 bytes in a file of 10"},
    {"header size absurd", "{}", 0, INT64_MAX, "no safetensors file"},
    {"header size above the limit", "{}", 0, 100000001, "no safetensors file"},
    {"empty header", "", 0, 0, "JSON"},
    {"no JSON", "hello", 0, 0, "JSON, byte"},
    {"JSON list", "[]", 0, 0, "JSON is no object"},
    {"JSON cut short", "{\"a\":", 0, 0, "JSON"},
    {"text after the object", "{} {}", 0, 0, "JSON"},
    {"bad UTF-8", "{\"\xff\xfe\": 1}", 0, 0, "UTF-8"},
    {"overlong UTF-8", "{\"\xc0\xaf\": 1}", 0, 0, "UTF-8"},
    {"zero byte in a name", "{\"a\\u0000b\": 1}", 0, 0, "JSON"},
    {"deep nesting", NULL, 0, 0, "maximum parsing depth"}, /* made below */
    {"tensor twice",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
     1, 0, "duplicate"},
    {"entry no object", "{\"a\":5}", 0, 0, "tensor 'a': entry is no object"},
    {"name empty", "{\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, 0, "without a name"},
    {"dtype missing", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, 0, "dtype is missing"},
    {"dtype unknown", "{\"a\":{\"dtype\":\"F7\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, 0,
     "tensor 'a': unknown dtype F7"},
    {"dtype no text", "{\"a\":{\"dtype\":8,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, 0, "dtype is missing"},
    {"shape missing", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, 0, "shape is missing"},
    {"shape negative", "{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1, 0,
     "no natural number"},
    {"shape fractional", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", 1, 0,
     "no natural number"},
    {"shape of 9 axes", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
     0, "more than 8 axes"},
    {"shape overflows 64 bits",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296,2],\"data_offsets\":[0,0]}}", 0, 0,
     "shape overflows: [4294967296, 4294967296, 2]"},
    {"bytes overflow", "{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}",
     0, 0, "shape overflows"},
    {"integer overflows",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,0]}}", 0, 0, "too big"},
    {"shape lies", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,20]}}", 20, 0,
     "[2, 3] of F32 needs 24 bytes, data_offsets give 20"},
    {"shape empty, bytes not", "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,4]}}", 4, 0,
     "needs 0 bytes"},
    {"offsets missing", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, 0, "data_offsets are no pair"},
    {"offsets of three", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1, 0,
     "data_offsets are no pair"},
    {"offsets backward", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", 1, 0,
     "negative or out of order"},
    {"offsets negative", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 1, 0,
     "negative or out of order"},
    {"data cut short", "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}", 8, 0,
     "past the end of the file"},
    {"offsets huge",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[9223372036854775798,9223372036854775807]}}", 8,
     0, "past the end of the file"},
    {"overlap",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
     6, 0, "tensor 'b': overlaps"},
    {"gap",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]}}",
     6, 0, "tensor 'b': leaves a gap"},
    {"gap at the start", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}", 4, 0,
     "tensor 'a': leaves a gap"},
    {"bytes after the last", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 5, 0,
     "3 bytes after the last tensor"},
    {"data without tensors", "{}", 5, 0, "5 bytes after the last tensor"},
    {"metadata no object", "{\"__metadata__\":[]}", 0, 0, "__metadata__ is no object"},
    {"metadata no text", "{\"__metadata__\":{\"a\":1}}", 0, 0, "'a' is no text"},
    {"format unknown",
     "{\"__metadata__\":{\"format:a\":\"e9m9\"},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
     1, 0, "unknown format e9m9"},
    {"format does not fit",
     "{\"__metadata__\":{\"format:a\":\"e4m3\"},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
     1, 0, "cannot hold"},
    {"control characters in a name",
     "{\"\\u001b[31m\":{\"dtype\":\"F7\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, 0, "tensor '?[31m'"},
};

/* Size, header, zeros; malloc'd. */
static unsigned char *make_file(const char *header, int data, int64_t lie, size_t *n)
{
    uint64_t size = strlen(header) + (uint64_t)lie;
    *n = 8 + strlen(header) + (size_t)data;
    unsigned char *file = calloc(*n, 1);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)(size >> 8 * i);
    memcpy(file + 8, header, strlen(header));
    return file;
}

START_TEST(lying_header_is_refused)
{
    char deep[5001], text[600];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    deep[sizeof deep - 1] = 0;
    const char *header = hostile[_i].header ? hostile[_i].header : deep;
    size_t n;
    unsigned char *file = make_file(header, hostile[_i].data, hostile[_i].lie, &n);
    const char *path = scratch_write("lie.safetensors", file, n);
    mx_store store;
    mx_error e = {0};
    mx_status status = mx_store_open(path, &store, &e);
    snprintf(text, sizeof text, "%s: %s", e.place, e.message);
    ck_assert_msg(status == MX_BAD_INPUT, "%s: status %d (%s)", hostile[_i].name, status, text);
    ck_assert_msg(strstr(text, hostile[_i].message), "%s: said '%s'", hostile[_i].name, text);
    ck_assert_msg(!strncmp(e.place, path, strlen(path)), "%s: no file in '%s'", hostile[_i].name, e.place);
    free(file);
}
END_TEST

START_TEST(files_too_short_for_a_header_are_refused)
{
    for (size_t n = 0; n < 8; n++) {
        mx_store store;
        mx_error e = {0};
        ck_assert_int_eq(mx_store_open(scratch_write("short", "\0\0\0\0\0\0\0", n), &store, &e),
                         MX_BAD_INPUT);
        ck_assert_ptr_nonnull(strstr(e.message, "too few"));
    }
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused)
{
    mx_store store;
    mx_error e = {0};
    ck_assert_int_eq(mx_store_open("/dev/zero", &store, &e), MX_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(e.message, "no regular file"));
    ck_assert_int_eq(mx_store_open(scratch_path("absent"), &store, &e), MX_IO);
    ck_assert_ptr_nonnull(strstr(e.message, "No such file"));
}
END_TEST

/* Every prefix of a good file is refused: no cut goes unnoticed. */
START_TEST(every_cut_is_noticed)
{
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    size_t n;
    unsigned char *file = make_file(header, 8, 0, &n);
    for (size_t cut = 0; cut <= n; cut++) {
        mx_input in;
        mx_store store = {0};
        ck_assert_int_eq(mx_input_memory("memory", file, cut, &in, NULL), MX_OK);
        mx_status status = mx_safetensors_read(&in, &store, NULL);
        ck_assert_msg((status == MX_OK) == (cut == n), "cut at %zu", cut);
        mx_store_close(&store);
    }
    free(file);
}
END_TEST

START_TEST(reads_are_bounded)
{
    static const uint64_t bad[][2] = {{5, 1},          {4, 2},          {0, 6},
                                      {UINT64_MAX, 2}, {UINT64_MAX, 0}, {2, SIZE_MAX}};
    char to[8];
    mx_input in;
    ck_assert_int_eq(mx_input_memory("memory", "abcde", 5, &in, NULL), MX_OK);
    ck_assert_int_eq(mx_input_read(&in, 5, to, 0, NULL), MX_OK);
    ck_assert_int_eq(mx_input_read(&in, 3, to, 2, NULL), MX_OK);
    ck_assert_mem_eq(to, "de", 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(mx_input_read(&in, bad[i][0], to, (size_t)bad[i][1], NULL), MX_BAD_INPUT);
    mx_input_close(&in);
}
END_TEST

/* ---- round trips ----------------------------------------------------------------------------------------
 */

static mx_array describe(const char *name, const char *dtype, int rank, int64_t a, int64_t b)
{
    mx_array array = {.name = (char *)name, .rank = rank, .shape = {a, b}};
    ck_assert_msg(mx_dtype_find(dtype, &array.dtype), "%s", dtype);
    return array;
}

static const char *write_all(const char *file, mx_array *arrays, size_t n)
{
    static unsigned char data[4096];
    mx_pair metadata[] = {{(char *)"zz", (char *)"last"},
                          {(char *)"aa", (char *)"first \"quoted\" \xc3\xa9"}};
    mx_writer w;
    mx_error e = {0};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 31);
    const char *path = scratch_path(file);
    ck_assert_msg(!mx_safetensors_create(path, arrays, n, metadata, 2, &w, &e), "%s", e.message);
    for (size_t i = 0; i < w.n; i++) { /* in two halves, the second first */
        size_t bytes = (size_t)w.arrays[i].bytes, half = bytes / 2;
        ck_assert_int_eq(mx_writer_put(&w, w.arrays[i].name, half, data + half, bytes - half, &e), MX_OK);
        ck_assert_int_eq(mx_writer_put(&w, w.arrays[i].name, 0, data, half, &e), MX_OK);
    }
    ck_assert_msg(!mx_writer_finish(&w, &e), "%s", e.message);
    return path;
}

START_TEST(every_type_round_trips)
{
    static const char *const names[] = {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f64", "bool"};
    enum { PLAIN = sizeof names / sizeof *names };
    mx_array arrays[64];
    size_t n = 0;
    for (size_t i = 0; i < PLAIN; i++)
        arrays[n++] = describe(names[i], names[i], 2, 3, 5);
    for (size_t i = 0; i < mx_format_count(); i++)
        arrays[n++] = describe(mx_format_at(i)->name, mx_format_at(i)->name, 2, 3, 5);
    arrays[n++] = describe("empty", "f32", 2, 0, 7);
    arrays[n++] = describe("scalar", "bf16", 0, 0, 0);
    mx_store store;
    mx_error e = {0};
    const char *path = write_all("types.safetensors", arrays, n);
    ck_assert_msg(!mx_store_open(path, &store, &e), "%s: %s", e.place, e.message);
    ck_assert_uint_eq(store.n_arrays, n);
    ck_assert_str_eq(mx_store_metadata(&store, "aa"), "first \"quoted\" \xc3\xa9");
    for (size_t i = 0; i < n; i++) {
        const mx_array *a = mx_store_find(&store, arrays[i].name);
        ck_assert_msg(a, "%s", arrays[i].name);
        ck_assert_str_eq(a->dtype.name, arrays[i].dtype.name);
        ck_assert_int_eq(a->rank, arrays[i].rank);
        ck_assert_uint_eq(a->begin % a->dtype.bytes, 0); /* torch views slices in place */
        mx_tensor t;
        ck_assert_int_eq(mx_store_tensor(&store, a, &t, &e), MX_OK);
        for (size_t b = 0; b < t.bytes; b++)
            ck_assert_uint_eq(t.data[b], (unsigned char)(b * 31));
        mx_tensor_free(&t);
    }
    mx_store_close(&store);
}
END_TEST

START_TEST(order_of_arrays_does_not_change_the_bytes)
{
    mx_array forward[] = {describe("a", "u8", 1, 3, 0), describe("b", "f32", 1, 3, 0),
                          describe("c", "e2m1", 1, 3, 0)};
    mx_array backward[] = {forward[2], forward[1], forward[0]};
    char *one, *two;
    size_t n, m;
    mx_input in;
    ck_assert_int_eq(mx_input_open(write_all("1", forward, 3), false, &in, NULL), MX_OK);
    ck_assert_int_eq(mx_input_all(&in, 1 << 20, &one, &n, NULL), MX_OK);
    mx_input_close(&in);
    ck_assert_int_eq(mx_input_open(write_all("2", backward, 3), false, &in, NULL), MX_OK);
    ck_assert_int_eq(mx_input_all(&in, 1 << 20, &two, &m, NULL), MX_OK);
    mx_input_close(&in);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(one, two, n);
    ck_assert_uint_eq((unsigned char)one[0] % 8, 0); /* so the data starts at a multiple of 8 */
    /* The header by hand: this is the byte-for-byte promise. */
    static const char header[] =
        "{\"__metadata__\":{\"aa\":\"first \\\"quoted\\\" \xc3\xa9\",\"format:c\":\"e2m1\",\"zz\":\"last\"},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[12,15]},"
        "\"c\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[15,18]}}";
    ck_assert_mem_eq(one + 8, header, sizeof header - 1);
    free(one);
    free(two);
}
END_TEST

START_TEST(an_unfinished_file_never_appears)
{
    mx_array a = describe("a", "u8", 1, 3, 0);
    mx_writer w;
    mx_store store;
    mx_error e = {0};
    const char *path = scratch_path("unfinished");
    ck_assert_int_eq(mx_safetensors_create(path, &a, 1, NULL, 0, &w, &e), MX_OK);
    ck_assert_int_eq(mx_writer_put(&w, "a", 2, "xy", 2, &e), MX_BAD_USAGE);
    ck_assert_int_eq(mx_writer_put(&w, "b", 0, "x", 1, &e), MX_BAD_USAGE);
    ck_assert_int_eq(mx_writer_put(&w, "a", 0, "xy", 2, &e), MX_OK);
    ck_assert_int_eq(mx_writer_finish(&w, &e), MX_BAD_USAGE);
    ck_assert_ptr_nonnull(strstr(e.message, "2 of 3 bytes"));
    ck_assert_int_eq(mx_store_open(path, &store, &e), MX_IO);
    mx_array twice[] = {a, a};
    ck_assert_int_eq(mx_safetensors_create(path, twice, 2, NULL, 0, &w, &e), MX_BAD_USAGE);
}
END_TEST

/* ---- checkpoints ------------------------------------------------------------------------------------------
 */

static const struct {
    const char *index, *message; /* NULL: good */
} indices[] = {
    {"{\"weight_map\":{\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\"}}", NULL},
    {"{\"weight_map\":{\"a\":\"s1.safetensors\"}}", NULL},
    {"{\"weight_map\":{\"a\":\"s2.safetensors\"}}", "tensor 'a' is not in 's2.safetensors'"},
    {"{\"weight_map\":{\"a\":\"../s1.safetensors\"}}", "no plain file name"},
    {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "no plain file name"},
    {"{\"weight_map\":{\"a\":\"..\"}}", "no plain file name"},
    {"{\"weight_map\":{\"a\":7}}", "no plain file name"},
    {"{\"weight_map\":{\"a\":\"absent.safetensors\"}}", "No such file"},
    {"{\"weight_map\":[]}", "no weight_map"},
    {"{}", "no weight_map"},
    {"nothing", "JSON"},
};

START_TEST(shards_are_one_store)
{
    mx_array a = describe("a", "u8", 1, 3, 0),
             b[] = {describe("b", "f32", 2, 2, 2), describe("c", "u8", 1, 1, 0)};
    write_all("s1.safetensors", &a, 1);
    write_all("s2.safetensors", b, 2);
    const char *path =
        scratch_write("model.safetensors.index.json", indices[_i].index, strlen(indices[_i].index));
    mx_store store;
    mx_error e = {0};
    char text[600];
    mx_status status = mx_store_open(path, &store, &e);
    snprintf(text, sizeof text, "%s: %s", e.place, e.message);
    ck_assert_msg((status == MX_OK) == !indices[_i].message, "%s", text);
    if (status) {
        ck_assert_msg(strstr(text, indices[_i].message), "%s", text);
        return;
    }
    ck_assert_ptr_nonnull(mx_store_find(&store, "a"));
    ck_assert_ptr_null(mx_store_find(&store, "c")); /* not mapped */
    mx_store_close(&store);
    ck_assert_int_eq(mx_store_open(scratch_path("."), &store, &e), MX_OK); /* the folder */
    mx_store_close(&store);
}
END_TEST

#define COUNT(table) (int)(sizeof table / sizeof *table)

Suite *test_safetensors(void)
{
    Suite *s = suite_create("safetensors");
    TCase *t = tcase_create("safetensors");
    tcase_add_unchecked_fixture(t, scratch_make, scratch_remove);
    tcase_add_loop_test(t, lying_header_is_refused, 0, COUNT(hostile));
    tcase_add_test(t, files_too_short_for_a_header_are_refused);
    tcase_add_test(t, what_is_no_regular_file_is_refused);
    tcase_add_test(t, every_cut_is_noticed);
    tcase_add_test(t, reads_are_bounded);
    tcase_add_test(t, every_type_round_trips);
    tcase_add_test(t, order_of_arrays_does_not_change_the_bytes);
    tcase_add_test(t, an_unfinished_file_never_appears);
    tcase_add_loop_test(t, shards_are_one_store, 0, COUNT(indices));
    suite_add_tcase(s, t);
    return s;
}
