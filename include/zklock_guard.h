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

/* ---- Under a hold of another process --------------------------------------------------------- */

/*
 * A hold by its nodes, for a process that works under it and is not the holder. That is a command
 * that 'zklock run' has started, or a helper to which the holder has passed on zkl_node_path and
 * zkl_token. All-zero is no guard and not valid.
 *
 * The nodes are paths from the chroot of the session's hosts, which has to be the holder's. Each is
 * a contender's node. Several are for locks that are held together: the write is made if all of
 * them exist.
 *
 * A node says less than a handle does. What follows from it:
 *
 * - It has to be the node of a hold. That of a contender that waits exists, too, and the queue is
 *   not looked at. A contender that was granted the lock holds as long as its node exists.
 * - A node that is marked by zkl_break guards nothing, though it is still there.
 * - A reader's node and that of a permit exist beside others. Only the mutex's and the writer's say
 *   that no other contender holds.
 * - A node that lingers, or is handed on to the next thread (.linger_ms, .local_handoffs), outlives
 *   a hold. So does a late write then. It is still made before another client's hold.
 * - A writer that becomes a reader has another node: its old one is gone.
 * - No name of a node of this library comes again. Another tool can make one by hand. The token
 *   tells it apart when the node is read, just before the write.
 */
typedef struct zkl_guard {
    size_t size;              /* sizeof(zkl_guard); ZKL_GUARD sets it */
    const char *const *nodes; /* borrowed for the call */
    size_t count;             /* of them, 1 to ZKL_ALL_MAX */
    int64_t token;            /* zkl_token of the hold, which all of its nodes have [0: any] */
    bool unguarded;           /* there are no nodes, and count is 0: it is written in any case */
    uint8_t reserved[7];      /* must be zero */
} zkl_guard;

/* A compound literal, for C: &ZKL_GUARD(.nodes = nodes, .count = 1). */
#define ZKL_GUARD(...) ((zkl_guard){.size = sizeof(zkl_guard), __VA_ARGS__})

/* In place of a version: there is no such node yet, and it is created. */
#define ZKL_ABSENT (-2)

/*
 * Sets the data of a znode if the hold of the guard exists, in one transaction of the servers. It
 * takes one request for each node of the hold before that.
 *
 * path, data and len are as for zkl_guarded_set. version is the one that the node must have, -1 for
 * any, or ZKL_ABSENT. A node that is created is persistent, its parent must exist, and its ACL
 * follows the session's .acl. *ret_version, unless it is NULL, is the version that the node then
 * has.
 *
 * The call blocks for up to timeout_ms, or without a limit (ZKL_FOREVER). Nothing is sent twice:
 * several processes may write under one hold, in an order that nobody knows. After ZKL_UNSURE
 * zkl_read_node may tell, with a version at the least. A write under way may still be made after
 * that, as long as the hold exists. Nor does the holder's library know of this write: a
 * zkl_guarded_set of its own that is sent again may go over it, and takes the same step with the
 * same data for its own. Data that name their writer differ.
 * **Returns:**
 * ZKL_OK: written, and the nodes of the hold existed at that moment, unmarked.
 * ZKL_LOST: one of them does not exist, is marked by zkl_break, or has another token. Nothing was
 * written. The session's own holds have nothing to do with that.
 * ZKL_NO_NODE: path does not exist; to be created, its parent does not.
 * ZKL_BAD_VERSION: the node has another version; to be created, it exists. Nothing was written.
 * ZKL_UNSURE: it was sent, and no answer came, within timeout_ms, or because the connection or the
 * session ended. It was written, or is being written, or not.
 * ZKL_UNREACHABLE: it could not be sent within timeout_ms, for want of a server or of memory.
 * Nothing was written.
 * ZKL_DENIED, ZKL_SERVER: nothing was written; the log has the path and the server's code. To read
 * the nodes of the hold is needed, too.
 * ZKL_INVALID: a NULL; a path that is not valid, or a node that is no contender's; too much data;
 * a version below ZKL_ABSENT; a guard that is out of range or unknown.
 * ZKL_LIMIT: more than 1,024,000 bytes with all paths and the chroot.
 * ZKL_AUTH_FAILED; ZKL_EXPIRED; ZKL_CLOSED; ZKL_IN_CALLBACK; ZKL_FORKED: nothing was written.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_set_by_node(zkl_session *s, const zkl_guard *guard,
                                                     const char *path, const void *data, size_t len,
                                                     int version, int64_t timeout_ms,
                                                     int *ret_version);

/*
 * Copies the data of a znode into buf, which has size bytes and is not ended by a NUL. *ret_len is
 * how long the data are: if that is more than size, buf has the beginning. *ret_version, unless it
 * is NULL, is the node's version. buf may be NULL if size is 0.
 *
 * What is read is no older than the call: all that was committed before is in it, by whichever
 * server. For that a barrier goes before the read, which the servers commit. The call blocks for up
 * to timeout_ms, or without a limit (ZKL_FOREVER).
 * **Returns:** ZKL_OK; ZKL_NO_NODE; ZKL_UNREACHABLE: not within timeout_ms.
 * ZKL_DENIED, ZKL_SERVER: the log has the path and the server's code.
 * ZKL_INVALID: a NULL, a path that is not valid, a negative timeout. ZKL_LIMIT: too long a path.
 * ZKL_AUTH_FAILED; ZKL_EXPIRED; ZKL_CLOSED; ZKL_IN_CALLBACK; ZKL_NOMEM; ZKL_FORKED. On an error
 * nothing is filled in.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_read_node(zkl_session *s, const char *path, void *buf, size_t size,
                                           size_t *ret_len, int *ret_version, int64_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_GUARD_H */
