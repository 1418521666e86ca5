/* SPDX-License-Identifier: Apache-2.0
 * Round-up scales as integer arithmetic, sampled: every 1009th amax, and 64 ulps on both sides of each
 * threshold. slow_scale_rule.c tries them all. */
#include "fact_a.h"
#include "suite.h"

static void check(const fact_a *f, tally t)
{
    ck_assert_msg(!t.wrong && !t.up_wrong && !t.flush_wrong && !t.mul_div_apart, "%s: %d %d %d %d",
                  f->element, (int)t.wrong, (int)t.up_wrong, (int)t.flush_wrong, (int)t.mul_div_apart);
}

START_TEST(sampled)
{
    const fact_a *f = &facts_a[_i];
    check(f, fact_a_try(f, 0, 1009, UINT64_MAX));
    check(f, fact_a_try(f, 0x00000000, 1, 0x200)); /* U begins at E1 */
    for (uint32_t e = 0; e < 255; e++) {
        check(f, fact_a_try(f, (e << 23) + f->limit - 64, 1, 128));
        if (e) check(f, fact_a_try(f, (e << 23) - 64, 1, 128));
    }
    tally t = fact_a_try(f, f->exception - 1, 1, 3);
    check(f, t);
    ck_assert_uint_eq(t.exceptions, 1);
}
END_TEST

Suite *test_scale_rule(void)
{
    Suite *s = suite_create("scale rule");
    TCase *t = tcase_create("sampled");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, sampled, 0, facts_a_count);
    suite_add_tcase(s, t);
    return s;
}
