/*
 * What the recipe costs, counted request by request in a proxy, which knows heartbeats from what
 * else is written.
 */
#include "support/client.h"
#include "support/party.h"

#include <stdio.h>
#include <string.h>

enum {
    WAITERS = 100,
    SESSIONS = 5
};

/* Requests other than heartbeats and pings. */
static size_t requests(proxy *p) {
    return proxy_count(p, PROXY_WORK, NULL);
}

static void an_uncontended_lock_costs_three_requests(void) {
    const char *name = fresh_name("cheap");
    client *c = client_open_proxied(name, T_LONG);

    dir_make(name);
    for (int i = 0; i < 20; i++) {
        proxy_forget(c->proxy);
        REQUIRE_INT(client_acquire(c, i % 2 ? SOON_MS : ZKL_FOREVER), ZKL_OK);
        REQUIRE_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), 1);
        CHECK_INT(proxy_count_tail(c->proxy, PROXY_LIST, name), 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_DELETE, name), 1);
        /* A heartbeat in between would arm the watch on the own node: one read. */
        CHECK_RANGE(requests(c->proxy), 3, 3 + (proxy_count(c->proxy, PROXY_BARRIER, NULL) > 0));
    }
    client_close(c);
}

/* Create and list, then own node and predecessor; the hand-off itself asks nothing. */
static void a_waiter_costs_four_requests_until_it_holds(void) {
    const char *name = fresh_name("waiter");
    client *holder = client_open(name, T_LONG), *c = client_open_proxied(name, T_LONG);

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    proxy_forget(c->proxy);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, name) == 2, SOON_MS);
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), 1);
    CHECK_INT(proxy_count(c->proxy, PROXY_LIST, name), 1);
    CHECK_INT(proxy_count(c->proxy, PROXY_GET, name), 2);
    CHECK_INT(requests(c->proxy), 4);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(requests(c->proxy), 5);
    client_close(c);
    client_close(holder);
}

/* T13: other libraries create and delete a node for each failed try. */
static void a_try_on_a_held_lock_writes_nothing(void) {
    const char *name = fresh_name("try");
    proxy *p = proxy_new();
    char path[RAW_PATH_MAX];
    raw_stat before = {0}, after = {0};

    /* A plain client holds, because one of ours would write its heartbeats meanwhile. */
    plant_contender(name, CURATOR, path);
    zkl_session *s = session_open_with(proxy_hosts(p),
                                       (zkl_session_options){.session_timeout_ms = T_LONG});
    zkl_lock *l = lock_open(s, name, NULL);
    CHECK(raw_stat_of(fixture_raw(), lock_dir(name), &before));
    proxy_forget(p);
    int64_t zxid = server_number("srvr", "Zxid");
    for (int i = 0; i < 50; i++)
        CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY);
    CHECK_INT(proxy_count_tail(p, PROXY_LIST, name), 50);
    CHECK_INT(proxy_count(p, PROXY_CREATE, NULL), 0);
    CHECK_INT(proxy_count(p, PROXY_DELETE, name), 0);
    CHECK_INT(requests(p), 50);
    CHECK(raw_stat_of(fixture_raw(), lock_dir(name), &after));
    CHECK_INT(after.cversion, before.cversion);
    if (server_is_ours()) /* nobody else writes there */
        CHECK_INT(server_number("srvr", "Zxid") - zxid, proxy_count(p, PROXY_BARRIER, NULL));
    lock_close(l);
    session_close(s);
    proxy_close(p);
    uproot(path);
}

/* In T: six or eight where all are quick, one each T/16 where all take T/400 or more. */
#define SYNCS_MAX 17

/* Nothing but the client library's pings; or a pair of syncs each 0.3 T, if it is to be kept. */
static void a_session_that_rests_asks_for_nothing(void) {
    proxy *p = proxy_new();
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        zkl_session *s = session_open_with(
            proxy_hosts(p),
            (zkl_session_options){.session_timeout_ms = T_NORMAL, .keep_session = is_kept == 1});
        int64_t end = clock_ms() + T_NORMAL;
        proxy_forget(p);
        WAIT_UNTIL(clock_ms() >= end, 2 * T_NORMAL);
        CHECK_INT(proxy_count(p, PROXY_BARRIER, NULL), 0);
        CHECK_RANGE(proxy_count(p, PROXY_ANY, NULL), is_kept ? 4 : 0, is_kept ? SYNCS_MAX : 0);
        session_close(s);
    }
    proxy_close(p);
}

/* A busy machine has round trips of a quarter of a second: let that be less than T/16. */
#define T_PATIENT 10000

