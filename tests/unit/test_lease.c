/*
 * How long a hold is certain: the schedules of the rule one by one, then many small schedules
 * against the rule written anew, and against a leader that ends the session as soon as it may.
 */
#include "core/lease.h"

#include <inttypes.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define MS INT64_C(1000000)
#define T (10000 * MS)
#define MARGIN (T / 24)
#define LATE (T / 22)
#define GAP (T / 4 + LATE) /* from the answer of what is proven to the witness */
#define BEATS_MAX 48

static struct zkli_lease Lease;

static void begin(int64_t begun_ns) {
    memset(&Lease, 0xff, sizeof(Lease));
    zkli_lease_begin(&Lease, T, begun_ns);
}

/* ---- The rule, case by case ---- */

static void the_margin_is_a_24th_and_the_period_a_16th(void) {
    CHECK(zkli_lease_margin_ns(T) == INT64_C(416666666));
    CHECK(zkli_lease_period_ns(T) == INT64_C(625000000));
    CHECK(zkli_lease_margin_ns(240) == 10);
    CHECK(zkli_lease_period_ns(240) == 15);
}

static void without_a_session_nothing_is_certain(void) {
    memset(&Lease, 0, sizeof(Lease));
    CHECK(!zkli_lease_is_certain(&Lease, INT64_MIN));
    CHECK(!zkli_lease_is_certain(&Lease, 0));
    begin(0);
    CHECK(zkli_lease_is_certain(&Lease, 1));
    zkli_lease_end(&Lease);
    CHECK(!zkli_lease_is_certain(&Lease, 1));
    CHECK(!zkli_lease_is_certain(&Lease, -T));
}

static void a_session_is_certain_from_when_its_connect_was_begun(void) {
    begin(5000 * MS);
    CHECK(Lease.certain_until_ns == 5000 * MS + T - MARGIN);
    CHECK(zkli_lease_is_certain(&Lease, 5000 * MS));
    CHECK(zkli_lease_is_certain(&Lease, Lease.certain_until_ns - 1));
    CHECK(!zkli_lease_is_certain(&Lease, Lease.certain_until_ns));
    CHECK(!zkli_lease_is_certain(&Lease, INT64_MAX));
}

static void a_new_session_owes_nothing_to_the_last_one(void) {
    begin(100000 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 100000 * MS, 100001 * MS);
    zkli_lease_begin(&Lease, 4000 * MS, 0);
    CHECK(Lease.certain_until_ns == 4000 * MS - 4000 * MS / 24);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 110000 * MS, 110001 * MS);
    CHECK(Lease.certain_until_ns == 4000 * MS - 4000 * MS / 24);
}

static void one_heartbeat_alone_proves_nothing(void) {
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 9000 * MS, 9001 * MS);
    CHECK(Lease.certain_until_ns == T - MARGIN);
}

static void two_heartbeats_prove_nothing(void) {
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 9000 * MS, 9001 * MS);
    CHECK(Lease.certain_until_ns == T - MARGIN);
}

static void a_heartbeat_counts_whose_witness_was_sent_a_late_ping_after_its_answer(void) {
    for (int64_t short_by = 0; short_by < 2; short_by++) {
        begin(0);
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 0, 10 * MS);
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 500 * MS, 510 * MS);
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1010 * MS);
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1100 * MS, 1110 * MS);
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1010 * MS + GAP - short_by,
                             1010 * MS + GAP);
        CHECK(Lease.certain_until_ns == T - MARGIN); /* the witness alone is none */
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1010 * MS + GAP, 9000 * MS);
        CHECK(Lease.certain_until_ns == (short_by == 0 ? 1000 * MS : 0) + T - MARGIN);
    }
}

