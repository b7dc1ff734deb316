/*
 * quorum - the log, how it is agreed on, who leads, and when sessions expire; see sim.h.
 *
 * One log for all: an entry is proposed by the leader of the present epoch, logged by followers,
 * committed when one of them has (with the leader that makes two of three), and applied by each
 * server after its lag. A leader that was deposed without noticing proposes nothing that counts.
 */
#include "sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MICROSECOND INT64_C(1000)

bool server_is_serving(const struct world *w, int server) {
    return w->servers[server].role == ROLE_FOLLOWING || w->servers[server].role == ROLE_LEADING;
}

bool quorum_leads(const struct world *w, int server) {
    return w->leader == server && w->servers[server].role == ROLE_LEADING &&
           w->servers[server].epoch == w->epoch;
}

bool quorum_can_talk(const struct world *w, int a, int b) {
    return w->links[a][b].held_by == 0 && w->links[b][a].held_by == 0 &&
           w->servers[a].role != ROLE_DOWN && w->servers[b].role != ROLE_DOWN;
}

bool quorum_is_possible(const struct world *w) {
    for (int i = 0; i < SERVERS; i++)
        if (quorum_can_talk(w, i, (i + 1) % SERVERS))
            return true;
    return false;
}

/* ---- Links between servers ---- */

static void link_arm(struct world *w, int from, int to) {
    const struct link *link = &w->links[from][to];
    if (link->list.first != NONE && link->held_by == 0)
        world_at(w, w->messages[link->list.first].at, EVENT_LINK, (unsigned)from, (unsigned)to);
}

static void link_send(struct world *w, int from, int to, int message) {
    struct link *link = &w->links[from][to];
    int64_t at = w->now_ns + world_between(w, 100, 400) * MICROSECOND;
    if (at < link->last_at)
        at = link->last_at;
    w->messages[message].at = link->last_at = at;
    bool was_empty = link->list.first == NONE;
    list_push(w, &link->list, message);
    if (was_empty)
        link_arm(w, from, to);
}

/* ---- Commit ---- */

void quorum_commit(struct world *w, int index) {
    while (w->committed < index) {
        w->committed++;
        const struct txn *txn = &w->log[w->committed];
        static struct tree before;
        if (txn->type == TXN_CLOSE)
            before = w->truth;
        tree_apply(w, &w->truth, txn, w->committed);
        checks_committed(w, txn, &before);
    }
}

static void apply_later(struct world *w, int server, int index) {
    struct server *s = &w->servers[server];
    int64_t at = w->now_ns + world_between(w, 20, 100) * MICROSECOND + s->lag_ns;
    if (at < s->apply_at)
        at = s->apply_at;
    s->apply_at = at;
    world_at(w, at, EVENT_APPLY, (unsigned)server | (s->life << 2), (unsigned)index);
}

void quorum_apply(struct world *w, unsigned server_and_life, unsigned index) {
    unsigned server = server_and_life & 3;
    struct server *s = &w->servers[server];
    if ((s->life & 0x3fff) != server_and_life >> 2)
        return;
    while (s->applied < (int)index) {
        s->applied++;
        const struct txn *txn = &w->log[s->applied];
        static struct tree before;
        if (txn->type == TXN_CLOSE)
            before = s->tree;
        tree_apply(w, &s->tree, txn, s->applied);
        if (quorum_leads(w, (int)server) && txn->type == TXN_CLOSE)
            s->sessions[txn->session].is_known = false;
        server_applied(w, (int)server, txn, &before);
    }
}

void quorum_acked(struct world *w, int leader) {
    struct server *l = &w->servers[leader];
    int index = w->committed;
    for (int f = 0; f < SERVERS; f++)
        if (f != leader && l->is_followed[f] && l->acked[f] > index) {
            assert(w->servers[f].logged >= l->acked[f]);
            index = l->acked[f];
        }
    if (index == w->committed)
        return;
    assert(quorum_leads(w, leader) && l->logged >= index);
    quorum_commit(w, index);
    apply_later(w, leader, index);
    for (int f = 0; f < SERVERS; f++) {
        if (f == leader || !l->is_followed[f])
            continue;
        int message = message_new(w, SERVER_COMMIT);
        w->messages[message].index = index;
        link_send(w, leader, f, message);
    }
}

