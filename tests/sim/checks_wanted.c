/*
 * checks_wanted - a hold is said to be wanted where another waits for it or has asked, once, and
 * not without a reason; see sim.h.
 */
#include "sim/sim.h"

#include "core/admission.h"

/* Heartbeats that come back until it has looked. It may be granted behind the first, and the answer
 * may be lost with a connection, and the next one, too. */
#define BEATS_MAX 4

static bool is_behind(const struct name *other, const struct name *own) {
    return other->lock == own->lock && other->kind != ZKLI_KIND_NONE && other->czxid != 0 &&
           other->place > own->place;
}

/* There has been another that waits for it, or its node was marked; under whichever name. Which
 * mark it was is not known of one that went with a writer's node. */
static bool has_reason(const struct world *w, const struct name *own) {
    for (int i = 1; i < w->name_count; i++) {
        const struct name *other = &w->names[i];
        bool is_its_own = other->lock == own->lock && other->place == own->place;
        bool waits = zkli_kind_waits_for(other->kind, own->kind) ||
                     own->kind == ZKLI_KIND_LEASE; /* how many there were is not known */
        bool was_there = other->gone_zxid == 0 || other->gone_zxid > own->czxid;
        bool is_marked = is_its_own && (other->asked_zxid != 0 || other->broken_zxid != 0);
        if (is_marked || (is_behind(other, own) && waits && was_there))
            return true;
    }
    return false;
}

static bool was_told(const struct handle *h, zkl_hold hold) {
    for (int i = 0; i <= THREADS_MAX; i++)
        if (h->wanted[i] == hold)
            return true;
    return false;
}

void checks_wanted(struct world *w, int client, struct handle *h, const zkl_event *event) {
    const struct zkli_hold *hold = zkli_lock_find_hold(h->lock, event->hold);
    char path[ZKLI_PATH_MAX];
    bool has_node = hold != NULL && hold->member != NULL &&
                    zkli_member_path(hold->member, path, sizeof(path));
    const struct name *own = has_node ? &w->names[world_name(w, path)] : NULL;
    TRACE(w, "client %d is told that its hold of %c is wanted", client, 'a' + h->name);
    w->figures->wanted++;
    if (!h->lock->tells_wanted || was_told(h, event->hold))
        world_violate(w, CHECK_WANTED, "client %d is told twice that its hold of %c is wanted",
                      client, 'a' + h->name);
    if (own != NULL && own->czxid != 0 && !has_reason(w, own))
        world_violate(w, CHECK_WANTED, "client %d is told that %s is wanted, and nobody waits",
                      client, own->text);
    h->wanted[h->wanted_count++ % (THREADS_MAX + 1)] = event->hold;
}

/* A mark, which its client has been told of: by its watch, or before that by its own read. */
static bool is_asked_for(const struct world *w, const struct client *c, const struct name *own) {
    return own->asked_zxid != 0 && w->ports[c->port].told_zxid > own->asked_zxid;
}

static bool is_awaited(const struct world *w, const struct name *own) {
    for (int i = 0; i < w->truth.count; i++) {
        const struct name *other = &w->names[w->truth.nodes[i].name];
        if (is_behind(other, own) && zkli_kind_waits_for(other->kind, own->kind))
            return true;
    }
    return false;
}

/*
 * A holder looks at a heartbeat, or its watch has told since it had looked. The answer comes before
 * that of the next heartbeat. (Where memory is short, the look is refused again and again.) That a
 * writer's node was marked is known by the answer that made it a reader's; if that was lost, nobody
 * knows.
 */
void checks_awaited(struct world *w, int client, struct handle *h, const struct zkli_hold *hold,
                    const struct name *own) {
    const struct client *c = &w->list[client];
    int64_t touched_ns = c->session.engine->lease.touched_ns;
    bool is_untold = h->lock->tells_wanted && !was_told(h, hold->id);
    bool was_writer = h->kind == ZKLI_KIND_WRITE; /* not one that began inside, later perhaps */
    if (is_untold && was_writer && own->buried_zxid != 0 && own->is_turn_told)
        world_violate(w, CHECK_WANTED, "client %d is not told that %s was asked for before", client,
                      own->text);
    if (!h->lock->tells_wanted || touched_ns == h->awaited_beat_ns)
        return;
    h->awaited_beat_ns = touched_ns;
    bool is_turning = zkli_member_is_turning(hold->member); /* it looks when that is over */
    bool is_due = !is_turning && is_untold && c->refused_percent == 0 &&
                  (is_awaited(w, own) || is_asked_for(w, c, own));
    if (!is_due || h->awaited != hold->id)
        h->awaited_beats = 0;
    h->awaited = hold->id;
    if (is_due && ++h->awaited_beats > BEATS_MAX)
        world_violate(w, CHECK_WANTED, "client %d is not told that %s is wanted", client,
                      own->text);
}
