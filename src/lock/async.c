/*
 * async - acquires whose callers go on: what they come to is told by a completion, on the thread of
 * the session's callbacks. They stand on acquire.c and handle.c. Such a hold is no thread's: calls
 * name it by its number.
 */
#include "lock/lock.h"

#include <stdlib.h>

struct async {
    struct zkli_acquire acquire;
    struct zkli_completion completion;
    zkl_done_fn done;
    void *arg;
    zkl_err result;
    zkl_hold hold;
};

static void take(struct zkli_completion *c) {
    struct async *a = ZKLI_CONTAINER(c, struct async, completion);
    zkli_operation_take(&a->acquire.operation);
    a->hold = a->acquire.hold_id;
    a->result = zkli_acquire_end(&a->acquire);
    if (a->result != ZKL_OK)
        a->hold = 0;
}

static void tell(struct zkli_completion *c) {
    struct async *a = ZKLI_CONTAINER(c, struct async, completion);
    struct zkl_lock *l = a->acquire.lock;
    a->done(a->result, a->hold, a->arg);
    free(a);
    zkli_lock_end(l);
}

/* NULL: out of memory. */
static struct async *async_new(struct zkl_lock *l, zkl_done_fn done, void *arg) {
    struct async *a = malloc(sizeof(*a));
    if (a == NULL)
        return NULL;
    if (!zkli_acquire_init(&a->acquire, l, (struct zkli_thread){0, 0})) {
        free(a);
        return NULL;
    }
    zkli_completion_init(&a->completion, l, take, tell);
    a->acquire.operation.completion = &a->completion;
    a->done = done;
    a->arg = arg;
    return a;
}

/* With the lock held. OK: it is told, and stays counted in at the handle until then. */
static zkl_err begin(struct async *a, int64_t timeout_ms) {
    const struct zkl_lock *l = a->acquire.lock;
    if (zkli_lock_is_closed(l))
        return ZKL_CLOSED;
    if (!zkli_callbacks_start(l->session))
        return ZKL_NOMEM;
    zkli_acquire_begin(&a->acquire, timeout_ms);
    return ZKL_OK;
}

zkl_err zkl_acquire_async(zkl_lock *l, int64_t timeout_ms, zkl_done_fn done, void *arg) {
    if (done == NULL || (timeout_ms < 0 && timeout_ms != ZKL_FOREVER))
        return ZKL_INVALID;
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    struct async *a = async_new(l, done, arg);
    if (a == NULL) {
        zkli_lock_end(l);
        return ZKL_NOMEM;
    }
    struct zkl_session *s = l->session;
    zkli_lock_enter(l);
    err = begin(a, timeout_ms);
    if (err == ZKL_OK) {
        zkli_session_unlock(s); /* the handle may be gone by now */
        return ZKL_OK;
    }
    zkli_operation_fini(&a->acquire.operation);
    free(a);
    zkli_lock_leave(l);
    return err;
}
