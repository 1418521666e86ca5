/* SPDX-License-Identifier: Apache-2.0
 * Vector files and manifests: round trip, sharing, determinism, flags, and what strangers may try. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"
#include "file.h"
#include "flags.h"
#include "safetensors.h"
#include "scratch.h"
#include "suite.h"

static mx_tensor tensor(const char *role, const char *dtype, int64_t rows, int64_t cols, int fill)
{
    mx_tensor t;
    int64_t shape[2] = {rows, cols};
    ck_assert_int_eq(mx_tensor_make(&t, role, dtype, 2, shape, NULL), MX_OK);
    memset(t.data, fill, t.bytes);
    return t;
}

/* Two cases that share x; the second has every optional member. */
static void make_cases(mx_case c[2])
{
    c[0] = (mx_case){.id = "plain",
                     .operation = "quantize",
                     .recipe = "mxfp8-e4m3",
                     .flags = "tail,bug-B69",
                     .reason = "a \"quoted\" reason",
                     .verdict = MX_VERDICT_EXACT,
                     .n_in = 1,
                     .n_want = 2};
    c[0].in[0] = tensor("x", "bf16", 2, 33, 0x3F);
    c[0].want[0] = tensor("q", "e2m1", 2, 33, 5);
    c[0].want[1] = tensor("scale", "ue4m3", 2, 2, 0x38);
    c[1] = (mx_case){.id = "Full_1.2+a=b,c:d@e-f",
                     .operation = "gemm",
                     .flags = "padding",
                     .reason = "everything",
                     .generator = "mxcheck generate",
                     .seed = 0xFEDCBA9876543210u,
                     .verdict = MX_VERDICT_BOUND,
                     .model = "m",
                     .schedule = "chain",
                     .output = "f32",
                     .data_layout = "row-major",
                     .scale_layout = "tile-128x4",
                     .pitch = 33,
                     .cols = 31,
                     .misalign = 4,
                     .alpha = 0.1,
                     .beta = -0.5,
                     .n_in = 1};
    c[1].in[0] = tensor("x", "bf16", 2, 33, 0x3F);
}

static void free_cases(mx_case c[2])
{
    for (int i = 0; i < 2; i++) {
        for (int t = 0; t < c[i].n_in; t++)
            mx_tensor_free(&c[i].in[t]);
        for (int t = 0; t < c[i].n_want; t++)
            mx_tensor_free(&c[i].want[t]);
    }
}

static const mx_case *by_id(const mx_case_set *set, const char *id)
{
    for (size_t i = 0; i < mx_cases_count(set); i++)
        if (!strcmp(mx_cases_at(set, i)->id, id)) return mx_cases_at(set, i);
    ck_abort_msg("no case %s", id);
    return NULL;
}

static void check_same(const mx_case *got, const mx_case *want)
{
    ck_assert_str_eq(got->operation, want->operation);
    ck_assert_str_eq(got->recipe, want->recipe);
    ck_assert_str_eq(got->flags, want->flags);
    ck_assert_str_eq(got->reason, want->reason);
    ck_assert_str_eq(got->generator, want->generator);
    ck_assert_str_eq(got->model, want->model);
    ck_assert_str_eq(got->schedule, want->schedule);
    ck_assert_str_eq(got->output, want->output);
    ck_assert_str_eq(got->data_layout, want->data_layout);
    ck_assert_str_eq(got->scale_layout, want->scale_layout);
    ck_assert(got->seed == want->seed && got->verdict == want->verdict && got->pitch == want->pitch &&
              got->cols == want->cols);
    ck_assert(got->misalign == want->misalign && got->n_in == want->n_in && got->n_want == want->n_want);
    ck_assert_str_eq(got->make_digest, want->make_digest);
    for (int i = 0; i < want->n_want; i++) {
        const mx_tensor *a = mx_case_want(got, want->want[i].name), *b = &want->want[i];
        ck_assert_ptr_nonnull(a);
        ck_assert_str_eq(a->dtype, b->dtype);
        ck_assert_uint_eq(a->bytes, b->bytes);
        ck_assert_mem_eq(a->data, b->data, b->bytes);
    }
}

