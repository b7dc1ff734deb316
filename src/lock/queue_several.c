/*
 * queue_several - acquires of several handles that are granted in one step: how they stand in the
 * handles' lines; see queue.h. The calls are in several.c, their group on the server in
 * engine/groups.c.
 */
#include "lock/queue.h"

/* All are granted in one step, and the last one's notice is the end of it. */
void zkli_several_granted(struct zkli_acquire *acquire) {
    struct zkli_several *all = acquire->all;
    zkli_list_remove(&acquire->link);
    if (++all->granted == all->count)
        zkli_operation_finish(&all->operation, ZKL_OK);
}

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
        const struct zkli_wish wish = zkli_acquire_wish(&all->parts[i]);
        zkli_lock_end_stay(l); /* its end goes out before the new node's beginning */
        err = zkli_lock_is_closed(l)
                  ? ZKL_CLOSED
                  : zkli_group_add(group, &l->member, &wish, zkli_lock_notify, l);
    }
    return err;
}

bool zkli_several_start(struct zkli_several *all) {
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
            zkli_hold_reclaim(hold); /* it is lost */
        } else if (hold != NULL) {
            zkli_hold_tell(hold, ZKL_EVENT_LOST);
            zkli_hold_take_back_unseen(hold);
        } else if (all->is_started && part->lock->member != NULL) {
            zkli_lock_drop_member(part->lock);
        }
    }
    all->is_started = false;
    all->granted = 0;
}

static void start_lines(struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++)
        zkli_lock_start_next(all->parts[i].lock);
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

void zkli_several_take_back(struct zkli_several *all) {
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

void zkli_several_submit(struct zkli_several *all) {
    for (size_t i = 0; i < all->count; i++) {
        zkli_lock_end_place(all->parts[i].lock);
        zkli_list_append(&all->parts[i].lock->acquires, &all->parts[i].link);
    }
    zkli_lock_start_next(all->parts[0].lock);
}
