/*
 * port - the ZooKeeper client library as zk_client.c shows it to the engine: connects and connects
 * again, finds silence after two thirds of the timeout, fails what was in flight after it has told
 * of the broken connection, sends its watches again in an order of its own, and delivers everything
 * on a thread that may be late; see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

#define MICROSECOND INT64_C(1000)
#define CODE_AFTER (-1) /* of a part behind the one that was refused */

static struct port *port_of(struct zkli_port *base) {
    return ZKLI_CONTAINER(base, struct port, base);
}

int64_t port_session_id(int session) {
    return session == 0 ? 0 : INT64_C(0x100000000) + session;
}

static int number_of(const struct world *w, const struct port *p) {
    return (int)(p - w->ports);
}

/* ---- Deliveries ---- */

static void deliver_soon(struct world *w, struct port *p) {
    if (p->is_delivering || p->deliveries.first == NONE)
        return;
    p->is_delivering = true;
    int64_t delay = world_chance(w, 2) ? world_between(w, 1, 30) * MS
                                       : world_between(w, 5, 100) * MICROSECOND;
    delay += p->stands_ns;
    p->stands_ns = 0;
    world_at(w, w->now_ns + delay, EVENT_DELIVER, (unsigned)number_of(w, p), 0);
}

static int delivery_new(struct world *w, struct port *p, enum to_engine kind) {
    int message = message_new(w, (int)kind);
    list_push(w, &p->deliveries, message);
    deliver_soon(w, p);
    return message;
}

/* Where memory is short a state may go untold; whoever looks sees it, but for a connection that
 * ends and another that begins between two looks. */
static void deliver_state(struct world *w, struct port *p, enum zkli_port_state state) {
    struct client *c = &w->list[p->client];
    p->is_untold = state == ZKLI_PORT_CONNECTED && c->is_forgetful && p->is_end_untold;
    p->is_end_untold = state == ZKLI_PORT_CONNECTING && c->is_forgetful;
    if (p->is_end_untold)
        p->untold_connection = c->session.engine->connection;
    if (c->is_forgetful) {
        TRACE(w, "client %d is not told of its session's state", p->client);
        c->is_forgetful = false;
        w->figures->forgotten++;
        return;
    }
    int message = delivery_new(w, p, DELIVER_STATE);
    w->messages[message].index = (int)state;
}

static void fail_all(struct world *w, struct port *p, struct list *list) {
    int request;
    while ((request = list_pop(w, list)) != NONE) {
        const struct message *r = &w->messages[request];
        if (r->is_reply) {
            int message = delivery_new(w, p, DELIVER_REPLY);
            w->messages[message].slot = r->slot;
            w->messages[message].index = r->kind;
            w->messages[message].code = CODE_CONNECTION_LOSS;
        }
        message_free(w, request);
    }
}

/* ---- Connections ---- */

static void io_at(struct world *w, struct port *p, int64_t at) {
    p->io_stamp++;
    world_at(w, at, EVENT_IO, (unsigned)number_of(w, p), p->io_stamp);
}

static void leave_conn(struct world *w, struct port *p, bool is_reset) {
    if (p->conn != NONE)
        conn_leave(w, p->conn, is_reset);
    p->conn = NONE;
}

static void lose_connection(struct world *w, struct port *p, int64_t again_ns) {
    bool was_connected = p->state == PORT_CONNECTED;
    leave_conn(w, p, false);
    p->state = PORT_CONNECTING;
    p->attempt_until_ns = 0;
    if (was_connected) {
        TRACE(w, "client %d has lost its connection", p->client);
        deliver_state(w, p, ZKLI_PORT_CONNECTING);
    }
    fail_all(w, p, &p->in_flight);
    fail_all(w, p, &p->unsent);
    io_at(w, p, w->now_ns + again_ns);
}

