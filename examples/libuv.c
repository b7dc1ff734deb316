/* libuv NAME - as epoll.c, on libuv's loop: holds a lock until its standard input ends. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <uv.h>
#include <zklock.h>

struct job {
    uv_loop_t *loop;
    zkl_session *session;
    zkl_lock *lock;
    zkl_hold hold;
    int status;
};

static void end(struct job *job, int status, const char *why) {
    (void)fprintf(stderr, "libuv: %s\n", why);
    job->status = status;
    uv_stop(job->loop);
}

static void on_acquired(zkl_err err, zkl_hold hold, void *arg) {
    struct job *job = arg;
    job->hold = hold;
    if (err != ZKL_OK) {
        end(job, EXIT_FAILURE, zkl_strerror(err));
        return;
    }
    printf("held, token %" PRId64 "\n", zkl_hold_token(job->lock, hold));
    (void)fflush(stdout);
}

static void on_event(const zkl_event *event, void *arg) {
    struct job *job = arg;
    if (event->type == ZKL_EVENT_LOST && event->hold == job->hold)
        end(job, EXIT_FAILURE, zkl_strerror(ZKL_LOST));
}

static void on_callbacks(uv_poll_t *poll, int status, int events) {
    const struct job *job = poll->data;
    (void)status;
    (void)events;
    (void)zkl_session_dispatch(job->session, 16);
}

static void on_input(uv_poll_t *poll, int status, int events) {
    char byte;
    (void)events;
    if (status < 0 || read(STDIN_FILENO, &byte, 1) <= 0)
        end(poll->data, EXIT_SUCCESS, "released");
}

int main(int argc, char **argv) {
    struct job job = {.loop = uv_default_loop(), .status = EXIT_FAILURE};
    uv_poll_t callbacks = {.data = &job}, input = {.data = &job};
    zkl_err err = argc == 2 ? ZKL_OK : ZKL_INVALID;
    if (err == ZKL_OK)
        err = zkl_session_open(&job.session, getenv("ZKLOCK_HOSTS"),
                               &ZKL_SESSION_OPTIONS(.manual_dispatch = true));
    if (err == ZKL_OK)
        err = zkl_lock_open(&job.lock, job.session, argv[1],
                            &ZKL_LOCK_OPTIONS(.on_event = on_event, .arg = &job));
    if (err == ZKL_OK)
        err = zkl_acquire_async(job.lock, ZKL_FOREVER, on_acquired, &job);
    if (err != ZKL_OK)
        (void)fprintf(stderr, "libuv: %s\n", zkl_strerror(err));
    else if (uv_poll_init(job.loop, &callbacks, zkl_session_fd(job.session)) == 0 &&
             uv_poll_init(job.loop, &input, STDIN_FILENO) == 0 &&
             uv_poll_start(&callbacks, UV_READABLE, on_callbacks) == 0 &&
             uv_poll_start(&input, UV_READABLE, on_input) == 0)
        (void)uv_run(job.loop, UV_RUN_DEFAULT);
    (void)zkl_lock_close(job.lock);
    (void)zkl_session_close(job.session); /* ends the session: the lock is free at once */
    return job.status;
}
