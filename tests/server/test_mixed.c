/*
 * Threads that wait for a lock, threads that are told of it, and threads that call what tells them,
 * all on one handle: the lock is what keeps a counter exact. For the thread sanitizer above all.
 */
#include "support/client.h"

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "support/target.h"

enum {
    WAITERS = 3,
    ASKERS = 3,
    DISPATCHERS = 2,
    THREADS = WAITERS + ASKERS + DISPATCHERS,
    ROUNDS = 60
};

static struct {
    zkl_session *session;
    zkl_lock *lock;
    const char *target;
    atomic_int counter, inside, written;
    atomic_bool is_over;
} World;

/* A read and a write, on purpose not one operation: only the lock makes an increment of it. */
static zkl_err count(void) {
    if (atomic_fetch_add(&World.inside, 1) != 0)
        return ZKL_SERVER; /* two inside */
    const int value = atomic_load(&World.counter);
    if (value % 8 == 0)
        wait_pause();
    atomic_store(&World.counter, value + 1);
    (void)atomic_fetch_sub(&World.inside, 1);
    return ZKL_OK;
}

static zkl_err wait_and_count(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        zkl_err err = zkl_acquire(World.lock, ZKL_FOREVER);
        if (err == ZKL_OK)
            err = count();
        if (err == ZKL_OK)
            err = i % 2 == 0 ? zkl_release(World.lock) : zkl_release_wait(World.lock, 3 * SOON_MS);
        if (err != ZKL_OK)
            return err;
    }
    return ZKL_OK;
}

/* ---- Those who ask ---- */

typedef struct asker {
    sem_t is_told;
    zkl_err err;
    zkl_hold hold;
} asker;

static void on_told(zkl_err err, zkl_hold hold, void *arg) {
    asker *a = arg;
    a->err = err;
    a->hold = hold;
    (void)sem_post(&a->is_told);
}

/* What a call came to that is told. */
static zkl_err told(asker *a, zkl_err begun) {
    if (begun != ZKL_OK)
        return begun;
    while (sem_wait(&a->is_told) != 0)
        ;
    return a->err;
}

static zkl_err ask_and_count(void *arg) {
    asker a = {.err = ZKL_OK};
    (void)arg;
    (void)sem_init(&a.is_told, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        zkl_err err = told(&a, zkl_acquire_async(World.lock, ZKL_FOREVER, on_told, &a));
        const zkl_hold hold = a.hold;
        if (err == ZKL_OK)
            err = count();
        if (err == ZKL_OK && i % 4 == 0) {
            err = told(
                &a, zkl_guarded_set_async(World.lock, hold, World.target, "x", 1, -1, on_told, &a));
            (void)atomic_fetch_add(&World.written, 1);
        }
        if (err == ZKL_OK)
            err = i % 2 == 0
                      ? zkl_release_hold(World.lock, hold)
                      : told(&a, zkl_release_async(World.lock, hold, ZKL_FOREVER, on_told, &a));
        if (err != ZKL_OK)
            return err;
    }
    (void)sem_destroy(&a.is_told);
    return ZKL_OK;
}

/* Two at once: one of them may find nothing to call. */
static zkl_err dispatch(void *arg) {
    struct pollfd ready = {.fd = zkl_session_fd(World.session), .events = POLLIN};
    (void)arg;
    while (!atomic_load(&World.is_over)) {
        (void)poll(&ready, 1, 10);
        (void)zkl_session_dispatch(World.session, 4);
    }
    return ZKL_OK;
}

static void run_threads(void) {
    actor *actors[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        actors[i] = actor_new();
        actor_begin(actors[i],
                    i < WAITERS            ? wait_and_count
                    : i < WAITERS + ASKERS ? ask_and_count
                                           : dispatch,
                    NULL);
    }
    for (size_t i = 0; i < THREADS; i++) {
        if (i == WAITERS + ASKERS)
            atomic_store(&World.is_over, true);
        CHECK_INT(actor_result(actors[i], 12 * SOON_MS), ZKL_OK);
        actor_free(actors[i]);
    }
}

static void check_counts(const zkl_lock_options *options) {
    World.target = target_new();
    atomic_store(&World.counter, 0);
    atomic_store(&World.written, 0);
    atomic_store(&World.is_over, false);
    REQUIRE_INT(zkl_session_open(
                    &World.session, server_hosts(),
                    &ZKL_SESSION_OPTIONS(.session_timeout_ms = T_LONG, .manual_dispatch = true)),
                ZKL_OK);
    REQUIRE_INT(zkl_lock_open(&World.lock, World.session, fresh_name("mixed"), options), ZKL_OK);
    run_threads();
    CHECK_INT(atomic_load(&World.counter), (WAITERS + ASKERS) * ROUNDS);
    CHECK_INT(target_version(World.target), atomic_load(&World.written));
    lock_close(World.lock);
    session_close(World.session);
}

static void all_ways_on_one_handle_count_right(void) {
    check_counts(NULL);
}

static void all_ways_count_right_with_hand_offs_and_lingering(void) {
    check_counts(&ZKL_LOCK_OPTIONS(.local_handoffs = 3, .linger_ms = 50));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"all ways on one handle count right", all_ways_on_one_handle_count_right},
        {"all ways count right with hand-offs and lingering",
         all_ways_count_right_with_hand_offs_and_lingering},
    };
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "mixed", cases);
}
