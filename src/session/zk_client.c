/*
 * zk_client - see zk_client.h. The only file that knows the ZooKeeper client library: its calls,
 * codes, states and threads are turned into the port's words here.
 *
 * The client delivers completions and watches one by one on a thread of its own, and authentication
 * on another. What it is handed as context lives in the port, which is freed only after
 * zookeeper_close has returned, when both threads are gone; so a late completion finds it, and one
 * that never comes (the client drops some when it is closed) leaks nothing.
 */
#include "session/zk_client.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "session/zk_log.h"

/* The client looks up every server's name on each turn of its I/O loop, connected or not, so that
 * an outage of name resolution stops its pings and ends healthy sessions. Since 3.7.0 it can be
 * told to look only when it has no connection; absent from an older library this is NULL. */
/* NOLINTNEXTLINE(readability-redundant-declaration): older headers do not have it */
extern __attribute__((weak)) int zoo_set_servers_resolution_delay(zhandle_t *zh, int delay_ms);

/* A node that is never created: deleting it is a write that is committed and changes nothing. The
 * version keeps the delete harmless if somebody creates it all the same. */
#define BARRIER_PATH "/zklock-barrier-of-no-node"
#define BARRIER_VERSION INT_MAX

/* What the server answers to a write of a session that it has forgotten; the client's header does
 * not have it. */
#define UNKNOWN_SESSION (-12)

struct context {
    struct client *client;
    unsigned slot;
};

struct client {
    struct zkli_port port;
    struct zkli_client_config config;
    char *hosts;
    _Atomic(zhandle_t *) handle;
    atomic_bool is_authenticated;
    struct zkli_log log;
    struct context contexts[ZKLI_SLOTS];
};

static struct client *client_of(struct zkli_port *port) {
    return ZKLI_CONTAINER(port, struct client, port);
}

/* ---- Replies ---- */

static enum zkli_result result_of(int code) {
    switch (code) {
    case ZOK:
        return ZKLI_RESULT_OK;
    case ZNONODE:
        return ZKLI_RESULT_NO_NODE;
    case ZNODEEXISTS:
        return ZKLI_RESULT_EXISTS;
    case ZNOAUTH:
        return ZKLI_RESULT_DENIED;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:     /* the server was silent for 2/3 of the timeout */
    case ZRUNTIMEINCONSISTENCY: /* replies out of order: the client drops the connection */
    case ZDATAINCONSISTENCY:
    case ZMARSHALLINGERROR:
    case ZSYSTEMERROR:
    case ZSESSIONEXPIRED:
    case UNKNOWN_SESSION:
    case ZAUTHFAILED:
    case ZCLOSING:
    case ZINVALIDSTATE:
        return ZKLI_RESULT_LOST;
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP:
    case ZNOTREADONLY:
        return ZKLI_RESULT_AGAIN;
    default:
        return ZKLI_RESULT_ERROR;
    }
}

static struct zkli_stat stat_of(const struct Stat *stat) {
    if (stat == NULL)
        return (struct zkli_stat){0};
    return (struct zkli_stat){stat->czxid, stat->ephemeralOwner, stat->ctime};
}

static struct zkli_reply reply_of(int code) {
    return (struct zkli_reply){
        .result = result_of(code), .code = code, .is_unimplemented = code == ZUNIMPLEMENTED};
}

static void deliver(const void *data, const struct zkli_reply *reply) {
    const struct context *context = data;
    struct client *client = context->client;
    /* The client itself learns of the end of its session only when it connects. A follower that
     * resumed it just as the leader ended it goes on answering pings, and refuses every write. */
    if (reply->code == ZSESSIONEXPIRED || reply->code == UNKNOWN_SESSION)
        client->config.receiver->on_state(client->config.arg, &client->port, ZKLI_PORT_EXPIRED);
    client->config.receiver->on_reply(client->config.arg, &client->port, context->slot, reply);
}

static void on_created(int code, const char *path, const struct Stat *stat, const void *data) {
    struct zkli_reply reply = reply_of(code);
    reply.path = path;
    reply.stat = stat_of(stat);
    deliver(data, &reply);
}

static void on_parent_created(int code, const char *path, const void *data) {
    struct zkli_reply reply = reply_of(code);
    reply.path = path;
    deliver(data, &reply);
}

