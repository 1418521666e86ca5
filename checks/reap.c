/* SPDX-License-Identifier: Apache-2.0 */
#include "reap.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void reap_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

enum { MAX_KEPT = 64 };
static pid_t kept[MAX_KEPT];

static bool is_kept(pid_t pid)
{
    int i = 0;
    while (i < MAX_KEPT && kept[i] != pid)
        i++;
    return i < MAX_KEPT;
}

static void exchange(pid_t from, pid_t to)
{
    for (int i = 0; i < MAX_KEPT; i++)
        if (kept[i] == from) {
            kept[i] = to;
            return;
        }
}

void reap_keep(pid_t pid) { exchange(0, pid); }
void reap_release(pid_t pid) { exchange(pid, 0); }

/* /proc/self/task/TID/children lists the children that thread TID has. */
static int end_listed(const char *tid)
{
    char path[300];
    int pid, n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.200s/children", tid);
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%d", &pid) == 1)
        if (!is_kept(pid)) n += !kill(pid, SIGKILL);
    if (f) fclose(f);
    return n;
}

static int end_all(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && (d = readdir(tasks));)
        if (d->d_name[0] != '.') n += end_listed(d->d_name);
    if (tasks) closedir(tasks);
    return n;
}

/* Collect what has ended by itself; the exit status of a kept one is left to who waits for it. */
static bool any_runs(void)
{
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)) return false; /* no children at all */
        if (info.si_pid == 0 || is_kept(info.si_pid)) return true;
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

bool reap_children(void)
{
    enum { ROUNDS = 200 }; /* each ends one generation */
    bool ran = false;
    for (int round = 0; round < ROUNDS && any_runs(); round++) {
        if (!end_all()) break;
        ran = true;
        usleep(1000);
    }
    return ran;
}
