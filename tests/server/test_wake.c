/*
 * T24: elsewhere a release wakes every thread that waits in the process, and all but one go to
 * sleep again. How often a thread has gone to sleep is in /proc, so here it is counted.
 */
#include "support/client.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAITERS = 1000,
    RELEASES = 5
};
/* Besides the one who is granted: the library's four, the test's own, and one of the C library's.
 * The client's and the timer's threads wake by themselves, too. */
#define OTHERS 8

typedef struct sleeper {
    long thread;
    long long sleeps;
} sleeper;

static sleeper Before[WAITERS + 64], After[WAITERS + 64];

static long long sleeps_of(const char *thread) {
    static const char key[] = "voluntary_ctxt_switches:";
    char path[320], line[256];
    long long sleeps = -1;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "re");
    while (file && sleeps < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            sleeps = strtoll(line + sizeof(key) - 1, NULL, 10);
    if (file)
        (void)fclose(file);
    return sleeps;
}

static size_t count_sleeps(sleeper *ret_sleepers, size_t max) {
    DIR *threads = opendir("/proc/self/task");
    size_t count = 0;

    REQUIRE(threads != NULL);
    for (const struct dirent *entry; count < max && (entry = readdir(threads));) {
        if (entry->d_name[0] != '.')
            ret_sleepers[count++] = (sleeper){strtol(entry->d_name, NULL, 10),
                                              sleeps_of(entry->d_name)};
    }
    (void)closedir(threads);
    return count;
}

/* Threads that have been awake in between. */
static size_t count_woken(size_t before, size_t after) {
    size_t woken = 0;

    for (size_t i = 0; i < after; i++)
        for (size_t j = 0; j < before; j++)
            woken += After[i].thread == Before[j].thread && After[i].sleeps != Before[j].sleeps;
    return woken;
}

static size_t find_granted(actor *const *actors, const bool *had) {
    for (size_t i = 0; i < WAITERS; i++)
        if (!had[i] && actor_is_done(actors[i]))
            return i;
    return WAITERS;
}

static void a_release_wakes_one_of_a_thousand(void) {
    static actor *actors[WAITERS];
    static bool had[WAITERS];
    client *c = client_open(fresh_name("thousand"), T_LONG);
    size_t holder = WAITERS;

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < WAITERS; i++) {
        actors[i] = actor_new();
        actor_acquire(actors[i], c->lock, ZKL_FOREVER);
    }
    /* A thread sleeps on its way, too, while it waits for the session's mutex. It does not any more
       when it has its place in the line. */
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == WAITERS, SOON_MS);
    for (size_t i = 0; i < WAITERS; i++)
        WAIT_UNTIL(actor_is_blocked(actors[i]), SOON_MS);
    for (size_t n = 0; n < RELEASES; n++) {
        const size_t before = count_sleeps(Before, WAITERS + 64);
        size_t after, granted = WAITERS;

        REQUIRE(before > WAITERS);
        if (holder == WAITERS)
            CHECK_INT(client_release(c), ZKL_OK);
        else
            CHECK_INT(actor_release(actors[holder], c->lock), ZKL_OK);
        WAIT_UNTIL((granted = find_granted(actors, had)) < WAITERS, SOON_MS);
        had[granted] = true;
        holder = granted;
        after = count_sleeps(After, WAITERS + 64);
        test_note("release %zu: %zu of %zu threads woke", n + 1, count_woken(before, after), after);
        CHECK_RANGE(count_woken(before, after), 1, OTHERS);
    }
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    CHECK_INT(actor_release(actors[holder], c->lock), ZKL_OK);
    for (size_t i = 0; i < WAITERS; i++) {
        CHECK(had[i] || actor_result(actors[i], SOON_MS) == ZKL_CANCELED);
        actor_free(actors[i]);
    }
    client_close(c);
}

static const test_case Cases[] = {
    {"a release wakes one of a thousand waiting threads (T24)", a_release_wakes_one_of_a_thousand},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "wake", Cases);
}
