/* SPDX-License-Identifier: Apache-2.0
 * Same inputs, same bytes: from run to run, and whatever lies in pads, gaps and outputs before. */
#include <stdio.h>

#include "explain_product.h"
#include "trial.h"

static void say(const trial *t, finding *f, const char *what)
{
    const slot *s = &t->job->out[t->differ_out];
    snprintf(f->tensor, sizeof f->tensor, "%s", s->role);
    snprintf(f->text, sizeof f->text, "%s: '%s' differs first at byte %zu", what, s->role, t->differ_at);
}

static judgement judge_repeatable(const trial *t, finding *f)
{
    if (t->n_runs < 2) return JUDGED_NOTHING;
    if (!t->repeats_differ) return JUDGED_PASSED;
    say(t, f, "equal runs give unequal bytes");
    snprintf(f->cause, sizeof f->cause, "nondeterministic: a race, or state kept from call to call");
    return JUDGED_FAILED;
}

static judgement judge_pads(const trial *t, finding *f)
{
    if (t->n_runs < 2) return JUDGED_NOTHING;
    if (!t->runs_differ || t->repeats_differ) return JUDGED_PASSED;
    say(t, f, "the output depends on bytes that are not input");
    snprintf(
        f->cause, sizeof f->cause,
        "reads padding, the gap between pitched rows, past an input's end, or its own output before writing");
    if (explain_is_stale_sum(t)) snprintf(f->cause, sizeof f->cause, "%s", explain_stale_sum);
    return JUDGED_FAILED;
}

const check check_repeatable = {"repeatable",    "equal runs give equal bytes", true, false, false,
                                judge_repeatable};
const check check_pads = {"pads",    "does not depend on pads, gaps or stale output", true, false, true,
                          judge_pads};
