/* Syncs, which prove on a condition, and leases that have lapsed, which count again later. */
#include "core/lease.h"

#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define MS INT64_C(1000000)
#define T (10000 * MS)
#define UNTIL(sent_ms) ((sent_ms)*MS + T - zkli_lease_margin_ns(T))

static struct zkli_lease Lease;

static void begin(void) {
    memset(&Lease, 0xff, sizeof(Lease));
    zkli_lease_begin(&Lease, T, 0);
}

static void beat(enum zkli_heartbeat kind, int64_t sent_ms) {
    zkli_lease_heartbeat(&Lease, kind, sent_ms * MS, (sent_ms + 1) * MS);
}

static void sync_at(int64_t sent_ms) {
    beat(ZKLI_HEARTBEAT_SYNC, sent_ms);
}

static void barrier_at(int64_t sent_ms) {
    beat(ZKLI_HEARTBEAT_BARRIER, sent_ms);
}

/* Two syncs every three seconds, as a waiter sends them: each pair proves the first of the pair
 * before. */
static void pairs(int64_t from_ms, int64_t to_ms) {
    for (int64_t at_ms = from_ms; at_ms <= to_ms; at_ms += 3000) {
        sync_at(at_ms);
        sync_at(at_ms + 1);
    }
}

/* ---- Syncs ---- */

static void syncs_prove_what_is_heard_and_make_nothing_certain(void) {
    begin();
    pairs(1000, 7000);
    CHECK(Lease.heard_until_ns == UNTIL(4000));
    CHECK(Lease.certain_until_ns == UNTIL(0));
    CHECK(zkli_lease_is_certain(&Lease, UNTIL(0) - 1));
    CHECK(!zkli_lease_is_certain(&Lease, UNTIL(0)));
    CHECK(zkli_lease_ample_until(&Lease, UNTIL(0)) == UNTIL(0));
}

static void a_barrier_makes_certain_what_syncs_have_proved(void) {
    begin();
    pairs(1000, 31000);
    CHECK(Lease.certain_until_ns == UNTIL(0));
    barrier_at(32000);
    CHECK(Lease.heard_until_ns == UNTIL(28000));
    CHECK(Lease.certain_until_ns == UNTIL(28000));
    CHECK(zkli_lease_ample_until(&Lease, 32001 * MS) > 32001 * MS);
}

/* The hold that begins has heartbeats from then on, and goes on whatever the phase. */
static void a_waiter_s_lease_is_ample_with_one_barrier_at_any_time(void) {
    for (int64_t late_ms = 2; late_ms < 3000; late_ms++) {
        begin();
        pairs(1000, 31000);
        barrier_at(31000 + late_ms);
        int64_t now_ns = (31001 + late_ms) * MS;
        CHECK(zkli_lease_ample_until(&Lease, now_ns) > now_ns);
    }
}

static void a_barrier_may_be_the_witness_or_the_last_of_three(void) {
    begin();
    sync_at(1000);
    sync_at(1001);
    barrier_at(4000);
    CHECK(Lease.heard_until_ns == UNTIL(0)); /* the third is missing */
    barrier_at(4001);
    CHECK(Lease.certain_until_ns == UNTIL(1000));
}

/* A deposed leader answers syncs. So only a barrier, or the connect, is known to the next. */
static void a_new_connection_forgets_what_syncs_have_proved(void) {
    begin();
    barrier_at(500);
    pairs(1000, 13000);
    CHECK(Lease.heard_until_ns == UNTIL(10000));
    zkli_lease_reconnect(&Lease, T, 14000 * MS);
    CHECK(Lease.heard_until_ns == UNTIL(500));
    CHECK(Lease.certain_until_ns == UNTIL(0));
    barrier_at(14001);
    CHECK(!zkli_lease_is_certain(&Lease, 14002 * MS));
}

static void a_shorter_timeout_shortens_what_is_heard_too(void) {
    begin();
    pairs(1000, 7000);
    CHECK(Lease.heard_until_ns == UNTIL(4000));
    zkli_lease_shorten(&Lease, T - 24);
    CHECK(Lease.heard_until_ns == T - 24 - (T - 24) / 24);
    CHECK(Lease.certain_until_ns == Lease.heard_until_ns);
}

/* ---- Lapses ---- */

/* Nothing for more than T, then a first proof, which ends at 25,002 ms. */
static void lapse(void) {
    begin();
    barrier_at(21000);
    barrier_at(21001);
    barrier_at(25000);
    CHECK(Lease.counts_from_ns == INT64_MIN);
    barrier_at(25001);
    CHECK(Lease.heard_until_ns == UNTIL(21000));
    CHECK(Lease.counts_from_ns == 25002 * MS + T);
}

/* A heartbeat each second. */
static void go_on(int64_t from_ms, int64_t to_ms) {
    for (int64_t at_ms = from_ms; at_ms <= to_ms; at_ms += 1000)
        barrier_at(at_ms);
}

static void after_a_lapse_a_first_proof_makes_nothing_certain(void) {
    lapse();
    CHECK(Lease.certain_until_ns == UNTIL(0));
    go_on(26001, 35001);
    CHECK(Lease.heard_until_ns > 40000 * MS);
    CHECK(Lease.certain_until_ns == UNTIL(0));
}

