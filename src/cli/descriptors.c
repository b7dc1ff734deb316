/* Records the open descriptors from /proc, and closes all others in a child. */
#include "cli/descriptors.h"

#include "cli/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where /proc or close_range is missing, descriptors are tried one by one, up to this number. */
#define SEARCH_MAX 65536
#define ROOM_FIRST 16

static bool append(cli_descriptors *d, size_t *room, int fd) {
    if (d->count == *room) {
        size_t larger = *room == 0 ? ROOM_FIRST : *room * 2;
        int *open = reallocarray(d->open, larger, sizeof(*open));
        if (open == NULL)
            return false;
        d->open = open;
        *room = larger;
    }
    d->open[d->count++] = fd;
    return true;
}

static int compare(const void *a, const void *b) {
    int left = *(const int *)a;
    int right = *(const int *)b;
    return (left > right) - (left < right);
}

static bool record_from_directory(cli_descriptors *d, DIR *directory) {
    size_t room = 0;
    const struct dirent *entry;
    int fd;
    while ((entry = readdir(directory)) != NULL) {
        bool is_other = cli_number_whole(entry->d_name, INT_MAX, &fd) && fd != dirfd(directory);
        if (is_other && !append(d, &room, fd))
            return false;
    }
    if (d->count > 0)
        qsort(d->open, d->count, sizeof(*d->open), compare);
    return true;
}

static bool record_by_search(cli_descriptors *d) {
    size_t room = 0;
    for (int fd = 0; fd < (int)d->limit; fd++)
        if (fcntl(fd, F_GETFD) != -1 && !append(d, &room, fd))
            return false;
    return true;
}

/* What is closed stays of no use: reading and writing fail. But no socket gets its number. */
static bool fill_standard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        bool is_open = fcntl(fd, F_GETFD) != -1; /* and those below it are */
        if (!is_open && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return false;
    }
    return true;
}

bool cli_descriptors_record(cli_descriptors *ret_descriptors) {
    cli_descriptors d = {.limit = SEARCH_MAX};
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < SEARCH_MAX)
        d.limit = (unsigned)limit.rlim_cur;
    DIR *directory = opendir("/proc/self/fd");
    bool recorded = directory == NULL ? record_by_search(&d) : record_from_directory(&d, directory);
    if (directory != NULL)
        (void)closedir(directory);
    if (!recorded || !fill_standard()) {
        cli_descriptors_free(&d);
        return false;
    }
    *ret_descriptors = d;
    return true;
}

void cli_descriptors_free(cli_descriptors *descriptors) {
    free(descriptors->open);
    descriptors->open = NULL;
    descriptors->count = 0;
}

/* Closes first..last. */
static void close_gap(const cli_descriptors *d, unsigned first, unsigned last) {
    if (first > last)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    for (unsigned fd = first; fd <= last && fd < d->limit; fd++)
        close((int)fd);
}

static void close_gap_but(const cli_descriptors *d, unsigned first, unsigned last, int keep) {
    if (keep >= 0 && (unsigned)keep >= first && (unsigned)keep <= last) {
        if (keep > 0)
            close_gap(d, first, (unsigned)keep - 1);
        first = (unsigned)keep + 1;
    }
    close_gap(d, first, last);
}

void cli_descriptors_close_others(const cli_descriptors *descriptors, int keep) {
    unsigned next = 0;
    for (size_t i = 0; i < descriptors->count; i++) {
        unsigned fd = (unsigned)descriptors->open[i];
        if (fd > 0)
            close_gap_but(descriptors, next, fd - 1, keep);
        next = fd + 1;
    }
    close_gap_but(descriptors, next, INT_MAX, keep);
}

void cli_descriptors_close_all_but(int keep) {
    const cli_descriptors none = {.limit = SEARCH_MAX};
    cli_descriptors_close_others(&none, keep);
}
