/*
 * zklock_guard.h - writes that the servers refuse after the end of a hold: zklock.h includes it.
 *
 * A process can be stopped between its last look at the hold and its next write. When it goes on,
 * another client may hold the lock. zkl_held cannot prevent that write. The place that is written
 * to can:
 *
 * - A znode: Use a guarded write. The servers refuse it, in the same transaction, unless the node
 *   of the hold is still there. However late it arrives, it changes nothing after the hold.
 * - A file, a database, a device, a service: Send zkl_token() along. Let the place refuse a token
 *   smaller than the greatest it has seen. That protects from the first write of a later holder on,
 *   not from the moment in which the lock changes hands.
 *
 * Both protect only what all writers write in this way.
 */
#ifndef ZKLOCK_GUARD_H
#define ZKLOCK_GUARD_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most bytes of data. A packet to a server has at most 1048575 bytes (jute.maxbuffer, unless it
 * is set otherwise), and two paths go with the data. */
#define ZKL_GUARDED_SET_MAX 1000000

/*
 * Sets the data of a znode if the calling thread's hold exists. The servers decide that in one
 * transaction, which is one request.
 *
 * path is absolute. It counts from the chroot of the session's hosts, not from the session's root.
 * The node must exist; zkl_guarded_multi can create it. The bytes at data are borrowed for the
 * call; data may be NULL if len is 0. The write raises the node's version by one.
 *
 * Pass the version that the node must have, or -1 for any. With -1, a lost connection can make the
 * write happen twice, and a late one may overwrite a later write of this same hold. With a version
 * neither can happen, unless the node is deleted and created anew.
 *
 * The call blocks until the servers have answered, also through a broken connection. It returns
 * about 2T/3 after the hold is lost at the latest. A session has at most 500,000 bytes of guarded
 * writes under way for each second of T. Further ones wait their turn: heartbeats stand behind that
 * data.
 *
 * If the reply is lost with the connection, the call finds out whether it has written: it writes
 * again or reads. For that, all writers of the node must write with the guard. If it cannot find
 * out, it returns ZKL_UNSURE: read the node under a new hold.
 * **Returns:**
 * ZKL_OK: written, and the hold existed at that moment, though it may be lost by now.
 * ZKL_NOT_HELD: the calling thread has no hold; nothing was written.
 * ZKL_LOST: the hold was lost; nothing was written. If the servers have said that the node of the
 * hold is gone, the hold is lost from now on, with its event.
 * ZKL_NO_NODE: path does not exist.
 * ZKL_BAD_VERSION: the node has another version; nothing was written.
 * ZKL_UNSURE: it was written or not; also when the session was closed while it was under way.
 * ZKL_DENIED, ZKL_SERVER: nothing was written; the log has the path and the server's code.
 * ZKL_CLOSED: the lock or the session was closed before it was sent; nothing was written.
 * ZKL_INVALID: a NULL, a path that is not valid, too much data, a version below -1.
 * ZKL_LIMIT: more than 1,024,000 bytes with its paths and the chroot.
 * ZKL_NOMEM: nothing was written.
 * ZKL_IN_CALLBACK; ZKL_FORKED.
 *
 * zklock_zookeeper.h has zkl_guarded_multi, for several nodes at once.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_set(zkl_lock *l, const char *path, const void *data,
                                             size_t len, int version);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_GUARD_H */