/* Heartbeats are for the first T of a wait. Then it is a pair of syncs each 0.3 T. */
static void a_patient_waiter_writes_nothing(void) {
    const char *name = fresh_name("patient");
    client *c = client_open_proxied(name, T_PATIENT);
    char path[RAW_PATH_MAX];

    plant_contender(name, CURATOR, path);
    client_queue_up(c, 2);
    int64_t end = clock_ms() + T_PATIENT * 5 / 4;
    WAIT_UNTIL(clock_ms() >= end, 2 * T_PATIENT);
    proxy_forget(c->proxy);
    end = clock_ms() + T_PATIENT;
    WAIT_UNTIL(clock_ms() >= end, 2 * T_PATIENT);
    CHECK_INT(proxy_count(c->proxy, PROXY_BARRIER, NULL), 0);
    CHECK_RANGE(proxy_count(c->proxy, PROXY_SYNC, NULL), 4, SYNCS_MAX);
    CHECK_INT(requests(c->proxy), proxy_count(c->proxy, PROXY_SYNC, NULL));
    proxy_forget(c->proxy);
    uproot(path); /* one heartbeat makes certain what the syncs have proved */
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_RANGE(proxy_answered(c->proxy, PROXY_BARRIER, name), 1, 2);
    CHECK_INT(proxy_connects(c->proxy), 0);
    client_close(c);
}

/* The same where one is admitted, and the other is waited for. */
static void so_it_is_with_several_of_which_one_is_admitted(void) {
    party *p = party_open_proxied(T_PATIENT);
    char path[RAW_PATH_MAX];

    party_add(p, fresh_name("admitted"), ZKL_MUTEX, 0);
    party_add(p, fresh_name("waited-for"), ZKL_MUTEX, 0);
    plant_contender(p->names[1], CURATOR, path);
    party_queue_up_behind(p, 1);
    int64_t end = clock_ms() + T_PATIENT * 5 / 4;
    WAIT_UNTIL(clock_ms() >= end, 2 * T_PATIENT);
    proxy_forget(p->proxy);
    end = clock_ms() + T_PATIENT;
    WAIT_UNTIL(clock_ms() >= end, 2 * T_PATIENT);
    test_note("in T: %zu heartbeats, %zu syncs", proxy_count(p->proxy, PROXY_BARRIER, NULL),
              proxy_count(p->proxy, PROXY_SYNC, NULL));
    CHECK_INT(proxy_count(p->proxy, PROXY_BARRIER, NULL), 0);
    CHECK_RANGE(proxy_count(p->proxy, PROXY_SYNC, NULL), 4, SYNCS_MAX);
    CHECK_INT(requests(p->proxy), proxy_count(p->proxy, PROXY_SYNC, NULL));
    proxy_forget(p->proxy);
    uproot(path);
    CHECK_INT(party_result(p), ZKL_OK);
    (void)party_check_holds(p);
    CHECK_RANGE(proxy_count(p->proxy, PROXY_BARRIER, NULL), 1, 2);
    CHECK_INT(proxy_connects(p->proxy), 0);
    party_close(p);
}

/* Another session: a connection, the answer to it, and then what a first acquire costs. */
static void after_a_rest_an_acquire_costs_a_connection_more(void) {
    const char *name = fresh_name("rested");
    client *c = client_open_proxied(name, T_NORMAL);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    REQUIRE_INT(client_release_wait(c), ZKL_OK);
    plant(name, "keep", RAW_PERSISTENT, NULL); /* else the servers may delete the directory */
    const int64_t id = zkl_session_id(c->session), end = clock_ms() + T_NORMAL * 5 / 4;
    WAIT_UNTIL(clock_ms() >= end, 2 * T_NORMAL);
    proxy_forget(c->proxy);
    proxy_rule(c->proxy, PROXY_HOLD_REPLY, PROXY_CREATE, name, 1, false);
    client_begin(c, SOON_MS);
    /* Between the two requests there is no answer that the second has waited for. */
    WAIT_UNTIL(proxy_fired(c->proxy) && proxy_count_tail(c->proxy, PROXY_LIST, name) > 0, SOON_MS);
    CHECK(!client_is_done(c));
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK(zkl_session_id(c->session) != id);
    CHECK_INT(proxy_connects(c->proxy), 1);
    CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), 1);
    CHECK_INT(proxy_count_tail(c->proxy, PROXY_LIST, name), 1);
    CHECK_INT(client_told(c, ZKL_EVENT_SUSPENDED) + client_told(c, ZKL_EVENT_RESUMED), 0);
    client_close(c);
}

