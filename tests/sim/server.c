/*
 * server - what a server does for its connections: sessions opened and resumed, requests answered
 * in order, reads from its own tree however stale that is; see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

#define MICROSECOND INT64_C(1000)

static bool is_silent(const struct world *w, const struct conn *c) {
    return w->list[c->client].is_silent[c->server];
}

static void arm(struct world *w, int conn, const struct list *list, enum event_kind kind) {
    if (list->first != NONE && !is_silent(w, &w->conns[conn]))
        world_at(w, w->messages[list->first].at, kind, (unsigned)conn, w->conns[conn].life);
}

/* ---- Both ends ---- */

static void free_conn(struct world *w, struct conn *c) {
    list_clear(w, &c->up);
    list_clear(w, &c->down);
    list_clear(w, &c->queue);
    c->state = CONN_FREE;
    c->life++;
}

int conn_open(struct world *w, int client, int port, int server) {
    if (!server_is_serving(w, server))
        return NONE;
    int i = 0;
    while (i < CONNS_MAX && w->conns[i].state != CONN_FREE)
        i++;
    assert(i < CONNS_MAX);
    if (i >= w->conns_used)
        w->conns_used = i + 1;
    struct conn *c = &w->conns[i];
    *c = (struct conn){
        .state = CONN_FRESH, .life = c->life, .client = client, .port = port, .server = server};
    list_init(&c->up);
    list_init(&c->down);
    list_init(&c->queue);
    return i;
}

void conn_send(struct world *w, int conn, int message) {
    struct conn *c = &w->conns[conn];
    int64_t at = w->now_ns + world_between(w, 100, 500) * MICROSECOND;
    if (at < c->up_at)
        at = c->up_at;
    w->messages[message].at = c->up_at = at;
    bool was_empty = c->up.first == NONE;
    list_push(w, &c->up, message);
    if (was_empty)
        arm(w, conn, &c->up, EVENT_UP);
}

void conn_tell(struct world *w, int conn, int message) {
    struct conn *c = &w->conns[conn];
    if (c->is_left) {
        message_free(w, message);
        return;
    }
    int64_t at = w->now_ns + world_between(w, 100, 500) * MICROSECOND;
    if (at < c->down_at)
        at = c->down_at;
    w->messages[message].at = c->down_at = at;
    bool was_empty = c->down.first == NONE;
    list_push(w, &c->down, message);
    if (was_empty)
        arm(w, conn, &c->down, EVENT_DOWN);
}

/* The server hangs up; the client reads to the end, if it gets that far. */
static void hang_up(struct world *w, int conn) {
    struct conn *c = &w->conns[conn];
    if (c->is_closed)
        return;
    c->is_closed = true;
    c->watches[WATCH_DATA].count = c->watches[WATCH_CHILDREN].count = 0;
    list_clear(w, &c->queue);
    list_clear(w, &c->up);
    if (c->is_left)
        free_conn(w, c);
    else
        conn_tell(w, conn, message_new(w, TO_CLOSED));
}

void conn_leave(struct world *w, int conn, bool is_reset) {
    struct conn *c = &w->conns[conn];
    c->is_left = true;
    list_clear(w, &c->down);
    if (is_reset && !is_silent(w, c))
        c->is_closed = true;
    if (c->is_closed) {
        free_conn(w, c);
        return;
    }
    if (is_reset)
        list_clear(w, &c->up); /* the server does not learn of it */
    int message = message_new(w, OP_CLOSE);
    w->messages[message].is_done = true; /* the end of the stream */
    conn_send(w, conn, message);
}

void conn_resume(struct world *w, int client) {
    for (int i = 0; i < w->conns_used; i++) {
        const struct conn *c = &w->conns[i];
        if (c->state == CONN_FREE || c->client != client)
            continue;
        arm(w, i, &c->up, EVENT_UP);
        arm(w, i, &c->down, EVENT_DOWN);
    }
}