static void attempt(struct world *w, struct port *p) {
    p->server = (p->server + (p->returns ? 0 : p->step)) % SERVERS;
    p->returns = false;
    p->attempted_ns = w->now_ns;
    p->attempt_until_ns = w->now_ns + w->timeout_ns / 3;
    if (w->list[p->client].is_silent[p->server]) { /* nobody answers, nobody refuses */
        io_at(w, p, p->attempt_until_ns);
        return;
    }
    p->conn = conn_open(w, p->client, number_of(w, p), p->server);
    if (p->conn == NONE) {
        lose_connection(w, p, world_between(w, 1, 200) * MS);
        return;
    }
    p->conn_life = w->conns[p->conn].life;
    p->state = PORT_HANDSHAKE;
    int message = message_new(w, OP_CONNECT);
    w->messages[message].session = p->session;
    w->messages[message].zxid = p->last_zxid;
    conn_send(w, p->conn, message);
    io_at(w, p, p->attempt_until_ns);
}

static void check_connected(struct world *w, struct port *p) {
    int64_t silent_at = p->received_ns + w->timeout_ns * 2 / 3;
    if (w->now_ns >= silent_at) {
        lose_connection(w, p, world_between(w, 1, 50) * MS);
        return;
    }
    int64_t ping_at = p->sent_ns + w->timeout_ns / 3;
    if (w->now_ns >= ping_at && p->in_flight.first == NONE) {
        conn_send(w, p->conn, message_new(w, OP_PING));
        p->sent_ns = w->now_ns;
        ping_at = w->now_ns + w->timeout_ns / 3;
    }
    if (ping_at <= w->now_ns)
        ping_at = w->now_ns + w->timeout_ns / 10; /* with the next reply, or not at all */
    io_at(w, p, silent_at < ping_at ? silent_at : ping_at);
}

void port_io(struct world *w, unsigned port, unsigned stamp) {
    struct port *p = &w->ports[port];
    if (p->io_stamp != stamp || p->state == PORT_OVER || p->is_closed)
        return;
    if (w->list[p->client].is_paused)
        return; /* port_wake comes */
    if (p->state == PORT_CONNECTED)
        check_connected(w, p);
    else if (p->state == PORT_HANDSHAKE || p->attempt_until_ns != 0)
        lose_connection(w, p, world_between(w, 1, 50) * MS);
    else
        attempt(w, p);
}

void port_wake(struct world *w, int port) {
    struct port *p = &w->ports[port];
    if (p->is_closed)
        return;
    p->is_delivering = false;
    deliver_soon(w, p);
    if (p->state != PORT_OVER) /* it looks at the clock first, or at what has arrived */
        io_at(w, p, w->now_ns + world_between(w, 0, 2000) * MICROSECOND);
}

void port_cut(struct world *w, int port) {
    struct port *p = &w->ports[port];
    if (p->conn == NONE || p->is_closed)
        return;
    conn_leave(w, p->conn, true);
    p->conn = NONE;
    if (w->list[p->client].is_paused)
        p->received_ns = INT64_MIN / 2; /* found out on waking */
    else
        lose_connection(w, p, world_between(w, 1, 100) * MS);
}

/* ---- Sending ---- */

static void transmit(struct world *w, struct port *p, int request) {
    const struct message *r = &w->messages[request];
    int copy = message_new(w, r->kind);
    w->messages[copy] = *r;
    w->messages[copy].is_reply = false;
    list_push(w, &p->in_flight, request);
    conn_send(w, p->conn, copy);
    p->sent_ns = w->now_ns;
}

static void submit(struct port *p, int request) {
    if (p->state == PORT_CONNECTED && p->conn != NONE)
        transmit(p->world, p, request);
    else
        list_push(p->world, &p->unsent, request);
}

/* Where memory is short it refuses this request and takes that one. */
static bool is_refused(struct world *w, const struct port *p) {
    unsigned percent = w->list[p->client].refused_percent;
    if (p->state == PORT_OVER)
        return true;
    if (percent == 0 || !world_chance(w, percent))
        return false;
    w->figures->refused++;
    return true;
}

/* Somebody waits for its reply. */
static int request_new(struct world *w, enum op op, unsigned slot, int name) {
    int request = message_new(w, (int)op);
    struct message *r = &w->messages[request];
    r->slot = slot;
    r->name = name;
    r->is_reply = true;
    return request;
}

