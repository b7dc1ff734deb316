/*
 * queue - a handle's line of acquires, its contender on the server and its current hold: what the
 * contender's notices mean for them. The calls of acquire.c and lock.c stand on this.
 */
#include "lock/queue.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/time.h"

/* Longer than it takes to come back in a loop; shorter than somebody takes to look at the queue. */
#define PLACE_KEPT_NS (50 * ZKLI_NS_PER_MS)

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

void zkli_hold_tell(struct zkli_hold *hold, zkl_event_type type) {
    post(hold->lock, hold->events,
         (zkl_event){.type = type, .hold = hold->id, .token = hold->token});
}

struct zkli_acquire *zkli_lock_first_acquire(const struct zkl_lock *l) {
    return ZKLI_CONTAINER(l->acquires.next, struct zkli_acquire, link);
}

static void finish(struct zkli_acquire *acquire, zkl_err result) {
    zkli_list_remove(&acquire->link);
    zkli_operation_finish(&acquire->operation, result);
}

/* ---- The hold ---- */

zkl_err zkli_acquire_too_late(const struct zkli_acquire *acquire) {
    return acquire->is_try ? ZKL_UNREACHABLE : ZKL_TIMEOUT;
}

void zkli_hold_reclaim(struct zkli_hold *hold) {
    struct zkli_acquire *acquire = hold->acquire;
    zkli_list_remove(&hold->link);
    acquire->hold = hold;
    acquire->events = hold->events;
    acquire->hold_id = 0;
}

/* Its hold is over before its caller has woken up. So the caller never had one: the acquire stands
 * in line again, before those that came later. */
static void take_back(struct zkli_hold *hold) {
    struct zkli_acquire *acquire = hold->acquire;
    struct zkl_lock *l = acquire->lock;
    if (acquire->all != NULL) {
        zkli_several_take_back(acquire->all);
        return;
    }
    zkli_hold_reclaim(hold);
    if (zkli_engine_now_ns(l->session->engine) >= acquire->until_ns) {
        zkli_operation_revise(&acquire->operation, zkli_acquire_too_late(acquire));
        return;
    }
    zkli_operation_resume(&acquire->operation, acquire->until_ns);
    zkli_list_prepend(&l->acquires, &acquire->link);
}

static void lose(struct zkli_hold *hold) {
    struct zkl_lock *l = hold->lock;
    zkli_list_remove(&hold->nest);
    hold->member = NULL;
    if (l->current == hold)
        l->current = NULL;
    zkli_lock_end_writes(l, hold->id, ZKL_LOST);
    zkli_lock_end_downgrades(l, ZKL_LOST);
    zkli_hold_tell(hold, ZKL_EVENT_LOST);
    if (hold->acquire != NULL)
        take_back(hold);
    zkli_lock_start_next(l);
}

static struct zkli_hold *next_in_nest(const struct zkli_hold *hold) {
    bool is_alone = zkli_list_is_empty(&hold->nest);
    return is_alone ? NULL : ZKLI_CONTAINER(hold->nest.next, struct zkli_hold, nest);
}

static void lose_all(struct zkli_hold *hold) {
    struct zkli_hold *inner;
    zkli_member_attach(hold->member, NULL, NULL);
    while ((inner = next_in_nest(hold)) != NULL)
        lose(inner);
    lose(hold);
}

static void resume_writes(struct zkli_hold *hold) {
    struct zkli_list *link = &hold->nest;
    do {
        zkli_lock_resume_writes(ZKLI_CONTAINER(link, struct zkli_hold, nest)->lock);
        link = link->next;
    } while (link != &hold->nest);
}

/* The hold is a writer's, unless that was given up before those inside. */
static void turn(struct zkli_hold *hold) {
    struct zkl_lock *l = hold->lock;
    zkl_err err = zkli_member_error(hold->member);
    bool is_writer = l->kind == ZKLI_KIND_WRITE;
    hold->is_reader = is_writer && err == ZKL_OK;
    zkli_lock_end_downgrades(l, err);
    resume_writes(hold);
    if (!is_writer && err != ZKL_OK)
        zkli_engine_log(l->session->engine, ZKL_LOG_WARN,
                        "%s: the writer's hold was given up, but its node does not become a "
                        "reader's (%s): other readers wait for the hold inside it",
                        l->name, zkl_errname(err));
}

/* Of a contender that holds. */
static void hold_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    (void)m;
    if (notice == ZKLI_NOTICE_LOST)
        lose_all(arg);
    if (notice == ZKLI_NOTICE_TURNED)
        turn(arg);
}

