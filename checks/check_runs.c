/* SPDX-License-Identifier: Apache-2.0
 * Does the kernel come back, without a crash, a hang or an error of its own? */
#include <stdio.h>

#include "trial.h"

static const struct {
    judgement judged;
    const char *text;
} states[] = {
    [RUN_DONE] = {JUDGED_PASSED, ""},
    [RUN_REFUSED] = {JUDGED_NOT_RUN, "refused"},
    [RUN_FAILED] = {JUDGED_FAILED, "failed"},
    [RUN_CRASHED] = {JUDGED_FAILED, "crashed"},
    [RUN_TIMED_OUT] = {JUDGED_FAILED, "timed out"},
    [RUN_ABSENT] = {JUDGED_NOT_RUN, "no answer"},
};

static judgement judge(const trial *t, finding *f)
{
    for (int i = 0; i < t->n_runs; i++) {
        const outcome *o = &t->run[i];
        if (o->state == RUN_DONE) continue;
        snprintf(f->text, sizeof f->text, "%s%s%s%s%s%s", states[o->state].text, *o->message ? ": " : "",
                 o->message, *o->printed ? "; it printed: \"" : "", o->printed, *o->printed ? "\"" : "");
        return states[o->state].judged;
    }
    return JUDGED_PASSED;
}

const check check_runs = {"runs", "returns in time, without crash or error", false, false, false, judge};
