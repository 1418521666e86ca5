/* SPDX-License-Identifier: Apache-2.0
 *
 * Any program as a subject: CMD IN OUT. IN holds one safetensors file per case, named ID.safetensors, with
 * the inputs by role and the case's metadata; for each that it can, the program writes OUT/ID.safetensors
 * with the outputs by role, canonical: dense, row-major, one code per byte. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"
#include "reap.h"
#include "store.h"

typedef struct program {
    char *command;
    double seconds; /* of the whole command */
    char home[64];  /* a fresh directory: in/, out-A, out-B */
    int runs_done;
    char message[512]; /* of the last run; empty: it ended well */
} program;

static int remove_entry(const char *path, const struct stat *s, int type, struct FTW *f)
{
    (void)s;
    (void)type;
    (void)f;
    return remove(path);
}

static void close_program(subject *s)
{
    program *p = s->impl;
    if (*p->home) nftw(p->home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(p->command);
    free(p);
}

/* A file name for an id: ids may hold anything. */
static void file_of(char *path, size_t size, const program *p, const char *folder, const char *id)
{
    int n = snprintf(path, size, "%s/%s/", p->home, folder);
    for (; *id && n + 14 < (int)size; id++)
        path[n++] = strchr("/ \\", *id) ? '_' : *id;
    snprintf(path + n, size - (size_t)n, ".safetensors");
}

static void folder_of(char *name, size_t size, int run) { snprintf(name, size, "out-%d", run); }

/* Wait with a deadline; the group is killed at its end. */
static int wait_for(pid_t pid, double seconds, bool *slow)
{
    int status = 0;
    struct timespec nap = {0, 5000000};
    for (double waited = 0; waitpid(pid, &status, WNOHANG) == 0; waited += 0.005) {
        if (waited > seconds) {
            *slow = true;
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            break;
        }
        nanosleep(&nap, NULL);
    }
    kill(-pid, SIGKILL); /* what it left behind */
    reap_children();
    return status;
}

static void start_program(const program *p, const char *in, const char *out, const char *log)
{
    setpgid(0, 0);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(fd, 1);
    dup2(fd, 2);
    for (int i = 3; i < 256; i++)
        close(i);
    char script[8300];
    snprintf(script, sizeof script, "%s \"$1\" \"$2\"", p->command);
    execl("/bin/sh", "sh", "-c", script, "mxcheck", in, out, (char *)NULL);
    _exit(127);
}

static void first_words(const char *log, char *text, size_t size)
{
    FILE *f = fopen(log, "r");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    text[n] = 0;
    while (n && text[n - 1] == '\n')
        text[--n] = 0;
    if (f) fclose(f);
}

static void run_command(program *p, int run)
{
    char in[80], out[80], log[80], folder[16], words[240];
    folder_of(folder, sizeof folder, run);
    snprintf(in, sizeof in, "%s/in", p->home);
    snprintf(out, sizeof out, "%s/%s", p->home, folder);
    snprintf(log, sizeof log, "%s/log", p->home);
    *p->message = 0;
    mkdir(out, 0700);
    reap_adopt();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) start_program(p, in, out, log);
    if (pid < 0) {
        snprintf(p->message, sizeof p->message, "cannot start a process: %s", strerror(errno));
        return;
    }
    setpgid(pid, pid);
    bool slow = false;
    int status = wait_for(pid, p->seconds, &slow);
    first_words(log, words, sizeof words);
    const char *colon = *words ? "; it printed: " : "";
    if (slow)
        snprintf(p->message, sizeof p->message, "did not end within %g s: killed%s%s", p->seconds, colon,
                 words);
    else if (WIFSIGNALED(status))
        snprintf(p->message, sizeof p->message, "killed by signal %d%s%s", WTERMSIG(status), colon, words);
    else if (WEXITSTATUS(status))
        snprintf(p->message, sizeof p->message, "exit status %d%s%s", WEXITSTATUS(status), colon, words);
}

static void run_program(subject *s, const job *j, const variant *v, outcome *o)
{
    program *p = s->impl;
    char path[256], folder[16];
    while (p->runs_done <= v->run)
        run_command(p, p->runs_done++);
    folder_of(folder, sizeof folder, v->run);
    file_of(path, sizeof path, p, folder, j->c->id);
    if (access(path, F_OK)) {
        *o = (outcome){.state = *p->message ? RUN_FAILED : RUN_ABSENT};
        snprintf(o->message, sizeof o->message, "%s",
                 *p->message ? p->message : "the program wrote no file for it");
        return;
    }
    mx_store store;
    mx_error e = {0};
    mx_tensor tensors[MX_MAX_TENSORS] = {0};
    int n = 0;
    mx_status status = mx_store_open(path, &store, &e);
    for (size_t i = 0; status == MX_OK && i < store.n_arrays && n < MX_MAX_TENSORS; i++)
        status = mx_store_tensor(&store, &store.arrays[i], &tensors[n++], &e);
    if (status == MX_OK)
        answers_take(o, j, tensors, n);
    else {
        *o = (outcome){.state = RUN_FAILED};
        snprintf(o->message, sizeof o->message, "its answer cannot be read: %.200s: %.200s", e.place,
                 e.message);
    }
    for (int i = 0; i < n; i++)
        mx_tensor_free(&tensors[i]);
    mx_store_close(&store);
}

/* Inputs only: the program must not find the answers. */
static mx_status write_inputs(const program *p, const mx_case *c, mx_error *e)
{
    char path[256];
    mx_case *copy = malloc(sizeof *copy);
    if (!copy) return mx_fail(e, MX_NO_MEMORY, c->id, "out of memory");
    *copy = *c;
    copy->n_want = 0;
    for (int i = 0; i < copy->n_in; i++)
        memcpy(copy->in[i].stored, copy->in[i].name, sizeof copy->in[i].stored);
    file_of(path, sizeof path, p, "in", c->id);
    mx_status status = mx_cases_write(path, copy, 1, e);
    free(copy);
    return status;
}

static mx_status prepare(program *p, const char *command, const mx_case *const *cases, size_t n, mx_error *e)
{
    const char *tmp = getenv("TMPDIR");
    char in[80];
    p->command = strdup(command);
    snprintf(p->home, sizeof p->home, "%.40s/mxcheck-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!p->command || !mkdtemp(p->home)) {
        *p->home = 0;
        return mx_fail(e, MX_IO, command, "no temporary directory: %s", strerror(errno));
    }
    snprintf(in, sizeof in, "%s/in", p->home);
    mkdir(in, 0700);
    mx_status status = MX_OK;
    for (size_t i = 0; i < n && status == MX_OK; i++)
        status = write_inputs(p, cases[i], e);
    return status;
}

void subject_open_program(subject *s, const char *command, const mx_case *const *cases, size_t n,
                          const subject_limits *limits)
{
    *s = (subject){
        .run = run_program, .close = close_program, .batch = true, .impl = calloc(1, sizeof(program))};
    snprintf(s->name, sizeof s->name, "%s", command);
    mx_error e = {0};
    program *p = s->impl;
    if (p) p->seconds = limits->seconds + 0.01 * limits->seconds * (double)n;
    s->status = p ? (int)prepare(p, command, cases, n, &e) : MX_NO_MEMORY;
    if (s->status != MX_OK) snprintf(s->cannot, sizeof s->cannot, "%s", p ? e.message : "out of memory");
    if (!p) s->close = NULL;
    subject_offer_all(s, cases, n);
}
