/*
 * handle - what every call on a handle begins and ends with, and the handle's holds. Below all
 * other files of the layer.
 */
#include "lock/lock.h"

#include <stdlib.h>

/* ---- Holds ---- */

struct zkli_hold *zkli_lock_hold_of(struct zkl_lock *l, uint64_t thread) {
    for (struct zkli_list *link = l->holds.next; link != &l->holds; link = link->next) {
        struct zkli_hold *hold = ZKLI_CONTAINER(link, struct zkli_hold, link);
        if (hold->thread == thread)
            return hold;
    }
    return NULL;
}

struct zkli_hold *zkli_lock_find_hold(struct zkl_lock *l, zkl_hold id) {
    for (struct zkli_list *link = l->holds.next; link != &l->holds; link = link->next) {
        struct zkli_hold *hold = ZKLI_CONTAINER(link, struct zkli_hold, link);
        if (hold->id == id)
            return hold;
    }
    return NULL;
}

static struct zkli_hold *unless_lost(struct zkli_hold *hold) {
    return hold == NULL || hold->member == NULL ? NULL : hold;
}

struct zkli_hold *zkli_lock_good_hold_of(struct zkl_lock *l, uint64_t thread) {
    return unless_lost(zkli_lock_hold_of(l, thread));
}

struct zkli_hold *zkli_lock_find_good_hold(struct zkl_lock *l, zkl_hold id) {
    return unless_lost(zkli_lock_find_hold(l, id));
}

void zkli_hold_drop(struct zkli_hold *hold) {
    if (hold->lock->current == hold)
        hold->lock->current = NULL;
    zkli_list_remove(&hold->link);
    zkli_list_remove(&hold->nest);
    zkli_events_release(hold->events);
    free(hold);
}

/* ---- Calls ---- */

bool zkli_lock_is_closed(const struct zkl_lock *l) {
    return l->is_closed || zkli_engine_state(l->session->engine) == ZKL_STATE_CLOSED;
}

zkl_err zkli_lock_begin(struct zkl_lock *l) {
    if (l == NULL)
        return ZKL_INVALID;
    (void)atomic_fetch_add(&l->users, 1);
    if (!zkli_session_is_forked(l->session))
        return ZKL_OK;
    (void)atomic_fetch_sub(&l->users, 1); /* nothing is freed in a child */
    return ZKL_FORKED;
}

zkl_err zkli_lock_begin_blocking(struct zkl_lock *l) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK || !zkli_in_callback())
        return err;
    zkli_lock_end(l);
    return ZKL_IN_CALLBACK;
}

void zkli_lock_enter(struct zkl_lock *l) {
    zkli_session_lock(l->session);
}

static void lock_free(struct zkl_lock *l) {
    struct zkl_session *s = l->session;
    struct zkli_list *link;
    zkli_session_lock(s);
    while ((link = zkli_list_take_first(&l->holds)) != NULL)
        zkli_hold_drop(ZKLI_CONTAINER(link, struct zkli_hold, link));
    free(l->label);
    free(l->recorded);
    free(l->counts);
    free(l);
    zkli_session_unlock_and_release(s);
}

void zkli_lock_end(struct zkl_lock *l) {
    if (atomic_fetch_sub(&l->users, 1) == 1)
        lock_free(l);
}

void zkli_lock_leave(struct zkl_lock *l) {
    zkli_session_unlock(l->session);
    zkli_lock_end(l);
}

void zkli_lock_post(struct zkl_lock *l, struct zkli_events *events, zkl_event event) {
    event.size = sizeof(event);
    event.session = l->session;
    event.lock = l;
    if (!l->is_closed && events != NULL)
        zkli_events_post(l->session, events, &event);
}
