/*
 * zklock.h - distributed locks on ZooKeeper, for C programs.
 *
 * A lock is a queue of ephemeral sequential nodes under <root>/<name>. The lowest node holds the
 * lock. Every other contender watches only the node just before its own. The end of a session
 * deletes its nodes, and so frees its locks.
 *
 *     zkl_session *s = NULL;
 *     zkl_lock *l = NULL;
 *     zkl_err err = zkl_session_open(&s, "127.0.0.1:2181", NULL);
 *     if (err == ZKL_OK) err = zkl_lock_open(&l, s, "billing/close-month", NULL);
 *     if (err == ZKL_OK) err = zkl_acquire(l, 5000);
 *     if (err == ZKL_OK) {
 *         while (zkl_held(l) && work_is_left()) do_a_little_work();
 *         err = zkl_release(l); // ZKL_LOST: the hold had ended before
 *     }
 *     if (err != ZKL_OK) fprintf(stderr, "%s\n", zkl_strerror(err));
 *     zkl_lock_close(l);
 *     zkl_session_close(s);
 *
 * T is the session timeout that the servers granted. A lease is the time for which the last
 * committed heartbeats make a hold certain. It ends before the servers can end the session.
 *
 * **Threads:** Any thread may call any function at any time. Close is different: before you close
 * an object, make sure that every other call on it has returned. There are two exceptions:
 *
 * - A call that you know to be blocked may still be under way. It returns what it came to, or
 *   ZKL_CLOSED, false, 0 or NULL. Close does not wait for it. The object stays in memory until it
 *   returns. A guarded write may return ZKL_UNSURE.
 * - Close waits for a callback of the object, and that of a session for all that are to come. A
 *   callback may still make calls on it. They return as above. But zkl_session_timeout_ms returns
 *   the last T, and zkl_hold_of the number of a lost hold. The callback may even close the same
 *   lock a second time.
 *
 * Do not close while you hold a mutex that such a callback may want. Only one call may close a
 * session. A hold belongs to the thread that acquired it, or to none: see zklock_async.h.
 *
 * **Blocking calls** are zkl_session_open, _close and _end, zkl_acquire and zkl_acquire_all (a try,
 * too), zkl_release_wait, zkl_downgrade and zkl_set_permits. So are guarded writes, zkl_read_node,
 * zkl_inspect and zkl_inspect_first, zkl_list, zkl_ask, zkl_break and zkl_find_deadlocks. In a
 * callback they return ZKL_IN_CALLBACK.
 * zkl_lock_close, zkl_fence_check and zkl_fence_begin can wait, too.
 *
 * **Fork:** A daemon opens its sessions after fork() or daemon(). In a child of fork(), every call
 * on an inherited object returns ZKL_FORKED, close included, and frees nothing. A function that
 * returns no zkl_err returns false, 0, NULL or ZKL_STATE_CLOSED there. These functions also return
 * that for a NULL object, in any process. A zkl_queue is the exception: the child may use it. The
 * ZooKeeper client library's socket and pipe are not close-on-exec: before exec(), close them. A
 * child that is forked in a callback does not return from it: it ends with exec() or _exit().
 *
 * **Failures:** A function with a ret_... argument sets *ret_... to NULL unless it returns ZKL_OK.
 * Every close and free accepts NULL, so one cleanup path serves after any failure.
 *
 * The library installs no signal handler, raises no SIGPIPE and writes to no standard stream. It
 * does not preserve errno. Times are in milliseconds. Time for which the process is stopped or the
 * machine is suspended counts.
 */
#ifndef ZKLOCK_H
#define ZKLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ZKL_API __attribute__((visibility("default")))
#define ZKL_MUST_USE __attribute__((warn_unused_result))
#else
#define ZKL_API
#define ZKL_MUST_USE
#endif

/* ---- Structs that grow ----------------------------------------------------------------------- */

/*
 * Every struct below begins with its size. A later release with the same soname, libzklock.so.0,
 * adds members at the end of structs, values to enums, and functions. It changes nothing else.
 * Errors, classes, states and events are enums: a switch on one needs a default for new values. A
 * program that needs a newer function does not start with an older library.
 *
 * - Options: The program sets .size to its own sizeof, as ZKL_SESSION_OPTIONS does, and zeroes what
 *   it does not use. The library takes members beyond that size as zero. Members that the library
 *   is too old to know must be zero, and .size from sizeof(size_t) to 4096, else ZKL_INVALID.
 * - Events and contenders: The library sets .size to its own sizeof. Before a program reads a
 *   member that 0.1.0 did not have, it asks ZKL_HAS. A program that copies such a struct copies no
 *   more than .size bytes. It ignores types of events that it does not know.
 */
