/*
 * downgrade - a writer's hold becomes a reader's: the call waits for the servers' answer, or for
 * the end of the hold. It stands on handle.c; queue.c tells it what became of the hold.
 */
#include "lock/lock.h"

static void finish(struct zkli_downgrade *d, zkl_err result) {
    zkli_list_remove(&d->link);
    zkli_operation_finish(&d->operation, result);
}

void zkli_lock_end_downgrades(struct zkl_lock *l, zkl_err result) {
    bool is_closed = result != ZKL_OK && zkli_lock_is_closed(l);
    while (!zkli_list_is_empty(&l->downgrades))
        finish(ZKLI_CONTAINER(l->downgrades.next, struct zkli_downgrade, link),
               is_closed ? ZKL_CLOSED : result);
}

static zkl_err check(const struct zkl_lock *l, const struct zkli_hold *hold) {
    if (zkli_lock_is_closed(l))
        return ZKL_CLOSED;
    if (l->kind != ZKLI_KIND_WRITE)
        return ZKL_UNSUPPORTED;
    if (hold == NULL)
        return ZKL_NOT_HELD;
    return hold->member == NULL ? ZKL_LOST : ZKL_OK;
}

/* There is none: the servers answer, or the hold ends. */
static void no_deadline(struct zkli_timer *timer) {
    (void)timer;
}

void zkli_downgrade_init(struct zkli_downgrade *d, struct zkl_lock *l) {
    *d = (struct zkli_downgrade){.lock = l};
    zkli_operation_init(&d->operation, l->session, no_deadline);
}

void zkli_downgrade_begin(struct zkli_downgrade *d) {
    struct zkl_lock *l = d->lock;
    struct zkli_hold *hold = zkli_lock_hold_of(l, zkli_thread_number());
    zkl_err err = check(l, hold);
    zkli_operation_begin(&d->operation, ZKLI_NEVER);
    if (err != ZKL_OK || hold->is_reader) {
        zkli_operation_finish(&d->operation, err);
        return;
    }
    zkli_list_append(&l->downgrades, &d->link);
    zkli_member_turn(hold->member);
}

zkl_err zkl_downgrade(zkl_lock *l) {
    zkl_err err = zkli_lock_begin_blocking(l);
    if (err != ZKL_OK)
        return err;
    struct zkli_downgrade d;
    zkli_downgrade_init(&d, l);
    zkli_lock_enter(l);
    zkli_downgrade_begin(&d);
    err = zkli_operation_wait(&d.operation);
    zkli_operation_fini(&d.operation);
    zkli_lock_leave(l);
    return err;
}
