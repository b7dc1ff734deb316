/*
 * Lists of several servers, and the names in them.
 *
 * The client library by itself tries only half of an even number of servers when it has to look for
 * another one (ZOOKEEPER-2466), some thousand times a second. And it calls getaddrinfo on the
 * thread that also sends its pings, unless told otherwise on every turn of its loop. This program's
 * own getaddrinfo stands before the C library's, and fails or hangs when a test says so.
 */
#include "support/client.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    WAYS_MAX = 4,
    MOVES = 10,
    TIMEOUT_MS = 9000 /* and a pause of 150 ms after each round through the list */
};

/* ---- Lists ---- */

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

/* The client library closes the connection to a server that is not in the new list, and tells of it
 * seconds later, if at all. Here the new server lets nothing through. */
static void a_new_list_tells_of_the_end_of_the_connection_at_once(void) {
    walker w = walker_open(2, TIMEOUT_MS);
    client *c = w.client;
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    for (int i = 0; i < 2; i++) {
        proxy *from = w.ways[proxy_links(w.ways[0]) == 1 ? 0 : 1];
        proxy *to = w.ways[from == w.ways[0] ? 1 : 0];
        const size_t told = client_told(c, ZKL_EVENT_SUSPENDED);

        proxy_hold(to, PROXY_BOTH, true);
        REQUIRE_INT(zkl_session_set_hosts(c->session, proxy_hosts(to)), ZKL_OK);
        WAIT_UNTIL(zkl_session_state(c->session) == ZKL_STATE_SUSPENDED, TIMEOUT_MS / 20);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_SUSPENDED) > told, SOON_MS);
        CHECK(!client_is_connected(c));
        proxy_hold(to, PROXY_BOTH, false);
        WAIT_UNTIL(proxy_links(to) == 1 && client_is_connected(c), SOON_MS);
        CHECK_STAYS(zkl_hold_valid(c->lock, hold), TIMEOUT_MS / 4);
        WAIT_UNTIL(client_is_connected(c), SOON_MS);
        CHECK_INT(proxy_links(from), 0);
    }
    CHECK(zkl_hold_valid(c->lock, hold));
    walker_close(&w);
}

/* ---- Names ---- */

enum resolver {
    WORKS,
    FAILS,
    HANGS
};

/* Short, so that an outage lasts for longer than a session, and not so short that half a second in
 * which the machine or the servers stand still costs a hold: that is not what is tested. */
#define NAMES_TIMEOUT_MS 2000

static _Atomic(enum resolver) Resolver;
static atomic_uint Lookups;

typedef int (*lookup_fn)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

__attribute__((visibility("default"))) int getaddrinfo(const char *restrict node,
                                                       const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict ret) {
    lookup_fn next;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");

    atomic_fetch_add(&Lookups, 1);
    while (atomic_load(&Resolver) == HANGS)
        wait_pause();
    if (atomic_load(&Resolver) == FAILS)
        return EAI_AGAIN;
    memcpy(&next, &symbol, sizeof(next));
    return next(node, service, hints, ret);
}

static void resolver_recover(void) {
    atomic_store(&Resolver, WORKS);
    fixture_recover();
}

static void hold_through(enum resolver outage) {
    client *c = client_open(fresh_name("names"), NAMES_TIMEOUT_MS);

    CHECK(atomic_load(&Lookups) > 0); /* ours is the one that is called */
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    atomic_store(&Resolver, outage);
    CHECK_STAYS(zkl_hold_valid(c->lock, hold), 3 * NAMES_TIMEOUT_MS);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    atomic_store(&Resolver, WORKS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    CHECK_INT(client_told(c, ZKL_EVENT_SUSPENDED), 0);
    client_close(c);
}

static void a_resolver_that_fails_costs_no_hold(void) {
    hold_through(FAILS);
}

static void a_resolver_that_hangs_costs_no_hold(void) {
    hold_through(HANGS);
}

/* It hangs before there is any session: the client's own thread is never there to be asked. */
static void opening_does_not_wait_for_a_resolver(void) {
    zkl_session *s = NULL;
    const int64_t begun_ms = clock_ms();

    atomic_store(&Resolver, HANGS);
    CHECK_INT(zkl_session_open(&s, server_hosts(), &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 300)),
              ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - begun_ms, 300, 2000);
    atomic_store(&Resolver, WORKS);
}

/* T23: it is asked for the new list without a lock of the library's, and not by the thread that
 * sends the heartbeats; nothing else has to wait. */
static void a_new_list_does_not_wait_for_a_resolver(void) {
    client *c = client_open(fresh_name("list"), NAMES_TIMEOUT_MS);
    const unsigned lookups = atomic_load(&Lookups);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    atomic_store(&Resolver, HANGS);
    int64_t begun_ms = clock_ms();
    REQUIRE_INT(zkl_session_set_hosts(c->session, server_hosts()), ZKL_OK);
    CHECK_RANGE(clock_ms() - begun_ms, 0, 500);
    WAIT_UNTIL(atomic_load(&Lookups) > lookups, SOON_MS);
    CHECK_STAYS(zkl_hold_valid(c->lock, hold), 2 * NAMES_TIMEOUT_MS);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    atomic_store(&Resolver, WORKS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

static const test_case Cases[] = {
    {"whichever of two servers serves is found", one_of_two_is_found},
    {"whichever of three servers serves is found", one_of_three_is_found},
    {"whichever of four servers serves is found", one_of_four_is_found},
    {"servers that are down are not a busy loop (T28)", servers_that_are_down_are_not_a_busy_loop},
    {"a new list of servers tells of the end of the connection at once",
     a_new_list_tells_of_the_end_of_the_connection_at_once},
    {"a resolver that fails costs no hold", a_resolver_that_fails_costs_no_hold},
    {"a resolver that hangs costs no hold", a_resolver_that_hangs_costs_no_hold},
    {"a new list of servers whose names hang holds up nothing (T23)",
     a_new_list_does_not_wait_for_a_resolver},
    {"opening does not wait for a resolver", opening_does_not_wait_for_a_resolver},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    test_after_each(resolver_recover);
    return TEST_MAIN(argc, argv, "hosts", Cases);
}