/* If the server loses one, the next has to be told in its place. */
static void without_one_between_it_and_the_witness_a_heartbeat_does_not_count(void) {
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8000 * MS, 8010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8020 * MS, 8030 * MS);
    CHECK(Lease.heard_until_ns == T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8030 * MS + GAP, 19000 * MS);
    CHECK(Lease.heard_until_ns == T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 19000 * MS, 19010 * MS);
    CHECK(Lease.heard_until_ns == 8000 * MS + T - MARGIN);
}

/* The next is told with the first ping after its answer, which comes half a tick after the one
 * before. Half a tick is no longer than there is room for, if two pings were sent before that. */
static void the_heartbeat_behind_it_has_the_witness_too(void) {
    static const struct {
        int64_t answered_ms, next_ms, room_ns; /* half a tick, by any clock */
    } cases[] = {
        {1010, 2600, 910 * MS + 910 * MS / 50},
        {1010, 3500, 910 * MS + 910 * MS / 50},
        {1110, 3500, 1010 * MS + 1010 * MS / 50},
        {4010, 4500, 2200 * MS + 2200 * MS / 50},
        {4010, 4900, 2400 * MS + 2400 * MS / 50},
        {4010, 5004, T / 4},
        {2552, 5004, T / 4},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int64_t short_by = 0; short_by < 2; short_by++) {
            int64_t next_ns = cases[i].next_ms * MS;
            int64_t witness_ns = next_ns + cases[i].room_ns + LATE - short_by;
            begin(0);
            zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 100 * MS, 110 * MS);
            zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 500 * MS, 510 * MS);
            zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS,
                                 cases[i].answered_ms * MS);
            zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, next_ns - MS, next_ns);
            zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, witness_ns, witness_ns + MS);
            zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, witness_ns + MS,
                                 witness_ns + 2 * MS);
            bool is_proven = Lease.certain_until_ns == 1000 * MS + T - MARGIN;
            CHECK(is_proven == (short_by == 0));
            CHECK(is_proven || Lease.certain_until_ns <= 500 * MS + T - MARGIN);
        }
}

/* What counts is when j was acknowledged and when the witness was sent, not the other times. */
static void slow_acks_cost_certainty(void) {
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 4000 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4000 * MS, 4010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4000 * MS + GAP - 1, 9000 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 9000 * MS,
                         9001 * MS); /* the witness was sent too early */
    CHECK(Lease.heard_until_ns == T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 9001 * MS + GAP,
                         20000 * MS); /* since the first was acked, 5 s */
    CHECK(Lease.heard_until_ns == 1000 * MS + T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 20000 * MS, 20001 * MS);
    CHECK(Lease.heard_until_ns == 4000 * MS + GAP - 1 + T - MARGIN);
}

static void the_newest_that_counts_decides(void) {
    begin(0);
    for (int64_t i = 0; i < 8; i++)
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, i * 900 * MS, i * 900 * MS + 100 * MS);
    /* The witness was sent at 5.4 s: acknowledged by 2.44 s were those sent at 0, 0.9 and 1.8 s. */
    CHECK(Lease.certain_until_ns == 1800 * MS + T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8 * 900 * MS, 8 * 900 * MS + 100 * MS);
    CHECK(Lease.certain_until_ns == 2700 * MS + T - MARGIN);
}

static void a_heartbeat_that_proves_no_more_changes_nothing(void) {
    begin(1000 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1001 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1100 * MS, 1101 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4000 * MS, 4001 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4050 * MS, 4051 * MS);
    CHECK(Lease.certain_until_ns == 1000 * MS + T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4052 * MS, 4053 * MS);
    CHECK(Lease.certain_until_ns == 1000 * MS + T - MARGIN);
}

/* The server touches the session with its own limit from the reconnect on; the last thing that was
 * acknowledged before is the latest time that is sure. */
