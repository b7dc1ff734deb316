/*
 * checks_linger - what must hold of nodes that stay when their holds are given up, or the waits for
 * them: they are of use to their process, and in nobody's way; see sim.h.
 */
#include "sim/sim.h"

/* So long may a place be kept for which nobody waits, on a clock that is wrong, by a thread that
 * comes to run late. */
#define KEPT_NS (200 * MS)

/* Others who have a node behind this one. */
static bool is_followed(const struct world *w, const struct name *own) {
    for (int i = 0; i < w->truth.count; i++) {
        const struct name *other = &w->names[w->truth.nodes[i].name];
        if (other->lock == own->lock && other->kind != ZKLI_KIND_NONE && other->place > own->place)
            return true;
    }
    return false;
}

/* Once the library has been told that the node is wanted, it is handed on at most as often as was
 * asked for. And only on a connection, by which it would be told. */
void checks_lingered(struct world *w, int client, struct handle *h, const struct zkli_member *m) {
    bool is_wanted = m->core.is_wanted;
    w->figures->lingered += h->turns > 0;
    h->wanted_turns = is_wanted && h->turns > 0 ? h->wanted_turns + 1 : 0;
    if (h->wanted_turns > h->turns_max)
        world_violate(w, CHECK_LINGER, "client %d goes on with %c, and was told that it is wanted",
                      client, 'a' + h->name);
    if (h->turns > 0 && !zkli_engine_is_connected(m->engine))
        world_violate(w, CHECK_LINGER, "client %d goes on with %c, and is not connected", client,
                      'a' + h->name);
}

/* Nobody waits for a node that nobody holds by. */
void checks_idle(struct world *w, int client, const struct zkli_member *m) {
    bool is_idle = m->core.state == ZKLI_HELD && m->thread.number == 0;
    char path[ZKLI_PATH_MAX];
    if (is_idle && zkli_member_path(m, path, sizeof(path)) &&
        is_followed(w, &w->names[world_name(w, path)]))
        world_violate(w, CHECK_LINGER, "client %d keeps %s idle, and others wait", client, path);
}

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
