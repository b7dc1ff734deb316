/* Callbacks (T7, T23, T44): what they may call, and what they can hold up. */
#include "support/client.h"

#include <stdatomic.h>
#include <stdio.h>

/* A callback that, at one type of event, does something once. */
struct hook {
    zkl_event_type type;
    void (*act)(struct hook *hook, const zkl_event *event);
    zkl_lock *lock;
    zkl_session *session;
    zkl_err results[12];
    atomic_bool entered, proceed, done;
};

static void on_hook(const zkl_event *event, void *arg) {
    struct hook *h = arg;

    if (event->type != h->type || atomic_exchange(&h->entered, true))
        return;
    h->act(h, event);
    atomic_store(&h->done, true);
}

static zkl_lock *open_hooked(zkl_session *s, const char *name, struct hook *h) {
    zkl_lock *l = NULL;

    REQUIRE_INT(zkl_lock_open(&l, s, name, &ZKL_LOCK_OPTIONS(.on_event = on_hook, .arg = h)),
                ZKL_OK);
    h->lock = l;
    h->session = s;
    return l;
}

/* A hook outlives a test that fails, because the callback may still come. */
static struct hook *new_hook(zkl_event_type type, void (*act)(struct hook *, const zkl_event *)) {
    static struct hook hooks[32];
    static size_t next;

    REQUIRE(next < sizeof(hooks) / sizeof(hooks[0]));
    hooks[next].type = type;
    hooks[next].act = act;
    return &hooks[next++];
}

static void ignore_lock(const char *name, size_t contenders, void *arg) {
    (void)name;
    (void)contenders;
    (void)arg;
}

static void call_all_that_block(struct hook *h, const zkl_event *event) {
    zkl_queue *queue = NULL;
    zkl_session *s = NULL;

    (void)event;
    h->results[0] = zkl_acquire(h->lock, ZKL_FOREVER);
    h->results[1] = zkl_acquire(h->lock, 0);
    h->results[2] = zkl_release_wait(h->lock, ZKL_FOREVER);
    h->results[3] = zkl_inspect(h->session, "x", &queue);
    h->results[4] = zkl_list(h->session, NULL, ignore_lock, NULL);
    h->results[5] = zkl_session_close(h->session);
    h->results[6] = zkl_session_open(&s, server_hosts(), NULL);
    h->results[7] = zkl_downgrade(h->lock);
    h->results[8] = zkl_set_permits(h->lock, 1);
    if (h->results[6] == ZKL_OK)
        (void)zkl_session_close(s); /* cannot be: see the check */
}

static void a_call_that_blocks_is_refused_in_a_callback(void) {
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    struct hook *h = new_hook(ZKL_EVENT_HELD, call_all_that_block);
    zkl_lock *l = open_hooked(s, fresh_name("blocks"), h);

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    WAIT_UNTIL(atomic_load(&h->done), SOON_MS);
    for (size_t i = 0; i < 9; i++)
        CHECK_INT(h->results[i], ZKL_IN_CALLBACK);
    CHECK(zkl_held(l));
    CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    lock_close(l);
    session_close(s);
}

static void release_hold_inside(struct hook *h, const zkl_event *event) {
    char path[1024];

    h->results[0] = zkl_release(h->lock); /* this thread has no hold */
    h->results[1] = zkl_held(h->lock) ? ZKL_SERVER : ZKL_OK;
    h->results[2] = zkl_hold_valid(h->lock, event->hold) ? ZKL_OK : ZKL_SERVER;
    h->results[3] = zkl_node_path(h->lock, path, sizeof(path));
    h->results[4] = zkl_release_hold(h->lock, event->hold);
    h->results[5] = zkl_hold_valid(h->lock, event->hold) ? ZKL_SERVER : ZKL_OK;
}

