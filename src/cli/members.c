/* Reads /proc/PID/stat: proc(5). Where /proc is missing, a zombie counts as one that runs. */
#include "cli/members.h"

#include "cli/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 1024

/* A leader whose other threads run on shows as a zombie, too. */
static bool runs(const char *stat, pid_t group) {
    char state;
    int its_group;
    long threads;
    const char *behind_name = strrchr(stat, ')');
    if (behind_name == NULL ||
        sscanf(behind_name + 1,
               " %c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state,
               &its_group, &threads) != 3)
        return true; /* not what proc(5) says */
    bool is_dead = (state == 'Z' || state == 'X') && threads <= 1;
    return its_group == group && !is_dead;
}

static bool process_runs(int proc_fd, const char *pid, pid_t group) {
    char path[64], stat[STAT_BYTES];
    (void)snprintf(path, sizeof(path), "%s/stat", pid);
    int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false; /* gone since */
    ssize_t length = read(fd, stat, sizeof(stat) - 1);
    close(fd);
    if (length <= 0)
        return false; /* likewise */
    stat[length] = '\0';
    return runs(stat, group);
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
    if (kill(-group, 0) != 0 && errno == ESRCH)
        return false;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return true;
    bool is_found = !shows_all(dirfd(proc));
    while (!is_found && (entry = readdir(proc)) != NULL)
        is_found = cli_number_whole(entry->d_name, INT_MAX, &pid) &&
                   process_runs(dirfd(proc), entry->d_name, group);
    (void)closedir(proc);
    return is_found;
}
