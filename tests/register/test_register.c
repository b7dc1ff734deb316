/*
 * The register test, with faults of the processes and, for servers in containers, of the servers;
 * see run.h.
 *
 * The longer form: register_register --kills 1000 --stops 200 [--seconds N] [--seed N]
 *
 * With ZKLOCK_DOCKER_DIR, what docker.sh calls --dir, and its ZKLOCK_HOSTS in the environment, each
 * process knows all three servers, without a proxy, and the cuts are those of the servers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "register/run.h"
#include "register/worker.h"
#include "support/fixture.h"

/* Followers give a silent leader up after 2.5 s; some faults are over before, some long after. */
#define EACH 1000, 6000

static const breaker_fault Faults[] = {
    {"the leader paused", "pause", BREAKER_LEADER, EACH},
    {"a follower paused", "pause", BREAKER_FOLLOWER, EACH},
    {"the leader killed", "kill", BREAKER_LEADER, EACH},
    {"a follower killed", "kill", BREAKER_FOLLOWER, EACH},
    {"the leader cut off", "cut", BREAKER_LEADER, EACH},
    {"a follower cut off", "cut", BREAKER_FOLLOWER, EACH},
};

static breaker_plan Containers = {
    .script = ZKLOCK_SOURCE_DIR "/scripts/docker.sh",
    .faults = Faults,
    .count = sizeof(Faults) / sizeof(Faults[0]),
    .rest_ms = 2000,
};

static run_plan Plan = {
    .kills = 30,
    .stops = 10,
    .seconds = 35,
    .session_ms =
        1000, /* a hundred times what an operation takes, so that losing it costs little */
    .fault_every_ms = 200,
    .has_proxies = true,
};

static void a_register_loses_nothing_by_fence_or_guard_and_without_them_to_late_writers_only(void) {
    run_register(&Plan);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a register loses nothing by fence or guard, and without them to late writers only",
         a_register_loses_nothing_by_fence_or_guard_and_without_them_to_late_writers_only},
    };

    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argc, argv);
    if (!run_parse(argc, argv, &Plan)) {
        fprintf(stderr, "usage: %s [--kills N] [--stops N] [--seconds N] [--seed N]\n", argv[0]);
        return 64;
    }
    Containers.directory = getenv("ZKLOCK_DOCKER_DIR");
    if (Containers.directory) {
        Plan.breaker = &Containers;
        Plan.strokes = Containers.count;
        Plan.has_proxies = false;
        server_take_all();
    }
    fixture_start(NULL);
    return TEST_MAIN(1, argv, "register", cases);
}
