/* Reads and writes the files of cgroup2: cgroups(7), Documentation/admin-guide/cgroup-v2.rst. */
#include "cli/cgroup.h"

#include "cli/message.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the lock's name, in that of the cgroup. */
#define LOCK_CHARACTERS 40
/* Another PID namespace may have taken the name. */
#define NAMES_MAX 10
/* CMD may make cgroups below its own. Deeper ones are not removed, nor killed where there is no
 * cgroup.kill. */
#define DEPTH_MAX 16
/* A cgroup whose last process is about to be gone cannot be removed yet. Such a process has closed
 * its descriptors, so the guardian may know already that it ends. */
#define REMOVE_TRIES 25
#define REMOVE_EACH_MS 2
/* Where there is no cgroup.kill: how long one call goes on. */
#define KILL_ROUNDS 25
#define KILL_EACH_MS 2

#define WHAT_TO_DO "run it by 'systemd-run --user --scope -p Delegate=yes', or as root"

/* ---- The files ---- */

/* "" if it does not fit: then no file has that path. */
static const char *file_in(const char *path, const char *name, char ret_file[PATH_MAX]) {
    int length = snprintf(ret_file, PATH_MAX, "%s/%s", path, name);
    if (length < 0 || length >= PATH_MAX)
        ret_file[0] = '\0';
    return ret_file;
}

/* 0, or an errno. Async-signal-safe. */
static int write_text(const char *file, const char *text) {
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = write(fd, text, strlen(text)) < 0 ? errno : 0;
    close(fd);
    return error;
}

int cli_cgroup_join(const cli_cgroup *cgroup) {
    return cgroup == NULL ? 0 : write_text(cgroup->procs, "0");
}

bool cli_cgroup_runs(const cli_cgroup *cgroup) {
    char file[PATH_MAX], line[64];
    bool runs = true; /* as long as it is not known better */
    if (cgroup == NULL)
        return false;
    FILE *events = fopen(file_in(cgroup->path, "cgroup.events", file), "re");
    if (events == NULL)
        return errno != ENOENT;
    while (fgets(line, sizeof(line), events) != NULL)
        if (strcmp(line, "populated 0\n") == 0)
            runs = false;
    (void)fclose(events); /* nothing was written */
    return runs;
}

/* ---- The cgroups below ---- */

/* Of a cgroup and those below it, the lowest first. */
static void for_each(const char *path, int depth, void (*act)(const char *path)) {
    char below[PATH_MAX];
    const struct dirent *entry;
    DIR *directory = depth < DEPTH_MAX ? opendir(path) : NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            *file_in(path, entry->d_name, below) != '\0')
            for_each(below, depth + 1, act);
    if (directory != NULL)
        (void)closedir(directory);
    act(path);
}

static void remove_one(const char *path) {
    (void)rmdir(path); /* the caller looks whether the first one is gone */
}

bool cli_cgroup_remove(const cli_cgroup *cgroup) {
    if (cgroup == NULL)
        return true;
    for (int i = 0; i < REMOVE_TRIES; i++) {
        for_each(cgroup->path, 0, remove_one);
        if (access(cgroup->path, F_OK) != 0 && errno == ENOENT)
            return true;
        (void)poll(NULL, 0, REMOVE_EACH_MS);
    }
    return false;
}

/* A number that is read here is not another's a moment later: what is frozen neither ends nor is
 * reaped, unless it was killed. */
static void kill_listed(const char *path) {
    char file[PATH_MAX], line[32];
    FILE *procs = fopen(file_in(path, "cgroup.procs", file), "re");
    while (procs != NULL && fgets(line, sizeof(line), procs) != NULL) {
        const long pid = strtol(line, NULL, 10);
        if (pid > 0) /* 0: of another PID namespace */
            (void)kill((pid_t)pid, SIGKILL);
    }
    if (procs != NULL)
        (void)fclose(procs); /* nothing was written */
}

void cli_cgroup_kill(const cli_cgroup *cgroup) {
    char file[PATH_MAX];
    if (cgroup == NULL)
        return;
    if (cgroup->has_kill && write_text(file_in(cgroup->path, "cgroup.kill", file), "1") == 0)
        return;
    (void)write_text(file_in(cgroup->path, "cgroup.freeze", file), "1"); /* or it takes longer */
    for (int i = 0; i < KILL_ROUNDS && cli_cgroup_runs(cgroup); i++) {
        for_each(cgroup->path, 0, kill_listed);
        (void)poll(NULL, 0, KILL_EACH_MS);
    }
}

