/*
 * What a hold may begin on: a lease that heartbeats extend in time, whatever was before. Histories
 * of heartbeats, outages, stalls and pauses, and then good order, in which no hold may be lost.
 */
#include "core/lease.h"

#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define MS INT64_C(1000000)
#define T (10000 * MS)

static struct zkli_lease Lease;
static int64_t Ample_until;

static void reckon(int64_t now_ns) {
    Ample_until = zkli_lease_ample_until(&Lease, now_ns);
}

static bool is_ample(int64_t now_ns) {
    return zkli_lease_is_certain(&Lease, now_ns) && now_ns < Ample_until;
}

static void begin_reckoning(void) {
    memset(&Lease, 0xff, sizeof(Lease));
    zkli_lease_begin(&Lease, T, 0);
    reckon(0);
}

/* A heartbeat as the engine sends them, one at a time. Returns when the next one is sent. */
static int64_t beat(int64_t sent_ns, int64_t took_ns) {
    int64_t acked_ns = sent_ns + took_ns, next_ns = sent_ns + zkli_lease_period_ns(T);
    zkli_lease_heartbeat(&Lease, ZKLI_HEARTBEAT_BARRIER, sent_ns, acked_ns);
    reckon(acked_ns);
    return next_ns > acked_ns ? next_ns : acked_ns;
}

static int64_t beats(int64_t sent_ns, int64_t round_trip_ns, int count) {
    for (int i = 0; i < count; i++)
        sent_ns = beat(sent_ns, round_trip_ns);
    return sent_ns;
}

static int64_t come_back(int64_t now_ns) {
    zkli_lease_reconnect(&Lease, T, now_ns);
    reckon(now_ns);
    return now_ns;
}

struct run {
    int64_t begun_ns; /* when a hold could begin first; -1: never */
    int64_t least_ns; /* what was left of the lease from then on, at the least */
    int64_t last_ns;  /* the same in the long run */
};

static void note_begun(struct run *run, int64_t now_ns) {
    if (run->begun_ns < 0 && is_ample(now_ns))
        run->begun_ns = now_ns;
}

/* From here on all goes well. */
static struct run go_on(int64_t sent_ns, int64_t round_trip_ns) {
    struct run run = {-1, T, T};
    for (int i = 0; i < 40; i++) {
        int64_t acked_ns = sent_ns + round_trip_ns;
        note_begun(&run, sent_ns);
        run.last_ns = Lease.certain_until_ns - acked_ns;
        if (run.begun_ns >= 0 && run.last_ns < run.least_ns)
            run.least_ns = run.last_ns;
        sent_ns = beat(sent_ns, round_trip_ns);
        note_begun(&run, acked_ns);
    }
    return run;
}

static const int64_t Round_trips[] = {0,     T / 100,    T / 60, T / 30, T / 15, T / 10, T / 9,
                                      T / 8, T * 3 / 22, T / 7,  T / 6,  T / 5,  T / 3};
#define ROUND_TRIPS (sizeof(Round_trips) / sizeof(Round_trips[0]))

static void in_good_order_a_hold_may_begin_at_any_time(void) {
    for (size_t i = 0; i < ROUND_TRIPS; i++) {
        int64_t round_trip_ns = Round_trips[i], sent_ns = 0;
        begin_reckoning();
        while (sent_ns < 5 * T) {
            int64_t acked_ns = sent_ns + round_trip_ns;
            bool is_certain = Lease.certain_until_ns > acked_ns;
            CHECK(is_certain || round_trip_ns > T / 9);
            if (is_certain && sent_ns > T) /* how long a round trip is has to be learned */
                CHECK(is_ample(sent_ns) && is_ample(acked_ns));
            sent_ns = beat(sent_ns, round_trip_ns);
        }
    }
}

/* After a lapse the leader may be ending the session for some time. */
static int64_t longest_wait_ns(int64_t outage_ns) {
    if (outage_ns <= T / 8)
        return 0;
    return outage_ns < T / 3 ? T * 11 / 20 : T * 8 / 5;
}

static void after_a_short_outage_a_hold_begins_at_once_and_after_any_with_a_first_proof(void) {
    for (size_t i = 0; Round_trips[i] <= T / 30; i++)
        for (int64_t outage_ns = 0; outage_ns < 2 * T; outage_ns += T / 96) {
            begin_reckoning();
            int64_t back_ns = come_back(beats(0, Round_trips[i], 30) + outage_ns);
            struct run run = go_on(back_ns, Round_trips[i]);
            REQUIRE(run.begun_ns >= back_ns);
            CHECK_RANGE(run.begun_ns - back_ns, 0, longest_wait_ns(outage_ns));
        }
}

