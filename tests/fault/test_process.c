/* Clients that are processes: killed at any moment, or stopped for longer than their session. */
#include "stranger.h"
#include "support/scratch.h"
#include "support/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A session ends up to a tick after its timeout, and that is rounded up to one more. */
#define TICK_MS 500
#define SLACK_MS 3000
/* The test waits for it to pass; and before that it must not, with dozens of processes. */
#define T_PROCESSES (2 * T_SHORT)

static int TimeoutMs; /* what the server grants for T_PROCESSES */

static int limit_ms(void) {
    return TimeoutMs + 2 * TICK_MS + SLACK_MS;
}

/* Who comes after the stranger, in this process; one session for all. */
typedef struct successor {
    zkl_lock *lock;
    actor *actor;
} successor;

typedef struct pair {
    stranger stranger;
    successor next;
    int64_t token; /* the stranger's */
    resource resource;
    int64_t hit_ms; /* when it was stopped or killed */
} pair;

static zkl_session *Session;

static void open_all(pair *pairs, size_t count, const char *name) {
    static char fence[300]; /* one for all names */

    (void)snprintf(fence, sizeof(fence), "%s", scratch_fresh("fence"));
    Session = session_open(server_hosts(), T_PROCESSES, NULL);
    TimeoutMs = zkl_session_timeout_ms(Session);
    session_close(Session);
    Session = session_open(server_hosts(), T_LONG, NULL);
    for (size_t i = 0; i < count; i++) {
        pairs[i].resource = (resource){fence, target_new()};
        stranger_start(&pairs[i].stranger, fresh_name(name), TimeoutMs, &pairs[i].resource);
        pairs[i].next.lock = lock_open(Session, pairs[i].stranger.name, NULL);
        pairs[i].next.actor = actor_new();
    }
}

static void close_all(pair *pairs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        stranger_end(&pairs[i].stranger);
        lock_close(pairs[i].next.lock);
        actor_free(pairs[i].next.actor);
    }
    session_close(Session);
}

static void all_acquire(pair *pairs, size_t count) {
    char line[STRANGER_LINE_MAX];

    for (size_t i = 0; i < count; i++)
        stranger_tell(&pairs[i].stranger, "acquire");
    for (size_t i = 0; i < count; i++) {
        stranger_hear(&pairs[i].stranger, line);
        REQUIRE(sscanf(line, "OK %" SCNd64, &pairs[i].token) == 1 && pairs[i].token > 0);
    }
}

/* The successors stand in their queues, as number length. */
static void all_queue_up(pair *pairs, size_t count, size_t length) {
    for (size_t i = 0; i < count; i++)
        actor_acquire(pairs[i].next.actor, pairs[i].next.lock, ZKL_FOREVER);
    for (size_t i = 0; i < count; i++)
        WAIT_UNTIL(queue_length(pairs[i].stranger.name) == length, SOON_MS);
}

static void hit(pair *p, int number) {
    p->hit_ms = clock_ms();
    stranger_signal(&p->stranger, number);
}

/* Each successor gets its lock in time, alone. The longest wait. */
static int64_t all_succeed(pair *pairs, size_t count) {
    int64_t longest = 0;

    for (size_t i = 0; i < count; i++) {
        pair *p = &pairs[i];

        REQUIRE_INT(actor_result(p->next.actor, SOON_MS), ZKL_OK);
        int64_t took_ms = actor_done_ns(p->next.actor) / NS_PER_MS - p->hit_ms;
        CHECK_RANGE(took_ms, 0, limit_ms());
        longest = took_ms > longest ? took_ms : longest;
        CHECK(actor_token(p->next.actor, p->next.lock) > p->token);
        CHECK_INT(queue_length(p->stranger.name), 1);
    }
    return longest;
}

