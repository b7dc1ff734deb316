/* Which heartbeats a lease remembers, and what it says of the shortest session and of none. */
#include "core/lease.h"

#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define MS INT64_C(1000000)
#define T (10000 * MS)

static struct zkli_lease Lease;

static void begin(void) {
    memset(&Lease, 0xff, sizeof(Lease));
    zkli_lease_begin(&Lease, T, 0);
}

/* Heartbeats a second apart, each answered after so many milliseconds; then a new connection. */
static void connect_with(const int64_t *round_trips_ms, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t sent_ns = ((int64_t)i + 1) * 1000 * MS;
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, sent_ns,
                             sent_ns + round_trips_ms[i] * MS);
    }
    zkli_lease_reconnect(&Lease, T, 5000 * MS);
}

static void the_quickest_of_a_connection_s_heartbeats_counts(void) {
    static const int64_t round_trips_ms[][3] = {
        {10, 50, 60}, {50, 10, 60}, {50, 60, 10}, {10, 10, 10}};
    for (size_t i = 0; i < COUNT(round_trips_ms); i++) {
        begin();
        connect_with(round_trips_ms[i], 3);
        CHECK_INT(Lease.quickest_ns, 10 * MS);
    }
}

/* The first ones may have been held up, so fewer say nothing, whether they were quick or slow. */
static void three_heartbeats_make_an_earlier_connection_forgotten(void) {
    static const int64_t earlier_ms[] = {30, 30, 30};
    static const int64_t later_ms[][4] = {{50, 60, 70, 80}, {10, 10, 10, 10}};
    for (size_t i = 0; i < COUNT(later_ms); i++)
        for (size_t count = 0; count <= COUNT(later_ms[i]); count++) {
            begin();
            connect_with(earlier_ms, COUNT(earlier_ms));
            connect_with(later_ms[i], count);
            CHECK_INT(Lease.quickest_ns, (count < 3 ? 30 : later_ms[i][0]) * MS);
        }
}

static void heartbeat_ms(int64_t sent_ms, int64_t round_trip_ms) {
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, sent_ms * MS,
                         (sent_ms + round_trip_ms) * MS);
}

/* Which heartbeat was proven last, and how long its round trip was. */
static void check_proven(int64_t sent_ms, int64_t round_trip_ms) {
    CHECK(Lease.certain_until_ns == sent_ms * MS + T - zkli_lease_margin_ns(T));
    zkli_lease_reconnect(&Lease, T, 5000 * MS);
    CHECK_INT(Lease.quickest_ns, round_trip_ms * MS);
}

/* The fourth one proves the first, which is quicker than the others. */
static void the_heartbeat_that_was_proven_last_is_remembered(void) {
    begin();
    heartbeat_ms(1000, 10);
    heartbeat_ms(1100, 50);
    heartbeat_ms(4600, 50);
    heartbeat_ms(4700, 50);
    check_proven(1000, 10);
}

/* Here the fifth proves the second, and the quick first one is of no more use. */
static void heartbeats_before_the_one_that_was_proven_last_are_forgotten(void) {
    begin();
    heartbeat_ms(1000, 10);
    heartbeat_ms(1100, 50);
    heartbeat_ms(1200, 50);
    heartbeat_ms(4700, 50);
    heartbeat_ms(4800, 50);
    check_proven(1100, 50);
}

static void the_shortest_session_is_one(void) {
    zkli_lease_begin(&Lease, 1, 0);
    CHECK(zkli_lease_is_certain(&Lease, 0));
    CHECK(!zkli_lease_is_certain(&Lease, 1));
}

static void without_a_session_no_hold_may_begin(void) {
    static const int64_t times_ns[] = {-5, 0, 5};
    begin();
    zkli_lease_end(&Lease);
    for (size_t i = 0; i < COUNT(times_ns); i++)
        CHECK(zkli_lease_ample_until(&Lease, times_ns[i]) <= times_ns[i]);
}

/* The first heartbeat is taken to be sent at once. */
static void a_new_session_is_ample_before_its_first_heartbeat(void) {
    begin();
    CHECK(zkli_lease_ample_until(&Lease, 0) > 0);
    CHECK(zkli_lease_ample_until(&Lease, 0) < Lease.certain_until_ns);
    CHECK(zkli_lease_ample_until(&Lease, T / 16) - zkli_lease_ample_until(&Lease, 0) == T / 16);
}

/* Hardly a hold can be kept there, so a fortieth of T will do. */
static void where_round_trips_are_long_a_fortieth_is_ample(void) {
    begin();
    for (int64_t i = 0; i < 3; i++)
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, i * 3000 * MS, (i + 1) * 3000 * MS);
    CHECK(zkli_lease_ample_until(&Lease, 9000 * MS) == Lease.certain_until_ns - T / 40);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the quickest of a connection's heartbeats counts",
         the_quickest_of_a_connection_s_heartbeats_counts},
        {"three heartbeats make an earlier connection forgotten",
         three_heartbeats_make_an_earlier_connection_forgotten},
        {"the heartbeat that was proven last is remembered",
         the_heartbeat_that_was_proven_last_is_remembered},
        {"heartbeats before the one that was proven last are forgotten",
         heartbeats_before_the_one_that_was_proven_last_are_forgotten},
        {"the shortest session is one", the_shortest_session_is_one},
        {"without a session no hold may begin", without_a_session_no_hold_may_begin},
        {"a new session is ample before its first heartbeat",
         a_new_session_is_ample_before_its_first_heartbeat},
        {"where round trips are long, a fortieth is ample",
         where_round_trips_are_long_a_fortieth_is_ample},
    };
    return TEST_MAIN(argc, argv, "lease_edges", cases);
}
