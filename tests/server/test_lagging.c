/*
 * Three servers, and a client that comes to one that does not know yet what the others do. A create
 * was proposed and is not committed when the connection breaks; on the server where the client
 * resumes its session, a listing does not show the node. Whoever believes that listing creates
 * another one, and the first comes into being all the same: a ghost at the head of the queue.
 *
 * What is proposed stays uncommitted for as long as the followers' logs stand still (ensemble.h).
 */
#include "support/client.h"
#include "support/ensemble.h"

#include <stdio.h>
#include <stdlib.h>

/* A follower that acknowledges nothing for so many ticks is dropped: far more than it needs. */
#define SERVER_OPTIONS "--servers", "3", "--prop", "syncLimit=60", "--prop", "initLimit=60"
/* No expiry on a slow machine, and the client notices nothing while the followers stand still. */
#define PATIENT_MS 40000
#define EXPIRES_MS 3000

/* A client with two ways in: home is the leader, away a follower. */
typedef struct traveler {
    client *client;
    proxy *home, *away;
    raw *witness; /* at the follower */
    unsigned leader, follower;
    char name[64];
} traveler;

static void stall_followers(const traveler *t, bool on) {
    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++)
        if (i != t->leader)
            ensemble_stall(i, on);
}

/* Connected at home; the directory is there. */
static traveler set_out(const char *name, int timeout_ms) {
    traveler t = {.leader = ensemble_leader()};
    char hosts[160];

    t.follower = (t.leader + 1) % ENSEMBLE_SERVERS;
    (void)snprintf(t.name, sizeof(t.name), "%s", fresh_name(name));
    dir_make(t.name);
    /* The client library tells servers apart by address, not by port. */
    t.home = proxy_open(ensemble_hosts(t.leader), "127.0.0.1");
    t.away = proxy_open(ensemble_hosts(t.follower), "127.0.0.2");
    REQUIRE(t.home != NULL && t.away != NULL);
    proxy_refuse(t.away, true);
    (void)snprintf(hosts, sizeof(hosts), "%s,%s", proxy_hosts(t.home), proxy_hosts(t.away));
    t.client = client_open_at(hosts, t.name, timeout_ms);
    REQUIRE_INT(client_acquire(t.client, SOON_MS), ZKL_OK);
    REQUIRE_INT(client_release_wait(t.client), ZKL_OK);
    t.witness = raw_open(ensemble_hosts(t.follower), PATIENT_MS);
    REQUIRE(t.witness != NULL);
    return t;
}

static void come_back(traveler *t) {
    client_close(t->client);
    raw_close(t->witness);
    proxy_close(t->away);
    proxy_close(t->home);
}

/* Begins an acquire whose create the leader has proposed; then the way home is cut. */
static void create_and_leave(traveler *t) {
    int64_t proposed = 0;

    stall_followers(t, true);
    /* Everything that the leader proposes from here on came through the proxy. */
    WAIT_UNTIL((proxy_forget(t->home), proposed = ensemble_proposed(t->leader),
                proxy_count(t->home, PROXY_ANY, NULL) == 0),
               SOON_MS);
    client_begin(t->client, ZKL_FOREVER);
    WAIT_UNTIL(proxy_count(t->home, PROXY_CREATE, t->name) == 1, SOON_MS);
    WAIT_UNTIL(ensemble_proposed(t->leader) - proposed >=
                   (int64_t)(1 + proxy_count(t->home, PROXY_BARRIER, NULL)),
               SOON_MS);
    proxy_refuse(t->home, true);
    proxy_drop(t->home);
}

/* Lets it in at the follower, where it is told to go on, but not what it has done. */
static void arrive(traveler *t) {
    const size_t resumed = client_told(t->client, ZKL_EVENT_RESUMED);

    proxy_refuse(t->away, false);
    WAIT_UNTIL(client_told(t->client, ZKL_EVENT_RESUMED) > resumed, SOON_MS);
    WAIT_UNTIL(proxy_count(t->away, PROXY_ANY, NULL) > 0, SOON_MS);
    CHECK_INT(raw_child_count(t->witness, lock_dir(t->name)), 0);
}

/* How many creates were sent, ever: each may become a node. */
static size_t creates(const traveler *t) {
    return proxy_count(t->home, PROXY_CREATE, t->name) +
           proxy_count(t->away, PROXY_CREATE, t->name);
}

/* The session that the only node belongs to; and it is the one that the client holds by. */
static void check_holds_by_the_only_node(traveler *t) {
    char path[RAW_PATH_MAX] = "";
    raw_stat stat = {0};

    CHECK(client_held(t->client));
    WAIT_UNTIL(queue_length(t->name) == 1, SOON_MS);
    actor_node_path(t->client->actor, t->client->lock, path, sizeof(path));
    CHECK(raw_stat_of(fixture_raw(), path, &stat));
    CHECK(stat.owner == zkl_session_id(t->client->session));
    CHECK_INT(stat.czxid, client_token(t->client));
}

