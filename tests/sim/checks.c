/*
 * checks - what must hold, looked at from outside: after every event, at every grant, loss and
 * commit, and when all is quiet; see sim.h for what each is called.
 */
#include "sim/sim.h"

#include <string.h>

/* How late a timer may go off before a hold that is not certain any more must have been told. */
#define TOLD_WITHIN (50 * MS)

/* By which a node is held, and not inside another hold. */
static bool is_outermost(const struct zkli_hold *hold) {
    return hold != NULL && hold->member != NULL && zkli_member_is_held(hold->member) &&
           zkli_member_owner(hold->member) == hold;
}

/* By a node of its own; else by one that it has from a writer. */
static const struct zkli_hold *current_hold(const struct handle *h) {
    if (h->lock == NULL || is_outermost(h->lock->current))
        return h->lock == NULL ? NULL : h->lock->current;
    const struct zkli_list *head = &h->lock->holds;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        const struct zkli_hold *hold = ZKLI_CONTAINER(link, struct zkli_hold, link);
        if (is_outermost(hold))
            return hold;
    }
    return NULL;
}

/* How it holds: a writer that begins to turn may have readers beside it. Only a hold that was asked
 * to turn: a thread to which the node is handed on meanwhile takes itself for a writer. */
static enum zkli_kind kind_of(const struct zkli_hold *hold) {
    const struct zkl_lock *l = hold->lock;
    const struct zkli_member *m = hold->member;
    bool is_asked = hold->is_reader || !zkli_list_is_empty(&l->downgrades);
    if (l->kind == ZKLI_KIND_WRITE && !is_asked)
        return ZKLI_KIND_WRITE;
    return m->core.state == ZKLI_TURNING ? ZKLI_KIND_READ : m->core.kind;
}

/* Whether one of this kind may hold beside another of it. */
bool checks_is_shared(enum zkli_kind kind) {
    return kind == ZKLI_KIND_READ || kind == ZKLI_KIND_LEASE;
}

/* Whether the library would say that one who holds does, if it were asked at this moment. */
static bool is_certain(const struct client *c) {
    return zkli_lease_is_certain(&c->session.engine->lease, client_clock(c));
}

static bool is_certain_of(const struct client *c, const struct zkli_hold *hold) {
    return client_clock(c) < zkli_member_certain_until_ns(hold->member);
}

/* The node of the handle's hold; its name is looked up once. */
static int node_of(struct world *w, struct handle *h, const struct zkli_hold *hold) {
    if (h->seen == hold->id && w->names[h->node].kind == hold->member->core.kind)
        return h->node;
    char path[ZKLI_PATH_MAX];
    if (!zkli_member_path(hold->member, path, sizeof(path)))
        return 0;
    h->seen = hold->id;
    h->known_ns = 0;
    h->node = world_name(w, path);
    h->limit = permits_limit(w, h->name, w->names[h->node].czxid);
    return h->node;
}

int checks_node(struct world *w, struct handle *h) {
    const struct zkli_hold *hold = current_hold(h);
    return hold == NULL ? 0 : node_of(w, h, hold);
}

/* ---- After every event ---- */

/* A third party has deleted the node behind everybody's back, and its holder cannot know it yet: it
 * had no reply as new as that, or the read that sets its watch is still under way. That goes out
 * behind the first heartbeat after the grant, or on a new connection: so a heartbeat that is sent
 * after that one was acknowledged comes back after it. (While it turns, a search has to tell. Where
 * memory is short, that is refused again and again.) */
static bool is_uprooted(const struct world *w, int client, struct handle *h,
                        const struct zkli_hold *hold, const struct name *node) {
    const struct client *c = &w->list[client];
    const struct zkli_engine *e = c->session.engine;
    if (!node->was_uprooted)
        return false;
    bool is_searching = hold->member->core.state == ZKLI_TURNING && c->refused_percent > 0;
    if (is_searching || w->ports[c->port].answered_zxid < node->gone_zxid) {
        h->known_ns = 0;
        return true;
    }
    if (h->known_ns == 0 || h->known_connection != e->connection) {
        h->known_connection = e->connection;
        h->known_ns = client_clock(c);
        h->known_beats = 0;
    } else if (e->lease.touched_ns > h->known_ns) {
        h->known_ns = client_clock(c);
        h->known_beats++;
    }
    return h->known_beats < 2;
}

