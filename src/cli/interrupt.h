/*
 * Signals while the command connects and waits for the lock: a thread that reads them and cancels
 * the wait. It is gone again before CMD is started.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "cli/signals.h"

#include <stdbool.h>
#include <zklock.h>

typedef struct cli_interrupt cli_interrupt;

/* NULL when there can be no thread. Until cli_interrupt_watch a signal ends the process. */
cli_interrupt *cli_interrupt_start(const cli_signals *signals);

/* From now on a signal cancels the acquires of lock, until cli_interrupt_stop. One of several that
 * are acquired at once stands for all of them. */
void cli_interrupt_watch(cli_interrupt *interrupt, zkl_lock *lock);

/* Before a signal ends the process, the thread calls farewell, with the exit status. */
void cli_interrupt_before_exit(cli_interrupt *interrupt, void (*farewell)(void *arg, int status),
                               void *arg);

/* From now on a signal is only kept, for who has something to tidy up first. */
void cli_interrupt_keep(cli_interrupt *interrupt);

/* Whether a signal has come. */
bool cli_interrupt_came(cli_interrupt *interrupt);

/* Ends the thread and frees it; the signal that came, or 0. NULL is accepted. */
int cli_interrupt_stop(cli_interrupt *interrupt);

#endif