void quorum_ping(struct world *w, int leader, int follower) {
    link_send(w, leader, follower, message_new(w, SERVER_PING));
}

/* ---- Sessions, on the leader ---- */

/* Expiry is rounded up to the next tick. */
void quorum_track(struct world *w, int leader, int session) {
    struct tracked *t = &w->servers[leader].sessions[session];
    t->touched_ns = server_clock(w, leader);
    t->is_heard_late = t->is_due;
    t->expires_ns = ((t->touched_ns + w->timeout_ns) / w->tick_ns + 1) * w->tick_ns;
}

static void leader_touch(struct world *w, int server, int session) {
    struct tracked *t = &w->servers[server].sessions[session];
    if (t->is_known && !t->is_closing)
        quorum_track(w, server, session);
}

void quorum_touch(struct world *w, int server, int session) {
    struct server *s = &w->servers[server];
    if (s->role == ROLE_LEADING)
        leader_touch(w, server, session);
    else
        s->touched[session / 64] |= UINT64_C(1) << (session % 64);
}

/* ---- Proposals ---- */

static void propose(struct world *w, int leader, struct txn *txn) {
    assert(w->log_count + 1 < LOG_MAX);
    int index = ++w->log_count;
    txn->zxid = (int64_t)(((uint64_t)w->epoch << 32) | ++w->low);
    w->log[index] = *txn;
    w->servers[leader].logged = index;
    tree_apply(w, &w->prepared, txn, index);
    for (int f = 0; f < SERVERS; f++) {
        if (f == leader || !w->servers[leader].is_followed[f])
            continue;
        int message = message_new(w, SERVER_PROPOSE);
        w->messages[message].index = index;
        link_send(w, leader, f, message);
    }
}

/* The name with the number that the parent's counter gives; and the next number. */
static int sequential_name(struct world *w, struct tree *tree, int prefix, int32_t *ret_next) {
    struct znode *parent = tree_find(tree, w->names[prefix].parent);
    /* With nothing under way the counter is what was committed: it does not pass its end. */
    if (parent->touched_by <= w->committed)
        parent->counter = tree_find(&w->truth, parent->name)->counter;
    char path[sizeof(w->names[0].text) + 16];
    (void)snprintf(path, sizeof(path), "%s%010d", w->names[prefix].text, (int)parent->counter);
    if (parent->counter == INT32_MAX || parent->counter < 0)
        w->figures->past_counter++;
    *ret_next = (int32_t)((uint32_t)parent->counter + 1);
    return world_name(w, path);
}

static enum code check_session(struct world *w, int leader, int server, int session) {
    if (session == 0 || server == NONE)
        return CODE_OK;
    struct tracked *t = &w->servers[leader].sessions[session];
    if (!t->is_known || t->is_closing)
        return CODE_EXPIRED;
    if (t->owner == NONE)
        t->owner = server;
    return t->owner == server ? CODE_OK : CODE_MOVED;
}

static bool has_children(const struct world *w, const struct tree *tree, int name) {
    for (int i = 0; i < tree->count; i++)
        if (w->names[tree->nodes[i].name].parent == name)
            return true;
    return false;
}

static enum code prepare_create(struct world *w, const struct message *r, struct txn *txn) {
    int parent = w->names[r->name].parent;
    if (parent != NONE && tree_find(&w->prepared, parent) == NULL)
        return CODE_NO_NODE;
    txn->name = r->name;
    txn->is_container = r->is_container;
    txn->data = r->data;
    txn->session = 0;
    if (r->kind == OP_CREATE_SEQUENTIAL) {
        txn->name = sequential_name(w, &w->prepared, r->name, &txn->counter);
        txn->session = r->session;
    } else if (parent != NONE) {
        txn->counter = tree_find(&w->prepared, parent)->counter + 1;
    }
    if (tree_find(&w->prepared, txn->name) != NULL)
        return CODE_EXISTS;
    txn->type = TXN_CREATE;
    return CODE_OK;
}

