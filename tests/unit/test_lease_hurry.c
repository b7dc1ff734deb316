/* When a connection wants its next heartbeat, and how soon it then proves a lease; and how long
 * heartbeats take at the longest. */
#include "core/lease.h"

#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define MS INT64_C(1000000)
#define T (10000 * MS)
#define APART                                                                                      \
    (T / 4 + T / 22) /* from an answer to the witness, before anything is known of pings */
#define UNTIL(sent_ns) ((sent_ns) + T - zkli_lease_margin_ns(T))

static struct zkli_lease Lease;

static void begin(void) {
    memset(&Lease, 0xff, sizeof(Lease));
    zkli_lease_begin(&Lease, T, 0);
}

static void barrier(int64_t sent_ns, int64_t acked_ns) {
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, sent_ns, acked_ns);
}

/* One heartbeat each second, and a new connection half a second after the tenth. */
static void resume(void) {
    begin();
    for (int64_t i = 1; i <= 10; i++)
        barrier(i * 1000 * MS, i * 1000 * MS + MS);
    zkli_lease_reconnect(&Lease, T, 10500 * MS);
}

/* A heartbeat at its wish, or a sixteenth of T after the last. Returns when it was answered. */
static int64_t beat_at_its_wish(int64_t now_ns, int64_t round_trip_ns) {
    int64_t at_ns = now_ns;
    if (Lease.heartbeat_count > 0) {
        int64_t last_ns = Lease.heartbeats[Lease.heartbeat_count - 1].sent_ns;
        int64_t hurry_ns = zkli_lease_hurry_ns(&Lease);
        at_ns = last_ns + zkli_lease_period_ns(T);
        at_ns = hurry_ns < at_ns ? hurry_ns : at_ns;
        at_ns = at_ns < now_ns ? now_ns : at_ns;
    }
    barrier(at_ns, at_ns + round_trip_ns);
    return at_ns + round_trip_ns;
}

/* A new connection whose first heartbeats take so long, and the next a millisecond each, up to the
 * first proof. Returns when that was. */
static int64_t prove_after(int slow_beats, int64_t round_trip_ns) {
    resume();
    int64_t now_ns = 10500 * MS;
    for (int i = 0; i < slow_beats; i++)
        now_ns = beat_at_its_wish(now_ns, round_trip_ns);
    while (!Lease.has_proved)
        now_ns = beat_at_its_wish(now_ns, MS);
    CHECK(Lease.heard_until_ns == UNTIL(10500 * MS));
    return now_ns;
}

/* ---- Hurry ---- */

static void a_session_s_first_connection_is_in_no_hurry(void) {
    begin();
    for (int64_t i = 1; i <= 40; i++) {
        CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MAX);
        barrier(i * 400 * MS, i * 400 * MS + MS);
    }
    CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MAX);
}

/* Servers were slow for a while, and are not now. */
static void an_old_connection_is_in_a_hurry_where_less_is_left(void) {
    bool has_hurried = false;
    begin();
    int64_t now_ns = 0;
    for (int i = 0; i < 100; i++) {
        bool is_slow = i >= 40 && i < 43;
        now_ns = beat_at_its_wish(now_ns, is_slow ? T / 5 : MS);
        bool has_little = Lease.has_proved && Lease.heard_until_ns - now_ns < T * 2 / 5;
        CHECK((zkli_lease_hurry_ns(&Lease) != INT64_MAX) == has_little);
        has_hurried = has_hurried || has_little;
        CHECK(Lease.certain_until_ns > now_ns); /* at the usual pace it is not */
    }
    CHECK(has_hurried);
}

static void the_first_heartbeat_of_a_connection_is_sent_anyway(void) {
    resume();
    CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MAX);
}

static void a_new_connection_proves_a_lease_as_soon_as_it_can(void) {
    resume();
    barrier(10500 * MS, 10501 * MS);
    CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MIN); /* the one that is told of in its place */
    barrier(10501 * MS, 10502 * MS);
    const int64_t witness_ns = 10502 * MS + APART;
    CHECK(zkli_lease_hurry_ns(&Lease) == witness_ns);
    barrier(11000 * MS, 11001 * MS); /* as usual, meanwhile */
    CHECK(zkli_lease_hurry_ns(&Lease) == witness_ns);
    barrier(witness_ns - 1, witness_ns + MS - 1);
    CHECK(zkli_lease_hurry_ns(&Lease) == witness_ns); /* that one was none */
    barrier(witness_ns, witness_ns + 2 * MS);
    CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MIN); /* the last of three */
    CHECK(Lease.certain_until_ns == UNTIL(10000 * MS));
    barrier(witness_ns + 2 * MS, witness_ns + 3 * MS);
    CHECK(Lease.certain_until_ns == UNTIL(10500 * MS));
    CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MAX); /* 0.65 T is left */
}

