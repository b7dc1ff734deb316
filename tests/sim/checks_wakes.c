/*
 * checks_wakes - the end of a node wakes one waiter, readers aside; see sim.h.
 */
#include "sim/sim.h"

#include <string.h>

/* A reader wakes by the nearest that keeps it out: there is no other between the two. */
static void check_wake(struct world *w, const struct name *gone, const struct znode *own) {
    const struct name *name = &w->names[own->name];
    for (int i = 0; i < w->truth.count; i++) {
        const struct znode *other = &w->truth.nodes[i];
        if (w->names[other->name].place > gone->place && checks_keeps_out(w, other, name))
            world_violate(w, CHECK_WAKES, "%s wakes at the end of %s, behind %s", name->text,
                          gone->text, w->names[other->name].text);
    }
}

void checks_watch_told(struct world *w, int client, int number, enum zkli_watch_type type) {
    struct name *node = &w->names[number];
    if (!w->list[client].is_open || node->lock == NONE)
        return; /* of a directory */
    if (node->client == client && type == ZKLI_WATCH_DELETED)
        node->is_end_told = true;
    const struct zkli_list *head = &w->list[client].session.engine->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        char path[ZKLI_PATH_MAX];
        if (m->core.state != ZKLI_WAITING || m->watchers[ZKLI_WATCHED_PREDECESSOR].watch == NULL ||
            strcmp(m->watchers[ZKLI_WATCHED_PREDECESSOR].watch->path, node->text) != 0 ||
            !zkli_member_path(m, path, sizeof(path)))
            continue;
        const struct znode *own = tree_find(&w->truth, world_name(w, path));
        /* They come in together; a mark wakes as well. */
        bool is_its_like = m->core.kind == node->kind && checks_is_shared(node->kind);
        bool come_together = checks_is_shared(m->core.kind) && !is_its_like;
        bool is_mark = type == ZKLI_WATCH_CHANGED && node->turned_into == 0;
        if (own != NULL && come_together)
            check_wake(w, node, own);
        /* One that was told, and then came to a server that is behind, is told once more. */
        bool is_same = own != NULL && node->woken == own->name;
        if (own == NULL || come_together || is_mark || is_same)
            continue;
        node->woken = own->name;
        if (++node->wakes > 1)
            world_violate(w, CHECK_WAKES, "%u waiters wake at the end of %s", node->wakes,
                          node->text);
    }
}
