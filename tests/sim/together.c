/* together - a thread that takes several locks at once, and gives them up; see sim.h. */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define OTHERS_MAX (LOCKS_MAX - 1)

static struct actor *actor_of(struct world *w, unsigned number) {
    return &w->list[number / THREADS_MAX].actors[number % THREADS_MAX];
}

static bool has_name(const struct client *c, const struct actor *a, int others, int name) {
    bool has = c->handles[a->handle].name == name;
    for (int i = 0; i < others; i++)
        has = has || c->handles[a->others[i].handle].name == name;
    return has;
}

/* Handles of other locks, one of each. Returns how many there are now. */
static int choose_others(struct world *w, const struct client *c, struct actor *a) {
    int wanted = 1 + (int)world_below(w, (unsigned)w->locks - 1), count = 0;
    int first = (int)world_below(w, (unsigned)w->handles);
    for (int i = 0; i < w->handles && count < wanted; i++) {
        int handle = (first + i) % w->handles;
        struct zkl_lock *lock = c->handles[handle].lock;
        if (lock != NULL && !has_name(c, a, count, c->handles[handle].name))
            a->others[count++] = (struct other){.handle = handle, .lock = lock};
    }
    return count;
}

bool together_begin(struct world *w, unsigned number, int64_t timeout_ms) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    bool is_wanted = w->locks > 1 && world_chance(w, w->together_percent);
    int count = is_wanted ? choose_others(w, c, a) : 0;
    if (count == 0)
        return false;
    zkl_lock *locks[LOCKS_MAX];
    int own = (int)world_below(w, (unsigned)count + 1); /* in any order */
    for (int i = 0; i <= count; i++)
        locks[i] = i == own ? a->lock : a->others[i < own ? i : i - 1].lock;
    for (int i = 0; i <= count; i++)
        if (zkli_lock_begin(locks[i]) != ZKL_OK)
            abort();
    a->all = zkli_several_new(locks, (size_t)count + 1);
    if (a->all == NULL)
        abort();
    for (int i = 0; i < count; i++)
        TRACE(w, "client %u thread %u: and %c at once", number / THREADS_MAX, number % THREADS_MAX,
              'a' + c->handles[a->others[i].handle].name);
    w->figures->together++;
    zkli_session_lock(&c->session);
    zkli_several_begin(a->all, timeout_ms);
    return true;
}

static struct other *other_by(struct actor *a, const struct zkl_lock *lock) {
    for (int i = 0; i < OTHERS_MAX; i++)
        if (a->others[i].lock != NULL && a->others[i].lock == lock)
            return &a->others[i];
    return NULL;
}

void together_forget(struct actor *a, const struct zkl_lock *lock) {
    for (int i = 0; i < OTHERS_MAX; i++)
        if (lock == NULL || a->others[i].lock == lock)
            a->others[i].lock = NULL;
}

zkl_err together_finish(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    struct zkli_several *all = a->all;
    checks_together(w, all);
    zkl_err err = zkli_several_end(all);
    a->all = NULL;
    if (err == ZKL_DEADLOCK)
        world_violate(w, CHECK_TOGETHER, "a thread that holds nothing is refused several locks");
    w->figures->together_granted += err == ZKL_OK;
    for (size_t i = 0; i < all->count; i++) {
        const struct zkli_acquire *part = &all->parts[i];
        struct other *other = other_by(a, part->lock);
        *(other == NULL ? &a->hold : &other->hold) = part->hold_id;
        for (int k = 0; k < w->handles && err == ZKL_OK; k++)
            if (c->handles[k].lock == part->lock)
                c->handles[k].part = 0;
    }
    zkli_session_unlock(&c->session);
    if (err != ZKL_OK)
        together_forget(a, NULL);
    zkli_several_free(all);
    return err;
}

void together_look(struct world *w, unsigned number) {
    const struct actor *a = actor_of(w, number);
    for (int i = 0; i < OTHERS_MAX; i++)
        if (a->others[i].lock != NULL && a->others[i].hold != 0) /* or it was given up */
            checks_hold(w, (int)(number / THREADS_MAX), a->others[i].handle, a->others[i].hold);
}

bool together_give_up(struct world *w, unsigned number, const struct zkl_lock *lock) {
    struct actor *a = actor_of(w, number);
    struct other *other = other_by(a, lock);
    if (other == NULL)
        return false;
    bool is_early = a->state == ACTOR_WAITING;
    const struct zkli_hold *now = lock->current;
    bool is_granted = now != NULL && now->thread == number + 1;
    zkl_hold hold = !is_early ? other->hold : is_granted ? now->id : 0;
    if (hold == 0)
        return false;
    bool is_held = zkl_hold_valid(other->lock, hold);
    zkl_err err = zkl_release_hold(other->lock, hold);
    TRACE(w, "client %u: release of another hold of thread %u says %s", number / THREADS_MAX,
          number % THREADS_MAX, zkl_errname(err));
    if (err == ZKL_OK ? !is_held : is_held)
        world_violate(w, CHECK_LOSS, "release of another hold of another thread, %s, says %s",
                      is_held ? "good" : "lost", zkl_errname(err));
    if (err == ZKL_OK && !zkl_hold_valid(other->lock, hold))
        checks_released(&w->list[number / THREADS_MAX].handles[other->handle], hold);
    w->figures->given_up += err == ZKL_OK;
    w->figures->given_up_early += is_early;
    other->hold = 0;
    return true;
}

static void release(struct world *w, unsigned number, struct other *other) {
    bool is_held = zkl_held(other->lock);
    zkl_err err = zkl_release(other->lock);
    TRACE(w, "client %u thread %u: release of another says %s", number / THREADS_MAX,
          number % THREADS_MAX, zkl_errname(err));
    /* Another thread has given it up, or the session is closed. */
    bool is_over = err == ZKL_NOT_HELD || err == ZKL_CLOSED;
    if (err != (is_held ? ZKL_OK : ZKL_LOST) && (!is_over || is_held))
        world_violate(w, CHECK_LOSS, "release of one of several, %s, says %s",
                      is_held ? "good" : "lost", zkl_errname(err));
    if (err == ZKL_OK)
        checks_released(&w->list[number / THREADS_MAX].handles[other->handle], other->hold);
    other->lock = NULL;
}

void together_release(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    uint64_t thread = sim_thread;
    sim_thread = number + 1;
    for (int i = 0; i < OTHERS_MAX; i++)
        if (a->others[i].lock != NULL)
            release(w, number, &a->others[i]);
    sim_thread = thread;
}
