/*
 * queue - a handle's line of acquires, its contender on the server and its current hold: what the
 * contender's notices mean for them. The calls of acquire.c and lock.c stand on this.
 */
#include "base/probe.h"
#include "lock/stats.h"
#include "lock/stay.h"

#include <stdatomic.h>
#include <stdlib.h>

static void start_next(struct zkl_lock *l);
static bool start_several(struct zkli_several *all);
static void take_back_several(struct zkli_several *all);

static zkl_hold hold_number(void) {
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

static void tell(struct zkli_hold *hold, zkl_event_type type) {
    zkli_lock_post(hold->lock, hold->events,
                   (zkl_event){.type = type, .hold = hold->id, .token = hold->token});
}

static void tell_wanted(struct zkli_hold *hold) {
    if (hold->lock->tells_wanted && !hold->was_wanted)
        tell(hold, ZKL_EVENT_WANTED);
    hold->was_wanted = true;
}

/* ---- The hold ---- */

zkl_err zkli_acquire_too_late(const struct zkli_acquire *acquire) {
    return acquire->is_try ? ZKL_UNREACHABLE : ZKL_TIMEOUT;
}

/* The acquire has its memory again. */
static void reclaim(struct zkli_hold *hold) {
    struct zkli_acquire *acquire = hold->acquire;
    zkli_list_remove(&hold->link);
    acquire->hold = hold;
    acquire->hold_id = 0;
    acquire->is_handed_on = false;
}

/* Its hold is over before its caller has woken up. So the caller never had one: the acquire stands
 * in line again, before those that came later. */
static void take_back(struct zkli_hold *hold) {
    struct zkli_acquire *acquire = hold->acquire;
    struct zkl_lock *l = acquire->lock;
    if (acquire->all != NULL) {
        take_back_several(acquire->all);
        return;
    }
    reclaim(hold);
    if (zkli_engine_now_ns(l->session->engine) >= acquire->until_ns) {
        zkli_operation_revise(&acquire->operation, zkli_acquire_too_late(acquire));
        return;
    }
    zkli_operation_resume(&acquire->operation, acquire->until_ns);
    zkli_list_prepend(&l->acquires, &acquire->link);
}

/* A caller that has not woken up never had it. */
static void count_end(const struct zkli_hold *hold, const zkl_loss *loss) {
    struct zkl_lock *l = hold->lock;
    int64_t held_ns = zkli_engine_now_ns(l->session->engine) - hold->begun_ns;
    if (loss == NULL)
        ZKLI_PROBE3(release, &l->name[0], hold->id, held_ns / ZKLI_NS_PER_US);
    else
        ZKLI_PROBE4(loss, &l->name[0], hold->id, held_ns / ZKLI_NS_PER_US, *loss);
    if (hold->acquire == NULL)
        zkli_stats_held(l, held_ns, loss);
}

static void lose(struct zkli_hold *hold) {
    struct zkl_lock *l = hold->lock;
    const zkl_loss loss = zkli_member_loss(hold->member);
    count_end(hold, zkli_lock_is_closed(l) ? NULL : &loss);
    zkli_list_remove(&hold->nest);
    hold->member = NULL;
    if (l->current == hold)
        l->current = NULL;
    zkli_lock_end_writes(l, hold->id, ZKL_LOST);
    zkli_lock_end_downgrades(l, ZKL_LOST);
    tell(hold, ZKL_EVENT_LOST);
    if (hold->acquire != NULL)
        take_back(hold);
    start_next(l);
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

static void tell_all_wanted(struct zkli_hold *hold) {
    struct zkli_list *link = &hold->nest;
    do {
        tell_wanted(ZKLI_CONTAINER(link, struct zkli_hold, nest));
        link = link->next;
    } while (link != &hold->nest);
}

/* Of a contender that holds. */
static void hold_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    (void)m;
    if (notice == ZKLI_NOTICE_AWAITED)
        tell_all_wanted(arg);
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
        .begun_ns = zkli_engine_now_ns(l->session->engine),
        .member = m,
        .events = hold->events,
    };
    acquire->hold = NULL;
    zkli_list_append(&l->holds, &hold->link);
    ZKLI_PROBE4(grant, &l->name[0], hold->id, hold->token,
                (hold->begun_ns - acquire->begun_ns) / ZKLI_NS_PER_US);
    return hold;
}

