/*
 * zk_requests - requests to the client library, and their completions, which become replies of the
 * port; see zk_client_internal.h.
 */
#include "zk/zk_client_internal.h"

#include <limits.h>
#include <stdlib.h>

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

/* ---- Numbers ---- */

static unsigned number_of(struct zkli_client *client, unsigned slot) {
    unsigned count = atomic_load(&client->requests[slot]);
    return (count << ZKLI_SLOT_BITS | slot) % ZKLI_TABLE_NUMBERS;
}

static unsigned slot_of(unsigned number) {
    return number % (1u << ZKLI_SLOT_BITS);
}

static unsigned begin_request(struct zkli_client *client, unsigned slot) {
    (void)atomic_fetch_add(&client->requests[slot], 1);
    return number_of(client, slot);
}

void *zkli_client_context(struct zkli_client *client, unsigned slot) {
    return zkli_table_context(&client->place, begin_request(client, slot));
}

/* With what the client library answered to a request. Returns whether the request was sent. If not,
 * a completion that comes all the same finds that the slot has another number. */
static bool end_sending(struct zkli_client *client, unsigned slot, int code) {
    if (code != ZOK)
        (void)atomic_fetch_add(&client->requests[slot], 1);
    return code == ZOK;
}

void *zkli_client_news_context(struct zkli_client *client) {
    return zkli_table_context(&client->place, number_of(client, ZKLI_SLOT_NEWS));
}

struct zkli_client *zkli_client_begin(const void *context, unsigned *ret_number) {
    struct zkli_place *place = zkli_table_begin(context, ret_number, NULL);
    if (place == NULL)
        return NULL;
    struct zkli_client *client = ZKLI_CONTAINER(place, struct zkli_client, place);
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

bool zkli_client_is_lost(int code) {
    return result_of(code) == ZKLI_RESULT_LOST;
}

bool zkli_client_is_end(int code) {
    return code == ZSESSIONEXPIRED || code == UNKNOWN_SESSION;
}

static struct zkli_reply reply_of(int code) {
    return (struct zkli_reply){
        .result = result_of(code), .code = code, .is_unimplemented = code == ZUNIMPLEMENTED};
}

static void deliver_to(struct zkli_client *client, unsigned number, struct zkli_reply *reply) {
    reply->request = number;
    /* The client itself learns of the end of its session only when it connects. A follower that
     * resumed it just as the leader ended it goes on answering pings, and refuses every write. */
    if (zkli_client_is_end(reply->code))
        client->config.receiver->on_state(client->config.arg, &client->port, ZKLI_PORT_EXPIRED);
    client->config.receiver->on_reply(client->config.arg, &client->port, slot_of(number), reply);
}

bool zkli_client_awaits(struct zkli_port *port, unsigned slot, const struct zkli_reply *reply) {
    return reply->request == number_of(zkli_client_of(port), slot);
}

static void deliver(const void *data, struct zkli_reply *reply) {
    unsigned number;
    struct zkli_client *client = zkli_client_begin(data, &number);
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

static void on_listed(int code, const struct String_vector *children, const struct Stat *stat,
                      const void *data) {
    struct zkli_reply reply = reply_of(code);
    reply.stat = zkli_stat_of(stat);
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
static void finish_multi(struct zkli_client *client, unsigned number, bool is_open, int code) {
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
    struct zkli_client *client = ZKLI_CONTAINER(place, struct zkli_client, place);
    zkli_table_give_back(place); /* before the slot is used again */
    if (number == number_of(client, slot_of(number)))
        finish_multi(client, number, is_open, code);
    zkli_table_end(place);
}

/* ---- Watches ---- */

/* Anything but these is no news of the node: session events, above all. */
static void on_node_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    unsigned number;
    bool is_news = type == ZOO_DELETED_EVENT || type == ZOO_CHANGED_EVENT ||
                   type == ZOO_CHILD_EVENT;
    struct zkli_client *client = is_news ? zkli_client_begin(context, &number) : NULL;
    (void)handle;
    (void)state;
    if (client == NULL)
        return;
    client->config.receiver->on_watch(client->config.arg, &client->port, path,
                                      type == ZOO_DELETED_EVENT   ? ZKLI_WATCH_DELETED
                                      : type == ZOO_CHANGED_EVENT ? ZKLI_WATCH_CHANGED
                                                                  : ZKLI_WATCH_CHILDREN);
    zkli_table_end(&client->place);
}

/* Out of the client library's tables; the server's stands until it fires, for nobody. */
void zkli_request_unwatch(struct zkli_port *port, const char *path, bool is_of_children) {
    struct zkli_client *client = zkli_client_of(port);
    (void)zoo_remove_watches(atomic_load(&client->handle), path,
                             is_of_children ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, on_node_event,
                             zkli_client_news_context(client), 1);
}

/* ---- Requests ---- */

static const struct ACL_vector *our_acl(const struct zkli_client *client) {
    return client->config.is_creator_acl ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

bool zkli_request_create(struct zkli_port *port, unsigned slot, const char *path, const char *data,
                         size_t length, enum zkli_create_mode mode) {
    struct zkli_client *client = zkli_client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    const struct ACL_vector *acl = our_acl(client);
    void *context = zkli_client_context(client, slot);
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

/* One function and one context for all: the client keeps one watch a path, however often. */
bool zkli_request_list(struct zkli_port *port, unsigned slot, const char *path, bool is_watched) {
    struct zkli_client *client = zkli_client_of(port);
    int code = zoo_awget_children2(
        atomic_load(&client->handle), path, is_watched ? on_node_event : NULL,
        zkli_client_news_context(client), on_listed, zkli_client_context(client, slot));
    return end_sending(client, slot, code);
}

bool zkli_request_get(struct zkli_port *port, unsigned slot, const char *path, bool is_watched) {
    struct zkli_client *client = zkli_client_of(port);
    int code = zoo_awget(atomic_load(&client->handle), path, is_watched ? on_node_event : NULL,
                         zkli_client_news_context(client), on_read,
                         zkli_client_context(client, slot));
    return end_sending(client, slot, code);
}

bool zkli_request_remove(struct zkli_port *port, unsigned slot, const char *path) {
    struct zkli_client *client = zkli_client_of(port);
    int code = zoo_adelete(atomic_load(&client->handle), path, -1, on_written,
                           zkli_client_context(client, slot));
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
static int send_multi(struct zkli_client *client, unsigned number, size_t count,
                      const zoo_op_t *ops, zoo_op_result_t *results) {
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

bool zkli_request_multi(struct zkli_port *port, unsigned slot, const struct zkli_op *ops,
                        size_t count) {
    struct zkli_client *client = zkli_client_of(port);
    struct zkli_transaction *t = zkli_transaction_new(ops, count, our_acl(client));
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
bool zkli_request_barrier(struct zkli_port *port, unsigned slot, const char *node) {
    struct zkli_client *client = zkli_client_of(port);
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

bool zkli_request_sync(struct zkli_port *port, unsigned slot) {
    struct zkli_client *client = zkli_client_of(port);
    int code = zoo_async(atomic_load(&client->handle), "/", on_synced,
                         zkli_client_context(client, slot));
    return end_sending(client, slot, code);
}