static enum code prepare_remove(struct world *w, const struct message *r, struct txn *txn) {
    if (tree_find(&w->prepared, r->name) == NULL)
        return CODE_NO_NODE;
    if (has_children(w, &w->prepared, r->name))
        return CODE_NOT_EMPTY;
    txn->type = TXN_DELETE;
    txn->name = r->name;
    txn->by_operator = r->session == 0;
    return CODE_OK;
}

static enum code check_version(const struct znode *node, int32_t version) {
    if (node == NULL)
        return CODE_NO_NODE;
    return version >= 0 && version != node->version ? CODE_BAD_VERSION : CODE_OK;
}

/* Puts into the part what it will do. */
static enum code prepare_part(struct world *w, struct tree *tree, struct part *part) {
    const struct znode *parent = tree_find(tree, w->names[part->name].parent);
    if (parent != NULL && part->is_sequential)
        part->name = sequential_name(w, tree, part->name, &part->counter);
    const struct znode *node = tree_find(tree, part->name);
    enum code code = CODE_OK;
    switch (part->type) {
    case ZKLI_OP_CHECK:
        return check_version(node, part->version);
    case ZKLI_OP_CREATE:
        if (parent == NULL)
            return CODE_NO_NODE;
        if (!part->is_sequential)
            part->counter = parent->counter + 1;
        return node != NULL ? CODE_EXISTS : CODE_OK;
    case ZKLI_OP_SET:
        code = check_version(node, part->version);
        if (code == CODE_OK)
            part->version = node->version + 1;
        return code;
    case ZKLI_OP_DELETE:
        code = check_version(node, part->version);
        return code == CODE_OK && has_children(w, tree, part->name) ? CODE_NOT_EMPTY : code;
    }
    return code;
}

/* All or nothing, at the place that it has in the log: each part sees those before it. */
static enum code prepare_multi(struct world *w, const struct message *r, struct txn *txn) {
    static struct tree tree;
    tree = w->prepared;
    txn->part_count = r->part_count;
    memcpy(txn->parts, r->parts, sizeof(txn->parts));
    for (txn->refused = 0; txn->refused < txn->part_count; txn->refused++) {
        enum code code = prepare_part(w, &tree, &txn->parts[txn->refused]);
        if (code != CODE_OK)
            return code;
        struct txn one = txn_part(txn, txn->refused);
        tree_apply(w, &tree, &one, w->log_count);
    }
    txn->type = TXN_MULTI;
    return CODE_OK;
}

static void leader_prepare(struct world *w, int leader, int server, const struct message *r) {
    struct txn txn = {.type = TXN_ERROR,
                      .session = r->session,
                      .server = server,
                      .conn = r->conn,
                      .conn_life = r->conn_life,
                      .refused = r->part_count};
    enum code code = CODE_OK;
    if (r->kind != OP_CONNECT)
        code = check_session(w, leader, server, r->session);
    w->figures->writes++;
    if (code == CODE_OK) {
        switch ((enum op)r->kind) {
        case OP_CONNECT:
            txn.type = TXN_OPEN;
            w->servers[leader].sessions[r->session] = (struct tracked){.is_known = true,
                                                                       .owner = server};
            quorum_track(w, leader, r->session);
            break;
        case OP_CREATE:
        case OP_CREATE_SEQUENTIAL:
            code = prepare_create(w, r, &txn);
            break;
        case OP_REMOVE:
            code = prepare_remove(w, r, &txn);
            break;
        case OP_MULTI:
            code = prepare_multi(w, r, &txn);
            break;
        case OP_BARRIER:
            txn.name = r->name;
            if (tree_find(&w->prepared, r->name) == NULL)
                code = CODE_NO_NODE;
            else if (w->is_denying)
                code = CODE_DENIED;
            break;
        case OP_CLOSE:
            txn.type = TXN_CLOSE;
            w->servers[leader].sessions[r->session].is_closing = true;
            break;
        case OP_LIST:
        case OP_GET:
        case OP_EXISTS:
        case OP_SYNC:
        case OP_SET_WATCHES:
        case OP_PING:
            assert(false && "a write");
        }
    }
    txn.code = (uint8_t)code;
    if (code == CODE_MOVED)
        w->figures->moves++;
    propose(w, leader, &txn);
}

