/*
 * A cgroup of CMD's own (cgroups v2), from which its processes cannot escape by a session or a
 * process group of their own. It is made below the caller's, and has no controllers. Where a
 * cgroup is taken, NULL stands for none: then nothing happens, and nothing runs in it.
 */
#ifndef CLI_CGROUP_H
#define CLI_CGROUP_H

#include <limits.h>
#include <stdbool.h>

typedef struct cli_cgroup {
    char path[PATH_MAX];
    char procs[PATH_MAX]; /* the file by which a process enters */
    bool has_kill;        /* cgroup.kill: Linux 5.14 and later */
} cli_cgroup;

/* Makes one that is named for the lock. False: one line on standard error says why not, and what to
 * do. */
bool cli_cgroup_make(cli_cgroup *ret_cgroup, const char *lock);

/* Lets a process enter it, which takes some time. False as above. */
bool cli_cgroup_try(const cli_cgroup *cgroup);

/* The calling process enters. 0, or an errno. Async-signal-safe. */
int cli_cgroup_join(const cli_cgroup *cgroup);

/* SIGKILL to all in it and below it. To be repeated until nothing runs there. */
void cli_cgroup_kill(const cli_cgroup *cgroup);

/* Whether a process in it or below it runs, or may run. A dead one does not, reaped or not. */
bool cli_cgroup_runs(const cli_cgroup *cgroup);

/* False: it is still there, as a rule because a process runs in it. */
bool cli_cgroup_remove(const cli_cgroup *cgroup);

#endif