/* All are granted in one step, and the last one's notice is the end of it. */
static void finish_part(struct zkli_acquire *acquire) {
    struct zkli_several *all = acquire->all;
    zkli_list_remove(&acquire->link);
    if (++all->granted == all->count)
        zkli_operation_finish(&all->operation, ZKL_OK);
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
    tell(hold, ZKL_EVENT_HELD);
    if (zkli_member_is_awaited(m))
        tell_wanted(hold);
    if (acquire->all == NULL)
        zkli_acquire_finish(acquire, ZKL_OK);
    else
        finish_part(acquire);
    return hold;
}

static bool may_hand_on(const struct zkl_lock *l, const struct zkli_hold *hold) {
    return l->current == hold && hold->turns < l->turns_max && !zkli_list_is_empty(&l->acquires) &&
           zkli_lock_first_acquire(l)->all == NULL && zkli_list_is_empty(&hold->nest) &&
           zkli_member_may_be_handed_on(hold->member);
}

static void hand_to_first(struct zkl_lock *l, struct zkli_member *m) {
    struct zkli_acquire *acquire = zkli_lock_first_acquire(l);
    acquire->is_handed_on = true;
    zkli_member_hand_on(m, acquire->thread);
}

static void hand_on(struct zkli_hold *hold) {
    struct zkl_lock *l = hold->lock;
    struct zkli_member *m = hold->member;
    int turns = hold->turns + 1;
    zkli_hold_drop(hold);
    hand_to_first(l, m);
    grant(l, m)->turns = turns;
}

void zkli_hold_nest(struct zkli_hold *outer, struct zkli_acquire *acquire) {
    struct zkli_hold *hold = hold_begin(acquire, outer->member);
    zkli_list_append(&outer->nest, &hold->nest);
    tell(hold, ZKL_EVENT_HELD);
    if (hold->lock->tells_wanted)
        zkli_member_tell_awaited(hold->member);
    if (zkli_member_is_awaited(hold->member))
        tell_wanted(hold);
}

/* The next in line holds by it, as if it had been handed on. False: it is not as good as that. */
static bool grant_idle(struct zkl_lock *l) {
    if (!zkli_member_may_idle(l->idle)) {
        zkli_lock_end_idle(l);
        return false;
    }
    struct zkli_member *m = zkli_lock_take_idle(l);
    hand_to_first(l, m);
    (void)grant(l, m);
    return true;
}

/* Who is left reads. */
static void inherit(struct zkli_hold *heir, struct zkli_member *m) {
    zkli_member_attach(m, hold_notify, heir);
    zkli_member_turn(m); /* of no effect on a reader */
}

/* A grant whose caller has not woken up, and that is not to be. */
static void take_from_hold(struct zkli_hold *hold, struct zkli_release *release) {
    struct zkl_lock *l = hold->lock;
    reclaim(hold);
    l->current = NULL;
    zkli_lock_end_writes(l, hold->id, ZKL_NOT_HELD);
    zkli_lock_end_downgrades(l, ZKL_NOT_HELD);
    zkli_lock_let_go(l, hold->member, release);
}

