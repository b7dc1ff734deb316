/*
 * sight - whether a member would be told of a mark on its node, and until when its hold is certain
 * if it would not.
 *
 * zkl_break marks a node, and deletes it T after that was committed. A server tells what it has
 * applied in the order of the log. So a heartbeat that is answered behind the mark is answered
 * behind the word of the watch, and a hold whose watch stands is certain for less than T after the
 * mark. While no watch stands the hold is blind: only those heartbeats count that were answered
 * when it began to be. For a mark that it does not know was committed later, after they were sent.
 */
#include "engine/engine_internal.h"

bool zkli_sight_is_clear(const struct zkli_member *m) {
    return m->core.own_watch == ZKLI_WATCHED && !m->is_stale && m->core.state != ZKLI_TURNING;
}

void zkli_sight_note(struct zkli_member *m) {
    struct zkli_engine *e = m->dir->engine;
    bool has_node = m->core.node[0] != '\0', is_turning = m->core.state == ZKLI_TURNING;
    if (!has_node || zkli_sight_is_clear(m)) {
        m->blind_until_ns = ZKLI_NEVER;
        m->is_closed = m->is_stale = false;
    } else if (m->blind_until_ns == ZKLI_NEVER && (!m->is_closed || is_turning)) {
        m->blind_until_ns = e->lease.certain_until_ns;
        m->is_closed = false; /* a reader's node is another */
    }
    bool is_hold = zkli_contender_holds(&m->core);
    zkli_timer_set(&e->blind, &m->blind_end, is_hold ? m->blind_until_ns : ZKLI_NEVER);
}

/* The client library sets all watches again on a new connection. But it does not look at what came
 * of that: a server may refuse it, or there may be no memory for it. */
void zkli_sights_doubt(struct zkli_engine *e) {
    for (struct zkli_list *link = e->members.next; link != &e->members; link = link->next) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        m->is_stale = true;
        zkli_contender_distrust_watch(&m->core);
        zkli_sight_note(m);
    }
}

/* What an outage of half of T would not leave time for. */
bool zkli_sight_is_short(const struct zkli_member *m) {
    return m->core.state == ZKLI_HELD &&
           m->blind_until_ns - m->dir->engine->now_ns < m->dir->engine->lease.timeout_ns / 2;
}

void zkli_sight_close(struct zkli_member *m) {
    m->is_closed = true;
    m->blind_until_ns = ZKLI_NEVER;
    zkli_timer_clear(&m->dir->engine->blind, &m->blind_end);
}

/* The read that sets the watch goes with the next heartbeat. So a hold that is blind from the
 * beginning has as much time for it as the lease has for that. */
bool zkli_sight_is_needed(const struct zkli_member *m) {
    return m->is_stale || m->blind_until_ns < m->dir->engine->lease.certain_until_ns;
}

int64_t zkli_member_certain_until_ns(const struct zkli_member *m) {
    const struct zkli_lease *lease = &m->dir->engine->lease;
    int64_t until_ns = lease->timeout_ns > 0 ? lease->certain_until_ns : INT64_MIN;
    return until_ns < m->blind_until_ns ? until_ns : m->blind_until_ns;
}
