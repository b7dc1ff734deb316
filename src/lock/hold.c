/* hold - the calls that ask about a hold or its lock: none of them talks to the server. */
#include "lock/lock.h"

/* Locks, and finds the calling thread's hold; NULL if it has none that is certain now. */
static const struct zkli_hold *enter(struct zkl_lock *l) {
    zkli_lock_enter(l);
    return zkli_lock_good_hold_of(l, zkli_thread_number());
}

bool zkl_held(zkl_lock *l) {
    if (zkli_lock_begin(l) != ZKL_OK)
        return false;
    bool is_held = enter(l) != NULL;
    zkli_lock_leave(l);
    return is_held;
}

int64_t zkl_remaining_ms(zkl_lock *l) {
    if (zkli_lock_begin(l) != ZKL_OK)
        return 0;
    const struct zkli_engine *e = l->session->engine;
    int64_t remaining_ms = 0;
    if (enter(l) != NULL)
        remaining_ms = (zkli_engine_certain_until_ns(e) - zkli_engine_now_ns(e)) / ZKLI_NS_PER_MS;
    zkli_lock_leave(l);
    return remaining_ms;
}

int64_t zkl_token(zkl_lock *l) {
    if (zkli_lock_begin(l) != ZKL_OK)
        return 0;
    const struct zkli_hold *hold = enter(l);
    int64_t token = hold == NULL ? 0 : hold->token;
    zkli_lock_leave(l);
    return token;
}

zkl_hold zkl_hold_of(zkl_lock *l) {
    if (zkli_lock_begin(l) != ZKL_OK)
        return 0;
    (void)enter(l); /* a lost hold counts, too */
    const struct zkli_hold *hold = zkli_lock_hold_of(l, zkli_thread_number());
    zkl_hold id = hold == NULL ? 0 : hold->id;
    zkli_lock_leave(l);
    return id;
}

bool zkl_hold_valid(zkl_lock *l, zkl_hold hold) {
    if (zkli_lock_begin(l) != ZKL_OK)
        return false;
    (void)enter(l); /* any thread may ask */
    bool is_valid = zkli_lock_find_good_hold(l, hold) != NULL;
    zkli_lock_leave(l);
    return is_valid;
}

zkl_err zkl_node_path(zkl_lock *l, char *buf, size_t size) {
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    const struct zkli_hold *hold = enter(l);
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

const char *zkl_lock_name(const zkl_lock *l) {
    struct zkl_lock *entered = (struct zkl_lock *)l; /* what changes is how many are in it */
    if (zkli_lock_begin(entered) != ZKL_OK)
        return NULL;
    zkli_lock_enter(entered);
    const char *name = entered->is_gone ? NULL : entered->name;
    zkli_lock_leave(entered);
    return name;
}