/* Whether *ptr is long enough for a member: ZKL_HAS(event, newer_member). Evaluates ptr 3 times. */
#define ZKL_HAS(ptr, member)                                                                       \
    ((size_t)((const char *)(&(ptr)->member + 1) - (const char *)(ptr)) <= (ptr)->size)

/* ---- Errors ---------------------------------------------------------------------------------- */

/* What a caller can do about an error; made for a switch. */
typedef enum zkl_class {
    ZKL_CLASS_OK = 0,     /* nothing went wrong */
    ZKL_CLASS_RETRY = 1,  /* not done; the same call may succeed later. ZKL_BAD_VERSION needs the
                             node's new version. After ZKL_TIMEOUT of zkl_release_wait the hold is
                             given up: do not call it again */
    ZKL_CLASS_LOST = 2,   /* the hold is over: stop the guarded work */
    ZKL_CLASS_USAGE = 3,  /* the program asked for something it must not ask for */
    ZKL_CLASS_DENIED = 4, /* the server refuses: credentials or permissions */
    ZKL_CLASS_LOCAL = 5,  /* refused in this process: limit, memory, closed object, bad file */
    ZKL_CLASS_UNSURE = 6  /* it may have happened or not: look before doing it again */
} zkl_class;

/* X(name, value, class, text); values are never reused. "The log" is the session's .log function;
 * without one, nothing is logged. LIMIT is any limit of the library: docs/limits.md has the
 * numbers. */
#define ZKL_ERRORS(X)                                                                              \
    X(OK, 0, OK, "success")                                                                        \
    X(TIMEOUT, 1, RETRY, "the time allowed ran out")                                               \
    X(BUSY, 2, RETRY, "another contender holds the lock")                                          \
    X(CANCELED, 3, RETRY, "the wait was canceled")                                                 \
    X(LOST, 4, LOST, "the hold was lost")                                                          \
    X(CLOSED, 5, LOCAL, "the lock or its session is closed")                                       \
    X(UNREACHABLE, 6, RETRY, "no server answers")                                                  \
    X(DENIED, 7, DENIED, "the server denies access to the node")                                   \
    X(AUTH_FAILED, 8, DENIED, "the server rejects the credentials")                                \
    X(INVALID, 9, USAGE, "invalid argument")                                                       \
    X(NOT_HELD, 10, USAGE, "the lock is not held by the caller")                                   \
    X(DEADLOCK, 11, USAGE, "the calling thread holds the lock already")                            \
    X(MISMATCH, 12, USAGE, "the semaphore has another number of permits, or none")                 \
    X(LIMIT, 13, LOCAL, "a limit is reached: see the call that returned it")                       \
    X(UNSUPPORTED, 14, USAGE, "not supported by this library, client library or server")           \
    X(IN_CALLBACK, 15, USAGE, "a blocking call from a callback")                                   \
    X(NOMEM, 16, LOCAL, "out of memory or threads")                                                \
    X(FORKED, 17, USAGE, "the object was opened before fork()")                                    \
    X(SERVER, 18, RETRY, "the servers refused the request; the log has its code and path")         \
    X(NO_NODE, 19, USAGE, "the node does not exist")                                               \
    X(BAD_VERSION, 20, RETRY, "the node has another version")                                      \
    X(UNSURE, 21, UNSURE, "the connection broke during the write, which may have been done")       \
    X(STALE, 22, LOST, "a later holder has shown its token")                                       \
    X(IO, 23, LOCAL, "the fence's file cannot be read or written")                                 \
    X(CORRUPT, 24, LOCAL, "the fence's file is damaged")                                           \
    X(NO_CHROOT, 25, USAGE, "the chroot in the list of servers does not exist")                    \
    X(EXPIRED, 26, LOCAL, "the attached session has expired")

typedef enum zkl_err {
#define ZKL_ERROR_ENUM(name, value, class_, text) ZKL_##name = (value),
    ZKL_ERRORS(ZKL_ERROR_ENUM)
#undef ZKL_ERROR_ENUM
    ZKL_ERR_MAX_ = 0x7fffffff /* fixes the enum's size; never returned */
} zkl_err;