static void a_callback_may_release(void) {
    const char *name = fresh_name("release");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    struct hook *h = new_hook(ZKL_EVENT_HELD, release_hold_inside);
    zkl_lock *l = open_hooked(s, name, h);

    /* It may be released before this thread runs again: then OK would be untrue. */
    const zkl_err err = zkl_acquire(l, SOON_MS);
    CHECK(err == ZKL_OK || err == ZKL_CANCELED);
    WAIT_UNTIL(atomic_load(&h->done), SOON_MS);
    CHECK_INT(h->results[0], ZKL_NOT_HELD);
    CHECK_INT(h->results[1], ZKL_OK);
    CHECK_INT(h->results[2], ZKL_OK);
    CHECK_INT(h->results[3], ZKL_NOT_HELD);
    CHECK_INT(h->results[4], ZKL_OK);
    CHECK_INT(h->results[5], ZKL_OK);
    CHECK(!zkl_held(l));
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    lock_close(l);
    session_close(s);
}

static void cancel_inside(struct hook *h, const zkl_event *event) {
    (void)event;
    h->results[0] = zkl_cancel(h->lock);
}

static void a_callback_may_cancel(void) {
    const char *name = fresh_name("cancel");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    struct hook *h = new_hook(ZKL_EVENT_QUEUED, cancel_inside);
    zkl_lock *l = open_hooked(s, name, h);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_CANCELED);
    WAIT_UNTIL(atomic_load(&h->done), SOON_MS);
    CHECK_INT(h->results[0], ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    uproot(holder);
    CHECK_INT(zkl_acquire(l, 0), ZKL_OK);
    lock_close(l);
    session_close(s);
}

static void close_inside(struct hook *h, const zkl_event *event) {
    (void)event;
    h->results[0] = zkl_lock_close(h->lock);
}

/* T44: also in its own callback, with a wait on it that ends by that. */
static void a_callback_may_close_its_lock(void) {
    const char *name = fresh_name("close");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    struct hook *h = new_hook(ZKL_EVENT_QUEUED, close_inside);
    zkl_lock *l = open_hooked(s, name, h);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_CLOSED);
    WAIT_UNTIL(atomic_load(&h->done), SOON_MS);
    CHECK_INT(h->results[0], ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    uproot(holder);

    h = new_hook(ZKL_EVENT_HELD, close_inside);
    l = open_hooked(s, name, h);
    zkl_err err = zkl_acquire(l, SOON_MS); /* granted, and perhaps closed before it returned */
    CHECK(err == ZKL_OK || err == ZKL_CLOSED);
    WAIT_UNTIL(atomic_load(&h->done), SOON_MS);
    CHECK_INT(h->results[0], ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    session_close(s);
}

static void wait_inside(struct hook *h, const zkl_event *event) {
    const int64_t end = clock_ms() + SOON_MS;

    (void)event;
    while (!atomic_load(&h->proceed) && clock_ms() < end)
        wait_pause();
}

/* T23: elsewhere it is the event thread that sleeps, and the session with it. */
static void a_callback_that_sleeps_stops_nothing_else(void) {
    zkl_session *s = session_open(server_hosts(), T_SHORT, NULL);
    const int64_t id = zkl_session_id(s);
    const char *name = fresh_name("awake");
    struct hook *h = new_hook(ZKL_EVENT_HELD, wait_inside);
    zkl_lock *sleepy = open_hooked(s, fresh_name("sleepy"), h), *l = lock_open(s, name, NULL);
    char holder[RAW_PATH_MAX];
    actor *a = actor_new();

    REQUIRE_INT(zkl_acquire(sleepy, SOON_MS), ZKL_OK);
    zkl_hold hold = zkl_hold_of(sleepy);
    WAIT_UNTIL(atomic_load(&h->entered), SOON_MS);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    }
    CHECK_STAYS(zkl_hold_valid(sleepy, hold), 2 * T_SHORT);
    plant_contender(name, CURATOR, holder);
    actor_acquire(a, l, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    uproot(holder);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_release_wait(sleepy, SOON_MS), ZKL_OK);
    CHECK(zkl_session_id(s) == id);
    CHECK(!atomic_load(&h->done));
    atomic_store(&h->proceed, true);
    actor_free(a);
    lock_close(l);
    lock_close(sleepy);
    session_close(s);
    CHECK(atomic_load(&h->done));
}

