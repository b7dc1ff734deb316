/*
 * succession - a session that is opened to take the place of one that rests: whether, and when.
 * Not here: how it takes that place (life.c).
 *
 * A session that rests loses its lease. To prove another takes some time, longer than to open
 * another session, whose creation starts the leader's clock. So a contender that comes then waits
 * until another session has taken the place of this one. That is done when nothing of this session
 * is left on the servers. Meanwhile this one's heartbeats go on, should there be no other.
 */
#include "engine/engine_internal.h"

static void open_successor(struct zkli_engine *e) {
    e->successor = (struct zkli_successor){
        .port = e->host->new_port(e->host_arg),
        .begun_ns = e->now_ns,
    };
    if (e->successor.port == NULL)
        zkli_succession_failed(e);
    else
        e->host->open_port(e->host_arg, e->successor.port);
}

static void renew_successor(struct zkli_engine *e) {
    e->host->close_port(e->host_arg, e->successor.port);
    open_successor(e);
}

struct zkli_port *zkli_succession_take(struct zkli_engine *e) {
    struct zkli_port *port = e->successor.port;
    e->begun_ns = e->successor.begun_ns;
    e->successor = (struct zkli_successor){.port = NULL};
    return port;
}

void zkli_succession_end(struct zkli_engine *e) {
    struct zkli_port *port = e->successor.port;
    e->successor = (struct zkli_successor){.port = NULL};
    if (port != NULL)
        e->host->close_port(e->host_arg, port);
    zkli_members_step_all(e, ZKLI_EV_LEASE);
}

void zkli_succession_failed(struct zkli_engine *e) {
    e->no_successor_until_ns = e->now_ns + e->lease.timeout_ns;
    zkli_succession_end(e);
}

/* A hold could not begin with what is left of its lease. */
static bool is_late(const struct zkli_engine *e) {
    struct zkli_lease lease;
    zkli_lease_begin(&lease, e->lease.timeout_ns, e->successor.begun_ns);
    return zkli_lease_ample_until(&lease, e->now_ns) <= e->now_ns;
}

/* Twice as quickly as that one was made, or more. */
static bool commits_quickly(const struct zkli_engine *e) {
    return e->now_ns - e->lease.touched_ns <= (e->now_ns - e->successor.begun_ns) / 2;
}

/* No node is left on the servers, and no reply is awaited but a heartbeat's. */
static bool is_clear(const struct zkli_engine *e) {
    const struct zkli_list *head = &e->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (ZKLI_CONTAINER(link, struct zkli_member, link)->core.state != ZKLI_IDLE)
            return false;
    return e->in_flight == zkli_heartbeat_is_in_flight(e);
}

bool zkli_succession_is_due(struct zkli_engine *e) {
    bool is_wanted = e->is_successor_wanted;
    e->is_successor_wanted = false;
    bool is_of_use = zkli_is_to_be_replaced(e);
    if (e->is_draining)
        return false;
    if (e->successor.port == NULL) {
        if (is_wanted && is_of_use && zkli_is_connected(e))
            open_successor(e);
        else if (is_wanted && !is_of_use)
            zkli_members_step_all(e, ZKLI_EV_LEASE);
        return false;
    }
    if (!is_of_use) {
        zkli_succession_end(e);
        return false;
    }
    if (!e->successor.is_connected)
        return false;
    if (is_late(e)) {
        if (commits_quickly(e))
            renew_successor(e);
        return false;
    }
    return is_clear(e);
}

void zkli_succession_note_state(struct zkli_engine *e, enum zkli_port_state state) {
    e->successor.is_connected = state == ZKLI_PORT_CONNECTED;
    if (state != ZKLI_PORT_CONNECTED && state != ZKLI_PORT_CONNECTING)
        zkli_succession_failed(e);
}

void zkli_engine_hosts_changed(struct zkli_engine *e) {
    if (e->successor.port != NULL)
        zkli_succession_end(e); /* who waits for one asks again */
}
