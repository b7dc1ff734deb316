/*
 * zklock_inspect.h - looking at the queues of locks, one or all: zklock.h includes it.
 *
 * Text below comes from other programs through the server: escape it before a terminal sees it.
 */
#ifndef ZKLOCK_INSPECT_H
#define ZKLOCK_INSPECT_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zkl_contender {
    size_t size;      /* of this struct, in the library that is running: see ZKL_HAS */
    bool is_holder;   /* no contender before it keeps it out; the others wait */
    const char *node; /* the child's name */
    const char *host; /* "" if the contender does not say, as other libraries' do not */
    const char *program;
    const char *label;
    int64_t pid;        /* 0: unknown */
    int64_t thread;     /* the contender's thread id; 0: unknown */
    int64_t session_id; /* of the session that ends when the contender dies; 0: not ephemeral */
    int64_t token;      /* czxid */
    int64_t since_ms;   /* when it queued, milliseconds since 1970 by the server's clock */
    zkl_kind kind;      /* ZKL_MUTEX also for exclusive contenders of other libraries' names */
    bool may_be_idle;   /* its node may stay for a while after the hold: see .linger_ms */
    bool is_broken;     /* zkl_break has marked its node: it does not hold, though it may be the
                           holder for those behind it until that is gone */
    unsigned char reserved[2]; /* 0 */
    /* Since when it holds, by the same clock; 0: it waits, or that is not known. It is known of a
     * mutex and of a semaphore, and not of other libraries' contenders. One that has waited for
     * more than 1 s says it at its first heartbeat, T/16 after the grant as a rule. Until then
     * this is .since_ms. A node that is handed on or lingers counts from its first hold. */
    int64_t held_since_ms;
} zkl_contender;

/* A copy that never changes. It outlives its session, and a child of fork() may use it, too. */
typedef struct zkl_queue zkl_queue;

/* How many contenders it shows, and how many stood in the queue when it was listed. */
ZKL_API size_t zkl_queue_count(const zkl_queue *queue);
ZKL_API size_t zkl_queue_length(const zkl_queue *queue);
/* How many permits are recorded for the semaphore of that name, also when its queue is empty. 0: no
 * number is recorded. */
ZKL_API int zkl_queue_permits(const zkl_queue *queue);
/* The contender that has index others before it, borrowed until zkl_queue_free. NULL beyond the
 * end. */
ZKL_API const zkl_contender *zkl_queue_at(const zkl_queue *queue, size_t index);

/*
 * Reads the queue of a lock: one list, then a read for each contender, and one of the directory if
 * it has data. A call has up to 250 reads under way at a time. It adds none to 64 while the session
 * holds a lock or waits for one. The queue is the caller's: zkl_queue_free. A lock without
 * contenders has an empty queue. The session's connect_timeout_ms is for the whole call: a queue
 * that takes longer to read needs more.
 *
 * Of a semaphore with n permits the first n are holders. If the number was made smaller, holders
 * beyond it are listed as waiting.
 * **Returns:** ZKL_OK; ZKL_INVALID; ZKL_NO_CHROOT.
 * ZKL_UNREACHABLE: not all was read within connect_timeout_ms.
 * ZKL_DENIED; ZKL_AUTH_FAILED; ZKL_SERVER; ZKL_CLOSED; ZKL_IN_CALLBACK; ZKL_NOMEM; ZKL_FORKED.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_inspect(zkl_session *s, const char *name, zkl_queue **ret_queue);
/* The same of the first `limit` contenders, from 1, with as many reads: for many who ask who holds.
 * It shows fewer where some have left meanwhile. Near the end of the server's numbers, about 2^31,
 * it reads all: numbers do not tell there who is first. */
ZKL_API ZKL_MUST_USE zkl_err zkl_inspect_first(zkl_session *s, const char *name, size_t limit,
                                               zkl_queue **ret_queue);
ZKL_API void zkl_queue_free(zkl_queue *queue);

/* In place of a number of contenders: the directory may not be read. */
#define ZKL_UNREADABLE SIZE_MAX

/* Called for each lock, with its name and the number of contenders in its queue. Called with
 * ZKL_UNREADABLE for a directory whose locks cannot be told. The name is "" for the root. */
typedef void (*zkl_list_fn)(const char *name, size_t contenders, void *arg);
/*
 * Calls fn for every lock at or below prefix (NULL or "": all) that has contenders, sorted by name.
 * It lists each directory once. The session's connect_timeout_ms is for the whole call. When all is
 * read, it calls fn on the calling thread. There fn may call any function of the library.
 * **Returns:** as zkl_inspect.
 * ZKL_LIMIT: more than 65536 directories.
 * ZKL_DENIED: some directories may not be read. fn was told of these, and of all locks that may be
 * read. On any other error fn was not called.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_list(zkl_session *s, const char *prefix, zkl_list_fn fn,
                                      void *arg);

/* ---- Asking a holder to let go --------------------------------------------------------------- */

