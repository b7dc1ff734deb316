/*
 * zklock_zookeeper.h - more of zklock, for programs that use ZooKeeper's own header.
 *
 * This header does not include <zookeeper/zookeeper.h>, which declares the types of the functions
 * below. Its zoo_op_t and zoo_op_result_t are the structs zoo_op and zoo_op_result. Include it, and
 * fill them with its zoo_set_op_init and so on. Link with the client library for these functions.
 */
#ifndef ZKLOCK_ZOOKEEPER_H
#define ZKLOCK_ZOOKEEPER_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _zhandle; /* zhandle_t */
struct zoo_op;
struct zoo_op_result;

/* ---- Your own handle ------------------------------------------------------------------------- */

/*
 * Takes locks in the session of a handle that the program has, zhandle_t *zh, beside what else the
 * program does with it. Its global watcher and its context stay the program's. The library hears of
 * the session by a watch of its own, on a node that is never made.
 *
 * Returns at once, also if the handle is not connected yet; zkl_session_state tells. The handle
 * must stay open until zkl_session_close has returned. That deletes the nodes of the library, and
 * leaves the handle and its session as they are. What the library has asked for may complete later,
 * and is ignored: while the handle is open, do not unload the library.
 *
 * A hold begins when its lease is certain. In a session of its own the library knows when the
 * session was created. Here it does not. Say it, and the first hold need not wait: read
 * CLOCK_BOOTTIME, call zookeeper_init without a client id, attach, and let made_ms be that time in
 * milliseconds. Without made_ms, or when T has nearly passed since, the first hold waits until the
 * servers have proved for how long the session lives. That takes 1.5 T and some round trips. From
 * then on the lease is kept, for two syncs each 0.3 T. A handle that was made with a client id must
 * not have asked for a longer timeout than the session was created with: a new leader goes by that.
 *
 * When the session expires, its locks are LOST. Every acquire then returns ZKL_EXPIRED, as do other
 * calls that need the servers, and zkl_session_state is ZKL_STATE_EXPIRED for good. That may be so
 * before the handle says it. Close the zkl_session and its locks, then the handle, and attach the
 * next one. The library never breaks the handle's connection, and never opens another session in
 * its place. Nor does it break off with a silent server: the client library does so after 2/3 T. So
 * holds are lost more often than in a session of zklock.
 *
 * The library's own handles look up names only while they are not connected:
 * zoo_set_servers_resolution_delay(zh, -1). Do that, or an outage of name resolution ends the
 * session. Do not call zoo_remove_all_watches for the root or what is below it.
 *
 * **Threads:** The client library calls the program's completions and watchers for this handle on
 * one thread, and the library's, too. One that is slow delays heartbeats, and costs holds. On that
 * thread a blocking call of zklock returns ZKL_IN_CALLBACK, from the first time on that the library
 * has heard of the session, and for good. Before that such a call blocks what it waits for. Call
 * nothing of zklock in a completion of zoo_add_auth, nor in the handle's log callback: the client
 * library may hold a lock there.
 *
 * opts may be NULL. session_timeout_ms, auth_scheme, auth and tls must not be set: the handle has
 * them. With ZKL_ACL_CREATOR the program has added credentials to the handle. chroot is the one
 * that the handle was made with: its length counts for the limits. If it is NULL, 255 bytes count.
 * The client library has to be 3.6.2 or later, or 3.5.9.
 * **Returns:** ZKL_OK; ZKL_NOMEM; ZKL_UNSUPPORTED: tls is set.
 * ZKL_INVALID: a NULL, or an option that is out of range, unknown or not for this call.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_session_attach(zkl_session **ret_session, struct _zhandle *zh,
                                                const zkl_session_options *opts);
/*
 * The handle of the present session, as a zhandle_t *; for requests of the program's own in the
 * session that holds its locks. It stays open until zkl_session_zhandle_return, even when its
 * session expires. Till then no other session takes its place for want of use. Ephemeral nodes that
 * the program makes by it go with that session: see keep_session. While it is lent, the first
 * acquire after a rest may wait as that of an attached session does. Do not close the handle. Do
 * not change its watcher, its context, its servers or its credentials. **Threads:** as for
 * zkl_session_attach.
 * **Returns:** NULL: there is no session at the moment, or it is over.
 */
ZKL_API struct _zhandle *zkl_session_zhandle(zkl_session *s);
/*
 * Gives a handle back, once for each time it was lent. It may be closed at any moment from then on.
 * What the program has asked for by it may complete, and watches of its own may be told, until
 * zkl_session_close has returned. In a session that has lent a handle, close waits until the client
 * library has closed it: 5 s, or longer while names are being looked up. Do not close while you
 * hold a mutex that a completion of yours may want. While a handle is lent, zkl_session_close
 * returns ZKL_INVALID and does nothing.
 * **Returns:** ZKL_OK; ZKL_INVALID: it is not lent; ZKL_FORKED.
 */
ZKL_API zkl_err zkl_session_zhandle_return(zkl_session *s, struct _zhandle *zh);

/* ---- Guarded transactions -------------------------------------------------------------------- */

/* The most operations in one transaction. It holds up every other write of the ensemble while the
 * leader looks at it. */
#define ZKL_GUARDED_OPS_MAX 64

/*
 * Does several operations at once, or none of them, if the calling thread's hold exists. It is to
 * zoo_multi what zkl_guarded_set is to zoo_set.
 *
 * There are count operations in ops. They are made by zoo_create_op_init, zoo_delete_op_init,
 * zoo_set_op_init or zoo_check_op_init. They and the buffers they point to are borrowed for the
 * call. Containers and nodes with a time to live cannot be created in this way: ZooKeeper's client
 * library misreads the answer.
 *
 * The results are count of them, or NULL. They are written as zoo_multi does when the servers have
 * answered, and else left as they are. The servers have answered on ZKL_OK, ZKL_NO_NODE,
 * ZKL_BAD_VERSION, ZKL_DENIED and ZKL_SERVER, and on ZKL_LOST if that is what they said.
 *
 * A reply that is lost with its connection is ZKL_UNSURE: nothing is done a second time. A session
 * in which ephemeral nodes were created is kept while it rests, see keep_session.
 * **Returns:** as zkl_guarded_set.
 * ZKL_NO_NODE, ZKL_BAD_VERSION, ZKL_DENIED: what the first refused operation came to.
 * ZKL_SERVER: the first refused operation came to anything else, see results.
 * ZKL_LIMIT: more than ZKL_GUARDED_OPS_MAX operations, or too many bytes.
 * ZKL_UNSUPPORTED: an operation that is none of the four.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_multi(zkl_lock *l, int count, const struct zoo_op *ops,
                                               struct zoo_op_result *results);
/* The same for a given hold. It blocks. */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_multi_hold(zkl_lock *l, zkl_hold hold, int count,
                                                    const struct zoo_op *ops,
                                                    struct zoo_op_result *results);
/*
 * The same, which returns at once: as zkl_guarded_set_async is to zkl_guarded_set. The operations,
 * what they point to, and the results are borrowed until done is called.
 * **Returns:** as zkl_guarded_set_async; ZKL_UNSUPPORTED.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_multi_async(zkl_lock *l, zkl_hold hold, int count,
                                                     const struct zoo_op *ops,
                                                     struct zoo_op_result *results,
                                                     zkl_done_fn done, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_ZOOKEEPER_H */
