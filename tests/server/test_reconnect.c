/* Connections that break while the session lives on: nobody loses a place or a hold by that. */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

static void a_holder_keeps_its_hold(void) {
    const char *name = fresh_name("holder");
    client *c = client_open_proxied(name, T_NORMAL);
    const int64_t id = zkl_session_id(c->session);
    char path[RAW_PATH_MAX], order[16];
    zkl_event resumed = {0};

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, path);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    int64_t token = client_token(c);
    events_forget(c->events);
    client_flap(c);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_RESUMED) == 1, SOON_MS);
    events_order(c->events, order, sizeof(order));
    CHECK_STRING(order, "45"); /* SUSPENDED, RESUMED and nothing else */
    CHECK(events_get(c->events, ZKL_EVENT_RESUMED, 0, &resumed, NULL));
    CHECK(!resumed.is_new_session);
    CHECK(client_held(c) && zkl_hold_valid(c->lock, hold));
    CHECK_INT(client_token(c), token);
    CHECK(zkl_session_id(c->session) == id);
    CHECK(raw_exists(fixture_raw(), path));
    /* Beyond T from the break: heartbeats of the new connection count. */
    CHECK_STAYS(zkl_hold_valid(c->lock, hold), T_NORMAL + 200);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

/* T22: zk-ruby made an extra node, kazoo waited for ever. */
static void a_waiter_keeps_its_place(void) {
    const char *name = fresh_name("waiter");
    client *holder = client_open(name, T_NORMAL), *c = client_open_proxied(name, T_NORMAL),
           *last = client_open(name, T_NORMAL);
    char before[RAW_PATH_MAX], after[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    client_queue_up(c, 2);
    client_queue_up(last, 3);
    client_node(c, before);
    client_flap(c);
    client_node(c, after);
    CHECK_STRING(after, before);
    CHECK_INT(queue_length(name), 3);
    CHECK(!client_is_done(c));
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK(!client_is_done(last));
    CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 0);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_result(last), ZKL_OK);
    client_close(last);
    client_close(c);
    client_close(holder);
}

/* T28: a session event on a node's watch is not that node's deletion. */
static void a_hundred_breaks_change_nothing(void) {
    enum {
        FLAPS = 100
    };
    const char *name = fresh_name("flapped");
    client *c = client_open_proxied(name, T_NORMAL);
    char holder[RAW_PATH_MAX], before[RAW_PATH_MAX], after[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, holder) == 1, SOON_MS);
    client_node(c, before);
    proxy_forget(c->proxy);
    for (int i = 0; i < FLAPS; i++) {
        client_flap(c);
        REQUIRE(!client_is_done(c));
    }
    client_node(c, after);
    CHECK_STRING(after, before);
    CHECK_INT(client_told(c, ZKL_EVENT_HELD), 0);
    CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 0);
    CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, NULL), 0);
    CHECK_INT(queue_length(name), 2);
    size_t lists = proxy_count(c->proxy, PROXY_LIST, name);
    size_t gets = proxy_count(c->proxy, PROXY_GET, name);
    size_t barriers = proxy_count(c->proxy, PROXY_BARRIER, NULL);
    test_note("%d breaks: %zu connects, %zu lists, %zu reads, %zu heartbeats and barriers", FLAPS,
              proxy_connects(c->proxy), lists, gets, barriers);
    CHECK_RANGE(proxy_connects(c->proxy), FLAPS, 3 * FLAPS);
    CHECK_RANGE(lists, 0, 2 * FLAPS);
    CHECK_RANGE(gets, 0, 3 * FLAPS);
    CHECK_RANGE(barriers, 0, 4 * FLAPS);
    uproot(holder);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

/* T28: an idle watch is not looked at again and again. */
static void a_connection_that_stays_down_is_not_a_busy_loop(void) {
    const char *name = fresh_name("down");
    client *c = client_open_proxied(name, T_LONG);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, holder) == 1, SOON_MS);
    client_outage_begin(c);
    proxy_forget(c->proxy);
    int64_t end = clock_ms() + 1000;
    WAIT_UNTIL(clock_ms() >= end, SOON_MS);
    CHECK_RANGE(proxy_connects(c->proxy), 1, 30);
    CHECK_INT(proxy_count(c->proxy, PROXY_ANY, NULL), 0);
    CHECK(events_log_lines(c->events) < 500);
    CHECK(!client_is_done(c));
    client_outage_end(c);
    uproot(holder);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

static void a_predecessor_that_left_meanwhile_is_noticed(void) {
    const char *name = fresh_name("meanwhile");
    client *c = client_open_proxied(name, T_LONG);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, holder) == 1, SOON_MS);
    client_outage_begin(c);
    uproot(holder);
    CHECK(!client_is_done(c));
    client_outage_end(c);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 0);
    client_close(c);
}

/*
 * After a reconnect the server replays the events in no order: the predecessor's may come before
 * that of our own node, which went earlier.
 */
static void both_nodes_gone_meanwhile_is_no_grant(void) {
    for (int i = 0; i < 10; i++) {
        const char *name = fresh_name("both");
        client *c = client_open_proxied(name, T_NORMAL);
        char holder[RAW_PATH_MAX], own[RAW_PATH_MAX], now[RAW_PATH_MAX] = "";

        plant_contender(name, CURATOR, holder);
        client_queue_up(c, 2);
        WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, holder) == 1, SOON_MS);
        client_node(c, own);
        client_outage_begin(c);
        uproot(own);
        uproot(holder);
        client_outage_end(c);
        CHECK_INT(client_result(c), ZKL_OK);
        actor_node_path(c->actor, c->lock, now, sizeof(now));
        CHECK(strcmp(now, own) != 0);
        CHECK(raw_exists(fixture_raw(), now));
        CHECK(client_held(c));
        WAIT_UNTIL(client_told(c, ZKL_EVENT_HELD) == 1, SOON_MS); /* behind the others */
        CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 1);
        CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
        client_close(c);
    }
}

