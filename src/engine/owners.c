/*
 * owners - what an owner gives up goes before what it wants next. No node is made for it while the
 * servers may have one that it has given up, and whose delete is not in line yet.
 *
 * A create may be unanswered when its wait ends, or its reply is lost. Until the node is known, it
 * cannot be deleted. Who looks at the queues would take it for a wait, and with what the owner has
 * gone on to it might close a circle (lock/deadlocks.c). So the owner's next member does not begin
 * before that; nor one that begins anew, or a try that has looked. The servers carry out what one
 * session asks for in order: then the node is gone when the next one is made. A delete that has to
 * be repeated, behind a reconnect above all, goes to the head of the line. If the client library
 * refuses it there, what stands behind it is not sent either.
 *
 * A refusal ends that: what may not be looked for, or deleted, holds nobody up.
 */
#include "engine/engine_internal.h"

/* Whether the owner has left a member that is not settled. */
static bool has_unsettled(const struct zkli_engine *e, uint64_t owner) {
    const struct zkli_list *head = &e->unsettled;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (ZKLI_CONTAINER(link, struct zkli_member, owner_link)->owner == owner)
            return true;
    return false;
}

/* Who leaves makes no node, and many may leave at once. */
bool zkli_owner_holds_back(const struct zkli_member *m) {
    return !zkli_contender_has_left(&m->core) && has_unsettled(m->dir->engine, m->owner);
}

void zkli_owner_line_up(struct zkli_member *m, unsigned ask) {
    bool is_repeated = ask == ZKLI_ASK_DELETE && m->is_deleted;
    m->is_deleted = m->is_deleted || ask == ZKLI_ASK_DELETE;
    if (is_repeated)
        zkli_line_lead(m->dir->engine, &m->work);
    else
        zkli_line_join(m->dir->engine, &m->work);
}

void zkli_owner_note(struct zkli_member *m, bool is_held_back) {
    struct zkli_engine *e = m->dir->engine;
    bool is_idle = m->core.state == ZKLI_IDLE;
    bool is_unsettled = m->owner != 0 && zkli_contender_is_unsettled(&m->core);
    if (is_idle && is_held_back && !zkli_list_is_linked(&m->owner_link))
        zkli_list_append(&e->held_back, &m->owner_link);
    if (is_idle || is_unsettled == zkli_list_is_linked(&m->owner_link))
        return;
    zkli_list_remove(&m->owner_link);
    if (is_unsettled)
        zkli_list_append(&e->unsettled, &m->owner_link);
    else
        e->has_settled = true;
}