static zkl_err call_lock_close(void *lock) {
    return zkl_lock_close(lock);
}

static zkl_err call_session_close(void *session) {
    return zkl_session_close(session);
}

/* What a callback uses must not go away under it. */
static void closing_waits_for_a_callback_that_runs(void) {
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    actor *a = actor_new();

    for (int session_too = 0; session_too < 2; session_too++) {
        struct hook *h = new_hook(ZKL_EVENT_HELD, wait_inside);
        zkl_lock *l = open_hooked(s, fresh_name("waits"), h);

        REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        WAIT_UNTIL(atomic_load(&h->entered), SOON_MS);
        if (session_too)
            actor_begin(a, call_session_close, s);
        else
            actor_begin(a, call_lock_close, l);
        CHECK_STAYS(!actor_is_done(a), 200);
        atomic_store(&h->proceed, true);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
        CHECK(atomic_load(&h->done));
        if (session_too)
            lock_close(l);
    }
    actor_free(a);
}

/* Another lock's callback is none of this lock's business. */
static void closing_a_lock_does_not_wait_for_another_locks_callback(void) {
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    struct hook *h = new_hook(ZKL_EVENT_HELD, wait_inside);
    zkl_lock *sleepy = open_hooked(s, fresh_name("sleepy"), h);
    events *e = events_new();
    zkl_lock *l = lock_open(s, fresh_name("brisk"), e);

    REQUIRE_INT(zkl_acquire(sleepy, SOON_MS), ZKL_OK);
    WAIT_UNTIL(atomic_load(&h->entered), SOON_MS);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    lock_close(l);
    CHECK(!atomic_load(&h->done));
    atomic_store(&h->proceed, true);
    lock_close(sleepy);
    session_close(s);
    CHECK_INT(events_count(e, ZKL_EVENT_HELD), 0); /* it was queued, and must not come any more */
    events_free(e);
}

static void events_come_in_order_and_one_at_a_time(void) {
    enum {
        ROUNDS = 30
    };
    const char *name = fresh_name("ordered");
    client *holder = client_open(name, T_NORMAL), *c = client_open(name, T_NORMAL);
    char order[2 * ROUNDS + 2], expected[2 * ROUNDS + 2] = "";

    for (int i = 0; i < ROUNDS; i++) {
        REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        client_queue_up(c, 2);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == (size_t)i + 1, SOON_MS);
        CHECK_INT(client_release(holder), ZKL_OK);
        REQUIRE_INT(client_result(c), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        expected[2 * i] = '0' + ZKL_EVENT_QUEUED;
        expected[2 * i + 1] = '0' + ZKL_EVENT_HELD;
    }
    WAIT_UNTIL(client_told(c, ZKL_EVENT_HELD) == ROUNDS, SOON_MS);
    events_order(c->events, order, sizeof(order));
    CHECK_STRING(order, expected);
    client_close(c);
    client_close(holder);
}

static const test_case Cases[] = {
    {"a call that blocks is refused in a callback (T7, T44)",
     a_call_that_blocks_is_refused_in_a_callback},
    {"a callback may release (T44)", a_callback_may_release},
    {"a callback may cancel (T44)", a_callback_may_cancel},
    {"a callback may close its lock (T44)", a_callback_may_close_its_lock},
    {"a callback that sleeps stops no heartbeat and no other lock (T23)",
     a_callback_that_sleeps_stops_nothing_else},
    {"closing waits for a callback that runs", closing_waits_for_a_callback_that_runs},
    {"closing a lock does not wait for another lock's callback",
     closing_a_lock_does_not_wait_for_another_locks_callback},
    {"events come in order and one at a time", events_come_in_order_and_one_at_a_time},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "callback", Cases);
}
