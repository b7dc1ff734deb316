/*
 * Lists of several servers. The client library by itself tries only half of an even number of them
 * when it has to look for another one (ZOOKEEPER-2466), some thousand times a second.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

enum {
    WAYS_MAX = 4,
    MOVES = 10,
    TIMEOUT_MS = 9000 /* and a pause of 150 ms after each round through the list */
};

/* A client and its ways to the server, of which one at a time is open. */
typedef struct walker {
    client *client;
    proxy *ways[WAYS_MAX];
    size_t count;
} walker;

static walker walker_open(size_t count, int timeout_ms) {
    walker w = {.count = count};
    char hosts[WAYS_MAX * 32] = "";

    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(hosts);
        char address[16];

        /* The client library tells servers apart by address, not by port. */
        (void)snprintf(address, sizeof(address), "127.0.0.%zu", i + 1);
        w.ways[i] = proxy_open(server_hosts(), address);
        REQUIRE(w.ways[i] != NULL);
        (void)snprintf(hosts + used, sizeof(hosts) - used, "%s%s", i > 0 ? "," : "",
                       proxy_hosts(w.ways[i]));
    }
    w.client = client_open_at(hosts, fresh_name("walk"), timeout_ms);
    return w;
}

static void walker_close(walker *w) {
    client_close(w->client);
    for (size_t i = 0; i < w->count; i++)
        proxy_close(w->ways[i]);
}

static void shut_all(walker *w) {
    for (size_t i = 0; i < w->count; i++) {
        proxy_refuse(w->ways[i], true);
        proxy_drop(w->ways[i]);
    }
    WAIT_UNTIL(!client_is_connected(w->client), SOON_MS);
}

/* Whichever server is the one that serves, the client comes to it, as often as it takes. */
static void walk_around(size_t count) {
    walker w = walker_open(count, TIMEOUT_MS);
    const int64_t id = zkl_session_id(w.client->session);

    for (size_t i = 0; i < MOVES; i++) {
        proxy *way = w.ways[i * 7 % count];

        shut_all(&w);
        proxy_forget(way);
        WAIT_UNTIL(proxy_connects(way) > 0, SOON_MS); /* it is tried although it was shut */
        proxy_refuse(way, false);
        WAIT_UNTIL(proxy_links(way) == 1 && client_is_connected(w.client), SOON_MS);
    }
    CHECK(zkl_session_id(w.client->session) == id);
    CHECK_INT(client_acquire(w.client, SOON_MS), ZKL_OK);
    walker_close(&w);
}

static void one_of_two_is_found(void) {
    walk_around(2);
}

static void one_of_three_is_found(void) {
    walk_around(3);
}

static void one_of_four_is_found(void) {
    walk_around(4);
}

/* T28: each round through the list is followed by a pause of T/60. */
static void servers_that_are_down_are_not_a_busy_loop(void) {
    const char *port = strchr(server_nowhere(), ':');

    for (int count = 1; count <= WAYS_MAX; count++) {
        events *e = events_new();
        char hosts[WAYS_MAX * 32] = "";
        zkl_session *s = NULL;

        for (int i = 0; i < count; i++) {
            const size_t used = strlen(hosts);

            (void)snprintf(hosts + used, sizeof(hosts) - used, "%s127.0.0.%d%s", i > 0 ? "," : "",
                           i + 1, port);
        }
        CHECK_INT(zkl_session_open(&s, hosts,
                                   &ZKL_SESSION_OPTIONS(.session_timeout_ms = TIMEOUT_MS,
                                                        .connect_timeout_ms = 1000,
                                                        .log = events_log, .arg = e)),
                  ZKL_UNREACHABLE);
        test_note("%d servers down: %zu lines of log in a second", count, events_log_lines(e));
        CHECK_RANGE(events_log_lines(e), 1, 100);
        events_free(e);
    }
}

static const test_case Cases[] = {
    {"whichever of two servers serves is found", one_of_two_is_found},
    {"whichever of three servers serves is found", one_of_three_is_found},
    {"whichever of four servers serves is found", one_of_four_is_found},
    {"servers that are down are not a busy loop (T28)", servers_that_are_down_are_not_a_busy_loop},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "hosts", Cases);
}
