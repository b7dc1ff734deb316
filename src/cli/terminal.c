/* The terminal's foreground process group. */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_terminal_open(cli_terminal *ret_terminal, bool wanted) {
    ret_terminal->fd = wanted ? open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    ret_terminal->own_group = getpgrp();
}

void cli_terminal_close(cli_terminal *terminal) {
    if (terminal->fd >= 0) {
        close(terminal->fd);
        terminal->fd = -1;
    }
}

bool cli_terminal_exists(const cli_terminal *terminal) {
    return terminal->fd >= 0;
}

bool cli_terminal_has(const cli_terminal *terminal, pid_t group) {
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == group;
}

bool cli_terminal_in_pipeline(void) {
    const int ends[] = {STDIN_FILENO, STDOUT_FILENO};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct stat status;
        if (fstat(ends[i], &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
            return true;
    }
    return false;
}

void cli_terminal_give(const cli_terminal *terminal, pid_t group) {
    if (cli_terminal_has(terminal, terminal->own_group))
        (void)tcsetpgrp(terminal->fd, group); /* fails when the terminal hung up: nothing to lend */
}

static void on_continue(int signal_number) {
    (void)signal_number;
}

/*
 * Between tcgetpgrp and kill the shell could put our group into the foreground, and we would stop
 * there. tcsetpgrp looks and stops in one step of the kernel. The handler makes it return with
 * EINTR after a stop. Otherwise it would begin anew and stop again, and a SIGTERM that came with
 * the SIGCONT would never reach CMD.
 */
cli_terminal_answer cli_terminal_ask(const cli_terminal *terminal, pid_t group) {
    const struct sigaction stop = {.sa_handler = SIG_DFL};
    const struct sigaction interrupt = {.sa_handler = on_continue};
    const struct timespec now = {0};
    struct sigaction old_stop;
    struct sigaction old_continue;
    sigset_t signals;
    sigset_t mask;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTTOU);
    (void)sigtimedwait(&signals, NULL, &now); /* one from before must not stop us now */
    sigaddset(&signals, SIGCONT);
    sigaction(SIGTTOU, &stop, &old_stop);
    sigaction(SIGCONT, &interrupt, &old_continue);
    pthread_sigmask(SIG_UNBLOCK, &signals, &mask);
    int error = tcsetpgrp(terminal->fd, group) == 0 ? 0 : errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGCONT, &old_continue, NULL);
    sigaction(SIGTTOU, &old_stop, NULL);
    if (error == 0)
        return CLI_TERMINAL_LENT;
    return error == EINTR ? CLI_TERMINAL_CONTINUED : CLI_TERMINAL_REFUSED;
}

bool cli_terminal_take(const cli_terminal *terminal, pid_t group) {
    if (!cli_terminal_has(terminal, group))
        return false;
    (void)tcsetpgrp(terminal->fd, terminal->own_group); /* as above */
    return true;
}
