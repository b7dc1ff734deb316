/*
 * session - the engine with its lock and threads: what the lock layer sees of a session.
 *
 * One mutex guards a session and everything on it. zkli_session_lock brings the engine's clock up
 * to date. zkli_session_unlock sends what is to be sent. Between them the engine may be used.
 * No user code runs with the mutex held, save the log hook. What only the files of src/session may
 * call is in session_internal.h. A call on a lock waits by an operation (operation.h).
 */
#ifndef ZKLI_SESSION_SESSION_H
#define ZKLI_SESSION_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "engine/engine.h"

struct zkli_events;
struct zkli_completion;

/* A place in the line of the session's callbacks. */
struct zkli_callback {
    struct zkli_list link;
    struct zkli_completion *completion; /* NULL: an event, in a zkli_event_callback */
    const void *owner;                  /* the lock, or the session */
};

/* An event on its way to the user. */
struct zkli_event_callback {
    struct zkli_callback place;
    zkl_event_fn fn;
    void *arg;
    zkl_event event;
    unsigned times;                   /* how many events it stands for */
    struct zkli_event_callback *kept; /* the record that is kept for its kind; perhaps itself */
    struct zkli_events *events;       /* in which that is; NULL: the session keeps it */
};

/* What a call came to for which nobody waits. It is told once, behind the events that came before
 * it. */
struct zkli_completion {
    struct zkli_callback place;
    /* With the lock held, when its turn has come. From now on nothing changes it. */
    void (*take)(struct zkli_completion *c);
    /* Without the lock. Ends the completion. */
    void (*tell)(struct zkli_completion *c);
};

struct zkl_session {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* state, close, callbacks: what a thread may wait for */
    struct zkli_engine *engine;
    atomic_uint references; /* the owner, until close, each lock, each call on the session that is
                               running, the helper thread, the timer's once it is detached; they
                               come at any time, and go with the mutex held */
    uint64_t process;       /* that has opened it */
    /* Copies of the options */
    int session_timeout_ms, connect_timeout_ms;
    struct _zhandle *attached; /* the program's handle; or NULL, and hosts are known */
    struct zkli_list lent;     /* ports whose handles the program has for a while */
    atomic_bool has_lent;      /* one, at any time: the program has been at it */
    char *hosts, *root, *auth_scheme, *auth;
    bool is_creator_acl;
    zkl_lock_statistics counts; /* src/lock's, of all handles */
    struct zkli_list places;    /* src/lock's: handles that keep a place in a queue */
    pthread_mutex_t log_mutex;  /* taken last; held while the hook runs */
    zkl_log_fn log;             /* NULL once the session is closed */
    void *arg;
    /* Timer thread (timer.c); armed in monitor.c */
    int timer_fd;
    pthread_t timer_thread;
    int64_t timer_at_ns, timer_due_ns; /* due: not before it was set */
    bool timer_stops, timer_is_detached;
    /* Helper thread (helper.c): opens and closes ports, one job after the other */
    struct zkli_list helper_jobs;
    bool helper_runs;
    struct zkli_timer helper_retry; /* no thread could be started */
    struct zkli_timer hosts_retry;  /* a new list of servers was refused */
    int open_error;                 /* errno of the last port that could not be opened, or 0 */
    atomic_int client_errno;        /* the last one that the client library has told, or 0 */
    uint64_t mixed;                 /* counts what was made where the kernel gave nothing random */
    /* Callback thread, or the caller of zkl_session_dispatch (callbacks.c) */
    int callbacks_fd; /* readable while the line is not empty; -1: there is a thread for it */
    struct zkli_list callbacks;
    struct zkli_event_callback own_events; /* kept for the session's */
    bool callbacks_run, callbacks_stop;
    pthread_t callback_thread;
    pthread_cond_t callbacks_changed;
    const void *callback_owner; /* whose callback is running now */
    unsigned told_now;          /* completions that run in the close of their handle */
    uint64_t posted;            /* counts the events, as zkli_engine_news what else is told */
};

void zkli_session_lock(struct zkl_session *s);
void zkli_session_unlock(struct zkl_session *s);
/* What unlock does before it unlocks: notices are handed out, requests sent, the timer set. */
void zkli_session_settle(struct zkl_session *s);
/* With the lock held, which is released meanwhile: lets so much time pass, less when the session is
 * closed. That stops its timers, so an operation's deadline would not come. */
void zkli_session_rest(struct zkl_session *s, int64_t ns);

/* Every call on a session begins with this, without the lock. It takes a reference before it reads
 * anything of the session, which then stays in memory though another thread closes it meanwhile.
 * False: in a child of fork; no reference was taken. */
bool zkli_session_begin(struct zkl_session *s);
/* By a caller that has one already. */
void zkli_session_reference(struct zkl_session *s);
/* Releases the lock and a reference, and frees the session with the last one. */
void zkli_session_unlock_and_release(struct zkl_session *s);

bool zkli_session_is_forked(const struct zkl_session *s);
/* The id and password that resume the session; zeros when it is not connected. */
void zkli_session_credentials(struct zkl_session *s, int64_t *ret_id, char ret_password[16]);

/* ---- Callbacks (callbacks.c) ---- */

/* The handle that an event is about is not freed while that is told. keep is called with the lock
 * held, let_go without. */
struct zkli_events_owner {
    void (*keep)(struct zkl_lock *l);
    void (*let_go)(struct zkl_lock *l);
};

/* Room for what one acquire may have to tell. NULL: out of memory. */
struct zkli_events *zkli_events_new(zkl_event_fn fn, void *arg, const void *owner,
                                    const struct zkli_events_owner *of);
/* With the lock held: no more is posted. NULL is accepted. */
void zkli_events_release(struct zkli_events *events);
/* With the lock held: queues an event, if there is a function for it; cannot fail. The session's
 * thread must have been started. */
void zkli_events_post(struct zkl_session *s, struct zkli_events *events, const zkl_event *event);
/* With the lock held: the thread runs from now on, where there is to be one. False: it cannot be
 * started. */
bool zkli_callbacks_start(struct zkl_session *s);
/* With the lock held, which is released meanwhile: calls those that are in the line, at most so
 * many. Their number. */
int zkli_callbacks_dispatch(struct zkl_session *s, int max);
/* The session's thread must have been started. */
void zkli_completion_init(struct zkli_completion *c, const void *owner,
                          void (*take)(struct zkli_completion *c),
                          void (*tell)(struct zkli_completion *c));
/* With the lock held: it is to be told, if it is not in the line yet. */
void zkli_completion_post(struct zkl_session *s, struct zkli_completion *c);
/* With the lock held: it is not, for now. */
void zkli_completion_withdraw(struct zkli_completion *c);
/* With the lock held, which is released meanwhile: no callback of this owner will run any more, and
 * none is running, unless on the calling thread. Its events are dropped. What is in the line of its
 * completions is told, here. */
void zkli_callbacks_drop(struct zkl_session *s, const void *owner);
/* Whether the calling thread is inside a callback of any session, or may not wait. */
bool zkli_in_callback(void);
/* The calling thread delivers what a session waits for: it may never wait for that. */
void zkli_thread_delivers(void);

#endif
