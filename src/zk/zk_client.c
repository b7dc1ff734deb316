/*
 * zk_client - see zk_client.h. The only file that calls the ZooKeeper client library: its calls,
 * codes, states and threads are turned into the port's words here. (zk_transaction fills in its
 * operations, and zk_ops reads those of a program.)
 *
 * The client delivers completions and watches one by one on a thread of its own, and authentication
 * on another. As context it is handed numbers (zk_table.h), so what comes for a closed port is
 * ignored. It writes results of transactions into memory of the port, which stays while it may do
 * so. A completion that never comes (the client drops some when it is closed) leaks nothing.
 */
#include "zk/zk_client.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "zk/hosts.h"
#include "zk/zk_log.h"
#include "zk/zk_table.h"
#include "zk/zk_transaction.h"

/* The client looks up every server's name on each turn of its I/O loop, connected or not, so that
 * an outage of name resolution stops its pings and ends healthy sessions. Since 3.7.0 it can be
 * told to look only when it has no connection; absent from an older library this is NULL. */
/* NOLINTNEXTLINE(readability-redundant-declaration): older headers do not have it */
extern __attribute__((weak)) int zoo_set_servers_resolution_delay(zhandle_t *zh, int delay_ms);

/*
 * A node whose parent is never created. Deleting it is a write that changes nothing. The answer is
 * NONODE: the leader's, by way of an error transaction. With enableEagerACLCheck a server answers
 * by itself what an ACL denies, but a missing parent has no ACL. Where an operator has made the
 * parent, NONODE still is the leader's answer alone. The version keeps the delete harmless where
 * the node has been made, too.
 */
#define BARRIER_PATH "/zklock-barrier-of-no-node/below"
#define BARRIER_VERSION INT_MAX

/* What the server answers to a write of a session that it has forgotten; the client's header does
 * not have it. */
#define UNKNOWN_SESSION (-12)

/*
 * The number of a request is its slot, with the last bits of a count. Each request of the slot
 * counts, and each one that the client library refuses counts twice. Where memory is short, that
 * library may refuse a request and still complete it, when the connection breaks. Such a stale
 * completion never has the number that its slot has then.
 */
#define SLOT_BITS 9
/* The slot of what was no request: the session's news, and the nodes'. */
#define NEWS ZKLI_SLOTS
_Static_assert(NEWS < 1 << SLOT_BITS, "there is a number for each");

struct client {
    struct zkli_port port;
    struct zkli_place place;
    struct zkli_client_config config;
    char *hosts;
    _Atomic(zhandle_t *) handle;
    atomic_bool is_authenticated;
    struct zkli_log log;
    /* By slots */
    atomic_uint requests[NEWS + 1]; /* the count in their numbers */
    /* What the client library writes into, while it is lent */
    struct zkli_transaction *transactions[ZKLI_SLOTS]; /* set by put and take alone */
    zoo_op_result_t checks[ZKLI_SLOTS];                /* of a barrier */
    struct zkli_transaction *refused; /* a list: they may be completed all the same */
};

static struct client *client_of(struct zkli_port *port) {
    return ZKLI_CONTAINER(port, struct client, port);
}

static unsigned number_of(struct client *client, unsigned slot) {
    unsigned count = atomic_load(&client->requests[slot]);
    return (count << SLOT_BITS | slot) % ZKLI_TABLE_NUMBERS;
}

static unsigned slot_of(unsigned number) {
    return number % (1u << SLOT_BITS);
}

static unsigned begin_request(struct client *client, unsigned slot) {
    (void)atomic_fetch_add(&client->requests[slot], 1);
    return number_of(client, slot);
}

static void *context_for(struct client *client, unsigned slot) {
    return zkli_table_context(&client->place, begin_request(client, slot));
}

/* With what the client library answered to a request. Returns whether the request was sent. If not,
 * a completion that comes all the same finds that the slot has another number. */
static bool end_sending(struct client *client, unsigned slot, int code) {
    if (code != ZOK)
        (void)atomic_fetch_add(&client->requests[slot], 1);
    return code == ZOK;
}