/* The outage is over when half of T is left, and all is proved in 0.3 T and four round trips. */
static void the_first_proof_takes_a_third_of_the_timeout(void) {
    for (int64_t round_trip_ns = MS; round_trip_ns <= T / 60; round_trip_ns += T / 600) {
        resume();
        int64_t now_ns = 10500 * MS;
        while (!Lease.has_proved)
            now_ns = beat_at_its_wish(now_ns, round_trip_ns);
        CHECK(now_ns - 10500 * MS <= APART + 4 * round_trip_ns);
    }
}

/* Where heartbeats have taken long, little is left when the first is proved: the next follow. */
static void while_little_is_left_the_next_are_proved_as_soon_as_can_be(void) {
    int64_t now_ns = prove_after(3, T / 6);
    CHECK(Lease.heard_until_ns - now_ns < T / 2);
    /* The third was answered half of T after the connection began. */
    const int64_t witness_ns = 10500 * MS + 3 * (T / 6) + APART;
    CHECK(zkli_lease_hurry_ns(&Lease) == witness_ns);
    while (Lease.heard_until_ns == UNTIL(10500 * MS))
        now_ns = beat_at_its_wish(now_ns, MS);
    CHECK(now_ns <= witness_ns + 2 * MS);
    CHECK(Lease.heard_until_ns >= UNTIL(10500 * MS + T / 6));
}

/* It hurries while less than half of T is left; an old one while less than two fifths are. */
static void a_new_connection_hurries_where_more_is_left(void) {
    for (int64_t short_by = 0; short_by < 2; short_by++) {
        const int64_t now_ns = prove_after(2, T / 20);
        CHECK(Lease.heard_until_ns - now_ns > T / 2);
        CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MAX);
        barrier(now_ns, Lease.heard_until_ns - T / 2 + short_by);
        CHECK(Lease.heard_until_ns == UNTIL(10500 * MS));
        CHECK((zkli_lease_hurry_ns(&Lease) == INT64_MAX) == (short_by == 0));
    }
}

/* There may be a new connection, which has all to prove. Of what barriers have proved nothing is in
 * doubt. */
static void in_doubt_a_connection_hurries_as_a_new_one(void) {
    static const enum zkli_heartbeat kinds[] = {ZKLI_HEARTBEAT_BARRIER, ZKLI_HEARTBEAT_SYNC};
    for (size_t i = 0; i < 2; i++) {
        begin();
        for (int64_t k = 1; k <= 10; k++)
            zkli_lease_heartbeat(&Lease, k == 9 ? kinds[i] : ZKLI_HEARTBEAT_BARRIER, k * 1000 * MS,
                                 k * 1000 * MS + MS);
        zkli_lease_doubt(&Lease, 10500 * MS);
        barrier(10600 * MS, 10601 * MS);
        CHECK(zkli_lease_hurry_ns(&Lease) == (i == 0 ? INT64_MAX : INT64_MIN));
    }
    barrier(10601 * MS, 10602 * MS);
    CHECK(zkli_lease_hurry_ns(&Lease) == 10602 * MS + APART);
}

static void a_connection_that_is_old_enough_is_in_no_hurry(void) {
    for (int64_t short_by = 0; short_by < 2; short_by++) {
        resume();
        barrier(10500 * MS, 10501 * MS);
        barrier(11000 * MS, 10500 * MS + T - short_by);
        CHECK((zkli_lease_hurry_ns(&Lease) == INT64_MAX) == (short_by == 0));
    }
}

/* Else the heartbeat that is to be proved would be forgotten before its witness, for ever. */
static void when_no_more_can_be_remembered_there_is_no_hurry(void) {
    resume();
    for (int64_t i = 0; i < ZKLI_LEASE_HEARTBEATS; i++) {
        CHECK((zkli_lease_hurry_ns(&Lease) == INT64_MAX) == (i == 0));
        barrier(10500 * MS + i, 10500 * MS + i + 1);
    }
    CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MAX);
}

static void a_new_session_forgets_the_hurry(void) {
    resume();
    barrier(10500 * MS, 10501 * MS);
    zkli_lease_begin(&Lease, T, 10600 * MS);
    barrier(10600 * MS, 10601 * MS);
    CHECK(zkli_lease_hurry_ns(&Lease) == INT64_MAX);
}

/* ---- The slowest ---- */

static void the_slowest_is_the_longest_of_those_remembered(void) {
    begin();
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 0);
    barrier(1000 * MS, 1010 * MS);
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 10 * MS);
    barrier(2000 * MS, 2300 * MS);
    barrier(3000 * MS, 3020 * MS);
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 300 * MS);
    for (int64_t i = 4; i < 4 + 2 * ZKLI_LEASE_HEARTBEATS; i++)
        barrier(i * 1000 * MS, i * 1000 * MS + 7 * MS);
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 7 * MS);
    begin();
    for (int64_t i = 1; i <= 3; i++)
        barrier(i * 1000 * MS, i * 1000 * MS); /* by a coarse clock */
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 0);
}