static void on_listed(int code, const struct String_vector *children, const void *data) {
    struct zkli_reply reply = reply_of(code);
    if (code == ZOK && children != NULL) {
        reply.children = children->data;
        reply.child_count = (size_t)children->count;
    }
    deliver(data, &reply);
}

static void on_read(int code, const char *value, int length, const struct Stat *stat,
                    const void *data) {
    struct zkli_reply reply = reply_of(code);
    reply.stat = stat_of(stat);
    reply.data = value == NULL || length < 0 ? "" : value;
    reply.data_length = value == NULL || length < 0 ? 0 : (size_t)length;
    deliver(data, &reply);
}

static void on_removed(int code, const void *data) {
    struct zkli_reply reply = reply_of(code);
    deliver(data, &reply);
}

/* Whatever the server answers to the delete itself went through the quorum as a transaction, an
 * error transaction if need be; what says that the request was not processed did not. */
static void on_barrier(int code, const void *data) {
    struct zkli_reply reply = reply_of(code);
    if (code == ZNONODE || code == ZNOAUTH || code == ZBADVERSION || code == ZNOTEMPTY)
        reply.result = ZKLI_RESULT_OK;
    else if (code == ZOK)
        reply.result = ZKLI_RESULT_ERROR; /* cannot be: the version is never reached */
    deliver(data, &reply);
}

/* ---- News ---- */

static void deliver_state(struct client *client, enum zkli_port_state state) {
    client->config.receiver->on_state(client->config.arg, &client->port, state);
}

/* On the client's I/O thread. */
static void on_authenticated(int code, const void *data) {
    struct client *client = (struct client *)(uintptr_t)data;
    if (code == ZOK) {
        atomic_store(&client->is_authenticated, true);
        deliver_state(client, ZKLI_PORT_CONNECTED);
    } else if (code == ZAUTHFAILED) {
        deliver_state(client, ZKLI_PORT_AUTH_FAILED);
    } /* else the connection broke: asked again on the next */
}

static void on_connected(struct client *client, zhandle_t *handle) {
    if (atomic_load(&client->is_authenticated)) {
        deliver_state(client, ZKLI_PORT_CONNECTED);
        return;
    }
    const char *auth = client->config.auth;
    int code = zoo_add_auth(handle, client->config.auth_scheme, auth, (int)strlen(auth),
                            on_authenticated, client);
    if (code != ZOK && code != ZINVALIDSTATE) /* that: it has broken again, another follows */
        deliver_state(client, ZKLI_PORT_AUTH_FAILED);
}

/* The handle's own watcher, for the session; node watches have another, for they are handed every
 * session event as well. */
static void on_session_event(zhandle_t *handle, int type, int state, const char *path,
                             void *context) {
    struct client *client = context;
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    atomic_store(&client->handle, handle); /* zookeeper_init may not have returned yet */
    if (state == ZOO_CONNECTED_STATE)
        on_connected(client, handle);
    else if (state == ZOO_EXPIRED_SESSION_STATE)
        deliver_state(client, ZKLI_PORT_EXPIRED);
    else if (state == ZOO_AUTH_FAILED_STATE)
        deliver_state(client, ZKLI_PORT_AUTH_FAILED);
    else
        deliver_state(client, ZKLI_PORT_CONNECTING);
}

static void on_node_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    struct client *client = context;
    (void)handle;
    (void)state;
    if (type == ZOO_DELETED_EVENT)
        client->config.receiver->on_watch(client->config.arg, &client->port, path,
                                          ZKLI_WATCH_DELETED);
    else if (type == ZOO_CHANGED_EVENT)
        client->config.receiver->on_watch(client->config.arg, &client->port, path,
                                          ZKLI_WATCH_CHANGED);
    /* Anything else is no news of the node: session events, above all. */
}

/* ---- Requests ---- */

static bool client_create(struct zkli_port *port, unsigned slot, const char *path, const char *data,
                          size_t length, enum zkli_create_mode mode) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    const struct ACL_vector *acl = client->config.is_creator_acl ? &ZOO_CREATOR_ALL_ACL
                                                                 : &ZOO_OPEN_ACL_UNSAFE;
    struct context *context = &client->contexts[slot];
    if (mode == ZKLI_EPHEMERAL_SEQUENTIAL)
        return zoo_acreate2(handle, path, data, (int)length, acl, ZOO_EPHEMERAL_SEQUENTIAL,
                            on_created, context) == ZOK;
    return zoo_acreate(handle, path, data, (int)length, acl,
                       mode == ZKLI_CONTAINER ? ZOO_CONTAINER : ZOO_PERSISTENT, on_parent_created,
                       context) == ZOK;
}

