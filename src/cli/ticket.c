/* The ticket in a file: see ticket.h. And zklock end, which reads it. */
#include "cli/ticket.h"

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_TIMEOUT_MS 10000

/* The file, locked, or -1 with errno. Its name is one that no file has had. */
static int create(char *path, char *ticket) {
    size_t length = strlen(ticket);
    int fd = mkostemp(path, O_CLOEXEC); /* for its user only */
    if (fd < 0)
        return -1;
    ticket[length] = '\n';              /* the bytes that it has there */
    (void)flock(fd, LOCK_EX | LOCK_NB); /* fails where there are no locks */
    if (write(fd, ticket, length + 1) == (ssize_t)(length + 1))
        return fd;
    int error = errno;
    (void)unlink(path);
    close(fd);
    errno = error;
    return -1;
}

static bool is_file_at(const char *path, int fd) {
    struct stat there, ours;
    return lstat(path, &there) == 0 && fstat(fd, &ours) == 0 && there.st_dev == ours.st_dev &&
           there.st_ino == ours.st_ino;
}

/*
 * What is to be replaced: a dead run's ticket, or the user's file. A run has its own locked for as
 * long as it lives. Locked by us, no other run replaces it before we do. -1: there is none, with
 * ENOENT; or none that we may open.
 */
static bool take_place(const char *file, int *ret_fd) {
    *ret_fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (*ret_fd < 0)
        return true;
    bool is_locked = flock(*ret_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_locked && is_file_at(file, *ret_fd))
        return true;
    close(*ret_fd);
    *ret_fd = -1;
    errno = EBUSY;
    return false;
}

/* Nobody's file was there: a link replaces none that has come since. */
static bool put_at_free_place(const char *path, const char *file) {
    if (link(path, file) == 0) {
        (void)unlink(path);
        return true;
    }
    if (errno == EEXIST) {
        errno = EBUSY;
        return false;
    }
    return rename(path, file) == 0; /* some file systems have no links */
}

static bool put(const cli_ticket *t, const char *path) {
    int old_fd = -1;
    if (t->fd >= 0)
        return rename(path, t->file) == 0;
    if (!take_place(t->file, &old_fd))
        return false;
    bool is_free = old_fd < 0 && errno == ENOENT;
    bool is_put = is_free ? put_at_free_place(path, t->file) : rename(path, t->file) == 0;
    int error = errno;
    if (old_fd >= 0)
        close(old_fd);
    errno = error;
    return is_put;
}

/* What stands at that name would be replaced: a device too, by root. */
static bool is_other_than_file(const char *file) {
    struct stat status;
    return stat(file, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static bool replace(cli_ticket *t, char *ticket) {
    char *path = NULL;
    if (is_other_than_file(t->file)) {
        errno = ENOTSUP;
        return false;
    }
    if (asprintf(&path, "%s.XXXXXX", t->file) < 0) {
        errno = ENOMEM;
        return false;
    }
    int fd = create(path, ticket);
    bool is_put = fd >= 0 && put(t, path);
    int error = errno;
    if (fd >= 0 && !is_put)
        (void)unlink(path); /* the ticket is in it */
    int over_fd = is_put ? t->fd : fd;
    if (is_put)
        t->fd = fd;
    if (over_fd >= 0)
        close(over_fd);
    free(path);
    errno = error;
    return is_put;
}

bool cli_ticket_write(cli_ticket *t, zkl_session *session) {
    char ticket[ZKL_TICKET_SIZE];
    pthread_mutex_lock(&t->mutex);
    bool is_written = zkl_session_ticket(session, ticket, sizeof(ticket)) != ZKL_OK ||
                      replace(t, ticket);
    int error = errno;
    pthread_mutex_unlock(&t->mutex);
    explicit_bzero(ticket, sizeof(ticket));
    errno = error;
    return is_written;
}

void cli_ticket_remove(cli_ticket *t) {
    if (t->fd < 0)
        return;
    if (is_file_at(t->file, t->fd))
        (void)unlink(t->file);
    close(t->fd);
    t->fd = -1;
}

/* ---- zklock end ---- */

/* False with errno. */
static bool read_line(const char *file, char ret_ticket[ZKL_TICKET_SIZE + 1]) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, ret_ticket, ZKL_TICKET_SIZE);
    int error = errno;
    close(fd);
    errno = error;
    ret_ticket[length < 0 ? 0 : length] = '\0';
    ret_ticket[strcspn(ret_ticket, "\n")] = '\0';
    return length >= 0;
}

static int end_session(const cli_options *o, const char *ticket) {
    zkl_err err = zkl_session_end(o->hosts, ticket, END_TIMEOUT_MS);
    if (err == ZKL_INVALID) {
        cli_message("'%s' has no ticket, or --hosts '%s' is not a list of servers (see 'zklock end "
                    "--help')",
                    o->name, o->hosts);
        return CLI_EXIT_USAGE;
    }
    if (err == ZKL_UNSURE) {
        cli_message("the servers have not confirmed the end of the session in time: try again");
        return CLI_EXIT_NO_SERVER;
    }
    if (err != ZKL_OK && err != ZKL_CLOSED) {
        cli_message_error("cannot end the session", err);
        return cli_exit_status_of(err);
    }
    cli_message_detail(err == ZKL_OK ? "the session has been ended" : "the session was over");
    (void)unlink(o->name); /* another may have done so */
    return CLI_EXIT_OK;
}

int cli_end(const cli_options *options) {
    char ticket[ZKL_TICKET_SIZE + 1];
    if (!read_line(options->name, ticket)) {
        if (errno == ENOENT) { /* a run that ends in good order removes it */
            cli_message_detail("%s: no ticket, so there is nothing to end", options->name);
            return CLI_EXIT_OK;
        }
        cli_message("%s: %s", options->name, strerror(errno));
        return CLI_EXIT_USAGE;
    }
    int status = end_session(options, ticket);
    explicit_bzero(ticket, sizeof(ticket));
    return status;
}
