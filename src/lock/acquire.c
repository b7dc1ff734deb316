/* acquire - the calls that take the lock and give it up. */
#include "lock/lock.h"

#include <limits.h>

#define NS_PER_MS INT64_C(1000000)

/* A deadline that is not representable is none. */
static int64_t deadline_ns(const struct zkl_session *s, int64_t timeout_ms) {
    if (timeout_ms == ZKL_FOREVER)
        return ZKLI_NEVER;
    if (timeout_ms > (ZKLI_NEVER - s->engine.now_ns) / NS_PER_MS)
        return ZKLI_NEVER;
    return s->engine.now_ns + timeout_ms * NS_PER_MS;
}

static void request_timed_out(void *arg) {
    struct zkli_request *request = arg;
    zkli_lock_abandon(request->lock, request, request->is_try ? ZKL_UNREACHABLE : ZKL_TIMEOUT);
}

/* What can be said without asking anybody; ZKL_OK: go on and ask. */
static zkl_err check_at_once(struct zkl_lock *l, bool is_try, uint64_t thread) {
    struct zkl_session *s = l->session;
    if (l->is_closed || s->engine.state == ZKL_STATE_CLOSED)
        return ZKL_CLOSED;
    zkli_lock_refresh(l);
    bool is_held = l->hold.member != NULL;
    if (is_held && l->hold.thread == thread)
        return ZKL_DEADLOCK;
    if (!is_try)
        return ZKL_OK;
    if (is_held || !zkli_list_is_empty(&l->requests))
        return ZKL_BUSY;
    if (s->engine.state == ZKL_STATE_AUTH_FAILED)
        return ZKL_AUTH_FAILED;
    return s->engine.is_connected ? ZKL_OK : ZKL_UNREACHABLE;
}

static zkl_err enter_again(struct zkl_lock *l) {
    if (!l->is_recursive)
        return ZKL_DEADLOCK;
    if (l->hold.depth == INT_MAX)
        return ZKL_LIMIT;
    l->hold.depth++;
    return ZKL_OK;
}

/* Stands in the queue until granted, failed or out of time. */
static zkl_err acquire_once(struct zkl_lock *l, struct zkli_request *request, int64_t until_ns) {
    struct zkl_session *s = l->session;
    zkl_err err = check_at_once(l, request->is_try, request->thread);
    if (err == ZKL_DEADLOCK)
        return enter_again(l);
    if (err != ZKL_OK)
        return err;
    request->lock = l;
    request->is_done = false;
    zkli_timer_init(&request->deadline, request_timed_out, request);
    zkli_timer_set(&s->engine.timers, &request->deadline, until_ns);
    zkli_lock_submit(l, request);
    while (!request->is_done)
        zkli_session_wait(s, &request->done);
    return request->result;
}

/* Granted, but was this thread told too late? Time may have passed since, without our running. */
static bool is_stale(struct zkl_lock *l, const struct zkli_request *request) {
    zkli_lock_refresh(l);
    if (request->hold == 0 || (l->hold.id == request->hold && !l->hold.is_lost))
        return false;
    if (l->hold.id == request->hold)
        l->hold = (struct zkli_hold){0}; /* nobody was told that it held */
    return true;
}

static zkl_err acquire(struct zkl_lock *l, struct zkli_request *request, int64_t timeout_ms) {
    struct zkl_session *s = l->session;
    /* A try is answered in a round trip or two; a silent server must not hold it up for long. */
    int64_t until_ns = deadline_ns(s, request->is_try ? s->engine.timeout_ms / 3 : timeout_ms);
    for (;;) {
        request->hold = 0;
        zkl_err err = acquire_once(l, request, until_ns);
        if (err != ZKL_OK || !is_stale(l, request))
            return err;
        if (s->engine.now_ns >= until_ns)
            return request->is_try ? ZKL_UNREACHABLE : ZKL_TIMEOUT;
    }
}