static void a_shorter_timeout_shortens_certainty(void) {
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4000 * MS, 4010 * MS);
    zkli_lease_reconnect(&Lease, T / 5, 4020 * MS);
    CHECK(Lease.certain_until_ns == 4000 * MS + T / 5 - T / 5 / 24);
    CHECK(!zkli_lease_is_certain(&Lease, 4000 * MS + T / 5));
    zkli_lease_reconnect(&Lease, T, 4030 * MS); /* and for ever */
    CHECK(Lease.certain_until_ns == 4000 * MS + T / 5 - T / 5 / 24);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 5000 * MS, 5010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 5010 * MS, 5011 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 5011 * MS + GAP / 5, 5690 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 5690 * MS, 5700 * MS);
    CHECK(Lease.certain_until_ns == 5000 * MS + T / 5 - T / 5 / 24);
}

/* Of a connection that nobody told of: it takes away, and never adds. */
static void a_shorter_timeout_of_an_unknown_connection_only_shortens(void) {
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4000 * MS, 4010 * MS);
    int64_t until_ns = Lease.certain_until_ns;
    size_t beats = Lease.heartbeat_count;
    zkli_lease_shorten(&Lease, T);
    zkli_lease_shorten(&Lease, 2 * T);
    CHECK(Lease.certain_until_ns == until_ns && Lease.timeout_ns == T);
    CHECK(Lease.heartbeat_count == beats);
    zkli_lease_shorten(&Lease, T - 1);
    CHECK(Lease.certain_until_ns == until_ns && Lease.timeout_ns == T - 1);
    CHECK(Lease.heartbeat_count == 0);
    zkli_lease_shorten(&Lease, T / 5);
    CHECK(Lease.certain_until_ns == 4000 * MS + T / 5 - T / 5 / 24);
}

/* It is known to that server alone: the ensemble goes by the one the session was created with. */
static void a_longer_timeout_is_not_believed(void) {
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4000 * MS, 4010 * MS);
    zkli_lease_reconnect(&Lease, 5 * T, 7000 * MS);
    CHECK(Lease.heard_until_ns == 4000 * MS + T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8000 * MS, 8010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8010 * MS, 8020 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8020 * MS + GAP, 11000 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 11000 * MS, 11010 * MS);
    CHECK(Lease.heard_until_ns == 8000 * MS + T - MARGIN);
}

static void a_reconnect_proves_what_was_acknowledged_before(void) {
    begin(5000 * MS);
    zkli_lease_reconnect(&Lease, T, 6000 * MS);
    CHECK(Lease.heard_until_ns == 5000 * MS + T - MARGIN); /* nothing was */
    begin(0);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS, 1010 * MS);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 4000 * MS, 4010 * MS);
    zkli_lease_reconnect(&Lease, T, 7000 * MS);
    CHECK(Lease.heard_until_ns == 4000 * MS + T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8000 * MS,
                         8010 * MS); /* one of this connection proves nothing, */
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8010 * MS,
                         8020 * MS); /* nor do two, nor three */
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 8020 * MS + GAP, 11000 * MS);
    CHECK(Lease.heard_until_ns == 4000 * MS + T - MARGIN);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 11000 * MS, 11010 * MS);
    CHECK(Lease.heard_until_ns == 8000 * MS + T - MARGIN);
}

/* So many before the witness that the one that counts has been forgotten: less, never more. */
static void more_heartbeats_than_are_remembered_cost_certainty_only(void) {
    begin(0);
    for (int64_t i = 0; i < ZKLI_LEASE_HEARTBEATS + 3; i++)
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS + i, 1000 * MS + i);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS + GAP + 2, 1000 * MS + GAP + 2);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS + GAP + 5, 1000 * MS + GAP + 5);
    CHECK(Lease.certain_until_ns == T - MARGIN); /* would count, but is forgotten */
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, 1000 * MS + GAP + 6, 1000 * MS + GAP + 6);
    CHECK(Lease.certain_until_ns == 1000 * MS + 5 + T - MARGIN);
}

/* Heartbeats each T/16, but for those missing; the least and most certainty left at any moment
 * from the tenth on. */
