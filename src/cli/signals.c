/* Signal mask and dispositions of the command. */
#include "cli/signals.h"

#include "cli/exit_status.h"

#include <stddef.h>
#include <unistd.h>

static const int Ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/*
 * A signal that is ignored and blocked would be queued for the signalfd all the same. What our
 * caller ignores (nohup; the jobs of a shell without job control) stays ignored, here and in CMD.
 */
static void add_unless_ignored(sigset_t *set, int signal_number) {
    struct sigaction action;
    if (sigaction(signal_number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(set, signal_number);
}

void cli_signals_take(cli_signals *ret_signals) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&ret_signals->ending);
    for (size_t i = 0; i < sizeof(Ending) / sizeof(Ending[0]); i++)
        add_unless_ignored(&ret_signals->ending, Ending[i]);
    ret_signals->watched = ret_signals->ending;
    add_unless_ignored(&ret_signals->watched, SIGTSTP);
    sigaddset(&ret_signals->watched, SIGCONT);
    sigaddset(&ret_signals->watched, SIGCHLD);

    /* Ignored, it would take CMD's status away from waitid. */
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, &ret_signals->old_chld);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &ret_signals->old_pipe);

    /* From the background tcsetpgrp would stop us, and so would a message on some terminals. */
    sigset_t blocked = ret_signals->watched;
    sigaddset(&blocked, SIGTTOU);
    /* The library's threads must not take it when the main thread stops the job with it. */
    sigaddset(&blocked, SIGTTIN);
    pthread_sigmask(SIG_BLOCK, &blocked, &ret_signals->inherited);
}

void cli_signals_allow_stop(const cli_signals *signals, bool allowed) {
    sigset_t stop;
    sigemptyset(&stop);
    if (!sigismember(&signals->inherited, SIGTSTP))
        sigaddset(&stop, SIGTSTP);
    pthread_sigmask(allowed ? SIG_UNBLOCK : SIG_BLOCK, &stop, NULL);
}

void cli_signals_allow_interrupt(void) {
    const struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigaction(SIGINT, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
}

void cli_signals_end_by_pipe(void) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
    _exit(CLI_EXIT_SIGNAL_BASE + SIGPIPE);
}

void cli_signals_restore(const cli_signals *signals) {
    sigaction(SIGCHLD, &signals->old_chld, NULL);
    sigaction(SIGPIPE, &signals->old_pipe, NULL);
    pthread_sigmask(SIG_SETMASK, &signals->inherited, NULL);
}
