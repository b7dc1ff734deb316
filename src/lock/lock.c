/* lock - opening and closing a handle; see lock.h. The calls stand on queue.c and handle.c. */
#include "lock/lock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

static zkl_err check_options(const zkl_lock_options *o) {
    if (o->permits < 0 || o->linger_ms < 0 || o->local_handoffs < 0 ||
        (int)o->kind < (int)ZKL_MUTEX || (int)o->kind > (int)ZKL_SEMAPHORE)
        return ZKL_INVALID;
    if ((o->permits > 0 && o->kind != ZKL_SEMAPHORE) || o->owner > ZKL_OWNER_MAX)
        return ZKL_INVALID;
    return ZKL_OK;
}

static enum zkli_kind kind_of(zkl_kind kind) {
    static const enum zkli_kind kinds[] = {
        [ZKL_MUTEX] = ZKLI_KIND_MUTEX,
        [ZKL_READ] = ZKLI_KIND_READ,
        [ZKL_WRITE] = ZKLI_KIND_WRITE,
        [ZKL_SEMAPHORE] = ZKLI_KIND_LEASE,
    };
    return kinds[kind];
}

/* One that was never handed out. NULL is accepted. */
static void discard(struct zkl_lock *l) {
    if (l == NULL)
        return;
    free(l->label);
    free(l->recorded);
    free(l);
}

/* NULL: out of memory. */
static struct zkl_lock *lock_new(struct zkl_session *s, const char *name,
                                 const zkl_lock_options *o) {
    struct zkl_lock *l = calloc(1, sizeof(*l) + strlen(name) + 1);
    if (l == NULL)
        return NULL;
    memcpy(l->name, name, strlen(name) + 1);
    l->kind = kind_of(o->kind);
    l->label = o->label == NULL ? NULL : strdup(o->label);
    l->recorded = l->kind != ZKLI_KIND_LEASE ? NULL : calloc(1, sizeof(*l->recorded));
    if ((o->label != NULL && l->label == NULL) ||
        (l->kind == ZKLI_KIND_LEASE && l->recorded == NULL)) {
        discard(l);
        return NULL;
    }
    l->session = s;
    atomic_init(&l->users, 1);
    l->is_recursive = o->recursive;
    l->turns_max = o->local_handoffs;
    l->permits = o->permits;
    l->linger_ms = o->linger_ms;
    l->tells_wanted = o->want_wanted;
    l->owner = o->owner;
    zkli_lock_init_stay(l);
    l->on_event = o->on_event;
    l->arg = o->arg;
    zkli_list_init(&l->acquires);
    zkli_list_init(&l->holds);
    zkli_list_init(&l->releases);
    zkli_list_init(&l->downgrades);
    zkli_list_init(&l->writes);
    return l;
}

zkl_err zkl_lock_open(zkl_lock **ret_lock, zkl_session *s, const char *name,
                      const zkl_lock_options *opts) {
    zkl_lock_options o;
    if (ret_lock == NULL)
        return ZKL_INVALID;
    *ret_lock = NULL;
    if (s == NULL || name == NULL || !zkli_lock_name_is_valid(name) ||
        !zkli_options_copy(&o, sizeof(o), opts))
        return ZKL_INVALID;
    zkl_err err = check_options(&o);
    if (err != ZKL_OK)
        return err;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    struct zkl_lock *l = lock_new(s, name, &o);
    zkli_session_lock(s);
    if (zkli_engine_state(s->engine) == ZKL_STATE_CLOSED)
        err = ZKL_CLOSED;
    else if (l == NULL || (l->on_event != NULL && !zkli_callbacks_start(s)))
        err = ZKL_NOMEM;
    else
        zkli_session_reference(s);
    zkli_session_unlock_and_release(s);
    if (err == ZKL_OK)
        *ret_lock = l;
    else
        discard(l);
    return err;
}

static void give_up_all(struct zkl_lock *l) {
    struct zkli_list *link = l->holds.next;
    while (link != &l->holds) {
        struct zkli_hold *hold = ZKLI_CONTAINER(link, struct zkli_hold, link);
        link = link->next;
        if (hold->member != NULL)
            zkli_hold_give_up(hold, NULL);
    }
}

zkl_err zkl_lock_close(zkl_lock *l) {
    if (l == NULL)
        return ZKL_OK;
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    struct zkl_session *s = l->session;
    zkli_lock_enter(l);
    bool was_closed = l->is_closed; /* by a call that overlaps this one */
    l->is_closed = true;
    zkli_lock_abandon_all(l, ZKL_CLOSED);
    zkli_lock_end_releases(l);
    zkli_lock_end_stay(l);
    give_up_all(l);
    zkli_session_settle(s); /* a grant that was under way arrives, or the waits have failed */
    give_up_all(l);
    zkli_lock_abandon_writes(l);
    zkli_callbacks_drop(s, l);
    l->is_gone = true;
    if (!was_closed)
        (void)atomic_fetch_sub(&l->users, 1); /* the owner, once; this call is still counted */
    zkli_lock_leave(l);
    return ZKL_OK;
}
