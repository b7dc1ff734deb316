/*
 * Acquires whose callers go on, at a real server: many from one thread, in the order of the queue,
 * through what ends sessions and nodes, and past callbacks that take long.
 */
#include "support/client.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/target.h"
#include "support/told.h"

#define MANY 1000

/* From this thread, and no other is there for them. */
static void many_are_under_way_from_one_thread(void) {
    static told t[MANY];
    static zkl_lock *locks[MANY];
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    const char *base = fresh_name("many");
    char name[256];

    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "%s-%zu", base, i);
        locks[i] = lock_open(s, name, NULL);
    }
    told_begin(&t[0], locks[0], ZKL_FOREVER);
    told_check(&t[0], ZKL_OK);
    const size_t before = process_threads();
    for (size_t i = 1; i < MANY; i++)
        told_begin(&t[i], locks[i], ZKL_FOREVER);
    for (size_t i = 0; i < MANY; i++)
        told_check(&t[i], ZKL_OK);
    CHECK_INT(process_threads(), before);
    for (size_t i = 0; i < MANY; i++) {
        CHECK_INT(zkl_release_hold(locks[i], t[i].hold), ZKL_OK);
        lock_close(locks[i]);
        told_check_once(&t[i]);
    }
    session_close(s);
}

/* ---- Ten thousand ---- */

enum {
    LOTS = 10000,
    SESSIONS = 8,
    NAMES = 200
};

static struct lots {
    zkl_lock *lock;
    atomic_uint *inside; /* of the name */
} Lots[LOTS];
static atomic_uint LotsGranted, LotsWrong;

static void on_one_of_lots(zkl_err err, zkl_hold hold, void *arg) {
    const struct lots *one = arg;

    if (err != ZKL_OK || atomic_fetch_add(one->inside, 1) != 0)
        atomic_fetch_add(&LotsWrong, 1);
    atomic_fetch_sub(one->inside, 1);
    if (zkl_release_hold(one->lock, hold) != ZKL_OK)
        atomic_fetch_add(&LotsWrong, 1);
    atomic_fetch_add(&LotsGranted, 1);
}

/* Each waits behind fifty others, of all sessions. No thread is there for any. */
static void ten_thousand_wait_for_one_thread_over_eight_sessions(void) {
    static atomic_uint inside[NAMES];
    zkl_session *sessions[SESSIONS];
    const char *base = fresh_name("lots");
    char name[256];

    for (size_t i = 0; i < SESSIONS; i++)
        sessions[i] = session_open(server_hosts(), T_LONG, NULL);
    const size_t before = process_threads();
    for (size_t i = 0; i < LOTS; i++) {
        (void)snprintf(name, sizeof(name), "%s-%zu", base, i % NAMES);
        Lots[i] = (struct lots){lock_open(sessions[i / NAMES % SESSIONS], name, NULL),
                                &inside[i % NAMES]};
        REQUIRE_INT(zkl_acquire_async(Lots[i].lock, ZKL_FOREVER, on_one_of_lots, &Lots[i]), ZKL_OK);
    }
    CHECK(process_threads() <= before + SESSIONS); /* for callbacks */
    WAIT_UNTIL(atomic_load(&LotsGranted) == LOTS, 20 * SOON_MS);
    CHECK_INT(atomic_load(&LotsWrong), 0);
    for (size_t i = 0; i < LOTS; i++)
        lock_close(Lots[i].lock);
    for (size_t i = 0; i < SESSIONS; i++)
        session_close(sessions[i]);
}

