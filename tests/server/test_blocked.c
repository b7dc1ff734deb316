/*
 * T23: callbacks that block. Elsewhere they run on the thread that reads the network, or with a
 * lock of the library's held; then heartbeats stop, connections are not made again, and a
 * callback that waits for a mutex waits for a thread that waits for it.
 */
#include "support/client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* So that no machine is too busy for the heartbeats, one each sixteenth of that. */
#define PATIENT_MS 8000

/* A callback that does not return, at one type of event, until it may. */
typedef struct obstacle {
    zkl_event_type type;
    atomic_bool is_there, may_go;
    atomic_int blocked;
    events *events;
} obstacle;

static void on_event(const zkl_event *event, void *arg) {
    obstacle *o = arg;
    const int64_t end = clock_ms() + 3 * SOON_MS;

    events_on(event, o->events);
    if (event->type != o->type)
        return;
    (void)atomic_fetch_add(&o->blocked, 1);
    atomic_store(&o->is_there, true);
    while (!atomic_load(&o->may_go) && clock_ms() < end)
        wait_pause();
    (void)atomic_fetch_sub(&o->blocked, 1);
}

static void on_log(zkl_log_level level, const char *text, void *arg) {
    const obstacle *o = arg;

    events_log(level, text, o->events);
}

static zkl_lock *open_with(zkl_session *s, const char *name, zkl_event_fn fn, void *arg) {
    zkl_lock *l = NULL;

    REQUIRE_INT(zkl_lock_open(&l, s, name, &ZKL_LOCK_OPTIONS(.on_event = fn, .arg = arg)), ZKL_OK);
    return l;
}

/* ---- A mutex of the user's ---- */

typedef struct shared {
    pthread_mutex_t mutex;
    zkl_lock *lock;
    atomic_bool has_mutex;
    atomic_int told; /* callbacks that had the mutex */
} shared;

static void on_event_lock_mutex(const zkl_event *event, void *arg) {
    shared *s = arg;

    (void)event;
    (void)pthread_mutex_lock(&s->mutex);
    (void)atomic_fetch_add(&s->told, 1);
    (void)pthread_mutex_unlock(&s->mutex);
}

static zkl_err acquire_with_mutex(void *arg) {
    shared *s = arg;

    (void)pthread_mutex_lock(&s->mutex);
    atomic_store(&s->has_mutex, true);
    zkl_err err = zkl_acquire(s->lock, SOON_MS);
    if (err == ZKL_OK)
        err = zkl_release_wait(s->lock, SOON_MS);
    (void)pthread_mutex_unlock(&s->mutex);
    return err;
}

/* The callback waits for the mutex, whose owner waits for the lock; the lock waits for neither. */
static void a_callback_may_wait_for_a_mutex_held_across_a_call(void) {
    const char *name = fresh_name("mutex");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    shared all = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    actor *a = actor_new();
    char holder[RAW_PATH_MAX];

    all.lock = open_with(s, name, on_event_lock_mutex, &all);
    plant_contender(name, CURATOR, holder);
    actor_begin(a, acquire_with_mutex, &all);
    WAIT_UNTIL(queue_length(name) == 2 && atomic_load(&all.has_mutex), SOON_MS);
    CHECK_STAYS(atomic_load(&all.told) == 0 && !actor_is_done(a), 200);
    uproot(holder);
    REQUIRE_INT(actor_result(a, SOON_MS), ZKL_OK);
    WAIT_UNTIL(atomic_load(&all.told) == 2, SOON_MS); /* queued, held */
    actor_free(a);
    lock_close(all.lock);
    session_close(s);
}

/* ---- Callbacks of the session ---- */

typedef struct victim {
    obstacle obstacle;
    proxy *proxy;
    zkl_session *session;
    zkl_lock *held, *free;
    zkl_hold hold;
    actor *actor;
} victim;

/* A session with a hold, whose own callback blocks when the connection breaks. */
static victim *victim_open(int timeout_ms) {
    victim *v = calloc(1, sizeof(*v));

    REQUIRE(v != NULL);
    v->obstacle.type = ZKL_EVENT_SUSPENDED;
    v->obstacle.events = events_new();
    v->proxy = proxy_new();
    v->session = session_open_with(proxy_hosts(v->proxy),
                                   (zkl_session_options){.session_timeout_ms = timeout_ms,
                                                         .on_event = on_event,
                                                         .log = on_log,
                                                         .arg = &v->obstacle});
    v->held = lock_open(v->session, fresh_name("held"), v->obstacle.events);
    v->free = lock_open(v->session, fresh_name("free"), NULL);
    v->actor = actor_new();
    REQUIRE_INT(zkl_acquire(v->held, SOON_MS), ZKL_OK);
    v->hold = zkl_hold_of(v->held);
    WAIT_UNTIL(events_count(v->obstacle.events, ZKL_EVENT_HELD) == 1, SOON_MS);
    return v;
}

