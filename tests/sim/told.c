/*
 * told - acquires whose callers go on, and the line in which what they came to is told, by a thread
 * that may take its time; see sim.h.
 */
#include "session/session_internal.h"
#include "sim/sim.h"

#include <stdlib.h>

#define MICROSECOND INT64_C(1000)

static struct client *client_of(const struct zkl_session *s) {
    return (struct client *)(uintptr_t)s; /* its first member */
}

static struct zkli_completion *first_of(struct client *c) {
    struct zkli_list *link = c->told.next;
    return ZKLI_CONTAINER(link, struct zkli_completion, place.link);
}

/* ---- The line: what session.h promises to the lock layer ---- */

/* Another callback may take long; not so when all that is there is to come to its end. */
static void tell_soon(struct client *c) {
    struct world *w = c->world;
    unsigned kind = w->phase == PHASE_DRAIN ? 0 : world_below(w, 100);
    int64_t delay = kind < 70   ? world_between(w, 5, 100) * MICROSECOND
                    : kind < 92 ? world_between(w, 1, 30) * MS
                                : world_between(w, 0, 2 * w->timeout_ns);
    if (c->is_telling || zkli_list_is_empty(&c->told))
        return;
    c->is_telling = true;
    world_at(w, w->now_ns + delay, EVENT_TELL, (unsigned)(c - w->list), c->stamp);
}

void zkli_completion_init(struct zkli_completion *c, const void *owner,
                          void (*take)(struct zkli_completion *c),
                          void (*tell)(struct zkli_completion *c)) {
    *c = (struct zkli_completion){.place = {.owner = owner}, .take = take, .tell = tell};
}

void zkli_completion_post(struct zkl_session *s, struct zkli_completion *c) {
    if (zkli_list_is_linked(&c->place.link))
        return;
    s->posted++;
    zkli_list_append(&client_of(s)->told, &c->place.link);
    tell_soon(client_of(s));
}

void zkli_completion_withdraw(struct zkli_completion *c) {
    zkli_list_remove(&c->place.link);
}

/* With the session's lock, which it has again in the end. */
static void tell_now(struct client *c, struct zkli_completion *completion) {
    zkli_completion_withdraw(completion);
    completion->take(completion);
    zkli_session_unlock(&c->session);
    completion->tell(completion);
    zkli_session_lock(&c->session);
}

void zkli_callbacks_drop(struct zkl_session *s, const void *owner) {
    struct client *c = client_of(s);
    struct zkli_list *link = c->told.next;
    while (link != &c->told) {
        struct zkli_completion *one = ZKLI_CONTAINER(link, struct zkli_completion, place.link);
        link = link->next;
        if (one->place.owner != owner)
            continue;
        tell_now(c, one);
        link = c->told.next;
    }
}

void told_next(struct world *w, unsigned client, unsigned stamp) {
    struct client *c = &w->list[client];
    if (!c->is_open || c->stamp != stamp)
        return;
    if (c->is_paused) {
        world_at(w, c->wakes_ns + world_between(w, 0, 2000) * MICROSECOND, EVENT_TELL, client,
                 stamp);
        return;
    }
    c->is_telling = false;
    zkli_session_lock(&c->session);
    if (!zkli_list_is_empty(&c->told))
        tell_now(c, first_of(c));
    zkli_session_unlock(&c->session);
    tell_soon(c);
}

void told_end(struct client *c) {
    zkli_session_lock(&c->session);
    while (!zkli_list_is_empty(&c->told))
        tell_now(c, first_of(c));
    zkli_session_unlock(&c->session);
}

/* ---- An acquire ---- */

static struct actor *actor_told(struct zkli_completion *c) {
    return ZKLI_CONTAINER(c, struct actor, completion);
}

static struct world *world_of(const struct actor *a) {
    return client_of(a->acquire.lock->session)->world;
}

static unsigned number_of(const struct actor *a) {
    const struct client *c = client_of(a->acquire.lock->session);
    return (unsigned)((c - c->world->list) * THREADS_MAX + (a - c->actors));
}

static void take(struct zkli_completion *completion) {
    struct actor *a = actor_told(completion);
    struct world *w = world_of(a);
    struct handle *h = &client_of(a->lock->session)->handles[a->handle];
    zkli_operation_take(&a->acquire.operation);
    a->hold = a->acquire.hold_id;
    a->told = zkli_acquire_end(&a->acquire);
    w->figures->told++;
    w->figures->untold += a->told == ZKL_TIMEOUT && a->hold != 0;
    if (h->lock == a->lock && h->part == a->hold)
        h->part = 0;
    actor_check_outcome(w, number_of(a), a->told);
}

static void tell(struct zkli_completion *completion) {
    struct actor *a = actor_told(completion);
    struct world *w = world_of(a);
    struct zkl_lock *lock = a->acquire.lock;
    if (a->state != ACTOR_WAITING || !a->is_told) {
        world_violate(w, CHECK_DEADLINES, "an acquire is told of twice");
        return;
    }
    actor_come_to(w, number_of(a), a->told);
    zkli_lock_end(lock);
}

void told_begin(struct actor *a, int64_t timeout_ms) {
    if (zkli_lock_begin(a->lock) != ZKL_OK)
        abort();
    zkli_acquire_init(&a->acquire, a->lock, (struct zkli_thread){0, 0});
    zkli_completion_init(&a->completion, a->lock, take, tell);
    a->acquire.operation.completion = &a->completion;
    zkli_lock_enter(a->lock);
    zkli_acquire_begin(&a->acquire, timeout_ms);
}