void zkli_hold_give_up(struct zkli_hold *hold, struct zkli_release *release) {
    struct zkl_lock *l = hold->lock;
    struct zkli_member *m = hold->member;
    struct zkli_hold *heir = next_in_nest(hold);
    bool is_owner = zkli_member_owner(m) == hold;
    /* By another thread, or the handle is being closed, before the caller has woken up: */
    zkl_err why = l->is_closed ? ZKL_CLOSED : ZKL_CANCELED;
    count_end(hold, NULL);
    if (hold->acquire != NULL && hold->acquire->all != NULL) {
        struct zkli_several *all = hold->acquire->all;
        take_from_hold(hold, release);
        zkli_several_fail(all, why);
        return;
    }
    if (hold->acquire != NULL)
        zkli_operation_revise(&hold->acquire->operation, why);
    zkli_lock_end_writes(l, hold->id, ZKL_NOT_HELD);
    zkli_lock_end_downgrades(l, ZKL_NOT_HELD);
    if (zkli_lock_has_writes(l, hold->id)) /* they could come after the next holder's */
        zkli_member_bind(m);
    if (may_hand_on(l, hold)) {
        hand_on(hold);
        return;
    }
    bool stays = heir == NULL && zkli_lock_may_idle(l, hold);
    zkli_hold_drop(hold);
    if (stays)
        zkli_lock_begin_idle(l, m);
    else if (heir == NULL)
        zkli_lock_let_go(l, m, release);
    else if (is_owner)
        inherit(heir, m);
    start_next(l);
}

void zkli_acquire_take_back(struct zkli_acquire *acquire, zkl_err why) {
    struct zkli_hold *hold = zkli_lock_find_hold(acquire->lock, acquire->hold_id);
    tell(hold, ZKL_EVENT_LOST);
    zkli_hold_give_up(hold, NULL);
    zkli_operation_revise(&acquire->operation, why);
}

/* ---- The local queue ---- */

/* Of who waits behind so many others of this process. For the first of them, the servers have the
 * word: what they have not said yet, they will. */
static void tell_place(struct zkl_lock *l, const struct zkli_acquire *acquire, size_t before) {
    if (l->member != NULL && zkli_member_has_position(l->member))
        before += zkli_member_position(l->member);
    zkli_lock_post(l, acquire->hold->events,
                   (zkl_event){.type = ZKL_EVENT_QUEUED, .position = before});
}

static void tell_place_in_line(struct zkl_lock *l, const struct zkli_acquire *acquire) {
    size_t before = l->current == NULL ? 0 : 1;
    const struct zkli_list *link = l->acquires.next;
    if (acquire->hold == NULL || acquire->hold->events == NULL) /* granted, or it tells nothing */
        return;
    for (; link != &l->acquires && link != &acquire->link; link = link->next)
        before++;
    if (link != &l->acquires && before > 0)
        tell_place(l, acquire, before);
}

/* The servers have said where the first is. */
static void tell_positions(struct zkl_lock *l) {
    zkli_lock_tell_position(l);
    const struct zkli_list *link = l->acquires.next;
    for (size_t before = 1; (link = link->next) != &l->acquires; before++)
        tell_place(l, ZKLI_CONTAINER(link, struct zkli_acquire, link), before);
}

static void fail(struct zkl_lock *l, struct zkli_member *m) {
    struct zkli_acquire *acquire = zkli_lock_first_acquire(l);
    if (acquire->all != NULL) {
        zkli_several_fail(acquire->all, zkli_member_error(m));
        return;
    }
    zkli_member_attach(m, NULL, NULL);
    l->member = NULL;
    zkli_acquire_finish(acquire, zkli_member_error(m));
    start_next(l);
}

