/*
 * checks_linger - what must hold of nodes that stay when their holds are given up, or the waits for
 * them: they are of use to their process, and in nobody's way; see sim.h.
 */
#include "sim/sim.h"

#include <string.h>

/* So long may a place be kept for which nobody waits, on a clock that is wrong, by a thread that
 * comes to run late. */
#define KEPT_NS (200 * MS)
/* So late may a timer go off, or a process that goes on come to look at its clock. */
#define LATE_NS (50 * MS)

/* Once the library has been told that the node is wanted, it is handed on at most as often as was
 * asked for. And only on a connection, by which it would be told. */
void checks_lingered(struct world *w, int client, struct handle *h, const struct zkli_member *m) {
    bool is_wanted = m->core.is_wanted;
    w->figures->lingered += h->turns > 0;
    h->wanted_turns = is_wanted && h->turns > 0 ? h->wanted_turns + 1 : 0;
    if (h->wanted_turns > h->turns_max)
        world_violate(w, CHECK_LINGER, "client %d goes on with %c, and was told that it is wanted",
                      client, 'a' + h->name);
    if (h->turns > 0 && !zkli_engine_is_connected(m->dir->engine))
        world_violate(w, CHECK_LINGER, "client %d goes on with %c, and is not connected", client,
                      'a' + h->name);
}

/* ---- A node that nobody holds by ---- */

/* Of the others that have a node behind this one, that which came first; NULL: there is none. */
static const struct name *first_behind(const struct world *w, const struct name *own) {
    const struct name *first = NULL;
    for (int i = 0; i < w->truth.count; i++) {
        const struct name *other = &w->names[w->truth.nodes[i].name];
        bool is_behind = other->lock == own->lock && other->kind != ZKLI_KIND_NONE &&
                         other->place > own->place;
        if (is_behind && (first == NULL || other->czxid < first->czxid))
            first = other;
    }
    return first;
}

/*
 * Another contender has queued behind it. The owner's watch on the children stands since a listing
 * that showed none behind. A server tells of what it applies in the order of the log, before it
 * answers anything newer. So what delays the event delays the answers behind it as well: a silent
 * or stalled server, a follower that lags, a thread that is late. An owner that was told anything
 * newer than the other's node was told of that node before, in the same order. Or it has had a new
 * connection, which ends an idle node, too. (A transaction of several locks fires several events,
 * which come one after the other.)
 *
 * An owner that is told nothing proves no lease, and an idle node ends with the lease. That ends
 * less than T after the last heartbeat that was answered had been sent. If that heartbeat was sent
 * after the other's node was made, it was committed later, and its answer came behind the event. So
 * T is the longest, whatever fails. The client's clock goes wrong by less than the lease's margin.
 * A process that stands still looks when it goes on.
 */
static void check_followed(struct world *w, int client, const char *path, bool is_late) {
    const struct client *c = &w->list[client];
    const struct name *other = first_behind(w, &w->names[world_name(w, path)]);
    if (other == NULL)
        return;
    if (w->ports[c->port].told_zxid > other->czxid)
        world_violate(w, CHECK_LINGER, "client %d keeps %s idle, and has been told of %s", client,
                      path, other->text);
    if (!is_late && w->now_ns - other->made_ns > w->timeout_ns + LATE_NS)
        world_violate(w, CHECK_LINGER, "client %d has kept %s idle for T, with %s behind it",
                      client, path, other->text);
}

/*
 * A try has marked the node. The owner is told as above that the node has changed, but not how. It
 * reads the node, which sets the watch again. If that read is refused, or its answer lost, the next
 * heartbeat is followed by another read. So a heartbeat that is sent after the next one was
 * acknowledged comes back behind the answer. (Where memory is short, the read is refused again and
 * again.)
 */
static void check_asked(struct world *w, int client, struct handle *h, const char *path) {
    const struct client *c = &w->list[client];
    const struct zkli_lease *lease = &c->session.engine->lease;
    const struct name *own = &w->names[world_name(w, path)];
    bool is_told = own->asked_zxid != 0 && w->ports[c->port].told_zxid > own->asked_zxid;
    if (!is_told || c->refused_percent > 0) {
        h->asked_ns = 0;
    } else if (h->asked_ns == 0) {
        h->asked_ns = client_clock(c);
        h->asked_beats = 0;
    } else if (lease->touched_ns > h->asked_ns) {
        h->asked_ns = client_clock(c);
        if (++h->asked_beats > 1)
            world_violate(w, CHECK_LINGER, "client %d keeps %s idle, and was asked to let go",
                          client, path);
    }
}

