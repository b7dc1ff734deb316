/* The end of a session while a lock is held or waited for, told by the server or only by time. */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

static void await_new_session(client *c, int64_t old_id) {
    WAIT_UNTIL(zkl_session_id(c->session) != old_id && client_is_connected(c), SOON_MS);
}

/* T4, T21: elsewhere two think they hold, or the object hangs for ever. */
static void a_holder_is_told_and_can_acquire_again(void) {
    const char *name = fresh_name("holder");
    client *c = client_open(name, T_NORMAL);
    int64_t token = 0;

    for (int releases = 0; releases < 2; releases++) {
        const int64_t id = zkl_session_id(c->session);
        zkl_event told = {0};

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK(client_token(c) > token);
        token = client_token(c);
        zkl_hold hold = actor_hold(c->actor, c->lock);
        session_expire(c->session);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
        CHECK(events_get(c->events, ZKL_EVENT_LOST, 0, &told, NULL));
        CHECK(told.hold == hold && told.token == token);
        CHECK(!client_held(c) && !zkl_hold_valid(c->lock, hold));
        CHECK(actor_hold(c->actor, c->lock) == hold); /* known until released */
        await_new_session(c, id);
        CHECK(!client_held(c));
        WAIT_UNTIL(client_told(c, ZKL_EVENT_RESUMED) == 1, SOON_MS);
        CHECK(events_get(c->events, ZKL_EVENT_RESUMED, 0, &told, NULL) && told.is_new_session);
        if (releases) {
            CHECK_INT(client_release(c), ZKL_LOST);
            CHECK_INT(client_release(c), ZKL_NOT_HELD);
        }
        events_forget(c->events);
    }
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK(client_token(c) > token);
    CHECK_INT(client_nodes(c), 1);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

/* T21: kazoo's acquire hangs when the loss was not looked at before. */
static void another_handle_of_the_session_works_after_a_loss(void) {
    const char *name = fresh_name("other-handle");
    client *c = client_open(name, T_NORMAL), *second = client_open_on(c, name);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    session_expire(c->session);
    CHECK_INT(client_acquire(second, SOON_MS), ZKL_OK);
    CHECK(!client_held(c));
    CHECK_INT(client_nodes(second), 1);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    client_close(second);
    client_close(c);
}

/* T12, T22: never granted on a node of the session that is gone. */
static void a_waiter_queues_again_with_the_new_session(void) {
    const char *name = fresh_name("waiter");
    client *holder = client_open(name, T_NORMAL), *c = client_open(name, T_NORMAL);
    const int64_t id = zkl_session_id(c->session);
    char path[RAW_PATH_MAX] = "";
    raw_stat stat = {0};

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    client_queue_up(c, 2);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    session_expire(c->session);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_REQUEUED) == 1, SOON_MS);
    await_new_session(c, id);
    WAIT_UNTIL(client_nodes(c) == 1 && queue_length(name) == 2, SOON_MS);
    CHECK(!client_is_done(c));
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    actor_node_path(c->actor, c->lock, path, sizeof(path));
    CHECK(raw_stat_of(fixture_raw(), path, &stat));
    CHECK(stat.owner == zkl_session_id(c->session));
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
    client_close(holder);
}

/* T12: holder and waiter go at once, the waiter hears of both together. */
static void a_waiter_is_not_granted_on_its_dead_node(void) {
    for (int i = 0; i < 5; i++) {
        const char *name = fresh_name("dead-node");
        client *c = client_open_proxied(name, T_NORMAL);
        char holder[RAW_PATH_MAX], path[RAW_PATH_MAX] = "";
        raw_stat stat = {0};

        plant_contender(name, CURATOR, holder);
        client_queue_up(c, 2);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
        proxy_hold(c->proxy, PROXY_TO_CLIENT, true);
        uproot(holder); /* the event that would grant is under way */
        session_expire(c->session);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
        proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
        CHECK_INT(client_result(c), ZKL_OK);
        /* The event may have granted it, before anybody could know; then it was lost at once. */
        WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1 || client_nodes(c) == 1, SOON_MS);
        actor_node_path(c->actor, c->lock, path, sizeof(path));
        CHECK(client_held(c) == (raw_stat_of(fixture_raw(), path, &stat) &&
                                 stat.owner == zkl_session_id(c->session)));
        client_close(c);
    }
}

/* T22: the deadline is the caller's, whatever happens to sessions. */
static void an_expiry_does_not_extend_a_deadline(void) {
    const char *name = fresh_name("deadline");
    client *holder = client_open(name, T_NORMAL), *c = client_open(name, T_NORMAL);

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    client_begin(c, 1000);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    session_expire(c->session);
    CHECK_INT(client_result(c), ZKL_TIMEOUT);
    CHECK_RANGE(actor_took_ms(c->actor), 999, 1500);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    CHECK(client_held(holder));
    client_close(c);
    client_close(holder);
}

/* T17: the number repeats when the directory was made anew; the uuid does not. */
static void a_late_release_deletes_nobody_elses_node(void) {
    const char *name = fresh_name("late");
    client *c = client_open_proxied(name, T_LONG);
    char own[RAW_PATH_MAX], other[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, own);
    client_silence(c, true);
    session_expire(c->session);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(raw_delete(fixture_raw(), lock_dir(name)), RAW_OK);
    plant_contender(name, CURATOR, other);
    CHECK_STRING(strrchr(other, '-'), strrchr(own, '-')); /* the same number */
    CHECK_INT(client_release(c), ZKL_OK);
    client_silence(c, false);
    CHECK_INT(client_acquire(c, 500), ZKL_TIMEOUT);
    CHECK(raw_exists(fixture_raw(), other));
    uproot(other);
    client_close(c);
}