/* That which its transaction has put in the place of the writer's. */
static const struct name *readers_node(struct world *w, const struct zkli_member *m) {
    char path[ZKLI_PATH_MAX], child[ZKLI_OWN_CHILD_MAX + 1];
    zkli_contender_reader(child, &m->core);
    zkli_dir_child_path(path, m->dir, child);
    return &w->names[world_name(w, path)];
}

static const struct name *backing_node(struct world *w, struct handle *h,
                                       const struct zkli_hold *hold) {
    const struct name *node = &w->names[node_of(w, h, hold)];
    bool may_have_turned = hold->member->core.state == ZKLI_TURNING;
    bool is_reader_s = may_have_turned && node->gone_zxid != 0 && !node->was_uprooted;
    return is_reader_s ? readers_node(w, hold->member) : node;
}

static void check_backing(struct world *w, int client, const struct handle *h,
                          const struct name *node) {
    if (node->czxid == 0 || node->gone_zxid != 0)
        world_violate(w, CHECK_BACKING, "client %d is certain to hold %c, but %s is gone", client,
                      'a' + h->name, node->text);
    else if (node->client != client)
        world_violate(w, CHECK_BACKING, "client %d holds %c on another's node %s", client,
                      'a' + h->name, node->text);
}

/* Without what the rounding up to a tick adds, and by the leader's own clock. */
static void check_lease(struct world *w, int client) {
    if (w->leader == NONE || !quorum_leads(w, w->leader))
        return; /* the next one starts every session's clock anew */
    int session = w->ports[w->list[client].port].session;
    const struct tracked *t = &w->servers[w->leader].sessions[session];
    if (!t->is_known || t->is_closing)
        return;
    if (server_clock(w, w->leader) > t->touched_ns + w->timeout_ns)
        world_violate(w, CHECK_LEASE, "client %d is certain, and silent for longer than T", client);
    if (t->is_due)
        world_violate(w, CHECK_LEASE, "client %d is certain, and its session is being ended",
                      client);
}

static void check_told(struct world *w, int client, struct handle *h,
                       const struct zkli_hold *hold) {
    const struct client *c = &w->list[client];
    if (is_certain_of(c, hold) || c->is_paused) {
        h->uncertain_since_ns = 0;
    } else if (h->uncertain_since_ns == 0) {
        h->uncertain_since_ns = w->now_ns;
    } else if (w->now_ns - h->uncertain_since_ns > TOLD_WITHIN) {
        world_violate(w, CHECK_LOSS, "client %d does not hold %c any more and was not told", client,
                      'a' + h->name);
    }
}

/* Who is certain to hold a lock: the last that was looked at, of each kind. A client; NONE: nobody.
 */
struct holders {
    int clients[ZKLI_KIND_FOREIGN + 1];
};

static void check_excluded(struct world *w, struct holders *holders, int client,
                           const struct handle *h, enum zkli_kind own) {
    for (enum zkli_kind kind = 0; kind <= ZKLI_KIND_FOREIGN; kind++)
        if (holders->clients[kind] != NONE && !(kind == own && checks_is_shared(kind)))
            world_violate(w, CHECK_EXCLUSION, "clients %d and %d both hold %c",
                          holders->clients[kind], client, 'a' + h->name);
    holders->clients[own] = client;
}

static void check_handle(struct world *w, struct holders *holders, int client, struct handle *h) {
    const struct client *c = &w->list[client];
    bool has_none = h->lock == NULL || zkli_list_is_empty(&h->lock->holds);
    const struct zkli_hold *hold = !c->is_open || has_none ? NULL : current_hold(h);
    if (hold == NULL)
        return;
    h->blind_until_ns = hold->member->blind_until_ns;
    check_told(w, client, h, hold);
    if (!is_certain_of(c, hold))
        return;
    const struct name *node = backing_node(w, h, hold);
    if (!is_uprooted(w, client, h, hold, node)) {
        check_excluded(w, holders, client, h, kind_of(hold));
        check_backing(w, client, h, node);
        checks_awaited(w, client, h, hold, node);
        checks_since(w, client, hold, &w->names[node - w->names]);
        breaks_check_hold(w, client, h, hold, node);
        if (node->kind == ZKLI_KIND_LEASE)
            w->permit_holders[w->permit_holder_count++] = (struct permit_holder){
                client, h->name, h->limit, node->place};
    }
    check_lease(w, client);
}

