/* SPDX-License-Identifier: Apache-2.0 */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate.h"

static const mx_tensor *named(const mx_tensor *tensors, int n, const char *role)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(tensors[i].name, role)) return &tensors[i];
    return NULL;
}

void answers_take(outcome *o, const job *j, const mx_tensor *tensors, int n)
{
    *o = (outcome){.state = RUN_DONE};
    for (int i = 0; i < j->n_out; i++) {
        const slot *s = &j->out[i];
        const mx_tensor *t = named(tensors, n, s->role);
        if (!t || t->bytes != s->bytes) {
            o->state = RUN_FAILED;
            if (t)
                snprintf(o->message, sizeof o->message, "answered '%s' with %zu bytes instead of %zu",
                         s->role, t->bytes, s->bytes);
            else
                snprintf(o->message, sizeof o->message, "answered without a tensor '%s'", s->role);
            return;
        }
        o->out[i] = malloc(s->bytes + 1);
        if (o->out[i]) memcpy(o->out[i], t->data, s->bytes);
        if (!o->out[i]) o->state = RUN_FAILED;
    }
}

/* ---- the emulator as a subject ------------------------------------------------------------------------ */

static void run_emulator(subject *s, const job *j, const variant *v, outcome *o)
{
    (void)s;
    (void)v;
    mx_tensor out[MX_MAX_TENSORS];
    int n = 0;
    mx_error e = {0};
    mx_status status = emulate_case(j->c, out, &n, &e);
    if (status == MX_OK)
        answers_take(o, j, out, n);
    else {
        *o = (outcome){.state = status == MX_UNSUPPORTED ? RUN_ABSENT : RUN_FAILED};
        snprintf(o->message, sizeof o->message, "%s", e.message);
    }
    for (int i = 0; status == MX_OK && i < n; i++)
        mx_tensor_free(&out[i]);
}

void subject_open_emulator(subject *s, const mx_case *const *cases, size_t n)
{
    *s = (subject){.name = "emulator", .run = run_emulator, .batch = true};
    snprintf(s->version, sizeof s->version, "%s", MX_VERSION);
    subject_offer_all(s, cases, n);
}

/* ---- recordings -----------------------------------------------------------------------------------------
 */

static void run_seen(subject *s, const job *j, const variant *v, outcome *o)
{
    (void)v;
    const mx_case_set *set = s->impl;
    for (size_t i = 0; i < mx_cases_count(set); i++) {
        const mx_case *c = mx_cases_at(set, i);
        if (strcmp(c->id, j->c->id)) continue;
        answers_take(o, j, c->want, c->n_want);
        return;
    }
    *o = (outcome){.state = RUN_ABSENT};
    snprintf(o->message, sizeof o->message, "the recording has no answer to this case");
}

static void close_seen(subject *s) { mx_cases_free(s->impl); }

void subject_open_seen(subject *s, const char *directory, const mx_case *const *cases, size_t n)
{
    *s = (subject){.run = run_seen, .batch = true};
    snprintf(s->name, sizeof s->name, "recording %.80s", directory);
    mx_error e = {0};
    mx_case_set *set = NULL;
    s->status = (int)mx_cases_load(directory, &set, &e);
    if (s->status != MX_OK) {
        snprintf(s->cannot, sizeof s->cannot, "%.140s: %.240s", e.place, e.message);
        return;
    }
    s->impl = set;
    s->close = close_seen;
    subject_offer_all(s, cases, n);
}
