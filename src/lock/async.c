/*
 * async - what a caller asks for and does not wait for: a completion says what it came to, on the
 * thread of the session's callbacks. Here are acquires and releases, and what all have in common;
 * writes are in guard_set.c and guard_multi.c. Such a hold is no thread's: calls name it by its
 * number.
 */
#include "lock/lock.h"

#include <stdlib.h>

/* ---- For each of them ---- */

void *zkli_async_new(size_t size, struct zkl_lock *l, zkl_done_fn done, void *arg,
                     zkl_err *ret_err) {
    *ret_err = done == NULL ? ZKL_INVALID : zkli_lock_begin(l);
    if (*ret_err != ZKL_OK)
        return NULL;
    struct zkli_async *a = calloc(1, size);
    if (a == NULL) {
        zkli_lock_end(l);
        *ret_err = ZKL_NOMEM;
        return NULL;
    }
    a->lock = l;
    a->done = done;
    a->arg = arg;
    return a;
}

static void take(struct zkli_completion *c) {
    struct zkli_async *a = ZKLI_CONTAINER(c, struct zkli_async, completion);
    zkli_operation_take(a->operation);
    if (a->on_end != NULL)
        a->on_end(a);
    a->result = a->operation->result;
    zkli_operation_fini(a->operation);
}

void zkli_async_drop(struct zkli_async *a) {
    struct zkl_lock *l = a->lock;
    free(a->owned);
    free(a);
    zkli_lock_end(l);
}

static void tell(struct zkli_completion *c) {
    struct zkli_async *a = ZKLI_CONTAINER(c, struct zkli_async, completion);
    a->done(a->result, a->hold, a->arg);
    zkli_async_drop(a);
}

void zkli_async_follow(struct zkli_async *a, struct zkli_operation *operation) {
    a->operation = operation;
    operation->completion = &a->completion;
}

zkl_err zkli_async_start(struct zkli_async *a, zkl_err (*begin)(struct zkli_async *a)) {
    struct zkl_lock *l = a->lock;
    struct zkl_session *s = l->session;
    zkli_completion_init(&a->completion, l, take, tell);
    zkli_lock_enter(l);
    zkl_err err = ZKL_CLOSED;
    if (!zkli_lock_is_closed(l))
        err = zkli_callbacks_start(s) ? begin(a) : ZKL_NOMEM;
    zkli_session_unlock(s); /* if it has begun, it and the handle may be gone now */
    if (err != ZKL_OK)
        zkli_async_drop(a);
    return err;
}

/* ---- Acquires ---- */

struct async_acquire {
    struct zkli_async async;
    struct zkli_acquire acquire;
    int64_t timeout_ms;
};

static zkl_err acquire_begin(struct zkli_async *async) {
    struct async_acquire *a = ZKLI_CONTAINER(async, struct async_acquire, async);
    zkli_acquire_init(&a->acquire, async->lock, (struct zkli_thread){0, 0});
    zkli_async_follow(async, &a->acquire.operation);
    zkli_acquire_begin(&a->acquire, a->timeout_ms);
    return ZKL_OK;
}

static void acquire_on_end(struct zkli_async *async) {
    struct async_acquire *a = ZKLI_CONTAINER(async, struct async_acquire, async);
    async->hold = a->acquire.operation.result == ZKL_OK ? a->acquire.hold_id : 0;
    zkli_acquire_let_go(&a->acquire, a->acquire.operation.result);
}

zkl_err zkl_acquire_async(zkl_lock *l, int64_t timeout_ms, zkl_done_fn done, void *arg) {
    zkl_err err;
    if (!zkli_timeout_is_valid(timeout_ms))
        return ZKL_INVALID;
    struct async_acquire *a = zkli_async_new(sizeof(*a), l, done, arg, &err);
    if (a == NULL)
        return err;
    a->async.on_end = acquire_on_end;
    a->timeout_ms = timeout_ms;
    return zkli_async_start(&a->async, acquire_begin);
}

/* ---- Releases ---- */

struct async_release {
    struct zkli_async async;
    struct zkli_release release;
    int64_t timeout_ms;
};

static zkl_err release_begin(struct zkli_async *async) {
    struct async_release *r = ZKLI_CONTAINER(async, struct async_release, async);
    struct zkl_lock *l = async->lock;
    struct zkli_operation *o = &r->release.operation;
    zkli_release_init(&r->release, l, r->timeout_ms);
    zkli_async_follow(async, o);
    zkl_err err = zkli_lock_release(l, zkli_lock_find_hold(l, async->hold), &r->release);
    if (err != ZKL_OK) {
        zkli_operation_fini(o);
    } else if (o->state == ZKLI_OPERATION_NEW) { /* there is nothing to wait for */
        zkli_operation_begin(o, ZKLI_NEVER);
        zkli_operation_finish(o, ZKL_OK);
    }
    return err;
}

zkl_err zkl_release_async(zkl_lock *l, zkl_hold hold, int64_t timeout_ms, zkl_done_fn done,
                          void *arg) {
    zkl_err err;
    if (!zkli_timeout_is_valid(timeout_ms))
        return ZKL_INVALID;
    struct async_release *r = zkli_async_new(sizeof(*r), l, done, arg, &err);
    if (r == NULL)
        return err;
    r->async.hold = hold;
    r->timeout_ms = timeout_ms;
    return zkli_async_start(&r->async, release_begin);
}
