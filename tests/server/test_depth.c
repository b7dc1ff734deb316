/*
 * What a hand-off costs with a thousand in the queue, beside what it costs with two: each of ten in
 * a row, beside the cheapest of ten. A semaphore's is counted by server.semaphore_crowd.
 */
#include "support/client.h"

#include <stdlib.h>

#define DEEP 1000
#define SESSIONS 5
#define ROUNDS 10

/* The first holds, the others wait behind it. */
typedef struct crowd {
    proxy *proxy;
    const char *name;
    zkl_session *sessions[SESSIONS];
    zkl_lock *locks[DEEP];
    actor *actors[DEEP];
    bool has_held[DEEP];
    size_t depth, holder;
} crowd;

typedef struct cost {
    size_t lists, requests, events;
    /* At a heartbeat a holder reads its node, and then sets "held since"; the next one reads it. */
    bool tells;
} cost;

static void add(crowd *all, zkl_kind kind, size_t i) {
    REQUIRE_INT(zkl_lock_open(&all->locks[i], all->sessions[i % SESSIONS], all->name,
                              &ZKL_LOCK_OPTIONS(.kind = kind)),
                ZKL_OK);
    all->actors[i] = actor_new();
    actor_acquire(all->actors[i], all->locks[i], ZKL_FOREVER);
}

static crowd *crowd_open(zkl_kind kind, size_t depth) {
    static crowd all;

    all = (crowd){.proxy = proxy_new(), .name = fresh_name("depth"), .depth = depth};
    for (size_t i = 0; i < SESSIONS; i++)
        all.sessions[i] = session_open(proxy_hosts(all.proxy), T_LONG, NULL);
    add(&all, kind, 0);
    REQUIRE_INT(actor_result(all.actors[0], SOON_MS), ZKL_OK);
    all.has_held[0] = true;
    for (size_t i = 1; i < depth; i++)
        add(&all, kind, i);
    WAIT_UNTIL(queue_length(all.name) == depth, 6 * SOON_MS);
    /* Each watches its own node and the one before it; the holder its own, from a heartbeat on. */
    const size_t watches = depth == DEEP ? 2 * DEEP - 1 : 2 * (depth - 1);
    WAIT_UNTIL(proxy_answered(all.proxy, PROXY_GET, all.name) >= watches, 3 * SOON_MS);
    return &all;
}

static void crowd_close(crowd *all) {
    for (size_t i = 0; i < all->depth; i++) {
        lock_close(all->locks[i]);
        actor_free(all->actors[i]);
    }
    for (size_t i = 0; i < SESSIONS; i++)
        session_close(all->sessions[i]);
    proxy_close(all->proxy);
}

/* depth: none yet. */
static size_t find_next(crowd *all) {
    for (size_t i = 0; i < all->depth; i++)
        if (!all->has_held[i] && actor_is_done(all->actors[i]))
            return i;
    return all->depth;
}

/* From a release until the next one holds. Heartbeats are left out, and the delete of the node. */
static cost hand_off(crowd *all) {
    size_t next = all->depth;

    proxy_forget(all->proxy);
    CHECK_INT(actor_release_wait(all->actors[all->holder], all->locks[all->holder], SOON_MS),
              ZKL_OK);
    WAIT_UNTIL((next = find_next(all)) < all->depth, SOON_MS);
    CHECK_INT(actor_result(all->actors[next], 0), ZKL_OK);
    CHECK(actor_held(all->actors[next], all->locks[next]));
    all->has_held[next] = true;
    all->holder = next;
    return (cost){.lists = proxy_count(all->proxy, PROXY_LIST, NULL),
                  .requests = proxy_count(all->proxy, PROXY_WORK, NULL) - 1,
                  .events = proxy_count(all->proxy, PROXY_EVENT, NULL),
                  .tells = proxy_count(all->proxy, PROXY_SET, NULL) > 0 ||
                           (proxy_count(all->proxy, PROXY_BARRIER, NULL) > 0 &&
                            proxy_count(all->proxy, PROXY_GET, NULL) > 0)};
}

static void take_least(cost *least, cost c) {
    least->lists = c.lists < least->lists ? c.lists : least->lists;
    least->requests = c.requests < least->requests ? c.requests : least->requests;
    least->events = c.events < least->events ? c.events : least->events;
}

static void take_most(cost *most, cost c) {
    most->lists = c.lists > most->lists ? c.lists : most->lists;
    most->requests = c.requests > most->requests ? c.requests : most->requests;
    most->events = c.events > most->events ? c.events : most->events;
}

static cost cost_of_two(zkl_kind kind) {
    cost least = {.lists = SIZE_MAX, .requests = SIZE_MAX, .events = SIZE_MAX};

    for (int i = 0; i < ROUNDS; i++) {
        crowd *all = crowd_open(kind, 2);
        take_least(&least, hand_off(all));
        crowd_close(all);
    }
    return least;
}

/*
 * A hand-off during which a holder tells since when it holds is not counted, nor the one after it:
 * whoever reads on that account is in line before the holder after the next.
 */
static cost cost_of_a_thousand(zkl_kind kind) {
    cost most = {0};
    bool told = false;
    crowd *all = crowd_open(kind, DEEP);

    for (int counted = 0, i = 0; counted < ROUNDS; i++) {
        REQUIRE(i < 10 * ROUNDS);
        const cost c = hand_off(all);
        if (!c.tells && !told) {
            take_most(&most, c);
            counted++;
        }
        told = c.tells;
    }
    crowd_close(all);
    return most;
}

/* The end of a node is told to its own session and to the next one's. */
static void a_hand_off_costs_one_list_more_at_most(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_WRITE};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        const cost two = cost_of_two(kinds[i]), many = cost_of_a_thousand(kinds[i]);

        test_note("%s, of two: %zu lists, %zu requests, %zu watch events; of %d: %zu, %zu, %zu",
                  kinds[i] == ZKL_MUTEX ? "a mutex" : "a writer", two.lists, two.requests,
                  two.events, DEEP, many.lists, many.requests, many.events);
        CHECK_RANGE(many.lists, 0, two.lists + 1);
        CHECK_RANGE(many.requests, 0, two.requests + 1);
        CHECK_RANGE(many.events, 1, 2);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"with a thousand in the queue a hand-off costs one list more at most",
         a_hand_off_costs_one_list_more_at_most},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "depth", cases);
}
