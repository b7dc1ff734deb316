/*
 * See partition.h. Three servers, each in a network namespace, and a holder whose only server is
 * cut off from the other two while it goes on serving the holder. On the other side the holder's
 * session ends and the next one in the queue acquires: before that the holder must have let go.
 */
#include "support/partition.h"

#include "support/client.h"
#include "support/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The holders of one cut: a session, a lock and a waiter each. Two ticks are the least a server
 * grants by default; there the time between letting go and the session's end is shortest.
 */
static const int HolderTimeouts[] = {1000, 1250, 1500, 1750, 2000, 1000, 1250, 1500, 1750, 2000};
#define PAIRS (sizeof(HolderTimeouts) / sizeof(HolderTimeouts[0]))
#define HOLDER_TIMEOUT_MAX_MS 2000
#define WAITER_TIMEOUT_MS 6000 /* its session is to live through an election */

/* A hold that goes on so much longer than any can is one that does not end. */
#define HOLD_LIMIT_MS 30000
#define SERVE_LIMIT_MS 30000
#define ANSWER_LIMIT_MS 5000
#define PREPARATIONS_MAX 10

typedef struct pair {
    client *holder, *waiter;
    zkl_hold hold;
    int64_t token, next_token;
    /* CLOCK_BOOTTIME */
    int64_t held_ns;     /* the holder held then, or a moment later */
    int64_t let_go_ns;   /* it did not hold any more */
    int64_t acquired_ns; /* the waiter's acquire had returned */
    bool both_held;      /* the waiter's next look found that the holder held */
} pair;

typedef struct tally {
    size_t cuts, holds, overlaps;
    int64_t margins_ms[64];
} tally;

/* ---- The ensemble ---- */

static bool is_in(const char *mode, unsigned server) {
    char answer[4096];

    return net_ask(netns_hosts(server), "srvr", answer, sizeof(answer), ANSWER_LIMIT_MS) &&
           strstr(answer, mode) != NULL;
}

/* A server cut off a moment ago says what it was; that a session can be opened is a commit. */
static bool commits(unsigned server) {
    raw *r = raw_open(netns_hosts(server), SOON_MS);
    const bool opened = r != NULL;

    raw_close(r);
    return opened;
}

static bool ensemble_serves(void) {
    size_t leaders = 0, followers = 0;

    for (unsigned i = 0; i < NETNS_SERVERS; i++)
        if (!commits(i))
            return false;
    for (unsigned i = 0; i < NETNS_SERVERS; i++) {
        leaders += is_in(PARTITION_LEADER, i);
        followers += is_in(PARTITION_FOLLOWER, i);
    }
    return leaders == 1 && followers == NETNS_SERVERS - 1;
}

static void heal(void) {
    netns_heal();
    WAIT_UNTIL(ensemble_serves(), SERVE_LIMIT_MS);
}

/* The leader, or one of the followers, each in its turn. */
static unsigned choose_server(const char *mode, size_t turn) {
    unsigned found[NETNS_SERVERS];
    size_t count = 0;

    for (unsigned i = 0; i < NETNS_SERVERS; i++)
        if (is_in(mode, i))
            found[count++] = i;
    REQUIRE(count > 0);
    return found[turn % count];
}

/* ---- Holders and waiters ---- */

/* In the holder's thread. The clock is read before the first question and after the last. */
static zkl_err hold_on(void *arg) {
    pair *p = arg;
    const int64_t began_ns = clock_ns();
    int64_t asked_ns = began_ns;

    while (zkl_held(p->holder->lock)) {
        p->held_ns = asked_ns;
        if (asked_ns - began_ns > HOLD_LIMIT_MS * NS_PER_MS)
            return ZKL_TIMEOUT;
        wait_pause();
        asked_ns = clock_ns();
    }
    p->let_go_ns = clock_ns();
    return ZKL_OK;
}

/* In the waiter's thread. */
static zkl_err take_over(void *arg) {
    pair *p = arg;
    const zkl_err err = zkl_acquire(p->waiter->lock, ZKL_FOREVER);

    if (err != ZKL_OK)
        return err;
    p->acquired_ns = clock_ns();
    p->both_held = zkl_hold_valid(p->holder->lock, p->hold);
    p->next_token = zkl_token(p->waiter->lock);
    return ZKL_OK;
}

static void open_pairs(pair *pairs, unsigned server) {
    char others[128];

    (void)snprintf(others, sizeof(others), "%s,%s", netns_hosts((server + 1) % NETNS_SERVERS),
                   netns_hosts((server + 2) % NETNS_SERVERS));
    for (size_t i = 0; i < PAIRS; i++) {
        pair *p = &pairs[i];
        const char *name = fresh_name("pair");

        p->holder = client_open_at(netns_hosts(server), name, HolderTimeouts[i]);
        REQUIRE_INT(zkl_session_timeout_ms(p->holder->session), HolderTimeouts[i]);
        REQUIRE_INT(client_acquire(p->holder, SOON_MS), ZKL_OK);
        p->hold = actor_hold(p->holder->actor, p->holder->lock);
        p->token = client_token(p->holder);
        p->waiter = client_open_at(others, name, WAITER_TIMEOUT_MS);
        actor_begin(p->waiter->actor, take_over, p);
    }
    for (size_t i = 0; i < PAIRS; i++)
        WAIT_UNTIL(client_told(pairs[i].waiter, ZKL_EVENT_QUEUED) > 0 ||
                       client_is_done(pairs[i].waiter), /* the hold is lost already */
                   SOON_MS);
}