/* One English sentence without a full stop. Static, and never NULL, even for an unknown value. */
ZKL_API const char *zkl_strerror(zkl_err err);
/* The constant's name without ZKL_, such as "TIMEOUT". Static, and never NULL. */
ZKL_API const char *zkl_errname(zkl_err err);
/* The class of an error; ZKL_CLASS_LOCAL for an unknown value. */
ZKL_API zkl_class zkl_errclass(zkl_err err);

#define ZKL_VERSION_MAJOR 0
#define ZKL_VERSION_MINOR 1
#define ZKL_VERSION_PATCH 0
/* The version of the running library, "MAJOR.MINOR.PATCH". Static. */
ZKL_API const char *zkl_version(void);

/* ---- Events ---------------------------------------------------------------------------------- */

typedef struct zkl_session zkl_session;
typedef struct zkl_lock zkl_lock;

/* A grant's number. A process never uses one twice; 0 stands for "no hold". */
typedef uint64_t zkl_hold;

typedef enum zkl_event_type {
    ZKL_EVENT_QUEUED = 1,    /* lock: waiting; position says how many are to go before */
    ZKL_EVENT_HELD = 2,      /* lock: granted; hold and token say which grant */
    ZKL_EVENT_LOST = 3,      /* lock: the hold is not certain any more and will never be again */
    ZKL_EVENT_SUSPENDED = 4, /* session: the connection broke; holds stay until LOST, which may come
                                before it */
    ZKL_EVENT_RESUMED = 5,   /* session: connected again */
    ZKL_EVENT_WANTED = 6,    /* lock: another client waits for the hold, or asks: see zkl_ask */
    ZKL_EVENT_REQUEUED = 7   /* lock: the place in the queue was lost, a new one is being taken */
} zkl_event_type;

typedef struct zkl_event {
    size_t size; /* of this struct, in the library that is running: see ZKL_HAS */
    zkl_event_type type;
    zkl_session *session;
    zkl_lock *lock;      /* NULL for an event of the session */
    zkl_hold hold;       /* HELD, LOST and WANTED: which hold; else 0 */
    int64_t token;       /* HELD, LOST and WANTED: its fencing token; else 0 */
    size_t position;     /* QUEUED: so many are before, here and at the servers, or more; else 0 */
    bool is_new_session; /* RESUMED: the old session is over, this is another; else false */
    uint8_t reserved[7]; /* zero */
} zkl_event;

/* The constant's name without ZKL_EVENT_, such as "QUEUED". Static, and never NULL. */
ZKL_API const char *zkl_event_name(zkl_event_type type);

/*
 * Called for each event, in order, one at a time for a session, on a thread of the library or in
 * zkl_session_dispatch. The event is borrowed for the call. A slow callback delays later ones of
 * its session, LOST included, which queue in memory. It delays no heartbeat and no lock.
 *
 * So an event is a hint, which may be late. zkl_held tells the moment: ask it before each piece of
 * work. To be warned before the loss, watch zkl_remaining_ms fall.
 *
 * Out of memory, QUEUED and WANTED may be dropped. So may both HELD and LOST of a grant that was
 * lost before the acquire returned, or its completion was told. No others are. is_new_session may
 * then be true on neighboring RESUMED events, too.
 *
 * A callback may call zkl_release_hold, zkl_cancel, zkl_lock_close and all else that does not
 * block. A blocking call returns ZKL_IN_CALLBACK. The library's thread has no hold, and calls about
 * the calling thread's hold say so: zkl_held is false, zkl_token is 0.
 */
typedef void (*zkl_event_fn)(const zkl_event *event, void *arg);

typedef enum zkl_log_level {
    ZKL_LOG_ERROR = 1,
    ZKL_LOG_WARN = 2,
    ZKL_LOG_INFO = 3,
    ZKL_LOG_DEBUG = 4
} zkl_log_level;

/*
 * Called with each log line of the library and of its ZooKeeper client library. The text has no
 * newline and is borrowed for the call. **Threads:** The call comes on any thread, also inside a
 * call of the library and with its locks held. It must not block and must not call the library.
 */
typedef void (*zkl_log_fn)(zkl_log_level level, const char *text, void *arg);

/* ---- Session --------------------------------------------------------------------------------- */

