/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker is started by fork and exec of our own binary, never by fork alone: the parent may have run
 * OpenMP threads by then, and a forked copy of their runtime would deadlock in a kernel that uses it too. */
#include "child.h"

#include "reap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- start and stop ------------------------------------------------------------------------------- */

/* In the forked copy: put the descriptors where the worker expects them. They are first moved out of the
 * way, since one may sit at another's place. */
static void become_worker(const char *path, int socket_end, int arena, int output)
{
    enum { HIGH = 64 };
    int null = open("/dev/null", O_RDONLY);
    socket_end = fcntl(socket_end, F_DUPFD, HIGH);
    arena = fcntl(arena, F_DUPFD, HIGH);
    output = fcntl(output, F_DUPFD, HIGH);
    null = fcntl(null, F_DUPFD, HIGH);
    setpgid(0, 0);
    if (dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 ||
        dup2(socket_end, WORKER_SOCKET) < 0 || dup2(arena, WORKER_ARENA) < 0)
        _exit(126);
    for (int fd = WORKER_ARENA + 1; fd < 256; fd++)
        close(fd);
    setenv("OMP_WAIT_POLICY", "passive",
           0); /* small cases: spinning threads would cost more than they earn */
    char name[] = WORKER_NAME;
    char *argv[] = {name, strdup(path), NULL};
    execv("/proc/self/exe", argv);
    _exit(127);
}

static bool start(child *c)
{
    int pair[2], pipe_ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) return false;
    if (pipe2(pipe_ends, O_CLOEXEC)) return close(pair[0]), close(pair[1]), false;
    fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
    memset(c->arena, 0, sizeof(wire_control));
    fflush(NULL);
    c->pid = fork();
    if (c->pid == 0) become_worker(c->path, pair[1], c->arena_fd, pipe_ends[1]);
    close(pair[1]);
    close(pipe_ends[1]);
    c->socket = pair[0];
    c->output = pipe_ends[0];
    if (c->pid > 0) {
        setpgid(c->pid, c->pid); /* in both processes: whoever comes first */
        reap_keep(c->pid);
        return true;
    }
    c->pid = 0;
    close(c->socket);
    close(c->output);
    return false;
}

/* Keep the first bytes of what was printed and drop the rest, so that a chatty kernel never blocks. */
static void drain(child *c)
{
    char chunk[4096];
    ssize_t n;
    while ((n = read(c->output, chunk, sizeof chunk)) > 0) {
        size_t room = sizeof c->printed - 1 - c->n_printed;
        size_t take = (size_t)n < room ? (size_t)n : room;
        memcpy(c->printed + c->n_printed, chunk, take);
        c->n_printed += take;
        c->printed[c->n_printed] = 0;
    }
}

static int reap(child *c, bool kill_first)
{
    int status = 0;
    if (kill_first) kill(-c->pid, SIGKILL);
    waitpid(c->pid, &status, 0);
    reap_release(c->pid);
    kill(-c->pid, SIGKILL); /* what the kernel forked is still in the group, */
    reap_children();        /* or has become ours */
    drain(c);
    close(c->socket);
    close(c->output);
    c->pid = 0;
    return status;
}

void child_stop(child *c)
{
    if (c->pid) reap(c, true);
}

/* ---- talk ----------------------------------------------------------------------------------------- */

static bool has_died(const child *c)
{
    siginfo_t info = {0};
    return !waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == c->pid;
}

/* Receive one message of exactly n bytes before the deadline. The socket alone does not tell of a death: a
 * process that the kernel forked may hold it open. */
static child_end receive(child *c, void *message, size_t n, double deadline)
{
    for (;;) {
        double left = deadline - now();
        if (!(left > 0)) return CHILD_SLOW;
        struct pollfd p[2] = {{.fd = c->socket, .events = POLLIN}, {.fd = c->output, .events = POLLIN}};
        int slice = left > 0.1 ? 100 : (int)(left * 1000) + 1;
        if (poll(p, 2, slice) < 0 && errno != EINTR) return CHILD_DIED;
        drain(c);
        if (p[0].revents & (POLLIN | POLLHUP)) {
            ssize_t got = recv(c->socket, message, n, MSG_DONTWAIT);
            if (got == (ssize_t)n) return CHILD_ANSWERED;
            if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return CHILD_DIED;
        }
        if (has_died(c))
            return recv(c->socket, message, n, MSG_DONTWAIT) == (ssize_t)n ? CHILD_ANSWERED : CHILD_DIED;
        if (p[1].revents & POLLHUP && !(p[1].revents & POLLIN)) poll(NULL, 0, 1); /* it closed its stdout */
    }
}

static void tell_death(child *c, int status, char *why, size_t size)
{
    const wire_control *w = (const wire_control *)(const void *)c->arena;
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        int n = snprintf(why, size, "killed by SIG%s", name ? name : "?");
        if (w->signal == SIGSEGV || w->signal == SIGBUS)
            snprintf(why + n, size - (size_t)n, " at address 0x%llx", (unsigned long long)w->address);
    } else
        snprintf(why, size, "ended the process with exit status %d", WEXITSTATUS(status));
}

static child_end exchange(child *c, void *message, size_t n, double deadline, char *why, size_t size)
{
    child_end end = receive(c, message, n, deadline);
    if (end == CHILD_ANSWERED) return end;
    int status = reap(c, true);
    if (end == CHILD_SLOW)
        snprintf(why, size, "no answer within %g s: killed with its process group", c->seconds);
    else
        tell_death(c, status, why, size);
    return end;
}

