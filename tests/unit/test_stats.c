/*
 * The counts of a handle and of a session, over a client library that does as it is told. What the
 * engine itself counts is in test_engine_stats.c.
 */
#include "unit/fake_zoo.h"

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "support/actor.h"

#define HOLDER "/locks/a/_c_00000000-0000-0000-0000-000000000000-lock-0000000000"

static zkl_lock_statistics of_lock(zkl_lock *l) {
    zkl_lock_statistics stats = {.size = sizeof(stats)};
    CHECK_INT(zkl_lock_stats(l, &stats), ZKL_OK);
    return stats;
}

static zkl_lock_statistics of_all(zkl_session *s) {
    zkl_session_statistics stats = {.size = sizeof(stats)};
    zkl_lock_statistics locks = {.size = sizeof(locks)};
    CHECK_INT(zkl_session_stats(s, &stats, &locks), ZKL_OK);
    return locks;
}

static uint64_t sum_of(zkl_histogram histogram) {
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT(histogram.at); i++)
        sum += histogram.at[i];
    return sum;
}

/* Of what took at least so long, and not a hundred times as long. */
static uint64_t sum_from(zkl_histogram histogram, int64_t ms) {
    uint64_t sum = 0;
    for (size_t i = 1; i < COUNT(histogram.at); i++)
        if (INT64_C(2000) * ms < INT64_C(1) << (i + 1) && INT64_C(1) << i < 100000 * ms)
            sum += histogram.at[i];
    return sum;
}

static void acquires_are_counted_by_what_they_came_to(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"), *free_one = fake_lock(s, "b");
    CHECK_INT(sum_of(of_lock(l).waited), 0);
    fake_plant("/locks");
    fake_plant("/locks/a");
    fake_plant(HOLDER);
    CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY);
    CHECK_INT(zkl_acquire(l, 20), ZKL_TIMEOUT);
    CHECK_INT(zkl_acquire(l, 20), ZKL_TIMEOUT);
    CHECK_INT(zkl_acquire(l, -2), ZKL_INVALID);
    CHECK_INT(zkl_acquire(free_one, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_acquire(free_one, ZKL_FOREVER), ZKL_DEADLOCK);
    CHECK_INT(zkl_release(free_one), ZKL_OK);
    const zkl_lock_statistics lock = of_lock(l), other = of_lock(free_one), all = of_all(s);
    CHECK_INT(lock.acquires[ZKL_BUSY], 1);
    CHECK_INT(lock.acquires[ZKL_TIMEOUT], 2);
    CHECK_INT(lock.acquires[ZKL_INVALID], 0);
    CHECK_INT(lock.acquires[ZKL_OK], 0);
    CHECK_INT(sum_of(lock.waited), 0);
    CHECK_INT(other.acquires[ZKL_OK], 1);
    CHECK_INT(other.acquires[ZKL_DEADLOCK], 1);
    CHECK_INT(other.acquires[ZKL_BUSY], 0);
    CHECK_INT(sum_of(other.waited), 1);
    CHECK_INT(all.acquires[ZKL_BUSY], 1);
    CHECK_INT(all.acquires[ZKL_TIMEOUT], 2);
    CHECK_INT(all.acquires[ZKL_OK], 1);
    CHECK_INT(zkl_lock_close(free_one), ZKL_OK);
    CHECK_INT(of_all(s).acquires[ZKL_OK], 1); /* of one that is closed */
    fake_end(s, l);
}

static void waits_and_holds_are_measured(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    actor *a = actor_new();
    fake_keep(CREATE, true);
    actor_acquire(a, l, ZKL_FOREVER);
    WAIT_UNTIL(fake_has(CREATE), SOON_MS);
    CHECK_STAYS(!actor_is_done(a), 51); /* by a clock that is cut to milliseconds */
    fake_keep(CREATE, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_STAYS(actor_held(a, l), 61);
    CHECK_INT(sum_of(of_lock(l).held), 0); /* it goes on */
    CHECK_INT(actor_release(a, l), ZKL_OK);
    const zkl_lock_statistics lock = of_lock(l), all = of_all(s);
    CHECK_INT(sum_of(lock.waited), 1);
    CHECK_INT(sum_from(lock.waited, 50), 1);
    CHECK(lock.waited.total_us >= 50000);
    CHECK_INT(sum_of(lock.held), 1);
    CHECK_INT(sum_from(lock.held, 60), 1);
    CHECK(lock.held.total_us >= 60000);
    CHECK_INT(memcmp(&lock, &all, sizeof(lock)), 0);
    actor_free(a);
    fake_end(s, l);
}

static void what_needs_no_request_is_handed_on(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = NULL;
    CHECK_INT(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.local_handoffs = 1)), ZKL_OK);
    actor *a = actor_new();
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    actor_acquire(a, l, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_INT(of_lock(l).handed_on, 1);
    CHECK_INT(of_lock(l).acquires[ZKL_OK], 2);
    CHECK_INT(actor_release(a, l), ZKL_OK);
    CHECK_INT(sum_of(of_lock(l).held), 2);
    CHECK_INT(of_all(s).handed_on, 1);
    actor_free(a);
    fake_end(s, l);
}

