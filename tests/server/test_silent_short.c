/*
 * A silent server costs no hold (support/silence.h), with the shortest session timeout of
 * servers whose tick is a second.
 */
#include "support/client.h"
#include "support/silence.h"

static const int Timeouts_ms[] = {2000};

static void a_frozen_follower_costs_no_hold(void) {
    CHECK_INT(silence_play(SILENCE_FOLLOWER, SILENCE_FROZEN, silence_rounds(), Timeouts_ms,
                           COUNT(Timeouts_ms)),
              0);
}

static void a_follower_without_power_costs_no_hold(void) {
    CHECK_INT(silence_play(SILENCE_FOLLOWER, SILENCE_DARK, silence_rounds(), Timeouts_ms,
                           COUNT(Timeouts_ms)),
              0);
}

static const test_case Cases[] = {
    {"a follower that is frozen costs no hold", a_frozen_follower_costs_no_hold},
    {"a follower whose packets vanish costs no hold", a_follower_without_power_costs_no_hold},
};

int main(int argc, char **argv) {
    static const char *const options[] = {NETNS_OPTIONS, "--tick", "1000", NULL};

    fixture_start_in_netns(options);
    return TEST_MAIN(argc, argv, "silent_short", Cases);
}