typedef enum zkl_state {
    ZKL_STATE_CONNECTING = 1, /* no session yet, or a new one is being opened after an expiry */
    ZKL_STATE_CONNECTED = 2,
    ZKL_STATE_SUSPENDED = 3,   /* the connection broke, the session may still live */
    ZKL_STATE_AUTH_FAILED = 4, /* final: the server rejected the credentials. No event of its own:
                                  holds are LOST, waits end with ZKL_AUTH_FAILED */
    ZKL_STATE_CLOSED = 5,      /* final */
    ZKL_STATE_EXPIRED = 6      /* final: the session of zkl_session_attach is over. No event of its
                                  own: holds are LOST, waits end with ZKL_EXPIRED */
} zkl_state;

typedef enum zkl_acl {
    ZKL_ACL_OPEN = 0,   /* any client may read and change the nodes, and so end a hold */
    ZKL_ACL_CREATOR = 1 /* only clients with our credentials may; needs auth_scheme and auth, but
                           for zkl_session_attach. It is for nodes that we create: ZooKeeper lets
                           any client that may delete in the lock's directory end a hold. See
                           "Rights" in docs/guarantees.md */
} zkl_acl;

/* All-zero means the defaults in brackets. Strings are copied. */
typedef struct zkl_session_options {
    size_t size;             /* sizeof(zkl_session_options); ZKL_SESSION_OPTIONS sets it */
    int session_timeout_ms;  /* asked of the server, 100 to 3600000 [10000]. The servers bound it,
                                by default to 2 to 20 ticks: zkl_session_timeout_ms says T */
    int connect_timeout_ms;  /* how long zkl_session_open, zkl_inspect, zkl_inspect_first and
                                zkl_list wait at most, 1 to 3600000 [10000] */
    bool lazy_heartbeat;     /* ignored: reserved */
    bool manual_dispatch;    /* zkl_session_dispatch calls back, and no thread of ours */
    const char *root;        /* of the locks: an absolute path, at most 255 bytes ["/locks"] */
    const char *label;       /* shown in queues; bytes beyond 128 are cut off [none] */
    const char *auth_scheme; /* such as "digest" [none] */
    const char *auth;        /* such as "user:password" [none] */
    zkl_acl acl;             /* of the nodes we create [ZKL_ACL_OPEN] */
    const char *tls;         /* must be NULL: ZKL_UNSUPPORTED otherwise */
    zkl_event_fn on_event;   /* events of the session [none] */
    zkl_log_fn log;          /* [none: nothing is logged] */
    void *arg;               /* handed to on_event and log */
    bool keep_session;       /* zkl_session_id stays the same until the session expires, for two
                                syncs each 0.3 T. Else, after a rest with nothing held or waited
                                for, the next acquire opens another session in its place, for which
                                it needs a second connection. No event tells of it */
    uint8_t reserved[7];     /* must be zero */
    /* For zkl_session_attach, else NULL and 0: */
    const char *chroot; /* that the handle was made with, "" for none [NULL: not known] */
    int64_t made_ms;    /* CLOCK_BOOTTIME, before it was made [0: not known] */
} zkl_session_options;

/* A compound literal, for C: &ZKL_SESSION_OPTIONS(.session_timeout_ms = 4000). In C++ fill a
 * variable, .size included. */
#define ZKL_SESSION_OPTIONS(...)                                                                   \
    ((zkl_session_options){.size = sizeof(zkl_session_options), __VA_ARGS__})