void conn_down(struct world *w, unsigned conn, unsigned life) {
    struct conn *c = &w->conns[conn];
    const struct client *client = &w->list[c->client];
    if (c->life != life || c->state == CONN_FREE || is_silent(w, c))
        return;
    if (client->is_paused) {
        if (client->wakes_ns != 0)
            world_at(w, client->wakes_ns + world_between(w, 0, 2000) * MICROSECOND, EVENT_DOWN,
                     conn, life);
        return;
    }
    while (c->life == life && c->down.first != NONE && w->messages[c->down.first].at <= w->now_ns) {
        int message = list_pop(w, &c->down);
        port_receive(w, c->port, message);
        message_free(w, message);
    }
    if (c->life == life && c->state != CONN_FREE)
        arm(w, (int)conn, &c->down, EVENT_DOWN);
}

/* ---- Reads ---- */

static int reply_new(struct world *w, int conn, const struct message *request, enum code code) {
    const struct server *s = &w->servers[w->conns[conn].server];
    int message = message_new(w, TO_REPLY);
    struct message *m = &w->messages[message];
    m->code = (uint8_t)code;
    m->slot = request->slot;
    m->name = request->name;
    m->is_watched = request->is_watched;
    m->index = request->kind;
    m->zxid = s->applied == 0 ? 0 : w->log[s->applied].zxid;
    return message;
}

static void answer_list(struct world *w, struct tree *tree, struct message *m) {
    for (int i = 0; i < tree->count; i++) {
        if (w->names[tree->nodes[i].name].parent != m->name)
            continue;
        assert(m->count < CHILDREN_MAX);
        m->list[m->count++] = (int16_t)tree->nodes[i].name;
    }
}

static void answer_read(struct world *w, int conn, const struct message *r) {
    struct conn *c = &w->conns[conn];
    struct tree *tree = &w->servers[c->server].tree;
    if (r->kind == OP_PING) {
        conn_tell(w, conn, message_new(w, TO_PONG));
        return;
    }
    if (r->kind == OP_SET_WATCHES) {
        watches_resend(w, conn, r);
        return;
    }
    const struct znode *node = tree_find(tree, r->name);
    int message = reply_new(w, conn, r, node == NULL ? CODE_NO_NODE : CODE_OK);
    struct message *m = &w->messages[message];
    if (r->kind == OP_SYNC)
        m->code = CODE_OK;
    if (node != NULL) {
        m->czxid = node->czxid;
        m->session = node->session;
        m->version = node->version;
        if (r->kind == OP_LIST)
            answer_list(w, tree, m);
        else
            m->data = node->data;
    }
    if (r->is_watched && (node != NULL || r->kind == OP_EXISTS))
        watches_set(c->watches, (enum op)r->kind, r->name);
    conn_tell(w, conn, message);
}

/* ---- Requests, in order ---- */

static bool is_write(enum op op) {
    return op == OP_CREATE || op == OP_CREATE_SEQUENTIAL || op == OP_REMOVE || op == OP_BARRIER ||
           op == OP_MULTI || op == OP_CLOSE;
}

static bool is_heartbeat(const struct message *r) {
    return r->kind == OP_BARRIER && r->slot == ZKLI_SLOT_HEARTBEAT;
}

/* A reply is lost with its connection, if that is what is to happen. */
static bool is_cut_here(struct world *w, int conn, int message) {
    struct client *client = &w->list[w->conns[conn].client];
    const struct message *m = &w->messages[message];
    bool is_for_write = is_write((enum op)m->index);
    if (client->doom != DOOM_REPLY && !(client->doom == DOOM_WRITE_REPLY && is_for_write))
        return false;
    client->doom = DOOM_NONE;
    w->figures->lost_replies++;
    TRACE(w, "the reply to client %d is lost", w->conns[conn].client);
    message_free(w, message);
    hang_up(w, conn);
    return true;
}

static void answer(struct world *w, int conn) {
    struct conn *c = &w->conns[conn];
    uint32_t life = c->life;
    const struct server *s = &w->servers[c->server];
    while (c->life == life && c->queue.first != NONE) {
        struct message *r = &w->messages[c->queue.first];
        bool waits = is_write((enum op)r->kind) ? !r->is_done
                     : r->kind == OP_SYNC       ? !r->is_done || s->applied < r->index
                                                : false;
        if (waits)
            return;
        int request = list_pop(w, &c->queue);
        if (!is_write((enum op)r->kind)) {
            answer_read(w, conn, r);
            message_free(w, request);
            continue;
        }
        int message = reply_new(w, conn, r, (enum code)r->code);
        struct message *m = &w->messages[message];
        m->name = r->name;
        m->czxid = r->czxid;
        m->zxid = r->zxid;
        m->session = r->session;
        m->part_count = r->part_count;
        m->refused = r->refused;
        memcpy(m->parts, r->parts, sizeof(m->parts));
        bool is_end = r->kind == OP_CLOSE;
        message_free(w, request);
        if (is_cut_here(w, conn, message))
            return;
        conn_tell(w, conn, message);
        if (is_end)
            hang_up(w, conn);
    }
}

