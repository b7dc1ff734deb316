/*
 * A throw-away server for one test program: started through scripts/zk.sh in a directory of its
 * own, stopped when the program ends, however it ends. With ZKLOCK_HOSTS in the environment that
 * one is used instead, and what needs a server of our own must be skipped.
 *
 * Not thread-safe: for the thread that runs the tests. Failing here ends the program, because
 * without a server no test has a meaning.
 */
#ifndef SUPPORT_SERVER_H
#define SUPPORT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/snapshot.h"

/*
 * To be called first thing in main, before there are threads. options: more arguments for
 * "zk.sh start", ended by NULL; or NULL.
 */
void server_start(const char *const *options);

/* Before server_start: server_hosts are all of somebody else's servers, too. */
void server_take_all(void);

/* "host:port", without a chroot; of somebody else's servers only the first, of ours all. */
const char *server_hosts(void);
/* What zk.sh calls --dir, of ours. */
const char *server_directory(void);
/* The process of one of ours, counted from 0. */
pid_t server_process(unsigned server);
/* false: it is somebody else's, and must not be frozen or killed. */
bool server_is_ours(void);

/* SIGSTOP and SIGCONT. Thawing one that is not frozen does nothing. */
void server_freeze(void);
void server_thaw(void);

/* Ends the process (SIGKILL); starts it again on its port and data, and waits until it serves. */
void server_kill(void);
void server_revive(void);

/*
 * Kills it and starts it again with nothing but these directories; all sessions are over. For tests
 * of counters that no test can count up to.
 */
void server_forge(const snapshot_node *nodes, size_t count);

/*
 * The answer to a four-letter word, NUL-terminated. False: none came within 5 s, or the server
 * does not allow the word.
 */
bool server_word(const char *word, char *buf, size_t size);
/*
 * The number that follows key in the answer, decimal or 0x, blanks and a colon between them
 * skipped: server_number("srvr", "Received"), ("wchs", "Total watches"), ("mntr",
 * "zk_ephemerals_count"). -1: no answer, or no such key.
 */
int64_t server_number(const char *word, const char *key);

/* For tests of what happens without a server: a loopback "host:port" where nobody listens. */
const char *server_nowhere(void);

#endif