static void close_pairs(pair *pairs) {
    for (size_t i = 0; i < PAIRS; i++) {
        (void)zkl_cancel(pairs[i].waiter->lock); /* if it still waits */
        REQUIRE(client_result(pairs[i].waiter) != ACTOR_BUSY);
        client_close(pairs[i].holder);
        client_close(pairs[i].waiter);
    }
    free(pairs);
}

static bool all_hold(const pair *pairs) {
    size_t holding = 0;

    for (size_t i = 0; i < PAIRS; i++) {
        holding += zkl_hold_valid(pairs[i].holder->lock, pairs[i].hold) &&
                   !client_is_done(pairs[i].waiter);
    }
    return holding == PAIRS;
}

/*
 * Holds that only heartbeats still keep alive, not the opening of their sessions any more. A
 * machine that stands still for half a second costs a short one; then they are made anew.
 */
static pair *prepare_pairs(unsigned server) {
    for (int i = 0; i < PREPARATIONS_MAX; i++) {
        pair *pairs = calloc(PAIRS, sizeof(*pairs));

        REQUIRE(pairs != NULL);
        open_pairs(pairs, server);
        int64_t end = clock_ms() + HOLDER_TIMEOUT_MAX_MS / 2;
        while (all_hold(pairs) && clock_ms() < end)
            wait_pause();
        if (all_hold(pairs))
            return pairs;
        close_pairs(pairs);
    }
    const bool holds_last_while_all_servers_serve = false;
    REQUIRE(holds_last_while_all_servers_serve);
    return NULL;
}

/* ---- A cut, and what came of it ---- */

/*
 * let_go_ns is for the figures only: a thread kept from running stamps it late. That the hold was
 * over when the waiter's acquire returned is what the waiter saw itself.
 */
static void judge(pair *p, tally *t) {
    const int64_t margin_ms = (p->acquired_ns - p->let_go_ns) / NS_PER_MS;
    const bool overlaps = p->both_held || p->held_ns >= p->acquired_ns;

    CHECK(!overlaps);
    CHECK(p->token > 0 && p->next_token > p->token);
    WAIT_UNTIL(client_told(p->holder, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(!client_held(p->holder));
    t->overlaps += overlaps;
    t->margins_ms[t->holds++] = margin_ms;
}

static void cut_off(unsigned server, netns_cut cut, tally *t) {
    pair *pairs = prepare_pairs(server);
    char line[256] = "";

    for (size_t i = 0; i < PAIRS; i++)
        actor_begin(pairs[i].holder->actor, hold_on, &pairs[i]);
    int64_t cut_ns = clock_ns();
    netns_isolate(server, cut);
    for (size_t i = 0; i < PAIRS; i++) {
        REQUIRE_INT(actor_result(pairs[i].waiter->actor, HOLD_LIMIT_MS), ZKL_OK);
        REQUIRE_INT(actor_result(pairs[i].holder->actor, HOLD_LIMIT_MS), ZKL_OK);
    }
    t->cuts++;
    for (size_t i = 0; i < PAIRS; i++) {
        const size_t used = strlen(line);

        judge(&pairs[i], t);
        (void)snprintf(line + used, sizeof(line) - used, "  %lld-%lld: %lld",
                       (long long)((pairs[i].let_go_ns - cut_ns) / NS_PER_MS),
                       (long long)((pairs[i].acquired_ns - cut_ns) / NS_PER_MS),
                       (long long)t->margins_ms[t->holds - 1]);
    }
    test_note("cut %zu, server %u%s", t->cuts, server + 1, line);
    heal();
    close_pairs(pairs);
}

static int by_value(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void report(tally *t) {
    qsort(t->margins_ms, t->holds, sizeof(t->margins_ms[0]), by_value);
    test_note("%zu of %zu holds let go in time, in %zu cuts; ms between letting go and the next "
              "acquire: least %lld, median %lld, most %lld",
              t->holds - t->overlaps, t->holds, t->cuts, (long long)t->margins_ms[0],
              (long long)t->margins_ms[t->holds / 2], (long long)t->margins_ms[t->holds - 1]);
}

void partition_cut_all(size_t cuts, const char *mode, netns_cut cut) {
    tally t = {0};

    REQUIRE(cuts * PAIRS <= sizeof(t.margins_ms) / sizeof(t.margins_ms[0]));
    heal(); /* an earlier test may have been left in the middle */
    test_note("milliseconds from the cut to letting go - to the next acquire: and between them");
    for (size_t i = 0; i < cuts; i++)
        cut_off(choose_server(mode, i), cut, &t);
    report(&t);
}
