/*
 * zklock fence: shows the token of the run around us to a fence, and runs CMD while no other passes
 * that fence. No server is asked.
 *
 * The fence is locked by descriptors. Their last copy unlocks it, and CMD has none. So this process
 * must outlive CMD: it passes on the signals that would end it. If it is killed all the same, the
 * kernel kills CMD, and the keeper has the fence locked until CMD is gone. The keeper is a child
 * without an exec, so it has the descriptors. It is in a process group of its own: who kills ours
 * does not kill it before CMD is dead.
 */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/inside.h"
#include "cli/message.h"
#include "cli/search.h"
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct fenced {
    char *const *command;
    cli_signals signals;
    pid_t parent, child, keeper;
    int start[2]; /* a byte in it lets CMD begin */
} fenced;

/* ---- In the children ---- */

/* CMD's child. It begins when the keeper is there, and dies with us from its first moment on. */
_Noreturn static void become_command(const fenced *f) {
    char go;
    close(f->start[1]);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != f->parent ||
        read(f->start[0], &go, 1) != 1)
        _exit(EXIT_FAILURE);
    cli_signals_restore(&f->signals);
    execvp(f->command[0], f->command);
    _exit(cli_search_explain(f->command[0], errno));
}

_Noreturn static void keep(const fenced *f, int pidfd) {
    struct pollfd child = {.fd = pidfd, .events = POLLIN};
    sigset_t all;
    (void)prctl(PR_SET_NAME, "zklock-keeper"); /* by the old name, our parent is meant */
    close(f->start[1]);                        /* else CMD would begin after our parent's death */
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL); /* the arguments are right */
    while (poll(&child, 1, -1) <= 0)
        ;
    _exit(EXIT_SUCCESS);
}

/* ---- Here ---- */

/* False with errno: no child is left. */
static bool start(fenced *f) {
    f->parent = getpid();
    if (pipe2(f->start, O_CLOEXEC) != 0)
        return false;
    f->child = fork();
    if (f->child == 0)
        become_command(f);
    int pidfd = f->child < 0 ? -1 : pidfd_open(f->child, 0);
    f->keeper = pidfd < 0 ? -1 : fork();
    if (f->keeper == 0)
        keep(f, pidfd);
    int error = errno;
    if (f->keeper > 0)
        (void)setpgid(f->keeper, f->keeper); /* cannot fail for a child that has not exec'ed */
    bool is_ready = f->keeper > 0 && write(f->start[1], "", 1) == 1;
    close(f->start[0]);
    close(f->start[1]);
    if (pidfd >= 0)
        close(pidfd);
    if (!is_ready && f->child > 0)
        (void)waitpid(f->child, NULL, 0); /* its pipe has ended */
    errno = error;
    return is_ready;
}

/* What the terminal sends goes to CMD as well, which is in our process group. */
static void pass_on(const fenced *f, const siginfo_t *info) {
    if (sigismember(&f->signals.ending, info->si_signo) && info->si_code <= 0)
        (void)kill(f->child, info->si_signo); /* a child of ours, dead or not */
}

static int wait_for_command(const fenced *f) {
    siginfo_t info;
    int status;
    for (;;) {
        pid_t ended = waitpid(f->child, &status, WNOHANG);
        if (ended == f->child)
            return WIFSIGNALED(status) ? CLI_EXIT_SIGNAL_BASE + WTERMSIG(status)
                                       : WEXITSTATUS(status);
        if (sigwaitinfo(&f->signals.watched, &info) > 0)
            pass_on(f, &info);
    }
}

static int run_inside(const cli_options *o, zkl_fence *fence) {
    fenced f = {.command = o->command};
    cli_signals_take(&f.signals);
    cli_signals_allow_stop(&f.signals, true);
    if (!start(&f)) {
        cli_message("%s: cannot be started: %s", o->command[0], strerror(errno));
        return CLI_EXIT_INTERNAL;
    }
    int status = wait_for_command(&f);
    (void)zkl_fence_end(fence);    /* between begin and end */
    (void)kill(f.keeper, SIGKILL); /* a child of ours, dead or not; it may be stopped */
    (void)waitpid(f.keeper, NULL, 0);
    return status;
}

/* ---- The fence ---- */

static int explain(const cli_options *o, const char *name, int64_t token, zkl_err err) {
    if (err == ZKL_STALE)
        cli_message("%s: a later holder of %s has been here: the token %" PRId64 " is stale",
                    o->name, name, token);
    else if (err == ZKL_INVALID)
        cli_message("%s: '%s' is no lock's name", o->name, name);
    else
        cli_message_error(o->name, err);
    return cli_exit_status_of(err);
}

static int pass(const cli_options *o, zkl_fence *fence, const char *name, int64_t token) {
    bool is_check = o->command == NULL;
    zkl_err err = is_check ? zkl_fence_check(fence, name, token)
                           : zkl_fence_begin(fence, name, token);
    if (err != ZKL_OK)
        return explain(o, name, token, err);
    return is_check ? CLI_EXIT_OK : run_inside(o, fence);
}

/* A wrong name costs no token: CMD's file is looked for before the fence is shown one. */
static int find_command(const cli_options *o) {
    if (o->command == NULL)
        return CLI_EXIT_OK;
    char *paths = cli_search_paths(o->command[0]);
    if (paths == NULL) {
        cli_message_error(o->command[0], ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    int error = cli_search_check(paths);
    free(paths);
    return error == 0 ? CLI_EXIT_OK : cli_search_explain(o->command[0], error);
}

static int open_and_pass(const cli_options *o, const char *name, int64_t token) {
    zkl_fence *fence;
    zkl_err err = zkl_fence_open(&fence, o->name, NULL);
    if (err == ZKL_INVALID) {
        cli_message("'%s' cannot be a fence's file: it names none, is too long or ends in .new",
                    o->name);
        return CLI_EXIT_USAGE;
    }
    if (err != ZKL_OK) {
        cli_message_error(o->name, err);
        return cli_exit_status_of(err);
    }
    int status = pass(o, fence, name, token);
    (void)zkl_fence_close(fence); /* not forked: in this process */
    return status;
}

int cli_fence(const cli_options *options) {
    int64_t token;
    int status = find_command(options);
    if (status != CLI_EXIT_OK)
        return status;
    if (!cli_inside_token(&token))
        return CLI_EXIT_USAGE;
    char *name = cli_inside_lock(options->of_lock);
    status = name == NULL ? CLI_EXIT_USAGE : open_and_pass(options, name, token);
    free(name);
    return status;
}