static void all_leave(pair *pairs, size_t count) {
    for (size_t i = 0; i < count; i++)
        CHECK_INT(actor_release_wait(pairs[i].next.actor, pairs[i].next.lock, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(queue_length(pairs[i].stranger.name), 0);
}

/* ---- killed ---- */

enum {
    KILLED = 20
};

static void a_holder_that_is_killed_frees_the_lock(void) {
    static pair pairs[KILLED];

    open_all(pairs, KILLED, "holder");
    all_acquire(pairs, KILLED);
    all_queue_up(pairs, KILLED, 2);
    for (size_t i = 0; i < KILLED; i++)
        hit(&pairs[i], SIGKILL);
    test_note("%d killed, the next after at most %lld ms with T = %d", KILLED,
              (long long)all_succeed(pairs, KILLED), TimeoutMs);
    all_leave(pairs, KILLED);
    close_all(pairs, KILLED);
}

/* The lock is free, or not, when the session of the dead one ends: no ghost is in the way. */
static void a_waiter_that_is_killed_is_not_waited_for(void) {
    static pair pairs[KILLED];
    char holders[KILLED][RAW_PATH_MAX];

    open_all(pairs, KILLED, "waiter");
    for (size_t i = 0; i < KILLED; i++) {
        plant_contender(pairs[i].stranger.name, CURATOR, holders[i]);
        stranger_tell(&pairs[i].stranger, "acquire");
        WAIT_UNTIL(queue_length(pairs[i].stranger.name) == 2, SOON_MS);
    }
    all_queue_up(pairs, KILLED, 3);
    for (size_t i = 0; i < KILLED; i++) {
        hit(&pairs[i], SIGKILL);
        if (i % 2)
            uproot(holders[i]);
    }
    for (size_t i = 0; i < KILLED; i += 2) {
        WAIT_UNTIL(queue_length(pairs[i].stranger.name) == 2, limit_ms());
        CHECK(!actor_is_done(pairs[i].next.actor));
        uproot(holders[i]);
    }
    (void)all_succeed(pairs, KILLED);
    all_leave(pairs, KILLED);
    close_all(pairs, KILLED);
}

/* From the word to release on: before it is sent, under way, answered. */
static void a_client_that_is_killed_while_it_releases_leaves_nothing(void) {
    static pair pairs[KILLED];

    open_all(pairs, KILLED, "releasing");
    all_acquire(pairs, KILLED);
    all_queue_up(pairs, KILLED, 2);
    for (size_t i = 0; i < KILLED; i++) {
        const int64_t end_ns = clock_ns() + (int64_t)i * NS_PER_MS / 10;

        stranger_tell(&pairs[i].stranger, "release");
        while (clock_ns() < end_ns)
            continue;
        hit(&pairs[i], SIGKILL);
    }
    for (size_t i = 0; i < KILLED; i++)
        CHECK_INT(actor_result(pairs[i].next.actor, limit_ms()), ZKL_OK);
    all_leave(pairs, KILLED);
    close_all(pairs, KILLED);
}

/* T10, T13: no step of an acquire or a release can be caught that leaves a node for good. */
static void a_client_that_is_killed_anywhere_leaves_nothing(void) {
    static pair pairs[KILLED];
    char line[STRANGER_LINE_MAX];

    open_all(pairs, KILLED, "anywhere");
    for (size_t i = 0; i < KILLED; i++) {
        stranger_tell(&pairs[i].stranger, "churn");
        stranger_hear(&pairs[i].stranger, line);
        CHECK_STRING(line, "churning");
    }
    for (size_t i = 0; i < KILLED; i++)
        hit(&pairs[i], SIGKILL);
    for (size_t i = 0; i < KILLED; i++)
        actor_acquire(pairs[i].next.actor, pairs[i].next.lock, ZKL_FOREVER);
    for (size_t i = 0; i < KILLED; i++) {
        CHECK_INT(actor_result(pairs[i].next.actor, limit_ms()), ZKL_OK);
        /* A create that was under way may have been done behind the successor's. */
        WAIT_UNTIL(queue_length(pairs[i].stranger.name) == 1, limit_ms());
    }
    all_leave(pairs, KILLED);
    close_all(pairs, KILLED);
}

/* ---- stopped ---- */

enum {
    STOPPED = 50,
    ROUNDS = 4 /* 200 stops in all */
};

typedef struct score {
    size_t stops, seen_at_once, fenced, guarded;
} score;

static void stop_all(pair *pairs) {
    char line[STRANGER_LINE_MAX];

    for (size_t i = 0; i < STOPPED; i++) {
        stranger_tell(&pairs[i].stranger, "watch");
        stranger_hear(&pairs[i].stranger, line);
        CHECK_STRING(line, "watching");
        hit(&pairs[i], SIGSTOP);
    }
}

/* The successors use what the lock protects, before those before them wake up. */
static void all_write(pair *pairs) {
    zkl_fence *fence = NULL;

    REQUIRE_INT(zkl_fence_open(&fence, pairs[0].resource.fence, NULL), ZKL_OK);
    for (size_t i = 0; i < STOPPED; i++) {
        pair *p = &pairs[i];
        guarded_call write = {p->next.lock, p->resource.node, "in time", 7, -1};

        CHECK_INT(zkl_fence_check(fence, p->stranger.name, p->token), ZKL_OK);
        CHECK_INT(
            zkl_fence_check(fence, p->stranger.name, actor_token(p->next.actor, p->next.lock)),
            ZKL_OK);
        actor_begin(p->next.actor, guarded_run, &write);
        CHECK_INT(actor_result(p->next.actor, SOON_MS), ZKL_OK);
    }
    CHECK_INT(zkl_fence_close(fence), ZKL_OK);
}

static void all_go_on(pair *pairs, size_t count) {
    const int64_t end_ms = pairs[count - 1].hit_ms + 2 * TimeoutMs;

    WAIT_UNTIL(clock_ms() >= end_ms, 4 * TimeoutMs);
    for (size_t i = 0; i < count; i++)
        stranger_signal(&pairs[i].stranger, SIGCONT);
}

static void wake_all(pair *pairs, int round, score *s) {
    all_go_on(pairs, STOPPED);
    for (size_t i = 0; i < STOPPED; i++) {
        char line[STRANGER_LINE_MAX], fence[16] = "", guard[16] = "";
        int64_t token = 0;
        int held = -1;

        stranger_hear(&pairs[i].stranger, line);
        REQUIRE(sscanf(line, "first %d %" SCNd64 ", fence %15[^,], guard %15s", &held, &token,
                       fence, guard) == 4);
        CHECK(token == pairs[i].token);
        CHECK(actor_held(pairs[i].next.actor, pairs[i].next.lock));
        target_check(pairs[i].resource.node, "in time", round + 1);
        s->stops++;
        s->seen_at_once += held == 0;
        s->fenced += strcmp(fence, "STALE") == 0;
        s->guarded += strcmp(guard, "LOST") == 0;
    }
}

/* T20 */
static void a_holder_that_was_stopped_is_past_doing_harm(void) {
    static pair pairs[STOPPED];
    score s = {0};

    open_all(pairs, STOPPED, "stopped");
    for (int round = 0; round < ROUNDS; round++) {
        all_acquire(pairs, STOPPED);
        all_queue_up(pairs, STOPPED, 2);
        stop_all(pairs);
        (void)all_succeed(pairs, STOPPED);
        all_write(pairs);
        wake_all(pairs, round, &s);
        all_leave(pairs, STOPPED);
    }
    close_all(pairs, STOPPED);
    test_note("%zu stops for 2T or more: the first look said so %zu times; of the late writes the "
              "fence refused %zu, the guard %zu",
              s.stops, s.seen_at_once, s.fenced, s.guarded);
    CHECK_INT(s.stops, STOPPED * ROUNDS);
    CHECK_INT(s.seen_at_once, s.stops);
    CHECK_INT(s.fenced, s.stops);
    CHECK_INT(s.guarded, s.stops);
}

/* Its node was good for another hold, by all that it knew when it was stopped. */
static void a_node_that_was_idle_over_a_stop_is_not_held_by_again(void) {
    static pair pairs[STOPPED];
    char line[STRANGER_LINE_MAX];

    open_all(pairs, STOPPED, "idle");
    for (size_t i = 0; i < STOPPED; i++) {
        stranger_tell(&pairs[i].stranger, "idle");
        stranger_hear(&pairs[i].stranger, line);
        REQUIRE(sscanf(line, "idle %" SCNd64, &pairs[i].token) == 1);
        hit(&pairs[i], SIGSTOP);
        CHECK_INT(queue_length(pairs[i].stranger.name), 1);
    }
    all_queue_up(pairs, STOPPED, 2);
    (void)all_succeed(pairs, STOPPED);
    all_go_on(pairs, STOPPED);
    for (size_t i = 0; i < STOPPED; i++) {
        stranger_hear(&pairs[i].stranger, line);
        CHECK(strcmp(line, "BUSY") == 0 || strcmp(line, "UNREACHABLE") == 0);
        CHECK(actor_held(pairs[i].next.actor, pairs[i].next.lock));
    }
    all_leave(pairs, STOPPED);
    close_all(pairs, STOPPED);
}

static const test_case Cases[] = {
    {"a holder that is killed frees the lock within its timeout",
     a_holder_that_is_killed_frees_the_lock},
    {"a waiter that is killed is not waited for beyond its timeout",
     a_waiter_that_is_killed_is_not_waited_for},
    {"a client that is killed while it releases leaves nothing",
     a_client_that_is_killed_while_it_releases_leaves_nothing},
    {"a client that is killed anywhere leaves nothing (T10, T13)",
     a_client_that_is_killed_anywhere_leaves_nothing},
    {"a holder that was stopped for 2T knows at its first look, and writes nothing (T20)",
     a_holder_that_was_stopped_is_past_doing_harm},
    {"a node that was idle over a stop of 2T is not held by again",
     a_node_that_was_idle_over_a_stop_is_not_held_by_again},
};

int main(int argc, char **argv) {
    stranger_main(argc, argv);
    fixture_start(NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* of a stranger that died on its own: the write says so */
    return TEST_MAIN(argc, argv, "process", Cases);
}