static void after_a_rest_a_try_of_a_taken_lock_is_one_read(void) {
    const char *name = fresh_name("rested");
    client *c = client_open_proxied(name, T_NORMAL);
    char path[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    REQUIRE_INT(client_release_wait(c), ZKL_OK);
    plant_contender(name, CURATOR, path);
    const int64_t id = zkl_session_id(c->session), end = clock_ms() + T_NORMAL * 5 / 4;
    WAIT_UNTIL(clock_ms() >= end, 2 * T_NORMAL);
    proxy_forget(c->proxy);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    CHECK(zkl_session_id(c->session) == id);
    CHECK_INT(proxy_connects(c->proxy), 0);
    CHECK_INT(requests(c->proxy), 1);
    CHECK_INT(proxy_count_tail(c->proxy, PROXY_LIST, name), 1);
    uproot(path);
    client_close(c);
}

/* A hundred waiters of five sessions behind one holder, all counted in one proxy. */
struct crowd {
    proxy *proxy;
    zkl_session *sessions[SESSIONS];
    zkl_lock *locks[WAITERS];
    actor *actors[WAITERS];
    const char *name;
};

static struct crowd *crowd_open(const char *name) {
    static struct crowd crowd;

    crowd = (struct crowd){.proxy = proxy_new(), .name = name};
    for (size_t i = 0; i < SESSIONS; i++)
        crowd.sessions[i] = session_open(proxy_hosts(crowd.proxy), T_LONG, NULL);
    for (size_t i = 0; i < WAITERS; i++) {
        crowd.locks[i] = lock_open(crowd.sessions[i % SESSIONS], name, NULL);
        crowd.actors[i] = actor_new();
        actor_acquire(crowd.actors[i], crowd.locks[i], ZKL_FOREVER);
    }
    return &crowd;
}

static void crowd_close(struct crowd *crowd) {
    for (size_t i = 0; i < WAITERS; i++) {
        lock_close(crowd->locks[i]);
        actor_free(crowd->actors[i]);
    }
    for (size_t i = 0; i < SESSIONS; i++)
        session_close(crowd->sessions[i]);
    proxy_close(crowd->proxy);
}

/* The one actor whose acquire has returned and that has not released yet; WAITERS: none. */
static size_t find_granted(struct crowd *crowd, const bool *released) {
    size_t found = WAITERS;

    for (size_t i = 0; i < WAITERS; i++) {
        if (released[i] || !actor_is_done(crowd->actors[i]))
            continue;
        CHECK(found == WAITERS); /* two at once */
        found = i;
    }
    return found;
}

/* The node that its place in the queue says is next; checks that the grantee has it. */
static void check_is_first(struct crowd *crowd, size_t who, int64_t *token) {
    char first[RAW_PATH_MAX] = "", own[RAW_PATH_MAX];

    actor_node_path(crowd->actors[who], crowd->locks[who], own, sizeof(own));
    CHECK(raw_child_path(fixture_raw(), lock_dir(crowd->name), 0, first));
    CHECK_STRING(own, first);
    CHECK(actor_token(crowd->actors[who], crowd->locks[who]) > *token);
    *token = actor_token(crowd->actors[who], crowd->locks[who]);
}

/* A heartbeat that falls into a hold says since when it is held, for these waited more than a
 * second: two reads of the holder and one of the next. On a busy machine holds are long enough for
 * a few of a hundred. */
#define READS_OF_SINCE 3

/* T24, T33: no herd, in the process or on the server; first come, first served. */
static void a_hundred_releases_wake_one_waiter_each(void) {
    const char *name = fresh_name("crowd");
    client *holder = client_open(name, T_LONG);
    bool released[WAITERS] = {false};

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    int64_t token = client_token(holder);
    struct crowd *crowd = crowd_open(name);
    WAIT_UNTIL(queue_length(name) == WAITERS + 1, SOON_MS);
    WAIT_UNTIL(proxy_answered(crowd->proxy, PROXY_GET, name) >= 2 * WAITERS, SOON_MS);
    if (server_is_ours()) /* each its own node and its predecessor */
        CHECK_RANGE(server_number("wchs", "Total watches"), WAITERS, 2 * WAITERS + 1);
    proxy_forget(crowd->proxy);

    CHECK_INT(client_release_wait(holder), ZKL_OK);
    for (size_t n = 0; n < WAITERS; n++) {
        const size_t lists = proxy_count(crowd->proxy, PROXY_LIST, name);
        const size_t gets = proxy_count(crowd->proxy, PROXY_GET, name);
        size_t who = WAITERS;

        WAIT_UNTIL((who = find_granted(crowd, released)) < WAITERS, SOON_MS);
        check_is_first(crowd, who, &token);
        released[who] = true;
        CHECK_INT(actor_release_wait(crowd->actors[who], crowd->locks[who], SOON_MS), ZKL_OK);
        /* The successor may list once; nobody else asks anything. */
        WAIT_UNTIL(n + 1 == WAITERS || find_granted(crowd, released) < WAITERS, SOON_MS);
        CHECK_RANGE(proxy_count(crowd->proxy, PROXY_LIST, name) - lists, 0, 1);
        CHECK_RANGE(proxy_count(crowd->proxy, PROXY_GET, name) - gets, 0, READS_OF_SINCE);
    }
    CHECK_RANGE(proxy_count(crowd->proxy, PROXY_GET, name), 0, READS_OF_SINCE * WAITERS / 10);
    CHECK_INT(proxy_count(crowd->proxy, PROXY_CREATE, NULL), 0);
    CHECK_INT(proxy_count(crowd->proxy, PROXY_DELETE, name), WAITERS);
    /* The end of a node is told to its own session and to the next one's: nobody else watches. */
    WAIT_UNTIL(proxy_count(crowd->proxy, PROXY_EVENT, name) >= WAITERS, SOON_MS);
    CHECK_RANGE(proxy_count(crowd->proxy, PROXY_EVENT, name), WAITERS, 2 * WAITERS);
    test_note("%d hand-offs: %zu lists, %zu reads, %zu watch events, %zu deletes", WAITERS,
              proxy_count(crowd->proxy, PROXY_LIST, name),
              proxy_count(crowd->proxy, PROXY_GET, name),
              proxy_count(crowd->proxy, PROXY_EVENT, name),
              proxy_count(crowd->proxy, PROXY_DELETE, name));
    crowd_close(crowd);
    client_close(holder);
    if (server_is_ours())
        WAIT_UNTIL(server_number("wchs", "Total watches") == 0, SOON_MS);
}

/* T24: those who wait on one handle wait in the process; the server hears of one at a time. */
static void waiters_on_one_handle_cost_the_server_nothing(void) {
    enum {
        COUNT = 300
    };
    static actor *actors[COUNT];
    const char *name = fresh_name("local");
    client *c = client_open_proxied(name, T_LONG);
    size_t done = 0;

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    proxy_forget(c->proxy);
    for (size_t i = 0; i < COUNT; i++) {
        actors[i] = actor_new();
        actor_acquire(actors[i], c->lock, ZKL_FOREVER);
    }
    CHECK_STAYS(proxy_count(c->proxy, PROXY_CREATE, name) == 0, 200);
    CHECK_INT(client_release(c), ZKL_OK);
    while (done < COUNT) {
        const size_t before = done;

        for (size_t i = 0; i < COUNT; i++) {
            if (!actors[i] || !actor_is_done(actors[i]))
                continue;
            CHECK(actor_held(actors[i], c->lock));
            CHECK_INT(actor_release(actors[i], c->lock), ZKL_OK);
            actor_free(actors[i]);
            actors[i] = NULL;
            done++;
        }
        if (done == before)
            wait_pause();
    }
    WAIT_UNTIL(proxy_count(c->proxy, PROXY_DELETE, name) == COUNT + 1, SOON_MS);
    CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), COUNT);
    CHECK_INT(proxy_count_tail(c->proxy, PROXY_LIST, name), COUNT);
    test_note("%d grants on one handle: %zu requests", COUNT, requests(c->proxy));
    CHECK_RANGE(requests(c->proxy), 3 * COUNT + 1, 3 * COUNT + 30);
    client_close(c);
}

static const test_case Cases[] = {
    {"an uncontended acquire and release is one create, one list, one delete",
     an_uncontended_lock_costs_three_requests},
    {"a waiter costs a create, a list and two reads until it holds",
     a_waiter_costs_four_requests_until_it_holds},
    {"a try on a held lock is one read and writes nothing (T13)",
     a_try_on_a_held_lock_writes_nothing},
    {"a session that rests asks for nothing", a_session_that_rests_asks_for_nothing},
    {"a patient waiter writes nothing", a_patient_waiter_writes_nothing},
    {"so it is with several, of which one is admitted",
     so_it_is_with_several_of_which_one_is_admitted},
    {"after a rest an acquire costs a connection more",
     after_a_rest_an_acquire_costs_a_connection_more},
    {"after a rest a try of a taken lock is one read",
     after_a_rest_a_try_of_a_taken_lock_is_one_read},
    {"a hundred releases wake exactly one of a hundred waiters each, in order (T24, T33)",
     a_hundred_releases_wake_one_waiter_each},
    {"waiters on one handle cost the server nothing while they wait (T24)",
     waiters_on_one_handle_cost_the_server_nothing},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "cost", Cases);
}