/* With T_SHORT a slow machine may cost another connection at any time. */
static zkl_err try_while_unreachable(client *c) {
    const int64_t end_ms = clock_ms() + SOON_MS;
    zkl_err err;
    do
        err = client_acquire(c, 0);
    while (err == ZKL_UNREACHABLE && clock_ms() < end_ms);
    return err;
}

/* T20: the holder knows before the next one can be granted, by one clock. */
static void a_partitioned_holder_stops_before_the_next_begins(void) {
    int64_t least = INT64_MAX;

    for (int i = 0; i < 5; i++) {
        const char *name = fresh_name("partition");
        client *c = client_open_proxied(name, T_SHORT), *next = client_open(name, T_LONG);
        int64_t deadline_ns, until_ns = 0, told_ns = 0;

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        zkl_hold hold = actor_hold(c->actor, c->lock);
        client_queue_up(next, 2);
        WAIT_UNTIL(zkl_hold_valid(c->lock, hold), SOON_MS);
        client_silence(c, true);
        deadline_ns = clock_ns() + 2 * zkl_session_timeout_ms(c->session) * NS_PER_MS;
        /* Whoever looks at the clock after a true answer has a time at which it was held. */
        while (zkl_hold_valid(c->lock, hold) && until_ns < deadline_ns)
            until_ns = clock_ns();
        CHECK_INT(client_result(next), ZKL_OK);
        CHECK(until_ns < actor_done_ns(next->actor));
        WAIT_UNTIL(events_get(c->events, ZKL_EVENT_LOST, 0, NULL, &told_ns), SOON_MS);
        CHECK(told_ns < actor_done_ns(next->actor));
        if (actor_done_ns(next->actor) - until_ns < least)
            least = actor_done_ns(next->actor) - until_ns;
        CHECK(!client_held(c));
        client_silence(c, false);
        WAIT_UNTIL(client_is_connected(c), SOON_MS);
        CHECK_INT(try_while_unreachable(c), ZKL_BUSY);
        CHECK_INT(client_release(next), ZKL_OK);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_close(next);
        client_close(c);
    }
    test_note("the next began at least %lld ms after the last had to stop",
              (long long)(least / NS_PER_MS));
}

/*
 * Only the answers stay out, so the server goes on hearing from us and keeps the session. The hold
 * is lost by the clock all the same, and for good.
 */
static void a_hold_lost_by_the_clock_is_deleted_if_the_session_survives(void) {
    const char *name = fresh_name("one-way");
    client *c = client_open_proxied(name, T_SHORT);
    const int64_t id = zkl_session_id(c->session);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, true);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, zkl_session_timeout_ms(c->session) + 200);
    CHECK(!client_held(c));
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    WAIT_UNTIL(client_is_connected(c), SOON_MS);
    bool kept = zkl_session_id(c->session) == id;
    test_note("the session %s", kept ? "survived" : "ended too");
    CHECK(!client_held(c));
    CHECK_INT(client_release(c), ZKL_LOST);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 1);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

static void every_hold_of_a_session_is_lost_once(void) {
    enum {
        COUNT = 20
    };
    client *first = client_open(fresh_name("many"), T_NORMAL), *all[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        all[i] = client_open_on(first, fresh_name("many"));
        REQUIRE_INT(client_acquire(all[i], SOON_MS), ZKL_OK);
    }
    session_expire(first->session);
    for (size_t i = 0; i < COUNT; i++)
        WAIT_UNTIL(client_told(all[i], ZKL_EVENT_LOST) == 1, SOON_MS);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(client_acquire(all[i], SOON_MS), ZKL_OK);
        CHECK_INT(client_told(all[i], ZKL_EVENT_LOST), 1);
        client_close(all[i]);
    }
    client_close(first);
}

/* T42: a call that meets a session which has just ended must not wait for ever. */
static void calls_that_meet_an_expiry_do_not_hang(void) {
    const char *name = fresh_name("meets");
    client *c = client_open(name, T_NORMAL);

    for (int i = 0; i < 20; i++) {
        const int64_t id = zkl_session_id(c->session);

        client_begin(c, SOON_MS);
        session_expire(c->session);
        zkl_err result = client_result(c);
        CHECK_INT(result, ZKL_OK);
        if (result != ZKL_OK)
            events_print_log(c->events);
        (void)client_release_wait(c); /* OK or LOST: who was first is anybody's guess */
        await_new_session(c, id);
        CHECK_INT(client_release(c), ZKL_NOT_HELD);
    }
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    client_close(c);
}

static const test_case Cases[] = {
    {"a holder is told of the end of its session and can acquire again (T4, T21)",
     a_holder_is_told_and_can_acquire_again},
    {"another handle of the session works after a loss (T21)",
     another_handle_of_the_session_works_after_a_loss},
    {"a waiter queues again with the new session, and says so (T12, T22)",
     a_waiter_queues_again_with_the_new_session},
    {"a waiter is not granted on its dead node (T12)", a_waiter_is_not_granted_on_its_dead_node},
    {"an expiry does not extend a deadline (T22)", an_expiry_does_not_extend_a_deadline},
    {"a late release deletes nobody else's node (T17)", a_late_release_deletes_nobody_elses_node},
    {"a partitioned holder stops before the next begins (T20)",
     a_partitioned_holder_stops_before_the_next_begins},
    {"a hold lost by the clock is deleted if the session survives",
     a_hold_lost_by_the_clock_is_deleted_if_the_session_survives},
    {"every hold of a session is lost once", every_hold_of_a_session_is_lost_once},
    {"calls that meet an expiry do not hang (T42)", calls_that_meet_an_expiry_do_not_hang},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "expiry", Cases);
}
