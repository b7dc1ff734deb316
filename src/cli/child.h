/*
 * Starts CMD: in a process group of its own, with the signals, descriptors and environment that
 * our caller gave us. The kernel tells CMD when this process dies.
 */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include "cli/cgroup.h"
#include "cli/descriptors.h"
#include "cli/guardian.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_child_request {
    char *const *command;   /* CMD and its arguments, ends with NULL */
    char *paths;            /* where to look for CMD's file, see cli_search_paths */
    const char *lock_names; /* one to a line, as the paths */
    const char *node_paths;
    int64_t token;
    const cli_descriptors *inherited;
    const cli_signals *signals;
    const cli_terminal *terminal; /* lent to CMD if lend_terminal and if it is ours */
    bool lend_terminal;
    const cli_guardian *guardian; /* that ends CMD's group if we cannot */
    const cli_cgroup *cgroup;     /* that CMD runs in; NULL: in ours */
    int death_signal;             /* what CMD gets from the kernel when we die; 0: none */
} cli_child_request;

/*
 * Forks. On success *ret_pid, which is also the id of the process group, and *ret_status_fd, the
 * caller's to read with cli_child_exec_error and to close. To be called on the main thread: the
 * kernel signals CMD when the thread that forked it ends. False with errno.
 */
bool cli_child_start(const cli_child_request *request, pid_t *ret_pid, int *ret_status_fd);

/*
 * Reads the status descriptor, which becomes readable once CMD runs or cannot be run: 0, the errno
 * of the exec that failed, or a negative one: CMD could not enter the cgroup.
 */
int cli_child_exec_error(int status_fd);

#endif