/*
 * Opens a session and waits until a server has granted it, at most connect_timeout_ms. The timeout
 * of a later zkl_acquire does not count this time.
 *
 * The servers in hosts are "host[:port][,host[:port]...][/chroot]", copied. The default port is
 * 2181. Spaces around a server are ignored. A chroot has at most 255 bytes, its first '/' included,
 * and must exist. If it does not, the session opens, but zkl_acquire, zkl_inspect and zkl_list
 * return ZKL_NO_CHROOT. What is below it need not exist. An acquire creates the root, its parents
 * and the lock's directories when they are missing. The root is "/", or a '/' and then a text that
 * would be valid as a lock's name (see zkl_lock_open).
 *
 * opts may be NULL. The session is the caller's: close its locks, then call zkl_session_close.
 * **Returns:**
 * ZKL_OK.
 * ZKL_INVALID: a NULL, an empty or malformed hosts, too long a chroot, an option that is out of
 * range or unknown.
 * ZKL_UNSUPPORTED: tls is set.
 * ZKL_UNREACHABLE: no server granted a session within connect_timeout_ms.
 * ZKL_AUTH_FAILED: the server rejected the credentials.
 * ZKL_NOMEM: out of memory, threads or descriptors.
 * ZKL_IN_CALLBACK.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_session_open(zkl_session **ret_session, const char *hosts,
                                              const zkl_session_options *opts);

/*
 * Ends the session and frees it. Its locks are free at once if a server can be reached, else when
 * the session times out there. Waiting acquires return ZKL_CLOSED. Any other call that is under way
 * when close begins is safe, too: see Threads at the top. Locks that are still open stay valid
 * objects, whose calls return ZKL_CLOSED. They must still be closed. NULL is accepted.
 *
 * Events that have not been told yet are told before close returns, the LOST of a hold that close
 * ends among them; with .manual_dispatch on the calling thread. Close returns within 2 s, whatever
 * the network does. Only callbacks can make it longer, and a handle that was lent
 * (zkl_session_zhandle).
 * **Returns:** ZKL_OK; ZKL_IN_CALLBACK; ZKL_FORKED.
 * ZKL_INVALID: a handle is lent (zkl_session_zhandle). Nothing is closed.
 * ZKL_UNREACHABLE: an attached session is closed, but a node of it may be left until the session of
 * the handle ends. A server did not answer in time, or a request's reply was lost before.
 */
ZKL_API zkl_err zkl_session_close(zkl_session *s);

/* What the session is doing at this moment. */
ZKL_API zkl_state zkl_session_state(zkl_session *s);
/* ZooKeeper's session id; 0 while there is none. A new session has another: see keep_session. */
ZKL_API int64_t zkl_session_id(zkl_session *s);
/* T. A holder's crash frees its locks after about T: docs/operations.md has the bounds. */
ZKL_API int zkl_session_timeout_ms(zkl_session *s);

/*
 * Replaces the list of servers, for an ensemble that moved. hosts is copied. A chroot in it is
 * ignored: the first one stays. Names are looked up in the background. The client library tells
 * servers apart by address, not by port, and does not notice a server with another port only.
 * **Returns:** ZKL_OK; ZKL_INVALID; ZKL_CLOSED; ZKL_FORKED; ZKL_NOMEM.
 * ZKL_UNSUPPORTED: an attached session. Use zoo_set_servers.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_session_set_hosts(zkl_session *s, const char *hosts);

/* ---- Locks ----------------------------------------------------------------------------------- */

/*
 * The kinds share one queue. Locks of one name exclude each other, of whatever kinds they are. But
 * readers hold together, and as many of a semaphore as it has permits. A reader waits for each
 * contender before it that is no reader, and a semaphore's for each that is no semaphore's. Any
 * other waits for all before it. So no later reader overtakes a writer that waits. The names of the
 * nodes are Curator's: its InterProcessMutex and InterProcessReadWriteLock stand in the same queue.
 *
 * A thread that holds a writer's lock may acquire a ZKL_READ lock of that name by another handle of
 * the session. It is granted at once, without a request, inside the writer's hold, whose token it
 * has. When the writer's is released first, the node becomes a reader's, as by zkl_downgrade. The
 * other way round it is ZKL_DEADLOCK: a writer inside a reader's hold would wait for it.
 *
 * The number of a semaphore's permits stands in the data of the lock's directory. The first acquire
 * writes it. Each handle says how many it expects, or 0 to go by that number, whatever it is. An
 * acquire by another number, or by 0 where there is none, is ZKL_MISMATCH. zkl_set_permits changes
 * it. When the last contender has gone, the servers delete the directory, and the number with it,
 * within about a minute. A hold is one permit: who needs several has a handle for each.
 */
typedef enum zkl_kind {
    ZKL_MUTEX = 0,
    ZKL_READ = 1,     /* shared; as many holders as come */
    ZKL_WRITE = 2,    /* exclusive, as a mutex */
    ZKL_SEMAPHORE = 3 /* as many holders as there are permits */
} zkl_kind;

