/*
 * When CMD has to be stopped so that it is gone before its hold stops being certain. Pure
 * arithmetic over zkl_remaining_ms.
 */
#ifndef CLI_GRACE_H
#define CLI_GRACE_H

#include "cli/on_lost.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_grace {
    int64_t term_ms;  /* SIGTERM when this much certainty remains */
    int64_t over_ms;  /* SIGKILL when this much remains; 0, and no signal, if CMD may run on */
    int64_t guard_ms; /* the guardian acts when this much remains */
} cli_grace;

/*
 * For a session timeout, with the time asked for between the two signals, or -1 for the default
 * of a quarter of the timeout. False: it does not fit, and *ret_most_ms says what would.
 */
bool cli_grace_plan(cli_grace *ret_grace, int timeout_ms, int64_t asked_ms, int64_t *ret_most_ms);

/* What the plan becomes when CMD is not to be killed. */
void cli_grace_adapt(cli_grace *grace, cli_on_lost on_lost);

typedef enum cli_stage {
    CLI_STAGE_RUNNING,
    CLI_STAGE_TERMINATED, /* SIGTERM was sent */
    CLI_STAGE_OVER        /* SIGKILL was sent, or the hold is lost and CMD may run on */
} cli_stage;

/* The stage that remaining_ms asks for; never an earlier one than stage. */
cli_stage cli_grace_stage(const cli_grace *grace, cli_stage stage, int64_t remaining_ms);

/* How long until the stage can change if nothing is heard, at least 1; -1: never. */
int64_t cli_grace_wait_ms(const cli_grace *grace, cli_stage stage, int64_t remaining_ms);

#endif