static void a_barrier_that_is_sent_a_timeout_later_counts(void) {
    lapse();
    go_on(26001, 34001);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 35002 * MS - 1, 35500 * MS);
    CHECK(Lease.certain_until_ns == UNTIL(0));
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_SYNC, 35500 * MS, 35501 * MS);
    CHECK(Lease.certain_until_ns == UNTIL(0));
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 35501 * MS, 35502 * MS);
    CHECK(Lease.certain_until_ns == Lease.heard_until_ns);
    CHECK(zkli_lease_is_certain(&Lease, 35502 * MS));

    lapse();
    go_on(26001, 34001);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 35002 * MS, 35003 * MS);
    CHECK(zkli_lease_is_certain(&Lease, 35003 * MS));
}

static void another_lapse_begins_the_time_anew(void) {
    lapse();
    go_on(26001, 30001);
    barrier_at(60000);
    barrier_at(60001);
    CHECK(!zkli_lease_is_certain(&Lease, 60002 * MS)); /* a timeout after the first lapse */
    barrier_at(64000);
    barrier_at(64001);
    CHECK(Lease.counts_from_ns == 64002 * MS + T);
    CHECK(!zkli_lease_is_certain(&Lease, 64002 * MS));
}

/* What is answered in the very moment at which the lease ends is answered too late. */
static void a_lease_that_ends_with_the_answer_has_lapsed(void) {
    for (int64_t early_ns = 0; early_ns < 2; early_ns++) {
        begin();
        barrier_at(1000);
        barrier_at(1001);
        barrier_at(5000);
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 5001 * MS, UNTIL(0) - early_ns);
        CHECK(Lease.heard_until_ns == UNTIL(1000));
        CHECK(Lease.certain_until_ns == UNTIL(early_ns == 0 ? 0 : 1000));
    }
}

/* The leader heard of us with the new connection; perhaps after it had taken the session. */
static void a_connection_that_begins_after_the_lease_is_not_certain(void) {
    for (int64_t early_ns = 0; early_ns < 2; early_ns++) {
        begin();
        barrier_at(5000);
        zkli_lease_reconnect(&Lease, T, UNTIL(0) - early_ns);
        CHECK(Lease.heard_until_ns == UNTIL(5000));
        CHECK(Lease.certain_until_ns == UNTIL(early_ns == 0 ? 0 : 5000));
        CHECK(Lease.counts_from_ns == (early_ns == 0 ? UNTIL(0) + T : INT64_MIN));
    }
    zkli_lease_reconnect(&Lease, T, UNTIL(0) + 1); /* the second case: within what was certain */
    CHECK(Lease.counts_from_ns == INT64_MIN);
}

static void a_connection_after_a_lapse_does_not_count_what_was_sent_in_it(void) {
    lapse();
    zkli_lease_reconnect(&Lease, T, 26000 * MS);
    CHECK(Lease.heard_until_ns == UNTIL(25001));
    CHECK(Lease.certain_until_ns == UNTIL(0));
    CHECK(Lease.counts_from_ns == 26000 * MS + T);
}

/* An answer that is lost may be the only sign of such a connection. */
static void a_doubt_after_a_lapse_counts_as_another_one(void) {
    lapse();
    sync_at(26001);
    zkli_lease_doubt(&Lease, 26500 * MS);
    CHECK(Lease.heard_until_ns == UNTIL(21000));
    CHECK(Lease.counts_from_ns == 26500 * MS + T);

    lapse();
    barrier_at(26001);
    zkli_lease_doubt(&Lease, 26500 * MS); /* what barriers have proved is not in doubt */
    CHECK(Lease.heard_until_ns == UNTIL(21000));
    CHECK(Lease.counts_from_ns == 25002 * MS + T);

    for (int64_t early_ns = 0; early_ns < 2; early_ns++) {
        begin();
        sync_at(1000);
        zkli_lease_doubt(&Lease, UNTIL(0) - early_ns);
        CHECK(Lease.counts_from_ns == (early_ns == 0 ? UNTIL(0) + T : INT64_MIN));
    }
}

static void a_new_session_has_not_lapsed(void) {
    lapse();
    zkli_lease_begin(&Lease, T, 26000 * MS);
    CHECK(Lease.counts_from_ns == INT64_MIN);
    CHECK(zkli_lease_is_certain(&Lease, 26000 * MS));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"syncs prove what is heard, and make nothing certain",
         syncs_prove_what_is_heard_and_make_nothing_certain},
        {"a barrier makes certain what syncs have proved",
         a_barrier_makes_certain_what_syncs_have_proved},
        {"a waiter's lease is ample with one barrier at any time",
         a_waiter_s_lease_is_ample_with_one_barrier_at_any_time},
        {"a barrier may be the witness, or the last of three",
         a_barrier_may_be_the_witness_or_the_last_of_three},
        {"a new connection forgets what syncs have proved",
         a_new_connection_forgets_what_syncs_have_proved},
        {"a shorter timeout shortens what is heard, too",
         a_shorter_timeout_shortens_what_is_heard_too},
        {"after a lapse a first proof makes nothing certain",
         after_a_lapse_a_first_proof_makes_nothing_certain},
        {"a barrier that is sent a timeout later counts",
         a_barrier_that_is_sent_a_timeout_later_counts},
        {"another lapse begins the time anew", another_lapse_begins_the_time_anew},
        {"a lease that ends with the answer has lapsed",
         a_lease_that_ends_with_the_answer_has_lapsed},
        {"a connection that begins after the lease is not certain",
         a_connection_that_begins_after_the_lease_is_not_certain},
        {"a connection after a lapse does not count what was sent in it",
         a_connection_after_a_lapse_does_not_count_what_was_sent_in_it},
        {"a doubt after a lapse counts as another one",
         a_doubt_after_a_lapse_counts_as_another_one},
        {"a new session has not lapsed", a_new_session_has_not_lapsed},
    };
    return TEST_MAIN(argc, argv, "lease_lapse", cases);
}
