/* Reads /proc/PID/stat: proc(5). Where /proc is missing, a zombie counts as one that runs. */
#include "cli/members.h"

#include "cli/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 1024

/* The fields behind the name, which may have any characters: proc(5) counts them from 1. */
enum {
    FIELD_STATE = 3,
    FIELD_GROUP = 5,
    FIELD_THREADS = 20
};

/* NULL: there is no such field. */
static const char *find_field(const char *stat, int number) {
    const char *at = strrchr(stat, ')');
    for (int field = FIELD_STATE - 1; at != NULL && field < number; field++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

/* A leader whose other threads run on shows as a zombie, too. What is not as in proc(5) runs. */
static bool runs(const char *stat, pid_t group, bool *ret_is_member) {
    const char *state = find_field(stat, FIELD_STATE);
    const char *its_group = find_field(stat, FIELD_GROUP);
    const char *threads = find_field(stat, FIELD_THREADS);
    if (threads == NULL)
        return true;
    bool is_dead = (*state == 'Z' || *state == 'X') && strtol(threads, NULL, 10) <= 1;
    bool is_member = strtol(its_group, NULL, 10) == group;
    *ret_is_member = *ret_is_member || is_member;
    return is_member && !is_dead;
}

static bool process_runs(int proc_fd, const char *pid, pid_t group, bool *ret_is_member) {
    char path[64], stat[STAT_BYTES];
    (void)snprintf(path, sizeof(path), "%s/stat", pid);
    int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT && errno != ESRCH; /* else gone since */
    ssize_t length = read(fd, stat, sizeof(stat) - 1);
    bool is_unread = length < 0 && errno != ESRCH;
    close(fd);
    if (length <= 0)
        return is_unread; /* else gone since */
    stat[length] = '\0';
    return runs(stat, group, ret_is_member);
}

/* The numbers in that of another PID namespace are of other processes and groups. */
static bool is_of_ours(int proc_fd) {
    char self[32];
    int pid;
    ssize_t length = readlinkat(proc_fd, "self", self, sizeof(self) - 1);
    self[length < 0 ? 0 : length] = '\0';
    return cli_number_whole(self, INT_MAX, &pid) && pid == getpid();
}

/* proc may be mounted so that it hides other users' processes (hidepid). */
static bool shows_all(int proc_fd) {
    int fd = openat(proc_fd, "1/stat", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

bool cli_members_run(pid_t group) {
    const struct dirent *entry;
    int pid;
    bool is_member = false;
    if (kill(-group, 0) != 0 && errno == ESRCH)
        return false;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return true;
    bool is_found = !is_of_ours(dirfd(proc)) || !shows_all(dirfd(proc));
    while (!is_found && (entry = readdir(proc)) != NULL)
        is_found = cli_number_whole(entry->d_name, INT_MAX, &pid) &&
                   process_runs(dirfd(proc), entry->d_name, group, &is_member);
    (void)closedir(proc);
    /* Hidden from us, or its last one is gone. */
    return is_found || (!is_member && (kill(-group, 0) == 0 || errno != ESRCH));
}
