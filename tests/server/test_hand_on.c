/*
 * A node that is handed on between the threads of a handle: without a packet, and another client
 * gets its turn. What it takes is printed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/target.h"

#define THREADS 4
#define TURNS 5
#define ROUNDS 2000

static client *open_with(const char *name, int turns) {
    client *c = client_open_proxied(name, T_NORMAL);

    client_be_handing_on(c, turns);
    return c;
}

/* The client's own thread holds, the others wait behind it in their order. */
static void queue_threads(client *c, actor *threads[THREADS]) {
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = actor_new();
        actor_acquire(threads[i], c->lock, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(threads[i]), SOON_MS);
    }
}

/* Of any kind, heartbeats left out. */
static bool is_quiet(client *c) {
    return proxy_count(c->proxy, PROXY_WORK, NULL) == 0;
}

static void nothing_is_sent(void) {
    const char *name = fresh_name("quiet");
    client *c = open_with(name, TURNS);
    actor *threads[THREADS];
    char node[RAW_PATH_MAX], now[RAW_PATH_MAX];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    const int64_t token = client_token(c);
    queue_threads(c, threads);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, node) == 1, SOON_MS); /* watched: once a node */
    proxy_forget(c->proxy);
    CHECK_INT(client_release(c), ZKL_OK);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_INT(actor_result(threads[i], SOON_MS), ZKL_OK);
        CHECK(actor_held(threads[i], c->lock));
        CHECK_INT(actor_token(threads[i], c->lock), token);
        actor_node_path(threads[i], c->lock, now, sizeof(now));
        CHECK_STRING(now, node);
        CHECK(is_quiet(c));
        CHECK_INT(actor_release(threads[i], c->lock), ZKL_OK); /* the last one deletes the node */
    }
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    for (size_t i = 0; i < THREADS; i++)
        actor_free(threads[i]);
    client_close(c);
}

/* Each holds by the same node: by its token, and with that node as the guard. */
static void each_of_them_writes_under_the_node(void) {
    const char *name = fresh_name("guarded"), *path = target_new();
    client *c = open_with(name, TURNS);
    actor *threads[THREADS];
    char node[RAW_PATH_MAX];
    raw_stat stat = {0};

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    queue_threads(c, threads);
    CHECK_INT(client_release(c), ZKL_OK);
    for (size_t i = 0; i < THREADS; i++) {
        guarded_call call = guarded_text(c, path, "handed on", (int)i);
        CHECK_INT(actor_result(threads[i], SOON_MS), ZKL_OK);
        actor_begin(threads[i], guarded_run, &call);
        CHECK_INT(actor_result(threads[i], SOON_MS), ZKL_OK);
        target_check(path, "handed on", (int)i + 1);
        CHECK(raw_stat_of(fixture_raw(), node, &stat));
        CHECK_INT(actor_token(threads[i], c->lock), stat.czxid);
        CHECK_INT(guarded_set(c, path, "given up", -1), ZKL_NOT_HELD);
        if (i + 1 < THREADS)
            CHECK_INT(actor_release(threads[i], c->lock), ZKL_OK);
    }
    guarded_call late = guarded_text(c, path, "late", -1);
    proxy_rule(c->proxy, PROXY_HOLD_REQUEST, PROXY_MULTI, NULL, 1, false);
    actor_begin(threads[THREADS - 1], guarded_run, &late);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    uproot(node);
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    CHECK_INT(actor_result(threads[THREADS - 1], SOON_MS), ZKL_LOST);
    target_check(path, "handed on", THREADS);
    for (size_t i = 0; i < THREADS; i++)
        actor_free(threads[i]);
    client_close(c);
}

