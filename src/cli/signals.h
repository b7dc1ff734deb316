/*
 * Which signals the command takes for itself while it waits and while CMD runs, and how to give
 * CMD back what our caller had set.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

typedef struct cli_signals {
    sigset_t inherited;        /* the mask */
    sigset_t ending;           /* HUP INT QUIT TERM USR1 USR2, less those our caller ignores */
    sigset_t watched;          /* the same and CHLD CONT TSTP: read while CMD runs */
    struct sigaction old_chld; /* dispositions that we changed */
    struct sigaction old_pipe;
} cli_signals;

/*
 * Blocks what is to be read from a signalfd, TTIN and TTOU too, and ignores PIPE. To be called
 * before any thread is started: threads inherit the mask. Cannot fail.
 */
void cli_signals_take(cli_signals *ret_signals);

/* Whether a stop by the terminal is left to the system, for as long as there is no CMD. */
void cli_signals_allow_stop(const cli_signals *signals, bool allowed);

/* From now on SIGINT ends the process. A shell goes on with its script after a command that exits,
 * whatever its status, and ends when the command died of SIGINT. */
void cli_signals_allow_interrupt(void);

/* Ends the process by SIGPIPE, also where that is ignored: the reader of the output has what it
 * wants. So does a shell end others in a pipe. */
_Noreturn void cli_signals_end_by_pipe(void);

/* Mask and dispositions as they were; async-signal-safe. */
void cli_signals_restore(const cli_signals *signals);

#endif
