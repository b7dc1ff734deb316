/*
 * Runs a scenario once for each allocation of our library's in it, with that one failing, and once
 * more with all from there on failing. What is true afterwards in every case is checked here, the
 * rest by the scenario.
 */
#ifndef ALLOC_FAIL_EACH_H
#define ALLOC_FAIL_EACH_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/client.h"
#include "support/failing.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LEAK_SANITIZER
#endif
#endif
#if defined(HAS_LEAK_SANITIZER) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define CHECK_LEAKS() CHECK_INT(__lsan_do_recoverable_leak_check(), 0)
#else
#define CHECK_LEAKS() ((void)0)
#endif

/* No scenario takes as many seconds. */
#define HANG_S 60

/* Which allocation fails in this run, and whether all after it do. */
static size_t Nth;
static bool IsLasting;
static failing_part Part = FAILING_OWN;
static char RunText[160];

static inline void on_alarm(int number) {
    (void)number;
    if (write(STDERR_FILENO, RunText, strlen(RunText)) >= 0)
        abort();
}

/* From here on what is to fail in this run does, until failing_disarm. */
static inline void arm(void) {
    failing_arm(Part, Nth, IsLasting);
}

/* A session's memory goes when its handle is closed. What still stands after that is waited for, so
 * that a failure tells whether it was late or lost. */
static inline void check_freed(size_t live) {
    const int64_t begun = clock_ms();

    while (failing_live(FAILING_OWN) > live && clock_ms() - begun < HANG_S / 2 * 1000)
        wait_pause();

    const int64_t took = clock_ms() - begun;
    if (took > SOON_MS)
        test_note("%zu blocks of memory stand after %lld ms", failing_live(FAILING_OWN) - live,
                  (long long)took);
    REQUIRE(took <= SOON_MS);
}

/* Until it gets by with fewer allocations than the one that is to fail. */
static inline void fail_each(void (*scenario)(void)) {
    const size_t live = failing_live(FAILING_OWN); /* not 0 after a test that failed */
    size_t runs[2] = {0, 0};

    for (int lasting = 0; lasting < 2; lasting++) {
        IsLasting = lasting;
        for (Nth = 1; Nth == 1 || failing_failed() > 0; Nth++) {
            const unsigned failures = CU_get_number_of_failures();

            (void)snprintf(RunText, sizeof(RunText), "\nhangs with allocation %zu failing, %s\n",
                           Nth, lasting ? "and all after it" : "only that");
            (void)alarm(HANG_S);
            scenario();
            failing_disarm();
            check_freed(live);
            CHECK_LEAKS();
            (void)alarm(0);
            runs[lasting] += failing_failed() > 0;
            if (CU_get_number_of_failures() > failures)
                test_note("(with allocation %zu failing, %s)", Nth,
                          lasting ? "and all after it" : "only that");
        }
    }
    test_note("failed: %zu alone, %zu with all after them", runs[0], runs[1]);
}

/* What a call that allocates for itself may return. */
static inline void check_nomem_or(zkl_err actual, zkl_err expected) {
    CHECK(actual == expected || (actual == ZKL_NOMEM && failing_failed() > 0));
    if (actual != expected && actual != ZKL_NOMEM)
        CHECK_INT(actual, expected);
}

/* Holds, by the first node of the queue. */
static inline void check_holds(client *c) {
    char own[RAW_PATH_MAX] = "", first[RAW_PATH_MAX] = "";

    CHECK(client_held(c));
    actor_node_path(c->actor, c->lock, own, sizeof(own));
    CHECK(raw_child_path(fixture_raw(), lock_dir(c->name), 0, first));
    CHECK_STRING(own, first);
}

/* Begins an acquire and waits until it stands in the queue or has failed. */
static inline void queue_up(client *c) {
    client_begin(c, SOON_MS);
    WAIT_UNTIL(client_is_done(c) || client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
}

/* However an acquire ended for want of memory, nothing of it is left, and another one succeeds;
 * each grant was told once. Ends with the client closed. */
static inline void finish(client *c, zkl_err err) {
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    if (err != ZKL_OK) {
        WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    }
    check_holds(c);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_HELD) == 1, SOON_MS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_nodes(c), 0);
    client_close(c);
}

/* Behind a holder, who leaves. */
static inline void wait_behind(client *c, const char *holder) {
    arm();
    queue_up(c);
    if (client_is_done(c))
        CHECK_INT(client_result(c), ZKL_NOMEM); /* not OK: there is a holder */
    uproot(holder);
    finish(c, client_result(c));
}

/* A test that failed left it so. */
static inline void recover(void) {
    failing_disarm();
    (void)alarm(0);
    fixture_recover();
}

static inline int fail_each_main(int argc, char **argv, const char *suite, const test_case *cases,
                                 size_t count) {
    fixture_start(NULL);
    test_after_each(recover);
    if (signal(SIGALRM, on_alarm) == SIG_ERR)
        return EXIT_FAILURE;
    return test_main(argc, argv, suite, cases, count);
}

#endif