/*
 * T22: the session outlives a restart of the server, and so do place and hold. Nobody is let in
 * before the server serves: a connection that ZooKeeper takes while it starts may get no answer for
 * as long as the client waits for one, 2/3 of the timeout.
 */
static void a_restart_of_the_server_costs_nothing(void) {
    const char *name = fresh_name("restart");
    char path[RAW_PATH_MAX], now[RAW_PATH_MAX];

    if (!server_is_ours()) {
        test_skip("not our server");
        return;
    }
    client *holder = client_open_proxied(name, 15000);
    client *c = client_open_proxied(name, 15000);
    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(holder->actor, holder->lock);
    client_queue_up(c, 2);
    client_node(c, path);
    client_outage_begin(holder);
    client_outage_begin(c);
    CHECK(zkl_hold_valid(holder->lock, hold));
    server_kill();
    server_revive();
    client_outage_end(holder);
    client_outage_end(c);
    WAIT_UNTIL(client_told(holder, ZKL_EVENT_RESUMED) == 1, SOON_MS);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_RESUMED) == 1, SOON_MS);
    CHECK(client_held(holder) && zkl_hold_valid(holder->lock, hold));
    CHECK(!client_is_done(c));
    client_node(c, now);
    CHECK_STRING(now, path);
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(client_told(holder, ZKL_EVENT_LOST), 0);
    CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 0);
    client_close(c);
    client_close(holder);
}

static void a_session_moves_to_other_servers(void) {
    const char *name = fresh_name("moves");
    client *c = client_open_proxied(name, T_LONG);
    /* Not 127.0.0.1 with another port: to the client library that is the same server. */
    proxy *other = proxy_open(server_hosts(), "127.0.0.2");
    const int64_t id = zkl_session_id(c->session);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_session_set_hosts(c->session, proxy_hosts(other)), ZKL_OK);
    proxy_refuse(c->proxy, true);
    proxy_drop(c->proxy);
    WAIT_UNTIL(proxy_links(other) == 1, SOON_MS);
    WAIT_UNTIL(client_is_connected(c), SOON_MS);
    CHECK(zkl_session_id(c->session) == id);
    CHECK(client_held(c));
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK(proxy_count(other, PROXY_CREATE, name) == 1);
    CHECK_INT(zkl_session_set_hosts(c->session, ""), ZKL_INVALID);
    CHECK_INT(zkl_session_set_hosts(c->session, NULL), ZKL_INVALID);
    client_close(c);
    proxy_close(other);
}

enum {
    OUTAGES = 7
};

static bool all_are_held(client *const *clients) {
    for (size_t i = 0; i < OUTAGES; i++)
        if (client_told(clients[i], ZKL_EVENT_LOST) > 0)
            return false;
    return true;
}

/* What an outage of 1/8, 2/8, ... of the timeout leaves of the lease may be less than heartbeats
 * need to prove more: nobody is granted a hold that is lost at once. */
static void a_hold_that_begins_after_an_outage_lasts(void) {
    client *clients[OUTAGES];
    size_t back = 0;

    for (size_t i = 0; i < OUTAGES; i++)
        clients[i] = client_open_proxied(fresh_name("after"), T_NORMAL);
    for (size_t i = 0; i < OUTAGES; i++)
        client_outage_begin(clients[i]);
    const int64_t begun = clock_ms();
    while (back < OUTAGES) {
        if (clock_ms() < begun + (int64_t)(back + 1) * T_NORMAL / 8) {
            wait_pause();
            continue;
        }
        client_outage_end(clients[back]);
        client_begin(clients[back++], SOON_MS);
    }
    for (size_t i = 0; i < OUTAGES; i++)
        CHECK_INT(client_result(clients[i]), ZKL_OK);
    CHECK_STAYS(all_are_held(clients), T_NORMAL);
    for (size_t i = 0; i < OUTAGES; i++) {
        CHECK(client_held(clients[i]));
        client_close(clients[i]);
    }
}

static const test_case Cases[] = {
    {"a hold that begins after an outage lasts", a_hold_that_begins_after_an_outage_lasts},
    {"a holder keeps its hold when the connection breaks", a_holder_keeps_its_hold},
    {"a waiter keeps its place when the connection breaks (T22)", a_waiter_keeps_its_place},
    {"a hundred breaks change nothing and cost a bounded number of requests (T28)",
     a_hundred_breaks_change_nothing},
    {"a connection that stays down is not a busy loop (T28)",
     a_connection_that_stays_down_is_not_a_busy_loop},
    {"a predecessor that left meanwhile is noticed", a_predecessor_that_left_meanwhile_is_noticed},
    {"own node and predecessor gone meanwhile is no grant on a dead node",
     both_nodes_gone_meanwhile_is_no_grant},
    {"a restart of the server costs neither place nor hold (T22)",
     a_restart_of_the_server_costs_nothing},
    {"a session moves to other servers with its holds", a_session_moves_to_other_servers},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "reconnect", Cases);
}
