/* lock - see lock.h. */
#include "lock/lock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

static zkl_hold hold_number(void) {
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

static void post(struct zkl_lock *l, struct zkli_events *events, zkl_event event) {
    event.size = sizeof(event);
    event.session = l->session;
    event.lock = l;
    if (!l->is_closed && events != NULL)
        zkli_events_post(l->session, events, &event);
}

static struct zkli_acquire *first_acquire(struct zkl_lock *l) {
    return ZKLI_CONTAINER(l->acquires.next, struct zkli_acquire, link);
}

static void finish(struct zkli_acquire *acquire, zkl_err result) {
    zkli_list_remove(&acquire->link);
    zkli_operation_finish(&acquire->operation, result);
}

/* ---- The hold ---- */

struct zkli_hold *zkli_lock_hold_of(struct zkl_lock *l, uint64_t thread) {
    for (struct zkli_list *link = l->holds.next; link != &l->holds; link = link->next) {
        struct zkli_hold *hold = ZKLI_CONTAINER(link, struct zkli_hold, link);
        if (hold->thread == thread)
            return hold;
    }
    return NULL;
}

struct zkli_hold *zkli_lock_find_hold(struct zkl_lock *l, zkl_hold id) {
    for (struct zkli_list *link = l->holds.next; link != &l->holds; link = link->next) {
        struct zkli_hold *hold = ZKLI_CONTAINER(link, struct zkli_hold, link);
        if (hold->id == id)
            return hold;
    }
    return NULL;
}

void zkli_lock_drop_hold(struct zkl_lock *l, struct zkli_hold *hold) {
    if (l->current == hold)
        l->current = NULL;
    zkli_list_remove(&hold->link);
    zkli_events_release(hold->events);
    free(hold);
}

static void lose(struct zkl_lock *l) {
    struct zkli_hold *hold = l->current;
    zkli_member_attach(hold->member, NULL, NULL);
    hold->member = NULL;
    l->current = NULL;
    zkli_lock_end_writes(l, hold->id, ZKL_LOST);
    post(l, hold->events,
         (zkl_event){.type = ZKL_EVENT_LOST, .hold = hold->id, .token = hold->token});
    if (hold->acquire != NULL)
        zkli_acquire_take_back(hold);
    zkli_lock_start_next(l);
}

static void grant(struct zkl_lock *l, struct zkli_member *m) {
    struct zkli_acquire *acquire = first_acquire(l);
    struct zkli_hold *hold = acquire->hold;
    acquire->hold = NULL;
    l->member = NULL;
    l->current = hold;
    *hold = (struct zkli_hold){
        .id = hold_number(),
        .thread = acquire->thread.number,
        .depth = 1,
        .token = zkli_member_token(m),
        .member = m,
        .acquire = acquire,
        .events = acquire->events,
    };
    acquire->events = NULL;
    zkli_list_append(&l->holds, &hold->link);
    acquire->hold_id = hold->id;
    post(l, hold->events,
         (zkl_event){.type = ZKL_EVENT_HELD, .hold = hold->id, .token = hold->token});
    finish(acquire, ZKL_OK);
}

void zkli_release_finish(struct zkli_release *release, zkl_err result) {
    zkli_list_remove(&release->link);
    if (release->member != NULL)
        zkli_member_attach(release->member, NULL, NULL); /* its node is deleted without us */
    release->member = NULL;
    zkli_operation_finish(&release->operation, result);
}

static void release_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    struct zkli_release *release = arg;
    zkl_state state = zkli_engine_state(release->lock->session->engine);
    bool is_over = state == ZKL_STATE_CLOSED || state == ZKL_STATE_AUTH_FAILED;
    (void)m;
    if (notice == ZKLI_NOTICE_GONE)
        zkli_release_finish(release, is_over ? ZKL_CLOSED : ZKL_OK);
}

void zkli_lock_give_up(struct zkl_lock *l, struct zkli_release *release) {
    struct zkli_member *m = l->current->member;
    struct zkli_acquire *untold = l->current->acquire;
    if (untold != NULL) /* by another thread, or the handle is being closed */
        zkli_operation_revise(&untold->operation, l->is_closed ? ZKL_CLOSED : ZKL_CANCELED);
    zkli_lock_end_writes(l, l->current->id, ZKL_NOT_HELD);
    zkli_lock_drop_hold(l, l->current);
    zkli_member_attach(m, NULL, NULL);
    if (release != NULL) {
        release->member = m;
        zkli_member_attach(m, release_notify, release);
        zkli_list_append(&l->releases, &release->link);
        zkli_operation_begin(&release->operation, release->until_ns);
    }
    zkli_member_release(m);
    zkli_lock_start_next(l);
}

static void end_releases(struct zkl_lock *l) {
    while (!zkli_list_is_empty(&l->releases))
        zkli_release_finish(ZKLI_CONTAINER(l->releases.next, struct zkli_release, link),
                            ZKL_CLOSED);
}

/* ---- The local queue ---- */

static void fail(struct zkl_lock *l, struct zkli_member *m) {
    zkli_member_attach(m, NULL, NULL);
    l->member = NULL;
    finish(first_acquire(l), zkli_member_error(m));
    zkli_lock_start_next(l);
}

