/*
 * A hold that is lost: what the thread that had it is told by each call afterwards, whatever others
 * do meanwhile; and threads that end while they use a lock.
 */
#include "support/client.h"

#include <pthread.h>
#include <stdatomic.h>

/* T20: the inner acquire must not make the outer section believe that it held all the time. */
static void a_lost_recursive_hold_is_lost_on_every_level(void) {
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open_recursive(s, fresh_name("nested"));

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    zkl_hold first = zkl_hold_of(l);
    session_expire(s);
    WAIT_UNTIL(!zkl_held(l), SOON_MS);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_LOST);
    CHECK(!zkl_held(l));
    CHECK(zkl_hold_of(l) == first);
    CHECK_INT(zkl_release(l), ZKL_LOST);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_LOST);
    CHECK_INT(zkl_release(l), ZKL_LOST);
    CHECK_INT(zkl_release(l), ZKL_NOT_HELD);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK(zkl_held(l));
    CHECK_INT(zkl_release(l), ZKL_OK);
    lock_close(l);
    session_close(s);
}

/* T17, T19: one thread loses, another acquires with the same handle, the first cleans up late. */
static void a_lost_hold_stays_with_its_thread(void) {
    client *c = client_open(fresh_name("late"), T_NORMAL);
    actor *other = actor_new();

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold lost = actor_hold(c->actor, c->lock);
    session_expire(c->session);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    actor_acquire(other, c->lock, SOON_MS);
    REQUIRE_INT(actor_result(other, SOON_MS), ZKL_OK);
    CHECK(actor_hold(c->actor, c->lock) == lost);
    CHECK(!zkl_hold_valid(c->lock, lost));
    CHECK_INT(client_release(c), ZKL_LOST);
    CHECK_INT(client_release(c), ZKL_NOT_HELD);
    CHECK(actor_held(other, c->lock));
    CHECK_INT(actor_release(other, c->lock), ZKL_OK);
    actor_free(other);
    client_close(c);
}

struct slow {
    atomic_int_fast64_t until_ns; /* 0: not known yet */
    events *events;
};

/* Returns from SUSPENDED when the hold ends, without a call that would notice. */
static void slow_on_event(const zkl_event *event, void *arg) {
    struct slow *slow = arg;

    if (event->type == ZKL_EVENT_SUSPENDED)
        while (atomic_load(&slow->until_ns) == 0 || clock_ns() < atomic_load(&slow->until_ns))
            ;
    events_on(event, slow->events);
}

/* The thread that delivers comes back from one callback just when the loss is the news: whichever
 * thread finds it first, it is told. */
static void a_loss_is_told_though_a_callback_ends_just_then(void) {
    for (int i = 0; i < 8; i++) {
        struct slow slow = {.events = events_new()};
        proxy *p = proxy_new();
        zkl_session *s = session_open_with(
            proxy_hosts(p), ZKL_SESSION_OPTIONS(.session_timeout_ms = T_SHORT,
                                                .on_event = slow_on_event, .arg = &slow));
        zkl_lock *l = lock_open(s, fresh_name("told"), slow.events);

        REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        proxy_refuse(p, true);
        proxy_drop(p);
        WAIT_UNTIL(zkl_session_state(s) == ZKL_STATE_SUSPENDED, SOON_MS);
        atomic_store(&slow.until_ns, clock_ns() + (zkl_remaining_ms(l) + 1) * NS_PER_MS);
        WAIT_UNTIL(events_count(slow.events, ZKL_EVENT_LOST) == 1, SOON_MS);
        CHECK_INT(events_count(slow.events, ZKL_EVENT_SUSPENDED), 1);
        lock_close(l);
        session_close(s);
        proxy_close(p);
        events_free(slow.events);
    }
}

/* Returns from HELD late: the close of the session has ended the hold, whose loss is in the line,
 * and waits for nothing but callbacks. */
static void on_event_until_closed(const zkl_event *event, void *arg) {
    if (event->type == ZKL_EVENT_HELD) {
        while (zkl_session_state(event->session) != ZKL_STATE_CLOSED)
            ;
        const int64_t end_ms = clock_ms() + 200;
        while (clock_ms() < end_ms)
            ;
    }
    events_on(event, arg);
}

static void a_close_of_the_session_tells_the_loss(void) {
    for (int by_hand = 0; by_hand <= 1; by_hand++) {
        events *e = events_new();
        zkl_session *s = session_open_with(
            server_hosts(),
            ZKL_SESSION_OPTIONS(.session_timeout_ms = T_NORMAL, .manual_dispatch = by_hand == 1));
        zkl_lock *l = NULL;
        REQUIRE_INT(
            zkl_lock_open(
                &l, s, fresh_name("closed"),
                &ZKL_LOCK_OPTIONS(.on_event = by_hand == 1 ? events_on : on_event_until_closed,
                                  .arg = e)),
            ZKL_OK);
        REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        session_close(s);
        CHECK_INT(events_count(e, ZKL_EVENT_HELD), 1);
        CHECK_INT(events_count(e, ZKL_EVENT_LOST), 1);
        lock_close(l);
        events_free(e);
    }
}

static void *acquire_and_release(void *arg) {
    for (;;) {
        if (zkl_acquire(arg, SOON_MS) == ZKL_OK)
            (void)zkl_release(arg);
        pthread_testcancel();
    }
    return NULL;
}

static zkl_err use(void *lock) {
    zkl_err err = zkl_acquire(lock, SOON_MS);

    return err == ZKL_OK ? zkl_release_wait(lock, SOON_MS) : err;
}

/* T15: pthread_cancel comes at any point; the other threads of the session must not notice. */
static void a_canceled_thread_leaves_the_session_usable(void) {
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *other = lock_open(s, fresh_name("other"), NULL);
    actor *a = actor_new();

    for (int i = 0; i < 20; i++) {
        zkl_lock *l = lock_open(s, fresh_name("canceled"), NULL);
        pthread_t thread;

        REQUIRE_INT(pthread_create(&thread, NULL, acquire_and_release, l), 0);
        for (int pause = 0; pause < i; pause++)
            wait_pause();
        REQUIRE_INT(pthread_cancel(thread), 0);
        REQUIRE_INT(pthread_join(thread, NULL), 0);
        actor_begin(a, use, other);
        REQUIRE_INT(actor_result(a, SOON_MS), ZKL_OK);
        lock_close(l);
    }
    actor_free(a);
    lock_close(other);
    session_close(s);
}

static const test_case Cases[] = {
    {"a lost recursive hold is lost on every level (T20)",
     a_lost_recursive_hold_is_lost_on_every_level},
    {"a lost hold stays with its thread (T17, T19)", a_lost_hold_stays_with_its_thread},
    {"a loss is told though a callback ends just then",
     a_loss_is_told_though_a_callback_ends_just_then},
    {"a close of the session tells the loss", a_close_of_the_session_tells_the_loss},
    {"a canceled thread leaves the session usable (T15)",
     a_canceled_thread_leaves_the_session_usable},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "hold", Cases);
}
