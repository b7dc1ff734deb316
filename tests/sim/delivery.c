/*
 * delivery - the thread on which the client library tells the engine of everything, one thing after
 * the other; it may be late; see sim.h.
 */
#include "sim/sim.h"

#include <string.h>

#define MICROSECOND INT64_C(1000)
#define CODE_AFTER (-1) /* of a part behind the one that was refused */

/* ---- In line ---- */

bool delivery_is_late(const struct world *w, const struct port *p) {
    const struct client *c = &w->list[p->client];
    return c->is_told_late && c->is_open &&
           c->session.engine->session_id != port_session_id(p->session);
}

void delivery_soon(struct world *w, struct port *p) {
    if (p->is_delivering || p->deliveries.first == NONE)
        return;
    p->is_delivering = true;
    int64_t delay = world_chance(w, 2) ? world_between(w, 1, 30) * MS
                                       : world_between(w, 5, 100) * MICROSECOND;
    delay += p->stands_ns;
    p->stands_ns = 0;
    world_at(w, w->now_ns + delay, EVENT_DELIVER, (unsigned)port_number(p), 0);
}

int delivery_new(struct world *w, struct port *p, enum to_engine kind) {
    int message = message_new(w, (int)kind);
    list_push(w, &p->deliveries, message);
    delivery_soon(w, p);
    return message;
}

/* Where memory is short a state may go untold; whoever looks sees it, but for a connection that
 * ends and another that begins between two looks. */
void delivery_of_state(struct world *w, struct port *p, enum zkli_port_state state) {
    struct client *c = &w->list[p->client];
    if (p->is_attached && (!p->is_armed || !c->is_open))
        return;
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
    w->messages[message].czxid = p->connected_zxid;
}

void delivery_of_reply(struct world *w, struct port *p, const struct message *reply) {
    int message = message_new(w, DELIVER_REPLY);
    int next = w->messages[message].next;
    w->messages[message] = *reply;
    w->messages[message].next = next;
    w->messages[message].kind = DELIVER_REPLY;
    list_push(w, &p->deliveries, message);
    delivery_soon(w, p);
}

bool delivery_is_loss_untold(const struct world *w, const struct port *p) {
    for (int i = p->deliveries.first; i != NONE; i = w->messages[i].next)
        if (w->messages[i].kind == DELIVER_STATE && w->messages[i].index == ZKLI_PORT_CONNECTING)
            return true;
    return false;
}

bool delivery_is_delete_untold(const struct world *w, const struct port *p) {
    for (int i = p->deliveries.first; i != NONE; i = w->messages[i].next)
        if (w->messages[i].kind == DELIVER_REPLY && w->messages[i].index == OP_REMOVE &&
            w->messages[i].code == CODE_CONNECTION_LOSS)
            return true;
    return false;
}

/* ---- Told ---- */

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

/* As zk_attached.c does. */
static void deliver_armed(struct world *w, struct port *p) {
    p->is_arming = false;
    p->begun_zxid = p->connected_zxid;
    if (p->is_armed || p->state == PORT_OVER)
        client_receiver()->on_state(&w->list[p->client], &p->base, port_heard(p));
}

static void deliver_unheard(struct world *w, struct port *p) {
    client_receiver()->on_state(&w->list[p->client], &p->base, ZKLI_PORT_CONNECTING);
    port_arm(w, p);
}

/* Or by a read. Its client may read the node, too, before it knows that it is its own: the last
 * read counts. */
static void note_known(struct world *w, const struct port *p, int number, bool is_by_create) {
    struct name *name = &w->names[number];
    if (name->client != p->client || name->held_ns != 0 || name->is_known)
        return;
    name->known_ns = w->now_ns;
    name->is_known = is_by_create;
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
        .stat = {.czxid = m->czxid,
                 .ctime_ms = SERVERS_EPOCH_MS + w->names[m->name].made_ns / MS,
                 .owner = port_session_id(m->session),
                 .version = m->version},
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
    if (reply.result == ZKLI_RESULT_OK)
        note_known(w, p, m->name, m->index == OP_CREATE_SEQUENTIAL);
    for (int i = 0; i < m->part_count; i++)
        if (results[i].path != NULL) {
            note_known(w, p, m->parts[i].name, true);
            w->names[m->parts[i].name].is_turn_told = reply.result == ZKLI_RESULT_OK;
        }
    const struct zkli_port_receiver *receiver = client_receiver();
    /* As zk_client.c does: the client library itself finds out when it connects. */
    if (m->code == CODE_EXPIRED) {
        port_over(w, p);
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
        p->begun_zxid = m->index == ZKLI_PORT_CONNECTED ? m->czxid : 0;
        if (m->index == ZKLI_PORT_CONNECTED && delivery_is_late(w, p))
            scene_told_late(w, p->client);
        client_receiver()->on_state(client, &p->base, (enum zkli_port_state)m->index);
    } else if (m->kind == DELIVER_UNHEARD) {
        deliver_unheard(w, p);
    } else if (m->kind == DELIVER_REPLY) {
        if (m->zxid > p->answered_zxid)
            p->answered_zxid = m->zxid;
        if (m->slot == ARMING_SLOT)
            deliver_armed(w, p);
        else
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
        delivery_soon(w, p);
}
