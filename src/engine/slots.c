/*
 * slots - the requests in flight, at most ZKLI_WINDOW and a heartbeat, and the line of those who
 * have requests to send.
 *
 * Nothing is allocated to send: members, directories and queries stand in one line, and take a slot
 * for each request when its turn comes. Not here: what is sent (requests.c, queries.c).
 */
#include "engine/engine_internal.h"

void zkli_slots_init(struct zkli_engine *e) {
    struct zkli_list none;
    zkli_list_init(&none);
    zkli_list_init(&e->work);
    zkli_slots_reset(e, &none);
}

void zkli_line_lead(struct zkli_engine *e, struct zkli_work *work) {
    zkli_list_remove(&work->link);
    zkli_list_prepend(&e->work, &work->link);
}

void zkli_line_join(struct zkli_engine *e, struct zkli_work *work) {
    if (!zkli_list_is_linked(&work->link))
        zkli_list_append(&e->work, &work->link);
}

unsigned zkli_slot_reserve(struct zkli_engine *e, enum zkli_slot_use use) {
    unsigned number = e->free_slot;
    struct zkli_slot *slot = &e->slots[number];
    e->free_slot = slot->next_free;
    e->in_flight++;
    *slot = (struct zkli_slot){.use = use};
    zkli_list_init(&slot->askers);
    return number;
}

void zkli_slot_release(struct zkli_engine *e, unsigned number) {
    e->slots[number].use = ZKLI_USE_FREE;
    e->data_in_flight -= e->slots[number].bytes;
    e->in_flight--;
    if (number == ZKLI_SLOT_HEARTBEAT)
        return;
    e->slots[number].next_free = e->free_slot;
    e->free_slot = number;
}

void zkli_slots_void(struct zkli_engine *e, enum zkli_slot_use use, const struct zkli_member *m) {
    for (unsigned i = 0; i < ZKLI_WINDOW; i++)
        if (e->slots[i].use == use && e->slots[i].member == m)
            e->slots[i].use = ZKLI_USE_VOID;
}

void zkli_slots_reset(struct zkli_engine *e, struct zkli_list *ret_queries) {
    for (unsigned i = 0; i < ZKLI_SLOTS; i++) {
        struct zkli_slot *slot = &e->slots[i];
        if (slot->use == ZKLI_USE_QUERY)
            zkli_list_append(ret_queries, &slot->query->work.link);
        while (slot->use == ZKLI_USE_LIST && zkli_list_take_first(&slot->askers) != NULL)
            ;
        if (slot->use == ZKLI_USE_GROUP)
            slot->group->is_sent = false;
        slot->use = ZKLI_USE_FREE;
        slot->next_free = i + 1;
    }
    e->slots[ZKLI_WINDOW - 1].next_free = ZKLI_SLOTS;
    e->free_slot = 0;
    e->in_flight = 0;
    e->data_in_flight = 0;
}