void checks_step(struct world *w) {
    struct holders holders[LOCKS_MAX];
    w->permit_holder_count = 0;
    for (int name = 0; name < w->locks; name++)
        for (enum zkli_kind kind = 0; kind <= ZKLI_KIND_FOREIGN; kind++)
            holders[name].clients[kind] = NONE;
    for (int i = 0; i < w->clients; i++)
        for (int k = 0; k < w->handles; k++) {
            check_handle(w, &holders[w->list[i].handles[k].name], i, &w->list[i].handles[k]);
            checks_idle(w, i, &w->list[i].handles[k]);
        }
    permits_check_holders(w);
}

/* ---- Grants and losses ---- */

void checks_note_latest(struct latest *latest, int64_t czxid, bool is_shared) {
    if (czxid > latest->any)
        latest->any = czxid;
    if (!is_shared && czxid > latest->exclusive)
        latest->exclusive = czxid;
}

bool checks_keeps_out(const struct world *w, const struct znode *other, const struct name *own) {
    const struct name *name = &w->names[other->name];
    bool is_its_like = own->kind == name->kind && checks_is_shared(own->kind);
    return name->lock == own->lock && name->kind != ZKLI_KIND_NONE && name->place < own->place &&
           !is_its_like;
}

static bool is_beside(const struct world *w, const struct handle *h) {
    for (int i = 0; i < w->clients; i++)
        for (int k = 0; k < w->handles; k++) {
            const struct handle *other = &w->list[i].handles[k];
            if (other != h && other->name == h->name && current_hold(other) != NULL)
                return true;
        }
    return false;
}

/* Whether the hold is by the same node as the last. */
static bool note_turn(struct world *w, int client, struct handle *h, int64_t token) {
    bool is_handed_on = token == h->token;
    h->turns = is_handed_on ? h->turns + 1 : 0;
    h->token = token;
    w->figures->handed_on += is_handed_on;
    if (h->lingers)
        checks_lingered(w, client, h, current_hold(h)->member);
    else if (h->turns > h->turns_max)
        world_violate(w, CHECK_TURNS, "client %d holds %c by the same node for the %dth time",
                      client, 'a' + h->name, h->turns + 1);
    return is_handed_on;
}

static void check_grant(struct world *w, int client, struct handle *h) {
    int number = checks_node(w, h);
    const struct name *node = &w->names[number];
    const struct zkli_engine *e = w->list[client].session.engine;
    const struct znode *own = tree_find(&w->truth, number);
    int64_t token = current_hold(h)->token;
    if (token != node->czxid)
        world_violate(w, CHECK_TOKENS, "the token of %s is %llx", node->text,
                      (unsigned long long)token);
    bool is_shared = checks_is_shared(h->kind);
    int64_t last = is_shared ? w->last_token[h->name].exclusive : w->last_token[h->name].any;
    bool is_handed_on = note_turn(w, client, h, token);
    if (token <= last && !node->was_uprooted && !is_handed_on)
        world_violate(w, CHECK_TOKENS, "token %llx after %llx", (unsigned long long)token,
                      (unsigned long long)last);
    checks_note_latest(&w->last_token[h->name], token, is_shared);
    if (own != NULL && port_session_id(own->session) != e->session_id)
        world_violate(w, CHECK_BACKING, "client %d is granted %c on an earlier session's node",
                      client, 'a' + h->name);
    for (int i = 0; i < w->truth.count; i++)
        if (checks_keeps_out(w, &w->truth.nodes[i], node))
            world_violate(w, CHECK_ORDER, "%s is granted, %s was first", node->text,
                          w->names[w->truth.nodes[i].name].text);
    int64_t left_ns = e->lease.certain_until_ns - client_clock(&w->list[client]);
    if (left_ns < w->timeout_ns / 40)
        world_violate(w, CHECK_LOSS, "client %d is granted %c for %lld ns", client, 'a' + h->name,
                      (long long)left_ns);
    w->figures->shared += h->kind == ZKLI_KIND_READ && is_beside(w, h);
    permits_check_grant(w, h, node);
    bool has_waited = current_hold(h)->member->core.told_position != 0; /* in this place */
    /* A node that is handed on is as good as it was: until it is watched, only that could tell. */
    const struct port *p = &w->ports[w->list[client].port];
    bool is_known = p->told_zxid >= node->gone_zxid || p->begun_zxid >= node->gone_zxid;
    if (own == NULL && (node->is_end_told || (is_known && !is_handed_on)))
        world_violate(w, CHECK_ORDER, "%s is granted, and its end could be known", node->text);
    w->figures->hand_offs += has_waited && !is_handed_on;
}