static void accept_session(struct world *w, int conn, const struct message *r) {
    struct conn *c = &w->conns[conn];
    const struct server *s = &w->servers[c->server];
    /* A server that is behind what the client has seen turns it away. */
    if (s->applied > 0 && r->zxid > w->log[s->applied].zxid) {
        TRACE(w, "server %d is behind client %d", c->server, c->client);
        hang_up(w, conn);
        return;
    }
    c->state = CONN_VALIDATING;
    if (r->session == 0) {
        assert(w->session_count + 1 < SESSIONS_MAX);
        struct message open = {.kind = OP_CONNECT, .session = ++w->session_count};
        w->session_client[open.session] = c->client;
        quorum_write(w, c->server, conn, &open);
        return;
    }
    c->session = r->session;
    if (w->ports[c->port].is_end_untold) /* the engine counts its heartbeats to those before */
        w->session_lost[c->session] = true;
    server_close_conns(w, c->server, r->session);
    quorum_validate(w, c->server, conn, r->session);
}

static const char *const op_names[] = {
    [OP_CONNECT] = "connect",
    [OP_CREATE] = "create",
    [OP_CREATE_SEQUENTIAL] = "create sequential",
    [OP_LIST] = "list",
    [OP_GET] = "get",
    [OP_EXISTS] = "exists",
    [OP_SYNC] = "sync",
    [OP_REMOVE] = "delete",
    [OP_MULTI] = "transaction",
    [OP_BARRIER] = "barrier",
    [OP_SET_WATCHES] = "set watches",
    [OP_PING] = "ping",
    [OP_CLOSE] = "close",
};

/* A create or several, or the transaction by which a writer becomes a reader. */
static bool makes_contender(const struct world *w, const struct message *r) {
    return r->kind == OP_CREATE_SEQUENTIAL ||
           (r->kind == OP_MULTI &&
            (r->parts[0].is_sequential || parts_turn(w, r->parts, r->part_count)));
}

/* The connection breaks with this request. */
static bool is_doomed(const struct world *w, int conn, const struct message *request) {
    enum doom doom = w->list[w->conns[conn].client].doom;
    return doom == DOOM_REQUEST || (doom == DOOM_CREATE && makes_contender(w, request));
}

/* The server's thread that has read it stands still, while others go on: mostly for less than a
 * reconnect takes, or not much more. What the session asks for meanwhile comes before it only if
 * the same server is asked. */
static void carry_out_late(struct world *w, int conn, int message) {
    const struct conn *c = &w->conns[conn];
    struct message *m = &w->messages[message];
    m->session = c->session;
    m->index = (int)w->servers[c->server].life;
    m->stands_at = c->server + 1;
    w->ports[c->port].returns = world_chance(w, 50);
    int64_t longest_ns = world_chance(w, 70) ? 50000 * MICROSECOND : w->timeout_ns * 9 / 10;
    world_at(w, w->now_ns + world_between(w, 0, longest_ns), EVENT_LATE, (unsigned)c->server,
             (unsigned)message);
}

/* Right behind what the session has asked for since. */
static void hurry_if_late(struct world *w, int conn) {
    const struct conn *c = &w->conns[conn];
    for (int i = 0; i < w->messages_used; i++) {
        const struct message *m = &w->messages[i];
        if (m->stands_at == c->server + 1 && m->session == c->session && world_chance(w, 50))
            world_at(w, w->now_ns + world_between(w, 0, 10) * 100 * MICROSECOND, EVENT_LATE,
                     (unsigned)c->server, (unsigned)i);
    }
}

