/* stats - what has become of acquires and holds: the counts of a handle, and of its session. */
#ifndef ZKLI_LOCK_STATS_H
#define ZKLI_LOCK_STATS_H

#include "lock/lock.h"

/* What an acquire has come to, for its caller. */
void zkli_stats_acquired(struct zkl_lock *l, zkl_err result, int64_t waited_ns);
/* A grant needs no request. */
void zkli_stats_handed_on(struct zkl_lock *l);
/* A hold is over that its caller knows of. loss: NULL if it was given up. */
void zkli_stats_held(struct zkl_lock *l, int64_t held_ns, const zkl_loss *loss);

#endif