static bool has_hold(const zkl_hold *holds, zkl_hold hold) {
    for (int i = 0; i <= THREADS_MAX; i++)
        if (holds[i] == hold)
            return true;
    return false;
}

static void check_loss(struct world *w, int client, const struct handle *h,
                       const zkl_event *event) {
    const struct client *c = &w->list[client];
    const struct name *node = &w->names[h->node];
    bool has_reason = h->seen != event->hold || h->part == event->hold || node->gone_zxid != 0 ||
                      node->broken_zxid != 0 || client_clock(c) >= h->blind_until_ns ||
                      c->is_closing || !c->was_certain || !is_certain(c);
    if (!has_reason)
        world_violate(w, CHECK_LOSS, "client %d is told that %c is lost, without a reason", client,
                      'a' + h->name);
    if (has_hold(h->lost, event->hold))
        world_violate(w, CHECK_LOSS, "client %d is told twice that a hold of %c is lost", client,
                      'a' + h->name);
    if (has_hold(h->released, event->hold))
        world_violate(w, CHECK_LOSS, "client %d is told that a hold of %c is lost that it released",
                      client, 'a' + h->name);
}

void checks_released(struct handle *h, zkl_hold hold) {
    h->released[h->released_count++ % (THREADS_MAX + 1)] = hold;
}

/* One of several whose caller is yet to wake up: with any of the others it may be taken back. Or
 * its caller is yet to be told: when its time is over it is. (That which a writer's thread has
 * inside is granted at once.) */
static void note_part(struct handle *h, zkl_hold hold) {
    const struct zkli_acquire *acquire = zkli_lock_find_hold(h->lock, hold)->acquire;
    bool may_be_taken = acquire != NULL &&
                        (acquire->all != NULL || acquire->operation.completion != NULL);
    if (acquire != NULL)
        h->part = may_be_taken ? hold : 0;
}

void checks_event(struct world *w, struct handle *handle, const zkl_event *event) {
    int client = (int)(handle->client - w->list);
    switch (event->type) {
    case ZKL_EVENT_REQUEUED:
        w->figures->requeues++;
        break;
    case ZKL_EVENT_HELD:
        TRACE(w, "client %d holds %c", client, 'a' + handle->name);
        note_part(handle, event->hold);
        if (is_outermost(zkli_lock_find_hold(handle->lock, event->hold)))
            check_grant(w, client, handle);
        break;
    case ZKL_EVENT_LOST:
        TRACE(w, "client %d has lost %c", client, 'a' + handle->name);
        w->figures->losses++;
        check_loss(w, client, handle, event);
        scene_check_kept(w, client, handle, event->hold);
        handle->lost[handle->lost_count++ % (THREADS_MAX + 1)] = event->hold;
        break;
    case ZKL_EVENT_WANTED:
        checks_wanted(w, client, handle, event);
        break;
    case ZKL_EVENT_QUEUED:
    case ZKL_EVENT_SUSPENDED:
    case ZKL_EVENT_RESUMED:
        break;
    }
}

void checks_hold(struct world *w, int client, int handle, zkl_hold hold) {
    const struct handle *h = &w->list[client].handles[handle];
    if (!has_hold(h->lost, hold) && zkli_lock_find_good_hold(h->lock, hold) == NULL)
        world_violate(w, CHECK_LOSS, "a hold of client %d on %c ended without a word", client,
                      'a' + h->name);
}

/* ---- Commits ---- */

