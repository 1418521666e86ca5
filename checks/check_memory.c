/* SPDX-License-Identifier: Apache-2.0
 * What the kernel does to memory: stray writes, changed inputs, outputs left unwritten, processes left. */
#include <stdio.h>
#include <string.h>

#include "explain_product.h"
#include "trial.h"

static judgement judge_processes(const trial *t, finding *f)
{
    for (int i = 0; i < t->n_runs; i++)
        if (t->run[i].left_processes) {
            snprintf(f->text, sizeof f->text, "left a child process running: killed with its group");
            return JUDGED_FAILED;
        }
    return JUDGED_PASSED;
}

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static void place_in_words(const stray *s, const slot *t, char *text, size_t size)
{
    long long bytes = s->at < 0 ? -s->at : s->at >= (int64_t)t->bytes ? s->at - (int64_t)t->bytes + 1 : s->at;
    if (s->at < 0)
        snprintf(text, size, "%lld byte%s before its start", bytes, plural(bytes));
    else if (s->at >= (int64_t)t->bytes)
        snprintf(text, size, "%lld byte%s past its end", bytes, plural(bytes));
    else
        snprintf(text, size, "%sat byte %lld", s->in_input ? "" : "in the gap between rows, ", bytes);
}

static judgement judge_strays(const trial *t, finding *f, bool inside)
{
    for (int i = 0; i < t->n_runs; i++)
        for (int k = 0; k < t->run[i].n_strays; k++) {
            const stray *s = &t->run[i].strays[k];
            if (s->in_input != inside) continue;
            const slot *tensor = s->is_input ? &t->job->in[s->slot] : &t->job->out[s->slot];
            char where[80];
            place_in_words(s, tensor, where, sizeof where);
            snprintf(f->tensor, sizeof f->tensor, "%s", tensor->role);
            f->wrong = (int64_t)s->count;
            snprintf(f->text, sizeof f->text, "%s '%s', %s: %02X became %02X; %zu byte%s changed",
                     inside ? "changed its input" : "wrote outside", tensor->role, where, s->before, s->after,
                     s->count, plural((int64_t)s->count));
            return JUDGED_FAILED;
        }
    return JUDGED_PASSED;
}

static judgement judge_guards(const trial *t, finding *f) { return judge_strays(t, f, false); }
static judgement judge_inputs(const trial *t, finding *f) { return judge_strays(t, f, true); }

/* ---- unwritten output ------------------------------------------------------------------------------- */

/* A byte that holds the poison of each run was not written. */
static bool still_poisoned(const trial *t, int out, size_t byte)
{
    for (int i = 0; i < t->n_runs; i++)
        if (t->run[i].out[out][byte] != variants[i % 3].poison) return false;
    return true;
}

/* Must the kernel write this byte? Not where the layout leaves padding open. */
static bool must_write(const slot *s, size_t byte)
{
    if (!s->layout || s->layout->pad >= 0) return true;
    int64_t r, c;
    if (s->layout->unit_bits != 4)
        return s->layout->inverse(&s->grid, (int64_t)byte / (s->layout->unit_bits / 8), &r, &c);
    return s->layout->inverse(&s->grid, 2 * (int64_t)byte, &r, &c) ||
           s->layout->inverse(&s->grid, 2 * (int64_t)byte + 1, &r, &c);
}

static bool is_padding(const slot *s, size_t byte)
{
    int64_t r, c,
        unit = s->layout
                   ? s->layout->unit_bits == 4 ? 2 * (int64_t)byte : (int64_t)byte * 8 / s->layout->unit_bits
                   : 0;
    return s->layout && !s->layout->inverse(&s->grid, unit, &r, &c);
}

/* A small case may fit several; the result chooses by all cases. */
static void add_cause(finding *f, const char *text)
{
    snprintf(f->causes.text[f->causes.n++], sizeof f->causes.text[0], "%s", text);
}

static judgement judge_written(const trial *t, finding *f)
{
    if (t->n_runs < 2) return JUDGED_NOTHING; /* one run cannot tell poison from an answer */
    for (int i = 0; i < t->job->n_out; i++) {
        const slot *s = &t->job->out[i];
        size_t count = 0, first = 0, last = 0, pads = 0;
        const unsigned char *start = t->run[0].out[i], *p = start, *end = start + s->bytes;
        /* Only bytes that hold the first run's poison can be unwritten. */
        for (; p < end && (p = memchr(p, variants[0].poison, (size_t)(end - p))); p++) {
            size_t b = (size_t)(p - start);
            if (!still_poisoned(t, i, b) || !must_write(s, b)) continue;
            if (!count++) first = b;
            last = b;
            pads += is_padding(s, b);
        }
        if (!count) continue;
        f->wrong = (int64_t)count;
        f->total = (int64_t)s->bytes;
        snprintf(f->tensor, sizeof f->tensor, "%s", s->role);
        snprintf(f->text, sizeof f->text, "left %zu of %zu bytes of '%s' unwritten, bytes %zu to %zu", count,
                 s->bytes, s->role, first, last);
        bool at_end = last + 1 == s->bytes;
        if (count == s->bytes) add_cause(f, "the output was never written");
        if (pads == count) add_cause(f, "stale padding: the layout's padding is not written");
        if (at_end) add_cause(f, "untouched tail: the end of the tensor is not written");
        if (explain_is_stale_sum(t)) add_cause(f, explain_stale_sum);
        if (!f->causes.n) add_cause(f, "part of the output is not written");
        return JUDGED_FAILED;
    }
    return JUDGED_PASSED;
}

const check check_processes = {"processes", "leaves no process behind", false, false, true, judge_processes};
const check check_guards = {"guards", "writes nothing outside its outputs", false, false, true, judge_guards};
const check check_inputs = {"inputs", "leaves its inputs as they were", false, false, true, judge_inputs};
const check check_written = {"written", "writes every byte of its outputs", true, false, true, judge_written};