static zkl_hold granted(zkl_lock *l) {
    zkli_session_lock(l->session);
    zkl_hold hold = l->current == NULL ? 0 : l->current->id;
    zkli_session_unlock(l->session);
    return hold;
}

struct late {
    size_t times;
    zkl_err err;
};

static void on_late(zkl_err err, zkl_hold hold, void *arg) {
    struct late *late = arg;
    (void)hold;
    late->times++;
    late->err = err;
}

/* It is too late when its caller is to be told, and is nothing. */
static void what_is_handed_on_and_taken_back_is_not_counted(void) {
    zkl_session *s = fake_session(HOSTS, &ZKL_SESSION_OPTIONS(.manual_dispatch = true));
    zkl_lock *l = NULL;
    struct late told = {0, ZKL_OK};
    CHECK_INT(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.linger_ms = 60000)), ZKL_OK);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(zkl_acquire_async(l, 20, on_late, &told), ZKL_OK);
    WAIT_UNTIL(granted(l) == 0, SOON_MS); /* taken back */
    while (told.times == 0)
        REQUIRE(zkl_session_dispatch(s, 1) >= 0);
    CHECK_INT(told.err, ZKL_TIMEOUT);
    CHECK_INT(of_lock(l).handed_on, 0);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(of_lock(l).handed_on, 1);
    CHECK_INT(zkl_release(l), ZKL_OK);
    fake_end(s, l);
}

static void losses_are_counted_by_their_reason(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    WAIT_UNTIL(!zkl_held(l), SOON_MS);
    zkl_lock_statistics lock = of_lock(l);
    CHECK_INT(lock.lost[ZKL_LOSS_SESSION], 1);
    CHECK_INT(lock.lost[ZKL_LOSS_UNCERTAIN], 0);
    CHECK_INT(lock.lost[ZKL_LOSS_NODE], 0);
    CHECK_INT(sum_of(lock.held), 1);
    CHECK_INT(zkl_release(l), ZKL_LOST);
    lock = of_lock(l);
    CHECK_INT(sum_of(lock.held), 1); /* once */
    CHECK_INT(of_all(s).lost[ZKL_LOSS_SESSION], 1);
    fake_end(s, l);
}

static void on_done(zkl_err err, zkl_hold hold, void *arg) {
    (void)hold;
    CHECK_INT(err, ZKL_OK);
    ++*(size_t *)arg;
}

/* It was over before its caller was told: who never had it has lost nothing. */
static void a_hold_that_nobody_was_told_of_counts_as_none(void) {
    zkl_session *s = fake_session(HOSTS, &ZKL_SESSION_OPTIONS(.manual_dispatch = true));
    zkl_lock *l = fake_lock(s, "a");
    size_t told = 0;
    CHECK_INT(zkl_acquire_async(l, ZKL_FOREVER, on_done, &told), ZKL_OK);
    WAIT_UNTIL(granted(l) != 0, SOON_MS);
    const zkl_hold first = granted(l);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    WAIT_UNTIL(granted(l) != 0 && granted(l) != first, SOON_MS);
    CHECK_INT(sum_of(of_lock(l).held), 0);
    CHECK_INT(of_lock(l).acquires[ZKL_OK], 0);
    while (told == 0)
        REQUIRE(zkl_session_dispatch(s, 1) >= 0);
    const zkl_lock_statistics lock = of_lock(l);
    CHECK_INT(lock.acquires[ZKL_OK], 1);
    CHECK_INT(sum_of(lock.waited), 1);
    CHECK_INT(sum_of(lock.held), 0);
    CHECK_INT(lock.lost[ZKL_LOSS_SESSION], 0);
    fake_end(s, l);
    CHECK_INT(told, 1);
}