/* All-zero means the defaults in brackets. Strings are copied. */
typedef struct zkl_lock_options {
    size_t size;        /* sizeof(zkl_lock_options); ZKL_LOCK_OPTIONS sets it */
    zkl_kind kind;      /* [ZKL_MUTEX] */
    int permits;        /* of a ZKL_SEMAPHORE; 0: as many as are recorded [0] */
    bool recursive;     /* the holding thread may acquire again; counted, at most 2^31-1 deep */
    int linger_ms;      /* how long the node stays after a release, idle: see zkl_lock_open [0] */
    int local_handoffs; /* times in a row that a release keeps the node: see zkl_lock_open [0] */
    bool want_wanted;   /* WANTED is told, once a hold: see zkl_ask */
    zkl_event_fn on_event; /* events of this lock [none] */
    void *arg;             /* handed to on_event */
    const char *label;     /* shown for its contenders; cut as the session's [the session's] */
    uint64_t owner;        /* who holds and waits: see zkl_find_deadlocks [0: the thread] */
} zkl_lock_options;

#define ZKL_LOCK_OPTIONS(...) ((zkl_lock_options){.size = sizeof(zkl_lock_options), __VA_ARGS__})

/*
 * Makes a handle for the lock <name>, without a request to the servers. opts may be NULL.
 *
 * name is copied. It has at most 255 bytes. Its components are joined by '/'. None is empty, "." or
 * "..", and none looks like a contender's node ("..lock-0000000001"). The name is UTF-8. It has
 * none of the characters that ZooKeeper's servers refuse in paths (PathUtils). These are control
 * characters (U+0001 to U+001F, U+007F to U+009F), surrogates and private use (U+D800 to U+F8FF),
 * and all from U+FFF0 on. So a character of four bytes is refused, too.
 *
 * Threads may share the handle. They queue in this process, first come, first served. Only the
 * first of them stands in the queue on the server, so later clients can be served before the
 * others. Two handles of one name exclude each other like two clients, also in one session, and so
 * do readers: threads that are to read together have a handle each.
 *
 * With .local_handoffs = n a release hands the node on to the thread that waits next on the handle,
 * without a request, at most n times in a row. Then the node goes, and other clients have their
 * turn: one that is next in the queue waits for n + 1 holds. These holds have the same token. The
 * node is not handed on while the session is not connected, or while its lease would be too short
 * for a grant.
 *
 * With .linger_ms a release leaves the node where it is, for so long at most. It does so only if no
 * other was behind it when the lock was granted, and for a semaphore only if none was before it
 * either: later there may be fewer permits. Until the node goes, an acquire by this handle holds by
 * it again. That needs no request, and the token is the same. When another client queues, the
 * servers tell, and the node goes, at once or with the hold. A try of another client does not
 * queue: it is ZKL_BUSY, and asks for the node to go. A new connection of the session makes it go,
 * too. A node that stays costs a heartbeat each T/16, as a hold does.
 * **Returns:** ZKL_OK; ZKL_CLOSED: the session is closing; ZKL_NOMEM; ZKL_FORKED.
 * ZKL_INVALID: a NULL, a bad name, an option that is out of range or unknown, permits for another
 * kind.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_lock_open(zkl_lock **ret_lock, zkl_session *s, const char *name,
                                           const zkl_lock_options *opts);

/*
 * Releases what is held through the handle, ends every wait on it with ZKL_CLOSED, and frees it. A
 * call that is under way when close begins is safe: see Threads at the top.
 *
 * Returns at once; the node is deleted in the background, see zkl_release. But it waits for a
 * callback of this lock that is running, unless called from a callback. Events of this lock that
 * have not been told yet are never told. NULL is accepted.
 * **Returns:** ZKL_OK; ZKL_FORKED.
 */
ZKL_API zkl_err zkl_lock_close(zkl_lock *l);

/* The name that the lock was opened with; valid until close, and in a callback for which close
 * waits. */
ZKL_API const char *zkl_lock_name(const zkl_lock *l);

#define ZKL_FOREVER INT64_C(-1)

