/*
 * session_internal - what the files of src/session share. They call downwards only:
 *
 *   attach    -> session
 *   ticket    -> session
 *   session   -> timer -> helper -> monitor
 *             -> host  -> helper, callbacks -> monitor
 *   operation -> callbacks -> monitor
 *
 * session is the parent of the threads and of the host. operation is how a call of src/lock waits.
 */
#ifndef ZKLI_SESSION_SESSION_INTERNAL_H
#define ZKLI_SESSION_SESSION_INTERNAL_H

#include "base/clock.h"
#include "session/session.h"

/* How long close waits for replies that are under way, and then for a server to confirm the end of
 * the session, which goes on in the background after that. Together below the 2 s promised, with
 * room for a slow machine. */
#define ZKLI_DRAIN_WAIT_MS 800
#define ZKLI_CLOSE_WAIT_MS 900

/* Of sessions, and of calls that wait for servers. */
#define ZKLI_TIMEOUT_MAX_MS 3600000

/* ---- What is shared of opening one (session.c) ---- */

zkl_err zkli_session_check_options(const zkl_session_options *o);
/* Everything but threads and connection. One of hosts and attached is NULL. NULL: out of memory. */
struct zkl_session *zkli_session_new(const char *hosts, struct _zhandle *attached,
                                     const zkl_session_options *o);
/* Starts the threads and the engine. False: it cannot, and the session is freed. */
bool zkli_session_start(struct zkl_session *s);

/* As it is used, in new memory. ZKL_INVALID, ZKL_NOMEM: there is none. */
zkl_err zkli_session_complete_hosts(char **ret_hosts, const char *hosts);

/* ---- Monitor (monitor.c) ---- */

/* Starts a thread that takes no signals. Returns 0 or an errno code. */
int zkli_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *arg);
/* Waits on a condition with the mutex, which is released and taken again as by unlock and lock. */
void zkli_session_wait(struct zkl_session *s, pthread_cond_t *condition);
/* The same, until a time on CLOCK_MONOTONIC; false when it has come. */
bool zkli_session_wait_until(struct zkl_session *s, pthread_cond_t *condition, int64_t until_ns);
/* With the lock held: the timer thread wakes at this time, or before. */
void zkli_session_arm(struct zkl_session *s, int64_t at_ns);
/* The last reference is gone, or nothing but memory was made yet. */
void zkli_session_free(struct zkl_session *s);
void zkli_session_free_memory(struct zkl_session *s);

/* ---- Callbacks (callbacks.c) ---- */

void zkli_callback_init(struct zkli_event_callback *c, zkl_event_fn fn, void *arg,
                        const void *owner);
/* As zkli_events_post. */
void zkli_callback_post(struct zkl_session *s, struct zkli_event_callback *kept,
                        const zkl_event *event);
/* Without the lock: has all in the line told, and ends the thread. */
void zkli_callbacks_stop(struct zkl_session *s);

/* ---- Helper (helper.c) ---- */

void zkli_helper_init(struct zkl_session *s);
/* With the lock held: has a job done in the background. */
void zkli_helper_ask(struct zkl_session *s, struct zkli_port *port, unsigned jobs);
/* With the lock held, at the very end and on a thread that may take its time: does here what no
 * thread could be started for. */
void zkli_helper_finish(struct zkl_session *s);
bool zkli_helper_is_idle(const struct zkl_session *s);
/* There are jobs, and no thread could be started for them. */
bool zkli_helper_is_stuck(const struct zkl_session *s);

/* ---- Host (host.c) ---- */

extern const struct zkli_host zkli_session_host;
/* The log hook is not called any more, though the helper may go on. */
void zkli_session_end_log(struct zkl_session *s);

/* ---- Timer (timer.c) ---- */

bool zkli_timer_thread_start(struct zkl_session *s);
/* At the very end: with jobs left that no helper could be started for, it does them and goes on
 * until they are done; else it has ended. */
void zkli_timer_thread_stop(struct zkl_session *s);

#endif