static void note_gone(struct world *w, int number, const struct txn *txn) {
    struct name *node = &w->names[number];
    node->gone_zxid = txn->zxid;
    node->was_uprooted = txn->by_operator;
    permits_committed(w, number, txn->zxid, 0);
    if (txn->type != TXN_DELETE || txn->session == 0 || node->lock == NONE)
        return;
    bool is_broken = node->broken_zxid != 0 || node->is_to_end;
    if (w->session_client[txn->session] != node->client && !is_broken)
        world_violate(w, CHECK_DELETES, "client %d deletes %s of client %d",
                      w->session_client[txn->session], node->text, node->client);
}

static void note_created(struct world *w, const struct txn *txn) {
    struct name *node = &w->names[txn->name];
    node->czxid = node->place = txn->zxid;
    node->made_ns = w->now_ns;
    node->known_ns = node->held_ns = node->since_ms = 0;
    node->asked_zxid = node->buried_zxid = node->broken_zxid = node->gone_zxid = 0;
    node->is_known = node->is_let_be = node->is_to_end = node->was_uprooted = false;
    node->is_end_told = node->is_turn_told = false;
    node->turned_into = node->woken = 0;
    node->wakes = 0;
    permits_committed(w, txn->name, txn->zxid, txn->data);
    node->client = txn->session == 0 ? NONE : w->session_client[txn->session];
    checks_owner(w, txn);
}

static struct zkli_member *member_of(const struct client *c, const char *child) {
    const struct zkli_list *head = &c->session.engine->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        if (strcmp(m->core.node, child) == 0 || zkli_contender_has_reader(&m->core, child))
            return m;
    }
    return NULL;
}

/* A writer has become a reader: set, create, delete. */
static void note_turned(struct world *w, const struct txn *txn) {
    struct name *reader = &w->names[txn->parts[1].name];
    struct name *writer = &w->names[txn->parts[2].name];
    reader->place = writer->place;
    reader->buried_zxid = writer->asked_zxid;
    w->figures->buried += writer->asked_zxid != 0;
    writer->turned_into = txn->parts[1].name;
    w->figures->turns++;
    const struct client *c = &w->list[reader->client];
    bool is_present = c->is_open && port_session_id(txn->session) == c->session.engine->session_id;
    if (is_present && member_of(c, strrchr(reader->text, '/') + 1) == NULL)
        world_violate(w, CHECK_GHOSTS, "a transaction makes %s, and nobody knows it", reader->text);
}

/* Of a directory, or of a contender's node. */
static void note_set(struct world *w, const struct txn *txn, bool turns) {
    TRACE(w, "  set %s to %s", w->names[txn->name].text, w->texts[txn->data].bytes);
    permits_committed(w, txn->name, txn->zxid, txn->data);
    checks_asked(w, txn);
    breaks_committed(w, txn);
    if (!turns)
        asks_committed(w, txn);
    bool says_since = checks_said_since(w, txn);
    w->figures->touches += w->names[txn->name].kind == ZKLI_KIND_LEASE && !says_since;
}

void checks_committed(struct world *w, const struct txn *txn, const struct tree *before) {
    TRACE(w, "committed %llx: %s %s session %d%s", (unsigned long long)txn->zxid,
          txn->type == TXN_CREATE   ? "create"
          : txn->type == TXN_DELETE ? "delete"
          : txn->type == TXN_SET    ? "set"
          : txn->type == TXN_MULTI  ? "several:"
          : txn->type == TXN_OPEN   ? "open"
          : txn->type == TXN_CLOSE  ? "close"
                                    : "nothing",
          w->names[txn->name].text, txn->session, txn->by_operator ? ", by an operator" : "");
    if (txn->type == TXN_CREATE) {
        note_created(w, txn);
    } else if (txn->type == TXN_MULTI) {
        bool turns = parts_turn(w, txn->parts, txn->part_count);
        for (int i = 0; i < txn->part_count; i++) {
            struct txn one = txn_part(txn, i);
            if (one.type == TXN_SET && !world_has_text(w, one.name))
                checks_write_committed(w, &one, txn->parts[0].name);
            else if (one.type != TXN_SET)
                checks_committed(w, &one, before);
            else
                note_set(w, &one, turns);
        }
        if (turns)
            note_turned(w, txn);
    } else if (txn->type == TXN_DELETE) {
        note_gone(w, txn->name, txn);
    } else if (txn->type == TXN_CLOSE) {
        for (int i = 0; i < before->count; i++)
            if (before->nodes[i].session == txn->session)
                note_gone(w, before->nodes[i].name, txn);
    }
}

