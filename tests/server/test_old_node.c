/*
 * T12: nodes that look like ours and are another session's. Elsewhere a waiter whose session has
 * ended, or one that looks for its node by the uuid, is granted on such a node; then the server
 * removes it, and the next in the queue is granted as well.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

#define EXPIRED (-112)

/* A client with two ways to the server; the second is closed at first. */
typedef struct mover {
    client *client;
    proxy *first, *second;
    credentials old; /* of its session by the first way */
} mover;

static mover mover_open(const char *name) {
    mover m = {.first = proxy_open(server_hosts(), "127.0.0.1"),
               /* The client library tells servers apart by address, not by port. */
               .second = proxy_open(server_hosts(), "127.0.0.2")};
    char hosts[160];

    REQUIRE(m.first != NULL && m.second != NULL);
    dir_make(name);
    proxy_refuse(m.second, true);
    (void)snprintf(hosts, sizeof(hosts), "%s,%s", proxy_hosts(m.first), proxy_hosts(m.second));
    m.client = client_open_at(hosts, name, T_LONG);
    REQUIRE_INT(client_acquire(m.client, SOON_MS), ZKL_OK);
    REQUIRE_INT(client_release_wait(m.client), ZKL_OK);
    m.old = session_credentials(m.client->session);
    return m;
}

static void mover_close(mover *m) {
    client_close(m->client);
    proxy_close(m->second);
    proxy_close(m->first);
}

/*
 * The next write is answered "expired", and whatever the client sends after that to end its old
 * session does not arrive: it takes a new one by the second way, while the old one lives on.
 */
static void mover_move(mover *m) {
    proxy_hold(m->first, PROXY_TO_CLIENT, true);
    proxy_fail(m->first, PROXY_BARRIER, NULL, 1, EXPIRED);
    WAIT_UNTIL(proxy_fired(m->first), SOON_MS);
    proxy_hold(m->first, PROXY_TO_SERVER, true);
    proxy_refuse(m->first, true);
    proxy_refuse(m->second, false);
    proxy_hold(m->first, PROXY_TO_CLIENT, false);
    WAIT_UNTIL(zkl_session_id(m->client->session) != 0 &&
                   zkl_session_id(m->client->session) != m->old.id,
               SOON_MS);
}

/* The client holds, by a node of its present session, which is not this one. */
static void check_holds_by_another(mover *m, const char *old_node) {
    char path[RAW_PATH_MAX] = "";
    raw_stat stat = {0};

    CHECK(client_held(m->client));
    actor_node_path(m->client->actor, m->client->lock, path, sizeof(path));
    CHECK(strcmp(path, old_node) != 0);
    CHECK(raw_stat_of(fixture_raw(), path, &stat));
    CHECK(stat.owner == zkl_session_id(m->client->session));
    CHECK_INT(stat.czxid, client_token(m->client));
    CHECK_INT(client_nodes(m->client), 1);
}

static void a_waiters_node_of_the_old_session_is_not_granted(void) {
    const char *name = fresh_name("waiting");
    mover m = mover_open(name);
    char holder[RAW_PATH_MAX], old_node[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    client_queue_up(m.client, 2);
    WAIT_UNTIL(client_told(m.client, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    client_node(m.client, old_node);
    mover_move(&m);
    WAIT_UNTIL(client_told(m.client, ZKL_EVENT_REQUEUED) == 1, SOON_MS);
    WAIT_UNTIL(client_nodes(m.client) == 1, SOON_MS);
    uproot(holder); /* now the old node is the first */
    CHECK_STAYS(!client_is_done(m.client), 300);
    CHECK_INT(queue_owned(name, m.old.id), 1);
    credentials_expire(&m.old);
    REQUIRE_INT(client_result(m.client), ZKL_OK);
    check_holds_by_another(&m, old_node);
    CHECK_INT(client_told(m.client, ZKL_EVENT_LOST), 0);
    mover_close(&m);
}

/* The reply to its create was lost; before it could look for the node, the session ended. */
static void a_node_made_by_the_old_session_is_not_adopted(void) {
    const char *name = fresh_name("creating");
    mover m = mover_open(name);
    char holder[RAW_PATH_MAX], old_node[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    proxy_rule(m.first, PROXY_HOLD_REPLY, PROXY_CREATE, name, 1, false);
    client_queue_up(m.client, 2);
    WAIT_UNTIL(proxy_fired(m.first), SOON_MS);
    client_node(m.client, old_node);
    proxy_hold(m.first, PROXY_TO_SERVER, true);
    proxy_refuse(m.first, true);
    proxy_drop(m.first);
    credentials_expire(&m.old);
    /* The very name, as if the server had not removed it yet. */
    plant(name, strrchr(old_node, '/') + 1, RAW_EPHEMERAL, NULL);
    uproot(holder);
    proxy_refuse(m.second, false);
    WAIT_UNTIL(zkl_session_id(m.client->session) != 0 &&
                   zkl_session_id(m.client->session) != m.old.id,
               SOON_MS);
    if (actor_result(m.client->actor, 300) == ACTOR_BUSY) /* it has not been deleted */
        uproot(old_node);
    REQUIRE_INT(client_result(m.client), ZKL_OK);
    check_holds_by_another(&m, old_node);
    mover_close(&m);
}

/* The search finds the uuid in a node that is another session's. */
static void a_found_node_of_another_session_is_not_adopted(void) {
    const char *name = fresh_name("found");
    mover m = mover_open(name);
    char old_node[RAW_PATH_MAX];

    proxy_rule(m.first, PROXY_CUT_REPLY, PROXY_CREATE, name, 1, true);
    client_queue_up(m.client, 1);
    WAIT_UNTIL(proxy_fired(m.first), SOON_MS);
    client_node(m.client, old_node);
    uproot(old_node);
    plant(name, strrchr(old_node, '/') + 1, RAW_EPHEMERAL, NULL);
    CHECK_INT(client_nodes(m.client), 0);
    proxy_refuse(m.first, false);
    if (actor_result(m.client->actor, 1000) == ACTOR_BUSY) /* it has not been deleted */
        uproot(old_node);
    REQUIRE_INT(client_result(m.client), ZKL_OK);
    CHECK(zkl_session_id(m.client->session) == m.old.id);
    check_holds_by_another(&m, old_node);
    mover_close(&m);
}

static const test_case Cases[] = {
    {"a waiter's node of the old session is not granted (T12)",
     a_waiters_node_of_the_old_session_is_not_granted},
    {"a node made by the old session is not adopted (T12)",
     a_node_made_by_the_old_session_is_not_adopted},
    {"a found node of another session is not adopted (T12)",
     a_found_node_of_another_session_is_not_adopted},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "old_node", Cases);
}