/* T11: no listing counts that may be older than the create. */
static void a_listing_that_lags_hides_no_node(void) {
    traveler t = set_out("hidden", PATIENT_MS);

    create_and_leave(&t);
    arrive(&t);
    CHECK_STAYS(!client_is_done(t.client) && creates(&t) == 1, 1000);
    stall_followers(&t, false);
    REQUIRE_INT(client_result(t.client), ZKL_OK);
    check_holds_by_the_only_node(&t);
    CHECK_INT(creates(&t), 1);
    CHECK_INT(client_told(t.client, ZKL_EVENT_REQUEUED), 0);
    CHECK_INT(client_release_wait(t.client), ZKL_OK);
    WAIT_UNTIL(queue_length(t.name) == 0, SOON_MS);
    come_back(&t);
}

/* T10, T11: given up where nothing can be seen of the node: it is looked for until it can. */
static void a_create_given_up_at_a_lagging_server_leaves_nothing(void) {
    traveler t = set_out("given-up", PATIENT_MS);

    create_and_leave(&t);
    arrive(&t);
    CHECK_INT(zkl_cancel(t.client->lock), ZKL_OK);
    CHECK_INT(actor_result(t.client->actor, 1000), ZKL_CANCELED);
    CHECK_STAYS(creates(&t) == 1, 300);
    stall_followers(&t, false);
    /* The node has come into being by then: what is written after it on the same server. */
    CHECK_INT(raw_make_path(t.witness, lock_dir(fresh_name("after"))), RAW_OK);
    WAIT_UNTIL(raw_child_count(t.witness, lock_dir(t.name)) == 0, SOON_MS);
    CHECK_STAYS(raw_child_count(t.witness, lock_dir(t.name)) == 0, 300);
    CHECK_INT(creates(&t), 1);
    CHECK_INT(client_acquire(t.client, SOON_MS), ZKL_OK);
    check_holds_by_the_only_node(&t);
    come_back(&t);
}

/*
 * T12: the session has ended, and neither its end nor the create before that is committed. The
 * first node belongs to the old session, so the client holds by another, when the new one is there.
 */
static void a_create_that_its_session_does_not_outlive_is_no_hold(void) {
    traveler t = set_out("outlived", EXPIRES_MS);
    const int64_t id = zkl_session_id(t.client->session);

    CHECK(ensemble_keeps(t.leader, id));
    create_and_leave(&t);
    WAIT_UNTIL(!ensemble_keeps(t.leader, id), SOON_MS);
    proxy_refuse(t.away, false);
    WAIT_UNTIL(proxy_connects(t.away) > 0, SOON_MS);
    CHECK_STAYS(!client_is_done(t.client) && creates(&t) == 1, 500);
    stall_followers(&t, false);
    REQUIRE_INT(client_result(t.client), ZKL_OK);
    check_holds_by_the_only_node(&t);
    CHECK(zkl_session_id(t.client->session) != id);
    CHECK_INT(creates(&t), 2);
    come_back(&t);
}

/* T12: as before, but a node that waits, and its predecessor has left: it is the first one now. */
static void a_node_whose_session_has_ended_is_not_granted(void) {
    traveler t = set_out("first", EXPIRES_MS);
    const int64_t id = zkl_session_id(t.client->session);
    char holder[RAW_PATH_MAX], own[RAW_PATH_MAX] = "", first[RAW_PATH_MAX] = "";

    plant_contender(t.name, CURATOR, holder);
    client_queue_up(t.client, 2);
    WAIT_UNTIL(client_told(t.client, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    client_node(t.client, own);
    proxy_refuse(t.home, true);
    proxy_drop(t.home);
    uproot(holder);
    WAIT_UNTIL(raw_child_count(t.witness, lock_dir(t.name)) == 1, SOON_MS);
    stall_followers(&t, true);
    CHECK(ensemble_keeps(t.leader, id));
    WAIT_UNTIL(!ensemble_keeps(t.leader, id), SOON_MS);
    CHECK(raw_child_path(t.witness, lock_dir(t.name), 0, first));
    CHECK_STRING(first, own);
    proxy_refuse(t.away, false);
    WAIT_UNTIL(proxy_connects(t.away) > 0, SOON_MS);
    CHECK_STAYS(!client_is_done(t.client), 500);
    stall_followers(&t, false);
    REQUIRE_INT(client_result(t.client), ZKL_OK);
    check_holds_by_the_only_node(&t);
    CHECK(zkl_session_id(t.client->session) != id);
    come_back(&t);
}

static void resume_all(void) {
    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++)
        ensemble_stall(i, false);
}

static const test_case Cases[] = {
    {"a listing that lags hides no node (T11)", a_listing_that_lags_hides_no_node},
    {"a create given up at a lagging server leaves nothing (T10, T11)",
     a_create_given_up_at_a_lagging_server_leaves_nothing},
    {"a create that its session does not outlive is no hold (T12)",
     a_create_that_its_session_does_not_outlive_is_no_hold},
    {"a node whose session has ended is not granted (T12)",
     a_node_whose_session_has_ended_is_not_granted},
};

int main(int argc, char **argv) {
    static const char *const options[] = {SERVER_OPTIONS, NULL};

    /* Nobody stops a thread of somebody else's servers. */
    (void)unsetenv("ZKLOCK_HOSTS");
    fixture_start(options);
    test_after_each(resume_all);
    return TEST_MAIN(argc, argv, "lagging", Cases);
}
