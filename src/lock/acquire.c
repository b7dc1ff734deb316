/* acquire - the calls that take the lock and give it up. They stand on queue.c and handle.c. */
#include "lock/lock.h"
#include "lock/stats.h"

#include <limits.h>
#include <stdlib.h>

zkl_err zkli_lock_try_at_once(const struct zkl_lock *l) {
    const struct zkli_engine *e = l->session->engine;
    if (l->current != NULL || !zkli_list_is_empty(&l->acquires))
        return ZKL_BUSY;
    zkl_err err = zkli_engine_end_error(e);
    if (err != ZKL_OK)
        return err;
    return zkli_engine_is_connected(e) ? ZKL_OK : ZKL_UNREACHABLE;
}

/* A lost hold without nesting is forgotten when its thread acquires again. */
static bool is_over(const struct zkl_lock *l, const struct zkli_hold *hold) {
    return hold != NULL && hold->member == NULL && !l->is_recursive;
}

/* The thread has a hold, which is not over. Inside a lost one, a recursive lock must not make it
 * believe that it has held all the time. */
static zkl_err enter_again(const struct zkl_lock *l, struct zkli_hold *hold) {
    if (hold->member == NULL)
        return ZKL_LOST;
    if (!l->is_recursive || hold->is_reader) /* who reads, and wants to write, waits for itself */
        return ZKL_DEADLOCK;
    if (hold->depth == INT_MAX)
        return ZKL_LIMIT;
    hold->depth++;
    return ZKL_OK;
}

/* One that was granted has not been told of it. */
static void on_deadline(struct zkli_timer *timer) {
    struct zkli_acquire *acquire = ZKLI_CONTAINER(timer, struct zkli_acquire, operation.deadline);
    if (zkli_operation_is_running(&acquire->operation))
        zkli_lock_abandon(acquire->lock, acquire, zkli_acquire_too_late(acquire));
    else
        zkli_acquire_take_back(acquire, ZKL_TIMEOUT);
}

void zkli_acquire_init(struct zkli_acquire *acquire, struct zkl_lock *l,
                       struct zkli_thread thread) {
    *acquire = (struct zkli_acquire){.lock = l, .thread = thread};
    zkli_operation_init(&acquire->operation, l->session, on_deadline);
}

static void keep(struct zkl_lock *l) {
    (void)zkli_lock_begin(l); /* never in a child: nothing is told there */
}

bool zkli_acquire_prepare(struct zkli_acquire *acquire) {
    static const struct zkli_events_owner owner = {keep, zkli_lock_end};
    const struct zkl_lock *l = acquire->lock;
    acquire->hold = calloc(1, sizeof(*acquire->hold));
    if (acquire->hold == NULL || l->on_event == NULL)
        return acquire->hold != NULL;
    acquire->hold->events = zkli_events_new(l->on_event, l->arg, acquire->lock, &owner);
    return acquire->hold->events != NULL;
}

/* A hold of no thread, which waits for none. */
static bool is_nobody_s(const struct zkli_acquire *acquire) {
    return acquire->thread.number == 0;
}

/* That which the thread has of this lock by another handle, and which it would wait for; NULL:
 * none. It may have several permits of a semaphore. */
static struct zkli_hold *outer_hold(const struct zkli_acquire *acquire) {
    const struct zkl_lock *l = acquire->lock;
    if (is_nobody_s(acquire))
        return NULL;
    struct zkli_member *m = zkli_engine_held_by(l->session->engine, l->name,
                                                acquire->thread.number);
    bool is_another_permit = m != NULL && l->kind == ZKLI_KIND_LEASE &&
                             zkli_member_kind(m) == ZKLI_KIND_LEASE;
    return m == NULL || is_another_permit ? NULL : zkli_member_owner(m);
}

/* By a thread that has no hold by this handle. What is known without waiting; ZKL_OK: nothing. */
static zkl_err decide_at_once(const struct zkli_acquire *acquire, const struct zkli_hold *outer) {
    const struct zkl_lock *l = acquire->lock;
    if (outer == NULL)
        return acquire->is_try ? zkli_lock_try_at_once(l) : ZKL_OK;
    /* A writer reads inside. Otherwise the thread would wait for itself: who reads, behind a writer
     * that has come since. */
    bool may_nest = l->kind == ZKLI_KIND_READ && zkli_member_is_or_was_writer(outer->member);
    return may_nest ? ZKL_OK : ZKL_DEADLOCK;
}

