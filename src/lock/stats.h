/* stats - what has become of acquires and holds: the counts of a handle, and of its session. */
#ifndef ZKLI_LOCK_STATS_H
#define ZKLI_LOCK_STATS_H

#include "lock/lock.h"

/* What an acquire has come to, for its caller. */
void zkli_stats_acquired(const struct zkli_acquire *acquire, zkl_err result);
/* A hold is over that its caller knows of. loss: NULL if it was given up. */
void zkli_stats_held(struct zkl_lock *l, int64_t held_ns, const zkl_loss *loss);

#endif
