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
    return m->core.own_watch == ZKLI_WATCHED && m->core.state != ZKLI_TURNING;
}

void zkli_sight_note(struct zkli_member *m, bool had_node, bool was_clear) {
    struct zkli_engine *e = m->engine;
    bool has_node = m->core.node[0] != '\0';
    if (!has_node || zkli_sight_is_clear(m))
        m->blind_until_ns = ZKLI_NEVER;
    else if (was_clear || !had_node)
        m->blind_until_ns = e->lease.certain_until_ns;
    bool is_hold = zkli_contender_holds(&m->core);
    zkli_timer_set(&e->blind, &m->blind_end, is_hold ? m->blind_until_ns : ZKLI_NEVER);
}

/* What an outage of half of T would not leave time for. */
bool zkli_sight_is_short(const struct zkli_member *m) {
    return m->core.state == ZKLI_HELD &&
           m->blind_until_ns - m->engine->now_ns < m->engine->lease.timeout_ns / 2;
}

void zkli_sight_forgo(struct zkli_member *m) {
    m->blind_until_ns = ZKLI_NEVER;
    zkli_timer_clear(&m->engine->blind, &m->blind_end);
}

/* The read that sets the watch goes with the next heartbeat. So a hold that is blind from the
 * beginning has as much time for it as the lease has for that. */
bool zkli_sight_is_needed(const struct zkli_member *m) {
    return m->blind_until_ns < m->engine->lease.certain_until_ns;
}

int64_t zkli_member_certain_until_ns(const struct zkli_member *m) {
    const struct zkli_lease *lease = &m->engine->lease;
    int64_t until_ns = lease->timeout_ns > 0 ? lease->certain_until_ns : INT64_MIN;
    return until_ns < m->blind_until_ns ? until_ns : m->blind_until_ns;
}
