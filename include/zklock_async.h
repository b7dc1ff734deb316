/*
 * zklock_async.h - calls that do not block, and calls about a hold by its number: zklock.h includes
 * it.
 *
 * A program with an event loop, or with more waits than threads, asks for a lock and goes on. It is
 * told by a completion:
 *
 *     static void on_granted(zkl_err err, zkl_hold hold, void *arg) {
 *         struct job *job = arg;
 *         if (err == ZKL_OK) start(job, hold); // until then: zkl_release_hold(job->lock, hold)
 *     }
 *     ...
 *     zkl_err err = zkl_acquire_async(job->lock, 5000, on_granted, job);
 *
 * Such a hold belongs to no thread. Every call about it names it by its number, from any thread.
 */
#ifndef ZKLOCK_ASYNC_H
#define ZKLOCK_ASYNC_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a call came to. After a release or a write, hold is the number that was given.
 *
 * It is called where event functions are, and in turn with them. All that is said of those counts
 * for it. So it must not block for long, and a blocking call in it returns ZKL_IN_CALLBACK.
 *
 * After a call that returns ZKL_OK it is called exactly once, perhaps before that returns. After an
 * error it is never called. A close of the handle or of the session has all of them called before
 * it returns. Those of a handle that is closed it calls itself, perhaps beside another callback of
 * the session.
 */
typedef void (*zkl_done_fn)(zkl_err err, zkl_hold hold, void *arg);

/*
 * Acquires the lock for no thread, and returns at once. timeout_ms is as for zkl_acquire. done is
 * told what that would have returned, and the number of the hold, or 0 without one.
 *
 * ZKL_OK is certain at the moment of the call to done. A grant that is lost before that is waited
 * for anew. A grant that could not be told before the deadline, because another callback takes
 * long, is given up: ZKL_TIMEOUT.
 *
 * Several may wait on one handle, with the blocking calls of threads in one line. One that comes
 * while another holds waits for it, recursive or not: there is no ZKL_DEADLOCK.
 *
 * A cancel and a close end it as they end zkl_acquire.
 * **Returns:** ZKL_OK; ZKL_CLOSED; ZKL_NOMEM; ZKL_FORKED.
 * ZKL_INVALID: a NULL but arg, or a negative timeout that is not ZKL_FOREVER.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_acquire_async(zkl_lock *l, int64_t timeout_ms, zkl_done_fn done,
                                               void *arg);

/*
 * Gives up a hold as zkl_release_hold does, and returns at once. done is told what zkl_release_wait
 * would have returned: ZKL_OK when the servers have said that the node is gone; ZKL_TIMEOUT;
 * ZKL_CLOSED.
 * **Returns:** ZKL_OK: the hold is given up, and done will be called. ZKL_NOT_HELD; ZKL_CLOSED;
 * ZKL_NOMEM: nothing was done; ZKL_FORKED.
 * ZKL_LOST: the hold had been lost before; it is given up, and done is not called.
 * ZKL_INVALID: a NULL but arg, or a negative timeout that is not ZKL_FOREVER.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_release_async(zkl_lock *l, zkl_hold hold, int64_t timeout_ms,
                                               zkl_done_fn done, void *arg);

/*
 * zkl_guarded_set under a given hold, which returns at once. The path and the data are copied.
 * done is told what zkl_guarded_set would have returned.
 *
 * Several may be under way, under one hold, too. Those of one hold are made in the order of the
 * calls. If a connection is lost, each one whose reply is lost is found out by itself, in that
 * order, before later ones go on. With versions, one that has others of the same node behind it is
 * ZKL_UNSURE then. So is one with a zkl_guarded_multi_async behind it, with any version, and one
 * whose loss was not known yet when the next connection carried a later write that was made.
 *
 * A write under way when its handle is closed is told ZKL_UNSURE. Release the hold when its writes
 * have been told: those that are not sent by then are not made, and told ZKL_NOT_HELD.
 * **Returns:** ZKL_OK; ZKL_NOT_HELD; ZKL_LOST; ZKL_CLOSED; ZKL_INVALID; ZKL_LIMIT; ZKL_NOMEM;
 * ZKL_FORKED, as zkl_guarded_set. After an error nothing was written, and done is not called.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_set_async(zkl_lock *l, zkl_hold hold, const char *path,
                                                   const void *data, size_t len, int version,
                                                   zkl_done_fn done, void *arg);

/* ---- On the program's own thread ------------------------------------------------------------- */

/*
 * With .manual_dispatch the library has no thread for callbacks. The descriptor is readable while
 * there are callbacks to call: put it into poll, epoll or an event loop, and call
 * zkl_session_dispatch then. It is the session's until close: neither read nor close it. -1: the
 * session has been opened without .manual_dispatch.
 */
ZKL_API int zkl_session_fd(zkl_session *s);
/*
 * Calls what is to be called, at most max times, on the calling thread: functions for events, and
 * completions. It does not wait. What comes meanwhile counts, too.
 *
 * It is for one thread at a time. A call inside a callback, or beside another one, calls nothing.
 * A grant that is not told before its deadline is given up, so call it in time.
 * **Returns:** how many were called.
 */
ZKL_API int zkl_session_dispatch(zkl_session *s, int max);

/* ---- By the hold's number, from any thread: besides zkl_hold_valid and zkl_release_hold ------ */

/* zkl_remaining_ms for a given hold. */
ZKL_API int64_t zkl_hold_remaining_ms(zkl_lock *l, zkl_hold hold);
/* zkl_token for a given hold. */
ZKL_API int64_t zkl_hold_token(zkl_lock *l, zkl_hold hold);
/* zkl_node_path for a given hold. **Returns:** as that. */
ZKL_API ZKL_MUST_USE zkl_err zkl_hold_path(zkl_lock *l, zkl_hold hold, char *buf, size_t size);
/* zkl_guarded_set for a given hold. It blocks. **Returns:** as that. zklock_zookeeper.h has
 * zkl_guarded_multi_hold. */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_set_hold(zkl_lock *l, zkl_hold hold, const char *path,
                                                  const void *data, size_t len, int version);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_ASYNC_H */