/*
 * Acquires the lock for the calling thread. timeout_ms is when to give up, ZKL_FOREVER, or 0 for a
 * try. If the lock is taken, a try reads once and writes nothing, unless a node may linger. A try
 * ends when the servers have answered, after 2T/3 at the latest, and at once if not connected.
 *
 * The deadline is the caller's: reconnects, new sessions and new places in the queue do not extend
 * it. A grant needs a lease that heartbeats can extend in time. After an outage, or a silence of
 * more than T/8, it may wait up to T/2 for one. Where round trips take T/15, it is up to 0.6 T.
 * After a silence of more than T/3, or if its connection breaks after 1.5 T, it may wait T longer.
 * **Returns:**
 * ZKL_OK: held, and certainly so at the moment of return.
 * ZKL_TIMEOUT: not acquired in time. If zkl_session_state is not ZKL_STATE_CONNECTED, no server
 * answers. A server that falls silent is noticed after 2T/3, sooner while the session holds a lock.
 * The node may stay in the queue for 50 ms, for the handle's next acquire.
 * ZKL_BUSY (try): another contender, or another thread on this handle, holds the lock or waits. For
 * a reader, a contender that is no reader. For a semaphore's, as many of its like as there are
 * permits, or one of another kind.
 * ZKL_UNREACHABLE (try): no answer in time, or no such lease.
 * ZKL_CANCELED: zkl_cancel was called, or the grant was given up by zkl_release_hold before this
 * call returned.
 * ZKL_CLOSED: the lock or the session was closed. ZKL_EXPIRED: see zkl_session_attach.
 * ZKL_DEADLOCK: the calling thread would wait for itself. It holds the lock by this handle, which
 * is not recursive, or whose hold has become a reader's. Or it holds the lock of this name by
 * another handle of the same session, recursive or not. Only a reader inside a writer's hold is
 * granted (see zkl_kind). For a semaphore's permit, other permits do not count: a thread that holds
 * all of them waits. A handle of another session is another client: there the call waits, too.
 * ZKL_LOST (recursive only): the calling thread's hold was lost and is not released yet. An inner
 * acquire must not make the outer section believe that it held all the time.
 * ZKL_LIMIT: the session has 400 KiB of node paths or of watched paths: open another session. Or a
 * recursive hold has its greatest depth.
 * ZKL_MISMATCH (semaphore): when this call first looked, or one whose place it took, the record was
 * another number of permits, or another program's data; or there was none, and the handle has none.
 * ZKL_DENIED, ZKL_AUTH_FAILED, ZKL_SERVER: the log has the path and the server's code.
 * ZKL_NO_CHROOT: the chroot of the session does not exist.
 * ZKL_INVALID: a NULL, or a negative timeout that is not ZKL_FOREVER.
 * ZKL_IN_CALLBACK; ZKL_NOMEM; ZKL_FORKED.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_acquire(zkl_lock *l, int64_t timeout_ms);

/*
 * Gives up the calling thread's hold, or one level of it if recursive, and returns. The node is
 * deleted in the background. The library repeats that until the server has confirmed it. If the
 * process ends before that, the lock stays taken until the servers end the session. So before you
 * exit, call zkl_release_wait or zkl_session_close. A thread that ends does not give up its hold:
 * another thread can, with zkl_release_hold.
 *
 * The node stays where it is handed on, or lingers (see zkl_lock_open). It also stays where a
 * reader's hold was nested in a writer's, until both are given up.
 * **Returns:** ZKL_OK; ZKL_NOT_HELD; ZKL_CLOSED; ZKL_INVALID; ZKL_FORKED.
 * ZKL_LOST: the hold had been lost before; this level is given up now.
 */
ZKL_API zkl_err zkl_release(zkl_lock *l);

/*
 * Gives up as zkl_release does, and waits until the server has confirmed that the node is gone. If
 * the node stays, there is nothing to wait for. timeout_ms is as for zkl_acquire. The hold is given
 * up after ZKL_TIMEOUT, too.
 * **Returns:** as zkl_release.
 * ZKL_TIMEOUT: not confirmed yet; the deletion goes on in the background.
 * ZKL_INVALID, ZKL_IN_CALLBACK: nothing was done.
 */
ZKL_API zkl_err zkl_release_wait(zkl_lock *l, int64_t timeout_ms);

