/* libevent NAME - as epoll.c, on libevent's loop: holds a lock until its standard input ends. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <zklock.h>

struct job {
    struct event_base *loop;
    zkl_session *session;
    zkl_lock *lock;
    zkl_hold hold;
    int status;
};

static void end(struct job *job, int status, const char *why) {
    (void)fprintf(stderr, "libevent: %s\n", why);
    job->status = status;
    (void)event_base_loopbreak(job->loop);
}

static void on_acquired(zkl_err err, zkl_hold hold, void *arg) {
    struct job *job = arg;
    job->hold = hold;
    if (err != ZKL_OK)
        end(job, EXIT_FAILURE, zkl_strerror(err));
    else
        printf("held, token %" PRId64 "\n", zkl_hold_token(job->lock, hold));
    (void)fflush(stdout);
}

static void on_event(const zkl_event *event, void *arg) {
    struct job *job = arg;
    if (event->type == ZKL_EVENT_LOST && event->hold == job->hold)
        end(job, EXIT_FAILURE, zkl_strerror(ZKL_LOST));
}

static void on_callbacks(evutil_socket_t fd, short what, void *arg) {
    const struct job *job = arg;
    (void)fd;
    (void)what;
    (void)zkl_session_dispatch(job->session, 16);
}

static void on_input(evutil_socket_t fd, short what, void *arg) {
    char byte;
    (void)what;
    if (read(fd, &byte, 1) <= 0)
        end(arg, EXIT_SUCCESS, "released");
}

int main(int argc, char **argv) {
    struct job job = {.loop = event_base_new(), .status = EXIT_FAILURE};
    struct event callbacks, input;
    zkl_err err = argc == 2 && job.loop != NULL ? ZKL_OK : ZKL_INVALID;
    if (err == ZKL_OK)
        err = zkl_session_open(&job.session, getenv("ZKLOCK_HOSTS"),
                               &ZKL_SESSION_OPTIONS(.manual_dispatch = true));
    if (err == ZKL_OK)
        err = zkl_lock_open(&job.lock, job.session, argv[1],
                            &ZKL_LOCK_OPTIONS(.on_event = on_event, .arg = &job));
    if (err == ZKL_OK)
        err = zkl_acquire_async(job.lock, ZKL_FOREVER, on_acquired, &job);
    if (err != ZKL_OK)
        (void)fprintf(stderr, "libevent: %s\n", zkl_strerror(err));
    else if (event_assign(&callbacks, job.loop, zkl_session_fd(job.session), EV_READ | EV_PERSIST,
                          on_callbacks, &job) == 0 &&
             event_assign(&input, job.loop, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, &job) ==
                 0 &&
             event_add(&callbacks, NULL) == 0 && event_add(&input, NULL) == 0)
        (void)event_base_dispatch(job.loop);
    (void)zkl_lock_close(job.lock);
    (void)zkl_session_close(job.session); /* ends the session: the lock is free at once */
    event_base_free(job.loop);
    return job.status;
}
