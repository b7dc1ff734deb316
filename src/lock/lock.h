/*
 * lock - a handle: its local queue of acquires, its contender on the server, its hold. All of it
 * is guarded by the session's mutex; what a contender has to say arrives through lock_notify.
 *
 * Files call downwards only. Calls that open and close a handle are in lock.c, those that take and
 * give up in acquire.c, and those that do so while their caller goes on in async.c; all stand on
 * queue.c, and that on stay.c. Calls about a hold are in hold.c. Writes that need a hold are in
 * guard.c; the calls for them are in guard_set.c, and in guard_multi.c for programs that have
 * ZooKeeper's own header. Writes under a hold of another process are in guard_node.c, and reads
 * of a node in read_node.c. Both need a session alone. What makes a writer's hold a reader's is in
 * downgrade.c. queue.c tells these of a hold's end. What has happened is counted in stats.c. All
 * stand on handle.c. inspect.c looks at a queue and list.c at all locks, both by reads.c.
 * deadlocks.c looks through many queues by these two, with the graph of waits.c. Texts are in
 * error.c.
 */
#ifndef ZKLI_LOCK_LOCK_H
#define ZKLI_LOCK_LOCK_H

#include <stdatomic.h>

#include "session/operation.h"
#include "session/session.h"

/* One acquire, on its caller's stack, or an async one's. */
struct zkli_acquire {
    struct zkli_operation operation;
    struct zkli_list link; /* in lock->acquires until finished */
    struct zkl_lock *lock;
    struct zkli_thread thread; /* 0: none's, for a callback has no hold */
    bool is_try;
    bool is_handed_on; /* which needed no request */
    int64_t begun_ns;
    int64_t until_ns;         /* the caller's deadline, whatever happens in between */
    struct zkli_hold *hold;   /* for the grant, and .events of it, from when the acquire stands in
                                   line; the lock takes it over with the grant: it is NULL again */
    zkl_hold hold_id;         /* OK: the grant */
    struct zkli_several *all; /* that it is one of; NULL: alone, with its own operation */
};

/* Acquires of several handles that are granted in one step, or not at all, for one caller. */
struct zkli_several {
    struct zkli_operation operation;
    size_t count;
    size_t granted;              /* of them, in the step that is under way or over */
    bool is_started;             /* they have contenders */
    struct zkli_acquire parts[]; /* all try, or none, and with one deadline */
};

/* A grant, until it is released. A lost one stays with its thread. So that thread's next call, made
 * in the belief to hold, is told LOST, also when another thread has acquired since. */
struct zkli_hold {
    struct zkli_list link; /* in lock->holds */
    struct zkl_lock *lock;
    struct zkli_list nest; /* a ring: the writer's, and the readers' that its thread has inside */
    zkl_hold id;
    uint64_t thread;
    unsigned depth;
    int turns;          /* how often its node was handed on before */
    unsigned disturbed; /* so many of its writes have to be sent again */
    bool was_wanted;    /* and its thread told of that, if it wants to be */
    bool is_reader;     /* by a writer's handle: it has become a reader's */
    int64_t token;
    int64_t begun_ns;
    struct zkli_member *member;   /* NULL: lost */
    struct zkli_acquire *acquire; /* whose caller has not woken up yet; NULL: it has been told */
    struct zkli_events *events;   /* NULL: the handle has no function for events */
};

/* The permits of a semaphore, as its directory says. */
struct zkli_recorded {
    struct zkli_permits permits; /* as they were last read */
    int64_t session_id;          /* that has read them */
};

/* A process may have thousands of these. So what few of them need lies apart. */
struct zkl_lock {
    struct zkl_session *session; /* a reference */
    enum zkli_kind kind : 8;
    bool is_recursive;
    bool tells_wanted; /* WANTED, once a hold */
    bool is_closed;
    bool is_gone;   /* close waits for no callback any more: the handle goes with its last user */
    bool is_shared; /* several threads have acquired by it, or acquires of none's */
    atomic_uint users; /* the owner, until close, and each call that is running; the last frees */
    int turns_max;     /* how often in a row a node is handed on */
    int linger_ms;     /* how long a node may stay idle; 0: it may not */
    int permits;       /* a semaphore's; 0: as recorded */
    struct zkli_recorded *recorded; /* a semaphore's; else NULL */
    zkl_event_fn on_event;
    void *arg;
    char *label;                 /* of its contenders; NULL: the session's */
    struct zkli_list acquires;   /* in order; the first is the contender's */
    struct zkli_member *member;  /* the contender that waits; NULL: none. If no acquire is in line,
                                    its place is kept for the next one */
    struct zkli_list holds;      /* lost ones, nested ones, and the current one */
    struct zkli_hold *current;   /* by a contender of its own; NULL: none */
    uint64_t owner;              /* as the program says; 0: the thread that acquires */
    uint64_t thread;             /* the only one that has acquired by it; 0: none yet */
    uint64_t said;               /* the owner that the member's node names; 0: none */
    struct zkli_list place_link; /* in the session's list while a place is kept */
    struct zkli_member *idle;    /* whose node stays though nobody holds by it; NULL: none */
    struct zkli_timer stay_end;  /* so long; or a place that is kept */
    struct zkli_list releases;   /* those that are waited for */
    struct zkli_list downgrades; /* those that are not answered yet */
    struct zkli_list writes;     /* guarded ones that are not answered yet */
    zkl_lock_statistics *counts; /* NULL: no acquire is over yet, or no memory: see stats.h */
    char name[];
};