/* Such a write could come after one of the next hold. */
static void after_a_write_left_under_way_it_goes(void) {
    const char *name = fresh_name("late"), *path = target_new();
    client *c = open_with(name, TURNS);
    actor *next = actor_new();
    guarded_call late = guarded_text(c, path, "late", -1);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const zkl_hold hold = actor_hold(c->actor, c->lock);
    const int64_t token = client_token(c);
    actor_acquire(next, c->lock, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(next), SOON_MS);
    guarded_begin_broken(c, &late, PROXY_HOLD_REQUEST, false);
    CHECK_INT(zkl_release_hold(c->lock, hold), ZKL_OK);
    CHECK_STAYS(!actor_is_done(next), 100); /* nothing passes: it needs a node of its own */
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    CHECK_INT(client_result(c), ZKL_OK); /* it was made before the node's end */
    CHECK_INT(actor_result(next, SOON_MS), ZKL_OK);
    CHECK(actor_token(next, c->lock) > token);
    target_check(path, "late", 1);
    CHECK_INT(actor_release(next, c->lock), ZKL_OK);
    actor_free(next);
    client_close(c);
}

/* Threads that want it again and again keep another client waiting for so many holds. */
static void another_client_waits_for_so_many_turns(void) {
    static const int turns[] = {0, 1, TURNS};
    for (size_t i = 0; i < COUNT(turns); i++) {
        const char *name = fresh_name("turns");
        client *c = open_with(name, turns[i]), *other = client_open(name, T_NORMAL);
        actor *threads[2] = {c->actor, actor_new()};
        size_t holds = 1;

        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_queue_up(other, 2);
        WAIT_UNTIL(client_told(other, ZKL_EVENT_QUEUED) == 1, SOON_MS);
        for (size_t holder = 0;; holder = 1 - holder, holds++) {
            actor_acquire(threads[1 - holder], c->lock, ZKL_FOREVER);
            WAIT_UNTIL(actor_is_blocked(threads[1 - holder]), SOON_MS);
            CHECK_INT(actor_release(threads[holder], c->lock), ZKL_OK);
            WAIT_UNTIL(actor_is_done(threads[1 - holder]) || client_is_done(other), SOON_MS);
            if (client_is_done(other))
                break;
            CHECK_INT(actor_result(threads[1 - holder], SOON_MS), ZKL_OK);
        }
        CHECK_INT(holds, turns[i] + 1);
        CHECK_INT(client_result(other), ZKL_OK);
        CHECK_INT(client_release(other), ZKL_OK);
        WAIT_UNTIL(actor_is_done(threads[0]) && actor_is_done(threads[1]), SOON_MS);
        client_close_lock(c);
        actor_free(threads[1]);
        client_close(other);
        client_close(c);
    }
}

/* ---- Its time ---- */

struct turns {
    zkl_lock *lock;
    int64_t released_ns; /* written while holding */
    int64_t took_ns[2 * ROUNDS];
    size_t count;
};

static void *take_turns(void *arg) {
    struct turns *t = arg;
    for (int i = 0; i < ROUNDS; i++) {
        if (zkl_acquire(t->lock, ZKL_FOREVER) != ZKL_OK)
            abort();
        const int64_t now_ns = clock_ns();
        if (t->released_ns != 0)
            t->took_ns[t->count++] = now_ns - t->released_ns;
        t->released_ns = clock_ns();
        if (zkl_release(t->lock) != ZKL_OK)
            abort();
    }
    return NULL;
}

static int compare(const void *a, const void *b) {
    const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* The count is theirs as long as only one of them holds. */
static void two_threads_that_take_turns_exclude_each_other(void) {
    static struct turns t;
    client *c = open_with(fresh_name("time"), 2 * ROUNDS);
    pthread_t threads[2];

    t = (struct turns){.lock = c->lock};
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    proxy_forget(c->proxy);
    for (size_t i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, take_turns, &t) == 0);
    CHECK_INT(client_release(c), ZKL_OK);
    for (size_t i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK_INT(t.count, 2 * ROUNDS - 1);
    qsort(t.took_ns, t.count, sizeof(t.took_ns[0]), compare);
    test_note("%zu hand-offs between two threads: %.1f us at the median; %zu creates", t.count,
              (double)t.took_ns[t.count / 2] / 1000, proxy_count(c->proxy, PROXY_CREATE, NULL));
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"nothing is sent", nothing_is_sent},
        {"each of them writes under the node", each_of_them_writes_under_the_node},
        {"after a write left under way it goes", after_a_write_left_under_way_it_goes},
        {"another client waits for so many turns", another_client_waits_for_so_many_turns},
        {"two threads that take turns exclude each other",
         two_threads_that_take_turns_exclude_each_other},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "hand_on", cases);
}
