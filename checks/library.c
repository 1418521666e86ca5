/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel in a shared library as a subject: tensors are placed in the arena with guard zones around
 * them, the worker runs the operation, and every byte that is not an output is compared afterwards. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "child.h"

const variant variants[3] = {{0xA5, 0x00, 0}, {0xFF, 0xFF, 1}, {0x00, 0x7F, 2}};

/* After so many hangs or crashes in a row without one answer the operation is given up: each hang takes the
 * time limit, each crash a process and perhaps a device context. */
enum { HANGS = 3, CRASHES = 40 };

typedef struct library {
    child child;
    int hangs[SUBJECT_MAX_OPS], crashes[SUBJECT_MAX_OPS]; /* in a row, per operation */
    char path[4096];
} library;

void outcome_free(outcome *o, const job *j)
{
    for (int i = 0; i < j->n_out; i++)
        free(o->out[i]);
    *o = (outcome){0};
}

static uint64_t up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

/* Data ends as close to the guard page as the alignment allows: reading or writing past the end is the
 * common fault. Before it at least 256 bytes of pad. */
static uint64_t place(wire_tensor *t, const slot *s, uint64_t at)
{
    snprintf(t->role, sizeof t->role, "%s", s->role);
    snprintf(t->dtype, sizeof t->dtype, "%s", s->dtype);
    t->rank = s->rank;
    memcpy(t->shape, s->shape, sizeof t->shape);
    t->pitch = s->pitch;
    t->bytes = s->bytes;
    t->guard = at;
    uint64_t body = up(s->bytes + (uint64_t)s->misalign, WIRE_ALIGNMENT);
    uint64_t region = up(body + WIRE_ALIGNMENT, WIRE_PAGE);
    t->end = at + WIRE_PAGE + region;
    t->data = t->end - body + (uint64_t)s->misalign;
    return t->end;
}

static void fill(unsigned char *arena, const wire_tensor *t, const slot *s, bool input, const variant *v)
{
    memset(arena + t->guard, v->pad, t->end + WIRE_PAGE - t->guard);
    unsigned char *p = arena + t->data;
    if (!input)
        memset(p, v->poison, t->bytes);
    else
        for (size_t r = 0; r < s->rows; r++)
            memcpy(p + r * s->pitch_bytes, s->data + r * s->row_bytes, s->row_bytes);
}

static bool all_bytes(const unsigned char *p, size_t n, unsigned char value)
{
    return !n || (p[0] == value && !memcmp(p, p + 1, n - 1));
}

/* Note the bytes of [p, p + n) that are not what they were: `was`, or the pad where `was` is NULL. */
static void compare(stray *s, const unsigned char *p, size_t n, const unsigned char *was, unsigned char pad,
                    int64_t at)
{
    if (was ? !memcmp(p, was, n) : all_bytes(p, n, pad)) return;
    for (size_t i = 0; i < n; i++) {
        unsigned char before = was ? was[i] : pad;
        if (p[i] == before) continue;
        if (!s->seen) {
            s->seen = true;
            s->at = at + (int64_t)i;
            s->before = before;
            s->after = p[i];
        }
        s->count++;
    }
}

static void keep(outcome *o, stray s, int slot_index, bool is_input, bool in_input)
{
    if (!s.seen) return;
    s.slot = slot_index;
    s.is_input = is_input;
    s.in_input = in_input;
    o->strays[o->n_strays++] = s;
}

static void find_strays(outcome *o, const unsigned char *arena, const wire_tensor *t, const slot *s,
                        int index, bool input, const variant *v)
{
    stray outside = {0}, inside = {0};
    const unsigned char *p = arena + t->data;
    compare(&outside, arena + t->guard, t->data - t->guard, NULL, v->pad,
            (int64_t)t->guard - (int64_t)t->data);
    for (size_t r = 0; input && r < s->rows; r++) {
        const unsigned char *row = p + r * s->pitch_bytes;
        compare(&inside, row, s->row_bytes, s->data + r * s->row_bytes, 0, (int64_t)(r * s->pitch_bytes));
        if (r + 1 < s->rows && s->pitch_bytes > s->row_bytes)
            compare(&outside, row + s->row_bytes, s->pitch_bytes - s->row_bytes, NULL, v->pad,
                    (int64_t)(r * s->pitch_bytes + s->row_bytes));
    }
    uint64_t after = t->data + t->bytes;
    compare(&outside, arena + after, t->end + WIRE_PAGE - after, NULL, v->pad, (int64_t)t->bytes);
    keep(o, outside, index, input, false);
    keep(o, inside, index, input, true);
}

/* A fault address inside the arena is a guard page, or a page next to one: say of which tensor. */
static void locate_fault(const library *l, const wire_request *q, char *why, size_t size)
{
    const wire_control *w = (const wire_control *)(const void *)l->child.arena;
    uint64_t at = w->address - w->base;
    if (w->signal != SIGSEGV || w->address < w->base || at >= q->span) return;
    size_t n = strlen(why);
    for (int i = 0; i < q->n_in + q->n_out; i++) {
        const wire_tensor *t = &q->t[i];
        if (at >= t->guard && at < t->data)
            snprintf(why + n, size - n, ": byte %lld before the start of '%s'", (long long)(t->data - at),
                     t->role);
        else if (at >= t->data + t->bytes && at < t->end + WIRE_PAGE / 2)
            snprintf(why + n, size - n, ": byte %lld past the end of '%s'",
                     (long long)(at - t->data - t->bytes) + 1, t->role);
        else
            continue;
        return;
    }
}