static bool send(struct zkli_port *base, enum op op, unsigned slot, const char *path,
                 bool is_watched) {
    struct port *p = port_of(base);
    struct world *w = p->world;
    if (is_refused(w, p))
        return false;
    int name = path == NULL ? w->nowhere : world_name(w, path);
    int request = request_new(w, op, slot, name);
    w->messages[request].is_watched = is_watched;
    submit(p, request);
    return true;
}

static bool port_create(struct zkli_port *base, unsigned slot, const char *path, const char *data,
                        size_t length, enum zkli_create_mode mode) {
    struct port *p = port_of(base);
    struct world *w = p->world;
    if (is_refused(w, p))
        return false;
    enum op op = mode == ZKLI_EPHEMERAL_SEQUENTIAL ? OP_CREATE_SEQUENTIAL : OP_CREATE;
    int name = world_name(w, path);
    int request = request_new(w, op, slot, name);
    w->messages[request].data = world_data(w, name, data, (int)length);
    w->messages[request].is_container = mode == ZKLI_CONTAINER;
    submit(p, request);
    return true;
}

static bool port_list(struct zkli_port *base, unsigned slot, const char *path, bool is_watched) {
    return send(base, OP_LIST, slot, path, is_watched);
}

static bool port_get(struct zkli_port *base, unsigned slot, const char *path, bool is_watched) {
    return send(base, OP_GET, slot, path, is_watched);
}

static bool port_remove(struct zkli_port *base, unsigned slot, const char *path) {
    return send(base, OP_REMOVE, slot, path, false);
}

static bool port_barrier(struct zkli_port *base, unsigned slot, const char *node) {
    return send(base, OP_BARRIER, slot, node, false);
}

static bool port_multi(struct zkli_port *base, unsigned slot, const struct zkli_op *ops,
                       size_t count) {
    struct port *p = port_of(base);
    struct world *w = p->world;
    if (p->state != PORT_CONNECTED || is_refused(w, p))
        return false;
    int request = request_new(w, OP_MULTI, slot, world_name(w, ops[0].path));
    struct message *r = &w->messages[request];
    assert(count <= PARTS_MAX);
    r->part_count = r->refused = (int)count;
    for (size_t i = 0; i < count; i++) {
        int name = world_name(w, ops[i].path);
        r->parts[i] = (struct part){.type = ops[i].type,
                                    .is_ephemeral = (ops[i].flags & ZKLI_CREATE_EPHEMERAL) != 0,
                                    .is_sequential = (ops[i].flags & ZKLI_CREATE_SEQUENTIAL) != 0,
                                    .name = name,
                                    .data = world_data(w, name, ops[i].data, ops[i].length),
                                    .version = ops[i].version};
    }
    submit(p, request);
    return true;
}

static bool port_sync(struct zkli_port *base, unsigned slot) {
    port_of(base)->world->figures->syncs++;
    return send(base, OP_SYNC, slot, NULL, false);
}

/* With a request that nobody waits for, as zk_client.c sends it to wake the client library. */
static enum zkli_port_state port_look(struct zkli_port *base) {
    struct port *p = port_of(base);
    struct world *w = p->world;
    w->figures->looks++;
    if (p->state == PORT_OVER)
        return ZKLI_PORT_EXPIRED;
    if (p->state != PORT_NEW && !is_refused(w, p))
        submit(p, message_new(w, OP_SYNC));
    return p->state == PORT_CONNECTED ? ZKLI_PORT_CONNECTED : ZKLI_PORT_CONNECTING;
}

/* The client goes to another server at once, if the socket is known; in some schedules none is. */
static bool port_drop(struct zkli_port *base) {
    struct port *p = port_of(base);
    struct world *w = p->world;
    if (!w->knows_sockets || p->state != PORT_CONNECTED || p->conn == NONE)
        return false;
    w->figures->drops++;
    w->keeper_may_lose = w->keeper_may_lose && p->client != w->keeper;
    lose_connection(w, p, world_between(w, 1, 3) * MS);
    return true;
}

