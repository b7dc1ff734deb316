/* Callbacks on the program's own thread, at a real server: an event loop that serves many locks. */
#include "support/client.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/told.h"

#define LOCKS 200

static zkl_session *open_by_hand(int timeout_ms, events *e) {
    return session_open_with(
        server_hosts(),
        ZKL_SESSION_OPTIONS(.session_timeout_ms = timeout_ms, .manual_dispatch = true,
                            .on_event = e == NULL ? NULL : events_on, .arg = e));
}

/* One round of a loop. */
static void serve(int loop, zkl_session *s) {
    struct epoll_event ready;

    CHECK_INT(epoll_wait(loop, &ready, 1, SOON_MS), 1);
    while (zkl_session_dispatch(s, 16) == 16)
        ;
}

static int loop_open(zkl_session *s) {
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event interest = {.events = EPOLLIN};

    REQUIRE(loop >= 0);
    REQUIRE(epoll_ctl(loop, EPOLL_CTL_ADD, zkl_session_fd(s), &interest) == 0);
    return loop;
}

/* No thread of ours calls back: the client library's two, and the timer's. */
static void a_loop_serves_many_locks_with_no_thread_for_callbacks(void) {
    static told t[LOCKS];
    static zkl_lock *locks[LOCKS];
    session_close(open_by_hand(T_LONG, NULL)); /* what starts once has started */
    const size_t before = process_threads();
    zkl_session *s = open_by_hand(T_LONG, NULL);
    const int loop = loop_open(s);
    const char *base = fresh_name("loop");
    char name[256];

    for (size_t i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof(name), "%s-%zu", base, i);
        locks[i] = lock_open(s, name, NULL);
        told_begin(&t[i], locks[i], ZKL_FOREVER);
    }
    for (size_t i = 0; i < LOCKS; i++)
        while (!told_is(&t[i]))
            serve(loop, s);
    WAIT_UNTIL(process_threads() <= before + 3, SOON_MS);
    for (size_t i = 0; i < LOCKS; i++) {
        told_check(&t[i], ZKL_OK);
        CHECK(pthread_equal(t[i].thread, pthread_self()));
        CHECK_INT(zkl_release_hold(locks[i], t[i].hold), ZKL_OK);
        lock_close(locks[i]);
        told_check_once(&t[i]);
    }
    (void)close(loop);
    session_close(s);
}

/* It calls back in time, or never had the lock. */
static void a_loop_that_comes_late_has_not_kept_others_out(void) {
    told t;
    client *other = client_open(fresh_name("late"), T_LONG);
    zkl_session *s = open_by_hand(T_LONG, NULL);
    zkl_lock *l = lock_open(s, other->name, NULL);

    told_begin(&t, l, 300);
    WAIT_UNTIL(queue_length(other->name) == 1, SOON_MS);
    CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK); /* when it is given up */
    while (!told_is(&t))
        (void)zkl_session_dispatch(s, 16);
    told_check(&t, ZKL_TIMEOUT);
    CHECK_INT(client_release(other), ZKL_OK);
    lock_close(l);
    session_close(s);
    client_close(other);
}

static void events_come_to_the_loop(void) {
    events *e = events_new();
    zkl_session *s = open_by_hand(T_NORMAL, e);
    const int loop = loop_open(s);
    zkl_lock *l = lock_open(s, fresh_name("events"), e);

    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    while (events_count(e, ZKL_EVENT_HELD) == 0)
        serve(loop, s);
    session_expire(s);
    while (events_count(e, ZKL_EVENT_LOST) == 0 || events_count(e, ZKL_EVENT_RESUMED) == 0)
        serve(loop, s);
    CHECK_INT(zkl_release(l), ZKL_LOST);
    lock_close(l);
    (void)close(loop);
    session_close(s);
    events_free(e);
}

/* ---- The example ---- */

static pid_t start_example(const char *program, const char *name, int input, int output) {
    const pid_t pid = fork();

    if (pid == 0) {
        (void)setenv("ZKLOCK_HOSTS", server_hosts(), 1);
        (void)dup2(input, STDIN_FILENO);
        (void)dup2(output, STDOUT_FILENO);
        (void)execl(program, program, name, (char *)NULL);
        _exit(127);
    }
    REQUIRE(pid > 0);
    return pid;
}

/* It has the root that programs have by default. */
static size_t examples_queue(const char *name) {
    char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "/locks/%s", name);
    raw_list list = raw_children(fixture_raw(), path);
    const size_t count = list.count;
    raw_list_free(&list);
    return count;
}

static void check_example(const char *program) {
    const char *name = fresh_name("example");
    int input[2], output[2], status = -1;
    char line[64] = "";

    REQUIRE(pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
    const pid_t pid = start_example(program, name, input[0], output[1]);
    (void)close(input[0]);
    (void)close(output[1]);
    CHECK(read(output[0], line, sizeof(line) - 1) > 0);
    CHECK(strncmp(line, "held, token ", strlen("held, token ")) == 0);
    CHECK_INT(examples_queue(name), 1);
    (void)close(input[1]);
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK_INT(examples_queue(name), 0);
    (void)close(output[0]);
}

static void the_example_holds_until_its_input_ends(void) {
    check_example("./example_epoll");
}

/* Where its library is not there it is not built. */
static void check_example_of(const char *program) {
    if (access(program, X_OK) == 0)
        check_example(program);
    else
        test_skip("its library is not here");
}

static void the_example_for_libuv_does_the_same(void) {
    check_example_of("./example_libuv");
}

static void the_example_for_libevent_does_the_same(void) {
    check_example_of("./example_libevent");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a loop serves many locks, with no thread for callbacks",
         a_loop_serves_many_locks_with_no_thread_for_callbacks},
        {"a loop that comes late has not kept others out",
         a_loop_that_comes_late_has_not_kept_others_out},
        {"events come to the loop", events_come_to_the_loop},
        {"the example holds until its input ends", the_example_holds_until_its_input_ends},
        {"the example for libuv does the same", the_example_for_libuv_does_the_same},
        {"the example for libevent does the same", the_example_for_libevent_does_the_same},
    };
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "dispatch", cases);
}
