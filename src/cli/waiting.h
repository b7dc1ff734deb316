/*
 * What run says while it waits: who holds the lock, and how many stand before us. Once at the
 * start, and then at most once a minute, if that has changed. A thread of its own looks, because
 * the main thread waits, and a callback may not.
 */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include <stddef.h>
#include <zklock.h>

typedef struct cli_waiting cli_waiting;

/* NULL: there can be no thread, and nothing is said. The calls below take that, too. */
cli_waiting *cli_waiting_start(zkl_session *session);

/* In the callback of a lock that has been told QUEUED. Its name is borrowed until _end. */
void cli_waiting_queued(cli_waiting *waiting, const char *name, size_t position);

/* From now on nothing is said. */
void cli_waiting_stop(cli_waiting *waiting);

/* When the session is closed: a look may be under way until then. */
void cli_waiting_free(cli_waiting *waiting);

#endif