static void beat_steadily(unsigned missing, int64_t *ret_least_ns, int64_t *ret_most_ns) {
    int64_t period_ns = zkli_lease_period_ns(T), round_trip_ns = 10 * MS;
    begin(0);
    *ret_least_ns = INT64_MAX;
    *ret_most_ns = 0;
    for (unsigned i = 0; i < 40; i++) {
        if (i >= 20 && i < 20 + missing)
            continue;
        int64_t acked_ns = i * period_ns + round_trip_ns;
        int64_t left_before_ns = Lease.certain_until_ns - acked_ns;
        zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, i * period_ns, acked_ns);
        if (i < 10)
            continue;
        int64_t left_ns = Lease.certain_until_ns - acked_ns;
        *ret_least_ns = left_before_ns < *ret_least_ns ? left_before_ns : *ret_least_ns;
        *ret_most_ns = left_ns > *ret_most_ns ? left_ns : *ret_most_ns;
    }
}

static void with_steady_heartbeats_a_hold_outlives_an_outage_of_half_the_timeout(void) {
    int64_t least_ns, most_ns;
    beat_steadily(0, &least_ns, &most_ns);
    CHECK_RANGE(least_ns, T / 2, T * 57 / 100);
}

/* The client notices silence after 2/3 of the timeout: no certainty may be left to hope for. */
static void certainty_ends_before_the_client_notices_a_silent_server(void) {
    int64_t least_ns, most_ns;
    beat_steadily(0, &least_ns, &most_ns);
    CHECK_RANGE(most_ns, T * 58 / 100, T * 6 / 10);
}

static void five_heartbeats_in_a_row_may_be_missing(void) {
    int64_t least_ns = 0, most_ns;
    for (unsigned missing = 1; missing <= 5; missing++) {
        beat_steadily(missing, &least_ns, &most_ns);
        CHECK(least_ns > 0);
        CHECK_RANGE(most_ns, T * 58 / 100, T * 6 / 10); /* and then it is as before */
    }
    beat_steadily(9, &least_ns, &most_ns);
    CHECK(least_ns <= 0);
}

/* ---- Many schedules ---- */

struct schedule {
    int64_t begun;
    size_t count;
    struct {
        int64_t sent, acked;
        unsigned connection;
        int64_t timeout; /* the same for all of a connection */
        enum zkli_heartbeat kind;
    } beats[BEATS_MAX];
};

static bool is_reconnected(const struct schedule *s, size_t n) {
    return n > 0 && s->beats[n].connection != s->beats[n - 1].connection;
}

static int64_t certain_from(int64_t sent, int64_t timeout) {
    return sent + timeout - timeout / 24;
}

/* The shortest timeout that was granted up to this beat. */
static int64_t timeout_at(const struct schedule *s, size_t n) {
    int64_t timeout = s->beats[0].timeout;
    for (size_t k = 1; k <= n; k++)
        if (s->beats[k].timeout < timeout)
            timeout = s->beats[k].timeout;
    return timeout;
}

/* By a witness sent at that time: it leaves room for a ping that is late, twice. */
static bool is_counted(const struct schedule *s, size_t j, int64_t witness, int64_t timeout) {
    int64_t late = timeout / 22, half_tick = timeout / 4;
    int64_t acked = s->beats[j].acked, next = s->beats[j + 1].acked;
    if (witness < acked + half_tick + late || witness < next + late)
        return false;
    if (witness >= next + half_tick + late)
        return true;
    if (j < 2 || s->beats[j - 2].connection != s->beats[j].connection)
        return false;
    int64_t one = acked - s->beats[j - 2].sent, two = (next - s->beats[j - 2].sent) / 2;
    return witness >= next + one + one / 50 + late || witness >= next + two + two / 50 + late;
}

struct rule {
    int64_t heard, certain; /* until then */
    int64_t counts_from;    /* barriers */
};

/* A lease that has lapsed counts again with barriers sent a whole timeout later. */
static void hear(struct rule *rule, int64_t until, int64_t at, int64_t timeout) {
    if (until <= rule->heard)
        return;
    if (at >= rule->heard)
        rule->counts_from = at + timeout;
    rule->heard = until;
}

