/*
 * stay - what becomes of a handle's node when nobody holds or waits by it any more; for queue.c.
 * With the session's mutex. What is for the other files is in lock.h.
 */
#ifndef ZKLI_LOCK_STAY_H
#define ZKLI_LOCK_STAY_H

#include "lock/lock.h"

/* The line is not empty. */
static inline struct zkli_acquire *zkli_lock_first_acquire(const struct zkl_lock *l) {
    return ZKLI_CONTAINER(l->acquires.next, struct zkli_acquire, link);
}

static inline void zkli_acquire_finish(struct zkli_acquire *acquire, zkl_err result) {
    zkli_list_remove(&acquire->link);
    zkli_operation_finish(&acquire->operation, result);
}

/* Its node goes. The release, which may be NULL, is told when it has gone. */
void zkli_lock_let_go(struct zkl_lock *l, struct zkli_member *m, struct zkli_release *release);

/* ---- An idle node: nobody holds by it ---- */

/* Whether that of this hold may be one, from now on. */
bool zkli_lock_may_idle(const struct zkl_lock *l, const struct zkli_hold *hold);
void zkli_lock_begin_idle(struct zkl_lock *l, struct zkli_member *m);
/* For the next hold. NULL: there is none any more. */
struct zkli_member *zkli_lock_take_idle(struct zkl_lock *l);
void zkli_lock_end_idle(struct zkl_lock *l);

/* ---- A place: nobody waits by it ---- */

/* Other handles keep none for this owner: it goes on to wait elsewhere. What it has given up goes
 * before what it wants next, so that nobody takes the two for a circle. */
void zkli_places_end(struct zkl_lock *l, uint64_t owner);
/* Whether this acquire may wait by the contender's node: it names no other owner. */
bool zkli_place_may_be_taken(const struct zkl_lock *l, const struct zkli_acquire *acquire);

bool zkli_lock_keeps_place(const struct zkl_lock *l);
/* Whether the place of this acquire, the first in line, is of use when it gives up. */
bool zkli_place_outlasts(const struct zkl_lock *l, const struct zkli_acquire *acquire);
/* The acquire's time is over; its place is the next one's, or kept. */
void zkli_place_leave(struct zkl_lock *l, struct zkli_acquire *acquire);
/* The first in line waits by the place of an earlier acquire. */
void zkli_lock_take_place(struct zkl_lock *l);
void zkli_lock_end_place(struct zkl_lock *l);
/* The contender that waits leaves, whatever it has come to. */
void zkli_lock_drop_member(struct zkl_lock *l);
/* To the first in line. */
void zkli_lock_tell_position(struct zkl_lock *l);

#endif