/* A wait for the server's word that a node is gone, on its caller's stack. */
struct zkli_release {
    struct zkli_operation operation;
    struct zkli_list link; /* in lock->releases until finished */
    struct zkl_lock *lock;
    struct zkli_member *member; /* NULL: there was nothing to wait for */
    int64_t until_ns;
};

/* A wait for the servers' word that a writer has become a reader, on its caller's stack. */
struct zkli_downgrade {
    struct zkli_operation operation;
    struct zkli_list link; /* in lock->downgrades until finished */
    struct zkl_lock *lock;
};

/* A guarded write, on its caller's stack, or an async one's. */
struct zkli_write {
    /* Its caller's. The operations are borrowed until it is finished; the first place is for the
     * guard's check. */
    struct zkli_op *ops;
    size_t op_count;
    bool is_set;       /* two: the check, and a set, which may be sent again */
    zkl_err ops_error; /* of an operation that stands behind these and has no place here */
    bool is_by_hold;   /* under .hold; else under the calling thread's hold, which it is then */
    /* With the lock held, when the servers have answered; may be NULL. */
    void (*on_answer)(struct zkli_write *w, const struct zkli_reply *reply);
    /* Its own */
    struct zkli_operation operation;
    struct zkli_query query;
    struct zkli_list link; /* in lock->writes until finished */
    struct zkl_lock *lock;
    zkl_hold hold;
    char guard[ZKLI_PATH_MAX];
    size_t bytes;      /* as sent */
    unsigned lost;     /* attempts that were sent and not answered */
    bool is_waiting;   /* for one before it, or until it is known by which node the hold is */
    bool is_disturbed; /* it has to be sent again: later ones of its hold wait */
    unsigned refusals;
    struct zkli_timer retry;
};

/* What a caller does not wait for; the first part of a larger thing. */
struct zkli_async {
    struct zkli_completion completion;
    struct zkli_operation *operation; /* that it is told of */
    struct zkl_lock *lock;
    zkl_done_fn done;
    void *arg;
    zkl_hold hold; /* its caller's, or an acquire's */
    zkl_err result;
    void *owned;                          /* freed with it */
    void (*on_end)(struct zkli_async *a); /* when it is taken; may be NULL */
};

/* ---- Calls (handle.c) ---- */

/* Every call on a handle begins with this, without the session's mutex. It counts the caller in
 * before it reads anything of the handle, which then stays until the caller is counted out, though
 * another thread closes it meanwhile. ZKL_INVALID and ZKL_FORKED: not counted. */
zkl_err zkli_lock_begin(struct zkl_lock *l);
/* The same for a call that waits. ZKL_IN_CALLBACK: not counted either. */
zkl_err zkli_lock_begin_blocking(struct zkl_lock *l);
/* Takes the session's mutex. */
void zkli_lock_enter(struct zkl_lock *l);
/* Releases it, and counts out. The last one out of a closed handle frees it. */
void zkli_lock_leave(struct zkl_lock *l);
/* Counts out a caller that has not entered. */
void zkli_lock_end(struct zkl_lock *l);

/* From here on with the session's mutex, unless it says otherwise. The handle or its session: */
bool zkli_lock_is_closed(const struct zkl_lock *l);
struct zkli_hold *zkli_lock_hold_of(struct zkl_lock *l, uint64_t thread);
struct zkli_hold *zkli_lock_find_hold(struct zkl_lock *l, zkl_hold id);
/* The same, unless it is lost. */
struct zkli_hold *zkli_lock_good_hold_of(struct zkl_lock *l, uint64_t thread);
struct zkli_hold *zkli_lock_find_good_hold(struct zkl_lock *l, zkl_hold id);
void zkli_hold_drop(struct zkli_hold *hold);
/* An event of the handle, if that has a function for events. */
void zkli_lock_post(struct zkl_lock *l, struct zkli_events *events, zkl_event event);

/* ---- Guarded writes (guard.c) ---- */

/* Begins a write; all but what is its caller's, and the hold, if it is by that, is 0. OK:
 * .operation runs; the caller waits for it and ends it. Else there is nothing to end. */
zkl_err zkli_write_begin(struct zkl_lock *l, struct zkli_write *w);
/* Whether one under this hold is not answered yet. */
bool zkli_lock_has_writes(const struct zkl_lock *l, zkl_hold hold);
/* It is known by which node the hold is: those that waited for that are sent. */
void zkli_lock_resume_writes(struct zkl_lock *l);
/* The hold is over: writes under it that are not under way end with this error. */
void zkli_lock_end_writes(struct zkl_lock *l, zkl_hold hold, zkl_err error);
/* The handle is being closed: those whose callers go on end, though they are under way. */
void zkli_lock_abandon_writes(struct zkl_lock *l);
/* A whole public call, without the mutex: begins the write, and waits for its end. */
zkl_err zkli_write_run(struct zkl_lock *l, struct zkli_write *w);
/* For zkli_async_start, under its hold. */
zkl_err zkli_write_begin_async(struct zkli_async *a, struct zkli_write *w);

