/* hold - the calls that ask about a hold: none of them talks to the server. */
#include "lock/lock.h"

#define NS_PER_MS INT64_C(1000000)

/* Locks the session and says whether the calling thread holds, certainly, now. */
static bool enter(struct zkl_lock *l) {
    zkli_lock_enter(l);
    zkli_lock_refresh(l);
    return l->hold.member != NULL && l->hold.thread == zkli_thread_number();
}

bool zkl_held(zkl_lock *l) {
    if (zkli_lock_check(l) != ZKL_OK)
        return false;
    bool is_held = enter(l);
    zkli_lock_leave(l);
    return is_held;
}

int64_t zkl_remaining_ms(zkl_lock *l) {
    if (zkli_lock_check(l) != ZKL_OK)
        return 0;
    const struct zkli_engine *e = &l->session->engine;
    int64_t remaining_ms = enter(l) ? (e->lease.certain_until_ns - e->now_ns) / NS_PER_MS
                                    : INT64_C(0);
    zkli_lock_leave(l);
    return remaining_ms;
}

int64_t zkl_token(zkl_lock *l) {
    if (zkli_lock_check(l) != ZKL_OK)
        return 0;
    int64_t token = enter(l) ? l->hold.token : 0;
    zkli_lock_leave(l);
    return token;
}

zkl_hold zkl_hold_of(zkl_lock *l) {
    if (zkli_lock_check(l) != ZKL_OK)
        return 0;
    (void)enter(l); /* a lost hold counts, too */
    zkl_hold hold = l->hold.thread == zkli_thread_number() ? l->hold.id : 0;
    zkli_lock_leave(l);
    return hold;
}

bool zkl_hold_valid(zkl_lock *l, zkl_hold hold) {
    if (zkli_lock_check(l) != ZKL_OK || hold == 0)
        return false;
    (void)enter(l); /* any thread may ask */
    bool is_valid = l->hold.member != NULL && l->hold.id == hold;
    zkli_lock_leave(l);
    return is_valid;
}

zkl_err zkl_node_path(zkl_lock *l, char *buf, size_t size) {
    zkl_err err = zkli_lock_check(l);
    if (err != ZKL_OK || buf == NULL)
        return err != ZKL_OK ? err : ZKL_INVALID;
    bool is_held = enter(l);
    if (l->session->engine.state == ZKL_STATE_CLOSED)
        err = ZKL_CLOSED;
    else if (!is_held)
        err = ZKL_NOT_HELD;
    else if (!zkli_member_path(l->hold.member, buf, size))
        err = ZKL_INVALID;
    zkli_lock_leave(l);
    return err;
}