/* Nothing else is known to be heard but what barriers have proved; told at the first beat. */
static void reconnect(struct rule *rule, const struct schedule *s, size_t k, int64_t timeout) {
    int64_t touched = s->begun, at = s->beats[k].sent;
    for (size_t j = 0; j < k; j++)
        if (s->beats[j].kind == ZKLI_HEARTBEAT_BARRIER)
            touched = s->beats[j].sent;
    rule->heard = certain_from(touched, timeout);
    if (at < rule->certain)
        rule->certain = rule->heard;
    else
        rule->counts_from = at + timeout_at(s, k - 1);
}

/* The rule once more: the best of the beats that count, among those remembered of a connection;
 * a reconnect proves the last barrier before it. */
static struct rule by_the_rule(const struct schedule *s, size_t count, size_t remembered) {
    int64_t begun = certain_from(s->begun, s->beats[0].timeout);
    struct rule rule = {begun, begun, INT64_MIN};
    for (size_t k = 0; k < count; k++) {
        const int64_t timeout = timeout_at(s, k), sent = s->beats[k].sent;
        if (is_reconnected(s, k))
            reconnect(&rule, s, k, timeout);
        int64_t heard = INT64_MIN;
        for (size_t j = 0; j + 2 < k; j++)
            if (s->beats[j].connection == s->beats[k].connection && k - j <= remembered &&
                is_counted(s, j, s->beats[k - 1].sent, timeout))
                heard = certain_from(s->beats[j].sent, timeout);
        hear(&rule, heard, s->beats[k].acked, timeout);
        if (s->beats[k].kind == ZKLI_HEARTBEAT_BARRIER && sent >= rule.counts_from &&
            rule.certain < rule.heard)
            rule.certain = rule.heard;
    }
    return rule;
}

static bool is_as_the_rule_says(const struct zkli_lease *lease, const struct schedule *s,
                                size_t count) {
    struct rule rule = by_the_rule(s, count, ZKLI_LEASE_HEARTBEATS);
    return lease->certain_until_ns == rule.certain && lease->heard_until_ns == rule.heard &&
           lease->counts_from_ns == rule.counts_from;
}

/*
 * When the leader may end the session at the earliest, if everything is cut when the last beat has
 * reached it. The leader sends pings each period from phase on; they come to the follower as late
 * as they can, but before the commit of a beat that was sent after them. A follower hears of us
 * when a beat arrives, between the times it was sent and acknowledged, and tells of it with its
 * answer to the next ping that comes; the answer comes to the leader as late as it can, but before
 * a beat that is sent after it. A new connection is news of us, too, from when the last beat was
 * acknowledged.
 */
static int64_t ended_by_a_leader(const struct schedule *s, size_t count, int64_t period,
                                 int64_t phase, bool is_late) {
    int64_t heard = s->begun;
    for (size_t k = 0; k < count; k++) {
        if (is_reconnected(s, k) && heard < s->beats[k - 1].acked)
            heard = s->beats[k - 1].acked;
        for (size_t j = 0; j + 1 < k; j++) {
            if (s->beats[j].connection != s->beats[k].connection)
                continue;
            int64_t touch = is_late ? s->beats[j].acked : s->beats[j].sent;
            int64_t ping = phase + (touch - phase) / period * period;
            if (ping < touch)
                ping += period;
            if (ping <= s->beats[k - 1].sent && ping > heard)
                heard = ping;
        }
    }
    return heard + timeout_at(s, count - 1);
}

static void play(const struct schedule *s, struct zkli_lease *lease, size_t n) {
    if (n == 0)
        zkli_lease_begin(lease, s->beats[0].timeout, s->begun);
    if (is_reconnected(s, n))
        zkli_lease_reconnect(lease, s->beats[n].timeout, s->beats[n].sent);
    zkli_lease_heartbeat(lease, s->beats[n].kind, s->beats[n].sent, s->beats[n].acked);
}

