/* SPDX-License-Identifier: Apache-2.0
 * Every fp32 input: 2^32 casts to each element format, fast against scalar, on every instruction set. */
#include <omp.h>

#include "fast_checks.h"
#include "suite.h"

enum { RUN = 1 << 16 };

/* Runs of consecutive bit patterns: magnitudes ascend within each. */
START_TEST(all_fp32_inputs)
{
    const mx_format *element = mx_format_find(fast_elements[_i]), *f32 = mx_format_find("f32");
#pragma omp parallel for schedule(dynamic, 64)
    for (uint32_t run = 0; run < RUN; run++) {
        uint32_t x[RUN];
        for (uint32_t i = 0; i < RUN; i++)
            x[i] = run << 16 | i;
        fast_check_cast(element, f32, x, RUN);
    }
}
END_TEST

Suite *slow_fast(void)
{
    Suite *s = suite_create("fast, exhaustive");
    TCase *t = tcase_create("fp32");
    tcase_set_timeout(t, 3600);
    tcase_add_loop_test(t, all_fp32_inputs, 0, 5);
    suite_add_tcase(s, t);
    return s;
}
