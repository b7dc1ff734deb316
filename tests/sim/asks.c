/*
 * asks - operators who ask the owner of a node to let go, as zkl_ask does when it has looked at the
 * queue. If the node has become a reader's since, zkl_ask would go on to that; see sim.h.
 */
#include "sim/sim.h"

/* In each so many'th schedule, by its number: so the others are what they were without it. */
#define ASKING_EACH 4

bool asks_are_made(const struct world *w) {
    return w->seed % ASKING_EACH == 0;
}

/* Mostly one that holds; or the first of another queue, which holds soon. */
static int a_holder(struct world *w) {
    int found = NONE;
    for (int tries = 0; tries < 8 && w->truth.count > 0; tries++) {
        int node = breaks_draw(w);
        if (node == NONE)
            continue;
        if (w->names[node].held_ns != 0)
            return node;
        if (found == NONE || w->names[node].place < w->names[found].place)
            found = node;
    }
    return found;
}

static void begin(struct world *w, struct client *c, int node) {
    const struct name *name = &w->names[node];
    bool is_patient = world_chance(w, 70);
    int64_t wait_ns = is_patient ? 3 * w->timeout_ns : w->timeout_ns / 8;
    TRACE(w, "client %d asks for %s", (int)(c - w->list), name->text);
    c->asked = node;
    c->asked_czxid = name->czxid;
    c->asked_is_known = c->port != NONE && w->ports[c->port].told_zxid >= name->czxid;
    w->figures->asks++;
    zkli_session_lock(&c->session);
    c->is_asking = zkli_engine_end_error(c->session.engine) == ZKL_OK;
    if (c->is_asking)
        zkli_asking_begin(&c->asking, &c->session, name->text,
                          zkli_engine_now_ns(c->session.engine) + wait_ns);
    zkli_session_unlock(&c->session);
}

void asks_begin(struct world *w, unsigned unused, unsigned unused_too) {
    (void)unused;
    (void)unused_too;
    if (w->phase != PHASE_RUN)
        return;
    struct client *c = &w->list[world_below(w, (unsigned)w->clients)];
    int node = a_holder(w);
    if (node != NONE && c->is_open && !c->is_closing && !c->is_paused && !c->is_asking)
        begin(w, c, node);
    world_at(w, w->now_ns + world_between(w, w->timeout_ns / 8, 2 * w->timeout_ns), EVENT_ASK, 0,
             0);
}

/* OK: the node is marked, or it is gone. A server that had not heard of it may have said the
 * latter too early; and a node may have gone and come again, by the same name. */
static void note_result(struct world *w, int client, zkl_err err) {
    const struct client *c = &w->list[client];
    const struct name *node = &w->names[c->asked];
    bool is_same = node->czxid == c->asked_czxid;
    TRACE(w, "client %d: the ask for %s says %s", client, node->text, zkl_errname(err));
    if (err == ZKL_OK && is_same && c->asking.is_there && node->asked_zxid == 0)
        world_violate(w, CHECK_ASKS, "client %d is told that it has asked for %s", client,
                      node->text);
    else if (err == ZKL_OK && is_same && !c->asking.is_there && c->asked_is_known &&
             node->gone_zxid == 0)
        world_violate(w, CHECK_ASKS, "client %d is told that %s is not there", client, node->text);
    else if (err == ZKL_SERVER || (err == ZKL_UNSUPPORTED && node->client != NONE))
        world_violate(w, CHECK_ASKS, "client %d cannot ask for %s: %s", client, node->text,
                      zkl_errname(err));
    w->figures->asks_heard += err == ZKL_OK && c->asking.is_there;
}

/* Marks are for the owner, whoever writes next. */
void asks_committed(struct world *w, const struct txn *txn) {
    const struct name *node = &w->names[txn->name];
    const struct text *text = &w->texts[txn->data];
    struct zkli_node_data data;
    bool is_ours = node->lock != NONE &&
                   zkli_node_data_parse(&data, text->bytes, (size_t)text->length);
    bool loses = is_ours && ((node->asked_zxid != 0 && !data.is_asked) ||
                             (node->broken_zxid != 0 && !data.is_broken));
    if (loses)
        world_violate(w, CHECK_ASKS, "%s loses a mark", node->text);
}

void asks_look(struct world *w, int client) {
    struct client *c = &w->list[client];
    struct zkli_operation *operation = &c->asking.change.operation;
    if (!c->is_asking || zkli_operation_is_running(operation))
        return;
    c->is_asking = false;
    zkl_err err = operation->result;
    zkli_operation_fini(operation);
    note_result(w, client, err);
}
