/*
 * succession - sessions that are opened to take the place of one that rests: whether, and when.
 * Not here: how one takes that place (life.c).
 *
 * A session that rests loses its lease. To prove another takes some time, longer than to open
 * another session, whose creation starts the leader's clock. So a contender that comes then waits
 * until another session has taken the place of this one. That is done when nothing of this session
 * is left on the servers. Meanwhile this one's heartbeats go on, should there be no other.
 *
 * A session may be long in the making, because servers are slow, or because the one that was asked
 * is silent. While heartbeats of this session are answered quickly, it is worth asking for another,
 * beside that one. Whatever comes, a contender goes on in the end: in a session that is late, or in
 * this one. Where no other session is to be had, this one is kept, and rests no more, until one is.
 */
#include "engine/engine_internal.h"

#include <assert.h>

/* In timeouts: after so many, and up to so many more, another session is asked for again. */
#define KEPT_TIMEOUTS 16
#define KEPT_MORE_TIMEOUTS 4

static int64_t timeout_ns(const struct zkli_engine *e) {
    return e->timeout_ms * ZKLI_NS_PER_MS;
}

/* ---- Sessions that are asked for ---- */

/* Sessions that failed together do not all try again together. */
static void keep(struct zkli_engine *e) {
    uint32_t random;
    e->host->random(e->host_arg, &random, sizeof(random));
    e->is_kept = true;
    e->kept_until_ns = e->now_ns + KEPT_TIMEOUTS * timeout_ns(e) +
                       (timeout_ns(e) >> 16) * (random & 0xffff) * KEPT_MORE_TIMEOUTS;
}

static void close_all(struct zkli_engine *e) {
    struct zkli_succession *all = &e->succession;
    while (all->count > 0)
        e->host->close_port(e->host_arg, all->list[--all->count].port);
}

void zkli_succession_end(struct zkli_engine *e) {
    close_all(e);
    zkli_members_step_all(e, ZKLI_EV_LEASE);
}

/* None is to be had. The lease of this session has to do, when its heartbeats prove enough. */
static void fail(struct zkli_engine *e) {
    zkli_engine_log(e, ZKL_LOG_WARN,
                    "no other session is to be had in place of one whose lease has run out: it is "
                    "kept");
    keep(e);
    zkli_succession_end(e);
}

static void ask(struct zkli_engine *e) {
    struct zkli_succession *all = &e->succession;
    struct zkli_port *port = e->host->new_port(e->host_arg);
    all->asked_ns = e->now_ns;
    all->asks++;
    if (port == NULL && all->count == 0)
        fail(e);
    if (port == NULL)
        return;
    assert(all->count < ZKLI_SUCCESSORS_MAX); /* no more are asked for in a row */
    all->list[all->count++] = (struct zkli_successor){.port = port, .begun_ns = e->now_ns};
    e->host->open_port(e->host_arg, port);
}

static void begin(struct zkli_engine *e) {
    e->succession.begun_ns = e->now_ns;
    e->succession.last_took_ns = INT64_MAX;
    e->succession.were_slow = false;
    e->succession.asks = 0;
    ask(e);
}

/* In place of all that were asked for. The new one first: closing may take its time. */
static void ask_anew(struct zkli_engine *e) {
    const struct zkli_succession last = e->succession;
    e->succession.count = 0;
    ask(e);
    for (size_t i = 0; i < last.count; i++)
        e->host->close_port(e->host_arg, last.list[i].port);
}

static bool is_better(const struct zkli_successor *a, const struct zkli_successor *b) {
    return a->is_connected != b->is_connected ? a->is_connected : a->begun_ns > b->begun_ns;
}

/* One that is connected, if there is any; of several the one that was asked for last. NULL: there
 * is none. */
static struct zkli_successor *best_of(struct zkli_succession *all) {
    struct zkli_successor *best = all->count > 0 ? &all->list[0] : NULL;
    for (size_t i = 1; i < all->count; i++)
        if (is_better(&all->list[i], best))
            best = &all->list[i];
    return best;
}