static struct zkli_hold *hold_begin(struct zkli_acquire *acquire, struct zkli_member *m) {
    struct zkli_hold *hold = acquire->hold;
    struct zkl_lock *l = acquire->lock;
    *hold = (struct zkli_hold){
        .lock = l,
        .id = hold_number(),
        .thread = acquire->thread.number,
        .depth = 1,
        .token = zkli_member_token(m),
        .member = m,
        .events = acquire->events,
    };
    acquire->hold = NULL;
    acquire->events = NULL;
    zkli_list_append(&l->holds, &hold->link);
    return hold;
}

static struct zkli_hold *grant(struct zkl_lock *l, struct zkli_member *m) {
    struct zkli_acquire *acquire = zkli_lock_first_acquire(l);
    struct zkli_hold *hold = hold_begin(acquire, m);
    zkli_list_init(&hold->nest);
    zkli_member_attach(m, hold_notify, hold);
    hold->acquire = acquire;
    acquire->hold_id = hold->id;
    l->member = NULL;
    l->current = hold;
    zkli_hold_tell(hold, ZKL_EVENT_HELD);
    if (acquire->all == NULL)
        finish(acquire, ZKL_OK);
    else
        zkli_several_granted(acquire);
    return hold;
}

/* A write that is under way could come after the next holder's. */
static bool may_hand_on(const struct zkl_lock *l, const struct zkli_hold *hold) {
    return l->current == hold && hold->turns < l->turns_max && !zkli_list_is_empty(&l->acquires) &&
           zkli_lock_first_acquire(l)->all == NULL && zkli_list_is_empty(&hold->nest) &&
           !zkli_lock_has_writes(l, hold->id) && zkli_member_may_be_handed_on(hold->member);
}

static void hand_on(struct zkli_hold *hold) {
    struct zkl_lock *l = hold->lock;
    struct zkli_member *m = hold->member;
    int turns = hold->turns + 1;
    zkli_hold_drop(hold);
    zkli_member_hand_on(m, zkli_lock_first_acquire(l)->thread);
    grant(l, m)->turns = turns;
}

void zkli_hold_nest(struct zkli_hold *outer, struct zkli_acquire *acquire) {
    struct zkli_hold *hold = hold_begin(acquire, outer->member);
    zkli_list_append(&outer->nest, &hold->nest);
    zkli_hold_tell(hold, ZKL_EVENT_HELD);
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

static void leave(struct zkl_lock *l, struct zkli_member *m, struct zkli_release *release) {
    zkli_member_attach(m, NULL, NULL);
    if (release != NULL) {
        release->member = m;
        zkli_member_attach(m, release_notify, release);
        zkli_list_append(&l->releases, &release->link);
        zkli_operation_begin(&release->operation, release->until_ns);
    }
    zkli_member_release(m);
}

/* ---- A node that stays while nobody holds by it ---- */

/* NULL: there is none any more. */
static struct zkli_member *take_idle(struct zkl_lock *l) {
    struct zkli_member *m = l->idle;
    l->idle = NULL;
    zkli_engine_clear_timer(l->session->engine, &l->stay_end);
    return m;
}

static void end_idle(struct zkl_lock *l) {
    if (l->idle != NULL)
        leave(l, take_idle(l), NULL);
}

static void idle_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    if (notice == ZKLI_NOTICE_WANTED)
        end_idle(arg);
    if (notice != ZKLI_NOTICE_LOST)
        return;
    (void)take_idle(arg);
    zkli_member_attach(m, NULL, NULL);
}

/* A write that is under way could come after the next holder's. */
static bool may_idle(const struct zkl_lock *l, const struct zkli_hold *hold) {
    return l->linger_ms > 0 && !zkli_lock_is_closed(l) && l->current == hold &&
           zkli_list_is_empty(&hold->nest) && !zkli_lock_has_writes(l, hold->id) &&
           zkli_member_may_idle(hold->member);
}

static void begin_idle(struct zkl_lock *l, struct zkli_member *m) {
    struct zkli_engine *e = l->session->engine;
    l->idle = m;
    zkli_member_attach(m, idle_notify, l);
    zkli_engine_set_timer(e, &l->stay_end, zkli_engine_now_ns(e) + l->linger_ms * ZKLI_NS_PER_MS);
    zkli_member_idle(m);
}

/* The next in line holds by it, as if it had been handed on. False: it is not as good as that. */
static bool grant_idle(struct zkl_lock *l) {
    if (!zkli_member_may_idle(l->idle)) {
        end_idle(l);
        return false;
    }
    struct zkli_member *m = take_idle(l);
    zkli_member_hand_on(m, zkli_lock_first_acquire(l)->thread);
    (void)grant(l, m);
    return true;
}