/* It stays for as long as was asked for, on the client's clock. */
static void check_over(struct world *w, int client, const struct handle *h, const char *path) {
    int64_t idle_ns = client_clock(&w->list[client]) - h->idle_ns;
    if (idle_ns > h->lock->linger_ms * MS + LATE_NS)
        world_violate(w, CHECK_LINGER, "client %d keeps %s idle for %lld ms instead of %d", client,
                      path, (long long)(idle_ns / MS), h->lock->linger_ms);
}

void checks_idle(struct world *w, int client, struct handle *h) {
    const struct client *c = &w->list[client];
    const struct zkli_member *m = c->is_open && h->lock != NULL ? h->lock->idle : NULL;
    char path[ZKLI_PATH_MAX];
    if (m == NULL || !zkli_member_path(m, path, sizeof(path))) {
        h->idle_ns = 0;
        return;
    }
    if (h->idle_ns == 0) {
        h->idle_ns = client_clock(c);
        h->asked_ns = 0;
        w->figures->idle++;
    }
    bool is_late = c->is_paused || w->now_ns - c->woke_ns < LATE_NS;
    check_followed(w, client, path, is_late);
    check_asked(w, client, h, path);
    if (!is_late)
        check_over(w, client, h, path);
}

/* ---- A try that finds it ---- */

/* By another client, or by the same for another handle. */
void checks_asked(struct world *w, const struct txn *txn) {
    struct name *node = &w->names[txn->name];
    const struct text *text = &w->texts[txn->data];
    struct zkli_node_data data;
    bool is_asked = zkli_node_data_parse(&data, text->bytes, (size_t)text->length) && data.is_asked;
    if (!is_asked || node->asked_zxid != 0)
        return;
    node->asked_zxid = txn->zxid;
    w->figures->asked++;
}

void checks_try(const struct world *w, int client, struct actor *a) {
    const struct client *c = &w->list[client];
    const struct port *p = &w->ports[c->port];
    bool is_amiss = w->is_throttling || c->refused_percent > 0;
    if (c->port == NONE || p->state != PORT_CONNECTED || p->conn == NONE || is_amiss)
        return;
    a->tried = (struct tried){p->last_zxid, p->conn, p->conn_life, w->disturbances};
}

/* Of the contenders, the first that may be in a listing that shows all up to this one's beginning.
 * NULL: it cannot be said. */
static const struct name *first_listed(const struct world *w, int lock, int64_t zxid) {
    const struct name *first = NULL;
    for (int i = 0; i < w->name_count; i++) {
        const struct name *name = &w->names[i];
        bool may_be_listed = name->lock == lock && name->kind != ZKLI_KIND_NONE &&
                             name->czxid != 0 && (name->gone_zxid == 0 || name->gone_zxid > zxid);
        if (may_be_listed && (first == NULL || name->place < first->place))
            first = name;
    }
    bool is_there = first != NULL && first->gone_zxid == 0 && first->czxid <= zxid;
    return is_there ? first : NULL;
}

/*
 * A try that says BUSY leaves no node behind. If the first in the queue may be idle, its owner has
 * to be asked to let go, or every try would say BUSY. The try certainly saw that node first if it
 * was first from the try's beginning on, and if the connection lasted. Near the counter's end the
 * names alone do not tell who is first.
 */
void checks_tried(struct world *w, int client, const struct actor *a, zkl_err err) {
    const struct client *c = &w->list[client];
    const struct handle *h = &c->handles[a->handle];
    const struct port *p = &w->ports[c->port];
    if (err != ZKL_BUSY || a->tried.zxid == 0 || a->tried.disturbances != w->disturbances ||
        p->conn != a->tried.conn || p->conn_life != a->tried.conn_life || w->counter_start != 0)
        return;
    const struct name *first = first_listed(w, h->name, a->tried.zxid);
    bool is_asked_for = first != NULL && first->client != client &&
                        zkli_kind_waits_for(h->kind, first->kind) &&
                        zkli_node_name_may_be_kept(strrchr(first->text, '/') + 1);
    if (!is_asked_for)
        return;
    w->figures->tried++;
    if (first->asked_zxid == 0)
        world_violate(w, CHECK_LINGER, "client %d finds %s busy, and does not ask for it", client,
                      first->text);
}

/* ---- A place that nobody waits by ---- */

/* Nobody comes back for a place after a while. */
void checks_places(struct world *w, int client) {
    for (int i = 0; i < w->handles; i++) {
        const struct handle *h = &w->list[client].handles[i];
        const struct zkl_lock *l = h->lock;
        if (l != NULL && l->member != NULL && zkli_list_is_empty(&l->acquires) &&
            w->now_ns - h->waited_ns > KEPT_NS)
            world_violate(w, CHECK_LINGER, "client %d keeps a place of %c, and nobody waits by it",
                          client, 'a' + h->name);
    }
}