static void leader_synced(struct world *w, int leader, int server, const struct message *r) {
    if (server == leader) {
        server_synced(w, server, r->conn, r->conn_life, w->servers[leader].logged);
        return;
    }
    int message = message_new(w, SERVER_SYNCED);
    struct message *m = &w->messages[message];
    m->conn = r->conn;
    m->conn_life = r->conn_life;
    m->index = w->servers[leader].logged;
    link_send(w, leader, server, message);
}

void quorum_write(struct world *w, int server, int conn, const struct message *request) {
    struct message r = *request;
    r.conn = conn;
    r.conn_life = conn == NONE ? 0 : w->conns[conn].life;
    r.stands_at = 0; /* no more */
    if (server == NONE) {
        if (w->leader != NONE && quorum_leads(w, w->leader))
            leader_prepare(w, w->leader, NONE, &r);
    } else if (w->servers[server].role == ROLE_LEADING) {
        if (r.kind == OP_SYNC)
            leader_synced(w, server, server, &r);
        else if (quorum_leads(w, server))
            leader_prepare(w, server, server, &r);
    } else if (w->servers[server].role == ROLE_FOLLOWING && w->leader != NONE) {
        int message = message_new(w, SERVER_REQUEST);
        int next = w->messages[message].next;
        w->messages[message] = r;
        w->messages[message].next = next;
        w->messages[message].kind = SERVER_REQUEST;
        w->messages[message].code = r.kind; /* the op */
        breaks_delay(w, server, &r);
        link_send(w, server, w->leader, message);
    }
}

/* ---- What servers tell each other ---- */

static bool leader_revalidate(struct world *w, int leader, int server, int session) {
    struct tracked *t = &w->servers[leader].sessions[session];
    if (!t->is_known || t->is_closing)
        return false;
    quorum_track(w, leader, session);
    t->owner = server;
    return true;
}

void quorum_validate(struct world *w, int server, int conn, int session) {
    uint32_t life = w->conns[conn].life;
    if (w->servers[server].role == ROLE_LEADING) {
        server_validated(w, server, conn, life, leader_revalidate(w, server, server, session));
    } else if (w->leader != NONE) {
        int message = message_new(w, SERVER_VALIDATE);
        w->servers[server].pending[session].conn = conn;
        w->servers[server].pending[session].life = life;
        w->messages[message].conn = conn;
        w->messages[message].conn_life = life;
        w->messages[message].session = session;
        link_send(w, server, w->leader, message);
    }
}

/* The leader's word opens the last connection that has asked for it, and that only once. It may be
 * the word that an earlier connection has asked for. */
static void hear_word(struct world *w, int follower, const struct message *m) {
    struct server *f = &w->servers[follower];
    int conn = f->pending[m->session].conn;
    f->pending[m->session].conn = NONE;
    if (conn == NONE)
        return;
    uint32_t life = f->pending[m->session].life;
    bool is_its_own = conn == m->conn && life == m->conn_life;
    w->figures->older_words += w->conns[conn].life == life && !is_its_own;
    server_validated(w, follower, conn, life, m->is_done);
}

static int ack_new(struct world *w, int index) {
    int message = message_new(w, SERVER_ACK);
    w->messages[message].index = index;
    return message;
}