static int64_t least_certain_ms(zkl_session *s, int64_t ns) {
    zkl_session_statistics stats = {.size = sizeof(stats)};
    zkli_session_lock(s);
    s->engine->counts.least_certain_ns = ns;
    zkli_session_unlock(s);
    CHECK_INT(zkl_session_stats(s, &stats, NULL), ZKL_OK);
    return stats.least_certain_ms;
}

static void no_certainty_left_is_told_from_little(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    CHECK_INT(least_certain_ms(s, INT64_MAX), INT64_MAX);
    CHECK_INT(least_certain_ms(s, 1999999), 1);
    CHECK_INT(least_certain_ms(s, 1), 1);
    CHECK_INT(least_certain_ms(s, 0), 0);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

static void programs_may_know_less_or_more(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_release(l), ZKL_OK);
    struct {
        zkl_lock_statistics stats;
        uint64_t newer, behind;
    } large;
    memset(&large, 0xff, sizeof(large));
    large.stats.size = sizeof(large.stats) + sizeof(large.newer);
    CHECK_INT(zkl_lock_stats(l, &large.stats), ZKL_OK);
    CHECK_INT(large.stats.size, sizeof(large.stats) + sizeof(large.newer));
    CHECK_INT(large.stats.acquires[ZKL_OK], 1);
    CHECK_INT(sum_of(large.stats.held), 1);
    CHECK_INT(large.newer, 0);
    CHECK_INT(large.behind, UINT64_MAX);
    memset(&large, 0xff, sizeof(large));
    large.stats.size = offsetof(zkl_lock_statistics, acquires[1]);
    CHECK_INT(zkl_lock_stats(l, &large.stats), ZKL_OK);
    CHECK_INT(large.stats.acquires[0], 1);
    CHECK_INT(large.stats.acquires[1], UINT64_MAX);
    const size_t wrong[] = {0, sizeof(size_t) - 1, 65537};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        zkl_session_statistics session = {.size = sizeof(session)};
        large.stats.size = wrong[i];
        CHECK_INT(zkl_lock_stats(l, &large.stats), ZKL_INVALID);
        CHECK_INT(zkl_session_stats(s, &session, &large.stats), ZKL_INVALID);
        CHECK_INT(session.sessions, 0);
        session.size = wrong[i];
        CHECK_INT(zkl_session_stats(s, &session, NULL), ZKL_INVALID);
    }
    fake_end(s, l);
}

static void what_is_not_there_has_no_counts(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    zkl_session_statistics session = {.size = sizeof(session)};
    zkl_lock_statistics lock = {.size = sizeof(lock)};
    CHECK_INT(zkl_lock_stats(NULL, &lock), ZKL_INVALID);
    CHECK_INT(zkl_lock_stats(l, NULL), ZKL_INVALID);
    CHECK_INT(zkl_session_stats(NULL, &session, NULL), ZKL_INVALID);
    CHECK_INT(zkl_session_stats(s, NULL, &lock), ZKL_INVALID);
    CHECK_INT(zkl_session_stats(s, &session, NULL), ZKL_OK);
    CHECK_INT(session.sessions, 1);
    CHECK_INT(session.connections, 1);
    CHECK_INT(session.least_certain_ms, INT64_MAX);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(zkl_lock_stats(l, &lock), ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"acquires are counted by what they came to", acquires_are_counted_by_what_they_came_to},
        {"waits and holds are measured", waits_and_holds_are_measured},
        {"what needs no request is handed on", what_needs_no_request_is_handed_on},
        {"what is handed on and taken back is not counted",
         what_is_handed_on_and_taken_back_is_not_counted},
        {"losses are counted by their reason", losses_are_counted_by_their_reason},
        {"a hold that nobody was told of counts as none",
         a_hold_that_nobody_was_told_of_counts_as_none},
        {"no certainty left is told from little", no_certainty_left_is_told_from_little},
        {"programs may know less or more", programs_may_know_less_or_more},
        {"what is not there has no counts", what_is_not_there_has_no_counts},
    };
    return TEST_MAIN(argc, argv, "stats", cases);
}
