/*
 * timer - the thread that wakes when the engine's next deadline has come. A timerfd, because
 * condition variables refuse CLOCK_BOOTTIME, and with it a suspend is seen at once on waking.
 * In the end it does what no helper could be started for.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "session/session_internal.h"

static void *run(void *arg) {
    struct zkl_session *s = arg;
    bool stops = false;
    while (!stops) {
        uint64_t expirations;
        if (read(s->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EINTR &&
            errno != ECANCELED)
            break; /* cannot be; without a timer the lease still ends where it is looked at */
        zkli_session_lock(s);
        s->timer_at_ns = ZKLI_NEVER; /* it has fired and is disarmed */
        if (!s->timer_stops)
            zkli_engine_late(s->engine, zkli_engine_now_ns(s->engine) - s->timer_due_ns);
        zkl_state before = zkli_engine_state(s->engine);
        zkli_engine_tick(s->engine);
        if (zkli_engine_state(s->engine) !=
            before) /* the first connection may be found by looking */
            pthread_cond_broadcast(&s->changed);
        stops = s->timer_stops;
        zkli_session_unlock(s);
    }
    if (s->timer_is_detached) {
        (void)close(s->timer_fd);
        zkli_session_lock(s);
        zkli_helper_finish(s);
        zkli_session_unlock_and_release(s);
    }
    return NULL;
}

bool zkli_timer_thread_start(struct zkl_session *s) {
    s->timer_at_ns = ZKLI_NEVER;
    s->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (s->timer_fd < 0)
        return false;
    if (zkli_thread_start(&s->timer_thread, run, s) == 0)
        return true;
    (void)close(s->timer_fd);
    return false;
}

void zkli_timer_thread_stop(struct zkl_session *s) {
    zkli_session_lock(s);
    zkli_session_arm(s, 1);
    s->timer_stops = true;
    s->timer_is_detached = zkli_helper_is_stuck(s);
    if (s->timer_is_detached)
        zkli_session_reference(s);
    bool is_detached = s->timer_is_detached;
    zkli_session_unlock(s);
    if (is_detached) {
        (void)pthread_detach(s->timer_thread);
        return;
    }
    (void)pthread_join(s->timer_thread, NULL);
    (void)close(s->timer_fd);
}
