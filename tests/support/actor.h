/*
 * A thread that uses locks on command. A hold belongs to a thread, so a test with several holders
 * and waiters needs several threads; here each has a name and does one call at a time.
 */
#ifndef SUPPORT_ACTOR_H
#define SUPPORT_ACTOR_H

#include <zklock.h>

typedef struct actor actor;

/* What actor_result returns when the call has not returned in time. */
#define ACTOR_BUSY ((zkl_err)0x7ffffffe)

actor *actor_new(void);
/* Ends the thread. A call that is still running 10 s later is a hang: the program is aborted. */
void actor_free(actor *a);

/* Begins zkl_acquire in the actor's thread and returns. */
void actor_acquire(actor *a, zkl_lock *l, int64_t timeout_ms);
/* Begins any function there. */
void actor_begin(actor *a, zkl_err (*call)(void *arg), void *arg);
/* Whether what was begun has returned. */
bool actor_is_done(actor *a);
/*
 * Whether what was begun has got to a point where it sleeps until something happens, or has
 * returned. Who sleeps for a mutex does not: its holder need only run. An acquire that sleeps has
 * reached the lock, which may then be closed under it.
 */
bool actor_is_blocked(actor *a);
/* Whether it sleeps at all, for a mutex that the test has locked, or has returned. */
bool actor_sleeps(actor *a);
/* Its result, waited for at most wait_ms; or ACTOR_BUSY. */
zkl_err actor_result(actor *a, int64_t wait_ms);
/* How long the call took, and when it returned (CLOCK_BOOTTIME, ns); once it is done. */
int64_t actor_took_ms(actor *a);
int64_t actor_done_ns(actor *a);

/* These run in the actor's thread and are waited for. */
zkl_err actor_release(actor *a, zkl_lock *l);
zkl_err actor_release_wait(actor *a, zkl_lock *l, int64_t timeout_ms);
bool actor_held(actor *a, zkl_lock *l);
int64_t actor_token(actor *a, zkl_lock *l);
zkl_hold actor_hold(actor *a, zkl_lock *l);
/* "" when it has none. */
void actor_node_path(actor *a, zkl_lock *l, char *buf, size_t size);

#endif
