/*
 * Closing locks and sessions at any moment. client_close and its parts check that no close takes
 * 2 s; run under AddressSanitizer these tests also say that nothing is used after it or leaked.
 */
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CROWD = 40
};

/* T22: elsewhere a wait on a closed handle hangs. */
static void closing_the_session_ends_every_wait(void) {
    const char *name = fresh_name("waits");
    client *c = client_open(name, T_LONG), *second = client_open_on(c, name);
    actor *local = actor_new();
    char holder[RAW_PATH_MAX], path[1024];

    plant_contender(name, CURATOR, holder);
    client_queue_up(c, 2);
    client_queue_up(second, 3);
    actor_acquire(local, c->lock, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(local), SOON_MS);
    session_close(c->session);
    c->owns_session = false;
    CHECK_INT(actor_result(c->actor, 100), ZKL_CLOSED);
    CHECK_INT(actor_result(second->actor, 100), ZKL_CLOSED);
    CHECK_INT(actor_result(local, 100), ZKL_CLOSED);
    CHECK_INT(queue_length(name), 1);
    /* The handles are still there, and say so. */
    CHECK_INT(client_acquire(c, ZKL_FOREVER), ZKL_CLOSED);
    CHECK_INT(client_acquire(c, 0), ZKL_CLOSED);
    CHECK_INT(client_release(c), ZKL_CLOSED);
    CHECK_INT(client_release_wait(c), ZKL_CLOSED);
    CHECK_INT(zkl_cancel(c->lock), ZKL_CLOSED);
    CHECK_INT(zkl_node_path(c->lock, path, sizeof(path)), ZKL_CLOSED);
    CHECK(!client_held(c) && client_token(c) == 0);
    actor_free(local);
    client_close(second);
    client_close(c);
    uproot(holder);
}

static void closing_a_lock_ends_its_waits(void) {
    const char *name = fresh_name("lock-waits");
    client *c = client_open(name, T_LONG);
    actor *local = actor_new();
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    client_queue_up(c, 2);
    actor_acquire(local, c->lock, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(local), SOON_MS);
    client_close_lock(c);
    CHECK_INT(actor_result(c->actor, 100), ZKL_CLOSED);
    CHECK_INT(actor_result(local, 100), ZKL_CLOSED);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    actor_free(local);
    client_close(c);
    uproot(holder);
}

/* T8, T43: the watch of a wait that is over may fire, or be firing. */
static void a_lock_may_close_while_its_watch_fires(void) {
    enum {
        ROUNDS = 100
    };
    const char *name = fresh_name("fires");
    client *c = client_open(name, T_LONG);
    char holder[RAW_PATH_MAX];

    for (int i = 0; i < ROUNDS; i++) {
        plant_contender(name, CURATOR, holder);
        client_queue_up(c, 2);
        if (i % 3 == 0) {
            lock_close(c->lock);
            uproot(holder);
        } else if (i % 3 == 1) {
            uproot(holder);
            lock_close(c->lock);
        } else {
            uproot(holder);
            wait_pause();
            lock_close(c->lock);
        }
        CHECK(client_result(c) == ZKL_CLOSED || client_result(c) == ZKL_OK);
        c->lock = lock_open(c->session, name, c->events);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    }
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    client_close(c);
}

/* A session with waiters and acquires of free locks in flight. */
struct crowd {
    zkl_session *session;
    zkl_lock *locks[CROWD];
    actor *actors[CROWD];
};

static struct crowd crowd_begin(const char *hosts, int timeout_ms, const char *taken) {
    struct crowd crowd = {.session = session_open(hosts, timeout_ms, NULL)};

    for (size_t i = 0; i < CROWD; i++) {
        crowd.locks[i] = lock_open(crowd.session, i % 2 ? taken : fresh_name("free"), NULL);
        crowd.actors[i] = actor_new();
        actor_acquire(crowd.actors[i], crowd.locks[i], ZKL_FOREVER);
    }
    return crowd;
}

static void crowd_end(struct crowd *crowd, bool locks_first) {
    for (size_t i = 0; i < CROWD && locks_first; i++) {
        WAIT_UNTIL(actor_is_blocked(crowd->actors[i]), SOON_MS); /* its call has begun */
        lock_close(crowd->locks[i]);
    }
    session_close(crowd->session);
    for (size_t i = 0; i < CROWD; i++) {
        const zkl_err result = actor_result(crowd->actors[i], 1000);

        CHECK(result == ZKL_CLOSED || result == ZKL_OK);
        actor_free(crowd->actors[i]);
        if (!locks_first)
            lock_close(crowd->locks[i]);
    }
}

