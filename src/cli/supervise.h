/*
 * Runs CMD and watches over the hold it works under: forwards signals, follows stops and
 * continues, and ends CMD's process group before the hold stops being certain, or does what
 * --on-lost says in its place.
 */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include "cli/child.h"
#include "cli/grace.h"
#include "cli/holds.h"

#include <stdbool.h>

typedef struct cli_supervision {
    const cli_holds *holds; /* of the calling thread, which is the main thread */
    cli_grace grace;        /* adapted to on_lost */
    cli_on_lost on_lost;
    int lost_fd; /* an eventfd that is written to when a hold is lost */
    cli_guardian *guardian;
    int64_t renew_ms; /* how often it is told how long CMD may run */
    cli_child_request child;
} cli_supervision;

typedef struct cli_ending {
    int exit_status;
    int command_status;  /* CMD's own, as a shell would report it */
    bool is_lost;        /* the hold was lost, or CMD was killed because it was about to be */
    bool is_stopped;     /* is_lost, or CMD was sent SIGTERM for the hold: exit_status says so */
    bool is_interrupted; /* Ctrl-C on the terminal ended CMD: our own group should hear of it */
} cli_ending;

/* Returns when CMD has ended and been reaped. */
void cli_supervise(const cli_supervision *supervision, cli_ending *ret_ending);

#endif