/* For what comes again and again: always the same. */
static void *context_for_news(struct client *client) {
    return zkli_table_context(&client->place, number_of(client, NEWS));
}

/* A delivery begins, which zkli_table_end ends. NULL: its port is closed, or its slot has a newer
 * request. */
static struct client *begin(const void *context, unsigned *ret_number) {
    struct zkli_place *place = zkli_table_begin(context, ret_number, NULL);
    if (place == NULL)
        return NULL;
    struct client *client = ZKLI_CONTAINER(place, struct client, place);
    if (*ret_number == number_of(client, slot_of(*ret_number)))
        return client;
    zkli_table_end(place);
    return NULL;
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

static struct zkli_reply reply_of(int code) {
    return (struct zkli_reply){
        .result = result_of(code), .code = code, .is_unimplemented = code == ZUNIMPLEMENTED};
}

static void deliver_to(struct client *client, unsigned number, struct zkli_reply *reply) {
    reply->request = number;
    /* The client itself learns of the end of its session only when it connects. A follower that
     * resumed it just as the leader ended it goes on answering pings, and refuses every write. */
    if (reply->code == ZSESSIONEXPIRED || reply->code == UNKNOWN_SESSION)
        client->config.receiver->on_state(client->config.arg, &client->port, ZKLI_PORT_EXPIRED);
    client->config.receiver->on_reply(client->config.arg, &client->port, slot_of(number), reply);
}

bool zkli_client_awaits(struct zkli_port *port, unsigned slot, const struct zkli_reply *reply) {
    return reply->request == number_of(client_of(port), slot);
}

static void deliver(const void *data, struct zkli_reply *reply) {
    unsigned number;
    struct client *client = begin(data, &number);
    if (client == NULL)
        return;
    deliver_to(client, number, reply);
    zkli_table_end(&client->place);
}

/* Where the client has no memory for a part of a reply it says ZOK all the same, hands out NULL for
 * the part, and leaves what comes behind it unread. So it does with the path of a watch event.
 * Here: the node exists, under a name that no client knows. */
static void on_created(int code, const char *path, const struct Stat *stat, const void *data) {
    struct zkli_reply reply = reply_of(code == ZOK && path == NULL ? ZSYSTEMERROR : code);
    reply.path = path;
    reply.stat = zkli_stat_of(stat);
    deliver(data, &reply);
}

static void on_parent_created(int code, const char *path, const void *data) {
    on_created(code, path == NULL ? "" : path, NULL, data); /* its path is nothing new */
}

static bool is_whole(const struct String_vector *children) {
    if (children == NULL)
        return false;
    for (int32_t i = 0; i < children->count; i++)
        if (children->data == NULL || children->data[i] == NULL)
            return false;
    return true;
}

static void on_listed(int code, const struct String_vector *children, const void *data) {
    struct zkli_reply reply = reply_of(code);
    if (code == ZOK && !is_whole(children)) {
        reply.result = ZKLI_RESULT_NOMEM;
    } else if (code == ZOK) {
        reply.children = children->data;
        reply.child_count = (size_t)children->count;
    }
    deliver(data, &reply);
}

static void on_read(int code, const char *value, int length, const struct Stat *stat,
                    const void *data) {
    struct zkli_reply reply = reply_of(code);
    if (code == ZOK && value == NULL && length >= 0) { /* a node without data has length -1 */
        reply.result = ZKLI_RESULT_NOMEM;
        deliver(data, &reply);
        return;
    }
    reply.stat = zkli_stat_of(stat);
    reply.data = value == NULL || length < 0 ? "" : value;
    reply.data_length = value == NULL || length < 0 ? 0 : (size_t)length;
    deliver(data, &reply);
}

static void on_written(int code, const void *data) {
    struct zkli_reply reply = reply_of(code);
    deliver(data, &reply);
}

/* NONODE and OK are what no server says before the write is committed. Any other answer, a refusal
 * above all, may be a single server's. */
static void on_barrier(int code, const void *data) {
    struct zkli_reply reply = reply_of(code);
    if (code == ZNONODE)
        reply.result = ZKLI_RESULT_OK;
    deliver(data, &reply);
}

/* The operations before the one that failed have the error 0, those behind it another; the code is
 * that of the one. */
static void finish_multi(struct client *client, unsigned number, bool is_open, int code) {
    struct zkli_transaction *transaction = zkli_transaction_take(
        &client->transactions[slot_of(number)], number);
    struct zkli_reply reply = reply_of(code);
    if (code == ZBADVERSION)
        reply.result = ZKLI_RESULT_BAD_VERSION;
    if (transaction != NULL) { /* else it is a barrier */
        reply.refused = zkli_transaction_read(transaction);
        reply.op_results = transaction->read_results;
    }
    if (is_open)
        deliver_to(client, number, &reply);
    free(transaction);
}

/* What was lent is back, also that of a closed port. */
static void on_multi(int code, const void *data) {
    unsigned number;
    bool is_open;
    struct zkli_place *place = zkli_table_begin(data, &number, &is_open);
    if (place == NULL)
        return;
    struct client *client = ZKLI_CONTAINER(place, struct client, place);
    zkli_table_give_back(place); /* before the slot is used again */
    if (number == number_of(client, slot_of(number)))
        finish_multi(client, number, is_open, code);
    zkli_table_end(place);
}

/* ---- News ---- */

static void deliver_state(struct client *client, enum zkli_port_state state) {
    client->config.receiver->on_state(client->config.arg, &client->port, state);
}

/* On the client's I/O thread. */
static void on_authenticated(int code, const void *data) {
    unsigned number;
    struct client *client = begin(data, &number);
    if (client == NULL)
        return;
    if (code == ZOK) {
        if (!atomic_exchange(&client->is_authenticated, true)) /* asked twice, if it took long */
            deliver_state(client, ZKLI_PORT_CONNECTED);
    } else if (code == ZAUTHFAILED) {
        deliver_state(client, ZKLI_PORT_AUTH_FAILED);
    } /* else the connection broke: asked again on the next */
    zkli_table_end(&client->place);
}

/* False: out of memory. */
static bool authenticate(struct client *client, zhandle_t *handle) {
    const char *auth = client->config.auth;
    int code = zoo_add_auth(handle, client->config.auth_scheme, auth, (int)strlen(auth),
                            on_authenticated, context_for_news(client));
    return code == ZOK || code == ZINVALIDSTATE; /* that: it has broken again, another follows */
}

static void on_connected(struct client *client, zhandle_t *handle) {
    if (atomic_load(&client->is_authenticated))
        deliver_state(client, ZKLI_PORT_CONNECTED);
    else if (!authenticate(client, handle))
        deliver_state(client, ZKLI_PORT_FAILED);
}

/* The handle's own watcher; node watches have another, for they hear of session events, too. */
static void on_session_event(zhandle_t *handle, int type, int state, const char *path,
                             void *context) {
    unsigned number;
    struct client *client = type == ZOO_SESSION_EVENT ? begin(context, &number) : NULL;
    (void)path;
    if (client == NULL)
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
    zkli_table_end(&client->place);
}

/* Anything but these is no news of the node: session events, above all. */
static void on_node_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    unsigned number;
    bool is_news = type == ZOO_DELETED_EVENT || type == ZOO_CHANGED_EVENT;
    struct client *client = is_news ? begin(context, &number) : NULL;
    (void)handle;
    (void)state;
    if (client == NULL)
        return;
    client->config.receiver->on_watch(client->config.arg, &client->port, path,
                                      type == ZOO_DELETED_EVENT ? ZKLI_WATCH_DELETED
                                                                : ZKLI_WATCH_CHANGED);
    zkli_table_end(&client->place);
}

