/*
 * The limits that protect the servers: the end of a session with too many nodes has taken down
 * whole ensembles, and too many watches in one packet make a session reconnect without end.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

#define BUDGET (400 * 1024) /* bytes of node paths a session may have */
#define LENGTH_BYTES 4      /* which count with each path */

enum {
    LOCKS_MAX = 1600
};

static size_t path_bytes(zkl_lock *l) {
    char path[1024] = "";

    CHECK_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    return LENGTH_BYTES + strlen(path);
}

static void a_session_refuses_more_nodes_than_its_budget(void) {
    static zkl_lock *locks[LOCKS_MAX];
    events *e = events_new();
    zkl_session *s = session_open(server_hosts(), T_LONG, e),
                *other = session_open(server_hosts(), T_LONG, NULL);
    zkl_err err = ZKL_OK;
    size_t count = 0, bytes = 0;
    char name[256], answer[64];

    do {
        long_name(name, "budget", (int)count);
        locks[count] = lock_open(s, name, NULL);
        err = zkl_acquire(locks[count], SOON_MS);
        if (err == ZKL_OK)
            bytes += path_bytes(locks[count++]);
    } while (err == ZKL_OK && count < LOCKS_MAX - 1);
    test_note("%zu contenders with %zu bytes of paths", count, bytes);
    CHECK_INT(err, ZKL_LIMIT);
    CHECK_RANGE(bytes, BUDGET - 4096, BUDGET);
    CHECK(events_log_lines(e) > 0 && (events_logged(e, "409600") || events_logged(e, "400")));
    /* State as before: nothing made, what is held is held, and the handle works. */
    CHECK(!zkl_held(locks[count]));
    CHECK_INT(queue_length(name), 0);
    CHECK(zkl_held(locks[0]) && zkl_held(locks[count - 1]));
    CHECK_INT(zkl_acquire(locks[count], 0), ZKL_LIMIT);
    zkl_lock *second = lock_open(other, name, NULL);
    CHECK_INT(zkl_acquire(second, 0), ZKL_OK); /* a limit of the session, not of the lock */
    CHECK_INT(zkl_release_wait(second, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_release_wait(locks[0], SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(locks[count], SOON_MS), ZKL_OK);
    /* The end of such a session is one transaction, and the server survives it. */
    session_close(s);
    for (size_t i = 0; i <= count; i++)
        CHECK_INT(zkl_lock_close(locks[i]), ZKL_OK);
    CHECK_INT(zkl_acquire(second, SOON_MS), ZKL_OK);
    if (server_is_ours())
        CHECK(server_word("ruok", answer, sizeof(answer)) && strcmp(answer, "imok") == 0);
    lock_close(second);
    session_close(other);
    events_free(e);
}

/* All those nodes come back with one packet of watches; it must be one that the server takes. */
static void a_session_near_its_budget_survives_a_reconnect(void) {
    enum {
        COUNT = 1000
    };
    static zkl_lock *locks[COUNT];
    client *c = client_open_proxied(fresh_name("near"), T_LONG);
    const int64_t id = zkl_session_id(c->session);
    char name[256];

    for (int i = 0; i < COUNT; i++) {
        long_name(name, "near", i);
        locks[i] = lock_open(c->session, name, NULL);
        REQUIRE_INT(zkl_acquire(locks[i], SOON_MS), ZKL_OK);
    }
    /* The own node's watch is set with a heartbeat after the grant. */
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, "-lock-") >= COUNT, SOON_MS);
    proxy_forget(c->proxy);
    client_flap(c);
    CHECK_STAYS(client_is_connected(c), 500);
    size_t connects = proxy_connects(c->proxy);
    CHECK_RANGE(connects, 1, 3);
    CHECK(zkl_session_id(c->session) == id);
    for (int i = 0; i < COUNT; i++)
        CHECK(zkl_held(locks[i]));
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    for (int i = 0; i < COUNT; i++)
        lock_close(locks[i]);
    client_close(c);
}

/* A quarter of a thousand requests and a heartbeat, and no more, are on their way at any time. */
static void a_burst_of_acquires_has_few_requests_in_flight(void) {
    enum {
        COUNT = 400,
        IN_FLIGHT_MAX = 256 + 1
    };
    static actor *actors[COUNT];
    static zkl_lock *locks[COUNT];
    client *c = client_open_proxied(fresh_name("flight"), T_LONG);

    for (size_t i = 0; i < COUNT; i++) {
        locks[i] = lock_open(c->session, fresh_name("flight"), NULL);
        actors[i] = actor_new();
    }
    proxy_hold(c->proxy, PROXY_TO_CLIENT, true);
    proxy_forget(c->proxy);
    for (size_t i = 0; i < COUNT; i++)
        actor_acquire(actors[i], locks[i], ZKL_FOREVER);
    for (size_t i = 0; i < COUNT; i++)
        WAIT_UNTIL(actor_is_blocked(actors[i]), SOON_MS);
    WAIT_UNTIL(proxy_count(c->proxy, PROXY_ANY, NULL) >= IN_FLIGHT_MAX / 2, SOON_MS);
    CHECK_STAYS(proxy_count(c->proxy, PROXY_ANY, NULL) <= IN_FLIGHT_MAX, 200);
    test_note("%zu requests in flight", proxy_count(c->proxy, PROXY_ANY, NULL));
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(actor_result(actors[i], SOON_MS), ZKL_OK);
        actor_free(actors[i]);
        lock_close(locks[i]);
    }
    client_close(c);
}

/* T46: a burst neither breaks the connection nor keeps heartbeats waiting. */
static void a_burst_of_acquires_delays_no_heartbeat(void) {
    enum {
        COUNT = 600
    };
    static actor *actors[COUNT];
    static zkl_lock *locks[COUNT];
    client *c = client_open_proxied(fresh_name("burst"), T_NORMAL);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    proxy_forget(c->proxy);
    for (size_t i = 0; i < COUNT; i++) {
        locks[i] = lock_open(c->session, fresh_name("burst"), NULL);
        actors[i] = actor_new();
    }
    for (size_t i = 0; i < COUNT; i++)
        actor_acquire(actors[i], locks[i], ZKL_FOREVER);
    for (size_t i = 0; i < COUNT; i++)
        REQUIRE_INT(actor_result(actors[i], 2 * SOON_MS), ZKL_OK);
    CHECK(zkl_hold_valid(c->lock, hold));
    CHECK_INT(proxy_connects(c->proxy), 0);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    CHECK_INT(client_told(c, ZKL_EVENT_SUSPENDED), 0);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(actor_release(actors[i], locks[i]), ZKL_OK);
        actor_free(actors[i]);
        lock_close(locks[i]);
    }
    client_close(c);
}

static const test_case Cases[] = {
    {"a session refuses more nodes than its budget, and nothing else changes",
     a_session_refuses_more_nodes_than_its_budget},
    {"a session near its budget survives a reconnect",
     a_session_near_its_budget_survives_a_reconnect},
    {"a burst of acquires has at most 256 requests in flight",
     a_burst_of_acquires_has_few_requests_in_flight},
    {"a burst of 600 acquires breaks no connection and delays no heartbeat (T46)",
     a_burst_of_acquires_delays_no_heartbeat},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "limits", Cases);
}
