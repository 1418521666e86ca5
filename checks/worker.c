/* SPDX-License-Identifier: Apache-2.0
 *
 * The process in which a kernel under test lives. Nothing here trusts the library: it may crash, hang,
 * print, fork or scribble; the harness in child.c sees the outcome from outside. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mx_kernel.h"
#include "reap.h"
#include "wire.h"

typedef struct worker {
    unsigned char *arena;
    wire_control *control;
    const mx_kernel_library *lib;
    pid_t pid;
    void *mirror; /* of the arena, in device memory */
    size_t mirror_bytes;
} worker;

static worker self;

/* Note what happened where the harness can read it, then die of it. */
static void last_words(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    self.control->address = (uint64_t)(uintptr_t)info->si_addr;
    self.control->signal = signal_number;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void prepare_process(void)
{
    static unsigned char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_sigaction = last_words, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &action, NULL);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    reap_adopt();
}

static bool say(const void *message, size_t n)
{
    return send(WORKER_SOCKET, message, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void copy_text(char *to, size_t size, const char *from) { snprintf(to, size, "%s", from ? from : ""); }
#define COPY(to, from) copy_text(to, sizeof(to), from)

static offer copy_offer(const mx_kernel_op *op)
{
    offer o = {.runnable = op->run != NULL};
    COPY(o.name, op->name);
    COPY(o.operation, op->operation);
    COPY(o.recipe, op->recipe);
    COPY(o.inputs, op->inputs);
    COPY(o.output, op->output);
    COPY(o.data_layout, op->data_layout);
    COPY(o.scale_layout, op->scale_layout);
    COPY(o.data_layout_t, op->data_layout_t);
    COPY(o.scale_layout_t, op->scale_layout_t);
    COPY(o.model, op->model);
    COPY(o.schedule, op->schedule);
    COPY(o.note, op->note);
    return o;
}

static mx_status refuse(wire_hello *h, mx_status status, const char *text)
{
    COPY(h->message, text);
    return status;
}

static const char *device_error(int error)
{
    const char *text = self.lib->error_text ? self.lib->error_text(error) : NULL;
    return text ? text : "unknown error";
}

static bool memory_is_consistent(const mx_kernel_library *l)
{
    int n = !!l->allocate + !!l->release + !!l->upload + !!l->download + !!l->synchronize;
    return n == 0 || n == 5;
}

/* Load and describe. The stages are noted first, so that a crash in any of them can be named. */
static mx_status load(const char *path, wire_hello *h)
{
    self.control->stage = STAGE_LOAD;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return refuse(h, MX_BAD_INPUT, dlerror());
    const mx_kernel_library *(*describe)(void);
    *(void **)&describe = dlsym(handle, MX_KERNEL_SYMBOL);
    if (!describe)
        return refuse(h, MX_BAD_INPUT, "exports no symbol " MX_KERNEL_SYMBOL ": not an mxcheck kernel");
    self.control->stage = STAGE_DESCRIBE;
    self.lib = describe();
    if (!self.lib) return refuse(h, MX_BAD_INPUT, MX_KERNEL_SYMBOL "() returned NULL");
    if (self.lib->abi != MX_KERNEL_ABI) {
        snprintf(h->message, sizeof h->message, "built for ABI %u of mx_kernel.h, this mxcheck speaks %u",
                 self.lib->abi, MX_KERNEL_ABI);
        return MX_BAD_INPUT;
    }
    if (!self.lib->ops || !self.lib->n_ops) return refuse(h, MX_BAD_INPUT, "describes no operation");
    if (self.lib->n_ops > SUBJECT_MAX_OPS)
        return refuse(h, MX_BAD_INPUT, "describes more operations than mxcheck takes");
    if (!memory_is_consistent(self.lib))
        return refuse(h, MX_BAD_INPUT, "gives some memory functions but not all five");
    COPY(h->name, self.lib->name);
    COPY(h->version, self.lib->version);
    h->n_ops = (int)self.lib->n_ops;
    h->on_device = self.lib->allocate != NULL;
    self.control->stage = STAGE_OPEN;
    int error = self.lib->open ? self.lib->open(h->device, sizeof h->device) : 0;
    h->device[sizeof h->device - 1] = 0;
    if (!error) return MX_OK;
    snprintf(h->message, sizeof h->message, "no device: %s", device_error(error));
    return MX_CANNOT_RUN;
}

/* ---- one request ---------------------------------------------------------------------------------- */

static void guard(const wire_request *q, int rights)
{
    int n = q->n_in + q->n_out;
    for (int i = 0; i < n; i++)
        mprotect(self.arena + q->t[i].guard, WIRE_PAGE, rights);
    if (n) mprotect(self.arena + q->t[n - 1].end, WIRE_PAGE, rights);
}

/* Device memory: one allocation that mirrors the arena, grown as needed. */
static int mirror_up(const wire_request *q)
{
    int error = 0;
    if (self.mirror_bytes < q->span) {
        if (self.mirror) error = self.lib->release(self.mirror);
        self.mirror = NULL;
        self.mirror_bytes = 0;
        size_t bytes = q->span + q->span / 2;
        if (!error) error = self.lib->allocate(&self.mirror, bytes);
        if (!error) self.mirror_bytes = bytes;
    }
    return error ? error : self.lib->upload(self.mirror, self.arena, q->span);
}

static int mirror_down(const wire_request *q)
{
    return self.lib->download(self.arena + WIRE_PAGE, (char *)self.mirror + WIRE_PAGE, q->span - WIRE_PAGE);
}

static mx_kernel_tensor tensor_of(const wire_tensor *t, unsigned char *base)
{
    mx_kernel_tensor k = {.name = t->role,
                          .dtype = t->dtype,
                          .rank = t->rank,
                          .pitch = t->pitch,
                          .data = base + t->data,
                          .bytes = t->bytes};
    memcpy(k.shape, t->shape, sizeof k.shape);
    return k;
}

static void call_kernel(const wire_request *q, wire_reply *reply)
{
    bool device = self.lib->allocate != NULL;
    int error = device ? mirror_up(q) : 0;
    mx_kernel_tensor in[JOB_MAX_SLOTS], out[JOB_MAX_SLOTS];
    unsigned char *base = device ? self.mirror : self.arena;
    for (int i = 0; i < q->n_in; i++)
        in[i] = tensor_of(&q->t[i], base);
    for (int i = 0; i < q->n_out; i++)
        out[i] = tensor_of(&q->t[q->n_in + i], base);
    const mx_kernel_op *op = &self.lib->ops[q->op];
    mx_kernel_call call = {.op = op,
                           .n_in = (uint32_t)q->n_in,
                           .n_out = (uint32_t)q->n_out,
                           .in = in,
                           .out = out,
                           .alpha = q->alpha,
                           .beta = q->beta,
                           .seed = q->seed,
                           .recipe = q->recipe,
                           .message = reply->message,
                           .message_size = sizeof reply->message};
    int answer = MX_KERNEL_FAILED;
    if (!error) {
        if (!device) guard(q, PROT_NONE);
        answer = op->run(&call);
        if (getpid() != self.pid) _exit(0); /* the kernel forked and both copies came back */
        if (!device) guard(q, PROT_READ | PROT_WRITE);
    }
    if (device && !error) error = self.lib->synchronize();
    if (device && !error) error = mirror_down(q);
    reply->message[sizeof reply->message - 1] = 0;
    reply->state = answer == MX_KERNEL_DONE      ? RUN_DONE
                   : answer == MX_KERNEL_REFUSED ? RUN_REFUSED
                                                 : RUN_FAILED;
    if (answer < MX_KERNEL_DONE || answer > MX_KERNEL_FAILED)
        snprintf(reply->message, sizeof reply->message, "returned %d, which mx_kernel.h does not define",
                 answer);
    if (error) {
        reply->state = RUN_CRASHED;
        reply->device_fault = 1;
        snprintf(reply->message, sizeof reply->message, "device error: %s", device_error(error));
    }
    reply->left_processes = reap_children();
}

static void serve(void)
{
    wire_request q;
    while (recv(WORKER_SOCKET, &q, sizeof q, 0) == (ssize_t)sizeof q) {
        wire_reply reply = {.state = RUN_FAILED};
        self.control->stage = STAGE_RUN;
        call_kernel(&q, &reply);
        self.control->stage = STAGE_IDLE;
        fflush(NULL);
        if (!say(&reply, sizeof reply)) return;
    }
}

bool worker_is(int argc, char **argv) { return argc == 2 && !strcmp(argv[0], WORKER_NAME); }

int worker_main(const char *path)
{
    self.arena = mmap(NULL, WIRE_ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, WORKER_ARENA, 0);
    if (self.arena == MAP_FAILED) return 1;
    self.control = (wire_control *)(void *)self.arena;
    self.control->base = (uint64_t)(uintptr_t)self.arena;
    self.pid = getpid();
    prepare_process();
    wire_hello hello = {.status = MX_OK};
    hello.status = load(path, &hello);
    if (hello.status != MX_OK && hello.status != MX_CANNOT_RUN) hello.n_ops = 0;
    if (!say(&hello, sizeof hello)) return 1;
    for (int i = 0; i < hello.n_ops; i++) {
        offer o = copy_offer(&self.lib->ops[i]);
        if (!say(&o, sizeof o)) return 1;
    }
    self.control->stage = STAGE_IDLE;
    if (hello.status == MX_OK) serve();
    _exit(0); /* not exit(): the library's destructors are not ours to run */
}