/* ---- Requests ---- */

static bool client_create(struct zkli_port *port, unsigned slot, const char *path, const char *data,
                          size_t length, enum zkli_create_mode mode) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    const struct ACL_vector *acl = client->config.is_creator_acl ? &ZOO_CREATOR_ALL_ACL
                                                                 : &ZOO_OPEN_ACL_UNSAFE;
    void *context = context_for(client, slot);
    int code;
    if (mode == ZKLI_EPHEMERAL_SEQUENTIAL)
        code = zoo_acreate2(handle, path, data, (int)length, acl, ZOO_EPHEMERAL_SEQUENTIAL,
                            on_created, context);
    else
        code = zoo_acreate(handle, path, data, (int)length, acl,
                           mode == ZKLI_CONTAINER ? ZOO_CONTAINER : ZOO_PERSISTENT,
                           on_parent_created, context);
    return end_sending(client, slot, code);
}

static bool client_list(struct zkli_port *port, unsigned slot, const char *path) {
    struct client *client = client_of(port);
    int code = zoo_aget_children(atomic_load(&client->handle), path, 0, on_listed,
                                 context_for(client, slot));
    return end_sending(client, slot, code);
}

static bool client_get(struct zkli_port *port, unsigned slot, const char *path, bool is_watched) {
    struct client *client = client_of(port);
    /* One function and one context for all: the client keeps one watch a path, however often. */
    int code = zoo_awget(atomic_load(&client->handle), path, is_watched ? on_node_event : NULL,
                         context_for_news(client), on_read, context_for(client, slot));
    return end_sending(client, slot, code);
}

