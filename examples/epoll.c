/*
 * epoll NAME - holds a lock in a program with an event loop, until its standard input ends, which
 * may be a terminal or a pipe. Once the session is open, no call blocks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <zklock.h>

struct job {
    zkl_lock *lock;
    zkl_hold hold;
    bool is_over;
    int status;
};

static void end(struct job *job, int status, const char *why) {
    (void)fprintf(stderr, "epoll: %s\n", why);
    job->is_over = true;
    job->status = status;
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

static bool watch(int loop, int fd) {
    struct epoll_event interest = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &interest) == 0;
}

/* Until the job is over, or there is nothing to be read. */
static void run(struct job *job, zkl_session *s, int loop) {
    char byte;
    struct epoll_event ready;
    while (!job->is_over && epoll_wait(loop, &ready, 1, -1) >= 0)
        if (ready.data.fd == zkl_session_fd(s))
            (void)zkl_session_dispatch(s, 16);
        else if (read(ready.data.fd, &byte, 1) <= 0)
            end(job, EXIT_SUCCESS, "released");
}

int main(int argc, char **argv) {
    const char *hosts = getenv("ZKLOCK_HOSTS");
    struct job job = {.status = EXIT_FAILURE};
    zkl_session *s = NULL;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    zkl_err err = argc == 2 ? ZKL_OK : ZKL_INVALID;
    if (err == ZKL_OK)
        err = zkl_session_open(&s, hosts, &ZKL_SESSION_OPTIONS(.manual_dispatch = true));
    if (err == ZKL_OK)
        err = zkl_lock_open(&job.lock, s, argv[1],
                            &ZKL_LOCK_OPTIONS(.on_event = on_event, .arg = &job));
    if (err == ZKL_OK)
        err = zkl_acquire_async(job.lock, ZKL_FOREVER, on_acquired, &job);
    if (err != ZKL_OK)
        (void)fprintf(stderr, "epoll: %s\n", zkl_strerror(err));
    else if (watch(loop, STDIN_FILENO) && watch(loop, zkl_session_fd(s)))
        run(&job, s, loop);
    (void)zkl_lock_close(job.lock);
    (void)zkl_session_close(s); /* ends the session: the lock is free at once */
    return job.status;
}
