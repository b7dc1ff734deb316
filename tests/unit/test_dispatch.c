/* Callbacks on the program's own thread, over a client library that does as it is told. */
#include "unit/fake_zoo.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "session/session_internal.h"
#include "support/actor.h"
#include "support/events.h"
#include "support/told.h"

static zkl_session *open_by_hand(events *e) {
    return fake_session(
        HOSTS, &ZKL_SESSION_OPTIONS(.manual_dispatch = true, .on_event = events_on, .arg = e));
}

static bool is_readable(zkl_session *s) {
    struct pollfd one = {.fd = zkl_session_fd(s), .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

static void await_readable(zkl_session *s) {
    struct pollfd one = {.fd = zkl_session_fd(s), .events = POLLIN};
    CHECK_INT(poll(&one, 1, SOON_MS), 1);
}

static void nothing_is_called_but_in_dispatch(void) {
    told t;
    events *e = events_new();
    zkl_session *s = open_by_hand(e);
    zkl_lock *l = fake_lock(s, "a");
    REQUIRE(zkl_session_fd(s) >= 0);
    CHECK(!is_readable(s));
    CHECK_INT(zkl_session_dispatch(s, 8), 0);
    told_begin(&t, l, ZKL_FOREVER);
    await_readable(s);
    CHECK(!s->callbacks_run);
    CHECK(!told_is(&t));
    CHECK_INT(zkl_session_dispatch(s, 8), 1);
    CHECK(!is_readable(s));
    told_check(&t, ZKL_OK);
    CHECK(pthread_equal(t.thread, pthread_self()));
    fake_state(ZOO_CONNECTING_STATE);
    fake_state(ZOO_CONNECTED_STATE);
    await_readable(s);
    while (is_readable(s))
        (void)zkl_session_dispatch(s, 8);
    CHECK_INT(events_count(e, ZKL_EVENT_SUSPENDED), 1);
    CHECK_INT(events_count(e, ZKL_EVENT_RESUMED), 1);
    fake_end(s, l);
    events_free(e);
    told_check_once(&t);
}

static void at_most_so_many_are_called(void) {
    enum {
        COUNT_OF_ALL = 5
    };
    told t[COUNT_OF_ALL];
    zkl_session *s = open_by_hand(NULL);
    zkl_lock *l = fake_lock(s, "a"), *m = fake_lock(s, "a");
    told_begin(&t[0], l, ZKL_FOREVER);
    for (size_t i = 1; i < COUNT_OF_ALL; i++)
        told_begin(&t[i], l, 0); /* busy */
    await_readable(s);
    CHECK_INT(zkl_session_dispatch(s, 0), 0);
    CHECK_INT(zkl_session_dispatch(s, -1), 0);
    size_t called = 0;
    while (called < COUNT_OF_ALL - 1) {
        await_readable(s);
        const int now = zkl_session_dispatch(s, 2);
        CHECK_RANGE(now, 1, 2);
        called += (size_t)now;
    }
    CHECK_INT(zkl_lock_close(m), ZKL_OK);
    fake_end(s, l);
    for (size_t i = 0; i < COUNT_OF_ALL; i++)
        told_check_once(&t[i]);
}

static zkl_session *Inside;
static int CalledInside = -1;

static void dispatch_inside(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
    CalledInside = zkl_session_dispatch(Inside, 8);
}

static int Status = -1;

/* On a thread that may not wait. */
static zkl_err fork_here(void *arg) {
    (void)arg;
    Status = -1;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(zkli_in_callback());
    REQUIRE(pid > 0 && zkli_in_callback() && waitpid(pid, &Status, 0) == pid);
    return ZKL_OK;
}

static void fork_inside(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)fork_here(arg);
}

static zkl_err deliver_and_fork(void *arg) {
    zkli_thread_delivers();
    return fork_here(arg);
}

/* So it may open sessions of its own, and wait for them. */
static void a_child_forked_inside_a_callback_is_in_none(void) {
    zkl_session *s = open_by_hand(NULL);
    zkl_lock *l = fake_lock(s, "a");
    REQUIRE_INT(zkl_acquire_async(l, ZKL_FOREVER, fork_inside, NULL), ZKL_OK);
    await_readable(s);
    CHECK_INT(zkl_session_dispatch(s, 1), 1);
    CHECK_INT(Status, 0);
    fake_end(s, l);
    actor *a = actor_new();
    actor_begin(a, deliver_and_fork, NULL);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_INT(Status, 0);
    actor_free(a);
}

static void a_call_inside_a_callback_calls_nothing(void) {
    told t;
    Inside = open_by_hand(NULL);
    zkl_lock *l = fake_lock(Inside, "a"), *m = fake_lock(Inside, "b");
    REQUIRE_INT(zkl_acquire_async(l, ZKL_FOREVER, dispatch_inside, NULL), ZKL_OK);
    told_begin(&t, m, ZKL_FOREVER);
    while (CalledInside < 0 || !told_is(&t)) {
        await_readable(Inside);
        CHECK_INT(zkl_session_dispatch(Inside, 1), 1);
    }
    CHECK_INT(CalledInside, 0);
    CHECK_INT(zkl_lock_close(m), ZKL_OK);
    fake_end(Inside, l);
}

/* It tells what waits on the handle, which is a callback like any other. */
static void a_call_inside_what_a_close_tells_calls_nothing(void) {
    told t;
    Inside = open_by_hand(NULL);
    zkl_lock *l = fake_lock(Inside, "a"), *m = fake_lock(Inside, "b");
    told_begin(&t, m, ZKL_FOREVER);
    await_readable(Inside);
    CalledInside = -1;
    REQUIRE_INT(zkl_acquire_async(l, ZKL_FOREVER, dispatch_inside, NULL), ZKL_OK);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    CHECK_INT(CalledInside, 0);
    CHECK(!told_is(&t));
    CHECK_INT(zkl_session_dispatch(Inside, 8), 1);
    fake_end(Inside, m);
    told_check_once(&t);
}

static void a_close_tells_what_was_not_called(void) {
    told t[2];
    zkl_session *s = open_by_hand(NULL);
    zkl_lock *l = fake_lock(s, "a"), *m = fake_lock(s, "b");
    told_begin(&t[0], l, ZKL_FOREVER);
    told_begin(&t[1], m, ZKL_FOREVER);
    await_readable(s);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    told_check_once(&t[0]);
    CHECK_INT(t[0].err, ZKL_CLOSED);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    told_check_once(&t[1]);
    CHECK_INT(t[1].err, ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(m), ZKL_OK);
}

static atomic_bool HasBegun, HasEnded;

static void take_long(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
    atomic_store(&HasBegun, true);
    wait_out(200);
    atomic_store(&HasEnded, true);
}

static zkl_err dispatch(void *arg) {
    (void)zkl_session_dispatch(arg, 1);
    return ZKL_OK;
}

static void a_close_of_the_session_waits_for_what_is_called(void) {
    actor *a = actor_new();
    zkl_session *s = open_by_hand(NULL);
    zkl_lock *l = fake_lock(s, "a");
    REQUIRE_INT(zkl_acquire_async(l, ZKL_FOREVER, take_long, NULL), ZKL_OK);
    await_readable(s);
    actor_begin(a, dispatch, s);
    WAIT_UNTIL(atomic_load(&HasBegun), SOON_MS);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK(atomic_load(&HasEnded));
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    actor_free(a);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
}

static void *dispatch_to_be_canceled(void *arg) {
    (void)zkl_session_dispatch(arg, 1);
    pthread_testcancel();
    return NULL;
}

static zkl_err close_it(void *arg) {
    return zkl_session_close(arg);
}

/* It would leave the session without its callbacks, and those who close it waiting. */
static void a_thread_is_canceled_behind_its_callback(void) {
    pthread_t thread;
    void *result;
    actor *a = actor_new();
    zkl_session *s = open_by_hand(NULL);
    zkl_lock *l = fake_lock(s, "a");
    atomic_store(&HasBegun, false);
    atomic_store(&HasEnded, false);
    REQUIRE_INT(zkl_acquire_async(l, ZKL_FOREVER, take_long, NULL), ZKL_OK);
    await_readable(s);
    REQUIRE_INT(pthread_create(&thread, NULL, dispatch_to_be_canceled, s), 0);
    WAIT_UNTIL(atomic_load(&HasBegun), SOON_MS);
    REQUIRE_INT(pthread_cancel(thread), 0);
    REQUIRE_INT(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(atomic_load(&HasEnded));
    actor_begin(a, close_it, s);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    actor_free(a);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
}

/* ---- What a close tells, beside others ---- */

static zkl_err close_lock(void *lock) {
    return zkl_lock_close(lock);
}

static void a_close_of_the_session_waits_for_what_a_close_tells(void) {
    actor *a = actor_new();
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"), *m = fake_lock(s, "a");
    atomic_store(&HasBegun, false);
    atomic_store(&HasEnded, false);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire_async(m, ZKL_FOREVER, take_long, NULL), ZKL_OK);
    actor_begin(a, close_lock, m);
    WAIT_UNTIL(atomic_load(&HasBegun), SOON_MS);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK(atomic_load(&HasEnded));
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    actor_free(a);
}

static sem_t IsTold, MayEnd;
static zkl_lock *Other;
static int Valid = -1;

static void on_held(const zkl_event *event, void *arg) {
    (void)arg;
    if (event->type != ZKL_EVENT_HELD)
        return;
    (void)sem_post(&IsTold);
    (void)sem_wait(&MayEnd);
    Valid = zkl_hold_valid(event->lock, event->hold);
    (void)sem_post(&IsTold);
}

static void close_other(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
    (void)zkl_lock_close(Other);
}

/* A close in a callback waits for none. */
static void an_event_s_lock_outlives_its_close_by_another_callback(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"), *m = fake_lock(s, "a");
    REQUIRE(sem_init(&IsTold, 0, 0) == 0 && sem_init(&MayEnd, 0, 0) == 0);
    REQUIRE_INT(zkl_lock_open(&Other, s, "b", &ZKL_LOCK_OPTIONS(.on_event = on_held)), ZKL_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire(Other, SOON_MS), ZKL_OK);
    REQUIRE(sem_wait(&IsTold) == 0);
    REQUIRE_INT(zkl_acquire_async(m, ZKL_FOREVER, close_other, NULL), ZKL_OK);
    CHECK_INT(zkl_lock_close(m), ZKL_OK);
    CHECK(sem_post(&MayEnd) == 0 && sem_wait(&IsTold) == 0);
    CHECK_INT(Valid, 0);
    fake_end(s, l);
    (void)sem_destroy(&IsTold);
    (void)sem_destroy(&MayEnd);
}

static zkl_session *Outer;
static int OfInner = -1, OfOuter = -1;

static void dispatch_outer(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
    OfOuter = zkl_session_dispatch(Outer, 8);
}

static void dispatch_inner(zkl_err err, zkl_hold hold, void *inner) {
    (void)err;
    (void)hold;
    OfInner = zkl_session_dispatch(inner, 1);
}

static void nor_does_one_of_another_session(void) {
    told t;
    zkl_session *inner = NULL;
    Outer = open_by_hand(NULL);
    REQUIRE_INT(zkl_session_open(&inner, HOSTS, &ZKL_SESSION_OPTIONS(.manual_dispatch = true)),
                ZKL_OK);
    zkl_lock *l = fake_lock(Outer, "a"), *m = fake_lock(Outer, "a"), *n = fake_lock(inner, "b");
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire_async(n, ZKL_FOREVER, dispatch_outer, NULL), ZKL_OK);
    told_begin(&t, l, 0); /* busy */
    await_readable(inner);
    await_readable(Outer);
    REQUIRE_INT(zkl_acquire_async(m, ZKL_FOREVER, dispatch_inner, inner), ZKL_OK);
    CHECK_INT(zkl_lock_close(m), ZKL_OK);
    CHECK_INT(OfInner, 0);
    CHECK_INT(OfOuter, -1);
    CHECK_INT(zkl_lock_close(n), ZKL_OK);
    CHECK_INT(OfOuter, 0);
    CHECK_INT(zkl_session_close(inner), ZKL_OK);
    fake_end(Outer, l);
    told_check_once(&t);
}