/* Adds a beat: on a new connection of this timeout, unless that is 0; so long after the last one,
 * and so long under way. */
static void add_beat(struct schedule *s, int64_t timeout, int64_t pause, int64_t round_trip) {
    size_t n = s->count++;
    bool is_new = n > 0 && timeout != 0;
    s->beats[n].connection = n == 0 ? 0 : s->beats[n - 1].connection + is_new;
    s->beats[n].timeout = n == 0 || is_new ? timeout : s->beats[n - 1].timeout;
    s->beats[n].sent = (n == 0 ? s->begun : s->beats[n - 1].acked) + pause;
    s->beats[n].acked = s->beats[n].sent + round_trip;
    s->beats[n].kind = ZKLI_HEARTBEAT_BARRIER;
}

/* The number's digits say what each of five beats is like. Some of the numbers are tried. */
#define SCHEDULES 60000
#define DIGITS 128 /* to the fifth power: so many numbers */
#define STRIDE UINT64_C(7724562371)

static void make_schedule(struct schedule *s, const int64_t choices[4], uint64_t number) {
    static const int64_t timeouts[4] = {0, 48, 24, 96};
    *s = (struct schedule){.begun = 3};
    for (size_t n = 0; n < 5; n++) {
        uint64_t digit = number % DIGITS;
        int64_t timeout = digit % 16 < 10 && n > 0 ? 0 : timeouts[digit % 4];
        add_beat(s, n == 0 && timeout == 0 ? 48 : timeout, choices[digit / 4 % 4],
                 choices[digit / 16 % 4]);
        s->beats[n].kind = digit < DIGITS / 2 ? ZKLI_HEARTBEAT_SYNC : ZKLI_HEARTBEAT_BARRIER;
        number /= DIGITS;
    }
}