static struct zkli_port *remove_one(struct zkli_succession *all, struct zkli_successor *one) {
    struct zkli_port *port = one->port;
    *one = all->list[--all->count];
    return port;
}

/* ---- Whether one will do ---- */

/* A hold could not begin with what is left of its lease. */
static bool is_late(const struct zkli_engine *e, const struct zkli_successor *one) {
    struct zkli_lease lease;
    zkli_lease_begin(&lease, timeout_ns(e), one->begun_ns);
    return zkli_lease_ample_until(&lease, e->now_ns) <=
           e->now_ns + zkli_lease_quickest_ns(&e->lease);
}

/* A first proof takes half of a timeout and some round trips: before the lease would lapse. */
static bool has_time_to_prove(const struct zkli_engine *e, const struct zkli_successor *one) {
    int64_t proved_ns = e->now_ns + timeout_ns(e) / 2 + 4 * zkli_lease_quickest_ns(&e->lease);
    return proved_ns < one->begun_ns + timeout_ns(e) - zkli_lease_margin_ns(timeout_ns(e));
}

/* So quickly that a hold can begin. */
static bool is_quick(const struct zkli_engine *e, int64_t took_ns) {
    return took_ns <= timeout_ns(e) / 9;
}

/* And twice as quickly as that one has come so far, or more. */
static bool commits_quickly(const struct zkli_engine *e, const struct zkli_successor *one) {
    int64_t took_ns = e->now_ns - e->lease.touched_ns;
    return zkli_is_connected(e) && took_ns <= (e->now_ns - one->begun_ns) / 2 &&
           is_quick(e, took_ns);
}

/* No node is left on the servers, and no reply is awaited but a heartbeat's. */
static bool is_clear(const struct zkli_engine *e) {
    const struct zkli_list *head = &e->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (ZKLI_CONTAINER(link, struct zkli_member, link)->core.state != ZKLI_IDLE)
            return false;
    return e->in_flight == zkli_heartbeat_is_in_flight(e);
}

/* None is connected. The server that was asked last may be silent, or refuse: the client library
 * picks one at random the next time. Where this session's server is slow, perhaps all are: then
 * there is one more in each timeout. */
static void await_connection(struct zkli_engine *e, const struct zkli_successor *newest) {
    struct zkli_succession *all = &e->succession;
    bool is_last = all->asks >= ZKLI_SUCCESSORS_MAX, is_quick = commits_quickly(e, newest);
    int64_t patience_ns = zkli_lease_period_ns(timeout_ns(e));
    if (!is_quick)
        patience_ns = timeout_ns(e);
    else if (is_last)
        patience_ns = timeout_ns(e) / 2;
    if (e->now_ns - all->asked_ns < patience_ns || !zkli_is_connected(e))
        return;
    if (is_last && is_quick) {
        fail(e);
        return;
    }
    if (is_last) {
        all->asks = 0;
        ask_anew(e);
    } else {
        ask(e);
    }
}

/* Whether it is to be taken all the same. Another one may come sooner. */
static bool is_to_be_taken_late(struct zkli_engine *e, const struct zkli_successor *one) {
    struct zkli_succession *all = &e->succession;
    if (!zkli_is_connected(e))
        return true;
    if (!commits_quickly(e, one)) { /* perhaps only this session's server is slow */
        bool is_time = e->now_ns - all->asked_ns >= timeout_ns(e);
        if (is_time && all->asks >= ZKLI_SUCCESSORS_MAX)
            return true; /* all are, or this one's is for long */
        if (is_time)
            ask_anew(e);
        return false;
    }
    /* Twice as soon as the one before: it had to wait until this session's last nodes were gone. */
    bool came_sooner = one->took_ns <= all->last_took_ns / 2;
    /* Once only: where servers are now slow and now quick, that is so again and again. */
    bool were_slow = !all->were_slow && !is_quick(e, zkli_lease_slowest_ns(&e->lease));
    if (came_sooner || were_slow) {
        all->last_took_ns = one->took_ns;
        all->were_slow = all->were_slow || !came_sooner;
        ask_anew(e);
        return false;
    }
    bool has_time = has_time_to_prove(e, one);
    if (!has_time)
        fail(e);
    return has_time;
}