static int64_t session_id(struct zkli_port *base) {
    assert(port_of(base)->session != 0);
    return port_session_id(port_of(base)->session);
}

static int timeout_ms(struct zkli_port *base) {
    assert(port_of(base)->session != 0);
    return (int)(port_of(base)->world->timeout_ns / MS);
}

/* ---- Receiving ---- */

/* Of a new session: by the network, or else by the thread that delivers. */
static bool is_told_late(const struct world *w, const struct port *p) {
    const struct client *c = &w->list[p->client];
    return c->is_told_late && c->is_open &&
           c->session.engine->session_id != port_session_id(p->session);
}

static void on_connected(struct world *w, struct port *p, int session) {
    p->session = session;
    p->state = PORT_CONNECTED;
    p->sent_ns = w->now_ns;
    TRACE(w, "client %d has session %d on server %d", p->client, session, p->server);
    int watches = watches_message(w, p->watches);
    if (watches != NONE) {
        w->messages[watches].zxid = p->last_zxid;
        conn_send(w, p->conn, watches);
    }
    if (is_told_late(w, p) && p->received_ns - p->attempted_ns < w->timeout_ns / 16)
        p->stands_ns = world_between(w, w->timeout_ns / 12, w->timeout_ns / 2);
    deliver_state(w, p, ZKLI_PORT_CONNECTED);
    int request;
    while ((request = list_pop(w, &p->unsent)) != NONE)
        transmit(w, p, request);
    io_at(w, p, w->now_ns + w->timeout_ns / 3);
}

static void on_expired(struct world *w, struct port *p) {
    TRACE(w, "client %d hears that session %d is over", p->client, p->session);
    leave_conn(w, p, false);
    p->state = PORT_OVER;
    deliver_state(w, p, ZKLI_PORT_EXPIRED);
    fail_all(w, p, &p->in_flight);
    fail_all(w, p, &p->unsent);
}

static void on_reply(struct world *w, struct port *p, const struct message *reply) {
    int request = list_pop(w, &p->in_flight);
    assert(request != NONE && w->messages[request].slot == reply->slot);
    bool is_for_nobody = !w->messages[request].is_reply;
    message_free(w, request);
    if (is_for_nobody)
        return;
    if (reply->is_watched &&
        (reply->code == CODE_OK || (reply->code == CODE_NO_NODE && reply->index == OP_EXISTS)))
        watches_set(p->watches, (enum op)reply->index, reply->name);
    int message = message_new(w, DELIVER_REPLY);
    int next = w->messages[message].next;
    w->messages[message] = *reply;
    w->messages[message].next = next;
    w->messages[message].kind = DELIVER_REPLY;
    list_push(w, &p->deliveries, message);
    deliver_soon(w, p);
}

static void on_event(struct world *w, struct port *p, const struct message *event) {
    if (!watches_take(p->watches, event->name, (enum zkli_watch_type)event->index))
        return; /* its other watch was told of the node's end */
    int message = delivery_new(w, p, DELIVER_WATCH);
    w->messages[message].name = event->name;
    w->messages[message].zxid = event->zxid;
    w->messages[message].czxid = event->czxid;
    w->messages[message].is_untold = p->is_untold;
    w->messages[message].index = event->index;
}

void port_receive(struct world *w, int port, int message) {
    struct port *p = &w->ports[port];
    const struct message *m = &w->messages[message];
    if (p->is_closed || p->state == PORT_OVER)
        return;
    p->received_ns = w->now_ns;
    /* An event bears no zxid: the client may come back to a server that is not as far yet. */
    if (m->zxid > p->last_zxid && m->kind != TO_EVENT)
        p->last_zxid = m->zxid;
    if (m->kind == TO_REPLY)
        on_reply(w, p, m);
    else if (m->kind == TO_EVENT)
        on_event(w, p, m);
    else if (m->kind == TO_CONNECTED)
        on_connected(w, p, m->session);
    else if (m->kind == TO_EXPIRED)
        on_expired(w, p);
    else if (m->kind == TO_CLOSED)
        lose_connection(w, p, world_between(w, 1, 100) * MS);
}