/* Who is left reads. */
static void inherit(struct zkli_hold *heir, struct zkli_member *m) {
    zkli_member_attach(m, hold_notify, heir);
    zkli_member_turn(m); /* of no effect on a reader */
}

void zkli_hold_take_back_unseen(struct zkli_hold *hold) {
    struct zkl_lock *l = hold->lock;
    zkli_hold_reclaim(hold);
    l->current = NULL;
    zkli_lock_end_writes(l, hold->id, ZKL_NOT_HELD);
    zkli_lock_end_downgrades(l, ZKL_NOT_HELD);
    leave(l, hold->member, NULL);
}

void zkli_hold_give_up(struct zkli_hold *hold, struct zkli_release *release) {
    struct zkl_lock *l = hold->lock;
    struct zkli_member *m = hold->member;
    struct zkli_hold *heir = next_in_nest(hold);
    bool is_owner = zkli_member_owner(m) == hold;
    /* By another thread, or the handle is being closed, before the caller has woken up: */
    zkl_err why = l->is_closed ? ZKL_CLOSED : ZKL_CANCELED;
    if (hold->acquire != NULL && hold->acquire->all != NULL) {
        struct zkli_several *all = hold->acquire->all;
        zkli_hold_take_back_unseen(hold);
        zkli_several_fail(all, why);
        return;
    }
    if (hold->acquire != NULL)
        zkli_operation_revise(&hold->acquire->operation, why);
    zkli_lock_end_writes(l, hold->id, ZKL_NOT_HELD);
    zkli_lock_end_downgrades(l, ZKL_NOT_HELD);
    if (may_hand_on(l, hold)) {
        hand_on(hold);
        return;
    }
    bool stays = heir == NULL && may_idle(l, hold);
    zkli_hold_drop(hold);
    if (stays)
        begin_idle(l, m);
    else if (heir == NULL)
        leave(l, m, release);
    else if (is_owner)
        inherit(heir, m);
    zkli_lock_start_next(l);
}

void zkli_lock_end_releases(struct zkl_lock *l) {
    while (!zkli_list_is_empty(&l->releases))
        zkli_release_finish(ZKLI_CONTAINER(l->releases.next, struct zkli_release, link),
                            ZKL_CLOSED);
}

/* ---- A place in the queue whose acquire has given up ---- */

void zkli_lock_drop_member(struct zkl_lock *l) {
    struct zkli_member *m = l->member;
    l->member = NULL;
    zkli_member_attach(m, NULL, NULL);
    zkli_member_release(m); /* if it is granted, and we are about to be told */
    zkli_member_abandon(m, ZKL_CANCELED);
}

static bool is_place_kept(const struct zkl_lock *l) {
    return l->member != NULL && zkli_list_is_empty(&l->acquires);
}

void zkli_lock_end_place(struct zkl_lock *l) {
    if (!is_place_kept(l))
        return;
    zkli_engine_clear_timer(l->session->engine, &l->stay_end);
    zkli_lock_drop_member(l);
}

static void tell_position(struct zkl_lock *l) {
    post(l, zkli_lock_first_acquire(l)->events,
         (zkl_event){.type = ZKL_EVENT_QUEUED, .position = zkli_member_position(l->member)});
}

/* The first in line waits by the place of an earlier acquire. */
static void take_place(struct zkl_lock *l) {
    zkli_engine_clear_timer(l->session->engine, &l->stay_end);
    zkli_member_hand_on(l->member, zkli_lock_first_acquire(l)->thread);
    if (zkli_member_has_position(l->member))
        tell_position(l);
}

/* Where waiters are less patient than the queue is long, each would leave before its turn, and
 * begin anew at the end: all work, and no grants. So the next in line goes on from here. If there
 * is none, the place is kept for a while, for a call that tries again. */
static bool outlasts(const struct zkl_lock *l, const struct zkli_acquire *acquire) {
    if (l->is_closed || !zkli_member_is_waiting(l->member) ||
        !zkli_member_agrees(l->member, l->permits))
        return false;
    if (acquire->link.next == &l->acquires)
        return zkli_member_may_be_left(l->member);
    return ZKLI_CONTAINER(acquire->link.next, struct zkli_acquire, link)->all == NULL;
}

static void leave_place(struct zkl_lock *l, struct zkli_acquire *acquire) {
    struct zkli_engine *e = l->session->engine;
    finish(acquire, ZKL_TIMEOUT);
    if (!zkli_list_is_empty(&l->acquires))
        take_place(l);
    else
        zkli_engine_set_timer(e, &l->stay_end, zkli_engine_now_ns(e) + PLACE_KEPT_NS);
}

static void end_stay(void *arg) {
    zkli_lock_end_stay(arg);
}

