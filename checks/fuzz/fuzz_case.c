/* SPDX-License-Identifier: Apache-2.0
 * Any text as the JSON of a case; what is accepted must come back the same when written and read again. */
#include <stdlib.h>
#include <string.h>

#include "case_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void round_trip(const mx_case *c)
{
    mx_case again;
    json_t *o = mx_case_to_json(c);
    if (!o) abort();
    if (mx_case_from_json(o, c->id, "again", &again, NULL)) abort();
    json_t *twice = mx_case_to_json(&again);
    if (!json_equal(o, twice)) abort();
    json_decref(twice);
    json_decref(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const unsigned char bytes[64];
    mx_store store = {0};
    mx_input in;
    mx_error e = {0};
    size_t file;
    char *text = malloc(n + 1);
    memcpy(text, data, n);
    text[n] = 0;
    mx_array t = {.name = (char *)"t", .rank = 2, .shape = {2, 4}, .bytes = 8};
    mx_array five = {.name = (char *)"five", .rank = 5, .shape = {1, 1, 1, 1, 1}, .bytes = 1};
    if (!mx_dtype_find("u8", &t.dtype)) abort();
    five.dtype = t.dtype;
    mx_case_set *set = mx_cases_new();
    if (!mx_input_memory("fuzz", bytes, sizeof bytes, &in, &e) && !mx_store_adopt(&store, &in, &file, &e) &&
        !mx_store_add(&store, &t, &e) && !mx_store_add(&store, &five, &e) &&
        !mx_store_add_metadata(&store, "mxcheck", MX_CASE_SCHEMA, &e) &&
        !mx_store_add_metadata(&store, "case:a", text, &e) && !mx_store_sort(&store, &e) &&
        !mx_cases_add(set, &store, &e))
        round_trip(mx_cases_at(set, 0));
    else if (!*e.message)
        abort();
    mx_cases_free(set);
    mx_store_close(&store);
    free(text);
    return 0;
}
