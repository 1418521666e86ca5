/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a safetensors file; what is accepted must be readable and tile the file. */
#include <stdlib.h>
#include <string.h>

#include "case_io.h"
#include "safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What the reader accepted is within the file: every byte of every array can be read. */
static void read_all(const mx_store *s)
{
    for (size_t i = 0; i < s->n_arrays; i++) {
        const mx_array *a = &s->arrays[i];
        void *bytes = malloc((size_t)a->bytes + 1);
        if (mx_store_read(s, a, 0, bytes, (size_t)a->bytes, NULL)) abort();
        if ((uint64_t)mx_array_count(a) * a->dtype.bytes != a->bytes) abort();
        if (mx_store_find(s, a->name) != a) abort();
        free(bytes);
    }
}

static void try(const uint8_t *data, size_t n)
{
    mx_input in;
    mx_store store = {0};
    mx_error e = {0};
    if (mx_input_memory("fuzz", data, n, &in, &e)) return;
    mx_status status = mx_safetensors_read(&in, &store, &e);
    if (!status) status = mx_store_sort(&store, &e);
    if (!status) {
        read_all(&store);
        mx_case_set *set = mx_cases_new();
        (void)mx_cases_add(set, &store, &e);
        mx_cases_free(set);
    } else if (!*e.message) {
        abort(); /* a refusal says why */
    }
    mx_store_close(&store);
}

/* Once as it is, and once with a header size that fits: the text up to the first zero byte. Most mutations
 * change the text's length, and would else end at the size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    try(data, n);
    if (n < 8) return 0;
    uint8_t *mended = malloc(n);
    memcpy(mended, data, n);
    size_t text = strnlen((const char *)data + 8, n - 8);
    for (int i = 0; i < 8; i++)
        mended[i] = (uint8_t)((uint64_t)text >> 8 * i);
    try(mended, n);
    free(mended);
    return 0;
}
