/*
 * fork and exec by hand. The process has threads, so between the two only async-signal-safe calls
 * are allowed: arguments and environment are prepared before the fork.
 */
#include "cli/child.h"

#include "cli/search.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define VARIABLES 3
#define TOKEN_BYTES 24

static const char *const Names[VARIABLES] = {"ZKLOCK_NAME=", "ZKLOCK_TOKEN=", "ZKLOCK_NODE="};

/* All that the child needs, in memory of ours. */
typedef struct plan {
    const cli_child_request *request;
    char *variables[VARIABLES];
    char **environment; /* borrowed strings and the variables */
    char **shell;       /* "/bin/sh", a candidate, CMD's arguments: for scripts without "#!" */
    pid_t parent;
    int status_fd;
} plan;

static void plan_fini(plan *p) {
    for (size_t i = 0; i < VARIABLES; i++)
        free(p->variables[i]);
    free(p->environment);
    free(p->shell);
}

static bool is_replaced(const char *variable) {
    for (size_t i = 0; i < VARIABLES; i++)
        if (strncmp(variable, Names[i], strlen(Names[i])) == 0)
            return true;
    return false;
}

static bool set_variable(plan *p, size_t i, const char *value) {
    if (asprintf(&p->variables[i], "%s%s", Names[i], value) < 0) {
        p->variables[i] = NULL;
        return false;
    }
    return true;
}

static bool plan_environment(plan *p) {
    const cli_child_request *r = p->request;
    char token[TOKEN_BYTES];
    size_t count = 0;
    size_t kept = 0;
    (void)snprintf(token, sizeof(token), "%" PRId64, r->token); /* always fits */
    if (!set_variable(p, 0, r->lock_names) || !set_variable(p, 1, token) ||
        !set_variable(p, 2, r->node_paths))
        return false;
    while (environ[count] != NULL)
        count++;
    p->environment = calloc(count + VARIABLES + 1, sizeof(*p->environment));
    if (p->environment == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_replaced(environ[i]))
            p->environment[kept++] = environ[i];
    for (size_t i = 0; i < VARIABLES; i++)
        p->environment[kept++] = p->variables[i];
    return true;
}

static bool plan_shell(plan *p) {
    size_t count = 0;
    while (p->request->command[count] != NULL)
        count++;
    p->shell = calloc(count + 2, sizeof(*p->shell));
    if (p->shell == NULL)
        return false;
    p->shell[0] = (char *)"/bin/sh";
    for (size_t i = 1; i < count; i++)
        p->shell[i + 1] = p->request->command[i];
    return true;
}

/* Returns only if no candidate can be executed: the errno a shell would report. */
static int try_candidates(const plan *p) {
    int result = ENOENT;
    bool is_last = false;
    char *path = p->request->paths;
    for (; *path != '\0' && !is_last; path += strlen(path) + 1) {
        execve(path, p->request->command, p->environment);
        if (errno == ENOEXEC) {
            p->shell[1] = path;
            execve(p->shell[0], p->shell, p->environment);
            return ENOEXEC;
        }
        result = cli_search_error(result, errno, &is_last);
    }
    return result;
}

_Noreturn static void fail(const plan *p, int error) {
    ssize_t written = write(p->status_fd, &error, sizeof(error));
    _exit(written == (ssize_t)sizeof(error) ? EXIT_SUCCESS : EXIT_FAILURE);
}

/*
 * In the child. If the parent dies between the fork and prctl, the kernel sends no signal.
 * SIGTTOU is still blocked when the terminal is taken, and the mask goes back last.
 */
_Noreturn static void become_command(const plan *p) {
    const cli_child_request *r = p->request;
    if (prctl(PR_SET_PDEATHSIG, r->death_signal) != 0 || getppid() != p->parent)
        _exit(EXIT_FAILURE);
    int error = cli_cgroup_join(r->cgroup);
    if (error != 0)
        fail(p, -error);
    (void)setpgid(0, 0); /* cannot fail for a child that has not exec'ed */
    if (!cli_guardian_join(r->guardian))
        _exit(EXIT_FAILURE);
    if (r->lend_terminal)
        cli_terminal_give(r->terminal, getpid());
    cli_descriptors_close_others(r->inherited, p->status_fd);
    cli_signals_restore(r->signals);
    fail(p, try_candidates(p));
}

/* Forks with the plan ready. */
static bool launch(plan *p, pid_t *ret_pid, int *ret_status_fd) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    p->parent = getpid();
    p->status_fd = ends[1];
    pid_t pid = fork();
    if (pid == 0)
        become_command(p);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return false;
    }
    /* Parent and child both do it, so that the group exists for a signal sent right now. */
    (void)setpgid(pid, pid); /* EACCES: the child did it and has exec'ed */
    *ret_pid = pid;
    *ret_status_fd = ends[0];
    return true;
}

bool cli_child_start(const cli_child_request *request, pid_t *ret_pid, int *ret_status_fd) {
    plan p = {.request = request};
    bool started = false;
    errno = ENOMEM;
    if (plan_environment(&p) && plan_shell(&p))
        started = launch(&p, ret_pid, ret_status_fd);
    int error = errno;
    plan_fini(&p);
    errno = error;
    return started;
}

int cli_child_exec_error(int status_fd) {
    int error = 0;
    ssize_t n;
    do {
        n = read(status_fd, &error, sizeof(error));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(error) ? error : 0;
}
