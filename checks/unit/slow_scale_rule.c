/* SPDX-License-Identifier: Apache-2.0
 * Round-up scales as integer arithmetic, over all 2,139,095,040 finite amax of each element format. */
#include <stdio.h>

#include "fact_a.h"
#include "suite.h"

START_TEST(every_finite_amax)
{
    const fact_a *f = &facts_a[_i];
    uint64_t tried = 0, wrong = 0, exceptions = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : tried, wrong, exceptions)
    for (uint32_t block = 0; block < 0xFF0; block++) {
        tally t = fact_a_try(f, block << 19, 1, 1 << 19);
        tried += t.tried;
        exceptions += t.exceptions;
        wrong += t.wrong + t.up_wrong + t.flush_wrong + t.mul_div_apart;
    }
    printf("%s: %llu amax, %llu exception, %llu wrong\n", f->element, (unsigned long long)tried,
           (unsigned long long)exceptions, (unsigned long long)wrong);
    ck_assert_uint_eq(tried, 0x7F800000);
    ck_assert_uint_eq(exceptions, 1);
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

Suite *slow_scale_rule(void)
{
    Suite *s = suite_create("scale rule, whole");
    TCase *t = tcase_create("exhaustive");
    tcase_set_timeout(t, 0);
    tcase_add_loop_test(t, every_finite_amax, 0, facts_a_count);
    suite_add_tcase(s, t);
    return s;
}
