/*
 * The locks in use, and of each the head of its queue: who holds it, and since when the first one
 * waits. Several queues are read at a time. The reads of each are bounded, however long it is.
 */
#ifndef CLI_SURVEY_H
#define CLI_SURVEY_H

#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zklock.h>

/* Contenders that are looked at; the second number if the first all hold, and there are more. */
#define CLI_SURVEY_HEAD 4
#define CLI_SURVEY_HEAD_MAX 64

typedef struct cli_surveyed {
    char *name;
    zkl_err err;       /* why its queue could not be read; then only this is known: */
    size_t contenders; /* ZKL_UNREADABLE: its directory may not be listed */
    size_t holders;
    bool are_more;            /* holders than were looked at */
    int64_t waiting_since_ms; /* the first waiter; 0: there is none, or it was not looked at */
    char *holder;             /* what describe made of the first holder; NULL: there is none */
} cli_surveyed;

/* Sorted by name. */
typedef struct cli_survey {
    cli_surveyed *locks;
    size_t count;
    zkl_err err; /* of what could not be read beside the rest, else ZKL_OK */
} cli_survey;

/* Called on several threads at a time. Into new memory; NULL when out of memory. */
typedef char *(*cli_survey_describe_fn)(const zkl_contender *holder);

/*
 * Of the locks at or below prefix, NULL for all. Without describe it lists them only: no queue is
 * read. On an error there is nothing to free; a queue that cannot be read is none, unless no server
 * answers.
 */
zkl_err cli_survey_make(cli_survey *ret_survey, zkl_session *session, const char *prefix,
                        cli_survey_describe_fn describe);
void cli_survey_free(cli_survey *survey);

/* By name, the most contenders first, or who waits longest first; equal ones by name. */
void cli_survey_sort(cli_survey *survey, cli_sort sort);

/* How long the first waiter waits, by the clock of this machine: 0 for none, -1 if that is not
 * known. */
int64_t cli_survey_wait_ms(const cli_surveyed *lock);

#endif