/* ---- Delivering ---- */

static enum zkli_result result_of(const struct world *w, const struct message *m) {
    bool is_nowhere = m->index == OP_BARRIER && m->name == w->nowhere;
    switch ((enum code)m->code) {
    case CODE_OK:
        return ZKLI_RESULT_OK;
    case CODE_NO_NODE:
        return is_nowhere ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE;
    case CODE_EXISTS:
        return ZKLI_RESULT_EXISTS;
    case CODE_DENIED:
        return ZKLI_RESULT_DENIED;
    case CODE_EXPIRED:
    case CODE_CONNECTION_LOSS:
        return ZKLI_RESULT_LOST;
    case CODE_MOVED:
    case CODE_THROTTLED:
        return ZKLI_RESULT_AGAIN;
    case CODE_BAD_VERSION:
        return ZKLI_RESULT_BAD_VERSION;
    case CODE_NOT_EMPTY:
        break;
    }
    return ZKLI_RESULT_ERROR;
}

static void make_results(const struct world *w, const struct message *m,
                         struct zkli_op_result *ret_results, struct zkli_stat *ret_stats) {
    bool is_done = m->code == CODE_OK;
    for (int i = 0; i < m->part_count; i++) {
        const struct part *part = &m->parts[i];
        ret_stats[i] = (struct zkli_stat){.version = part->version, .mzxid = m->zxid};
        ret_results[i] = (struct zkli_op_result){.code = i < m->refused    ? 0
                                                         : i == m->refused ? m->code
                                                                           : CODE_AFTER};
        if (is_done && part->type == ZKLI_OP_CREATE)
            ret_results[i].path = w->names[part->name].text;
        else if (is_done && part->type == ZKLI_OP_SET)
            ret_results[i].stat = &ret_stats[i];
    }
}

/* Memory, for the path of a node that was made: the reply is lost, while the connection goes on. */
static bool lacks_path(struct world *w, const struct port *p, const struct message *m) {
    bool is_create = m->index == OP_CREATE_SEQUENTIAL || m->index == OP_MULTI;
    bool lacks = m->code == CODE_OK && is_create &&
                 world_chance(w, w->list[p->client].refused_percent > 0 ? 20 : 1);
    w->disturbances += lacks && p->client == w->keeper; /* it starts anew to prove its lease */
    return lacks;
}

static void deliver_reply(struct world *w, struct port *p, const struct message *m) {
    char *children[CHILDREN_MAX];
    struct zkli_stat stats[PARTS_MAX];
    struct zkli_op_result results[PARTS_MAX];
    make_results(w, m, results, stats);
    struct zkli_reply reply = {
        .result = result_of(w, m),
        .code = m->code,
        .path = w->names[m->name].text,
        .stat = {.czxid = m->czxid, .owner = port_session_id(m->session), .version = m->version},
        .op_results = results,
        .refused = (size_t)m->refused,
        .children = children,
        .child_count = (size_t)m->count,
    };
    reply.data = world_data_read(w, m->name, m->data, &reply.data_length);
    for (int i = 0; i < m->count; i++)
        children[i] = strrchr(w->names[m->list[i]].text, '/') + 1;
    if (lacks_path(w, p, m) && m->index == OP_MULTI)
        results[world_below(w, (unsigned)m->part_count)].path = NULL;
    else if (m->index == OP_CREATE_SEQUENTIAL && lacks_path(w, p, m))
        reply.result = ZKLI_RESULT_LOST;
    const struct zkli_port_receiver *receiver = client_receiver();
    /* As zk_client.c does: the client library itself finds out when it connects. */
    if (m->code == CODE_EXPIRED) {
        leave_conn(w, p, false);
        p->state = PORT_OVER;
        receiver->on_state(&w->list[p->client], &p->base, ZKLI_PORT_EXPIRED);
    }
    receiver->on_reply(&w->list[p->client], &p->base, m->slot, &reply);
}