static void take_outputs(outcome *o, const job *j, const unsigned char *arena, const wire_request *q)
{
    for (int i = 0; i < j->n_out; i++) {
        o->out[i] = malloc(j->out[i].bytes + 1);
        if (o->out[i])
            memcpy(o->out[i], arena + q->t[j->n_in + i].data, j->out[i].bytes);
        else {
            o->state = RUN_FAILED;
            snprintf(o->message, sizeof o->message, "out of memory");
        }
    }
}

static bool lay_out(const library *l, const job *j, const variant *v, wire_request *q)
{
    *q = (wire_request){.op = j->op_index,
                        .n_in = j->n_in,
                        .n_out = j->n_out,
                        .alpha = j->c->alpha,
                        .beta = j->c->beta,
                        .seed = j->c->seed};
    snprintf(q->recipe, sizeof q->recipe, "%s", j->c->recipe);
    uint64_t at = WIRE_PAGE;
    for (int i = 0; i < j->n_in + j->n_out; i++) {
        const slot *s = i < j->n_in ? &j->in[i] : &j->out[i - j->n_in];
        if (s->bytes > WIRE_ARENA / 2 || at > WIRE_ARENA / 2) return false;
        at = place(&q->t[i], s, at);
        fill(l->child.arena, &q->t[i], s, i < j->n_in, v);
    }
    q->span = at + WIRE_PAGE;
    return true;
}

/* Give large spans back: the arena keeps the pages of the largest case otherwise. */
static void trim(library *l, uint64_t span)
{
    if (span > (uint64_t)64 << 20) madvise(l->child.arena, span, MADV_REMOVE);
}

static void run(subject *s, const job *j, const variant *v, outcome *o)
{
    library *l = s->impl;
    *o = (outcome){.state = RUN_FAILED};
    int *hangs = &l->hangs[j->op_index], *crashes = &l->crashes[j->op_index];
    if (*hangs >= HANGS || *crashes >= CRASHES) {
        o->state = RUN_ABSENT;
        snprintf(o->message, sizeof o->message, "given up: the operation %s %d times in a row",
                 *hangs >= HANGS ? "hung" : "crashed", *hangs >= HANGS ? HANGS : CRASHES);
        return;
    }
    wire_request q;
    wire_reply reply = {0};
    if (!lay_out(l, j, v, &q)) {
        o->state = RUN_ABSENT;
        snprintf(o->message, sizeof o->message, "the case needs over 32 GiB");
        return;
    }
    child_end end = child_ask(&l->child, &q, &reply, o->message, sizeof o->message);
    snprintf(o->printed, sizeof o->printed, "%s", l->child.printed);
    if (end == CHILD_BROKEN)
        o->state = RUN_FAILED;
    else if (end != CHILD_ANSWERED) {
        o->state = end == CHILD_SLOW ? RUN_TIMED_OUT : RUN_CRASHED;
        if (end == CHILD_DIED) locate_fault(l, &q, o->message, sizeof o->message);
    } else {
        o->state = (run_state)reply.state;
        o->left_processes = reply.left_processes;
        memcpy(o->message, reply.message, sizeof o->message);
        for (int i = 0; i < j->n_in + j->n_out; i++) {
            bool input = i < j->n_in;
            int index = input ? i : i - j->n_in;
            find_strays(o, l->child.arena, &q.t[i], input ? &j->in[index] : &j->out[index], index, input, v);
        }
        if (o->state == RUN_DONE) take_outputs(o, j, l->child.arena, &q);
    }
    bool crashed = o->state == RUN_CRASHED || end == CHILD_BROKEN;
    *hangs = o->state == RUN_TIMED_OUT ? *hangs + 1 : crashed ? *hangs : 0;
    *crashes = crashed ? *crashes + 1 : o->state == RUN_TIMED_OUT ? *crashes : 0;
    if (o->left_processes) child_stop(&l->child);
    trim(l, q.span);
}

static void close_library(subject *s)
{
    library *l = s->impl;
    child_close(&l->child);
    free(l);
    s->offers = NULL; /* were the child's */
}

void subject_open_library(subject *s, const char *path, const subject_limits *limits)
{
    *s = (subject){.run = run, .close = close_library};
    snprintf(s->name, sizeof s->name, "%s", path);
    library *l = calloc(1, sizeof *l);
    char *full = realpath(path, NULL);
    mx_error e = {0};
    if (!l || !full) {
        s->status = MX_BAD_INPUT;
        snprintf(s->cannot, sizeof s->cannot, "%s: no such file", path);
        free(full);
        free(l);
        s->close = NULL;
        return;
    }
    s->impl = l;
    snprintf(l->path, sizeof l->path, "%s", full);
    free(full);
    s->status = (int)child_open(&l->child, l->path, limits->seconds, &e);
    if (s->status != MX_OK) snprintf(s->cannot, sizeof s->cannot, "%s", e.message);
    if (*l->child.hello.name) snprintf(s->name, sizeof s->name, "%s", l->child.hello.name);
    snprintf(s->version, sizeof s->version, "%s", l->child.hello.version);
    snprintf(s->device, sizeof s->device, "%s", l->child.hello.device);
    s->offers = l->child.offers;
    s->n_offers = l->child.offers ? l->child.hello.n_ops : 0;
}
