/*
 * The metrics of a run in a file, for node_exporter's textfile collector (--metrics-file).
 *
 * A disk may be slow or stuck, and neither the wait nor the watch over the hold may wait for it. So
 * a thread of its own reads and writes the file. It writes at the start, when the command starts,
 * every 15 s, and at the end. The file appears as a whole, and stays.
 */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "cli/holds.h"

#include <stdbool.h>
#include <stddef.h>
#include <zklock.h>

typedef struct cli_metrics cli_metrics;

/*
 * Writes the file for the first time, for at most ZKL_ALL_MAX names, borrowed as the file's is.
 * False: it cannot be written, and one line says why. If that is not known within a second, it is
 * true. file may be NULL: then so is *ret_metrics, which the calls below take.
 */
bool cli_metrics_start(cli_metrics **ret_metrics, const char *file, char *const *names,
                       size_t count);

/* There are a session and open locks, borrowed until _end. */
void cli_metrics_connected(cli_metrics *metrics, zkl_session *session, const cli_holds *holds);

/* On the thread that holds the locks: the command starts now. */
void cli_metrics_running(cli_metrics *metrics);

/* The run is over, with this exit status. Takes the last figures and does not wait. */
void cli_metrics_end(cli_metrics *metrics, int exit_status);

/* Behind _end: waits until the file is written, but not longer than a second. Returns whether it
 * is. */
bool cli_metrics_settle(cli_metrics *metrics);

/* The same, and frees all. */
void cli_metrics_finish(cli_metrics *metrics);

#endif
