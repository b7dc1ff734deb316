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

static struct port *port_of(struct zkli_port *base) {
    return ZKLI_CONTAINER(base, struct port, base);
}

int64_t port_session_id(int session) {
    return session == 0 ? 0 : INT64_C(0x100000000) + session;
}

int port_number(const struct port *p) {
    return (int)(p - p->world->ports);
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
    world_at(w, at, EVENT_IO, (unsigned)port_number(p), p->io_stamp);
}

static void leave_conn(struct world *w, struct port *p, bool is_reset) {
    if (p->conn != NONE)
        conn_leave(w, p->conn, is_reset);
    p->conn = NONE;
}

/* It may be connected again before it tells of that. What is late then, and slow besides, may prove
 * too little. */
static void stand_still(struct world *w, struct port *p) {
    p->stands_ns = world_between(w, 20, 250) * MS;
    w->disturbances += p->client == w->keeper && w->log_takes_ns > 0;
}

static void lose_connection(struct world *w, struct port *p, int64_t again_ns) {
    bool was_connected = p->state == PORT_CONNECTED;
    leave_conn(w, p, false);
    p->state = PORT_CONNECTING;
    p->attempt_until_ns = 0;
    if (was_connected) {
        TRACE(w, "client %d has lost its connection", p->client);
        if (world_chance(w, 15))
            stand_still(w, p);
        delivery_of_state(w, p, ZKLI_PORT_CONNECTING);
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
    p->conn = conn_open(w, p->client, port_number(p), p->server);
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
    delivery_soon(w, p);
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
static bool is_refused(struct world *w, const struct port *p, enum op op) {
    const struct client *c = &w->list[p->client];
    unsigned percent = c->refuses_deletes && op != OP_REMOVE ? 0 : c->refused_percent;
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
    if (is_refused(w, p, op))
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
    enum op op = mode == ZKLI_EPHEMERAL_SEQUENTIAL ? OP_CREATE_SEQUENTIAL : OP_CREATE;
    if (is_refused(w, p, op))
        return false;
    int name = world_name(w, path);
    int request = request_new(w, op, slot, name);
    w->messages[request].data = world_data(w, name, data, (int)length);
    w->messages[request].is_container = mode == ZKLI_CONTAINER;
    if (op == OP_CREATE_SEQUENTIAL)
        checks_asked_to_make(w, p, w->messages[request].data);
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

/* The node by a set of which a contender says that it has been admitted; NULL: there is none. */
static struct name *touched(const struct world *w, const struct message *r) {
    for (int i = 0; r->kind == OP_MULTI && i < r->part_count; i++) {
        const struct part *part = &r->parts[i];
        const struct text *text = &w->texts[part->data];
        struct zkli_node_data data;
        if (part->type == ZKLI_OP_SET && w->names[part->name].lock != NONE &&
            zkli_node_data_parse(&data, text->bytes, (size_t)text->length) && data.is_touched &&
            data.since_ms == 0 && !data.is_asked && !data.is_broken)
            return &w->names[part->name];
    }
    return NULL;
}

/* Its client library has no memory for this one. */
static bool is_doomed(struct world *w, const struct port *p, const struct message *r) {
    struct client *c = &w->list[p->client];
    struct name *node = c->doom == DOOM_TOUCH ? touched(w, r) : NULL;
    if (node == NULL)
        return false;
    c->doom = DOOM_NONE;
    node->is_let_be = true;
    w->figures->refused++;
    return true;
}

static bool port_multi(struct zkli_port *base, unsigned slot, const struct zkli_op *ops,
                       size_t count) {
    struct port *p = port_of(base);
    struct world *w = p->world;
    if (p->state != PORT_CONNECTED || is_refused(w, p, OP_MULTI))
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
        if (r->parts[i].is_sequential)
            checks_asked_to_make(w, p, r->parts[i].data);
        if (ops[i].type == ZKLI_OP_SET && !world_has_text(w, name))
            w->writes[r->parts[i].data].sends++;
    }
    if (is_doomed(w, p, r)) {
        message_free(w, request);
        return false;
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
    if (p->state != PORT_NEW && !is_refused(w, p, OP_SYNC))
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

/* ---- A handle of the program's ---- */

static void port_unwatch(struct zkli_port *base, const char *path, bool is_of_children) {
    struct port *p = port_of(base);
    watches_forget(p->watches, is_of_children ? WATCH_CHILDREN : WATCH_DATA,
                   world_name(p->world, path));
}

void port_arm(struct world *w, struct port *p) {
    if (p->is_arming || is_refused(w, p, OP_EXISTS))
        return;
    p->is_arming = true;
    submit(p, request_new(w, OP_EXISTS, ARMING_SLOT, w->nowhere));
}

enum zkli_port_state port_heard(const struct port *p) {
    if (p->state == PORT_OVER)
        return ZKLI_PORT_EXPIRED;
    return p->is_armed && p->state == PORT_CONNECTED ? ZKLI_PORT_HEARD : ZKLI_PORT_CONNECTING;
}

static enum zkli_port_state attached_look(struct zkli_port *base) {
    struct port *p = port_of(base);
    (void)port_look(base);
    if (!p->is_armed)
        port_arm(p->world, p);
    return port_heard(p);
}

static void begin_attached(struct world *w, struct port *p) {
    if (p->state == PORT_OVER)
        client_receiver()->on_state(&w->list[p->client], &p->base, ZKLI_PORT_EXPIRED);
    else
        port_arm(w, p);
}

static void ignore(struct world *w, const struct list *requests) {
    for (int i = requests->first; i != NONE; i = w->messages[i].next)
        w->messages[i].is_reply = false;
}

/* What completes later is ignored; what watches were left is the engine's doing. */
void port_detach(struct world *w, struct port *p) {
    ignore(w, &p->in_flight);
    ignore(w, &p->unsent);
    list_clear(w, &p->deliveries);
    p->is_armed = p->is_arming = false;
    for (int kind = 0; kind < WATCH_KINDS; kind++)
        if (p->watches[kind].count > 0 && !p->is_left_untidy)
            world_violate(w, CHECK_ATTACHED, "client %d leaves a watch on %s", p->client,
                          w->names[p->watches[kind].names[0]].text);
}

/* Somebody has made the node that is watched. Before it is watched again, a connection may end and
 * another begin. */
static void be_unheard(struct world *w, struct port *p) {
    w->figures->unheard++;
    w->disturbances++; /* the engine takes it for the end of the connection */
    p->is_armed = false;
    (void)delivery_new(w, p, DELIVER_UNHEARD);
}

/* ---- Receiving ---- */

static void on_connected(struct world *w, struct port *p, const struct message *m) {
    p->session = m->session;
    p->connected_zxid = m->czxid;
    p->state = PORT_CONNECTED;
    p->sent_ns = w->now_ns;
    TRACE(w, "client %d has session %d on server %d", p->client, p->session, p->server);
    int watches = watches_message(w, p->watches);
    if (watches != NONE) {
        w->messages[watches].zxid = p->last_zxid;
        conn_send(w, p->conn, watches);
    }
    if (delivery_is_late(w, p) && p->received_ns - p->attempted_ns < w->timeout_ns / 16)
        p->stands_ns = world_between(w, w->timeout_ns / 12, w->timeout_ns / 2);
    delivery_of_state(w, p, ZKLI_PORT_CONNECTED);
    int request;
    while ((request = list_pop(w, &p->unsent)) != NONE)
        transmit(w, p, request);
    if (delivery_is_loss_untold(w, p))
        actors_write_on(w, p->client);
    io_at(w, p, w->now_ns + w->timeout_ns / 3);
}

void port_over(struct world *w, struct port *p) {
    leave_conn(w, p, false);
    p->state = PORT_OVER;
}

static void on_expired(struct world *w, struct port *p) {
    TRACE(w, "client %d hears that session %d is over", p->client, p->session);
    port_over(w, p);
    delivery_of_state(w, p, ZKLI_PORT_EXPIRED);
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
    if (p->is_armed && p->is_attached && w->phase == PHASE_RUN && world_chance(w, 1))
        be_unheard(w, p);
    if (reply->slot == ARMING_SLOT)
        p->is_armed = reply->code == CODE_OK || reply->code == CODE_NO_NODE;
    if (reply->is_watched &&
        (reply->code == CODE_OK || (reply->code == CODE_NO_NODE && reply->index == OP_EXISTS)))
        watches_set(p->watches, (enum op)reply->index, reply->name);
    delivery_of_reply(w, p, reply);
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
        on_connected(w, p, m);
    else if (m->kind == TO_EXPIRED)
        on_expired(w, p);
    else if (m->kind == TO_CLOSED)
        lose_connection(w, p, world_between(w, 1, 100) * MS);
}

/* ---- Life ---- */

struct zkli_port *port_new(struct world *w, int client, bool is_attached) {
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
    static const struct zkli_port_ops attached_ops = {
        .create = port_create,
        .list = port_list,
        .get = port_get,
        .remove = port_remove,
        .barrier = port_barrier,
        .sync = port_sync,
        .multi = port_multi,
        .unwatch = port_unwatch,
        .session_id = session_id,
        .timeout_ms = timeout_ms,
        .look = attached_look,
    };
    assert(w->port_count < PORTS_MAX);
    struct port *p = &w->ports[w->port_count++];
    *p = (struct port){.base = {.ops = is_attached ? &attached_ops : &ops},
                       .world = w,
                       .client = client,
                       .is_attached = is_attached,
                       .conn = NONE};
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
    if (p->state != PORT_NEW) { /* the program's: an engine comes to it */
        begin_attached(w, p);
        return;
    }
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