/* Finishes the acquire, or puts it in line. */
static void decide_or_submit(struct zkli_acquire *acquire) {
    struct zkl_lock *l = acquire->lock;
    struct zkli_hold *mine = is_nobody_s(acquire) ? NULL
                                                  : zkli_lock_hold_of(l, acquire->thread.number);
    if (zkli_lock_is_closed(l)) {
        zkli_operation_finish(&acquire->operation, ZKL_CLOSED);
        return;
    }
    if (mine != NULL && !is_over(l, mine)) {
        zkli_operation_finish(&acquire->operation, enter_again(l, mine));
        return;
    }
    struct zkli_hold *outer = outer_hold(acquire);
    zkl_err err = decide_at_once(acquire, outer);
    if (err == ZKL_OK && !zkli_acquire_prepare(acquire))
        err = ZKL_NOMEM;
    if (mine != NULL && err != ZKL_NOMEM)
        zkli_hold_drop(mine);
    if (err == ZKL_OK && outer == NULL) {
        zkli_lock_submit(l, acquire);
        return;
    }
    if (err == ZKL_OK)
        zkli_hold_nest(outer, acquire);
    zkli_operation_finish(&acquire->operation, err);
}

int64_t zkli_acquire_until_ns(const struct zkl_session *s, int64_t timeout_ms) {
    /* A try is answered in a few round trips, or with the first proof of the lease on a connection.
       That takes up to 0.6 T where round trips take T/15. A silent server must not hold the try up
       for much longer. */
    int64_t try_ms = zkli_engine_timeout_ms(s->engine) * INT64_C(2) / 3;
    return zkli_operation_until_ns(s, timeout_ms == 0 ? try_ms : timeout_ms);
}

void zkli_acquire_begin(struct zkli_acquire *acquire, int64_t timeout_ms) {
    acquire->is_try = timeout_ms == 0;
    acquire->begun_ns = zkli_engine_now_ns(acquire->lock->session->engine);
    acquire->until_ns = zkli_acquire_until_ns(acquire->lock->session, timeout_ms);
    zkli_operation_begin(&acquire->operation, acquire->until_ns);
    decide_or_submit(acquire);
}

void zkli_acquire_let_go(struct zkli_acquire *acquire, zkl_err result) {
    struct zkli_hold *hold = zkli_lock_find_hold(acquire->lock, acquire->hold_id);
    zkli_stats_acquired(acquire, result);
    if (hold != NULL)
        hold->acquire = NULL;
    if (acquire->hold != NULL) /* else the lock has taken it over */
        zkli_events_release(acquire->hold->events);
    free(acquire->hold);
}

zkl_err zkli_acquire_end(struct zkli_acquire *acquire) {
    zkli_acquire_let_go(acquire, acquire->operation.result);
    zkli_operation_fini(&acquire->operation);
    return acquire->operation.result;
}

static zkl_err begin_timed(struct zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = zkli_lock_begin_blocking(l);
    if (err != ZKL_OK || zkli_timeout_is_valid(timeout_ms))
        return err;
    zkli_lock_end(l);
    return ZKL_INVALID;
}

zkl_err zkl_acquire(zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = begin_timed(l, timeout_ms);
    if (err != ZKL_OK)
        return err;
    struct zkli_acquire acquire;
    zkli_acquire_init(&acquire, l, zkli_thread_self());
    zkli_lock_enter(l);
    zkli_acquire_begin(&acquire, timeout_ms);
    (void)zkli_operation_wait(&acquire.operation);
    err = zkli_acquire_end(&acquire);
    zkli_lock_leave(l);
    return err;
}

/* ---- Giving up ---- */

zkl_err zkli_lock_release(struct zkl_lock *l, struct zkli_hold *hold,
                          struct zkli_release *waiting) {
    if (zkli_lock_is_closed(l))
        return ZKL_CLOSED;
    if (hold == NULL)
        return ZKL_NOT_HELD;
    bool is_lost = hold->member == NULL;
    if (--hold->depth == 0) {
        if (is_lost)
            zkli_hold_drop(hold);
        else
            zkli_hold_give_up(hold, waiting);
    }
    return is_lost ? ZKL_LOST : ZKL_OK;
}

zkl_err zkl_release(zkl_lock *l) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    err = zkli_lock_release(l, zkli_lock_hold_of(l, zkli_thread_number()), NULL);
    zkli_lock_leave(l);
    return err;
}

zkl_err zkl_release_hold(zkl_lock *l, zkl_hold hold) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    err = zkli_lock_release(l, zkli_lock_find_hold(l, hold), NULL);
    zkli_lock_leave(l);
    return err;
}

zkl_err zkl_release_wait(zkl_lock *l, int64_t timeout_ms) {
    zkl_err err = begin_timed(l, timeout_ms);
    if (err != ZKL_OK)
        return err;
    struct zkli_release waiting;
    zkli_lock_enter(l);
    zkli_release_init(&waiting, l, timeout_ms);
    err = zkli_lock_release(l, zkli_lock_hold_of(l, zkli_thread_number()), &waiting);
    if (err == ZKL_OK)
        err = zkli_operation_wait(&waiting.operation); /* OK at once if nothing was begun */
    zkli_operation_fini(&waiting.operation);
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