/* The library may have written to the socket itself: what was received is bytes from a stranger. */
#define END(text) ((text)[sizeof(text) - 1] = 0)

static void tame_hello(wire_hello *h)
{
    if (h->n_ops < 0 || h->n_ops > SUBJECT_MAX_OPS) h->n_ops = 0;
    if (h->status < MX_OK || h->status > MX_CANNOT_RUN) h->status = MX_BAD_INPUT;
    END(h->name);
    END(h->version);
    END(h->device);
    END(h->message);
}

static offer tame_offer(offer o)
{
    END(o.name);
    END(o.operation);
    END(o.recipe);
    END(o.inputs);
    END(o.output);
    END(o.data_layout);
    END(o.scale_layout);
    END(o.data_layout_t);
    END(o.scale_layout_t);
    END(o.model);
    END(o.schedule);
    END(o.note);
    return o;
}

/* Start a worker and hear what its library offers. */
static child_end greet(child *c, char *why, size_t size)
{
    static const char *const doing[STAGE_COUNT] = {[STAGE_START] = "starting",
                                                   [STAGE_LOAD] = "being loaded",
                                                   [STAGE_DESCRIBE] = "mx_kernel_describe()",
                                                   [STAGE_OPEN] = "opening its device",
                                                   [STAGE_IDLE] = "waiting",
                                                   [STAGE_RUN] = "running"};
    const wire_control *w = (const wire_control *)(const void *)c->arena;
    c->n_printed = 0;
    c->printed[0] = 0;
    if (!start(c)) return snprintf(why, size, "cannot start a process: %s", strerror(errno)), CHILD_BROKEN;
    double deadline = now() + (c->seconds > 60 ? c->seconds : 60); /* a CUDA context may take its time */
    char death[200];
    child_end end = exchange(c, &c->hello, sizeof c->hello, deadline, death, sizeof death);
    if (end == CHILD_ANSWERED) tame_hello(&c->hello);
    bool first = !c->offers; /* a restarted worker repeats what its predecessor said */
    if (first) c->offers = calloc(SUBJECT_MAX_OPS, sizeof *c->offers);
    if (!c->offers) return snprintf(why, size, "out of memory"), CHILD_BROKEN;
    for (int i = 0; end == CHILD_ANSWERED && i < c->hello.n_ops && i < SUBJECT_MAX_OPS; i++) {
        offer repeated;
        end = exchange(c, &repeated, sizeof repeated, deadline, death, sizeof death);
        if (first && end == CHILD_ANSWERED) c->offers[i] = tame_offer(repeated);
    }
    if (end == CHILD_ANSWERED) return end;
    int stage = w->stage;
    snprintf(why, size, "%s while %s%s%s", death,
             stage >= 0 && stage < STAGE_COUNT ? doing[stage] : "starting",
             *c->printed ? "; it printed: " : "", c->printed);
    return end;
}

mx_status child_open(child *c, const char *path, double seconds, mx_error *e)
{
    *c = (child){.path = path, .seconds = seconds};
    reap_adopt();
    c->arena_fd = memfd_create("mxcheck-arena", MFD_CLOEXEC);
    if (c->arena_fd < 0 || ftruncate(c->arena_fd, (off_t)WIRE_ARENA))
        return mx_fail(e, MX_IO, path, "cannot make shared memory: %s", strerror(errno));
    c->arena = mmap(NULL, WIRE_ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, c->arena_fd, 0);
    if (c->arena == MAP_FAILED) {
        c->arena = NULL;
        return mx_fail(e, MX_IO, path, "cannot map shared memory: %s", strerror(errno));
    }
    char why[512];
    if (greet(c, why, sizeof why) != CHILD_ANSWERED) return mx_fail(e, MX_BAD_INPUT, path, "%s", why);
    if (c->hello.status != MX_OK) return mx_fail(e, (mx_status)c->hello.status, path, "%s", c->hello.message);
    return MX_OK;
}

void child_close(child *c)
{
    child_stop(c);
    if (c->arena) munmap(c->arena, WIRE_ARENA);
    if (c->arena_fd > 0) close(c->arena_fd);
    free(c->offers);
    *c = (child){0};
}

child_end child_ask(child *c, const wire_request *q, wire_reply *reply, char *why, size_t why_size)
{
    if (!c->pid) {
        int n_ops = c->hello.n_ops;
        child_end end = greet(c, why, why_size);
        if (end != CHILD_ANSWERED) return end;
        if (c->hello.status != MX_OK || c->hello.n_ops != n_ops) {
            snprintf(why, why_size, "after a restart: %s", c->hello.message);
            child_stop(c);
            return CHILD_BROKEN;
        }
    }
    c->n_printed = 0;
    c->printed[0] = 0;
    if (send(c->socket, q, sizeof *q, MSG_NOSIGNAL) != (ssize_t)sizeof *q) {
        tell_death(c, reap(c, true), why, why_size);
        return CHILD_DIED;
    }
    child_end end = exchange(c, reply, sizeof *reply, now() + c->seconds, why, why_size);
    if (end != CHILD_ANSWERED) return end;
    END(reply->message);
    if (reply->state < RUN_DONE || reply->state > RUN_CRASHED) {
        snprintf(why, why_size, "its process sent an answer that mxcheck does not know");
        child_stop(c);
        return CHILD_DIED;
    }
    if (reply->device_fault) child_stop(c);
    return end;
}
