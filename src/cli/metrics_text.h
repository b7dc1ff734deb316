/*
 * The metrics of a run in Prometheus' text format. Knows no clock and no file: numbers go in, text
 * comes out.
 *
 * Left out is what is always 0 for a run: holds that are handed on, and guarded writes.
 */
#ifndef CLI_METRICS_TEXT_H
#define CLI_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zklock.h>

/* Of the last run that is over. Times are in ms since 1970; 0: not known. */
typedef struct cli_metrics_last {
    int64_t ended_ms;
    int64_t succeeded_ms; /* of the last run with exit status 0 */
    int exit_status;      /* if ended_ms is known */
} cli_metrics_last;

typedef struct cli_metrics_lock {
    const char *name;
    bool is_held;
    zkl_lock_statistics stats;
} cli_metrics_lock;

typedef struct cli_metrics_values {
    const char *run; /* tells the files of one directory apart: a label of all samples */
    bool is_active;  /* it waits, or its command runs */
    int64_t started_ms;
    cli_metrics_last last;
    bool has_session; /* else there are no statistics */
    zkl_session_statistics session;
    size_t count;
    cli_metrics_lock locks[ZKL_ALL_MAX];
} cli_metrics_values;

void cli_metrics_print(FILE *out, const cli_metrics_values *values);

/* What an earlier text says of the last run; all 0 where it says nothing. */
void cli_metrics_scan(FILE *in, cli_metrics_last *ret_last);

#endif