/*
 * Makes the calling thread's hold of a ZKL_WRITE lock that of a reader. Readers that wait behind it
 * are granted the lock, and no writer gets in between. The hold, its number and its token stay. The
 * call waits until the servers have answered, or until the hold is lost. From its beginning on,
 * readers may hold the lock, too.
 *
 * There is no way back: release, and acquire. An acquire of the same handle inside the hold is
 * ZKL_DEADLOCK. Within 2^20 of the end of the directory's counter no other reader is let in.
 * **Returns:** ZKL_OK, also if it was done before; ZKL_CLOSED; ZKL_INVALID; ZKL_NOMEM; ZKL_FORKED.
 * ZKL_NOT_HELD: the thread has no hold; or another thread has given it up meanwhile.
 * ZKL_LOST: the hold is lost.
 * ZKL_UNSUPPORTED: the lock is of another kind.
 * ZKL_DENIED, ZKL_SERVER: it is still a writer's; the log has the code. ZKL_IN_CALLBACK.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_downgrade(zkl_lock *l);

/*
 * Changes the number of a semaphore's permits, for all. With more, waiters are admitted at once.
 * With fewer, no hold ends: nobody is admitted until enough of them are given up.
 *
 * permits is from 1 to INT_MAX. No hold is needed. A handle that was opened with a number has this
 * one from then on. So has any handle if none is recorded, because nobody holds the lock or waits:
 * its next acquire records it. Other handles with the former number get ZKL_MISMATCH at their next
 * acquire; those without a number go on. The call takes connect_timeout_ms of the session at most.
 * Who writes the data by other tools must not lower max, or waiters may wait for too long.
 * **Returns:** ZKL_OK; ZKL_CLOSED; ZKL_INVALID; ZKL_NOMEM; ZKL_AUTH_FAILED; ZKL_FORKED.
 * ZKL_UNREACHABLE: no answer in time; the number may be changed or not. The same call tells.
 * ZKL_MISMATCH: the directory has data of another program.
 * ZKL_UNSUPPORTED: the lock is of another kind.
 * ZKL_DENIED, ZKL_SERVER: the log has the path and the server's code. ZKL_IN_CALLBACK.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_set_permits(zkl_lock *l, int permits);

/*
 * Ends every acquire that waits on this handle now with ZKL_CANCELED, unless it was granted
 * already. Later acquires are not affected.
 * **Returns:** ZKL_OK; ZKL_CLOSED; ZKL_INVALID; ZKL_FORKED.
 */
ZKL_API zkl_err zkl_cancel(zkl_lock *l);

/* ---- The hold -------------------------------------------------------------------------------- */

/*
 * Whether the calling thread holds the lock, certainly, at this moment. Once false for a hold, it
 * stays false. It costs no round trip. Certain means that no other client can have been granted the
 * lock, because the server cannot have ended our session yet. It is false T - T/24 after the last
 * committed heartbeat was sent, or sooner. Two things can break this: another tool deletes the node
 * or ends the session, or a virtual machine is paused together with its clock.
 */
ZKL_API bool zkl_held(zkl_lock *l);
/* How long the calling thread's hold stays certain without another heartbeat; 0 when not held.
 * While no connection breaks and heartbeats take T/60 or less, it hardly falls below T/2. */
ZKL_API int64_t zkl_remaining_ms(zkl_lock *l);
/*
 * The fencing token of the calling thread's hold; 0 when it has none, or has lost it. It is the
 * creation zxid of the lock's node. It grows from each holder's node to the next, even if the
 * directory was deleted in between. It starts anew only with the ensemble's data. Readers that hold
 * together have different tokens. Those are greater than the writer's before them, and smaller than
 * the next one's.
 *
 * Ask once, when the lock has been acquired, and keep the answer. A late write needs the token of
 * the hold that it began under.
 */
ZKL_API int64_t zkl_token(zkl_lock *l);
/* The number of the calling thread's hold, or 0. A lost hold keeps its number until you release it.
 * For a lock that is not recursive, the thread's next acquire clears it, too. */
ZKL_API zkl_hold zkl_hold_of(zkl_lock *l);
/* Gives up a hold from any thread, or one level of it. **Returns:** as zkl_release. */
ZKL_API zkl_err zkl_release_hold(zkl_lock *l, zkl_hold hold);
/* zkl_held for a given hold, from any thread. */
ZKL_API bool zkl_hold_valid(zkl_lock *l, zkl_hold hold);
/*
 * Copies the path of the calling thread's node, NUL-terminated, into buf, which has size bytes. A
 * size of 1024 is always enough. A writer that becomes a reader has another node then.
 * **Returns:** ZKL_OK; ZKL_CLOSED; ZKL_FORKED.
 * ZKL_NOT_HELD: the calling thread has no hold, or has lost it.
 * ZKL_INVALID: a NULL, or too small a buffer.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_node_path(zkl_lock *l, char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#include "zklock_async.h"
#include "zklock_fence.h"
#include "zklock_guard.h"
#include "zklock_inspect.h"
#include "zklock_several.h"
#include "zklock_ticket.h"

#endif /* ZKLOCK_H */