zkl_err zkl_acquire(zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = zkli_lock_check(l);
    if (err != ZKL_OK)
        return err;
    if (timeout_ms < 0 && timeout_ms != ZKL_FOREVER)
        return ZKL_INVALID;
    if (zkli_in_callback())
        return ZKL_IN_CALLBACK;
    struct zkli_request request = {
        .thread = zkli_thread_number(), .thread_id = zkli_thread_id(), .is_try = timeout_ms == 0};
    if (!zkli_condition_init(&request.done))
        return ZKL_NOMEM;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    zkli_lock_enter(l);
    err = acquire(l, &request, timeout_ms);
    zkli_lock_leave(l);
    (void)pthread_setcancelstate(cancel_state, NULL);
    (void)pthread_cond_destroy(&request.done);
    return err;
}

/* ---- Giving up ---- */

/* Gives up one level; the farewell, if any, is set when that ended the hold. */
static zkl_err release(struct zkl_lock *l, struct zkli_farewell *farewell) {
    if (l->hold.is_lost) {
        l->hold = (struct zkli_hold){0};
        return ZKL_LOST;
    }
    if (--l->hold.depth == 0)
        zkli_lock_give_up(l, farewell);
    return ZKL_OK;
}

static bool is_mine(const struct zkl_lock *l) {
    return l->hold.id != 0 && l->hold.thread == zkli_thread_number();
}

static zkl_err check_release(struct zkl_lock *l, bool is_the_one) {
    if (l->session->engine.state == ZKL_STATE_CLOSED)
        return ZKL_CLOSED;
    zkli_lock_refresh(l);
    return is_the_one ? ZKL_OK : ZKL_NOT_HELD;
}

zkl_err zkl_release(zkl_lock *l) {
    zkl_err err = zkli_lock_check(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    err = check_release(l, is_mine(l));
    if (err == ZKL_OK)
        err = release(l, NULL);
    zkli_lock_leave(l);
    return err;
}

zkl_err zkl_release_hold(zkl_lock *l, zkl_hold hold) {
    zkl_err err = zkli_lock_check(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    err = check_release(l, hold != 0 && l->hold.id == hold);
    if (err == ZKL_OK)
        err = release(l, NULL);
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
    zkli_timer_clear(&s->engine.timers, &farewell->deadline);
    if (farewell->member == NULL)
        return farewell->is_confirmed ? ZKL_OK : ZKL_CLOSED;
    zkli_member_detach(farewell->member);
    return ZKL_TIMEOUT;
}

zkl_err zkl_release_wait(zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = zkli_lock_check(l);
    if (err != ZKL_OK)
        return err;
    if (timeout_ms < 0 && timeout_ms != ZKL_FOREVER)
        return ZKL_INVALID;
    if (zkli_in_callback())
        return ZKL_IN_CALLBACK;
    struct zkl_session *s = l->session;
    struct zkli_farewell farewell = {0};
    if (!zkli_condition_init(&farewell.changed))
        return ZKL_NOMEM;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    zkli_timer_init(&farewell.deadline, farewell_timed_out, &farewell);
    zkli_lock_enter(l);
    err = check_release(l, is_mine(l));
    if (err == ZKL_OK)
        err = release(l, &farewell);
    if (err == ZKL_OK && farewell.member != NULL) {
        zkli_timer_set(&s->engine.timers, &farewell.deadline, deadline_ns(s, timeout_ms));
        err = await_farewell(l, &farewell);
    }
    zkli_lock_leave(l);
    (void)pthread_setcancelstate(cancel_state, NULL);
    (void)pthread_cond_destroy(&farewell.changed);
    return err;
}

zkl_err zkl_cancel(zkl_lock *l) {
    zkl_err err = zkli_lock_check(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    if (l->session->engine.state == ZKL_STATE_CLOSED)
        err = ZKL_CLOSED;
    else
        zkli_lock_abandon_all(l, ZKL_CANCELED);
    zkli_lock_leave(l);
    return err;
}
