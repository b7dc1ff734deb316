/*
 * operation - what a caller has asked for and what takes time: an acquire, a release that is waited
 * for, a guarded write, reads. It is begun, and finished exactly once where the event is handled
 * that decides it. Its caller waits for it, or is told by its completion. Its deadline is an event
 * like any other. Reads are the exception: their caller decides them, for it is the caller that
 * looks at the replies.
 *
 * All but init and fini with the session's lock.
 */
#ifndef ZKLI_SESSION_OPERATION_H
#define ZKLI_SESSION_OPERATION_H

#include <pthread.h>

#include "session/session.h"

struct zkli_operation {
    struct zkl_session *session;
    struct zkli_timer deadline;
    enum {
        ZKLI_OPERATION_NEW,
        ZKLI_OPERATION_RUNNING,
        ZKLI_OPERATION_FINISHED
    } state;
    zkl_err result;
    struct zkli_completion *completion; /* NULL: the caller waits */
    pthread_cond_t *woken;              /* the caller's while it sleeps; NULL: it does not */
};

/* on_deadline, which is given .deadline, finishes the operation. */
void zkli_operation_init(struct zkli_operation *o, struct zkl_session *s,
                         void (*on_deadline)(struct zkli_timer *deadline));
void zkli_operation_fini(struct zkli_operation *o);
/* until_ns: on the engine's clock, or ZKLI_NEVER. */
void zkli_operation_begin(struct zkli_operation *o, int64_t until_ns);
/* The one that runs; its caller wakes up, or is to be told. One that is to be told of success keeps
 * its deadline, until it is taken. */
void zkli_operation_finish(struct zkli_operation *o, zkl_err result);
bool zkli_operation_is_running(const struct zkli_operation *o);
/* Until it is finished. */
zkl_err zkli_operation_wait(struct zkli_operation *o);
/* Until it is finished or its caller is woken, or for a shorter time. */
void zkli_operation_pause(struct zkli_operation *o);
/* Wakes the caller, who pauses, while the operation runs on. */
void zkli_operation_wake(struct zkli_operation *o);

/* By its completion, when that is taken: it is over. */
void zkli_operation_take(struct zkli_operation *o);

/* Before the caller has woken up or is told, what the operation came to may be over. It has another
 * result then, or it runs again: */
void zkli_operation_revise(struct zkli_operation *o, zkl_err result);
void zkli_operation_resume(struct zkli_operation *o, int64_t until_ns);

/* Whether a caller may say this. */
static inline bool zkli_timeout_is_valid(int64_t timeout_ms) {
    return timeout_ms >= 0 || timeout_ms == ZKL_FOREVER;
}
/* The time of a timeout from now on; ZKL_FOREVER, and what cannot be represented, is ZKLI_NEVER. */
int64_t zkli_operation_until_ns(const struct zkl_session *s, int64_t timeout_ms);

#endif
