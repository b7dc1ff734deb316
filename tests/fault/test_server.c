/* A server that stops or dies in the middle of every scenario, with a frame of each under way. */
#include "matrix.h"

#define FROZEN_MS 3000
#define OUTAGE_MS 30000 /* with a start of the server, and all scenarios at their middle */

static void freeze(void) {
    server_freeze();
    matrix_let_go();
    wait_out(FROZEN_MS);
    server_thaw();
}

/* What is under way is lost with it. */
static void kill_frozen(void) {
    server_freeze();
    matrix_let_go();
    matrix_restart_server();
}

/* What is under way may be done, and the client may hear of it, or not. */
static void kill_at_work(void) {
    matrix_let_go();
    matrix_restart_server();
}

static void a_short_freeze_costs_nothing(void) {
    matrix_strike_server(FAULT_SERVER_SHORT, 4 * FROZEN_MS, OUTAGE_MS, freeze);
}

static void a_long_freeze_is_survived(void) {
    matrix_strike_server(FAULT_SERVER_LONG, FROZEN_MS / 2, OUTAGE_MS, freeze);
}

static void the_end_of_a_frozen_server_is_survived(void) {
    matrix_strike_server(FAULT_SERVER_LONG, T_NORMAL, OUTAGE_MS, kill_frozen);
}

static void the_end_of_a_working_server_is_survived(void) {
    matrix_strike_server(FAULT_SERVER_LONG, T_NORMAL, OUTAGE_MS, kill_at_work);
}

static const test_case Cases[] = {
    {"a freeze of T/4 in the middle of any scenario costs no more than time",
     a_short_freeze_costs_nothing},
    {"a freeze for longer than T in the middle of any scenario is survived",
     a_long_freeze_is_survived},
    {"a server that dies before it reads what is under way is survived",
     the_end_of_a_frozen_server_is_survived},
    {"a server that dies at work is survived", the_end_of_a_working_server_is_survived},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    if (!server_is_ours()) {
        test_skip("not our server");
        return 77;
    }
    return TEST_MAIN(argc, argv, "server", Cases);
}
