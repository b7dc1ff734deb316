/* acquire - the calls that take the lock and give it up. */
#include "lock/lock.h"

#include <limits.h>
#include <stdlib.h>

/* A deadline that is not representable is none. */
static int64_t deadline_ns(const struct zkl_session *s, int64_t timeout_ms) {
    if (timeout_ms == ZKL_FOREVER)
        return ZKLI_NEVER;
    if (timeout_ms > (ZKLI_NEVER - zkli_engine_now_ns(s->engine)) / ZKLI_NS_PER_MS)
        return ZKLI_NEVER;
    return zkli_engine_now_ns(s->engine) + timeout_ms * ZKLI_NS_PER_MS;
}

static void request_timed_out(void *arg) {
    struct zkli_request *request = arg;
    zkli_lock_abandon(request->lock, request, request->is_try ? ZKL_UNREACHABLE : ZKL_TIMEOUT);
}

/* What can be said of a try without asking anybody; ZKL_OK: ask. */
static zkl_err try_at_once(const struct zkl_lock *l) {
    const struct zkli_engine *e = l->session->engine;
    if (l->current != NULL || !zkli_list_is_empty(&l->requests))
        return ZKL_BUSY;
    if (zkli_engine_state(e) == ZKL_STATE_AUTH_FAILED)
        return ZKL_AUTH_FAILED;
    return zkli_engine_is_connected(e) ? ZKL_OK : ZKL_UNREACHABLE;
}

/* The thread has a hold. Inside a lost one, a recursive lock must not make it believe that it has
 * held all the time; without nesting, it is over and forgotten. *ret_is_done: no need to wait. */
static zkl_err enter_again(struct zkl_lock *l, struct zkli_hold *hold, bool *ret_is_done) {
    *ret_is_done = true;
    if (hold->member == NULL && l->is_recursive)
        return ZKL_LOST;
    if (hold->member == NULL) {
        zkli_lock_drop_hold(l, hold);
        *ret_is_done = false;
        return ZKL_OK;
    }
    if (!l->is_recursive)
        return ZKL_DEADLOCK;
    if (hold->depth == INT_MAX)
        return ZKL_LIMIT;
    hold->depth++;
    return ZKL_OK;
}

/* What there will be to tell of the grant needs memory now, not then. */
static bool can_be_told(struct zkl_lock *l, struct zkli_request *request) {
    if (l->on_event != NULL && request->tidings == NULL)
        request->tidings = zkli_tidings_new(l->on_event, l->arg, l);
    return l->on_event == NULL || request->tidings != NULL;
}

/* Stands in the queue until granted, failed or out of time. */
static void queue_up(struct zkl_lock *l, struct zkli_request *request) {
    request->is_queued = true;
    request->is_done = false;
    zkli_timer_init(&request->deadline, request_timed_out, request);
    zkli_engine_set_timer(l->session->engine, &request->deadline, request->until_ns);
    zkli_lock_submit(l, request);
}

/* Granted, but was this thread told too late? Time may have passed since, without our running.
 * Then nobody was told that it held: the hold is taken back for the next attempt. */
static bool is_stale(struct zkl_lock *l, struct zkli_request *request) {
    zkli_lock_refresh(l);
    struct zkli_hold *hold = zkli_lock_find_hold(l, request->hold_id);
    if (hold ==
        NULL) { /* given up by another thread: the handle was closed, or the hold released */
        request->result = l->is_closed ? ZKL_CLOSED : ZKL_CANCELED;
        return false;
    }
    if (hold->member != NULL)
        return false;
    zkli_list_remove(&hold->link);
    zkli_tidings_release(hold->tidings);
    request->hold = hold;
    return true;
}

void zkli_acquire_begin(struct zkl_lock *l, struct zkli_request *request, int64_t timeout_ms) {
    const struct zkl_session *s = l->session;
    request->lock = l;
    request->is_try = timeout_ms == 0;
    /* A try is answered in a few round trips, or with the first proof of the lease on a connection,
       after up to 0.6 T where round trips take T/15; a silent server must not hold it up for much
       longer. */
    int64_t limit_ms = request->is_try ? zkli_engine_timeout_ms(s->engine) * INT64_C(2) / 3
                                       : timeout_ms;
    request->until_ns = deadline_ns(s, limit_ms);
    request->is_queued = false;
}

static bool is_over_with(struct zkli_request *request, zkl_err result) {
    request->result = result;
    return true;
}

bool zkli_acquire_is_over(struct zkl_lock *l, struct zkli_request *request) {
    const struct zkli_engine *e = l->session->engine;
    for (;;) {
        if (request->is_queued && !request->is_done)
            return false;
        if (request->is_queued) {
            request->is_queued = false;
            if (request->result != ZKL_OK || !is_stale(l, request))
                return true;
            if (zkli_engine_now_ns(e) >= request->until_ns)
                return is_over_with(request, request->is_try ? ZKL_UNREACHABLE : ZKL_TIMEOUT);
        }
        if (zkli_lock_is_closed(l))
            return is_over_with(request, ZKL_CLOSED);
        zkli_lock_refresh(l);
        struct zkli_hold *mine = zkli_lock_hold_of(l, request->thread);
        bool is_done = false;
        zkl_err err = mine == NULL ? ZKL_OK : enter_again(l, mine, &is_done);
        if (!is_done && request->is_try)
            err = try_at_once(l);
        if (is_done || err != ZKL_OK)
            return is_over_with(request, err);
        if (!can_be_told(l, request))
            return is_over_with(request, ZKL_NOMEM);
        queue_up(l, request);
    }
}