static void lock_notify(void *arg, struct zkli_member *m, enum zkli_notice notice) {
    struct zkl_lock *l = arg;
    if (l->recorded != NULL)
        *l->recorded = (struct zkli_recorded){
            .permits = zkli_member_permits(m),
            .session_id = zkli_engine_session_id(l->session->engine)};
    if (zkli_lock_keeps_place(l)) {
        if (notice != ZKLI_NOTICE_QUEUED || !zkli_member_may_be_left(m))
            zkli_lock_end_place(l); /* nobody is here for it */
        return;
    }
    switch (notice) {
    case ZKLI_NOTICE_REQUEUED:
        zkli_lock_post(l, zkli_lock_first_acquire(l)->hold->events,
                       (zkl_event){.type = ZKL_EVENT_REQUEUED});
        break;
    case ZKLI_NOTICE_QUEUED:
        tell_positions(l);
        break;
    case ZKLI_NOTICE_GRANTED:
        (void)grant(l, m);
        break;
    case ZKLI_NOTICE_FAILED:
        fail(l, m);
        break;
    case ZKLI_NOTICE_TURNED: /* of those that hold: hold_notify */
    case ZKLI_NOTICE_WANTED:
    case ZKLI_NOTICE_AWAITED:
    case ZKLI_NOTICE_LOST:
    case ZKLI_NOTICE_GONE:
    case ZKLI_NOTICES:
        break;
    }
}

/* A node says for good whose it is. So where its hold or its place may become another's, it does
 * not, unless the program has said so for the handle. */
static uint64_t owner_of(const struct zkli_acquire *acquire) {
    const struct zkl_lock *l = acquire->lock;
    bool may_change = l->is_shared || l->linger_ms > 0 || l->turns_max > 0;
    if (l->owner != 0)
        return l->owner | ZKLI_OWNER_IS_SAID;
    return may_change ? 0 : acquire->thread.number;
}

static struct zkli_wish wish_of(const struct zkli_acquire *acquire) {
    struct zkl_lock *l = acquire->lock;
    const struct zkli_recorded none = {.permits.state = ZKLI_PERMITS_UNKNOWN};
    const struct zkli_recorded *recorded = l->recorded == NULL ? &none : l->recorded;
    l->said = owner_of(acquire);
    return (struct zkli_wish){.name = l->name,
                              .kind = l->kind,
                              .label = l->label,
                              .is_try = acquire->is_try,
                              .thread = acquire->thread,
                              .owner = l->said,
                              .may_be_kept = l->linger_ms > 0 && acquire->all == NULL,
                              .tells_awaited = l->tells_wanted,
                              .permits = l->permits,
                              .recorded = recorded->permits,
                              .session_id = recorded->session_id};
}

static void start_next(struct zkl_lock *l) {
    while (l->member == NULL && l->current == NULL && !zkli_list_is_empty(&l->acquires)) {
        struct zkli_acquire *acquire = zkli_lock_first_acquire(l);
        if (acquire->all != NULL) {
            if (!start_several(acquire->all))
                return;
            continue;
        }
        if (l->idle != NULL && grant_idle(l))
            return;
        const struct zkli_wish wish = wish_of(acquire);
        zkl_err err = ZKL_CLOSED;
        if (!zkli_lock_is_closed(l))
            err = zkli_member_new(&l->member, l->session->engine, &wish, lock_notify, l);
        if (err != ZKL_OK)
            zkli_acquire_finish(acquire, err);
    }
}

/* ---- Several at once ---- */

static bool may_start(const struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++) {
        struct zkl_lock *l = all->parts[i].lock;
        if (l->member != NULL || l->current != NULL || zkli_lock_first_acquire(l) != &all->parts[i])
            return false;
    }
    return true;
}

static zkl_err add_all(struct zkli_several *all, struct zkli_group *group) {
    zkl_err err = ZKL_OK;
    for (size_t i = 0; i < all->count && err == ZKL_OK; i++) {
        struct zkl_lock *l = all->parts[i].lock;
        const struct zkli_wish wish = wish_of(&all->parts[i]);
        zkli_lock_end_stay(l); /* its end goes out before the new node's beginning */
        err = zkli_lock_is_closed(l) ? ZKL_CLOSED
                                     : zkli_group_add(group, &l->member, &wish, lock_notify, l);
    }
    return err;
}

