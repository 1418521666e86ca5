/* SPDX-License-Identifier: Apache-2.0
 * A million random and adversarial dot products per model against every bound; prints what was counted. */
#include <math.h>
#include <stdio.h>

#include "bound_fuzz.h"
#include "suite.h"

START_TEST(a_million_products)
{
    enum { PARTS = 1000, EACH = 1000 };
    const mx_model *m = mx_model_at((size_t)_i);
    fuzz_counts all = {0};
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < PARTS; i++) {
        fuzz_counts c = fuzz_bounds(m, (uint64_t)i * EACH, EACH);
#pragma omp critical
        {
            all.products += c.products;
            all.certified += c.certified;
            all.one_sided += c.one_sided;
            all.running += c.running;
            all.largest = fmax(all.largest, c.largest);
            all.largest_running = fmax(all.largest_running, c.largest_running);
            if (*c.violation && !*all.violation) all = c;
        }
    }
    printf("%-20s %lld products: %lld certified exact, %lld one-sided, %lld running; largest share of the a "
           "priori "
           "bound %.2f, of the running bound %.2f\n",
           m->name, (long long)all.products, (long long)all.certified, (long long)all.one_sided,
           (long long)all.running, all.largest, all.largest_running);
    fflush(stdout);
    ck_assert_msg(!*all.violation, "%s", all.violation);
}
END_TEST

Suite *slow_bound(void)
{
    Suite *s = suite_create("bounds, a million products per model");
    TCase *t = tcase_create("proved");
    tcase_set_timeout(t, 1200);
    tcase_add_loop_test(t, a_million_products, 0, (int)mx_model_count());
    suite_add_tcase(s, t);
    return s;
}
