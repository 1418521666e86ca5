/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a .npy file; what is accepted must be readable to its end. */
#include <stdlib.h>

#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    mx_input in;
    mx_store store = {0};
    mx_error e = {0};
    if (mx_input_memory("fuzz", data, n, &in, &e)) return 0;
    if (!mx_npy_read(&in, &store, &e)) {
        const mx_array *a = &store.arrays[0];
        void *bytes = malloc((size_t)a->bytes + 1);
        if (a->begin + a->bytes != n || mx_store_read(&store, a, 0, bytes, (size_t)a->bytes, NULL)) abort();
        free(bytes);
    } else if (!*e.message) {
        abort();
    }
    mx_store_close(&store);
    return 0;
}