static void other_sessions_have_a_thread_and_no_descriptor(void) {
    told t;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    CHECK_INT(zkl_session_fd(s), -1);
    CHECK_INT(zkl_session_fd(NULL), -1);
    CHECK_INT(zkl_session_dispatch(NULL, 8), 0);
    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    CHECK_INT(zkl_session_dispatch(s, 8), 0);
    s->process++; /* as in a child of a fork */
    CHECK_INT(zkl_session_fd(s), -1);
    CHECK_INT(zkl_session_dispatch(s, 8), 0);
    s->process--;
    fake_end(s, l);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"nothing is called but in dispatch", nothing_is_called_but_in_dispatch},
        {"at most so many are called", at_most_so_many_are_called},
        {"a call inside a callback calls nothing", a_call_inside_a_callback_calls_nothing},
        {"a child forked inside a callback is in none",
         a_child_forked_inside_a_callback_is_in_none},
        {"a call inside what a close tells calls nothing",
         a_call_inside_what_a_close_tells_calls_nothing},
        {"a close tells what was not called", a_close_tells_what_was_not_called},
        {"a close of the session waits for what is called",
         a_close_of_the_session_waits_for_what_is_called},
        {"a thread is canceled behind its callback, not in it",
         a_thread_is_canceled_behind_its_callback},
        {"a close of the session waits for what a close tells",
         a_close_of_the_session_waits_for_what_a_close_tells},
        {"an event's lock outlives its close by another callback",
         an_event_s_lock_outlives_its_close_by_another_callback},
        {"nor does one of another session", nor_does_one_of_another_session},
        {"other sessions have a thread, and no descriptor",
         other_sessions_have_a_thread_and_no_descriptor},
    };
    return TEST_MAIN(argc, argv, "dispatch", cases);
}