/* Counts the caller in. What may be said of a call that blocks before it begins. */
static zkl_err begin_blocking(struct zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    if (timeout_ms < 0 && timeout_ms != ZKL_FOREVER)
        err = ZKL_INVALID;
    else if (zkli_in_callback())
        err = ZKL_IN_CALLBACK;
    if (err != ZKL_OK)
        zkli_lock_end(l);
    return err;
}

zkl_err zkl_acquire(zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = begin_blocking(l, timeout_ms);
    if (err != ZKL_OK)
        return err;
    struct zkli_request request = {.thread = zkli_thread_number(),
                                   .thread_id = zkli_thread_id(),
                                   .hold = malloc(sizeof(struct zkli_hold))};
    if (request.hold == NULL || !zkli_condition_init(&request.done)) {
        free(request.hold);
        zkli_lock_end(l);
        return ZKL_NOMEM;
    }
    zkli_lock_enter(l);
    zkli_acquire_begin(l, &request, timeout_ms);
    while (!zkli_acquire_is_over(l, &request))
        zkli_session_wait(l->session, &request.done);
    err = request.result;
    free(request.hold); /* NULL if the lock has taken it over */
    zkli_tidings_release(request.tidings);
    (void)pthread_cond_destroy(&request.done);
    zkli_lock_leave(l);
    return err;
}

/* ---- Giving up ---- */

/* Gives up one level; the farewell, if any, is set when that ended the hold. */
static zkl_err release(struct zkl_lock *l, struct zkli_hold *hold, struct zkli_farewell *farewell) {
    if (zkli_lock_is_closed(l))
        return ZKL_CLOSED;
    if (hold == NULL)
        return ZKL_NOT_HELD;
    bool is_lost = hold->member == NULL;
    if (--hold->depth == 0) {
        if (is_lost)
            zkli_lock_drop_hold(l, hold);
        else
            zkli_lock_give_up(l, farewell);
    }
    return is_lost ? ZKL_LOST : ZKL_OK;
}

zkl_err zkl_release(zkl_lock *l) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    zkli_lock_refresh(l);
    err = release(l, zkli_lock_hold_of(l, zkli_thread_number()), NULL);
    zkli_lock_leave(l);
    return err;
}

zkl_err zkl_release_hold(zkl_lock *l, zkl_hold hold) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    zkli_lock_refresh(l);
    err = release(l, zkli_lock_find_hold(l, hold), NULL);
    zkli_lock_leave(l);
    return err;
}

static void farewell_timed_out(void *arg) {
    struct zkli_farewell *farewell = arg;
    farewell->is_over = true;
    pthread_cond_signal(&farewell->changed);
}

/* The node may outlast the wait: then it is buried without it. */
static zkl_err await_farewell(struct zkl_lock *l, struct zkli_farewell *farewell) {
    struct zkl_session *s = l->session;
    while (!farewell->is_over)
        zkli_session_wait(s, &farewell->changed);
    zkli_engine_clear_timer(s->engine, &farewell->deadline);
    zkli_list_remove(&farewell->link);
    if (farewell->member == NULL)
        return farewell->is_confirmed ? ZKL_OK : ZKL_CLOSED;
    zkli_member_attach(farewell->member, NULL, NULL);
    return l->is_closed ? ZKL_CLOSED : ZKL_TIMEOUT;
}

zkl_err zkl_release_wait(zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = begin_blocking(l, timeout_ms);
    if (err != ZKL_OK)
        return err;
    struct zkl_session *s = l->session;
    struct zkli_farewell farewell = {0};
    if (!zkli_condition_init(&farewell.changed)) {
        zkli_lock_end(l);
        return ZKL_NOMEM;
    }
    zkli_timer_init(&farewell.deadline, farewell_timed_out, &farewell);
    zkli_lock_enter(l);
    zkli_lock_refresh(l);
    err = release(l, zkli_lock_hold_of(l, zkli_thread_number()), &farewell);
    if (err == ZKL_OK && farewell.member != NULL) {
        zkli_engine_set_timer(s->engine, &farewell.deadline, deadline_ns(s, timeout_ms));
        err = await_farewell(l, &farewell);
    }
    (void)pthread_cond_destroy(&farewell.changed);
    zkli_lock_leave(l);
    return err;
}

zkl_err zkl_cancel(zkl_lock *l) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    if (zkli_lock_is_closed(l))
        err = ZKL_CLOSED;
    else
        zkli_lock_abandon_all(l, ZKL_CANCELED);
    zkli_lock_leave(l);
    return err;
}