static bool client_remove(struct zkli_port *port, unsigned slot, const char *path) {
    struct client *client = client_of(port);
    int code = zoo_adelete(atomic_load(&client->handle), path, -1, on_written,
                           context_for(client, slot));
    return end_sending(client, slot, code);
}

/* ---- Transactions ---- */

/* Of a request that was refused: it was not for want of memory. */
static bool is_never_completed(int code) {
    return code == ZINVALIDSTATE || code == ZBADARGUMENTS;
}

/* At an operation that it refuses, zoo_amulti goes on to the next with what was to be freed left
 * undefined. It refuses bad paths, which do not get here, and a session that is over. A session
 * that is connected at this look is not over in this call. The client learns of the end from the
 * answer to a new connection, two round trips from here. Or the server has changed its mind about
 * the credentials: then it is the answer to those, one round trip after a new connection. */
static int send_multi(struct client *client, unsigned number, size_t count, const zoo_op_t *ops,
                      zoo_op_result_t *results) {
    zhandle_t *handle = atomic_load(&client->handle);
    if (zoo_state(handle) != ZOO_CONNECTED_STATE)
        return ZINVALIDSTATE;
    zkli_table_lend(&client->place);
    int code = zoo_amulti(handle, (int)count, ops, results, on_multi,
                          zkli_table_context(&client->place, number));
    if (is_never_completed(code))
        zkli_table_give_back(&client->place);
    return code;
}

static bool client_multi(struct zkli_port *port, unsigned slot, const struct zkli_op *ops,
                         size_t count) {
    struct client *client = client_of(port);
    struct zkli_transaction *t = zkli_transaction_new(ops, count);
    if (t == NULL)
        return false;
    unsigned number = begin_request(client, slot);
    zkli_transaction_put(&client->transactions[slot], t, number);
    int code = send_multi(client, number, count, t->ops, t->results);
    if (end_sending(client, slot, code))
        return true;
    t = zkli_transaction_take(&client->transactions[slot], number);
    if (t == NULL) /* refused, and completed already */
        return false;
    if (is_never_completed(code)) {
        free(t);
    } else {
        t->next = client->refused;
        client->refused = t;
    }
    return false;
}

/*
 * A transaction that does nothing but look for the node is a transaction like any other: proposed,
 * logged and committed. It needs the permission to read the node, and leaves it as it is; and it
 * succeeds, so that it would also be committed where servers left failed ones out of the log.
 */
static bool client_barrier(struct zkli_port *port, unsigned slot, const char *node) {
    struct client *client = client_of(port);
    zoo_op_t check;
    unsigned number = begin_request(client, slot);
    int code;
    if (node == NULL) {
        code = zoo_adelete(atomic_load(&client->handle), BARRIER_PATH, BARRIER_VERSION, on_barrier,
                           zkli_table_context(&client->place, number));
    } else {
        zoo_check_op_init(&check, node, -1);
        code = send_multi(client, number, 1, &check, &client->checks[slot]);
    }
    return end_sending(client, slot, code);
}

