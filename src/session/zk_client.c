/*
 * zk_client - see zk_client.h. The only file that knows the ZooKeeper client library: its calls,
 * codes, states and threads are turned into the port's words here.
 *
 * The client delivers completions and watches one by one on a thread of its own, and authentication
 * on another. What it is handed as context lives in the port, which is freed only after
 * zookeeper_close has returned and both threads are gone: a late completion finds it, and one that
 * never comes (the client drops some when it is closed) leaks nothing.
 */
#include "session/zk_client.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "core/znode_path.h"
#include "session/hosts.h"
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

/* What the client library writes into when a transaction is answered: never the caller's memory,
 * for he may be gone by then. In one allocation with what the pointers point to. */
struct transaction {
    size_t count; /* with the guard's check, which comes first */
    zoo_op_t *ops;
    zoo_op_result_t *results;
    struct Stat *stats;
};

struct context {
    struct client *client;
    unsigned slot;
    struct transaction *transaction; /* NULL: none in flight */
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
    static const struct Stat none;
    const struct Stat *s = stat == NULL ? &none : stat;
    return (struct zkli_stat){s->czxid, s->ephemeralOwner, s->ctime, s->version};
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

/* Where the client has no memory for a part of a reply it says ZOK all the same, hands out NULL for
 * the part, and leaves what comes behind it unread. So it does with the path of a watch event.
 * Here: the node is there, and nobody knows its name. */
static void on_created(int code, const char *path, const struct Stat *stat, const void *data) {
    struct zkli_reply reply = reply_of(code == ZOK && path == NULL ? ZSYSTEMERROR : code);
    reply.path = path;
    reply.stat = stat_of(stat);
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

/* The operations before the one that failed have the error 0, those behind it another; the code is
 * that of the one. */
static void on_guarded(int code, const void *data) {
    struct context *context = (struct context *)(uintptr_t)data;
    struct transaction *transaction = context->transaction;
    context->transaction = NULL;
    struct zkli_reply reply = reply_of(code);
    reply.is_guard_gone = code == ZNONODE && transaction->results[0].err == ZNONODE;
    reply.is_bad_version = code == ZBADVERSION;
    reply.op_results = transaction;
    deliver(data, &reply);
    free(transaction);
}

/* ---- News ---- */

static void deliver_state(struct client *client, enum zkli_port_state state) {
    client->config.receiver->on_state(client->config.arg, &client->port, state);
}

/* On the client's I/O thread. */
static void on_authenticated(int code, const void *data) {
    struct client *client = (struct client *)(uintptr_t)data;
    if (code == ZOK) {
        if (!atomic_exchange(&client->is_authenticated, true)) /* asked twice, if it took long */
            deliver_state(client, ZKLI_PORT_CONNECTED);
    } else if (code == ZAUTHFAILED) {
        deliver_state(client, ZKLI_PORT_AUTH_FAILED);
    } /* else the connection broke: asked again on the next */
}

/* False: out of memory. */
static bool authenticate(struct client *client, zhandle_t *handle) {
    const char *auth = client->config.auth;
    int code = zoo_add_auth(handle, client->config.auth_scheme, auth, (int)strlen(auth),
                            on_authenticated, client);
    return code == ZOK || code == ZINVALIDSTATE; /* that: it has broken again, another follows */
}

static void on_connected(struct client *client, zhandle_t *handle) {
    if (atomic_load(&client->is_authenticated))
        deliver_state(client, ZKLI_PORT_CONNECTED);
    else if (!authenticate(client, handle))
        deliver_state(client, ZKLI_PORT_FAILED);
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

/* ---- Transactions ---- */

/* Bytes on the wire: a header (type, end, error); a string or buffer has its length in front. */
#define OP_HEADER_BYTES 9
#define LENGTH_BYTES 4
/* Longer than anything that may be sent, and so short that a sum of a few does not overflow. */
#define TOO_LONG ((size_t)ZKLI_TRANSACTION_MAX + 1)

static size_t string_bytes(const char *text) {
    size_t length = text == NULL ? 0 : strlen(text);
    return LENGTH_BYTES + (length < TOO_LONG ? length : TOO_LONG);
}

static size_t acl_bytes(const struct ACL_vector *acl) {
    size_t bytes = LENGTH_BYTES;
    for (int32_t i = 0; acl != NULL && i < acl->count && bytes < TOO_LONG; i++)
        bytes += LENGTH_BYTES + string_bytes(acl->data[i].id.scheme) +
                 string_bytes(acl->data[i].id.id);
    return bytes;
}

/* No data at all, which is -1 bytes at NULL, is data. */
static bool data_is_valid(const char *data, int length) {
    return length >= 0 ? data != NULL || length == 0 : data == NULL && length == -1;
}

static size_t data_bytes(int length) {
    return LENGTH_BYTES + (length > 0 ? (size_t)length : 0);
}

static bool create_is_valid(const zoo_op_t *op) {
    return zkli_path_is_valid(op->create_op.path, (op->create_op.flags & ZOO_SEQUENCE) != 0) &&
           data_is_valid(op->create_op.data, op->create_op.datalen) &&
           (op->create_op.buf != NULL || op->create_op.buflen == 0) && op->create_op.buflen >= 0;
}

/* Adds an operation's bytes. Containers and nodes with a time to live are not for transactions: the
 * client library expects another answer to the one than the server gives, and breaks off, leaking,
 * at the other. */
static zkl_err check_op(const zoo_op_t *op, size_t *bytes) {
    bool is_valid = false;
    *bytes += OP_HEADER_BYTES + LENGTH_BYTES; /* the version, or the flags */
    switch (op->type) {
    case ZOO_CREATE_OP:
        is_valid = create_is_valid(op);
        if (is_valid)
            *bytes += string_bytes(op->create_op.path) + data_bytes(op->create_op.datalen) +
                      acl_bytes(op->create_op.acl);
        break;
    case ZOO_DELETE_OP:
        is_valid = zkli_path_is_valid(op->delete_op.path, false);
        if (is_valid)
            *bytes += string_bytes(op->delete_op.path);
        break;
    case ZOO_SETDATA_OP:
        is_valid = zkli_path_is_valid(op->set_op.path, false) &&
                   data_is_valid(op->set_op.data, op->set_op.datalen);
        if (is_valid)
            *bytes += string_bytes(op->set_op.path) + data_bytes(op->set_op.datalen);
        break;
    case ZOO_CHECK_OP:
        is_valid = zkli_path_is_valid(op->check_op.path, false);
        if (is_valid)
            *bytes += string_bytes(op->check_op.path);
        break;
    default:
        return ZKL_UNSUPPORTED;
    }
    return is_valid ? ZKL_OK : ZKL_INVALID;
}

zkl_err zkli_client_check(const struct zkli_guarded *write, size_t chroot_length) {
    /* Length, xid and type, the guard's check, the end. */
    size_t bytes = 3 * LENGTH_BYTES + OP_HEADER_BYTES + LENGTH_BYTES + string_bytes(write->guard) +
                   OP_HEADER_BYTES;
    if (write->path != NULL) {
        if (!zkli_path_is_valid(write->path, false) || (write->data == NULL && write->length > 0))
            return ZKL_INVALID;
        assert(write->length <= ZKLI_TRANSACTION_MAX);
        bytes += OP_HEADER_BYTES + LENGTH_BYTES + string_bytes(write->path) +
                 data_bytes((int)write->length);
    }
    if (write->op_count > ZKLI_TRANSACTION_OPS_MAX)
        return ZKL_LIMIT;
    for (size_t i = 0; i < write->op_count; i++) {
        zkl_err err = check_op(&write->ops[i], &bytes);
        if (err != ZKL_OK)
            return err;
        if (bytes > ZKLI_TRANSACTION_MAX)
            return ZKL_LIMIT;
    }
    size_t paths = write->op_count + (write->path != NULL ? 2 : 1);
    bytes += paths * chroot_length;
    return bytes > ZKLI_TRANSACTION_MAX ? ZKL_LIMIT : ZKL_OK;
}

/* So much of a create's path buffer can be filled: the server adds a number of 11 characters. */
static size_t path_buffer_size(const zoo_op_t *op) {
    size_t size = strlen(op->create_op.path) + 12;
    return (size_t)op->create_op.buflen < size ? (size_t)op->create_op.buflen : size;
}

/* Room for so many operations and their path buffers. NULL: out of memory. */
static struct transaction *transaction_new(const struct zkli_guarded *write, char **ret_text) {
    size_t count = write->path != NULL ? 2 : write->op_count + 1, text = 0;
    for (size_t i = 0; i < write->op_count; i++)
        if (write->ops[i].type == ZOO_CREATE_OP)
            text += path_buffer_size(&write->ops[i]);
    struct transaction *t = calloc(
        1, sizeof(*t) + count * (sizeof(*t->ops) + sizeof(*t->results) + sizeof(*t->stats)) + text);
    if (t == NULL)
        return NULL;
    t->count = count;
    t->ops = (zoo_op_t *)(void *)(t + 1);
    t->results = (zoo_op_result_t *)(void *)(t->ops + count);
    t->stats = (struct Stat *)(void *)(t->results + count);
    *ret_text = (char *)(t->stats + count);
    return t;
}

/* The caller's operation, with our own places for what comes back. */
static void copy_op(struct transaction *t, size_t index, const zoo_op_t *op, char **text) {
    t->ops[index] = *op;
    if (op->type == ZOO_SETDATA_OP) {
        t->ops[index].set_op.stat = &t->stats[index];
    } else if (op->type == ZOO_CREATE_OP && op->create_op.buf != NULL) {
        size_t size = path_buffer_size(op);
        t->ops[index].create_op.buf = *text;
        t->ops[index].create_op.buflen = (int)size;
        *text += size;
    }
}

static bool client_guarded(struct zkli_port *port, unsigned slot,
                           const struct zkli_guarded *write) {
    struct client *client = client_of(port);
    struct context *context = &client->contexts[slot];
    zhandle_t *handle = atomic_load(&client->handle);
    char *text;
    struct transaction *t = transaction_new(write, &text);
    if (t == NULL)
        return false;
    zoo_check_op_init(&t->ops[0], write->guard, -1);
    if (write->path != NULL)
        zoo_set_op_init(&t->ops[1], write->path, write->length > 0 ? write->data : "",
                        (int)write->length, write->version, NULL);
    for (size_t i = 0; i < write->op_count; i++)
        copy_op(t, i + 1, &write->ops[i], &text);
    context->transaction = t;
    /* At an operation that it refuses, zoo_amulti goes on to the next with what was to be freed
     * left undefined. It refuses bad paths, which do not get here, and a session that is over. That
     * cannot be one which is connected at this look: the client learns it from the answer to a new
     * connection, two round trips from here; or, if the server has changed its mind about the
     * credentials, from the answer to those, one round trip after a new connection. */
    if (zoo_state(handle) == ZOO_CONNECTED_STATE &&
        zoo_amulti(handle, (int)t->count, t->ops, t->results, on_guarded, context) == ZOK)
        return true;
    context->transaction = NULL;
    free(t);
    return false;
}

static void client_copy_results(const struct zkli_reply *reply, const struct zkli_guarded *write) {
    const struct transaction *t = reply->op_results;
    for (size_t i = 0; i < write->op_count && write->results != NULL; i++) {
        const zoo_op_t *op = &write->ops[i];
        const zoo_op_result_t *got = &t->results[i + 1];
        zoo_op_result_t *result = &write->results[i];
        *result = (zoo_op_result_t){.err = got->err};
        if (op->type == ZOO_SETDATA_OP && op->set_op.stat != NULL && got->stat != NULL) {
            *op->set_op.stat = *got->stat;
            result->stat = op->set_op.stat;
        } else if (op->type == ZOO_CREATE_OP && op->create_op.buf != NULL && got->value != NULL) {
            memcpy(op->create_op.buf, got->value, (size_t)got->valuelen);
            result->value = op->create_op.buf;
            result->valuelen = op->create_op.buflen;
        }
    }
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
    zhandle_t *handle = hosts == NULL ? NULL
                                      : zookeeper_init2(hosts, on_session_event,
                                                        client->config.timeout_ms, NULL, client,
                                                        ZOO_NO_LOG_CLIENTENV, client->log.callback);
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

/* A request nobody waits for: where the connection was changed under requests in flight, its reply
 * does not fit theirs, and they fail at once instead of after 2/3 of the timeout. */
static void nudge(zhandle_t *handle) {
    (void)zoo_async(handle, "/", on_nudged, NULL); /* no harm if it is refused */
}

/* Where the client has no memory for a session event, it says nothing of it. Where its I/O thread
 * has none to copy the list of servers, it sleeps for a time that nobody has set, until a request
 * wakes it. */
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

static void client_close(struct zkli_port *port) {
    struct client *client = client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    if (handle != NULL)
        (void)zookeeper_close(handle); /* whatever it says, the handle is gone */
    zkli_log_give_back(&client->log);
    for (unsigned i = 0; i < ZKLI_SLOTS; i++)
        free(client->contexts[i].transaction); /* its completion never came */
    free(client->hosts);
    free(client);
}

struct zkli_port *zkli_client_new(const struct zkli_client_config *config) {
    static const struct zkli_port_ops ops = {
        client_create,    client_list,         client_get,        client_remove,     client_barrier,
        client_guarded,   client_copy_results, client_session_id, client_timeout_ms, client_open,
        client_set_hosts, client_close,        client_look,
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
        client->contexts[i] = (struct context){client, i, NULL};
    return &client->port;
}