/*
 * Asks those who hold the lock to let go, whoever they are. Each that was opened with .want_wanted
 * is told by ZKL_EVENT_WANTED, and decides for itself. A node that lingers goes. Nobody loses a
 * hold by this.
 *
 * A holder with .want_wanted is told without being asked, too, when another client waits for its
 * hold. It looks at the queue at its first heartbeat, T/16 after the grant at the latest. From then
 * on it has a watch, so who waits writes nothing. A reader, or the holder of a permit, looks again
 * at heartbeats only. WANTED comes once a hold, by whatever cause, after HELD. It does not
 * come for threads that wait on the same handle. A hold that was handed on is told if one before it
 * was, though the other client may have left since.
 *
 * An ask that comes while a writer becomes a reader is lost if the servers' answer is. After a
 * semaphore's number has changed, its holders may not be told of who waits for a permit alone.
 *
 * Blocks for up to twice connect_timeout_ms of the session.
 * **Returns:** ZKL_OK: all were asked who held it when the queue was read, but for those of other
 * libraries.
 * ZKL_NOT_HELD: nobody holds it. ZKL_UNSUPPORTED: only other libraries' contenders do.
 * ZKL_DENIED: its node may not be written. ZKL_UNREACHABLE: not every one was asked.
 * Else as zkl_inspect.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_ask(zkl_session *s, const char *name);

/* ---- Ending a hold from outside -------------------------------------------------------------- */

/*
 * Ends the hold of one contender, or its place in the queue. contender is its node, as .node of
 * zkl_contender names it. There are two steps.
 *
 * - The node is marked. That ends the hold: its owner is told by ZKL_EVENT_LOST, and the library
 *   deletes the node. The same goes for all who hold by it: in nested holds, and a thread that it
 *   was handed on to. A node that lingers goes. Who waits by it takes a new place behind the
 *   others, as REQUEUED says.
 * - The owner may be stopped, or cut off from the servers. Then the node is deleted when the
 *   owner's session timeout has passed since the mark was committed. By then the owner does not
 *   count itself as the holder any more.
 *
 * So nobody is granted the lock while the one before is certain of it. That is not so for
 * contenders of other libraries, nor where another program has overwritten the node's data: such
 * nodes are deleted at once.
 *
 * Blocks for up to timeout_ms, or without a limit (ZKL_FOREVER). Where an owner is cut off, that
 * has to be more than its session timeout. After ZKL_TIMEOUT the node may be marked, and stays so.
 * Its owner may count itself as the holder for its session timeout after that. The next call goes
 * on from there, and counts the session timeout anew.
 * **Returns:** ZKL_OK: the node is gone.
 * ZKL_NOT_HELD: there is no such node. ZKL_TIMEOUT.
 * ZKL_INVALID: also, contender is no contender's name.
 * ZKL_UNSUPPORTED: the ACL of the node was changed after it was made, so its owner may not be told
 * of a mark; or its data are none that this library knows.
 * ZKL_DENIED; ZKL_SERVER; ZKL_AUTH_FAILED; ZKL_CLOSED; ZKL_IN_CALLBACK; ZKL_NOMEM; ZKL_FORKED.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_break(zkl_session *s, const char *name, const char *contender,
                                       int64_t timeout_ms);

/* ---- Statistics ------------------------------------------------------------------------------ */

/* Counts of how long something took. at[0]: less than 1 us. at[i]: from 2^(i-1) us on, and less
 * than 2^i. The last one: 2^30 us (18 min) and more. The struct does not grow. */
#define ZKL_HISTOGRAM_SIZE 32
typedef struct zkl_histogram {
    uint64_t at[ZKL_HISTOGRAM_SIZE];
    uint64_t total_us;
} zkl_histogram;

/* Why a hold was lost. */
typedef enum zkl_loss {
    ZKL_LOSS_UNCERTAIN = 0, /* no heartbeat was committed in time, or the node was not read */
    ZKL_LOSS_SESSION = 1,   /* the servers had ended the session, or rejected its credentials */
    ZKL_LOSS_NODE = 2,      /* another program had deleted the node; or nobody could tell */
    ZKL_LOSS_BROKEN = 3     /* zkl_break was called */
} zkl_loss;
#define ZKL_LOSSES_MAX 8  /* room for newer reasons */
#define ZKL_ERRORS_MAX 64 /* likewise for errors */

