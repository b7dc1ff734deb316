/*
 * zk_attached - the port over a handle that the program has: what differs from one of ours.
 *
 * The handle's own watcher stays the program's. But the client library tells each watch of session
 * events, in the order in which it completes requests. So there is a watch on a node that is never
 * made. Where it stands, the port hears of the session from then on, as one of ours does. Before
 * that it is not connected, whatever the handle is.
 *
 * When the port is closed the handle goes on. Watches are taken out of the client library's tables
 * by then, without a request; what completes later is ignored (zk_table.h).
 */
#include "zk/zk_client_internal.h"

#define WATCHED_PATH "/zklock-barrier-of-no-node/session"

static void arm(struct zkli_client *client);

static bool is_final(int state) {
    return state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
}

/* A connection may be that of before: only the watch tells of one that has just begun. */
static enum zkli_port_state state_of(struct zkli_client *client) {
    int state = zoo_state(atomic_load(&client->handle));
    if (state == ZOO_EXPIRED_SESSION_STATE)
        return ZKLI_PORT_EXPIRED;
    if (state == ZOO_AUTH_FAILED_STATE)
        return ZKLI_PORT_AUTH_FAILED;
    bool is_armed = atomic_load(&client->is_armed);
    return state == ZOO_CONNECTED_STATE && is_armed ? ZKLI_PORT_HEARD : ZKLI_PORT_CONNECTING;
}

/* Somebody has made the node. Until the watch stands again a connection may end and another begin
 * without a word: the port is not connected, and what is answered meanwhile proves nothing. */
static void on_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    unsigned number;
    if (type == ZOO_SESSION_EVENT) {
        zkli_client_on_session_event(handle, type, state, path, context);
        if (state == ZOO_CONNECTED_STATE)
            zkli_client_nudge(handle); /* zoo_set_servers may have lost requests without a word */
        return;
    }
    struct zkli_client *client = zkli_client_begin(context, &number);
    if (client == NULL)
        return;
    atomic_store(&client->is_armed, false);
    zkli_client_deliver_state(client, ZKLI_PORT_CONNECTING);
    arm(client);
    zkli_table_end(&client->place);
}

static void unwatch_session(struct zkli_client *client) {
    (void)zoo_remove_watches(atomic_load(&client->handle), WATCHED_PATH, ZWATCHTYPE_DATA, on_event,
                             zkli_client_news_context(client), 1);
}

static void log_refusal(struct zkli_client *client) {
    if (!atomic_exchange(&client->is_at_a_loss, true))
        client->config.log(client->config.arg, ZKL_LOG_ERROR,
                           "the server refuses a watch on " WATCHED_PATH
                           ", by which an attached session is heard of");
}

/* What did not succeed is asked for again at the next look. A request at once would have the client
 * library try to connect at once, too, again and again. */
static void finish_arming(struct zkli_client *client, int code) {
    bool is_over = is_final(zoo_state(atomic_load(&client->handle)));
    if (is_over || atomic_load(&client->is_armed))
        zkli_client_deliver_state(client, state_of(client));
    else if (zkli_client_is_end(code)) /* the handle does not know yet */
        zkli_client_deliver_state(client, ZKLI_PORT_EXPIRED);
    else if (!zkli_client_is_lost(code))
        log_refusal(client);
}

/* If the port is closed by now, its watch has come too late to be taken back there. */
static void on_armed(int code, const struct Stat *stat, const void *data) {
    unsigned number;
    bool is_open;
    struct zkli_place *place = zkli_table_begin(data, &number, &is_open);
    (void)stat;
    if (place == NULL)
        return;
    struct zkli_client *client = ZKLI_CONTAINER(place, struct zkli_client, place);
    zkli_table_give_back(place);
    atomic_store(&client->is_armed, code == ZOK || code == ZNONODE);
    atomic_store(&client->is_arming, false);
    if (is_open)
        finish_arming(client, code);
    else
        unwatch_session(client);
    zkli_table_end(place);
}

/* It waits in the client library until there is a connection, or the next try to connect fails. */
static void arm(struct zkli_client *client) {
    if (atomic_exchange(&client->is_arming, true))
        return;
    zkli_table_lend(&client->place);
    int code = zoo_awexists(atomic_load(&client->handle), WATCHED_PATH, on_event,
                            zkli_client_news_context(client), on_armed,
                            zkli_client_context(client, ZKLI_SLOT_PROBE));
    if (code == ZOK)
        return;
    if (code == ZINVALIDSTATE || code == ZBADARGUMENTS) /* else it may be completed all the same */
        zkli_table_give_back(&client->place);
    atomic_store(&client->is_arming, false); /* the next look tries again */
}

static bool attached_open(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    if (is_final(zoo_state(atomic_load(&client->handle))))
        zkli_client_deliver_state(client, state_of(client));
    else
        arm(client);
    return true;
}

static enum zkli_port_state attached_look(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    if (is_final(zoo_state(handle)))
        return state_of(client);
    zkli_client_nudge(handle);
    if (!atomic_load(&client->is_armed))
        arm(client);
    return state_of(client);
}

static void attached_close(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    zkli_table_close(&client->place);
    unwatch_session(client);
    zkli_table_drop(&client->place, false, zkli_client_free);
}

struct zkli_port *zkli_client_attach(const struct zkli_client_config *config, zhandle_t *handle) {
    static const struct zkli_port_ops ops = {
        .create = zkli_request_create,
        .list = zkli_request_list,
        .get = zkli_request_get,
        .remove = zkli_request_remove,
        .barrier = zkli_request_barrier,
        .sync = zkli_request_sync,
        .multi = zkli_request_multi,
        .unwatch = zkli_request_unwatch,
        .session_id = zkli_client_session_id,
        .timeout_ms = zkli_client_timeout_ms,
        .open = attached_open,
        .close = attached_close,
        .look = attached_look,
    };
    struct zkli_client *client = zkli_client_new_with(&ops, config);
    if (client == NULL)
        return NULL;
    atomic_init(&client->handle, handle);
    return &client->port;
}
