/* See scratch.h. */
#include "support/scratch.h"
#include "support/guardian.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char Directory[200];
static pid_t Owner;

static void die(const char *what) {
    fprintf(stderr, "scratch: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void remove_directory(void) {
    DIR *dir = opendir(Directory);

    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* not those of . and .. */
    if (dir)
        (void)closedir(dir);
    (void)rmdir(Directory);
}

static void clean_up(void) {
    if (getpid() == Owner)
        remove_directory();
}

static void make(void) {
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(Directory, sizeof(Directory), "%s/zklock-test-XXXXXX",
                   tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(Directory))
        die(Directory);
    Owner = getpid();
    guardian_start(remove_directory);
    if (atexit(clean_up) != 0)
        die("atexit");
}

const char *scratch_directory(void) {
    if (!Directory[0])
        make();
    return Directory;
}

const char *scratch_path(const char *name) {
    static char buffers[16][300];
    static size_t next;
    char *buf = buffers[next++ % 16];

    (void)snprintf(buf, sizeof(buffers[0]), "%s/%s", scratch_directory(), name);
    return buf;
}

const char *scratch_fresh(const char *name) {
    static size_t next;
    char fresh[64];

    (void)snprintf(fresh, sizeof(fresh), "%s-%zu", name, next++);
    return scratch_path(fresh);
}

size_t scratch_read(const char *path, char *buf, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got;

    if (fd < 0)
        die(path);
    while ((got = read(fd, buf + used, size - used)) > 0)
        used += (size_t)got;
    if (got < 0 || used == size)
        die(path);
    (void)close(fd);
    return used;
}

void scratch_write(const char *path, const char *data, size_t size) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || truncate(path, (off_t)size) != 0)
        die(path);
    (void)close(fd);
}
