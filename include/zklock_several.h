/*
 * zklock_several.h - several locks at once: zklock.h includes it.
 */
#ifndef ZKLOCK_SEVERAL_H
#define ZKLOCK_SEVERAL_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ZKL_ALL_MAX 64

/*
 * Acquires count locks, from 1 to ZKL_ALL_MAX, in one step: all of them or none. Their kinds may be
 * mixed. They are of one session, and no two have one name. The nodes are made in one transaction.
 * So callers that name the same locks, in any order, do not wait for each other in a circle. While
 * one is waited for, those that are free are taken for others. If a node is lost, all go to the
 * ends of their queues. Such nodes do not linger. Their tokens are equal. A call that fails removes
 * its nodes, and those directories that it made and no contender has used.
 *
 * A thread that holds a lock of this session is refused: it could wait for a caller that waits for
 * that lock. Nothing else of the kind is refused. Who holds one of these locks, or several, and
 * then waits for another, can wait in a circle with such a call, whatever the order.
 * **Returns:** as zkl_acquire, for all together, and:
 * ZKL_DEADLOCK: the calling thread holds a lock of this session.
 * ZKL_CANCELED, ZKL_CLOSED: that was so of one of the handles.
 * ZKL_LIMIT: also for too many locks.
 * ZKL_INVALID: also for no locks, handles of two sessions, and two of one name.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_acquire_all(zkl_lock *const *locks, size_t count,
                                             int64_t timeout_ms);

/*
 * Gives up the calling thread's holds of these locks, each as zkl_release does.
 * **Returns:** ZKL_OK: all were held. ZKL_LOST: one had been lost before. Else what zkl_release
 * says of the first that failed. ZKL_LIMIT, ZKL_INVALID: as zkl_acquire_all; nothing was done.
 */
ZKL_API zkl_err zkl_release_all(zkl_lock *const *locks, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_SEVERAL_H */
