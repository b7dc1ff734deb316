/*
 * callers - two threads on the fake client library, each of which acquires the same three locks at
 * once, by the same handles.
 */
#ifndef UNIT_CALLERS_H
#define UNIT_CALLERS_H

#include "unit/fake_zoo.h"

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "session/session_internal.h"
#include "support/actor.h"

#define SEVERAL 3

struct caller {
    zkl_lock *locks[SEVERAL];
    int64_t timeout_ms;
    actor *thread;
};

extern zkl_session *Session;
extern struct caller First, Second; /* the second names the handles backwards */

/* Opens a session, and handles of the locks a, b and c. Their directories are there: nothing but
 * the transaction makes nodes. */
void begin_callers(const zkl_lock_options *options);
/* Closes the handles that are left; every call must have been counted out. */
void close_callers(void);
/* And the session. */
void end_callers(void);
/* The same, for what the first one holds. */
void end_released(void);

void caller_begin(struct caller *c, int64_t timeout_ms);
/* By its thread; waited for. */
zkl_err caller_acquire(struct caller *c, int64_t timeout_ms);
zkl_err caller_release(struct caller *c);
size_t caller_held(const struct caller *c);

/* Whether a contender waits by this handle: else its acquires are in line only. */
bool has_started(zkl_lock *l);
/* In the three directories. */
size_t fake_nodes(void);
/* Another client's, the first in the queue b. */
void plant_in_b(void);

#endif
