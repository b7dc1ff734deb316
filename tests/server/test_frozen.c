/*
 * A server that is stopped (SIGSTOP): connections stay open and nobody answers. All that is left
 * then is the clock.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

/*
 * T20, T41: certain_until is at most T - margin after the last heartbeat that was answered, and
 * that one was sent before the freeze.
 */
static void a_hold_ends_within_the_timeout_of_a_freeze(void) {
    int64_t longest = 0, shortest = INT64_MAX;

    for (int i = 0; i < 4; i++) {
        const char *name = fresh_name("hold");
        client *c = client_open(name, i % 2 ? T_SHORT : 2 * T_SHORT);
        const int64_t timeout_ms = zkl_session_timeout_ms(c->session);
        int64_t frozen_ns, deadline_ns, until_ns = 0, told_ns = 0;

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        zkl_hold hold = actor_hold(c->actor, c->lock);
        CHECK_STAYS(zkl_hold_valid(c->lock, hold), timeout_ms + 100); /* by heartbeats */
        server_freeze();
        frozen_ns = clock_ns(); /* a reply may have left before this, none is made after */
        deadline_ns = frozen_ns + 2 * timeout_ms * NS_PER_MS;
        while (zkl_hold_valid(c->lock, hold) && until_ns < deadline_ns)
            until_ns = clock_ns();
        CHECK_RANGE((until_ns - frozen_ns) / NS_PER_MS, 0, timeout_ms);
        WAIT_UNTIL(events_get(c->events, ZKL_EVENT_LOST, 0, NULL, &told_ns), SOON_MS);
        CHECK_RANGE((told_ns - frozen_ns) / NS_PER_MS, 0, timeout_ms);
        if (i % 2 && (until_ns - frozen_ns) / NS_PER_MS > longest)
            longest = (until_ns - frozen_ns) / NS_PER_MS;
        if (i % 2 && (until_ns - frozen_ns) / NS_PER_MS < shortest)
            shortest = (until_ns - frozen_ns) / NS_PER_MS;
        CHECK(!client_held(c));
        server_thaw();
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK(client_held(c));
        CHECK_INT(client_nodes(c), 1);
        CHECK_INT(client_told(c, ZKL_EVENT_LOST), 1);
        client_close(c);
    }
    test_note("with T = %d ms held for %lld to %lld ms after the freeze", T_SHORT,
              (long long)shortest, (long long)longest);
}

static void a_short_freeze_costs_nothing(void) {
    const char *name = fresh_name("short");
    client *c = client_open(name, T_NORMAL), *next = client_open(name, T_NORMAL);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    client_queue_up(next, 2);
    for (int i = 0; i < 2; i++) {
        server_freeze();
        CHECK_STAYS(zkl_hold_valid(c->lock, hold), T_NORMAL / 4);
        server_thaw();
        CHECK_STAYS(zkl_hold_valid(c->lock, hold), T_NORMAL / 4);
    }
    CHECK(client_held(c) && !client_is_done(next));
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_result(next), ZKL_OK);
    CHECK_INT(client_told(next, ZKL_EVENT_REQUEUED), 0);
    client_close(next);
    client_close(c);
}

/* T27: dead servers do not extend a deadline. */
static void deadlines_hold_while_nobody_answers(void) {
    const char *name = fresh_name("deadline");
    client *c = client_open(name, T_NORMAL), *holder = client_open(fresh_name("mine"), T_NORMAL);

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    server_freeze();
    CHECK_INT(client_acquire(c, 300), ZKL_TIMEOUT);
    CHECK_RANGE(actor_took_ms(c->actor), 299, 800);
    CHECK_INT(client_acquire(c, 0), ZKL_UNREACHABLE);
    CHECK_RANGE(actor_took_ms(c->actor), 0, T_NORMAL * 2 / 3 + 400);
    CHECK_INT(actor_release_wait(holder->actor, holder->lock, 300), ZKL_TIMEOUT);
    CHECK(!client_held(holder));
    server_thaw();
    WAIT_UNTIL(queue_length(holder->name) == 0, SOON_MS);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(holder);
    client_close(c);
}

static void a_try_without_a_connection_says_so_at_once(void) {
    client *c = client_open_proxied(fresh_name("offline"), T_LONG);

    client_outage_begin(c);
    CHECK_INT(client_acquire(c, 0), ZKL_UNREACHABLE);
    CHECK_RANGE(actor_took_ms(c->actor), 0, 300);
    CHECK_INT(client_acquire(c, 200), ZKL_TIMEOUT);
    CHECK_RANGE(actor_took_ms(c->actor), 199, 600);
    client_outage_end(c);
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    client_close(c);
}

/* T41: the client library says -7 for pending requests, after 2/3 of the timeout. */
static void a_silent_server_is_a_broken_connection(void) {
    const char *name = fresh_name("silent");
    client *c = client_open(name, 2 * T_SHORT);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    client_queue_up(c, 2);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    server_freeze();
    WAIT_UNTIL(client_told(c, ZKL_EVENT_SUSPENDED) == 1, 2 * T_SHORT);
    CHECK(zkl_session_state(c->session) == ZKL_STATE_SUSPENDED);
    CHECK(!client_is_done(c));
    server_thaw();
    WAIT_UNTIL(client_is_connected(c), SOON_MS);
    uproot(holder);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(client_nodes(c), 1);
    client_close(c);
}

static void looking_at_a_queue_gives_up_in_time(void) {
    zkl_session *s = session_open_with(
        server_hosts(),
        (zkl_session_options){.session_timeout_ms = T_LONG, .connect_timeout_ms = 1500});
    zkl_queue *queue = NULL;

    server_freeze();
    int64_t began = clock_ms();
    CHECK_INT(zkl_inspect(s, "frozen", &queue), ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - began, 1400, 2500);
    CHECK(queue == NULL);
    server_thaw();
    CHECK_INT(zkl_inspect(s, "frozen", &queue), ZKL_OK);
    zkl_queue_free(queue);
    session_close(s);
}

static void a_session_with_a_frozen_server_is_not_opened(void) {
    zkl_session *s = NULL;

    server_freeze();
    int64_t began = clock_ms();
    CHECK_INT(zkl_session_open(&s, server_hosts(), &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 500)),
              ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - began, 450, 2500);
    CHECK(s == NULL);
    server_thaw();
}

static const test_case Cases[] = {
    {"a hold ends within the session timeout of a freeze, and can be had again (T20, T41)",
     a_hold_ends_within_the_timeout_of_a_freeze},
    {"a freeze of a quarter of the timeout costs neither hold nor place",
     a_short_freeze_costs_nothing},
    {"deadlines hold while nobody answers (T27)", deadlines_hold_while_nobody_answers},
    {"a try without a connection says so at once", a_try_without_a_connection_says_so_at_once},
    {"a silent server is a broken connection (T41)", a_silent_server_is_a_broken_connection},
    {"looking at a queue gives up in time", looking_at_a_queue_gives_up_in_time},
    {"a session with a frozen server is not opened", a_session_with_a_frozen_server_is_not_opened},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    if (!server_is_ours()) {
        printf("frozen: somebody else's server cannot be frozen\n");
        return 77;
    }
    return TEST_MAIN(argc, argv, "frozen", Cases);
}