static void every_small_schedule_is_judged_as_the_rule_says(void) {
    static const int64_t choices[4] = {0, 1, 6, 16};
    size_t wrong = 0, back = 0;
    for (size_t number = 0; number < SCHEDULES; number++) {
        struct schedule s;
        struct zkli_lease lease;
        int64_t before = INT64_MIN;
        make_schedule(&s, choices, number * STRIDE);
        for (size_t n = 0; n < s.count; n++) {
            bool is_shorter = n > 0 && timeout_at(&s, n) < timeout_at(&s, n - 1);
            play(&s, &lease, n);
            wrong += !is_as_the_rule_says(&lease, &s, n + 1);
            back += lease.certain_until_ns < before && !is_shorter;
            before = lease.certain_until_ns;
        }
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(back, 0);
}

static uint64_t next_random(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

/* Long ones, some so dense that not all that matter are remembered. */
static void long_schedules_too_and_forgetting_never_adds(void) {
    uint64_t random = 1;
    size_t wrong = 0, more = 0, less = 0;
    for (int round = 0; round < 1000; round++) {
        struct schedule s = {.begun = -50};
        int64_t pause_max = 1 + (int64_t)(next_random(&random) % 15);
        int64_t trip_max = 1 + (int64_t)(next_random(&random) % 10);
        struct zkli_lease lease;
        while (s.count < BEATS_MAX)
            add_beat(&s,
                     s.count == 0 || next_random(&random) % 16 == 0
                         ? 100 + (int64_t)(next_random(&random) % 100)
                         : 0,
                     (int64_t)(next_random(&random) % (uint64_t)pause_max),
                     (int64_t)(next_random(&random) % (uint64_t)trip_max));
        for (size_t n = 0; n < s.count; n++) {
            s.beats[n].kind = next_random(&random) % 4 == 0 ? ZKLI_HEARTBEAT_SYNC
                                                            : ZKLI_HEARTBEAT_BARRIER;
            play(&s, &lease, n);
        }
        int64_t all = by_the_rule(&s, s.count, BEATS_MAX).certain;
        wrong += !is_as_the_rule_says(&lease, &s, s.count);
        more += lease.certain_until_ns > all;
        less += lease.certain_until_ns < all;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(more, 0);
    CHECK(less > 10); /* or the schedules were not dense */
}

/* Half a tick is at most a quarter of the timeout, and may be less. Here the leader stays in
 * office, and is quick to end what is due. */
static void no_leader_ends_a_session_that_is_certain(void) {
    static const int64_t choices[4] = {0, 2, 7, 13};
    size_t too_long = 0, proofs = 0;
    for (size_t number = 0; number < SCHEDULES; number++) {
        struct schedule s;
        struct zkli_lease lease;
        make_schedule(&s, choices, number * STRIDE);
        for (size_t n = 0; n < s.count; n++)
            play(&s, &lease, n);
        proofs += lease.heard_until_ns > certain_from(s.begun, s.beats[0].timeout);
        for (int64_t period = 4; period <= 6; period++)
            for (int64_t phase = 0; phase < period; phase++)
                for (int is_late = 0; is_late < 2; is_late++)
                    too_long += lease.heard_until_ns >=
                                ended_by_a_leader(&s, s.count, period, phase, is_late != 0);
    }
    CHECK_INT(too_long, 0);
    CHECK(proofs > 1000);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the margin is a 24th and the period a 16th", the_margin_is_a_24th_and_the_period_a_16th},
        {"without a session nothing is certain", without_a_session_nothing_is_certain},
        {"a session is certain from when its connect was begun",
         a_session_is_certain_from_when_its_connect_was_begun},
        {"a new session owes nothing to the last one", a_new_session_owes_nothing_to_the_last_one},
        {"one heartbeat alone proves nothing", one_heartbeat_alone_proves_nothing},
        {"two heartbeats prove nothing", two_heartbeats_prove_nothing},
        {"a heartbeat counts whose witness was sent a late ping after its answer",
         a_heartbeat_counts_whose_witness_was_sent_a_late_ping_after_its_answer},
        {"without one between it and the witness a heartbeat does not count",
         without_one_between_it_and_the_witness_a_heartbeat_does_not_count},
        {"the heartbeat behind it has the witness, too",
         the_heartbeat_behind_it_has_the_witness_too},
        {"slow acks cost certainty", slow_acks_cost_certainty},
        {"the newest that counts decides", the_newest_that_counts_decides},
        {"a heartbeat that proves no more changes nothing",
         a_heartbeat_that_proves_no_more_changes_nothing},
        {"a shorter timeout granted at a reconnect shortens certainty",
         a_shorter_timeout_shortens_certainty},
        {"a shorter timeout of an unknown connection only shortens",
         a_shorter_timeout_of_an_unknown_connection_only_shortens},
        {"a longer timeout granted at a reconnect is not believed",
         a_longer_timeout_is_not_believed},
        {"a reconnect proves what was acknowledged before, and counting begins anew",
         a_reconnect_proves_what_was_acknowledged_before},
        {"more heartbeats than are remembered cost certainty only",
         more_heartbeats_than_are_remembered_cost_certainty_only},
        {"with steady heartbeats a hold outlives an outage of half the timeout",
         with_steady_heartbeats_a_hold_outlives_an_outage_of_half_the_timeout},
        {"certainty ends before the client notices a silent server",
         certainty_ends_before_the_client_notices_a_silent_server},
        {"five heartbeats in a row may be missing", five_heartbeats_in_a_row_may_be_missing},
        {"every small schedule is judged as the rule says",
         every_small_schedule_is_judged_as_the_rule_says},
        {"long schedules too, and forgetting never adds",
         long_schedules_too_and_forgetting_never_adds},
        {"no leader ends a session that is certain", no_leader_ends_a_session_that_is_certain},
    };
    return TEST_MAIN(argc, argv, "lease", cases);
}
