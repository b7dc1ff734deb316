/*
 * A server is cut off from the other two while it goes on serving a holder (support/partition.h).
 *
 * A heartbeat that the cut-off server can answer by itself, such as a read, fails this test by
 * seconds: what keeps such a hold alive is not known to the leader that ends its session.
 */
#include "support/client.h"
#include "support/partition.h"

static void a_follower_is_cut_off(void) {
    partition_cut_all(4, PARTITION_FOLLOWER, NETNS_SILENT);
}

/* Its followers elect another leader at once, and it goes on answering for 8 ticks. */
static void a_leader_is_cut_off(void) {
    partition_cut_all(4, PARTITION_LEADER, NETNS_TOLD);
}

/* All three notice at about the same time, after 8 ticks; a heartbeat that only reads would let go
 * in time here, too. */
static void a_leader_is_cut_off_silently(void) {
    partition_cut_all(1, PARTITION_LEADER, NETNS_SILENT);
}

static const test_case Cases[] = {
    {"a holder whose follower is cut off from the leader lets go before the next one acquires",
     a_follower_is_cut_off},
    {"a holder whose leader is cut off from its followers lets go before the next one acquires",
     a_leader_is_cut_off},
    {"and so it does when nobody notices the cut for long", a_leader_is_cut_off_silently},
};

int main(int argc, char **argv) {
    static const char *const options[] = {NETNS_OPTIONS, PARTITION_OPTIONS, NULL};

    fixture_start_in_netns(options);
    return TEST_MAIN(argc, argv, "partition", Cases);
}