/* ---- Downgrades (downgrade.c) ---- */

/* As an acquire: the calling thread's, without the waiting. */
void zkli_downgrade_init(struct zkli_downgrade *d, struct zkl_lock *l);
void zkli_downgrade_begin(struct zkli_downgrade *d);
/* This is what became of the hold. */
void zkli_lock_end_downgrades(struct zkl_lock *l, zkl_err result);

/* ---- The line of acquires (queue.c) ---- */

void zkli_lock_submit(struct zkl_lock *l, struct zkli_acquire *acquire);
/* Ends acquires that are not granted yet. */
void zkli_lock_abandon(struct zkl_lock *l, struct zkli_acquire *acquire, zkl_err error);
void zkli_lock_abandon_all(struct zkl_lock *l, zkl_err error);
/* What an acquire says whose time is over. */
zkl_err zkli_acquire_too_late(const struct zkli_acquire *acquire);
/* Puts each of them in line, all in this one step. */
void zkli_several_submit(struct zkli_several *all);
/* None of them is granted, and this is why. */
void zkli_several_fail(struct zkli_several *all, zkl_err error);
/* Takes the acquire's memory for a hold that its thread has inside this one, by the same node. */
void zkli_hold_nest(struct zkli_hold *outer, struct zkli_acquire *acquire);
/* Gives up the hold of an acquire whose caller has not been told of it, and will not be. */
void zkli_acquire_take_back(struct zkli_acquire *acquire, zkl_err why);
/* Gives up a hold that is not lost. Its node is handed on to the next in line, if that may be; or,
 * if its thread has holds inside it, it stays, as a reader's. Else it goes, and the release, which
 * may be NULL, is told when. */
void zkli_hold_give_up(struct zkli_hold *hold, struct zkli_release *release);

/* ---- What leaves or stays (stay.c) ---- */

void zkli_release_init(struct zkli_release *release, struct zkl_lock *l, int64_t timeout_ms);
void zkli_release_finish(struct zkli_release *release, zkl_err result);
/* The handle is being closed. */
void zkli_lock_end_releases(struct zkl_lock *l);
/* A node goes by which nobody holds or waits. */
void zkli_lock_end_stay(struct zkl_lock *l);
void zkli_lock_init_stay(struct zkl_lock *l);

/* ---- Acquires (acquire.c) ---- */

/* An acquire by this thread, or by none, without the waiting. .operation is finished when it is
 * decided; end frees what is left. */
void zkli_acquire_init(struct zkli_acquire *acquire, struct zkl_lock *l, struct zkli_thread thread);
void zkli_acquire_begin(struct zkli_acquire *acquire, int64_t timeout_ms);
/* The caller has woken up, or is about to be told. */
zkl_err zkli_acquire_end(struct zkli_acquire *acquire);
/* What can be said of a try without asking the servers; ZKL_OK: ask them. */
zkl_err zkli_lock_try_at_once(const struct zkl_lock *l);
/* A grant needs memory, for the hold and for its events: now, not then. False: there is none, and
 * what was had is freed by let_go. */
bool zkli_acquire_prepare(struct zkli_acquire *acquire);
/* The caller has woken up from one of several, which came to this. */
void zkli_acquire_let_go(struct zkli_acquire *acquire, zkl_err result);
/* When an acquire with this timeout gives up. */
int64_t zkli_acquire_until_ns(const struct zkl_session *s, int64_t timeout_ms);
/* Gives up one level. If that ends the hold, what waits for the release, if anything, is begun. */
zkl_err zkli_lock_release(struct zkl_lock *l, struct zkli_hold *hold, struct zkli_release *waiting);

/* ---- What callers do not wait for (async.c) ---- */

/* Begins a public call, without the mutex. Returns something that is larger than its first part, a
 * zkli_async, and else zero; NULL: an error. */
void *zkli_async_new(size_t size, struct zkl_lock *l, zkl_done_fn done, void *arg,
                     zkl_err *ret_err);
/* Ends the call. begin has the mutex, and follows what it begins; else it has begun nothing. */
zkl_err zkli_async_start(struct zkli_async *a, zkl_err (*begin)(struct zkli_async *a));
/* Instead of start. */
void zkli_async_drop(struct zkli_async *a);
void zkli_async_follow(struct zkli_async *a, struct zkli_operation *operation);

/* ---- Several at once (several.c) ---- */

/* As an acquire, of these handles of one session, which stay counted in. NULL: out of memory. */
struct zkli_several *zkli_several_new(zkl_lock *const *locks, size_t count);
void zkli_several_begin(struct zkli_several *all, int64_t timeout_ms);
/* The caller has woken up. */
zkl_err zkli_several_end(struct zkli_several *all);
/* Counts out at the handles. In no lock of the session's: one may be freed with it. */
void zkli_several_free(struct zkli_several *all);

#endif