/* ---- Making one ---- */

/* The caller's cgroup as /proc/self/cgroup has it; "": it has none of v2. */
static void find_own(char ret_path[PATH_MAX]) {
    char line[PATH_MAX];
    FILE *lines = fopen("/proc/self/cgroup", "re");
    ret_path[0] = '\0';
    while (lines != NULL && fgets(line, sizeof(line), lines) != NULL)
        if (strncmp(line, "0::/", 4) == 0 && strncmp(line, "0::/..", 6) != 0)
            (void)snprintf(ret_path, PATH_MAX, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    if (lines != NULL)
        (void)fclose(lines); /* nothing was written */
}

/* What is left of path below root; NULL: it is not below it. */
static const char *below(const char *path, const char *root) {
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    return strcmp(path + length, "/") == 0 ? "" : path + length;
}

/* Where the caller's cgroup is mounted. False: nowhere. A line of /proc/self/mountinfo has the root
 * of the mount and its place. A place with a backslash in it stands for another and is left out. */
static bool find_directory(char ret_path[PATH_MAX]) {
    char own[PATH_MAX], *line = NULL;
    size_t size = 0;
    bool is_found = false;
    find_own(own);
    FILE *lines = own[0] == '\0' ? NULL : fopen("/proc/self/mountinfo", "re");
    while (lines != NULL && !is_found && getline(&line, &size, lines) > 0) {
        char *root = NULL, *place = NULL;
        if (strstr(line, " - cgroup2 ") != NULL &&
            sscanf(line, "%*d %*d %*s %ms %ms", &root, &place) == 2 &&
            strchr(place, '\\') == NULL && below(own, root) != NULL)
            is_found = snprintf(ret_path, PATH_MAX, "%s%s", place, below(own, root)) < PATH_MAX;
        free(root);
        free(place);
    }
    free(line);
    if (lines != NULL)
        (void)fclose(lines); /* nothing was written */
    return is_found;
}

/* 0, or an errno. */
static int make_directory(cli_cgroup *g, const char *parent, const char *lock) {
    char name[NAME_MAX], part[LOCK_CHARACTERS + 1];
    int error = EEXIST;
    (void)snprintf(part, sizeof(part), "%s", lock); /* cut */
    for (char *c = part; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
            *c = '_';
    for (int i = 0; error == EEXIST && i < NAMES_MAX; i++) {
        (void)snprintf(name, sizeof(name), i == 0 ? "zklock-%s-%d" : "zklock-%s-%d-%d", part,
                       (int)getpid(), i);
        if (*file_in(parent, name, g->path) == '\0' ||
            *file_in(g->path, "cgroup.procs", g->procs) == '\0')
            return ENAMETOOLONG;
        error = mkdir(g->path, 0755) == 0 ? 0 : errno;
    }
    return error;
}

/* Whether a process may enter depends on more than the file's mode, so a child tries. 0, or an
 * errno. */
static int try_to_join(const cli_cgroup *g) {
    siginfo_t info = {0};
    pid_t pid = fork();
    if (pid == 0)
        _exit(cli_cgroup_join(g));
    if (pid < 0 || waitid(P_PID, (id_t)pid, &info, WEXITED) != 0)
        return errno;
    return info.si_status;
}

bool cli_cgroup_try(const cli_cgroup *g) {
    int error = g == NULL ? 0 : try_to_join(g);
    if (error == 0)
        return true;
    cli_message("--cgroup: a process cannot enter '%s': %s; " WHAT_TO_DO, g->path, strerror(error));
    return false;
}

bool cli_cgroup_make(cli_cgroup *ret_cgroup, const char *lock) {
    cli_cgroup *g = ret_cgroup;
    char parent[PATH_MAX], file[PATH_MAX];
    if (!find_directory(parent)) {
        cli_message("--cgroup: this process has no cgroup of version 2, or none that is mounted");
        return false;
    }
    int error = make_directory(g, parent, lock);
    if (error != 0) {
        cli_message("--cgroup: cannot make a cgroup in '%s': %s; " WHAT_TO_DO, parent,
                    strerror(error));
        return false;
    }
    g->has_kill = access(file_in(g->path, "cgroup.kill", file), W_OK) == 0;
    return true;
}
