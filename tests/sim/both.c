/* both - a thread of a client that takes both locks at once, and gives both up; see sim.h. */
#include "sim/sim.h"

#include <stdlib.h>

static struct actor *actor_of(struct world *w, unsigned number) {
    return &w->list[number / THREADS_MAX].actors[number % THREADS_MAX];
}

/* A handle of the other lock. NONE: none is open. */
static int choose_other(struct world *w, const struct client *c, int handle) {
    int first = (int)world_below(w, (unsigned)w->handles);
    for (int i = 0; i < w->handles; i++) {
        int other = (first + i) % w->handles;
        if (c->handles[other].name != c->handles[handle].name && c->handles[other].lock != NULL)
            return other;
    }
    return NONE;
}

bool both_begin(struct world *w, unsigned number, int64_t timeout_ms) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    int other = w->locks > 1 && world_chance(w, w->both_percent) ? choose_other(w, c, a->handle)
                                                                 : NONE;
    if (other == NONE)
        return false;
    a->second = (struct second){.handle = other, .lock = c->handles[other].lock};
    bool is_first = world_chance(w, 50);
    zkl_lock *locks[] = {is_first ? a->lock : a->second.lock, is_first ? a->second.lock : a->lock};
    if (zkli_lock_begin(locks[0]) != ZKL_OK || zkli_lock_begin(locks[1]) != ZKL_OK ||
        (a->all = zkli_several_new(locks, 2)) == NULL)
        abort();
    TRACE(w, "client %u thread %u: both, %c too", number / THREADS_MAX, number % THREADS_MAX,
          'a' + c->handles[other].name);
    w->figures->both++;
    zkli_session_lock(&c->session);
    zkli_several_begin(a->all, timeout_ms);
    return true;
}

zkl_err both_finish(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    for (size_t i = 0; i < a->all->count; i++) {
        const struct zkli_acquire *part = &a->all->parts[i];
        *(part->lock == a->lock ? &a->hold : &a->second.hold) = part->hold_id;
    }
    checks_both(w, a->all);
    struct zkli_several *all = a->all;
    zkl_err err = zkli_several_end(all);
    a->all = NULL;
    if (err == ZKL_DEADLOCK)
        world_violate(w, CHECK_TOGETHER, "a thread that holds nothing is refused both locks");
    w->figures->both_granted += err == ZKL_OK;
    for (int i = 0; i < w->handles && err == ZKL_OK; i++)
        if (c->handles[i].lock == a->lock || c->handles[i].lock == a->second.lock)
            c->handles[i].part = 0;
    zkli_session_unlock(&c->session);
    if (err != ZKL_OK)
        a->second.lock = NULL;
    zkli_several_free(all);
    return err;
}

void both_look(struct world *w, unsigned number) {
    const struct actor *a = actor_of(w, number);
    if (a->second.lock != NULL && a->second.hold != 0) /* else another thread has given it up */
        checks_hold(w, (int)(number / THREADS_MAX), a->second.handle, a->second.hold);
}

bool both_give_up(struct world *w, unsigned number, const struct zkl_lock *lock) {
    struct actor *a = actor_of(w, number);
    if (a->second.lock == NULL || a->second.lock != lock)
        return false;
    bool is_early = a->state == ACTOR_WAITING;
    const struct zkli_hold *now = lock->current;
    bool is_granted = now != NULL && now->thread == number + 1;
    zkl_hold hold = !is_early ? a->second.hold : is_granted ? now->id : 0;
    if (hold == 0)
        return false;
    bool is_held = zkl_hold_valid(a->second.lock, hold);
    zkl_err err = zkl_release_hold(a->second.lock, hold);
    TRACE(w, "client %u: release of thread %u's other hold says %s", number / THREADS_MAX,
          number % THREADS_MAX, zkl_errname(err));
    if (err == ZKL_OK ? !is_held : is_held)
        world_violate(w, CHECK_LOSS, "release of another thread's second hold, %s, says %s",
                      is_held ? "good" : "lost", zkl_errname(err));
    if (err == ZKL_OK && !zkl_hold_valid(a->second.lock, hold))
        checks_released(&w->list[number / THREADS_MAX].handles[a->second.handle], hold);
    w->figures->given_up += err == ZKL_OK;
    w->figures->given_up_early += is_early;
    a->second.hold = 0;
    return true;
}

void both_release(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    if (a->second.lock == NULL)
        return;
    uint64_t thread = sim_thread;
    sim_thread = number + 1;
    bool is_held = zkl_held(a->second.lock);
    zkl_err err = zkl_release(a->second.lock);
    TRACE(w, "client %u thread %u: release of the other says %s", number / THREADS_MAX,
          number % THREADS_MAX, zkl_errname(err));
    /* Another thread has given it up, or the session is closed. */
    bool is_over = err == ZKL_NOT_HELD || err == ZKL_CLOSED;
    if (err != (is_held ? ZKL_OK : ZKL_LOST) && (!is_over || is_held))
        world_violate(w, CHECK_LOSS, "release of one of two, %s, says %s",
                      is_held ? "good" : "lost", zkl_errname(err));
    if (err == ZKL_OK)
        checks_released(&w->list[number / THREADS_MAX].handles[a->second.handle], a->second.hold);
    a->second.lock = NULL;
    sim_thread = thread;
}