void zkli_lock_end_stay(struct zkl_lock *l) {
    end_idle(l);
    zkli_lock_end_place(l);
}

void zkli_lock_init_stay(struct zkl_lock *l) {
    zkli_timer_init(&l->stay_end, end_stay, l);
}

/* ---- The local queue ---- */

static void fail(struct zkl_lock *l, struct zkli_member *m) {
    struct zkli_acquire *acquire = zkli_lock_first_acquire(l);
    if (acquire->all != NULL) {
        zkli_several_fail(acquire->all, zkli_member_error(m));
        return;
    }
    zkli_member_attach(m, NULL, NULL);
    l->member = NULL;
    finish(acquire, zkli_member_error(m));
    zkli_lock_start_next(l);
}

void zkli_lock_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    struct zkl_lock *l = arg;
    l->recorded = zkli_member_permits(m);
    l->recorded_in = zkli_engine_session_id(l->session->engine);
    if (is_place_kept(l)) {
        if (notice != ZKLI_NOTICE_QUEUED || !zkli_member_may_be_left(m))
            zkli_lock_end_place(l); /* nobody is here for it */
        return;
    }
    switch (notice) {
    case ZKLI_NOTICE_REQUEUED:
        post(l, zkli_lock_first_acquire(l)->events, (zkl_event){.type = ZKL_EVENT_REQUEUED});
        break;
    case ZKLI_NOTICE_QUEUED:
        tell_position(l);
        break;
    case ZKLI_NOTICE_GRANTED:
        (void)grant(l, m);
        break;
    case ZKLI_NOTICE_FAILED:
        fail(l, m);
        break;
    case ZKLI_NOTICE_TURNED: /* of those that hold: hold_notify */
    case ZKLI_NOTICE_WANTED:
    case ZKLI_NOTICE_LOST:
    case ZKLI_NOTICE_GONE:
    case ZKLI_NOTICES:
        break;
    }
}

struct zkli_wish zkli_acquire_wish(const struct zkli_acquire *acquire) {
    const struct zkl_lock *l = acquire->lock;
    return (struct zkli_wish){.name = l->name,
                              .kind = l->kind,
                              .label = l->label,
                              .is_try = acquire->is_try,
                              .thread = acquire->thread,
                              .may_be_kept = l->linger_ms > 0 && acquire->all == NULL,
                              .permits = l->permits,
                              .recorded = l->recorded,
                              .session_id = l->recorded_in};
}

void zkli_lock_start_next(struct zkl_lock *l) {
    while (l->member == NULL && l->current == NULL && !zkli_list_is_empty(&l->acquires)) {
        struct zkli_acquire *acquire = zkli_lock_first_acquire(l);
        if (acquire->all != NULL) {
            if (!zkli_several_start(acquire->all))
                return;
            continue;
        }
        if (l->idle != NULL && grant_idle(l))
            return;
        const struct zkli_wish wish = zkli_acquire_wish(acquire);
        zkl_err err = ZKL_CLOSED;
        if (!zkli_lock_is_closed(l))
            err = zkli_member_new(&l->member, l->session->engine, &wish, zkli_lock_notify, l);
        if (err != ZKL_OK)
            finish(acquire, err);
    }
}

/* ---- The end of waits ---- */

void zkli_lock_abandon(struct zkl_lock *l, struct zkli_acquire *acquire, zkl_err error) {
    if (acquire->all != NULL)
        zkli_several_fail(acquire->all, error);
    else if (l->member == NULL || acquire != zkli_lock_first_acquire(l))
        finish(acquire, error);
    else if (error == ZKL_TIMEOUT && outlasts(l, acquire))
        leave_place(l, acquire);
    else
        zkli_member_abandon(l->member, error);
}

void zkli_lock_abandon_all(struct zkl_lock *l, zkl_err error) {
    struct zkli_list *link = l->acquires.next;
    while (link != &l->acquires) {
        struct zkli_acquire *acquire = ZKLI_CONTAINER(link, struct zkli_acquire, link);
        bool is_part = acquire->all != NULL;
        link = link->next;
        zkli_lock_abandon(l, acquire, error);
        if (is_part) /* others may have come to their ends with it */
            link = l->acquires.next;
    }
}

void zkli_lock_submit(struct zkl_lock *l, struct zkli_acquire *acquire) {
    if (acquire->is_try || (is_place_kept(l) && !zkli_member_agrees(l->member, l->permits)))
        zkli_lock_end_place(l); /* it asks the servers */
    bool has_place = is_place_kept(l);
    zkli_list_append(&l->acquires, &acquire->link);
    if (has_place)
        take_place(l);
    else
        zkli_lock_start_next(l);
}
