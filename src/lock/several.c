/* several - the calls for several locks at once. They stand on acquire.c, queue.c and handle.c. */
#include <stdlib.h>
#include <string.h>

#include "lock/lock.h"

/* ---- The acquire ---- */

static void on_deadline(struct zkli_timer *timer) {
    struct zkli_several *all = ZKLI_CONTAINER(timer, struct zkli_several, operation.deadline);
    zkli_several_fail(all, zkli_acquire_too_late(&all->parts[0]));
}

struct zkli_several *zkli_several_new(zkl_lock *const *locks, size_t count) {
    struct zkli_several *all = calloc(1, sizeof(*all) + count * sizeof(all->parts[0]));
    if (all == NULL)
        return NULL;
    zkli_operation_init(&all->operation, locks[0]->session, on_deadline);
    all->count = count;
    for (size_t i = 0; i < count; i++)
        all->parts[i] = (struct zkli_acquire){
            .lock = locks[i], .thread = zkli_thread_self(), .all = all};
    return all;
}

/* The calling thread has it no more. A recursive one remembers until it is released. */
static bool is_lost(const struct zkli_acquire *part) {
    const struct zkli_hold *mine = zkli_lock_hold_of(part->lock, part->thread.number);
    return mine != NULL && mine->member == NULL && part->lock->is_recursive;
}

/* What they are refused for, whatever the servers say. A thread that holds a lock and waits for
 * others could wait for a caller that waits for it. */
static zkl_err refuse(const struct zkli_several *all) {
    const struct zkli_acquire *first = &all->parts[0];
    zkl_err err = ZKL_OK;
    for (size_t i = 0; i < all->count && err == ZKL_OK; i++)
        err = zkli_lock_is_closed(all->parts[i].lock) ? ZKL_CLOSED : ZKL_OK;
    if (err == ZKL_OK &&
        zkli_engine_thread_holds(first->lock->session->engine, first->thread.number))
        err = ZKL_DEADLOCK;
    for (size_t i = 0; i < all->count && err == ZKL_OK; i++)
        err = is_lost(&all->parts[i]) ? ZKL_LOST : ZKL_OK;
    return err;
}

/* What is known without waiting; ZKL_OK: nothing. */
static zkl_err decide_at_once(struct zkli_several *all) {
    zkl_err err = ZKL_OK;
    for (size_t i = 0; i < all->count && err == ZKL_OK && all->parts[0].is_try; i++)
        err = zkli_lock_try_at_once(all->parts[i].lock);
    for (size_t i = 0; i < all->count && err == ZKL_OK; i++)
        err = zkli_acquire_prepare(&all->parts[i]) ? ZKL_OK : ZKL_NOMEM;
    return err;
}

/* Lost ones, as by any acquire. */
static void forget_holds(struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++) {
        struct zkli_acquire *part = &all->parts[i];
        struct zkli_hold *lost = zkli_lock_hold_of(part->lock, part->thread.number);
        if (lost != NULL)
            zkli_hold_drop(lost);
    }
}

void zkli_several_begin(struct zkli_several *all, int64_t timeout_ms) {
    const int64_t until_ns = zkli_acquire_until_ns(all->operation.session, timeout_ms);
    zkli_operation_begin(&all->operation, until_ns);
    for (size_t i = 0; i < all->count; i++) {
        all->parts[i].is_try = timeout_ms == 0;
        all->parts[i].begun_ns = zkli_engine_now_ns(all->operation.session->engine);
        all->parts[i].until_ns = until_ns;
    }
    zkl_err refusal = refuse(all);
    zkl_err err = refusal == ZKL_OK ? decide_at_once(all) : refusal;
    if (refusal == ZKL_OK && err != ZKL_NOMEM)
        forget_holds(all);
    if (err == ZKL_OK)
        zkli_several_submit(all);
    else
        zkli_operation_finish(&all->operation, err);
}

zkl_err zkli_several_end(struct zkli_several *all) {
    zkl_err result = all->operation.result;
    for (size_t i = 0; i < all->count; i++)
        zkli_acquire_let_go(&all->parts[i], result);
    zkli_operation_fini(&all->operation);
    return result;
}

void zkli_several_free(struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++)
        zkli_lock_end(all->parts[i].lock);
    free(all);
}

/* ---- The calls ---- */

static void end_all(zkl_lock *const *locks, size_t count) {
    for (size_t i = 0; i < count; i++)
        zkli_lock_end(locks[i]);
}

/* Of one session, and no two by one name. */
static bool belong_together(zkl_lock *const *locks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (locks[i]->session != locks[0]->session)
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(locks[i]->name, locks[j]->name) == 0)
                return false;
    }
    return true;
}

/* Counts in at each, or at none. */
static zkl_err begin_all(zkl_lock *const *locks, size_t count) {
    if (locks == NULL || count == 0)
        return ZKL_INVALID;
    if (count > ZKL_ALL_MAX)
        return ZKL_LIMIT;
    for (size_t i = 0; i < count; i++) {
        zkl_err err = zkli_lock_begin(locks[i]);
        if (err == ZKL_OK)
            continue;
        end_all(locks, i);
        return err;
    }
    if (belong_together(locks, count))
        return ZKL_OK;
    end_all(locks, count);
    return ZKL_INVALID;
}

static zkl_err begin_blocking(zkl_lock *const *locks, size_t count, int64_t timeout_ms) {
    if (!zkli_timeout_is_valid(timeout_ms))
        return ZKL_INVALID;
    zkl_err err = begin_all(locks, count);
    if (err != ZKL_OK || !zkli_in_callback())
        return err;
    end_all(locks, count);
    return ZKL_IN_CALLBACK;
}

zkl_err zkl_acquire_all(zkl_lock *const *locks, size_t count, int64_t timeout_ms) {
    zkl_err err = begin_blocking(locks, count, timeout_ms);
    if (err != ZKL_OK)
        return err;
    struct zkli_several *all = zkli_several_new(locks, count);
    if (all == NULL) {
        end_all(locks, count);
        return ZKL_NOMEM;
    }
    zkl_session *s = locks[0]->session;
    zkli_session_lock(s);
    zkli_several_begin(all, timeout_ms);
    (void)zkli_operation_wait(&all->operation);
    err = zkli_several_end(all);
    zkli_session_unlock(s);
    zkli_several_free(all); /* the caller may have closed one, and cleared its place in the array */
    return err;
}

/* Which of two errors is told: the first, but a hold that was lost before any other. */
static zkl_err worse(zkl_err one, zkl_err other) {
    return one == ZKL_OK || other == ZKL_LOST ? other : one;
}

zkl_err zkl_release_all(zkl_lock *const *locks, size_t count) {
    zkl_err err = begin_all(locks, count);
    if (err != ZKL_OK)
        return err;
    zkl_session *s = locks[0]->session;
    zkli_session_lock(s);
    for (size_t i = 0; i < count; i++) {
        struct zkli_hold *mine = zkli_lock_hold_of(locks[i], zkli_thread_number());
        err = worse(err, zkli_lock_release(locks[i], mine, NULL));
    }
    zkli_session_unlock(s);
    end_all(locks, count);
    return err;
}
