/*
 * checks_owners - what a thread has given up goes before a node is made for what it wants next; see
 * sim.h.
 */
#include "sim/sim.h"

#include <string.h>

static const char *child_of(const struct world *w, int name) {
    return strrchr(w->names[name].text, '/') + 1;
}

/* What this thread has left, and does not know to be gone. */
void checks_given_up(struct world *w, unsigned actor) {
    struct client *c = &w->list[actor / THREADS_MAX];
    struct actor *a = &c->actors[actor % THREADS_MAX];
    const struct zkli_list *head = &c->session.engine->members;
    a->given_up_count = 0;
    a->is_hasty = false;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        bool is_given_up = m->owner == actor + 1 && zkli_contender_has_left(&m->core);
        if (is_given_up && a->given_up_count < GIVEN_UP_MAX)
            memcpy(a->given_up[a->given_up_count++], m->core.uuid, sizeof(m->core.uuid));
    }
    w->figures->given_up_before += a->given_up_count > 0;
}

/* Whether its client still wants it: else a server that stood still has carried it out late. */
static bool is_wanted(const struct client *c, const char *child) {
    const struct zkli_list *head = &c->session.engine->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        if (zkli_node_name_has_uuid(child, m->core.uuid))
            return !zkli_contender_has_left(&m->core);
    }
    return false;
}

/* Whether it was made for something that the thread had given up when its present acquire began. */
static bool is_given_up(const struct actor *a, const char *child) {
    for (unsigned i = 0; i < a->given_up_count; i++)
        if (zkli_node_name_has_uuid(child, a->given_up[i]))
            return true;
    return false;
}

/* The thread whose node it is, by what its data say; NULL: nobody's. */
static struct actor *owner_of(struct world *w, int text_number) {
    const struct text *text = &w->texts[text_number];
    struct zkli_node_data data;
    if (!zkli_node_data_parse(&data, text->bytes, (size_t)text->length) || data.owner_thread == 0 ||
        data.owner_thread > CLIENTS_MAX * THREADS_MAX)
        return NULL;
    unsigned number = (unsigned)data.owner_thread - 1;
    return &w->list[number / THREADS_MAX].actors[number % THREADS_MAX];
}

/* A server that stood still has made it, perhaps after it was looked for. */
static bool is_late(const struct world *w, const char *text) {
    for (int i = 0; i < w->name_count; i++)
        if (w->names[i].is_late && strncmp(text, w->names[i].text, strlen(w->names[i].text)) == 0)
            return true;
    return false;
}

/* A delete may be lost with its connection, and the client library connected again before it tells:
 * what is asked for meanwhile goes before what is repeated. */
void checks_asked_to_make(struct world *w, const struct port *p, int data) {
    struct actor *a = owner_of(w, data);
    if (a != NULL && delivery_is_delete_untold(w, p))
        a->is_hasty = true;
}

void checks_owner(struct world *w, const struct txn *txn) {
    const struct name *node = &w->names[txn->name];
    bool is_contender = node->lock != NONE && node->kind != ZKLI_KIND_NONE;
    const struct actor *a = is_contender && node->client != NONE ? owner_of(w, txn->data) : NULL;
    const struct client *c = a == NULL ? NULL : &w->list[node->client];
    if (c == NULL || !c->is_open || !is_wanted(c, child_of(w, txn->name)))
        return;
    if (w->has_refused || a->is_hasty)
        return; /* what may not be looked for, or deleted, holds nobody up */
    for (int i = 0; i < w->truth.count; i++) {
        const struct znode *other = &w->truth.nodes[i];
        if (other->session == txn->session && is_given_up(a, child_of(w, other->name)) &&
            owner_of(w, other->data) == a && /* of several, some may name no owner */
            !is_late(w, w->names[other->name].text))
            world_violate(w, CHECK_OWNERS, "%s is made, and its owner had given up %s", node->text,
                          w->names[other->name].text);
    }
}