void server_late(struct world *w, unsigned server, unsigned message) {
    struct message *m = &w->messages[message];
    if (m->stands_at == 0)
        return; /* it has gone on before */
    if ((int)w->servers[server].life == m->index && server_is_serving(w, (int)server)) {
        TRACE(w, "server %u carries out a write of session %d late", server, m->session);
        w->figures->late_creates++;
        quorum_touch(w, (int)server, m->session);
        w->names[m->name].is_late = true;
        for (int i = 0; i < m->part_count; i++)
            w->names[m->parts[i].name].is_late = true;
        quorum_write(w, (int)server, NONE, m);
    }
    message_free(w, (int)message);
}

/*
 * The thread that has read a heartbeat looks for the map of what the server has heard, and stands
 * still before it puts the session there (LearnerSessionTracker.touchSession). An answer to a ping
 * that the server gives meanwhile takes the map away, and the leader hears nothing of that
 * heartbeat. Never two of a session in a row.
 */
static bool stands(struct world *w, int conn) {
    struct conn *c = &w->conns[conn];
    const struct server *s = &w->servers[c->server];
    const struct message *r = &w->messages[c->up.first];
    if (c->is_standing)
        return s->answers == c->stood_answers && w->now_ns < c->stands_until_ns;
    if (!is_heartbeat(r) || c->state != CONN_OPEN || s->role != ROLE_FOLLOWING ||
        w->session_lost[c->session] ||
        !(w->list[c->client].is_racing || (s->is_racing && world_chance(w, 30))))
        return false;
    c->is_standing = true;
    c->stood_answers = s->answers;
    c->stands_until_ns = w->now_ns + w->tick_ns / 2 + w->timeout_ns / 20;
    world_at(w, c->stands_until_ns, EVENT_UP, (unsigned)conn, c->life);
    return true;
}

void server_answered(struct world *w, int server) {
    w->servers[server].answers++;
    for (int i = 0; i < w->conns_used; i++)
        if (w->conns[i].server == server && w->conns[i].is_standing)
            world_at(w, w->now_ns + world_between(w, 5, 100) * MICROSECOND, EVENT_UP, (unsigned)i,
                     w->conns[i].life);
}

/* The server hears from a session, or would have. */
static void touch(struct world *w, int conn, const struct message *r, bool is_lost) {
    const struct conn *c = &w->conns[conn];
    if (is_heartbeat(r))
        w->session_lost[c->session] = is_lost;
    if (!is_lost) {
        quorum_touch(w, c->server, c->session);
        return;
    }
    TRACE(w, "server %d loses a heartbeat of session %d", c->server, c->session);
    w->figures->lost_touches++;
    scene_touch_lost(w, c->client);
}

static void receive(struct world *w, int conn, int message) {
    struct conn *c = &w->conns[conn];
    struct message *r = &w->messages[message];
    bool is_lost = c->is_standing && w->servers[c->server].answers != c->stood_answers;
    c->is_standing = false;
    TRACE(w, "server %d hears %s from client %d: %s", c->server, op_names[r->kind], c->client,
          w->names[r->name].text);
    if (r->kind == OP_CLOSE && r->is_done) { /* the end of the stream */
        c->is_closed = true;
        free_conn(w, c);
    } else if (r->kind == OP_CONNECT) {
        accept_session(w, conn, r);
    } else if (c->state == CONN_OPEN) {
        if (is_doomed(w, conn, r)) {
            bool is_late = w->list[c->client].doom == DOOM_CREATE;
            w->list[c->client].doom = DOOM_NONE;
            if (makes_contender(w, r) && (is_late || world_chance(w, 50)))
                carry_out_late(w, conn, message);
            else
                message_free(w, message);
            hang_up(w, conn);
            return;
        }
        touch(w, conn, r, is_lost);
        r->session = c->session;
        list_push(w, &c->queue, message);
        if (r->kind == OP_REMOVE)
            hurry_if_late(w, conn);
        if (is_write((enum op)r->kind) && w->is_throttling && world_chance(w, 20)) {
            r->is_done = true;
            r->code = CODE_THROTTLED;
        } else if (r->kind == OP_BARRIER && r->name == w->nowhere && w->is_denying) {
            r->is_done = true; /* it has looked at the ACL itself */
            r->code = CODE_DENIED;
        } else if (is_write((enum op)r->kind) || r->kind == OP_SYNC) {
            quorum_write(w, c->server, conn, r);
        }
        answer(w, conn);
        return;
    }
    message_free(w, message);
}

