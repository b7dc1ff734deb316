/*
 * checks_since - who has waited long for a mutex or a permit, and holds it, says since when in its
 * node; and nobody else does; see sim.h.
 */
#include "sim/sim.h"

#include "engine/engine_internal.h"

/* Heartbeats that come back until it is written. It is read behind the first, and set behind the
 * second; and both again where others write meanwhile. Where there is a hurry they follow at once.
 *  */
#define BEATS_MAX 8

static bool may_say(enum zkli_kind kind) {
    return kind == ZKLI_KIND_MUTEX || kind == ZKLI_KIND_LEASE;
}

/* By how much a span of a client's clock may differ from that of real time, when both are rounded
 * to milliseconds. */
static int64_t drift_ns(int64_t span_ns) {
    return span_ns / 1000000 * CLOCK_PPM + 3 * MS;
}

bool checks_said_since(struct world *w, const struct txn *txn) {
    const struct text *text = &w->texts[txn->data];
    struct zkli_node_data data;
    struct name *node = &w->names[txn->name];
    bool says = zkli_node_data_parse(&data, text->bytes, (size_t)text->length) &&
                data.since_ms != 0 && data.since_ms != node->since_ms;
    if (!says)
        return false;
    int64_t since_ns = (data.since_ms - SERVERS_EPOCH_MS) * MS;
    int64_t waited_ns = node->held_ns - node->made_ns, slack_ns = drift_ns(waited_ns);
    /* It counts from when its client knew of it. That of several is seen when their caller wakes.
     *  */
    bool is_seen_at_once = data.attempt[0] == '\0';
    bool is_early = since_ns < node->held_ns - (node->known_ns - node->made_ns) - slack_ns;
    TRACE(w, "  it says that it has held since %lld ms", (long long)(since_ns / MS));
    w->figures->said_since++;
    if (!may_say(node->kind) || node->held_ns == 0)
        world_violate(w, CHECK_SINCE, "%s says since when it has held", node->text);
    else if (node->since_ms != 0)
        world_violate(w, CHECK_SINCE, "%s says once more since when it has held", node->text);
    else if (waited_ns + slack_ns < ZKLI_SHORT_WAIT_NS)
        world_violate(w, CHECK_SINCE, "%s says since when it has held, and has hardly waited",
                      node->text);
    else if (since_ns > node->held_ns + slack_ns || (is_seen_at_once && is_early))
        world_violate(w, CHECK_SINCE, "%s says that it has held since %lld ms, and not %lld",
                      node->text, (long long)(since_ns / MS), (long long)(node->held_ns / MS));
    node->since_ms = data.since_ms;
    return true;
}

void checks_since(struct world *w, int client, const struct zkli_hold *hold, struct name *own) {
    const struct client *c = &w->list[client];
    const struct zkli_engine *e = c->session.engine;
    if (own->held_ns == 0)
        own->held_ns = w->now_ns;
    int64_t waited_ns = own->held_ns - own->known_ns;
    own->is_let_be = own->is_let_be || w->is_denying || w->is_throttling;
    bool is_due = may_say(own->kind) && own->since_ms == 0 && !own->is_let_be &&
                  waited_ns - drift_ns(waited_ns) > ZKLI_SHORT_WAIT_NS && c->refused_percent == 0 &&
                  hold->member->core.state == ZKLI_HELD;
    if (!is_due || own->since_connection != e->connection) {
        own->since_connection = e->connection;
        own->since_beat_ns = e->lease.touched_ns;
        own->since_beats = 0;
    } else if (own->since_beat_ns != e->lease.touched_ns) {
        own->since_beat_ns = e->lease.touched_ns;
        own->since_beats++;
    }
    if (own->since_beats > BEATS_MAX)
        world_violate(w, CHECK_SINCE, "client %d does not say since when it has held %s", client,
                      own->text);
}