static void hear_leader(struct world *w, int leader, int follower, struct message *m) {
    struct server *f = &w->servers[follower];
    if (f->role != ROLE_FOLLOWING || f->epoch != w->servers[leader].epoch)
        return;
    f->heard_ns = w->now_ns;
    int message = NONE;
    if (m->kind == SERVER_PROPOSE) {
        f->logged = m->index;
        if (w->log_takes_ns > 0)
            world_at(w, w->now_ns + w->log_takes_ns, EVENT_LOGGED,
                     (unsigned)follower | (f->life << 2), (unsigned)m->index);
        else if (!w->is_log_stalled)
            message = ack_new(w, m->index);
    } else if (m->kind == SERVER_COMMIT) {
        apply_later(w, follower, m->index);
    } else if (m->kind == SERVER_PING) {
        message = message_new(w, SERVER_PONG);
        memcpy(w->messages[message].touched, f->touched, sizeof(f->touched));
        memset(f->touched, 0, sizeof(f->touched));
        server_answered(w, follower);
    } else if (m->kind == SERVER_SYNCED) {
        server_synced(w, follower, m->conn, m->conn_life, m->index);
    } else if (m->kind == SERVER_VALIDATED) {
        hear_word(w, follower, m);
    }
    if (message != NONE)
        link_send(w, follower, leader, message);
}

static void hear_follower(struct world *w, int follower, int leader, struct message *m) {
    struct server *l = &w->servers[leader];
    if (l->role != ROLE_LEADING || !l->is_followed[follower])
        return;
    if (m->kind == SERVER_ACK) {
        if (quorum_leads(w, leader) && m->index > l->acked[follower]) {
            l->acked[follower] = m->index;
            quorum_acked(w, leader);
        }
    } else if (m->kind == SERVER_PONG) {
        l->answered_ns[follower] = w->now_ns;
        for (int i = 1; i <= w->session_count; i++)
            if ((m->touched[i / 64] >> (i % 64) & 1) != 0)
                leader_touch(w, leader, i);
    } else if (m->kind == SERVER_VALIDATE) {
        int message = message_new(w, SERVER_VALIDATED);
        w->messages[message].session = m->session;
        w->messages[message].conn = m->conn;
        w->messages[message].conn_life = m->conn_life;
        w->messages[message].is_done = leader_revalidate(w, leader, follower, m->session);
        link_send(w, leader, follower, message);
    } else if (m->kind == SERVER_REQUEST) {
        m->kind = m->code;
        m->code = CODE_OK;
        if (m->kind == OP_SYNC)
            leader_synced(w, leader, follower, m);
        else if (quorum_leads(w, leader))
            leader_prepare(w, leader, follower, m);
    }
}

void quorum_end_stall(struct world *w) {
    w->is_log_stalled = false;
    for (int f = 0; f < SERVERS; f++)
        if (w->servers[f].role == ROLE_FOLLOWING && w->leader != NONE)
            link_send(w, f, w->leader, ack_new(w, w->servers[f].logged));
}

void quorum_logged(struct world *w, unsigned server_and_life, unsigned index) {
    unsigned follower = server_and_life & 3;
    const struct server *f = &w->servers[follower];
    if ((f->life & 0x3fff) == server_and_life >> 2 && f->role == ROLE_FOLLOWING &&
        w->leader != NONE)
        link_send(w, (int)follower, w->leader, ack_new(w, (int)index));
}

void quorum_link(struct world *w, unsigned from, unsigned to) {
    struct link *link = &w->links[from][to];
    while (link->held_by == 0 && link->list.first != NONE &&
           w->messages[link->list.first].at <= w->now_ns) {
        int message = list_pop(w, &link->list);
        struct message *m = &w->messages[message];
        if (m->kind == SERVER_ACK || m->kind == SERVER_PONG || m->kind == SERVER_VALIDATE ||
            m->kind == SERVER_REQUEST)
            hear_follower(w, (int)from, (int)to, m);
        else
            hear_leader(w, (int)from, (int)to, m);
        message_free(w, message);
    }
    link_arm(w, (int)from, (int)to);
}
