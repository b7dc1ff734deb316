/*
 * As server.partition, where a server answers alone what the ACL denies (enableEagerACLCheck), and
 * the client may not delete in "/": no such answer keeps a hold alive.
 */
#include "support/client.h"
#include "support/partition.h"
#include "support/raw.h"

/* ZooKeeper's bits: read 1, write 2, create 4, administer 16; without delete, 8. */
#define ALL_BUT_DELETE (1 | 2 | 4 | 16)

/* A server that checks ACLs early says so in no other way than by its answers. */
static void close_the_root_to_deletes(void) {
    REQUIRE_INT(raw_restrict(fixture_raw(), "/", ALL_BUT_DELETE), RAW_OK);
    REQUIRE_INT(raw_delete(fixture_raw(), "/no-node"), RAW_NO_AUTH);
}

static void a_follower_is_cut_off(void) {
    close_the_root_to_deletes();
    partition_cut_all(4, PARTITION_FOLLOWER, NETNS_SILENT);
}

static void a_leader_is_cut_off(void) {
    close_the_root_to_deletes();
    partition_cut_all(2, PARTITION_LEADER, NETNS_TOLD);
}

static const test_case Cases[] = {
    {"a heartbeat that a cut-off follower refuses by itself keeps no hold alive",
     a_follower_is_cut_off},
    {"a heartbeat that a cut-off leader refuses by itself keeps no hold alive",
     a_leader_is_cut_off},
};

int main(int argc, char **argv) {
    static const char *const options[] = {NETNS_OPTIONS, PARTITION_OPTIONS, "--prop",
                                          "enableEagerACLCheck=true", NULL};

    fixture_start_in_netns(options);
    return TEST_MAIN(argc, argv, "partition_acl", Cases);
}