/* Counts of one handle, or of all handles of a session, closed ones included. */
typedef struct zkl_lock_statistics {
    size_t size; /* the program sets it to its own sizeof */
    /* By what they came to, as in acquires[ZKL_TIMEOUT]: all ways to acquire, each level of a
     * recursive hold, each lock of zkl_acquire_all. What was refused before the handle was looked
     * at, as ZKL_INVALID, is not counted. */
    uint64_t acquires[ZKL_ERRORS_MAX];
    uint64_t handed_on;            /* of those that are OK: without a request, by linger_ms or
                                      local_handoffs */
    uint64_t lost[ZKL_LOSSES_MAX]; /* holds, by zkl_loss */
    zkl_histogram waited;          /* acquires that are OK: from the call to its result */
    zkl_histogram held;            /* holds that are over: from the grant to the release or loss */
} zkl_lock_statistics;

/* Of the session's own life; now is the moment of the call. */
typedef struct zkl_session_statistics {
    size_t size;                 /* the program sets it to its own sizeof */
    uint64_t sessions;           /* opened, one after the other */
    uint64_t connections;        /* by these sessions: more than they are where one broke */
    uint64_t heartbeats;         /* sent */
    uint64_t late_heartbeats;    /* not answered within T/16, or not at all */
    int64_t least_certain_ms;    /* as little was once left for a hold, or for a node that lingers,
                                    when the next heartbeat was committed; 0: it ran out; INT64_MAX:
                                    none was needed yet */
    uint64_t requests_in_flight; /* now: 256 and a heartbeat at most */
    uint64_t bytes_in_flight;    /* now, of guarded writes' data */
    uint64_t holding;            /* now: nodes by which a lock is held, or that linger */
    uint64_t waiting;            /* now: nodes that wait in queues, or are about to */
} zkl_session_statistics;

/*
 * What has happened since the handle or the session was opened. The program sets .size of what it
 * gives; members that the library is too old to know are set to 0. No server is asked and no memory
 * is needed, so a callback may call this, too. ret_locks may be NULL.
 * **Returns:** ZKL_OK; ZKL_CLOSED; ZKL_FORKED; ZKL_INVALID: a NULL, or a .size that is too small or
 * larger than 65536. On an error nothing is filled in.
 */
ZKL_API zkl_err zkl_lock_stats(zkl_lock *l, zkl_lock_statistics *ret_stats);
ZKL_API zkl_err zkl_session_stats(zkl_session *s, zkl_session_statistics *ret_stats,
                                  zkl_lock_statistics *ret_locks);

/* ---- Deadlocks ------------------------------------------------------------------------------- */

/* The greatest .owner of a lock's options. */
#define ZKL_OWNER_MAX ((uint64_t)INT64_MAX)

/* One contender that waits, and one before it in the queue that must go first. */
typedef struct zkl_wait {
    size_t size;      /* of this struct, in the library that is running: see ZKL_HAS */
    const char *name; /* of the lock */
    const zkl_contender *waiter;
    const zkl_contender *blocker;
} zkl_wait;

/* Called for each circle of waits. The blocker of each wait and the waiter of the next one have the
 * same owner, and so have the last one's blocker and the first one's waiter. All of it is borrowed
 * for the call. */
typedef void (*zkl_deadlock_fn)(const zkl_wait *waits, size_t count, void *arg);
/*
 * Looks for owners that wait for each other in a circle, over all locks at or below prefix (NULL or
 * "": all), and calls fn for each circle. No two of those share an owner: end one, and look again.
 * None of them goes on until a wait in it ends, by a timeout or by hand. There is one exception:
 * the node of a hold that was given up without a connection stands until the connection is back, or
 * the session ends.
 *
 * An owner is a thread of a process, by whatever sessions. Or it is what the program has set as
 * .owner in the options of its locks, a number from 1 to ZKL_OWNER_MAX: the same for all handles of
 * the process by which one job holds and waits. Set it where one thread acquires and another
 * releases, too: a node names who acquired. Without .owner, a contender has none that can be told:
 *
 * - of a handle that several threads have acquired by, or zkl_acquire_async;
 * - of a handle with .linger_ms or .local_handoffs.
 *
 * Waits in a process, for another thread that uses the same handle, are not seen. Nor are those for
 * one of a semaphore's permits, and those of other libraries' contenders.
 *
 * Where owners wait in a circle, the waits are read two times or three, with a pause of 150 ms. All
 * waits that are reported existed together at one moment, by the same nodes. The node of a wait
 * that has just timed out may stand for 50 ms and a round trip more. If its owner goes on to wait
 * for another lock of the session, it goes before that. A few others may be there for longer: see
 * D4 in docs/guarantees.md. So where a server stands still, look twice.
 *
 * The call blocks. Each read of a queue takes connect_timeout_ms of the session at most. When all
 * is read, fn is called on the calling thread, and may call any function of the library.
 * **Returns:** as zkl_list. ZKL_DENIED: some queues may not be read; fn was told of what is found
 * in the others. On any other error fn was not called.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_find_deadlocks(zkl_session *s, const char *prefix,
                                                zkl_deadlock_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_INSPECT_H */
