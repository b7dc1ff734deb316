/*
 * Heartbeats keep the certainty of a hold between about 0.5 T and 0.96 T. SIGTERM at 0.4 T or
 * below therefore means that more than one heartbeat in a row has stayed away.
 */
#include "cli/grace.h"

/*
 * What this process may need to be scheduled, and a killed one to be gone. With ten runnable
 * processes a core, 60 ms were seen to be too short.
 */
#define SAFETY_MIN_MS 100
#define SAFETY_DIVISOR 25
#define DEFAULT_DIVISOR 4

static int64_t most_term_ms(int timeout_ms) {
    return (int64_t)timeout_ms * 2 / 5;
}

/* At the shortest timeouts that would be most of the hold; half of what there is must do. */
static int64_t safety_ms(int timeout_ms) {
    int64_t safety = timeout_ms / SAFETY_DIVISOR;
    int64_t most = most_term_ms(timeout_ms) / 2;
    safety = safety < SAFETY_MIN_MS ? SAFETY_MIN_MS : safety;
    return safety > most ? most : safety;
}

bool cli_grace_plan(cli_grace *ret_grace, int timeout_ms, int64_t asked_ms, int64_t *ret_most_ms) {
    int64_t safety = safety_ms(timeout_ms);
    int64_t most = most_term_ms(timeout_ms) - safety;
    int64_t grace = asked_ms;
    if (grace < 0) {
        grace = timeout_ms / DEFAULT_DIVISOR;
        grace = grace > most ? most : grace;
    }
    if (grace > most) {
        *ret_most_ms = most;
        return false;
    }
    *ret_grace = (cli_grace){
        .term_ms = grace + safety, .over_ms = safety, .guard_ms = safety - safety / 4};
    return true;
}

void cli_grace_adapt(cli_grace *grace, cli_on_lost on_lost) {
    switch (on_lost) {
    case CLI_ON_LOST_KILL:
        return;
    case CLI_ON_LOST_TERM: /* the guardian comes as much after us as it does with SIGKILL */
        grace->guard_ms += grace->term_ms - grace->over_ms;
        break;
    case CLI_ON_LOST_IGNORE:
        grace->guard_ms = grace->term_ms = 0;
        break;
    }
    grace->over_ms = 0;
}

cli_stage cli_grace_stage(const cli_grace *grace, cli_stage stage, int64_t remaining_ms) {
    if (stage == CLI_STAGE_OVER || remaining_ms <= grace->over_ms)
        return CLI_STAGE_OVER;
    if (stage == CLI_STAGE_TERMINATED || remaining_ms <= grace->term_ms)
        return CLI_STAGE_TERMINATED;
    return CLI_STAGE_RUNNING;
}

int64_t cli_grace_wait_ms(const cli_grace *grace, cli_stage stage, int64_t remaining_ms) {
    int64_t until = stage == CLI_STAGE_RUNNING ? grace->term_ms : grace->over_ms;
    if (stage == CLI_STAGE_OVER)
        return -1;
    return remaining_ms - until > 1 ? remaining_ms - until : 1;
}
