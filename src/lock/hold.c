/* hold - the calls that ask about a hold or its lock: none of them talks to the server. */
#include "lock/lock.h"

/* Locks, and finds the calling thread's hold, or that with a number; NULL if it is not certain
 * now. */
static const struct zkli_hold *enter(struct zkl_lock *l) {
    zkli_lock_enter(l);
    return zkli_lock_good_hold_of(l, zkli_thread_number());
}

static const struct zkli_hold *enter_by(struct zkl_lock *l, zkl_hold hold) {
    zkli_lock_enter(l);
    return zkli_lock_find_good_hold(l, hold);
}

/* ---- With the lock held, which they release ---- */

static bool leave_held(struct zkl_lock *l, const struct zkli_hold *hold) {
    zkli_lock_leave(l);
    return hold != NULL;
}

static int64_t leave_with_remaining_ms(struct zkl_lock *l, const struct zkli_hold *hold) {
    int64_t remaining_ms = 0, now_ns = zkli_engine_now_ns(l->session->engine);
    if (hold != NULL)
        remaining_ms = (zkli_member_certain_until_ns(hold->member) - now_ns) / ZKLI_NS_PER_MS;
    zkli_lock_leave(l);
    return remaining_ms;
}

static int64_t leave_with_token(struct zkl_lock *l, const struct zkli_hold *hold) {
    int64_t token = hold == NULL ? 0 : hold->token;
    zkli_lock_leave(l);
    return token;
}

static zkl_err leave_with_path(struct zkl_lock *l, const struct zkli_hold *hold, char *buf,
                               size_t size) {
    zkl_err err = ZKL_OK;
    if (buf == NULL)
        err = ZKL_INVALID;
    else if (zkli_lock_is_closed(l))
        err = ZKL_CLOSED;
    else if (hold == NULL)
        err = ZKL_NOT_HELD;
    else if (!zkli_member_path(hold->member, buf, size))
        err = ZKL_INVALID;
    zkli_lock_leave(l);
    return err;
}

/* ---- The calling thread's hold ---- */

bool zkl_held(zkl_lock *l) {
    return zkli_lock_begin(l) == ZKL_OK && leave_held(l, enter(l));
}

int64_t zkl_remaining_ms(zkl_lock *l) {
    return zkli_lock_begin(l) == ZKL_OK ? leave_with_remaining_ms(l, enter(l)) : 0;
}

int64_t zkl_token(zkl_lock *l) {
    return zkli_lock_begin(l) == ZKL_OK ? leave_with_token(l, enter(l)) : 0;
}

zkl_hold zkl_hold_of(zkl_lock *l) {
    if (zkli_lock_begin(l) != ZKL_OK)
        return 0;
    zkli_lock_enter(l); /* a lost hold counts, too */
    const struct zkli_hold *hold = zkli_lock_hold_of(l, zkli_thread_number());
    zkl_hold id = hold == NULL ? 0 : hold->id;
    zkli_lock_leave(l);
    return id;
}

zkl_err zkl_node_path(zkl_lock *l, char *buf, size_t size) {
    zkl_err err = zkli_lock_begin(l);
    return err != ZKL_OK ? err : leave_with_path(l, enter(l), buf, size);
}

/* ---- By its number, from any thread ---- */

bool zkl_hold_valid(zkl_lock *l, zkl_hold hold) {
    return zkli_lock_begin(l) == ZKL_OK && leave_held(l, enter_by(l, hold));
}

int64_t zkl_hold_remaining_ms(zkl_lock *l, zkl_hold hold) {
    return zkli_lock_begin(l) == ZKL_OK ? leave_with_remaining_ms(l, enter_by(l, hold)) : 0;
}

int64_t zkl_hold_token(zkl_lock *l, zkl_hold hold) {
    return zkli_lock_begin(l) == ZKL_OK ? leave_with_token(l, enter_by(l, hold)) : 0;
}

zkl_err zkl_hold_path(zkl_lock *l, zkl_hold hold, char *buf, size_t size) {
    zkl_err err = zkli_lock_begin(l);
    return err != ZKL_OK ? err : leave_with_path(l, enter_by(l, hold), buf, size);
}

/* ---- The handle ---- */

const char *zkl_lock_name(const zkl_lock *l) {
    struct zkl_lock *entered = (struct zkl_lock *)l; /* what changes is how many are in it */
    if (zkli_lock_begin(entered) != ZKL_OK)
        return NULL;
    zkli_lock_enter(entered);
    const char *name = entered->is_gone ? NULL : entered->name;
    zkli_lock_leave(entered);
    return name;
}