static void on_synced(int code, const char *path, const void *data) {
    (void)path;
    on_written(code, data);
}

static bool client_sync(struct zkli_port *port, unsigned slot) {
    struct client *client = client_of(port);
    int code = zoo_async(atomic_load(&client->handle), "/", on_synced, context_for(client, slot));
    return end_sending(client, slot, code);
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
    char *hosts = zkli_hosts_make_odd(client->hosts);
    zhandle_t *handle = hosts == NULL
                            ? NULL
                            : zookeeper_init2(hosts, on_session_event, client->config.timeout_ms,
                                              NULL, context_for_news(client), ZOO_NO_LOG_CLIENTENV,
                                              client->log.callback);
    int error = errno;
    free(hosts);
    errno = error; /* what the caller tells */
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

/* A request whose reply is ignored. If the connection was changed under requests in flight, that
 * reply does not fit theirs. Then they fail at once, and not after 2/3 of the timeout. */
static void nudge(zhandle_t *handle) {
    (void)zoo_async(handle, "/", on_nudged, NULL); /* no harm if it is refused */
}

/* Without memory for a session event, the client says nothing of it. Without memory to copy the
 * list of servers, its I/O thread sleeps for a time that was never set; a request wakes it. */
static enum zkli_port_state client_look(struct zkli_port *port) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    int state = handle == NULL ? ZOO_NOTCONNECTED_STATE : zoo_state(handle);
    if (state == ZOO_EXPIRED_SESSION_STATE)
        return ZKLI_PORT_EXPIRED;
    if (state == ZOO_AUTH_FAILED_STATE)
        return ZKLI_PORT_AUTH_FAILED;
    if (handle != NULL)
        nudge(handle);
    if (state == ZOO_CONNECTED_STATE && atomic_load(&client->is_authenticated))
        return ZKLI_PORT_CONNECTED;
    if (state == ZOO_CONNECTED_STATE && !authenticate(client, handle))
        return ZKLI_PORT_FAILED;
    return ZKLI_PORT_CONNECTING;
}

/* Of a list that it refused, the client may have kept nothing at all. */
static bool client_set_hosts(struct zkli_port *port, const char *hosts) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    if (handle == NULL)
        return true;
    char *odd = zkli_hosts_make_odd(hosts);
    bool is_taken = odd != NULL && zoo_set_servers(handle, odd) == ZOK;
    free(odd);
    nudge(handle);
    return is_taken;
}

static void client_free(struct zkli_place *place) {
    struct client *client = ZKLI_CONTAINER(place, struct client, place);
    for (unsigned i = 0; i < ZKLI_SLOTS; i++)
        free(client->transactions[i]); /* its completion never came */
    while (client->refused != NULL) {
        struct zkli_transaction *t = client->refused;
        client->refused = t->next;
        free(t);
    }
    free(client->hosts);
    free(client);
}

static void client_close(struct zkli_port *port) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    zkli_table_close(&client->place);
    if (handle != NULL)
        (void)zookeeper_close(handle); /* whatever it says, the handle is gone */
    zkli_log_give_back(&client->log);
    zkli_table_drop(&client->place, true, client_free);
}

struct zkli_port *zkli_client_new(const struct zkli_client_config *config) {
    static const struct zkli_port_ops ops = {
        .create = client_create,
        .list = client_list,
        .get = client_get,
        .remove = client_remove,
        .barrier = client_barrier,
        .sync = client_sync,
        .multi = client_multi,
        .session_id = client_session_id,
        .timeout_ms = client_timeout_ms,
        .open = client_open,
        .set_hosts = client_set_hosts,
        .close = client_close,
        .look = client_look,
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
    client->log = (struct zkli_log){
        .line = config->log, .arg = config->arg, .last_errno = config->last_errno};
    zkli_log_take(&client->log);
    zkli_table_add(&client->place);
    return &client->port;
}
