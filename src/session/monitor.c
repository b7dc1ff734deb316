/*
 * monitor - a session's mutex with what it brings about, its references, and how its threads start.
 * Below all other files of the layer.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"

/* ---- Threads ---- */

int zkli_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *arg) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(ret_thread, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

bool zkli_session_is_forked(const struct zkl_session *s) {
    return s->process != zkli_process_number();
}

/* ---- The mutex ---- */

/* A later time needs no call: the timer fires once in vain and is set anew. */
void zkli_session_arm(struct zkl_session *s, int64_t at_ns) {
    if (at_ns >= s->timer_at_ns || s->timer_stops)
        return;
    int64_t now_ns = zkli_engine_now_ns(s->engine);
    s->timer_at_ns = at_ns;
    s->timer_due_ns = at_ns > now_ns ? at_ns : now_ns;
    int64_t set_ns = at_ns > 0 ? at_ns : 1; /* 0 would disarm it */
    struct itimerspec when = {.it_value = {set_ns / ZKLI_NS_PER_S, set_ns % ZKLI_NS_PER_S}};
    (void)timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &when, NULL); /* valid by construction */
}

/* A thread that is canceled with the mutex held would stop the session for good, and much of what
 * happens under it (writing to the client's pipe, waiting) is a point of cancellation. */
static _Thread_local int cancel_state;

void zkli_session_lock(struct zkl_session *s) {
    int state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    (void)pthread_mutex_lock(&s->mutex);
    cancel_state = state;
    zkli_engine_enter(s->engine);
}

void zkli_session_settle(struct zkl_session *s) {
    zkli_session_arm(s, zkli_engine_settle(s->engine));
}

void zkli_session_unlock(struct zkl_session *s) {
    zkli_session_settle(s);
    (void)pthread_mutex_unlock(&s->mutex);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

static uint64_t news_of(const struct zkl_session *s) {
    return zkli_engine_news(s->engine) + s->posted;
}

void zkli_session_wait(struct zkl_session *s, pthread_cond_t *condition) {
    uint64_t news = news_of(s);
    zkli_session_settle(s);
    if (news_of(s) != news)
        return; /* perhaps just what the caller waits for */
    (void)pthread_cond_wait(condition, &s->mutex);
    zkli_engine_enter(s->engine);
}

bool zkli_session_wait_until(struct zkl_session *s, pthread_cond_t *condition, int64_t until_ns) {
    const struct timespec until = zkli_timespec(until_ns);
    uint64_t news = news_of(s);
    zkli_session_settle(s);
    if (news_of(s) != news)
        return true;
    int error = pthread_cond_timedwait(condition, &s->mutex, &until);
    zkli_engine_enter(s->engine);
    return error != ETIMEDOUT;
}

void zkli_session_rest(struct zkl_session *s, int64_t ns) {
    const int64_t until_ns = zkli_monotonic_ns() + ns;
    while (zkli_engine_state(s->engine) != ZKL_STATE_CLOSED &&
           zkli_session_wait_until(s, &s->changed, until_ns))
        ;
}

/* ---- References ---- */

void zkli_session_free_memory(struct zkl_session *s) {
    if (s->callbacks_fd >= 0)
        (void)close(s->callbacks_fd);
    free(s->hosts);
    free(s->root);
    free(s->auth_scheme);
    free(s->auth);
    free(s);
}

bool zkli_session_begin(struct zkl_session *s) {
    (void)atomic_fetch_add(&s->references, 1);
    if (!zkli_session_is_forked(s))
        return true;
    (void)atomic_fetch_sub(&s->references, 1); /* nothing is freed in a child */
    return false;
}

void zkli_session_reference(struct zkl_session *s) {
    (void)atomic_fetch_add(&s->references, 1);
}

void zkli_session_free(struct zkl_session *s) {
    zkli_engine_free(s->engine);
    (void)pthread_cond_destroy(&s->callbacks_changed);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->log_mutex);
    (void)pthread_mutex_destroy(&s->mutex);
    zkli_session_free_memory(s);
}

void zkli_session_unlock_and_release(struct zkl_session *s) {
    bool is_last = atomic_fetch_sub(&s->references, 1) == 1;
    zkli_session_unlock(s);
    if (is_last)
        zkli_session_free(s);
}