/* The last watch sent again tells that all up to then is told; but by a connection that the engine
 * cannot know of, for nothing was lost with the one before, only its own node's end. */
static int64_t zxid_told(struct world *w, const struct port *p, const struct message *m) {
    const struct client *c = &w->list[p->client];
    const struct zkli_engine *e = c->is_open ? c->session.engine : NULL;
    bool is_unknown = m->is_untold && e != NULL && zkli_engine_is_connected(e) &&
                      e->connection == p->untold_connection;
    bool is_sent_again = m->kind == DELIVER_WATCH && m->zxid == 0;
    return !is_sent_again ? m->zxid : is_unknown ? 0 : m->czxid;
}

void port_deliver(struct world *w, unsigned port, unsigned unused) {
    (void)unused;
    struct port *p = &w->ports[port];
    if (p->is_closed || w->list[p->client].is_paused || !p->is_delivering)
        return;
    p->is_delivering = false;
    int message = list_pop(w, &p->deliveries);
    if (message == NONE)
        return;
    struct message *m = &w->messages[message];
    struct client *client = &w->list[p->client];
    int64_t told_zxid = zxid_told(w, p, m);
    if (told_zxid > p->told_zxid)
        p->told_zxid = told_zxid;
    if (m->kind == DELIVER_STATE) {
        if (m->index == ZKLI_PORT_CONNECTED && is_told_late(w, p))
            scene_told_late(w, p->client);
        client_receiver()->on_state(client, &p->base, (enum zkli_port_state)m->index);
    } else if (m->kind == DELIVER_REPLY) {
        if (m->zxid > p->answered_zxid)
            p->answered_zxid = m->zxid;
        deliver_reply(w, p, m);
    } else {
        /* Else its session has been replaced, or is over. */
        if (client->is_open && client->session.engine->port == &p->base)
            checks_watch_told(w, p->client, m->name, (enum zkli_watch_type)m->index);
        client_receiver()->on_watch(client, &p->base, w->names[m->name].text,
                                    (enum zkli_watch_type)m->index);
    }
    message_free(w, message);
    if (!p->is_closed)
        deliver_soon(w, p);
}

/* ---- Life ---- */

struct zkli_port *port_new(struct world *w, int client) {
    static const struct zkli_port_ops ops = {
        .create = port_create,
        .list = port_list,
        .get = port_get,
        .remove = port_remove,
        .barrier = port_barrier,
        .sync = port_sync,
        .multi = port_multi,
        .session_id = session_id,
        .timeout_ms = timeout_ms,
        .look = port_look,
        .drop = port_drop,
    };
    assert(w->port_count < PORTS_MAX);
    struct port *p = &w->ports[w->port_count++];
    *p = (struct port){.base = {.ops = &ops}, .world = w, .client = client, .conn = NONE};
    list_init(&p->unsent);
    list_init(&p->in_flight);
    list_init(&p->deliveries);
    p->server = (int)world_below(w, SERVERS);
    p->step = 1 + (int)world_below(w, 2);
    return &p->base;
}

void port_begin(struct world *w, unsigned port, unsigned unused) {
    (void)unused;
    struct port *p = &w->ports[port];
    if (p->is_closed)
        return;
    p->state = PORT_CONNECTING;
    io_at(w, p, w->now_ns);
}

void port_close(struct world *w, unsigned port, unsigned unused) {
    (void)unused;
    struct port *p = &w->ports[port];
    if (p->is_closed)
        return;
    bool is_dead = w->list[p->client].is_dead;
    if (p->state == PORT_CONNECTED && p->conn != NONE && !is_dead) {
        /* With replies unread, the kernel may reset the connection before the server reads on. */
        bool is_reset = p->in_flight.first != NONE && world_chance(w, 50);
        if (!is_reset)
            conn_send(w, p->conn, message_new(w, OP_CLOSE));
        leave_conn(w, p, is_reset);
    }
    leave_conn(w, p, is_dead);
    p->is_closed = true;
    p->state = PORT_OVER;
    list_clear(w, &p->in_flight);
    list_clear(w, &p->unsent);
    list_clear(w, &p->deliveries);
}
