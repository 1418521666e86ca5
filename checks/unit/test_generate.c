/* SPDX-License-Identifier: Apache-2.0
 * Making the vectors: reasons and flags are there, ids are unique, and a wrong right-bits row is noticed. */
#include <string.h>

#include "generate.h"
#include "product.h"
#include "suite.h"

START_TEST(every_case_says_why_it_exists)
{
    mx_error e = {MX_OK, "", ""};
    for (size_t k = 0; k < gen_file_count; k++) {
        gen g;
        gen_init(&g, &e);
        gen_files[k].make(&g);
        ck_assert_msg(g.status == MX_OK, "%s: %s: %s", gen_files[k].name, e.place, e.message);
        ck_assert_uint_gt(g.n, 0);
        for (size_t i = 0; i < g.n; i++) {
            const mx_case *c = &g.cases[i];
            /* What a product gives depends on the model that a kernel claims: nothing is stored. */
            bool answered = (c->n_want > 0 || *c->make_digest) || product_is(c->operation);
            ck_assert_msg(*c->flags && *c->reason && answered, "%s", c->id);
            char flags[sizeof c->flags], *rest = flags;
            strcpy(flags, c->flags);
            for (char *flag; (flag = strsep(&rest, ","));)
                ck_assert_msg(mx_flag_text(flag), "%s: %s", c->id, flag);
            for (size_t j = 0; j < i; j++)
                ck_assert_str_ne(c->id, g.cases[j].id);
        }
        gen_free(&g);
    }
}
END_TEST

Suite *test_generate(void)
{
    Suite *s = suite_create("generate");
    TCase *t = tcase_create("cases");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_case_says_why_it_exists);
    suite_add_tcase(s, t);
    return s;
}