START_TEST(cases_round_trip)
{
    mx_case c[2];
    mx_error e = {0};
    mx_case_set *set;
    make_cases(c);
    const char *path = scratch_path("v.safetensors");
    ck_assert_msg(!mx_cases_write(path, c, 2, &e), "%s: %s", e.place, e.message);
    ck_assert_msg(!mx_cases_load(path, &set, &e), "%s: %s", e.place, e.message);
    ck_assert_uint_eq(mx_cases_count(set), 2);
    const mx_case *plain = by_id(set, c[0].id), *full = by_id(set, c[1].id);
    check_same(plain, &c[0]);
    check_same(full, &c[1]);
    ck_assert(full->alpha == 0.1 && full->beta == -0.5 && plain->alpha == 1 && plain->beta == 0);
    ck_assert_ptr_eq(mx_case_in(plain, "x")->data, mx_case_in(full, "x")->data); /* stored once */
    ck_assert_str_eq(mx_case_in(full, "x")->stored, "plain/x");
    ck_assert_ptr_null(mx_case_in(plain, "y"));
    mx_cases_free(set);
    free_cases(c);
}
END_TEST

START_TEST(made_inputs_round_trip)
{
    mx_case c = {.id = "large",
                 .operation = "quantize",
                 .flags = "realistic-normal",
                 .reason = "r",
                 .generator = "normal",
                 .make_rows = 131072,
                 .make_cols = 7168,
                 .make_dtype = "bf16"};
    mx_case_set *set;
    mx_error e = {0};
    mx_sha256("", 0, c.make_digest);
    const char *path = scratch_path("made.safetensors");
    ck_assert_msg(!mx_cases_write(path, &c, 1, &e), "%s: %s", e.place, e.message);
    ck_assert_msg(!mx_cases_load(path, &set, &e), "%s: %s", e.place, e.message);
    check_same(mx_cases_at(set, 0), &c);
    ck_assert_int_eq(mx_cases_at(set, 0)->make_rows, 131072);
    /* FIPS 180-4: SHA-256 of nothing */
    ck_assert_str_eq(c.make_digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    mx_cases_free(set);
}
END_TEST

START_TEST(bad_cases_are_not_written)
{
    mx_case c[2];
    mx_error e = {0};
    make_cases(c);
    snprintf(c[1].id, sizeof c[1].id, "plain");
    ck_assert_int_eq(mx_cases_write(scratch_path("bad"), c, 2, &e), MX_BAD_USAGE);
    ck_assert_ptr_nonnull(strstr(e.message, "id occurs twice"));
    snprintf(c[1].id, sizeof c[1].id, "../climb");
    ck_assert_int_eq(mx_cases_write(scratch_path("bad"), c, 2, &e), MX_BAD_USAGE);
    snprintf(c[1].id, sizeof c[1].id, "good");
    snprintf(c[1].flags, sizeof c[1].flags, "padding,no-such-flag");
    ck_assert_int_eq(mx_cases_write(scratch_path("bad"), c, 2, &e), MX_BAD_USAGE);
    ck_assert_ptr_nonnull(strstr(e.message, "no-such-flag"));
    snprintf(c[1].flags, sizeof c[1].flags, "padding");
    snprintf(c[0].in[0].stored, sizeof c[0].in[0].stored, "shared");
    snprintf(c[0].want[0].stored, sizeof c[0].want[0].stored, "shared");
    ck_assert_int_eq(mx_cases_write(scratch_path("bad"), c, 2, &e), MX_BAD_USAGE);
    ck_assert_ptr_nonnull(strstr(e.message, "already stored as 'shared'"));
    ck_assert_int_ne(access(scratch_path("bad"), F_OK), 0);
    free_cases(c);
}
END_TEST

/* ---- case files of strangers -----------------------------------------------------------------------------
 */

#define CASE(members)                                                                                        \
    "{\"operation\":\"cast\",\"reason\":\"r\",\"flags\":[],\"verdict\":\"exact\"" members "}"

static const struct {
    const char *name, *id, *json, *message; /* NULL: good */
} strangers[] = {
    {"least", "a", CASE(""), NULL},
    {"unknown member", "a", CASE(",\"colour\":\"red\""), NULL},
    {"tensors", "a", CASE(",\"in\":{\"x\":\"t\"},\"want\":{\"q\":\"t\"}"), NULL},
    {"no JSON", "a", "{", "JSON"},
    {"member twice", "a", "{\"operation\":\"a\",\"operation\":\"b\"}", "duplicate"},
    {"operation missing", "a", "{}", "'operation' is missing"},
    {"operation no text", "a", "{\"operation\":1}", "'operation' is no text"},
    {"operation too long", "a", "{\"operation\":\"aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\"}",
     "longer than 31"},
    {"id climbs out", "../a", CASE(""), "no case id"},
    {"id empty", "", CASE(""), "no case id"},
    {"id an option", "-rf", CASE(""), "no case id"},
    {"id with a space", "a b", CASE(""), "no case id"},
    {"verdict unknown", "a", "{\"operation\":\"a\",\"reason\":\"r\",\"flags\":[],\"verdict\":\"maybe\"}",
     "none of exact"},
    {"flags missing", "a", "{\"operation\":\"a\",\"reason\":\"r\",\"verdict\":\"exact\"}",
     "'flags' is missing"},
    {"flag no text", "a", "{\"operation\":\"a\",\"reason\":\"r\",\"flags\":[1],\"verdict\":\"exact\"}",
     "no flag"},
    {"seed no number", "a", CASE(",\"seed\":\"0xyz\""), "no 64-bit hexadecimal"},
    {"seed too large", "a", CASE(",\"seed\":\"0x10000000000000000\""), "no 64-bit hexadecimal"},
    {"pitch negative", "a", CASE(",\"pitch\":-1"), "'pitch' is -1"},
    {"pitch huge", "a", CASE(",\"pitch\":9223372036854775807"), "'pitch' is"},
    {"pitch unlike the rows", "a", CASE(",\"pitch\":5,\"in\":{\"x\":\"t\"}"), "not the stored length"},
    {"cols beyond the pitch", "a", CASE(",\"pitch\":4,\"cols\":5,\"in\":{\"x\":\"t\"}"), "'cols' is 5"},
    {"cols without pitch", "a", CASE(",\"cols\":5"), "'cols' is 5"},
    {"misalign huge", "a", CASE(",\"misalign\":4096"), "'misalign' is 4096"},
    {"alpha no number", "a", CASE(",\"alpha\":\"1\""), "'alpha' is no number"},
    {"alpha overflows", "a", CASE(",\"alpha\":1e999"), "overflow"},
    {"tensor absent", "a", CASE(",\"in\":{\"x\":\"u\"}"), "tensor 'u' for 'x' is not in the file"},
    {"tensor no text", "a", CASE(",\"in\":{\"x\":1}"), "is not in the file"},
    {"tensors no object", "a", CASE(",\"in\":[\"t\"]"), "no object"},
    {"role climbs out", "a", CASE(",\"in\":{\"../x\":\"t\"}"), "no role"},
    {"too many tensors", "a",
     CASE(",\"in\":{\"a\":\"t\",\"b\":\"t\",\"c\":\"t\",\"d\":\"t\",\"e\":\"t\",\"f\":\"t\",\"g\":\"t\","
          "\"h\":\"t\","
          "\"i\":\"t\",\"j\":\"t\",\"k\":\"t\",\"l\":\"t\",\"m\":\"t\"}"),
     "more than 12 tensors"},
    {"five axes", "a", CASE(",\"in\":{\"x\":\"five\"}"), "5 axes"},
    {"make too large", "a",
     CASE(",\"make\":{\"rows\":4294967296,\"cols\":4294967296,\"dtype\":\"f32\",\"digest\":\"\"}"), "2^36"},
    {"make of unknown type", "a", CASE(",\"make\":{\"rows\":1,\"cols\":1,\"dtype\":\"f7\",\"digest\":\"\"}"),
     "unknown type 'f7'"},
    {"make without digest", "a",
     CASE(",\"make\":{\"rows\":1,\"cols\":1,\"dtype\":\"f32\",\"digest\":\"12\"}"), "no SHA-256"},
};

START_TEST(case_of_a_stranger_is_judged)
{
    char key[64];
    snprintf(key, sizeof key, "case:%s", strangers[_i].id);
    mx_pair metadata[] = {{(char *)"mxcheck", (char *)"1"}, {key, (char *)strangers[_i].json}};
    mx_array arrays[] = {{.name = (char *)"t", .rank = 1, .shape = {4}},
                         {.name = (char *)"five", .rank = 5, .shape = {1, 1, 1, 1, 1}}};
    for (int i = 0; i < 2; i++)
        ck_assert(mx_dtype_find("u8", &arrays[i].dtype));
    mx_writer w;
    mx_error e = {0};
    mx_case_set *set;
    char text[600];
    const char *path = scratch_path("stranger.safetensors");
    ck_assert_int_eq(mx_safetensors_create(path, arrays, 2, metadata, 2, &w, &e), MX_OK);
    ck_assert_int_eq(mx_writer_put(&w, "t", 0, "abcd", 4, &e), MX_OK);
    ck_assert_int_eq(mx_writer_put(&w, "five", 0, "a", 1, &e), MX_OK);
    ck_assert_int_eq(mx_writer_finish(&w, &e), MX_OK);
    mx_status status = mx_cases_load(path, &set, &e);
    snprintf(text, sizeof text, "%s: %s", e.place, e.message);
    ck_assert_msg((status == MX_OK) == !strangers[_i].message, "%s: %s", strangers[_i].name, text);
    if (status)
        ck_assert_msg(strstr(text, strangers[_i].message), "%s: said '%s'", strangers[_i].name, text);
    else
        mx_cases_free(set);
}
END_TEST

START_TEST(sparse_giant_is_refused)
{
    mx_case_set *set;
    mx_error e = {0};
    const char *path = scratch_write("giant.safetensors", "", 0);
    ck_assert_int_eq(truncate(path, ((off_t)4 << 30) + 1), 0);
    ck_assert_int_eq(mx_cases_load(path, &set, &e), MX_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(e.message, "4 GiB"));
}
END_TEST

/* ---- manifests --------------------------------------------------------------------------------------- */

/* In each text, @ stands for the right digest and # for the right size of good.safetensors. */
static const struct {
    const char *name, *json, *message;
} manifests[] = {
    {"good",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":#,"
     "\"cases\":[\"Full_1.2+a=b,c:d@e-f\",\"plain\"]}]}",
     NULL},
    {"no files", "{\"mxcheck\":\"1\",\"files\":[]}", NULL},
    {"schema", "{\"mxcheck\":\"2\",\"files\":[]}", "schema '2'"},
    {"no schema", "{\"files\":[]}", "'mxcheck' is missing"},
    {"files missing", "{\"mxcheck\":\"1\"}", "'files' is missing"},
    {"no JSON", "files", "JSON"},
    {"wrong digest",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":"
     "\"0000000000000000000000000000000000000000000000000000000000000000\",\"bytes\":#,\"cases\":[]}]}",
     "SHA-256 is"},
    {"digest no digest",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"00\",\"bytes\":#,\"cases\":[]"
     "}]}",
     "no SHA-256"},
    {"wrong size",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":1,\"cases\":[]}"
     "]}",
     "the manifest says 1"},
    {"cases missing",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":#}]}",
     "no list of cases"},
    {"a case too few",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":#,"
     "\"cases\":[\"plain\"]}]}",
     "holds 2 cases, the manifest lists 1"},
    {"another case",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":#,"
     "\"cases\":[\"Full_1.2+a=b,c:d@e-f\",\"other\"]}]}",
     "case 'plain' is 'other'"},
    {"path climbs out",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"../"
     "good.safetensors\",\"sha256\":\"@\",\"bytes\":#,\"cases\":[]}]}",
     "no plain file name"},
    {"path absolute",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"/etc/passwd\",\"sha256\":\"@\",\"bytes\":#,\"cases\":[]}]}",
     "no plain file name"},
    {"symbolic link",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"link.safetensors\",\"sha256\":\"@\",\"bytes\":#,\"cases\":[]}"
     "]}",
     "symbolic link"},
    {"folder",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"folder\",\"sha256\":\"@\",\"bytes\":#,\"cases\":[]}]}",
     "no regular file"},
    {"file absent",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"none\",\"sha256\":\"@\",\"bytes\":#,\"cases\":[]}]}",
     "No such file"},
    {"file twice",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":#,"
     "\"cases\":[\"Full_1.2+a=b,c:d@e-f\",\"plain\"]},"
     "{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":#,\"cases\":[]}]}",
     "occurs twice"},
    {"case in two files",
     "{\"mxcheck\":\"1\",\"files\":[{\"name\":\"good.safetensors\",\"sha256\":\"@\",\"bytes\":#,"
     "\"cases\":[\"Full_1.2+a=b,c:d@e-f\",\"plain\"]},"
     "{\"name\":\"copy.safetensors\",\"sha256\":\"@\",\"bytes\":#,\"cases\":[]}]}",
     "id occurs twice"},
};

static void write_good(char digest[MX_SHA256_TEXT], uint64_t *bytes)
{
    mx_case c[2];
    mx_input in;
    make_cases(c);
    ck_assert_int_eq(mx_cases_write(scratch_path("good.safetensors"), c, 2, NULL), MX_OK);
    ck_assert_int_eq(mx_cases_write(scratch_path("copy.safetensors"), c, 2, NULL), MX_OK);
    free_cases(c);
    ck_assert_int_eq(mx_input_open(scratch_path("good.safetensors"), true, &in, NULL), MX_OK);
    ck_assert_int_eq(mx_sha256_input(&in, digest, NULL), MX_OK);
    *bytes = in.size;
    mx_input_close(&in);
}

START_TEST(manifest_is_judged)
{
    char digest[MX_SHA256_TEXT], json[2000] = "", said[600];
    uint64_t bytes;
    write_good(digest, &bytes);
    (void)!symlink("good.safetensors", scratch_path("link.safetensors"));
    (void)!mkdir(scratch_path("folder"), 0700);
    for (const char *c = manifests[_i].json; *c; c++) {
        size_t at = strlen(json);
        /* '@' also occurs in an id: only a quoted one is the digest */
        if (*c == '@' && c[-1] == '"')
            snprintf(json + at, sizeof json - at, "%s", digest);
        else if (*c == '#')
            snprintf(json + at, sizeof json - at, "%lu", (unsigned long)bytes);
        else
            snprintf(json + at, sizeof json - at, "%c", *c);
    }
    scratch_write("manifest.json", json, strlen(json));
    mx_case_set *set;
    mx_error e = {0};
    mx_status status = mx_cases_load(scratch_path("."), &set, &e);
    snprintf(said, sizeof said, "%s: %s", e.place, e.message);
    ck_assert_msg((status == MX_OK) == !manifests[_i].message, "%s: %s", manifests[_i].name, said);
    if (status)
        ck_assert_msg(strstr(said, manifests[_i].message), "%s: said '%s'", manifests[_i].name, said);
    else
        mx_cases_free(set);
}
END_TEST

START_TEST(written_manifest_is_read_and_deterministic)
{
    char digest[MX_SHA256_TEXT], *one, *two;
    uint64_t bytes;
    size_t n, m;
    mx_case_set *set;
    mx_input in;
    mx_error e = {0};
    const char *const files[] = {"good.safetensors"};
    for (int round = 0; round < 2; round++) {
        write_good(digest, &bytes);
        ck_assert_msg(!mx_manifest_write(scratch_path(""), files, 1, &e), "%s", e.message);
        ck_assert_msg(!mx_cases_load(scratch_path(""), &set, &e), "%s: %s", e.place, e.message);
        ck_assert_uint_eq(mx_cases_count(set), 2);
        mx_cases_free(set);
        ck_assert_int_eq(mx_input_open(scratch_path("manifest.json"), true, &in, &e), MX_OK);
        ck_assert_int_eq(mx_input_all(&in, 4096, round ? &two : &one, round ? &m : &n, &e), MX_OK);
        mx_input_close(&in);
    }
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(one, two, n);
    free(one);
    free(two);
    const char *const climbing[] = {"../x"};
    ck_assert_int_eq(mx_manifest_write(scratch_path(""), climbing, 1, &e), MX_BAD_USAGE);
}
END_TEST

START_TEST(flags_are_complete_and_distinct)
{
    for (size_t i = 0; i < mx_flag_count(); i++) {
        const mx_flag *f = mx_flag_row(i);
        ck_assert_msg(*f->kind && *f->effect && *f->source, "%s", f->name);
        ck_assert_ptr_eq(mx_flag_find(f->name), f); /* no earlier row of that name */
        ck_assert_ptr_eq(mx_flag_text(f->name), f->effect);
        ck_assert_ptr_eq(mx_flag_at(i), f->name);
        if (!strncmp(f->name, "bug-", 4))
            ck_assert_msg(strchr(f->source, '/') && strchr(f->source, '#'), "%s", f->name);
    }
    ck_assert_uint_eq(mx_bug_flag_count, 74);
    ck_assert_ptr_null(mx_flag_text("no-such-flag"));
    ck_assert_ptr_null(mx_flag_at(mx_flag_count()));
}
END_TEST

#define COUNT(table) (int)(sizeof table / sizeof *table)

Suite *test_cases(void)
{
    Suite *s = suite_create("cases");
    TCase *t = tcase_create("cases");
    tcase_add_unchecked_fixture(t, scratch_make, scratch_remove);
    tcase_add_test(t, cases_round_trip);
    tcase_add_test(t, made_inputs_round_trip);
    tcase_add_test(t, bad_cases_are_not_written);
    tcase_add_loop_test(t, case_of_a_stranger_is_judged, 0, COUNT(strangers));
    tcase_add_test(t, sparse_giant_is_refused);
    tcase_add_loop_test(t, manifest_is_judged, 0, COUNT(manifests));
    tcase_add_test(t, written_manifest_is_read_and_deterministic);
    tcase_add_test(t, flags_are_complete_and_distinct);
    suite_add_tcase(s, t);
    return s;
}