/* T40: completions may come late or never. */
static void a_session_may_close_with_requests_in_flight(void) {
    const char *taken = fresh_name("in-flight");
    char holder[RAW_PATH_MAX];

    plant_contender(taken, CURATOR, holder);
    for (int i = 0; i < 20; i++) {
        struct crowd crowd = crowd_begin(server_hosts(), T_LONG, taken);

        /* From nothing done to everything done. */
        WAIT_UNTIL(queue_length(taken) >= 1 + (size_t)i, SOON_MS);
        crowd_end(&crowd, i % 2);
        WAIT_UNTIL(queue_length(taken) == 1, SOON_MS);
    }
    uproot(holder);
}

/* T40, T41: nobody answers, and the connection stays open. */
static void a_session_may_close_while_the_server_is_frozen(void) {
    const char *taken = fresh_name("frozen");
    char holder[RAW_PATH_MAX];

    if (!server_is_ours()) {
        test_skip("not our server");
        return;
    }
    plant_contender(taken, CURATOR, holder);
    for (int i = 0; i < 4; i++) {
        struct crowd crowd = crowd_begin(server_hosts(), T_SHORT, taken);

        if (i % 2)
            WAIT_UNTIL(queue_length(taken) == 1 + CROWD / 2, SOON_MS);
        server_freeze();
        crowd_end(&crowd, i / 2);
        server_thaw();
        WAIT_UNTIL(queue_length(taken) == 1, SOON_MS);
    }
    uproot(holder);
}

static void a_session_may_close_while_no_server_is_there(void) {
    const char *taken = fresh_name("nowhere");
    char holder[RAW_PATH_MAX];
    proxy *p = proxy_new();

    plant_contender(taken, CURATOR, holder);
    for (int i = 0; i < 4; i++) {
        struct crowd crowd = crowd_begin(proxy_hosts(p), T_SHORT, taken);

        if (i % 2)
            WAIT_UNTIL(queue_length(taken) == 1 + CROWD / 2, SOON_MS);
        proxy_refuse(p, true);
        proxy_drop(p);
        if (i / 2)
            WAIT_UNTIL(zkl_session_state(crowd.session) == ZKL_STATE_SUSPENDED, SOON_MS);
        crowd_end(&crowd, i % 2);
        proxy_refuse(p, false);
        WAIT_UNTIL(queue_length(taken) == 1, SOON_MS); /* when the sessions time out there */
    }
    proxy_close(p);
    uproot(holder);
}

static void a_session_may_close_around_an_expiry(void) {
    const char *name = fresh_name("expired");

    for (int i = 0; i < 6; i++) {
        client *c = client_open_proxied(name, T_NORMAL);
        const int64_t id = zkl_session_id(c->session);

        if (i % 3 == 1)
            CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        if (i % 3 == 2)
            proxy_refuse(c->proxy, true); /* no new session can be had */
        session_expire(c->session);
        if (i >= 3)
            WAIT_UNTIL(!client_is_connected(c) || zkl_session_id(c->session) != id, SOON_MS);
        client_close(c);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    }
}

static void a_session_may_close_as_soon_as_it_is_open(void) {
    for (int i = 0; i < 20; i++)
        session_close(session_open(server_hosts(), T_NORMAL, NULL));
}

static zkl_err call_release_wait(void *lock) {
    return zkl_release_wait(lock, ZKL_FOREVER);
}

static void a_release_that_waits_ends_with_the_session(void) {
    const char *name = fresh_name("release-wait");
    client *c = client_open_proxied(name, T_LONG);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_silence(c, true);
    actor_begin(c->actor, call_release_wait, c->lock);
    CHECK_STAYS(!client_is_done(c), 100);
    session_close(c->session);
    c->owns_session = false;
    CHECK_INT(actor_result(c->actor, 100), ZKL_CLOSED);
    client_close(c);
}

static void nothing_is_something_that_can_be_closed(void) {
    CHECK_INT(zkl_session_close(NULL), ZKL_OK);
    CHECK_INT(zkl_lock_close(NULL), ZKL_OK);
    zkl_queue_free(NULL);
}

static const test_case Cases[] = {
    {"closing the session ends every wait, and handles live on as closed (T22)",
     closing_the_session_ends_every_wait},
    {"closing a lock ends the waits on it", closing_a_lock_ends_its_waits},
    {"a lock may close while its watch fires (T8, T43)", a_lock_may_close_while_its_watch_fires},
    {"a session may close with requests in flight (T40)",
     a_session_may_close_with_requests_in_flight},
    {"a session may close while the server is frozen (T40, T41)",
     a_session_may_close_while_the_server_is_frozen},
    {"a session may close while no server is there", a_session_may_close_while_no_server_is_there},
    {"a session may close before, in and after an expiry (T42)",
     a_session_may_close_around_an_expiry},
    {"a session may close as soon as it is open", a_session_may_close_as_soon_as_it_is_open},
    {"a release that waits ends with the session", a_release_that_waits_ends_with_the_session},
    {"NULL can be closed", nothing_is_something_that_can_be_closed},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "close", Cases);
}