/* When each stands first in its line. False: not yet. */
static bool start_several(struct zkli_several *all) {
    if (!may_start(all))
        return false;
    struct zkli_group *group = zkli_group_new(all->parts[0].lock->session->engine, all->count);
    zkl_err err = group == NULL ? ZKL_NOMEM : add_all(all, group);
    if (err == ZKL_OK) {
        all->is_started = true;
        zkli_group_begin(group);
        return true;
    }
    if (group != NULL)
        zkli_group_drop(group);
    for (size_t i = 0; i < all->count; i++)
        all->parts[i].lock->member = NULL;
    zkli_several_fail(all, err);
    return true;
}

/* From their lines, with what they have come to. */
static void take_out(struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++) {
        struct zkli_acquire *part = &all->parts[i];
        struct zkli_hold *hold = zkli_lock_find_hold(part->lock, part->hold_id);
        zkli_list_remove(&part->link);
        if (hold != NULL && hold->member == NULL) {
            reclaim(hold); /* it is lost */
        } else if (hold != NULL) {
            tell(hold, ZKL_EVENT_LOST);
            count_end(hold, NULL);
            take_from_hold(hold, NULL);
        } else if (all->is_started && part->lock->member != NULL) {
            zkli_lock_drop_member(part->lock);
        }
    }
    all->is_started = false;
    all->granted = 0;
}

static void start_lines(struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++)
        start_next(all->parts[i].lock);
}

static void end_several(struct zkli_several *all, zkl_err error) {
    if (zkli_operation_is_running(&all->operation))
        zkli_operation_finish(&all->operation, error);
    else
        zkli_operation_revise(&all->operation, error);
}

void zkli_several_fail(struct zkli_several *all, zkl_err error) {
    take_out(all);
    end_several(all, error);
    start_lines(all);
}

/* One hold is over before the caller has woken up, who so never had any: see take_back. */
static void take_back_several(struct zkli_several *all) {
    const struct zkli_acquire *first = &all->parts[0];
    take_out(all);
    if (zkli_engine_now_ns(all->operation.session->engine) >= first->until_ns) {
        end_several(all, zkli_acquire_too_late(first));
    } else {
        if (!zkli_operation_is_running(&all->operation))
            zkli_operation_resume(&all->operation, first->until_ns);
        for (size_t i = 0; i < all->count; i++)
            zkli_list_prepend(&all->parts[i].lock->acquires, &all->parts[i].link);
    }
    start_lines(all);
}

static void note_thread(struct zkl_lock *l, const struct zkli_acquire *acquire) {
    uint64_t thread = acquire->thread.number;
    l->is_shared = l->is_shared || thread == 0 || (l->thread != 0 && l->thread != thread);
    l->thread = thread;
    zkli_places_end(l, owner_of(acquire));
}

void zkli_several_submit(struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++) {
        zkli_lock_end_place(all->parts[i].lock);
        note_thread(all->parts[i].lock, &all->parts[i]);
        zkli_list_append(&all->parts[i].lock->acquires, &all->parts[i].link);
    }
    start_next(all->parts[0].lock);
    for (size_t i = 0; i < all->count; i++)
        tell_place_in_line(all->parts[i].lock, &all->parts[i]);
}

/* ---- The end of waits ---- */

void zkli_lock_abandon(struct zkl_lock *l, struct zkli_acquire *acquire, zkl_err error) {
    if (acquire->all != NULL)
        zkli_several_fail(acquire->all, error);
    else if (l->member == NULL || acquire != zkli_lock_first_acquire(l))
        zkli_acquire_finish(acquire, error);
    else if (error == ZKL_TIMEOUT && zkli_place_outlasts(l, acquire))
        zkli_place_leave(l, acquire);
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
    bool has_place = zkli_lock_keeps_place(l) && !acquire->is_try &&
                     zkli_member_agrees(l->member, l->permits) &&
                     zkli_place_may_be_taken(l, acquire);
    note_thread(l, acquire);
    if (!has_place)
        zkli_lock_end_place(l); /* it asks the servers */
    zkli_list_append(&l->acquires, &acquire->link);
    if (has_place)
        zkli_lock_take_place(l);
    else
        start_next(l);
    tell_place_in_line(l, acquire);
}
