/*
 * permits - semaphores: how many permits a directory has had, and since when; an operator who
 * changes the number; and the checks that go by it; see sim.h.
 */
#include "sim/sim.h"

#include <string.h>

/* ---- The numbers of a directory ---- */

static int lock_of(const struct world *w, int dir) {
    for (int lock = 0; lock < w->locks; lock++)
        if (w->dirs[lock] == dir)
            return lock;
    return NONE;
}

void permits_committed(struct world *w, int dir, int64_t zxid, int data) {
    int lock = lock_of(w, dir);
    if (lock == NONE)
        return;
    struct numbers *numbers = &w->numbers[lock];
    const struct text *text = &w->texts[data];
    struct zkli_permits permits = zkli_permits_parse(text->bytes, (size_t)text->length, 0, 0);
    if (numbers->count == NUMBERS_MAX) /* the older ones are of no use any more */
        memmove(numbers->list, numbers->list + 1, sizeof(numbers->list) - sizeof(*numbers->list));
    else
        numbers->count++;
    numbers->list[numbers->count - 1] = (struct number){zxid, permits.count};
}

int permits_limit(const struct world *w, int lock, int64_t zxid) {
    const struct numbers *numbers = &w->numbers[lock];
    int greatest = 0;
    for (int i = numbers->count - 1; i >= 0; i--) {
        if (numbers->list[i].permits > greatest)
            greatest = numbers->list[i].permits;
        if (numbers->list[i].zxid <= zxid)
            break;
    }
    return greatest;
}

static int present(const struct world *w, int lock) {
    const struct numbers *numbers = &w->numbers[lock];
    return numbers->count == 0 ? 0 : numbers->list[numbers->count - 1].permits;
}

bool permits_ever_differed(const struct world *w, int lock, int permits) {
    const struct numbers *numbers = &w->numbers[lock];
    bool has_differed = permits == 0; /* before there was a directory */
    for (int i = 0; i < numbers->count; i++)
        has_differed = has_differed || (permits != 0 && numbers->list[i].permits != 0 &&
                                        numbers->list[i].permits != permits);
    return has_differed;
}

/* ---- An operator ---- */

/* Most programs get to know the new number as well. */
static void tell_handles(struct world *w, int lock, int permits) {
    for (int i = 0; i < w->clients; i++)
        for (int k = 0; k < w->handles; k++) {
            const struct handle *h = &w->list[i].handles[k];
            bool is_told = h->lock != NULL && h->name == lock && h->lock->permits != 0 &&
                           world_chance(w, 80);
            if (is_told)
                h->lock->permits = permits;
        }
}

void permits_resize(struct world *w, unsigned lock, unsigned unused) {
    (void)unused;
    if (w->phase != PHASE_RUN)
        return;
    const struct znode *dir = tree_find(&w->truth, w->dirs[lock]);
    int old = present(w, (int)lock), permits = 1 + (int)world_below(w, PERMITS_MAX);
    if (dir != NULL && old != 0 && permits != old) {
        const struct text *text = &w->texts[dir->data];
        struct zkli_permits recorded = zkli_permits_parse(text->bytes, (size_t)text->length, 0, 0);
        char fresh[ZKLI_PERMITS_TEXT_MAX];
        size_t length = zkli_permits_format(fresh, permits,
                                            permits > recorded.max ? permits : recorded.max);
        struct message m = {.kind = OP_MULTI, .name = dir->name, .part_count = 1, .refused = 1};
        m.parts[0] = (struct part){.type = ZKLI_OP_SET,
                                   .name = dir->name,
                                   .version = dir->version,
                                   .data = world_data(w, dir->name, fresh, (int)length)};
        w->figures->resizes++;
        TRACE(w, "an operator asks for %d permits of %c", permits, 'a' + (int)lock);
        quorum_write(w, NONE, NONE, &m);
        tell_handles(w, (int)lock, permits);
    }
    world_at(w, w->now_ns + world_between(w, MS, 2 * w->timeout_ns), EVENT_RESIZE, lock, 0);
}

/* ---- Checks ---- */

static bool is_lease(const struct name *name) {
    return name->kind == ZKLI_KIND_LEASE;
}

/* Leases that stand before this one. */
static int count_before(const struct world *w, const struct name *own) {
    int count = 0;
    for (int i = 0; i < w->truth.count; i++) {
        const struct name *other = &w->names[w->truth.nodes[i].name];
        count += other->lock == own->lock && is_lease(other) && other->place < own->place;
    }
    return count;
}

bool permits_are_out(const struct world *w, const struct name *own) {
    return is_lease(own) && count_before(w, own) >= present(w, own->lock);
}

/* Who holds by a node that lingered may not know the number any more; there is always one. */
void permits_check_grant(struct world *w, const struct handle *h, const struct name *node) {
    bool has_lingered = h->turns > h->turns_max;
    int limit = has_lingered ? 1 : h->limit;
    if (is_lease(node) && node->gone_zxid == 0 && count_before(w, node) >= limit)
        world_violate(w, CHECK_PERMITS, "%s is granted with %d permits, behind %d", node->text,
                      limit, count_before(w, node));
    w->figures->permits += is_lease(node);
}

/* Nobody comes before a holder that was not there when it was admitted. So there never are as many
 * holders before it as there were permits then. */
void permits_check_holders(struct world *w) {
    const struct permit_holder *holders = w->permit_holders;
    for (int i = 0; i < w->permit_holder_count; i++) {
        int before = 0;
        for (int k = 0; k < w->permit_holder_count; k++)
            before += holders[k].lock == holders[i].lock && holders[k].place < holders[i].place;
        if (before >= holders[i].limit)
            world_violate(w, CHECK_PERMITS, "client %d holds %c with %d permits, behind %d holders",
                          holders[i].client, 'a' + holders[i].lock, holders[i].limit, before);
    }
}
