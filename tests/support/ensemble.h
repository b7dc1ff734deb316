/*
 * Three servers, which server_start was asked for by "--servers", "3", and a way to hold up what
 * they agree on while each of them goes on serving its clients.
 *
 * For the thread that runs the tests, and no other: what stands still, stands still for it.
 */
#ifndef SUPPORT_ENSEMBLE_H
#define SUPPORT_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#define ENSEMBLE_SERVERS 3

/* The "host:port" of a server, counted from 0. */
const char *ensemble_hosts(unsigned server);
/* What its answer to a word has behind the key; -1: no answer, or no such key. */
int64_t ensemble_number(unsigned server, const char *word, const char *key);

typedef struct ensemble_view {
    unsigned leader, busiest; /* busiest: with the most clients */
} ensemble_view;

/* Whether all three serve under one leader. Asks no further than the first that does not. */
bool ensemble_serves(ensemble_view *ret, int answer_ms);
/* The one that leads; waits for it, and leaves the test if there is none. */
unsigned ensemble_leader(void);
/* How many transactions the leader has proposed since it leads. */
int64_t ensemble_proposed(unsigned leader);
/* Whether it keeps that session alive; not any more when it has proposed the session's end. */
bool ensemble_keeps(unsigned leader, int64_t session);

/*
 * on: the server's transaction log stands still, as on a disk that does not answer. It acknowledges
 * no proposal, and does everything else. With both followers so, nothing is committed. Needs the
 * right to trace the server; does nothing to one that stands so already.
 */
void ensemble_stall(unsigned server, bool on);

#endif