static bool client_list(struct zkli_port *port, unsigned slot, const char *path) {
    struct client *client = client_of(port);
    return zoo_aget_children(atomic_load(&client->handle), path, 0, on_listed,
                             &client->contexts[slot]) == ZOK;
}

static bool client_get(struct zkli_port *port, unsigned slot, const char *path, bool is_watched) {
    struct client *client = client_of(port);
    /* One function and one context for all: the client keeps one watch a path, however often. */
    return zoo_awget(atomic_load(&client->handle), path, is_watched ? on_node_event : NULL, client,
                     on_read, &client->contexts[slot]) == ZOK;
}

static bool client_remove(struct zkli_port *port, unsigned slot, const char *path) {
    struct client *client = client_of(port);
    return zoo_adelete(atomic_load(&client->handle), path, -1, on_removed,
                       &client->contexts[slot]) == ZOK;
}

static bool client_barrier(struct zkli_port *port, unsigned slot) {
    struct client *client = client_of(port);
    return zoo_adelete(atomic_load(&client->handle), BARRIER_PATH, BARRIER_VERSION, on_barrier,
                       &client->contexts[slot]) == ZOK;
}

static int64_t client_session_id(struct zkli_port *port) {
    return zoo_client_id(atomic_load(&client_of(port)->handle))->client_id;
}

static int client_timeout_ms(struct zkli_port *port) {
    return zoo_recv_timeout(atomic_load(&client_of(port)->handle));
}

void zkli_client_credentials(struct zkli_port *port, int64_t *ret_id, char ret_password[16]) {
    const clientid_t *id = zoo_client_id(atomic_load(&client_of(port)->handle));
    *ret_id = id->client_id;
    memcpy(ret_password, id->passwd, 16);
}

/* ---- Life ---- */

static bool client_open(struct zkli_port *port) {
    struct client *client = client_of(port);
    zhandle_t *handle = zookeeper_init2(client->hosts, on_session_event, client->config.timeout_ms,
                                        NULL, client, ZOO_NO_LOG_CLIENTENV, client->log.callback);
    if (handle == NULL)
        return false;
    if (zoo_set_servers_resolution_delay != NULL)
        (void)zoo_set_servers_resolution_delay(handle, -1); /* refuses bad arguments only */
    atomic_store(&client->handle, handle);
    return true;
}

static void on_nudged(int code, const char *path, const void *data) {
    (void)code;
    (void)path;
    (void)data;
}

/* A request nobody waits for: where the connection was changed under requests in flight, its reply
 * does not fit theirs, and they fail at once instead of after 2/3 of the timeout. */
static void nudge(zhandle_t *handle) {
    (void)zoo_async(handle, "/", on_nudged, NULL); /* no harm if it is refused */
}

static void client_set_hosts(struct zkli_port *port, const char *hosts) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    if (handle == NULL)
        return;
    if (zoo_set_servers(handle, hosts) != ZOK)
        client->config.log(client->config.arg, ZKL_LOG_WARN, "the new list of servers is refused");
    nudge(handle);
}

static void client_close(struct zkli_port *port) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    if (handle != NULL)
        (void)zookeeper_close(handle); /* whatever it says, the handle is gone */
    zkli_log_give_back(&client->log);
    free(client->hosts);
    free(client);
}

struct zkli_port *zkli_client_new(const struct zkli_client_config *config) {
    static const struct zkli_port_ops ops = {
        client_create,     client_list,       client_get,  client_remove,    client_barrier,
        client_session_id, client_timeout_ms, client_open, client_set_hosts, client_close,
    };
    struct client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return NULL;
    client->hosts = strdup(config->hosts);
    if (client->hosts == NULL) {
        free(client);
        return NULL;
    }
    client->port.ops = &ops;
    client->config = *config;
    atomic_init(&client->is_authenticated, config->auth_scheme == NULL);
    client->log = (struct zkli_log){.line = config->log, .arg = config->arg};
    zkli_log_take(&client->log);
    for (unsigned i = 0; i < ZKLI_SLOTS; i++)
        client->contexts[i] = (struct context){client, i};
    return &client->port;
}
