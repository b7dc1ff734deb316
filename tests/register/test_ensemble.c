/*
 * The register test on three servers, each in a network namespace, that are broken in every way
 * that the network and an operator have; see run.h and, for what each fault is, ensemble.sh.
 *
 * The longer form: register_ensemble [--seconds N] [--seed N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "register/run.h"
#include "register/worker.h"
#include "support/fixture.h"
#include "support/netns.h"

/*
 * A server that is cut off from the others serves its clients for syncLimit ticks, 4 s: longer than
 * their sessions last. The others give it up after the same time. initLimit: see server.partition.
 */
#define SERVER_OPTIONS                                                                             \
    "--prop", "syncLimit=8", "--prop", "initLimit=4", "--prop", "cnxTimeout=500", "--prop",        \
        "fastleader.maxNotificationInterval=400"

#define SESSION_MS 2000
/* Some are over before anybody has noticed, some long after all have. */
#define EACH 1000, 6000
#define AT_ONCE 0, 0 /* the script makes it last */
/* Until another leads. */
#define DEPOSED 5000, 7000
#define MOMENT 500, 3000
/* Longer than any session, unless the servers that come back count anew. */
#define DOWN 2 * SESSION_MS, 4 * SESSION_MS

static const breaker_fault Faults[] = {
    {"the leader cut off from the others", "isolate", BREAKER_LEADER, DEPOSED},
    {"a follower cut off from the others", "isolate", BREAKER_FOLLOWER, EACH},
    {"clients cut off from their server", "clients", BREAKER_BUSIEST, EACH},
    {"a follower that lags", "lag", BREAKER_FOLLOWER, AT_ONCE},
    {"packets from the leader lost", "mute", BREAKER_LEADER, EACH},
    {"replies to clients lost", "replies", BREAKER_BUSIEST, EACH},
    {"the leader killed", "kill", BREAKER_LEADER, EACH},
    {"all restarted one by one", "restart", BREAKER_ANY, AT_ONCE},
    {"all down for longer than a session lasts", "down", BREAKER_ANY, DOWN},
    {"the leader cut off for a moment", "isolate", BREAKER_LEADER, MOMENT},
    {"packets to the leader lost", "deaf", BREAKER_LEADER, EACH},
    {"packets from a follower lost", "mute", BREAKER_FOLLOWER, EACH},
    {"packets to a follower lost", "deaf", BREAKER_FOLLOWER, EACH},
    {"a follower killed", "kill", BREAKER_FOLLOWER, EACH},
    {"the leader frozen", "freeze", BREAKER_LEADER, EACH},
    {"a follower frozen", "freeze", BREAKER_FOLLOWER, EACH},
};
#define FIRST 9

static breaker_plan Servers = {
    .script = ZKLOCK_SOURCE_DIR "/tests/support/ensemble.sh",
    .faults = Faults,
    .count = sizeof(Faults) / sizeof(Faults[0]),
    .rest_ms = 2000, /* the sessions of the dead end, under a new leader as well */
    .first = FIRST,
};

static run_plan Plan = {
    .seconds = 90,
    .session_ms = SESSION_MS,
    .fault_every_ms = 2000,
    .breaker = &Servers,
    .strokes = FIRST,
};

static void whatever_breaks_in_the_ensemble_nothing_is_lost_and_no_two_hold(void) {
    run_register(&Plan);
}

int main(int argc, char **argv) {
    static const char *const options[] = {NETNS_OPTIONS, SERVER_OPTIONS, NULL};
    static const test_case cases[] = {
        {"whatever breaks in the ensemble, nothing is lost and no two hold",
         whatever_breaks_in_the_ensemble_nothing_is_lost_and_no_two_hold},
    };

    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argc, argv);
    if (!run_parse(argc, argv, &Plan)) {
        fprintf(stderr, "usage: %s [--kills N] [--stops N] [--seconds N] [--seed N]\n", argv[0]);
        return 64;
    }
    fixture_start_in_netns(options);
    Servers.directory = server_directory();
    return TEST_MAIN(1, argv, "ensemble", cases);
}
