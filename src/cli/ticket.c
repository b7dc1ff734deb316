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
#include <sys/stat.h>
#include <unistd.h>

#define END_TIMEOUT_MS 10000

/* The bytes that a ticket has there: with a newline. */
static bool write_line(const char *path, char *ticket) {
    size_t length = strlen(ticket);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    ticket[length] = '\n';
    bool is_written = fchmod(fd, 0600) == 0 &&
                      write(fd, ticket, length + 1) == (ssize_t)(length + 1);
    int error = errno;
    close(fd);
    errno = error;
    return is_written;
}

/* What stands at that name would be replaced: a device too, by root. */
static bool is_other_than_file(const char *file) {
    struct stat status;
    return stat(file, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool cli_ticket_write(const char *file, zkl_session *session) {
    char ticket[ZKL_TICKET_SIZE];
    char *fresh = NULL;
    if (zkl_session_ticket(session, ticket, sizeof(ticket)) != ZKL_OK)
        return true;
    if (is_other_than_file(file)) {
        errno = ENOTSUP;
        return false;
    }
    if (asprintf(&fresh, "%s.new", file) < 0) {
        errno = ENOMEM;
        return false;
    }
    bool is_new = write_line(fresh, ticket);
    bool is_written = is_new && rename(fresh, file) == 0;
    int error = errno;
    if (is_new && !is_written)
        (void)unlink(fresh); /* the ticket is in it */
    explicit_bzero(ticket, sizeof(ticket));
    free(fresh);
    errno = error;
    return is_written;
}

void cli_ticket_remove(const char *file) {
    (void)unlink(file); /* another may have done so */
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
    cli_ticket_remove(o->name);
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
