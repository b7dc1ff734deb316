/*
 * Who holds the locks that run wants. While it waits it says that, and how many stand before us. On
 * a terminal that our job has, it does so in one line that is written over. Else it says it once at
 * the start, and then at most once a minute, if it has changed. A thread of its own looks, because
 * the main thread waits, and a callback may not.
 */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include "cli/holder.h"

#include <stdbool.h>
#include <stddef.h>
#include <zklock.h>

typedef struct cli_waiting cli_waiting;

/* At most ZKL_ALL_MAX names, borrowed. NULL: there can be no thread, and nothing is said. The calls
 * below take that, too. */
cli_waiting *cli_waiting_start(zkl_session *session, char *const *names, size_t count, bool says);

/* In a callback: the lock with this index has been told QUEUED. */
void cli_waiting_queued(cli_waiting *waiting, size_t index, size_t position);

/* From now on nothing is said. */
void cli_waiting_stop(cli_waiting *waiting);

/* Behind _stop: who holds the lock of that index. A server that is silent keeps it up for a second
 * at most. False: nobody else, or it is not known. */
bool cli_waiting_ask(cli_waiting *waiting, size_t index, cli_holder *ret_holder);

/* The thread ends. False: it is still looking after a second; then the session must stay, and all
 * that this has. */
bool cli_waiting_end(cli_waiting *waiting);

#endif
