/*
 * queue - what queue.c and queue_several.c have of each other: a handle's line of acquires, with
 * the session's mutex. What is for the other files is in lock.h.
 */
#ifndef ZKLI_LOCK_QUEUE_H
#define ZKLI_LOCK_QUEUE_H

#include "lock/lock.h"

/* ---- Of any acquire (queue.c) ---- */

/* The line is not empty. */
struct zkli_acquire *zkli_lock_first_acquire(const struct zkl_lock *l);
/* The first in line gets a contender, if the handle has none, and no hold. */
void zkli_lock_start_next(struct zkl_lock *l);
/* The notices of a contender that waits. */
void zkli_lock_notify(void *arg, struct zkli_member *m, enum zkli_notice notice);
/* The contender that waits leaves, whatever it has come to. */
void zkli_lock_drop_member(struct zkl_lock *l);
/* So does one that nobody waits by. */
void zkli_lock_end_place(struct zkl_lock *l);
struct zkli_wish zkli_acquire_wish(const struct zkli_acquire *acquire);
void zkli_hold_tell(struct zkli_hold *hold, zkl_event_type type);
/* The acquire has its memory again. */
void zkli_hold_reclaim(struct zkli_hold *hold);
/* A grant whose caller has not woken up, and that is not to be. */
void zkli_hold_take_back_unseen(struct zkli_hold *hold);

/* ---- Of several at once (queue_several.c) ---- */

/* When each of them stands first in its line. False: not yet. */
bool zkli_several_start(struct zkli_several *all);
/* One of them is granted. */
void zkli_several_granted(struct zkli_acquire *part);
/* One hold is over before the caller has woken up, who so never had any. */
void zkli_several_take_back(struct zkli_several *all);

#endif