/* xorshift */
static uint64_t draw(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* What an outage, a stall or a pause of heartbeats has left is not begun on if it does not last. */
static void a_hold_that_begins_is_not_lost_with_nothing_amiss(void) {
    uint64_t random = 1;
    size_t late = 0;
    for (int history = 0; history < 50000; history++) {
        int64_t round_trip_ns = Round_trips[draw(&random) % ROUND_TRIPS];
        begin_reckoning();
        int64_t sent_ns = beats(0, round_trip_ns, 4); /* how long a round trip is has to be known */
        for (uint64_t parts = 1 + draw(&random) % 5; parts > 0; parts--) {
            int64_t length_ns = (int64_t)(draw(&random) % (uint64_t)T);
            sent_ns = beats(sent_ns, round_trip_ns, (int)(draw(&random) % 12));
            switch (draw(&random) % 3) {
            case 0:
                sent_ns = come_back(sent_ns + length_ns);
                break;
            case 1:
                sent_ns = beat(sent_ns, round_trip_ns + length_ns / 3 * 2);
                break;
            default:
                sent_ns += length_ns;
                Ample_until = sent_ns;
                break;
            }
        }
        struct run run = go_on(sent_ns, round_trip_ns);
        if (run.last_ns < T / 20)
            continue; /* hardly anybody can hold on such a link */
        CHECK(run.begun_ns >= 0);
        CHECK_RANGE(run.least_ns, run.last_ns / 5 * 2, T);
        late += run.begun_ns > sent_ns;
    }
    CHECK(late > 1000);
}

/* A client that can hold only as long as a new session is certain may do that. */
static void where_no_hold_can_be_kept_little_will_do(void) {
    begin_reckoning();
    int64_t sent_ns = beats(0, T / 8, 4);
    size_t begun = 0;
    for (int i = 0; i < 20; i++) {
        CHECK(zkli_lease_is_certain(&Lease, sent_ns + T / 40) == is_ample(sent_ns));
        begun += is_ample(sent_ns);
        sent_ns = beat(sent_ns, T / 8);
    }
    CHECK(begun > 0);
}

/* What an outage may take at the worst moment, by how long heartbeats take at the most. */
static void slow_heartbeats_leave_less(void) {
    static const struct {
        int64_t most_ns, left_hundredths;
    } cases[] = {{T / 60 - MS, 50}, {T / 20, 40}, {T / 16, 39}, {T / 12, 29}};
    int64_t round_trip_ns = 0, least_ns = T;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (; round_trip_ns <= cases[i].most_ns; round_trip_ns += MS) {
            begin_reckoning();
            struct run run = go_on(beats(0, round_trip_ns, 30), round_trip_ns);
            least_ns = run.least_ns < least_ns ? run.least_ns : least_ns;
        }
        CHECK_INT(least_ns * 100 / T, cases[i].left_hundredths);
    }
}

/* One stall after the other, and certainty all the time. */
static void recurring_stalls_keep_nobody_waiting(void) {
    for (int each = 3; each <= 6; each++) {
        begin_reckoning();
        int64_t sent_ns = beats(0, T / 200, 30), last_ns = sent_ns;
        for (int i = 0; sent_ns < 10 * T; i++) {
            int64_t took_ns = i % each == 0 ? T / 5 : T / 200, acked_ns = sent_ns + took_ns;
            CHECK(zkli_lease_is_certain(&Lease, acked_ns));
            sent_ns = beat(sent_ns, took_ns);
            if (is_ample(acked_ns))
                last_ns = acked_ns;
            CHECK_RANGE(acked_ns - last_ns, 0, T * 2 / 3);
        }
    }
}

/* The next heartbeat that is late may be late for long. */
static void a_heartbeat_that_is_long_overdue_lets_nobody_begin(void) {
    begin_reckoning();
    int64_t due_ns = beats(0, T / 100, 30) + T / 100;
    CHECK(is_ample(due_ns + T / 5)); /* a reply that holds it up is no reason */
    CHECK(!is_ample(due_ns + T / 3));
    CHECK(zkli_lease_is_certain(&Lease, due_ns + T / 3));
}

static void without_a_session_no_hold_begins(void) {
    memset(&Lease, 0, sizeof(Lease));
    reckon(0);
    CHECK(!is_ample(0));
    begin_reckoning();
    CHECK(is_ample(0));
    zkli_lease_end(&Lease);
    reckon(0);
    CHECK(!is_ample(0));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"in good order a hold may begin at any time", in_good_order_a_hold_may_begin_at_any_time},
        {"after a short outage a hold begins at once, and after any with a first proof",
         after_a_short_outage_a_hold_begins_at_once_and_after_any_with_a_first_proof},
        {"a hold that begins is not lost with nothing amiss",
         a_hold_that_begins_is_not_lost_with_nothing_amiss},
        {"where no hold can be kept little will do", where_no_hold_can_be_kept_little_will_do},
        {"slow heartbeats leave less", slow_heartbeats_leave_less},
        {"recurring stalls keep nobody waiting", recurring_stalls_keep_nobody_waiting},
        {"a heartbeat that is long overdue lets nobody begin",
         a_heartbeat_that_is_long_overdue_lets_nobody_begin},
        {"without a session no hold begins", without_a_session_no_hold_begins},
    };
    return TEST_MAIN(argc, argv, "lease_ample", cases);
}
