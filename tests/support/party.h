/*
 * A party: a session with handles of several locks, and one thread that acquires them all at once;
 * perhaps a proxy between it and the server.
 */
#ifndef SUPPORT_PARTY_H
#define SUPPORT_PARTY_H

#include "support/fixture.h"

#define PARTY_LOCKS_MAX (ZKL_ALL_MAX + 1)

typedef struct party {
    zkl_session *session;
    proxy *proxy; /* NULL: straight to the server */
    actor *actor;
    size_t count;
    zkl_lock *locks[PARTY_LOCKS_MAX];
    char names[PARTY_LOCKS_MAX][256];
    events *events[PARTY_LOCKS_MAX];
    int64_t timeout_ms; /* of the acquire that runs */
} party;

/* Without locks yet. These leave the test if they fail. */
party *party_open(int timeout_ms);
party *party_open_proxied(int timeout_ms);
/* One more handle. */
void party_add(party *p, const char *name, zkl_kind kind, int permits);
/* Handles of mutexes of these names. */
void party_add_mutexes(party *p, const char *const *names, size_t count);
/* Closes all of it; then the thread must be idle. */
void party_close(party *p);

void party_begin(party *p, int64_t timeout_ms);
zkl_err party_result(party *p);
zkl_err party_acquire(party *p, int64_t timeout_ms);
zkl_err party_release(party *p);
/* How many of its locks the thread holds. */
size_t party_held(party *p);
/* Begins an acquire without end and waits until its nodes stand in the queues, in each as the last
 * of so many. */
void party_queue_up(party *p, size_t position);
/* The same, behind whoever holds one of them; in that queue it has found its place, too. */
void party_queue_up_behind(party *p, size_t taken);
/* How many nodes of its present session stand in its queues. */
size_t party_nodes(party *p);
/* The path of the only such node in the queue of one lock, in RAW_PATH_MAX bytes. Leaves the test
 * if there are 0 or 2. */
void party_node(party *p, size_t i, char *ret_path);
/* How often its handles were told of that, together. */
size_t party_told(party *p, zkl_event_type type);
/* Holds all, each by the first node of its queue; the nodes come of one attempt and of one
 * transaction, which is the token of each. Returns that. */
int64_t party_check_holds(party *p);
/* Nobody's node stands in any of its queues, or soon will not. */
void party_check_deserted(party *p);

/* What any thread can be told to do: actor_begin(a, all_acquire, &call). */
typedef struct all_call {
    zkl_lock *const *locks;
    size_t count;
    int64_t timeout_ms;
} all_call;

zkl_err all_acquire(void *call);
zkl_err all_release(void *call);

#endif