static void victim_close(victim *v) {
    atomic_store(&v->obstacle.may_go, true);
    lock_close(v->held);
    lock_close(v->free);
    session_close(v->session);
    actor_free(v->actor);
    proxy_close(v->proxy);
    events_free(v->obstacle.events);
    free(v);
}

static zkl_err use_free(void *arg) {
    const victim *v = arg;
    const zkl_err err = zkl_acquire(v->free, SOON_MS);

    return err == ZKL_OK ? zkl_release_wait(v->free, SOON_MS) : err;
}

static void a_blocked_callback_stops_no_reconnect(void) {
    victim *v = victim_open(PATIENT_MS);
    const int64_t id = zkl_session_id(v->session);

    proxy_drop(v->proxy);
    WAIT_UNTIL(atomic_load(&v->obstacle.is_there), SOON_MS);
    WAIT_UNTIL(zkl_session_state(v->session) == ZKL_STATE_CONNECTED, SOON_MS);
    int64_t end = clock_ms() + PATIENT_MS * 3 / 4;
    while (clock_ms() < end) {
        actor_begin(v->actor, use_free, v);
        REQUIRE_INT(actor_result(v->actor, SOON_MS), ZKL_OK);
    }
    /* Without heartbeats less than a quarter were left by now. */
    WAIT_UNTIL(zkl_remaining_ms(v->held) > PATIENT_MS / 2, SOON_MS);
    CHECK(zkl_session_id(v->session) == id);
    CHECK_INT(atomic_load(&v->obstacle.blocked), 1);                   /* still */
    CHECK_INT(events_count(v->obstacle.events, ZKL_EVENT_RESUMED), 0); /* it has to wait */
    CHECK_INT(zkl_release_wait(v->held, SOON_MS), ZKL_OK);
    atomic_store(&v->obstacle.may_go, true);
    WAIT_UNTIL(events_count(v->obstacle.events, ZKL_EVENT_RESUMED) == 1, SOON_MS);
    victim_close(v);
}

/* What a callback would have told can be asked at any time. */
static void a_blocked_callback_hides_no_loss(void) {
    victim *v = victim_open(T_SHORT);
    zkl_event held, lost;

    proxy_refuse(v->proxy, true);
    proxy_drop(v->proxy);
    WAIT_UNTIL(atomic_load(&v->obstacle.is_there), SOON_MS);
    WAIT_UNTIL(!zkl_hold_valid(v->held, v->hold), SOON_MS);
    CHECK(!zkl_held(v->held));
    CHECK_INT(events_count(v->obstacle.events, ZKL_EVENT_LOST), 0); /* it has to wait */
    proxy_refuse(v->proxy, false);
    actor_begin(v->actor, use_free, v); /* perhaps on a new session */
    CHECK_INT(actor_result(v->actor, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_release(v->held), ZKL_LOST);
    CHECK_INT(zkl_acquire(v->held, SOON_MS), ZKL_OK);
    CHECK_INT(atomic_load(&v->obstacle.blocked), 1); /* still */
    atomic_store(&v->obstacle.may_go, true);
    WAIT_UNTIL(events_count(v->obstacle.events, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(events_get(v->obstacle.events, ZKL_EVENT_HELD, 0, &held, NULL));
    CHECK(events_get(v->obstacle.events, ZKL_EVENT_LOST, 0, &lost, NULL));
    CHECK_INT(lost.token, held.token);
    victim_close(v);
}

/* Each session has a thread of its own for them. */
static void a_blocked_callback_stops_no_other_session(void) {
    victim *v = victim_open(T_NORMAL);
    const char *name = fresh_name("elsewhere");
    client *one = client_open(name, T_NORMAL), *two = client_open(name, T_NORMAL);

    proxy_drop(v->proxy);
    WAIT_UNTIL(atomic_load(&v->obstacle.is_there), SOON_MS);
    for (size_t i = 1; i <= 10; i++) {
        REQUIRE_INT(client_acquire(one, SOON_MS), ZKL_OK);
        client_queue_up(two, 2);
        WAIT_UNTIL(client_told(two, ZKL_EVENT_QUEUED) == i, SOON_MS);
        CHECK_INT(client_release(one), ZKL_OK);
        REQUIRE_INT(client_result(two), ZKL_OK);
        WAIT_UNTIL(client_told(two, ZKL_EVENT_HELD) == i, SOON_MS);
        CHECK_INT(client_release_wait(two), ZKL_OK);
    }
    CHECK_INT(atomic_load(&v->obstacle.blocked), 1); /* still */
    client_close(two);
    client_close(one);
    victim_close(v);
}

static const test_case Cases[] = {
    {"a callback may wait for a mutex that is held across a call (T23)",
     a_callback_may_wait_for_a_mutex_held_across_a_call},
    {"a blocked callback stops neither reconnect nor heartbeat nor another lock (T23)",
     a_blocked_callback_stops_no_reconnect},
    {"a blocked callback hides no loss (T23)", a_blocked_callback_hides_no_loss},
    {"a blocked callback stops no other session (T23)", a_blocked_callback_stops_no_other_session},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "blocked", Cases);
}
