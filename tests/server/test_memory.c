/* What it takes to wait: threads and memory of a process with thousands of contenders. */
#include "support/client.h"
#include "support/target.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    WAITERS = 4000,
    QUEUES = 20,
    SESSIONS = 2,
    EACH = WAITERS / SESSIONS
};

/* Of resident memory for a contender that waits: with names of 64 bytes and no chroot. The client
 * library keeps a watch's path, its entry in a table and its watcher for each path that is watched.
 * So a contender whose predecessor is of another session takes a path more than one whose
 * predecessor watches its own node for itself. */
#define BYTES_MAX 2048
#define BYTES_MAX_AMONG_OTHERS 2368

static _Atomic size_t Done;

static void on_done(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
    atomic_fetch_add(&Done, 1);
}

static bool all_rest(zkl_session *const *sessions) {
    for (size_t i = 0; i < SESSIONS; i++) {
        zkl_session_statistics now = {.size = sizeof(now)};
        REQUIRE_INT(zkl_session_stats(sessions[i], &now, NULL), ZKL_OK);
        if (now.waiting != EACH || now.requests_in_flight > 1)
            return false;
    }
    return true;
}

static void name_of(char ret_name[64], const char *prefix, size_t queue) {
    (void)snprintf(ret_name, 64, "%s/%02zu", prefix, queue);
}

/* Contenders that nobody ends, the first of their queues. */
static void plant_holders(const char *prefix) {
    for (size_t i = 0; i < QUEUES; i++) {
        char name[64], path[RAW_PATH_MAX];
        name_of(name, prefix, i);
        plant_contender(name, "_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-", path);
    }
}

struct taken {
    size_t resident, allocated; /* bytes for a contender; the allocated ones are in use */
};

/* Contender i of session i % SESSIONS waits in the queue i / divisor % QUEUES. */
static struct taken wait_all(const char *prefix, size_t divisor) {
    static zkl_lock *locks[WAITERS];
    zkl_session *sessions[SESSIONS];
    plant_holders(prefix);
    atomic_store(&Done, 0);
    const size_t threads = process_threads();
    for (size_t i = 0; i < SESSIONS; i++)
        sessions[i] = session_open(server_hosts(), T_LONG, NULL);
    (void)malloc_trim(0);
    const size_t before_kib = process_resident_kib();
    const struct mallinfo2 before = mallinfo2();
    for (size_t i = 0; i < WAITERS; i++) {
        char name[64];
        name_of(name, prefix, i / divisor % QUEUES);
        locks[i] = lock_open(sessions[i % SESSIONS], name, NULL);
        REQUIRE_INT(zkl_acquire_async(locks[i], ZKL_FOREVER, on_done, NULL), ZKL_OK);
    }
    WAIT_UNTIL(all_rest(sessions), 3 * SOON_MS);
    const struct taken taken = {
        .resident = (process_resident_kib() - before_kib) * 1024 / WAITERS,
        .allocated = (mallinfo2().uordblks - before.uordblks) / WAITERS,
    };
    test_note("%d contenders wait: %zu bytes resident each; %zu are allocated and in use", WAITERS,
              taken.resident, taken.allocated);
    CHECK_INT(process_threads(), threads + SESSIONS * 4);
    for (size_t i = 0; i < SESSIONS; i++)
        session_close(sessions[i]);
    for (size_t i = 0; i < WAITERS; i++)
        lock_close(locks[i]);
    CHECK_INT(atomic_load(&Done), WAITERS);
    return taken;
}

/* QUEUES is a multiple of SESSIONS. */
static void four_thousand_wait_in_little_memory(void) {
    const struct taken taken = wait_all("memory", 1);
    if (MEMORY_IS_MEASURABLE)
        CHECK_RANGE(taken.resident, 1, BYTES_MAX);
}

/* Of what is resident a part was there before, from the other case. */
static void where_sessions_share_a_queue_they_take_a_little_more(void) {
    const struct taken taken = wait_all("shared", SESSIONS);
    if (MEMORY_IS_MEASURABLE)
        CHECK_RANGE(taken.allocated, 1, BYTES_MAX_AMONG_OTHERS);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"four thousand wait in little memory", four_thousand_wait_in_little_memory},
        {"where sessions share a queue, they take a little more",
         where_sessions_share_a_queue_they_take_a_little_more},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "memory", cases);
}