void conn_up(struct world *w, unsigned conn, unsigned life) {
    struct conn *c = &w->conns[conn];
    if (c->life != life || c->state == CONN_FREE || is_silent(w, c))
        return;
    while (c->life == life && !c->is_closed && c->up.first != NONE &&
           w->messages[c->up.first].at <= w->now_ns && !stands(w, (int)conn))
        receive(w, (int)conn, list_pop(w, &c->up));
    if (c->life == life && c->is_closed)
        list_clear(w, &c->up); /* nobody reads it */
    if (c->life == life && c->state != CONN_FREE && !c->is_standing)
        arm(w, (int)conn, &c->up, EVENT_UP);
}

/* ---- What the quorum tells ---- */

void server_validated(struct world *w, int server, int conn, uint32_t life, bool is_valid) {
    struct conn *c = &w->conns[conn];
    if (c->life != life || c->state != CONN_VALIDATING || c->is_closed)
        return;
    assert(c->server == server);
    int message = message_new(w, is_valid ? TO_CONNECTED : TO_EXPIRED);
    w->messages[message].czxid = w->log[w->servers[server].applied].zxid;
    w->messages[message].session = c->session;
    conn_tell(w, conn, message);
    if (!is_valid) {
        hang_up(w, conn);
        return;
    }
    c->state = CONN_OPEN;
    quorum_touch(w, server, c->session);
}

void server_synced(struct world *w, int server, int conn, uint32_t life, int index) {
    const struct conn *c = &w->conns[conn];
    if (c->life != life || c->server != server)
        return;
    for (int i = c->queue.first; i != NONE; i = w->messages[i].next) {
        struct message *r = &w->messages[i];
        if (r->kind == OP_SYNC && !r->is_done) {
            r->is_done = true;
            r->index = index;
            break;
        }
    }
    answer(w, conn);
}

void server_close_conns(struct world *w, int server, int session) {
    for (int i = 0; i < w->conns_used; i++) {
        const struct conn *c = &w->conns[i];
        if (c->state == CONN_FREE || c->server != server || c->is_closed)
            continue;
        if (session == 0 || (c->state == CONN_OPEN && c->session == session))
            hang_up(w, i);
    }
}

/* The news of a new session, by the network. */
static void hold_up_if_late(struct world *w, int conn) {
    struct conn *c = &w->conns[conn];
    if (w->list[c->client].is_told_late && world_chance(w, 50))
        c->down_at = w->now_ns + world_between(w, w->timeout_ns / 12, w->timeout_ns / 4);
}

/* The write at the head of its connection's queue is done, in the order of the log. */
static void finish_write(struct world *w, int conn, const struct txn *txn) {
    const struct conn *c = &w->conns[conn];
    if (txn->code == CODE_MOVED) { /* client and leader disagree on where the session is */
        hang_up(w, conn);
        return;
    }
    for (int i = c->queue.first; i != NONE; i = w->messages[i].next) {
        struct message *r = &w->messages[i];
        if (!is_write((enum op)r->kind) || r->is_done)
            continue;
        r->is_done = true;
        r->code = txn->code;
        r->name = txn->name;
        r->czxid = r->zxid = txn->zxid;
        r->refused = txn->refused;
        if (txn->type == TXN_MULTI)
            memcpy(r->parts, txn->parts, sizeof(r->parts));
        break;
    }
    answer(w, conn);
}

void server_applied(struct world *w, int server, const struct txn *txn, const struct tree *before) {
    watches_fire(w, server, txn, before);
    if (txn->server == server && txn->conn != NONE && w->conns[txn->conn].life == txn->conn_life &&
        !w->conns[txn->conn].is_closed) {
        if (txn->type == TXN_OPEN) {
            w->conns[txn->conn].session = txn->session;
            hold_up_if_late(w, txn->conn);
            server_validated(w, server, txn->conn, txn->conn_life, true);
        } else {
            finish_write(w, txn->conn, txn);
        }
    }
    if (txn->type == TXN_CLOSE)
        server_close_conns(w, server, txn->session);
    for (int i = 0; i < w->conns_used; i++) {
        const struct conn *c = &w->conns[i];
        if (c->state == CONN_OPEN && c->server == server && c->queue.first != NONE &&
            w->messages[c->queue.first].kind == OP_SYNC)
            answer(w, i); /* it may have waited for this */
    }
}
