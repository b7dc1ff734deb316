/* told - what a completion was told, and how often. */
#ifndef SUPPORT_TOLD_H
#define SUPPORT_TOLD_H

#include <pthread.h>
#include <stdatomic.h>

#include "support/fixture.h"

typedef struct told {
    zkl_lock *lock;
    atomic_uint times;
    /* The last time */
    zkl_err err;
    zkl_hold hold;
    bool was_valid; /* then */
    pthread_t thread;
} told;

/* A zkl_done_fn, for a told. */
void told_on_done(zkl_err err, zkl_hold hold, void *arg);
/* Asks for the lock, and goes on; leaves the test if that is refused. */
void told_begin(told *t, zkl_lock *l, int64_t timeout_ms);
bool told_is(told *t);
/* Waits until it is told, and checks that it is this. */
void told_check(told *t, zkl_err err);
/* The same, of another call under this hold. */
void told_check_done(told *t, zkl_err err, zkl_hold hold);
void told_check_once(told *t);

#endif
