/*
 * The leader falls silent (support/silence.h). The other two notice after half a second here, and
 * elect another; a client is resumed by that one only. They have until the client leaves the
 * silent one, after T/6: where no other serves yet, it may come back to that one, and wait for its
 * answer. ZKLOCK_SILENT_TICK says how long the servers' tick is instead: at 2000, they notice after
 * 4 s, and no hold is kept.
 */
#include <stdlib.h>

#include "support/client.h"
#include "support/silence.h"

static const int Timeouts_ms[] = {10000};

static void a_frozen_leader_is_left_for_the_next(void) {
    CHECK_INT(silence_play(SILENCE_LEADER, SILENCE_FROZEN, (silence_rounds() + 1) / 2, Timeouts_ms,
                           COUNT(Timeouts_ms)),
              0);
}

static void a_leader_without_power_is_left_for_the_next(void) {
    CHECK_INT(silence_play(SILENCE_LEADER, SILENCE_DARK, (silence_rounds() + 1) / 2, Timeouts_ms,
                           COUNT(Timeouts_ms)),
              0);
}

static const test_case Cases[] = {
    {"a leader that is frozen is left for the next", a_frozen_leader_is_left_for_the_next},
    {"a leader whose packets vanish is left for the next",
     a_leader_without_power_is_left_for_the_next},
};

int main(int argc, char **argv) {
    const char *tick = getenv("ZKLOCK_SILENT_TICK");
    const char *const options[] = {NETNS_OPTIONS, "--tick",      tick == NULL ? "250" : tick,
                                   "--prop",      "syncLimit=2", NULL};

    fixture_start_in_netns(options);
    return TEST_MAIN(argc, argv, "silent_leader", Cases);
}