/* ---- Quiet ---- */

/* Every node has a contender that knows it. */
static void check_nodes(struct world *w) {
    for (int i = 0; i < w->truth.count; i++) {
        const struct znode *node = &w->truth.nodes[i];
        const struct name *name = &w->names[node->name];
        if (name->lock == NONE || node->session == 0 || name->client == NONE)
            continue;
        const struct client *c = &w->list[name->client];
        if (!c->is_open || port_session_id(node->session) != c->session.engine->session_id)
            continue; /* it ends with its session */
        if (member_of(c, strrchr(name->text, '/') + 1) == NULL)
            world_violate(w, CHECK_GHOSTS, "nobody knows %s", name->text);
    }
}

static bool is_kept_out(const struct world *w, const struct znode *own) {
    for (int i = 0; i < w->truth.count; i++)
        if (checks_keeps_out(w, &w->truth.nodes[i], &w->names[own->name]))
            return true;
    return permits_are_out(w, &w->names[own->name]);
}

/* Every contender that thinks it has a node has it, and waits only if it has to. */
static void check_members(struct world *w, int client) {
    const struct client *c = &w->list[client];
    const struct zkli_list *head = &c->session.engine->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        char path[ZKLI_PATH_MAX];
        bool waits = zkli_contender_rests(&m->core);
        if (m->group != NULL)
            checks_group(w, client, m->group);
        if (!waits && m->core.state != ZKLI_HELD && m->group == NULL) {
            world_violate(w, CHECK_LIVENESS,
                          "a contender of client %d is still %s when all is well", client,
                          zkli_contender_state_name(m->core.state));
            continue;
        }
        bool has_node = zkli_member_path(m, path, sizeof(path));
        const struct znode *own = has_node ? tree_find(&w->truth, world_name(w, path)) : NULL;
        if (has_node && own == NULL)
            world_violate(w, CHECK_GHOSTS, "client %d thinks it has %s", client, path);
        if (own != NULL && waits && !is_kept_out(w, own))
            world_violate(w, CHECK_ADMISSION, "client %d waits at %s for nobody", client, path);
    }
}

void checks_frozen(struct world *w) {
    check_nodes(w);
    for (int i = 0; i < w->clients; i++)
        if (w->list[i].is_open) {
            check_members(w, i);
            checks_places(w, i);
        }
}

/* What has just been committed its server may not have applied yet. */
static void check_watches(struct world *w, int conn) {
    const struct conn *c = &w->conns[conn];
    for (int kind = 0; kind < WATCH_KINDS; kind++)
        for (int i = 0; i < c->watches[kind].count; i++)
            if (tree_find(&w->servers[c->server].tree, c->watches[kind].names[i]) == NULL)
                world_violate(w, CHECK_WATCHES, "client %d watches %s, which is not there",
                              c->client, w->names[c->watches[kind].names[i]].text);
}

void checks_drained(struct world *w) {
    check_nodes(w);
    for (int i = 0; i < w->clients; i++) {
        const struct client *c = &w->list[i];
        if (!c->is_open)
            continue;
        if (!actors_are_idle(w, i))
            world_violate(w, CHECK_LIVENESS, "somebody at client %d waits, though nobody holds", i);
        else if (client_has_members(w, i))
            world_violate(w, CHECK_GHOSTS, "client %d has not deleted all it had", i);
    }
    for (int i = 0; i < w->conns_used; i++)
        if (w->conns[i].state == CONN_OPEN && !w->conns[i].is_closed)
            check_watches(w, i);
}

void checks_end(struct world *w) {
    for (int i = 0; i < w->truth.count; i++) {
        const struct znode *node = &w->truth.nodes[i];
        if (w->names[node->name].lock != NONE)
            world_violate(w, CHECK_GHOSTS, "%s is left when everybody has gone",
                          w->names[node->name].text);
    }
}
