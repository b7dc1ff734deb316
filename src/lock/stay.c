/*
 * stay - a node by which nobody holds or waits any more: it leaves, or stays for the next acquire
 * of its handle; see stay.h.
 */
#include "lock/stay.h"

#include "base/time.h"

/* Longer than it takes to come back in a loop; shorter than somebody takes to look at the queue. */
#define PLACE_KEPT_NS (50 * ZKLI_NS_PER_MS)

/* ---- It leaves ---- */

static void on_deadline(struct zkli_timer *timer) {
    struct zkli_release *release = ZKLI_CONTAINER(timer, struct zkli_release, operation.deadline);
    if (zkli_operation_is_running(&release->operation)) /* else it is about to be told */
        zkli_release_finish(release, ZKL_TIMEOUT);
}

void zkli_release_init(struct zkli_release *release, struct zkl_lock *l, int64_t timeout_ms) {
    *release = (struct zkli_release){.lock = l};
    release->until_ns = zkli_operation_until_ns(l->session, timeout_ms);
    zkli_operation_init(&release->operation, l->session, on_deadline);
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

void zkli_lock_let_go(struct zkl_lock *l, struct zkli_member *m, struct zkli_release *release) {
    zkli_member_attach(m, NULL, NULL);
    if (release != NULL) {
        release->member = m;
        zkli_member_attach(m, release_notify, release);
        zkli_list_append(&l->releases, &release->link);
        zkli_operation_begin(&release->operation, release->until_ns);
    }
    zkli_member_release(m);
}

void zkli_lock_end_releases(struct zkl_lock *l) {
    while (!zkli_list_is_empty(&l->releases))
        zkli_release_finish(ZKLI_CONTAINER(l->releases.next, struct zkli_release, link),
                            ZKL_CLOSED);
}

/* ---- An idle node: nobody holds by it ---- */

struct zkli_member *zkli_lock_take_idle(struct zkl_lock *l) {
    struct zkli_member *m = l->idle;
    l->idle = NULL;
    zkli_engine_clear_timer(l->session->engine, &l->stay_end);
    return m;
}

void zkli_lock_end_idle(struct zkl_lock *l) {
    if (l->idle != NULL)
        zkli_lock_let_go(l, zkli_lock_take_idle(l), NULL);
}

static void idle_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    if (notice == ZKLI_NOTICE_WANTED)
        zkli_lock_end_idle(arg);
    if (notice != ZKLI_NOTICE_LOST)
        return;
    (void)zkli_lock_take_idle(arg);
    zkli_member_attach(m, NULL, NULL);
}

bool zkli_lock_may_idle(const struct zkl_lock *l, const struct zkli_hold *hold) {
    return l->linger_ms > 0 && !zkli_lock_is_closed(l) && l->current == hold &&
           zkli_list_is_empty(&hold->nest) && zkli_member_may_idle(hold->member);
}

void zkli_lock_begin_idle(struct zkl_lock *l, struct zkli_member *m) {
    struct zkli_engine *e = l->session->engine;
    l->idle = m;
    zkli_member_attach(m, idle_notify, l);
    zkli_engine_set_timer(e, &l->stay_end, zkli_engine_now_ns(e) + l->linger_ms * ZKLI_NS_PER_MS);
    zkli_member_idle(m);
}

/* ---- A place in the queue whose acquire has given up ---- */

void zkli_lock_drop_member(struct zkl_lock *l) {
    struct zkli_member *m = l->member;
    l->member = NULL;
    zkli_list_remove(&l->place_link);
    zkli_member_attach(m, NULL, NULL);
    zkli_member_release(m); /* if it is granted, and we are about to be told */
    zkli_member_abandon(m, ZKL_CANCELED);
}

bool zkli_lock_keeps_place(const struct zkl_lock *l) {
    return l->member != NULL && zkli_list_is_empty(&l->acquires);
}

void zkli_lock_end_place(struct zkl_lock *l) {
    if (!zkli_lock_keeps_place(l))
        return;
    zkli_engine_clear_timer(l->session->engine, &l->stay_end);
    zkli_lock_drop_member(l);
}

void zkli_lock_tell_position(struct zkl_lock *l) {
    zkli_lock_post(
        l, zkli_lock_first_acquire(l)->hold->events,
        (zkl_event){.type = ZKL_EVENT_QUEUED, .position = zkli_member_position(l->member)});
}

void zkli_places_end(struct zkl_lock *l, uint64_t owner) {
    struct zkli_list *places = &l->session->places, *link = places->next;
    while (owner != 0 && link != places) {
        struct zkl_lock *other = ZKLI_CONTAINER(link, struct zkl_lock, place_link);
        link = link->next;
        if (other != l && other->said == owner)
            zkli_lock_end_place(other);
    }
}

void zkli_lock_take_place(struct zkl_lock *l) {
    zkli_list_remove(&l->place_link);
    zkli_engine_clear_timer(l->session->engine, &l->stay_end);
    zkli_member_hand_on(l->member, zkli_lock_first_acquire(l)->thread);
    if (zkli_member_has_position(l->member))
        zkli_lock_tell_position(l);
}

bool zkli_place_may_be_taken(const struct zkl_lock *l, const struct zkli_acquire *acquire) {
    return l->said == 0 || l->said == acquire->thread.number || l->owner != 0;
}

/* Where waiters are less patient than the queue is long, each would leave before its turn, and
 * begin anew at the end: all work, and no grants. So the next in line goes on from here. If there
 * is none, the place is kept for a while, for a call that tries again. */
bool zkli_place_outlasts(const struct zkl_lock *l, const struct zkli_acquire *acquire) {
    if (l->is_closed || !zkli_member_is_waiting(l->member) ||
        !zkli_member_agrees(l->member, l->permits))
        return false;
    if (acquire->link.next == &l->acquires)
        return zkli_member_may_be_left(l->member);
    const struct zkli_acquire *next = ZKLI_CONTAINER(acquire->link.next, struct zkli_acquire, link);
    return next->all == NULL && zkli_place_may_be_taken(l, next);
}

void zkli_place_leave(struct zkl_lock *l, struct zkli_acquire *acquire) {
    struct zkli_engine *e = l->session->engine;
    zkli_acquire_finish(acquire, ZKL_TIMEOUT);
    if (!zkli_list_is_empty(&l->acquires)) {
        zkli_lock_take_place(l);
        return;
    }
    zkli_list_append(&l->session->places, &l->place_link);
    zkli_engine_set_timer(e, &l->stay_end, zkli_engine_now_ns(e) + PLACE_KEPT_NS);
}

/* ---- The end of either ---- */

static void end_stay(struct zkli_timer *timer) {
    zkli_lock_end_stay(ZKLI_CONTAINER(timer, struct zkl_lock, stay_end));
}

void zkli_lock_end_stay(struct zkl_lock *l) {
    zkli_lock_end_idle(l);
    zkli_lock_end_place(l);
}

void zkli_lock_init_stay(struct zkl_lock *l) {
    zkli_timer_init(&l->stay_end, end_stay);
}
