/*
 * watches - what a server watches for its connections, and a client library for its engine: set by
 * reads, fired by transactions, sent again on a new connection (DataTree.setWatches); see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>

static void add(struct watches *watches, int name) {
    for (int i = 0; i < watches->count; i++)
        if (watches->names[i] == name)
            return;
    assert(watches->count < WATCHES_MAX);
    watches->names[watches->count++] = (int16_t)name;
}

static bool take(struct watches *watches, int name) {
    for (int i = 0; i < watches->count; i++)
        if (watches->names[i] == name) {
            watches->names[i] = watches->names[--watches->count];
            return true;
        }
    return false;
}

void watches_set(struct watches watches[WATCH_KINDS], enum op request, int name) {
    add(&watches[request == OP_LIST ? WATCH_CHILDREN : WATCH_DATA], name);
}

void watches_forget(struct watches watches[WATCH_KINDS], enum watch_kind kind, int name) {
    (void)take(&watches[kind], name);
}

bool watches_take(struct watches watches[WATCH_KINDS], int name, enum zkli_watch_type type) {
    bool has_data = type != ZKLI_WATCH_CHILDREN && take(&watches[WATCH_DATA], name);
    bool has_children = type != ZKLI_WATCH_CHANGED && take(&watches[WATCH_CHILDREN], name);
    return has_data || has_children;
}

/* ---- On a server ---- */

/* zxid: of the change; 0 for a watch that was sent again, of which the client library learns no
 * zxid. With all_zxid all is told up to that. */
static void send_event(struct world *w, int conn, int name, enum zkli_watch_type type, int64_t zxid,
                       int64_t all_zxid) {
    int message = message_new(w, TO_EVENT);
    w->messages[message].index = (int)type;
    w->messages[message].name = name;
    w->messages[message].zxid = zxid;
    w->messages[message].czxid = all_zxid;
    conn_tell(w, conn, message);
}

static void fire(struct world *w, int server, int name, enum zkli_watch_type type, int64_t zxid) {
    for (int i = 0; i < w->conns_used; i++) {
        struct conn *c = &w->conns[i];
        if (c->state == CONN_OPEN && c->server == server && !c->is_closed &&
            watches_take(c->watches, name, type))
            send_event(w, i, name, type, zxid, 0);
    }
}

/* A child has come or gone. */
static void fire_parent(struct world *w, int server, int child, int64_t zxid) {
    if (w->names[child].parent != NONE)
        fire(w, server, w->names[child].parent, ZKLI_WATCH_CHILDREN, zxid);
}

static void fire_deleted(struct world *w, int server, int name, int64_t zxid) {
    fire(w, server, name, ZKLI_WATCH_DELETED, zxid);
    fire_parent(w, server, name, zxid);
}

void watches_fire(struct world *w, int server, const struct txn *txn, const struct tree *before) {
    switch ((enum txn_type)txn->type) {
    case TXN_CREATE:
        fire_parent(w, server, txn->name, txn->zxid);
        break;
    case TXN_DELETE:
        fire_deleted(w, server, txn->name, txn->zxid);
        break;
    case TXN_SET:
        fire(w, server, txn->name, ZKLI_WATCH_CHANGED, txn->zxid);
        break;
    case TXN_MULTI:
        for (int i = 0; i < txn->part_count; i++) {
            struct txn one = txn_part(txn, i);
            watches_fire(w, server, &one, before);
        }
        break;
    case TXN_CLOSE:
        for (int i = 0; i < before->count; i++)
            if (before->nodes[i].session == txn->session)
                fire_deleted(w, server, before->nodes[i].name, txn->zxid);
        break;
    case TXN_OPEN:
    case TXN_ERROR:
        break;
    }
}

static enum watch_kind resent_kind(const struct message *r, int at) {
    return at < r->index ? WATCH_DATA : WATCH_CHILDREN;
}

/* The client library has not seen it. */
static bool has_changed(struct world *w, int conn, const struct message *r, int at) {
    struct server *s = &w->servers[w->conns[conn].server];
    const struct znode *node = tree_find(&s->tree, r->list[at]);
    bool is_data = resent_kind(r, at) == WATCH_DATA;
    return node == NULL || (is_data ? node->mzxid : node->pzxid) > r->zxid;
}

static void tell_changed(struct world *w, int conn, const struct message *r, int at,
                         int64_t all_zxid) {
    struct server *s = &w->servers[w->conns[conn].server];
    enum zkli_watch_type type = resent_kind(r, at) == WATCH_DATA ? ZKLI_WATCH_CHANGED
                                                                 : ZKLI_WATCH_CHILDREN;
    if (tree_find(&s->tree, r->list[at]) == NULL)
        type = ZKLI_WATCH_DELETED;
    send_event(w, conn, r->list[at], type, 0, all_zxid);
}

/* In the order in which they come, whatever came first. With the last one the server has told all
 * that it knows. */
void watches_resend(struct world *w, int conn, const struct message *r) {
    const struct server *s = &w->servers[w->conns[conn].server];
    int last = NONE;
    w->figures->watches_resent += (uint64_t)r->count;
    for (int i = 0; i < r->count; i++)
        if (has_changed(w, conn, r, i))
            last = i;
    for (int i = 0; i < r->count; i++)
        if (!has_changed(w, conn, r, i))
            add(&w->conns[conn].watches[resent_kind(r, i)], r->list[i]);
        else
            tell_changed(w, conn, r, i, i < last || s->applied == 0 ? 0 : w->log[s->applied].zxid);
}

/* ---- In a client library ---- */

/* In the order of its hash table. */
static void append(struct world *w, struct message *m, const struct watches *watches) {
    int16_t *list = m->list + m->count;
    for (int i = 0; i < watches->count; i++) {
        unsigned k = world_below(w, (unsigned)i + 1);
        list[i] = list[k];
        list[k] = watches->names[i];
    }
    m->count += watches->count;
}

int watches_message(struct world *w, const struct watches watches[WATCH_KINDS]) {
    if (watches[WATCH_DATA].count == 0 && watches[WATCH_CHILDREN].count == 0)
        return NONE;
    int message = message_new(w, OP_SET_WATCHES);
    struct message *m = &w->messages[message];
    append(w, m, &watches[WATCH_DATA]);
    m->index = m->count;
    append(w, m, &watches[WATCH_CHILDREN]);
    return message;
}
