/* See told.h. */
#include "support/told.h"

void told_on_done(zkl_err err, zkl_hold hold, void *arg) {
    told *t = arg;

    t->err = err;
    t->hold = hold;
    t->was_valid = hold != 0 && zkl_hold_valid(t->lock, hold);
    t->thread = pthread_self();
    atomic_fetch_add(&t->times, 1);
}

void told_begin(told *t, zkl_lock *l, int64_t timeout_ms) {
    *t = (told){.lock = l};
    REQUIRE_INT(zkl_acquire_async(l, timeout_ms, told_on_done, t), ZKL_OK);
}

bool told_is(told *t) {
    return atomic_load(&t->times) > 0;
}

void told_check(told *t, zkl_err err) {
    WAIT_UNTIL(told_is(t), SOON_MS);
    CHECK_INT(t->err, err);
    CHECK_INT(t->hold != 0, err == ZKL_OK);
    CHECK_INT(t->was_valid, err == ZKL_OK);
}

void told_check_done(told *t, zkl_err err, zkl_hold hold) {
    WAIT_UNTIL(told_is(t), SOON_MS);
    CHECK_INT(t->err, err);
    CHECK_INT(t->hold, hold);
}

void told_check_once(told *t) {
    CHECK_INT(atomic_load(&t->times), 1);
}