static void lock_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    struct zkl_lock *l = arg;
    switch (notice) {
    case ZKLI_NOTICE_REQUEUED:
        post(l, first_acquire(l)->events, (zkl_event){.type = ZKL_EVENT_REQUEUED});
        break;
    case ZKLI_NOTICE_QUEUED:
        post(l, first_acquire(l)->events,
             (zkl_event){.type = ZKL_EVENT_QUEUED, .position = zkli_member_position(m)});
        break;
    case ZKLI_NOTICE_GRANTED:
        grant(l, m);
        break;
    case ZKLI_NOTICE_FAILED:
        fail(l, m);
        break;
    case ZKLI_NOTICE_LOST:
        lose(l);
        break;
    case ZKLI_NOTICE_GONE:
    case ZKLI_NOTICES:
        break;
    }
}

void zkli_lock_start_next(struct zkl_lock *l) {
    while (l->member == NULL && l->current == NULL && !zkli_list_is_empty(&l->acquires)) {
        struct zkli_acquire *acquire = first_acquire(l);
        zkl_err err = zkli_lock_is_closed(l)
                          ? ZKL_CLOSED
                          : zkli_member_new(&l->member, l->session->engine, l->name, l->label,
                                            acquire->is_try, acquire->thread, lock_notify, l);
        if (err != ZKL_OK)
            finish(acquire, err);
    }
}

void zkli_lock_abandon(struct zkl_lock *l, struct zkli_acquire *acquire, zkl_err error) {
    if (l->member != NULL && acquire == first_acquire(l))
        zkli_member_abandon(l->member, error);
    else
        finish(acquire, error);
}

void zkli_lock_abandon_all(struct zkl_lock *l, zkl_err error) {
    struct zkli_list *link = l->acquires.next;
    while (link != &l->acquires) {
        struct zkli_acquire *acquire = ZKLI_CONTAINER(link, struct zkli_acquire, link);
        link = link->next;
        zkli_lock_abandon(l, acquire, error);
    }
}

void zkli_lock_submit(struct zkl_lock *l, struct zkli_acquire *acquire) {
    zkli_list_append(&l->acquires, &acquire->link);
    zkli_lock_start_next(l);
}

/* ---- Life ---- */

bool zkli_lock_is_closed(const struct zkl_lock *l) {
    return l->is_closed || zkli_engine_state(l->session->engine) == ZKL_STATE_CLOSED;
}

zkl_err zkli_lock_begin(struct zkl_lock *l) {
    if (l == NULL)
        return ZKL_INVALID;
    (void)atomic_fetch_add(&l->users, 1);
    if (!zkli_session_is_forked(l->session))
        return ZKL_OK;
    (void)atomic_fetch_sub(&l->users, 1); /* nothing is freed in a child */
    return ZKL_FORKED;
}

void zkli_lock_enter(struct zkl_lock *l) {
    zkli_session_lock(l->session);
}

static void lock_free(struct zkl_lock *l) {
    struct zkl_session *s = l->session;
    struct zkli_list *link;
    zkli_session_lock(s);
    while ((link = zkli_list_take_first(&l->holds)) != NULL)
        zkli_lock_drop_hold(l, ZKLI_CONTAINER(link, struct zkli_hold, link));
    free(l->label);
    free(l);
    zkli_session_unlock_and_release(s);
}

void zkli_lock_end(struct zkl_lock *l) {
    if (atomic_fetch_sub(&l->users, 1) == 1)
        lock_free(l);
}

void zkli_lock_leave(struct zkl_lock *l) {
    zkli_session_unlock(l->session);
    zkli_lock_end(l);
}

static zkl_err check_options(const zkl_lock_options *o) {
    if (o->permits < 0 || o->linger_ms < 0 || o->local_handoffs < 0 ||
        (int)o->kind < (int)ZKL_MUTEX || (int)o->kind > (int)ZKL_SEMAPHORE)
        return ZKL_INVALID;
    bool is_reserved = o->kind != ZKL_MUTEX || o->permits > 0 || o->linger_ms > 0 ||
                       o->local_handoffs > 0 || o->want_wanted;
    return is_reserved ? ZKL_UNSUPPORTED : ZKL_OK;
}

/* NULL: out of memory. */
static struct zkl_lock *lock_new(struct zkl_session *s, const char *name,
                                 const zkl_lock_options *o) {
    struct zkl_lock *l = calloc(1, sizeof(*l) + strlen(name) + 1);
    if (l == NULL)
        return NULL;
    memcpy(l->name, name, strlen(name) + 1);
    l->label = o->label == NULL ? NULL : strdup(o->label);
    if (o->label != NULL && l->label == NULL) {
        free(l);
        return NULL;
    }
    l->session = s;
    atomic_init(&l->users, 1);
    l->is_recursive = o->recursive;
    l->on_event = o->on_event;
    l->arg = o->arg;
    zkli_list_init(&l->acquires);
    zkli_list_init(&l->holds);
    zkli_list_init(&l->releases);
    zkli_list_init(&l->writes);
    return l;
}

/* One that was never handed out. NULL is accepted. */
static void discard(struct zkl_lock *l) {
    if (l != NULL)
        free(l->label);
    free(l);
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
    end_releases(l);
    if (l->current != NULL)
        zkli_lock_give_up(l, NULL);
    zkli_session_settle(s); /* a grant that was under way arrives, or the waits have failed */
    if (l->current != NULL)
        zkli_lock_give_up(l, NULL);
    zkli_callbacks_drop(s, l);
    l->is_gone = true;
    if (!was_closed)
        (void)atomic_fetch_sub(&l->users, 1); /* the owner, once; this call is still counted */
    zkli_lock_leave(l);
    return ZKL_OK;
}