/* Waits are limited by the bytes of their watches' paths. What is refused is told. */
static void beyond_a_session_s_budget_is_limit(void) {
    enum {
        TOO_MANY = 4000
    };
    static told t[TOO_MANY];
    static zkl_lock *locks[TOO_MANY];
    client *holder = client_open(fresh_name("budget"), T_LONG);
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    size_t refused = 0;

    CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < TOO_MANY; i++) {
        locks[i] = lock_open(s, holder->name, NULL);
        told_begin(&t[i], locks[i], ZKL_FOREVER);
    }
    WAIT_UNTIL(told_is(&t[TOO_MANY - 1]), SOON_MS);
    for (size_t i = 0; i < TOO_MANY; i++) {
        if (told_is(&t[i]))
            told_check(&t[i], ZKL_LIMIT);
        refused += told_is(&t[i]);
    }
    CHECK_RANGE(refused, 1, TOO_MANY - 1000);
    WAIT_UNTIL(queue_length(holder->name) == TOO_MANY - refused + 1, SOON_MS);
    session_close(s);
    for (size_t i = 0; i < TOO_MANY; i++) {
        told_check_once(&t[i]);
        lock_close(locks[i]);
    }
    client_close(holder);
}

/* Of two sessions, by turns. */
static void the_queue_is_served_in_order(void) {
    enum {
        WAITERS = 8
    };
    told t[WAITERS];
    zkl_lock *locks[WAITERS];
    zkl_session *sessions[2];
    const char *name = fresh_name("order");

    for (size_t i = 0; i < COUNT(sessions); i++)
        sessions[i] = session_open(server_hosts(), T_LONG, NULL);
    for (size_t i = 0; i < WAITERS; i++) {
        locks[i] = lock_open(sessions[i % 2], name, NULL);
        told_begin(&t[i], locks[i], ZKL_FOREVER);
        WAIT_UNTIL(queue_length(name) == i + 1, SOON_MS);
    }
    for (size_t i = 0; i < WAITERS; i++) {
        told_check(&t[i], ZKL_OK);
        for (size_t k = i + 1; k < WAITERS; k++)
            CHECK(!told_is(&t[k]));
        CHECK(i == 0 || zkl_hold_token(locks[i], t[i].hold) > 0);
        CHECK_INT(zkl_release_hold(locks[i], t[i].hold), ZKL_OK);
    }
    for (size_t i = 0; i < WAITERS; i++)
        lock_close(locks[i]);
    for (size_t i = 0; i < COUNT(sessions); i++)
        session_close(sessions[i]);
}

static void a_hold_that_is_lost_says_so_by_its_number(void) {
    told t;
    events *e = events_new();
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    const char *name = fresh_name("lost");
    zkl_lock *l = lock_open(s, name, e);
    char path[RAW_PATH_MAX];

    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    CHECK_INT(zkl_hold_path(l, t.hold, path, sizeof(path)), ZKL_OK);
    uproot(path);
    WAIT_UNTIL(!zkl_hold_valid(l, t.hold), SOON_MS);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_INT(zkl_release_hold(l, t.hold), ZKL_LOST);
    CHECK_INT(zkl_release_hold(l, t.hold), ZKL_NOT_HELD);
    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    lock_close(l);
    session_close(s);
    events_free(e);
}

static void a_wait_goes_on_in_the_next_session(void) {
    told t;
    client *holder = client_open(fresh_name("expired"), T_LONG);
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open(s, holder->name, NULL);

    CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    told_begin(&t, l, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(holder->name) == 2, SOON_MS);
    session_expire(s);
    WAIT_UNTIL(queue_length(holder->name) == 2, SOON_MS);
    CHECK(!told_is(&t));
    CHECK_INT(client_release(holder), ZKL_OK);
    told_check(&t, ZKL_OK);
    lock_close(l);
    session_close(s);
    client_close(holder);
    told_check_once(&t);
}

/* ---- A callback that takes long ---- */

static struct {
    zkl_lock *lock;
    atomic_bool is_there, may_go;
} Slow;

static void take_long(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)arg;
    (void)zkl_release_hold(Slow.lock, hold);
    atomic_store(&Slow.is_there, true);
    while (!atomic_load(&Slow.may_go))
        wait_pause();
}