/* Something of this session is left, while another is ready. */
static void await_its_end(struct zkli_engine *e) {
    bool is_waited_for = !zkli_list_is_empty(&e->members);
    if (!zkli_is_connected(e)) /* perhaps its connection is the one that this session lacks */
        zkli_succession_end(e);
    else if (!is_waited_for && e->now_ns - e->succession.begun_ns >= timeout_ns(e) / 2)
        fail(e);
}

static bool is_ready(struct zkli_engine *e) {
    struct zkli_successor *best = best_of(&e->succession);
    if (!best->is_connected) {
        await_connection(e, best);
        return false;
    }
    if (!is_clear(e)) {
        await_its_end(e);
        return false;
    }
    return !is_late(e, best) || is_to_be_taken_late(e, best);
}

/* ---- What goes on ---- */

/* Nobody waits for it: to see whether there is one now. */
static bool is_to_be_tried_again(const struct zkli_engine *e) {
    return e->is_kept && !e->keeps_session && !e->bears_nodes && !zkli_session_is_lent(e) &&
           zkli_list_is_empty(&e->members) && e->now_ns >= e->kept_until_ns;
}

static void begin_if_wanted(struct zkli_engine *e, bool is_wanted) {
    if (is_to_be_tried_again(e) && zkli_is_connected(e))
        begin(e);
    else if (is_wanted && !zkli_is_to_be_replaced(e))
        zkli_members_step_all(e, ZKLI_EV_LEASE);
    else if (is_wanted && zkli_is_connected(e))
        begin(e);
}

bool zkli_succession_is_due(struct zkli_engine *e) {
    bool is_wanted = e->is_successor_wanted;
    e->is_successor_wanted = false;
    if (e->is_draining)
        return false;
    if (e->succession.count == 0) {
        begin_if_wanted(e, is_wanted);
        return false;
    }
    if (zkli_is_to_be_replaced(e) || is_to_be_tried_again(e))
        return is_ready(e);
    if (e->is_kept) /* a contender has come: it does not wait, and the next pause is too short */
        keep(e);
    if (e->is_kept || e->now_ns - e->succession.begun_ns < timeout_ns(e) / 2)
        zkli_succession_end(e);
    else
        fail(e); /* it took longer than to prove this one's lease */
    return false;
}

struct zkli_successor zkli_succession_take(struct zkli_engine *e) {
    struct zkli_successor *best = best_of(&e->succession);
    struct zkli_successor taken = {.port = NULL};
    e->is_kept = false;
    e->late_until_ns = 0;
    if (best == NULL)
        return taken;
    if (best->is_connected && is_late(e, best)) /* another would be as late */
        e->late_until_ns = e->now_ns + timeout_ns(e);
    taken = *best;
    (void)remove_one(&e->succession, best);
    close_all(e);
    return taken;
}

void zkli_succession_note_state(struct zkli_engine *e, const struct zkli_port *port,
                                enum zkli_port_state state) {
    struct zkli_succession *all = &e->succession;
    struct zkli_successor *one = all->list;
    while (one < &all->list[all->count] && one->port != port)
        one++;
    if (one == &all->list[all->count])
        return; /* it is closed */
    bool was_connected = one->is_connected;
    one->is_connected = state == ZKLI_PORT_CONNECTED;
    if (one->is_connected && !was_connected)
        one->took_ns = e->now_ns - one->begun_ns;
    if (state == ZKLI_PORT_CONNECTED || state == ZKLI_PORT_CONNECTING)
        return;
    e->host->close_port(e->host_arg, remove_one(all, one));
    if (all->count == 0)
        fail(e);
}

void zkli_engine_hosts_changed(struct zkli_engine *e) {
    e->is_kept = false;
    if (e->succession.count > 0)
        zkli_succession_end(e); /* who waits for one asks again */
}
