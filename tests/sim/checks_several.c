/* checks_several - what must hold of locks that are acquired at once; see sim.h. */
#include "sim/sim.h"

/* The node of one of them; NULL: it has none. */
static const struct name *node_of(struct world *w, const struct zkli_member *m) {
    char path[ZKLI_PATH_MAX];
    bool has_node = m->core.node[0] != '\0' && zkli_member_path(m, path, sizeof(path));
    return has_node ? &w->names[world_name(w, path)] : NULL;
}

/* Some wait, the others are admitted; and all by nodes of one transaction. */
void checks_group(struct world *w, int client, const struct zkli_group *group) {
    int64_t czxid = 0;
    size_t waiting = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct zkli_member *m = group->members[i];
        const struct name *node = m == NULL ? NULL : node_of(w, m);
        bool is_in_place = node != NULL &&
                           (zkli_contender_rests(&m->core) || m->core.state == ZKLI_ADMITTED);
        if (!is_in_place) {
            world_violate(w, CHECK_LIVENESS, "one of several of client %d is still %s", client,
                          m == NULL ? "gone" : zkli_contender_state_name(m->core.state));
            return;
        }
        waiting += zkli_contender_rests(&m->core);
        if (czxid != 0 && node->czxid != czxid)
            world_violate(w, CHECK_TOGETHER, "%s stands beside a node of another attempt",
                          node->text);
        czxid = node->czxid;
    }
    if (waiting == 0)
        world_violate(w, CHECK_ADMISSION, "several of client %d are admitted and not granted",
                      client);
}

void checks_together(struct world *w, const struct zkli_several *all) {
    bool is_granted = all->operation.result == ZKL_OK;
    for (size_t i = 0; i < all->count; i++) {
        struct zkl_lock *l = all->parts[i].lock;
        const struct zkli_hold *hold = zkli_lock_good_hold_of(l, sim_thread);
        if ((hold != NULL) != is_granted)
            world_violate(w, CHECK_TOGETHER, "of several that say %s, one is %sheld",
                          zkl_errname(all->operation.result), hold == NULL ? "not " : "");
        else if (is_granted &&
                 hold->token != zkli_lock_hold_of(all->parts[0].lock, sim_thread)->token)
            world_violate(w, CHECK_TOGETHER, "several that are granted have two tokens");
    }
}