/* No heartbeat, and no thread that is blocked: it takes longer than T. */
static void a_callback_that_takes_long_delays_nothing_else(void) {
    told t;
    client *c = client_open(fresh_name("beside"), T_NORMAL);
    Slow.lock = lock_open(c->session, fresh_name("slow"), NULL);
    zkl_lock *l = lock_open(c->session, fresh_name("behind"), NULL);

    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    REQUIRE_INT(zkl_acquire_async(Slow.lock, ZKL_FOREVER, take_long, NULL), ZKL_OK);
    WAIT_UNTIL(atomic_load(&Slow.is_there), SOON_MS);
    const int64_t begun_ns = clock_ns();
    while (clock_ns() - begun_ns < 5 * INT64_C(1000000000)) {
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release(c), ZKL_OK);
        CHECK(zkl_hold_valid(l, t.hold));
    }
    atomic_store(&Slow.may_go, true);
    CHECK_INT(zkl_release_hold(l, t.hold), ZKL_OK);
    lock_close(l);
    lock_close(Slow.lock);
    client_close(c);
}

/* ---- Writes, forks, ends ---- */

static void a_write_by_number_needs_the_hold(void) {
    told t;
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    zkl_lock *l = lock_open(s, fresh_name("write"), NULL);
    const char *target = target_new();
    char path[RAW_PATH_MAX];

    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    CHECK_INT(zkl_guarded_set_hold(l, t.hold, target, "new", 3, 0), ZKL_OK);
    target_check(target, "new", 1);
    CHECK_INT(zkl_hold_path(l, t.hold, path, sizeof(path)), ZKL_OK);
    uproot(path);
    CHECK_INT(zkl_guarded_set_hold(l, t.hold, target, "bad", 3, -1), ZKL_LOST);
    target_check(target, "new", 1);
    lock_close(l);
    session_close(s);
}

static void a_forked_child_is_told_nothing(void) {
    told t;
    client *holder = client_open(fresh_name("fork"), T_NORMAL);
    zkl_lock *l = lock_open(holder->session, holder->name, NULL);
    int status = -1;

    CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    told_begin(&t, l, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(holder->name) == 2, SOON_MS);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(zkl_acquire_async(l, 0, told_on_done, &t) != ZKL_FORKED ||
              zkl_hold_token(l, 1) != 0 || zkl_lock_close(l) != ZKL_FORKED || told_is(&t));
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK_INT(client_release(holder), ZKL_OK);
    told_check(&t, ZKL_OK);
    lock_close(l);
    client_close(holder);
    told_check_once(&t);
}

static void a_close_tells_and_leaves_no_node(void) {
    told t[2];
    client *holder = client_open(fresh_name("close"), T_LONG);
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    zkl_lock *first = lock_open(s, holder->name, NULL), *second = lock_open(s, holder->name, NULL);

    CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    told_begin(&t[0], first, ZKL_FOREVER);
    told_begin(&t[1], second, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(holder->name) == 3, SOON_MS);
    lock_close(first);
    told_check_once(&t[0]);
    CHECK_INT(t[0].err, ZKL_CLOSED);
    session_close(s);
    told_check_once(&t[1]);
    CHECK_INT(t[1].err, ZKL_CLOSED);
    WAIT_UNTIL(queue_length(holder->name) == 1, SOON_MS);
    lock_close(second);
    client_close(holder);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"many are under way from one thread", many_are_under_way_from_one_thread},
        {"ten thousand wait for one thread, over eight sessions",
         ten_thousand_wait_for_one_thread_over_eight_sessions},
        {"beyond a session's budget is LIMIT", beyond_a_session_s_budget_is_limit},
        {"the queue is served in order", the_queue_is_served_in_order},
        {"a hold that is lost says so by its number", a_hold_that_is_lost_says_so_by_its_number},
        {"a wait goes on in the next session", a_wait_goes_on_in_the_next_session},
        {"a callback that takes long delays nothing else (T44)",
         a_callback_that_takes_long_delays_nothing_else},
        {"a write by number needs the hold", a_write_by_number_needs_the_hold},
        {"a forked child is told nothing (T46)", a_forked_child_is_told_nothing},
        {"a close tells, and leaves no node", a_close_tells_and_leaves_no_node},
    };
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "async", cases);
}
