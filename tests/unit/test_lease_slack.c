/*
 * By how much all heartbeats may be late before no hold begins on a lease: to the nanosecond. The
 * heartbeats ahead are played here as well; the rule is that of lease.h.
 */
#include "core/lease.h"

#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define T INT64_C(10000000020) /* some round trip leaves exactly a twentieth of it */
#define AHEAD 11
#define SMALLEST (T / 2) /* certain, and the first proof comes later */

/* What in-time heartbeats leave of a lease that has none yet, at the least and in the long run. */
struct outlook {
    int64_t least_ns, last_ns;
};

static struct zkli_lease lease_until(int64_t certain_until_ns, int64_t quickest_ns) {
    struct zkli_lease lease;
    zkli_lease_begin(&lease, T, 0);
    lease.certain_until_ns = lease.heard_until_ns = certain_until_ns;
    lease.quickest_ns = quickest_ns;
    return lease;
}

static struct outlook look_ahead(struct zkli_lease lease, int64_t quickest_ns) {
    struct outlook outlook = {INT64_MAX, 0};
    int64_t sent_ns = 0;
    for (int i = 0; i < AHEAD; i++) {
        int64_t acked_ns = sent_ns + quickest_ns, next_ns = sent_ns + zkli_lease_period_ns(T);
        outlook.last_ns = lease.heard_until_ns - acked_ns;
        if (outlook.last_ns < outlook.least_ns)
            outlook.least_ns = outlook.last_ns;
        zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, sent_ns, acked_ns);
        sent_ns = next_ns > acked_ns ? next_ns : acked_ns;
    }
    return outlook;
}

/* Nine twentieths of what there is in the long run must be left at the least. */
static void a_hold_may_begin_as_long_as_that_much_is_left(void) {
    static const int64_t round_trips_ns[] = {0, T / 1000, T / 100, T / 30};
    static const int64_t slacks_ns[] = {-1000, -1, 0, 1, 2, 1000};
    for (size_t i = 0; i < COUNT(round_trips_ns); i++)
        for (size_t k = 0; k < COUNT(slacks_ns); k++) {
            int64_t quickest_ns = round_trips_ns[i], slack_ns = slacks_ns[k];
            struct zkli_lease lease = lease_until(SMALLEST, quickest_ns);
            struct outlook outlook = look_ahead(lease, quickest_ns);
            lease.certain_until_ns += outlook.last_ns * 9 / 20 + slack_ns - outlook.least_ns;
            lease.heard_until_ns = lease.certain_until_ns;
            outlook = look_ahead(lease, quickest_ns);
            REQUIRE(outlook.least_ns - outlook.last_ns * 9 / 20 == slack_ns);
            int64_t expected_ns = slack_ns > 0 ? quickest_ns + slack_ns : 0;
            CHECK(zkli_lease_ample_until(&lease, 0) == expected_ns);
        }
}

/* The next heartbeat is sent a period after the last one. */
static void what_is_left_counts_from_the_next_heartbeat(void) {
    struct zkli_lease lease = lease_until(T, T / 100);
    zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, 0, T / 100);
    int64_t early_ns = zkli_lease_ample_until(&lease, T / 100);
    CHECK(zkli_lease_ample_until(&lease, zkli_lease_period_ns(T)) == early_ns);
}

/* As soon as one heartbeat has told it, and not before. */
static void a_round_trip_that_is_known_outlasts_the_connection(void) {
    for (int count = 0; count <= 2; count++) {
        struct zkli_lease lease;
        zkli_lease_begin(&lease, T, 0);
        for (int i = 0; i < count; i++)
            zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, i * T / 10, (i + 1) * T / 10);
        zkli_lease_reconnect(&lease, T, T / 4);
        CHECK(zkli_lease_quickest_ns(&lease) == (count == 0 ? 0 : T / 10));
        zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, T / 4, T / 4 + T / 5);
        CHECK(zkli_lease_quickest_ns(&lease) == (count == 0 ? T / 5 : T / 10));
    }
}

/* A round trip that leaves exactly so much in the long run. */
static int64_t round_trip_leaving(int64_t last_ns) {
    int64_t low_ns = T / 30, high_ns = T / 3;
    while (low_ns + 1 < high_ns) {
        int64_t middle_ns = low_ns + (high_ns - low_ns) / 2;
        if (look_ahead(lease_until(T, middle_ns), middle_ns).last_ns >= last_ns)
            low_ns = middle_ns;
        else
            high_ns = middle_ns;
    }
    return low_ns;
}

/* Round trips so long that less than a twentieth of T is left leave nothing to spare. */
static void with_little_left_in_the_long_run_all_that_is_certain_will_do(void) {
    int64_t quickest_ns = round_trip_leaving(T / 20);
    struct zkli_lease lease = lease_until(T, quickest_ns);
    struct outlook outlook = look_ahead(lease, quickest_ns);
    REQUIRE(outlook.last_ns == T / 20);
    CHECK(zkli_lease_ample_until(&lease, 0) ==
          quickest_ns + outlook.least_ns - outlook.last_ns * 9 / 20);
    lease = lease_until(T, ++quickest_ns);
    outlook = look_ahead(lease, quickest_ns);
    REQUIRE(outlook.last_ns < T / 20);
    CHECK(zkli_lease_ample_until(&lease, 0) == T - T / 40);
    lease.quickest_ns = INT64_MAX; /* one or two heartbeats that were held up are no reason */
    zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, 0, quickest_ns);
    CHECK(zkli_lease_ample_until(&lease, quickest_ns) == quickest_ns);
    zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, quickest_ns, 2 * quickest_ns);
    CHECK(zkli_lease_ample_until(&lease, 2 * quickest_ns) == 2 * quickest_ns);
    zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, 2 * quickest_ns, 3 * quickest_ns);
    CHECK(zkli_lease_ample_until(&lease, 3 * quickest_ns) == T - T / 40);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a hold may begin as long as that much is left",
         a_hold_may_begin_as_long_as_that_much_is_left},
        {"what is left counts from the next heartbeat",
         what_is_left_counts_from_the_next_heartbeat},
        {"a round trip that is known outlasts the connection",
         a_round_trip_that_is_known_outlasts_the_connection},
        {"with little left in the long run all that is certain will do",
         with_little_left_in_the_long_run_all_that_is_certain_will_do},
    };
    return TEST_MAIN(argc, argv, "lease_slack", cases);
}