static void with_three_answers_an_earlier_connection_s_slowest_is_forgotten(void) {
    begin();
    barrier(1000 * MS, 1300 * MS);
    zkli_lease_reconnect(&Lease, T, 2000 * MS);
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 300 * MS);
    barrier(2000 * MS, 2010 * MS);
    barrier(3000 * MS, 3020 * MS);
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 300 * MS);
    zkli_lease_reconnect(&Lease, T, 4000 * MS); /* it has had two */
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 300 * MS);
    for (int64_t i = 5; i < 8; i++)
        barrier(i * 1000 * MS, i * 1000 * MS + 7 * MS);
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 7 * MS);
    zkli_lease_reconnect(&Lease, T, 9000 * MS);
    CHECK_INT(zkli_lease_slowest_ns(&Lease), 7 * MS);
}

/* ---- The quickest ---- */

static void with_three_answers_an_earlier_connection_s_quickest_is_forgotten(void) {
    begin();
    for (int64_t i = 1; i <= 3; i++)
        barrier(i * 1000 * MS, i * 1000 * MS + i * MS);
    CHECK_INT(zkli_lease_quickest_ns(&Lease), MS);
    zkli_lease_reconnect(&Lease, T, 4000 * MS);
    barrier(4000 * MS, 4010 * MS);
    barrier(5000 * MS, 5020 * MS);
    CHECK_INT(zkli_lease_quickest_ns(&Lease), MS);
    barrier(6000 * MS, 6030 * MS);
    CHECK_INT(zkli_lease_quickest_ns(&Lease), 10 * MS);
}

static void quick_syncs(int64_t first_ns) {
    for (int64_t i = 0; i < 3; i++)
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_SYNC, first_ns + i * 100 * MS,
                             first_ns + i * 100 * MS + MS);
}

/* Nothing is logged for a sync, so it says little of how long a barrier takes. */
static void a_barrier_s_is_taken_and_not_a_sync_s(void) {
    begin();
    quick_syncs(1000 * MS);
    CHECK_INT(zkli_lease_quickest_ns(&Lease), MS);
    barrier(2000 * MS, 2020 * MS);
    CHECK_INT(zkli_lease_quickest_ns(&Lease), 20 * MS);
    quick_syncs(3000 * MS);
    barrier(4000 * MS, 4010 * MS);
    barrier(5000 * MS, 5030 * MS);
    CHECK_INT(zkli_lease_quickest_ns(&Lease), 10 * MS);
}

static void a_witness_is_sent_when_two_pings_must_have_gone(void) {
    CHECK_INT(zkli_lease_pause_ns(T), APART);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a session's first connection is in no hurry",
         a_session_s_first_connection_is_in_no_hurry},
        {"an old connection is in a hurry where less is left",
         an_old_connection_is_in_a_hurry_where_less_is_left},
        {"the first heartbeat of a connection is sent anyway",
         the_first_heartbeat_of_a_connection_is_sent_anyway},
        {"a new connection proves a lease as soon as it can",
         a_new_connection_proves_a_lease_as_soon_as_it_can},
        {"the first proof takes a third of the timeout",
         the_first_proof_takes_a_third_of_the_timeout},
        {"while little is left, the next are proved as soon as can be",
         while_little_is_left_the_next_are_proved_as_soon_as_can_be},
        {"a new connection hurries where more is left",
         a_new_connection_hurries_where_more_is_left},
        {"in doubt a connection hurries as a new one", in_doubt_a_connection_hurries_as_a_new_one},
        {"a connection that is old enough is in no hurry",
         a_connection_that_is_old_enough_is_in_no_hurry},
        {"when no more can be remembered there is no hurry",
         when_no_more_can_be_remembered_there_is_no_hurry},
        {"a new session forgets the hurry", a_new_session_forgets_the_hurry},
        {"the slowest is the longest of those remembered",
         the_slowest_is_the_longest_of_those_remembered},
        {"with three answers an earlier connection's slowest is forgotten",
         with_three_answers_an_earlier_connection_s_slowest_is_forgotten},
        {"with three answers an earlier connection's quickest is forgotten",
         with_three_answers_an_earlier_connection_s_quickest_is_forgotten},
        {"a barrier's is taken, and not a sync's", a_barrier_s_is_taken_and_not_a_sync_s},
        {"a witness is sent when two pings must have gone",
         a_witness_is_sent_when_two_pings_must_have_gone},
    };
    return TEST_MAIN(argc, argv, "lease_hurry", cases);
}
