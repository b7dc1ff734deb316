/* What a program's counts say of a real server: how holds were lost, and how connections ended. */
#include "support/client.h"

#include <stdio.h>

static zkl_lock_statistics of_lock(const client *c) {
    zkl_lock_statistics stats = {.size = sizeof(stats)};
    CHECK_INT(zkl_lock_stats(c->lock, &stats), ZKL_OK);
    return stats;
}

static zkl_session_statistics of_session(const client *c) {
    zkl_session_statistics stats = {.size = sizeof(stats)};
    CHECK_INT(zkl_session_stats(c->session, &stats, NULL), ZKL_OK);
    return stats;
}

static void hold(client *c) {
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
}

static void each_loss_has_its_reason(void) {
    client *c = client_open_proxied(fresh_name("stats"), T_NORMAL);
    char node[RAW_PATH_MAX];
    hold(c);
    client_node(c, node);
    WAIT_UNTIL(of_session(c).heartbeats > 2, SOON_MS); /* its node is watched */
    uproot(node);
    WAIT_UNTIL(!client_held(c), SOON_MS);
    CHECK_INT(of_lock(c).lost[ZKL_LOSS_NODE], 1);
    CHECK_INT(client_release(c), ZKL_LOST);
    hold(c);
    CHECK(of_session(c).least_certain_ms > 0);
    proxy_hold(c->proxy, PROXY_BOTH, true);
    WAIT_UNTIL(!client_held(c), SOON_MS);
    proxy_hold(c->proxy, PROXY_BOTH, false);
    const zkl_lock_statistics lock = of_lock(c);
    CHECK_INT(lock.lost[ZKL_LOSS_NODE], 1);
    CHECK_INT(lock.lost[ZKL_LOSS_UNCERTAIN], 1);
    CHECK_INT(lock.lost[ZKL_LOSS_SESSION], 0);
    CHECK_INT(lock.acquires[ZKL_OK], 2);
    CHECK_INT(of_session(c).least_certain_ms, 0);
    CHECK_INT(client_release(c), ZKL_LOST);
    client_close(c);
}

/* A server may forget the connection of an owner that comes back at once; the owner of the session
 * learns of its end after 2T/3 then (see support/raw_expire.c). */
static void broken_connections_show(void) {
    client *c = client_open_proxied(fresh_name("stats"), T_NORMAL);
    hold(c);
    const zkl_session_statistics before = of_session(c);
    CHECK_INT(before.sessions, 1);
    CHECK_INT(before.connections, 1);
    CHECK_INT(before.holding, 1);
    CHECK_INT(before.waiting, 0);
    proxy_drop(c->proxy);
    WAIT_UNTIL(of_session(c).connections > 1, SOON_MS);
    CHECK_INT(of_session(c).sessions, 1);
    CHECK(client_held(c));
    session_expire(c->session);
    WAIT_UNTIL(of_session(c).sessions == 2, SOON_MS);
    CHECK(of_session(c).connections > 2);
    CHECK(!client_held(c));
    CHECK_INT(client_release(c), ZKL_LOST);
    client_close(c);
}

/* What a waiter does is a contender's, though nobody holds by it. */
static void waits_show_while_they_last(void) {
    const char *name = fresh_name("stats");
    client *holder = client_open(name, T_LONG), *waiter = client_open(name, T_LONG);
    hold(holder);
    client_queue_up(waiter, 2);
    CHECK_INT(of_session(waiter).waiting, 1);
    CHECK_INT(of_session(waiter).holding, 0);
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(waiter), ZKL_OK);
    CHECK_INT(of_session(waiter).waiting, 0);
    CHECK_INT(of_session(waiter).holding, 1);
    CHECK_INT(client_release(waiter), ZKL_OK);
    WAIT_UNTIL(of_session(waiter).holding == 0, SOON_MS);
    client_close(waiter);
    client_close(holder);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"each loss has its reason", each_loss_has_its_reason},
        {"broken connections show", broken_connections_show},
        {"waits show while they last", waits_show_while_they_last},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "stats", cases);
}
