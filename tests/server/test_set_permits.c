/* The call that changes the number of permits, when something breaks or others make it, too. */
#include "support/permits.h"

#include <stdio.h>
#include <string.h>

enum {
    PERM_READ = 1,
    PERM_WRITE = 2,
    PERM_CREATE = 4,
    PERM_DELETE = 8,
    PERM_ALL = 31
};

typedef struct call {
    zkl_lock *lock;
    int permits;
} call;

static zkl_err run(void *arg) {
    const call *c = arg;
    return zkl_set_permits(c->lock, c->permits);
}

/* A client whose call waits for an answer so long at most, and that holds a permit of one. */
static client *open_hasty(const char *name, int connect_timeout_ms) {
    client *c = permit_open(name, 1);

    client_close_lock(c);
    session_close(c->session);
    c->session = session_open_with(proxy_hosts(c->proxy),
                                   (zkl_session_options){.session_timeout_ms = T_LONG,
                                                         .connect_timeout_ms = connect_timeout_ms,
                                                         .on_event = events_on,
                                                         .log = events_log,
                                                         .arg = c->events});
    REQUIRE_INT(zkl_lock_open(&c->lock, c->session, name,
                              &ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .permits = 1)),
                ZKL_OK);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    return c;
}

static int version_of(const char *name) {
    raw_stat stat = {0};

    CHECK(raw_stat_of(fixture_raw(), lock_dir(name), &stat));
    return stat.version;
}

/* ---- Requests that are lost or refused ---- */

/* Whichever is cut, before the server sees it or after it has done it: it is done once. */
static void a_lost_request_or_reply_costs_nothing(void) {
    static const proxy_kind kinds[] = {PROXY_GET, PROXY_MULTI};
    const char *name = fresh_name("lost");
    client *c = permit_open(name, 1);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < 2 * COUNT(kinds); i++) {
        char expected[PERMITS_TEXT];
        const int permits = (int)i + 2, version = version_of(name);

        (void)snprintf(expected, sizeof(expected), "permits=%d max=%d", permits, permits);
        proxy_rule(c->proxy, i % 2 ? PROXY_CUT_REPLY : PROXY_CUT_REQUEST, kinds[i / 2],
                   kinds[i / 2] == PROXY_GET ? name : NULL, 1, false);
        CHECK_INT(zkl_set_permits(c->lock, permits), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        permits_check(name, expected);
        CHECK_INT(version_of(name), version + 1);
    }
    CHECK(client_held(c));
    client_close(c);
}

/* Another one was faster, as the server says; its number is replaced. */
static void another_version_is_read_again(void) {
    const char *name = fresh_name("version");
    client *c = permit_open(name, 1);
    call to = {c->lock, 2};
    actor *a = actor_new();

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    proxy_rule(c->proxy, PROXY_HOLD_REQUEST, PROXY_MULTI, NULL, 1, false);
    actor_begin(a, run, &to);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    permits_record(name, "permits=3 max=9");
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    permits_check(name, "permits=2 max=9");
    actor_free(a);
    client_close(c);
}

static size_t count_sets(client *const clients[2]) {
    return proxy_count(clients[0]->proxy, PROXY_MULTI, NULL) +
           proxy_count(clients[1]->proxy, PROXY_MULTI, NULL);
}

/* Two sessions, each with a number of its own: both calls succeed, the last one counts, and no
 * greatest number is forgotten. */
static void two_at_once_leave_one_of_both_numbers(void) {
    enum {
        ROUNDS = 200
    };
    const char *name = fresh_name("race");
    client *clients[2] = {permit_open(name, 1), permit_open(name, 0)};
    size_t last[2] = {0, 0}, races = 0;
    int max = 1;

    REQUIRE_INT(client_acquire(clients[0], SOON_MS), ZKL_OK);
    for (int i = 0; i < ROUNDS; i++) {
        call calls[2];
        char data[PERMITS_TEXT], expected[2][PERMITS_TEXT];
        const size_t sets = count_sets(clients);

        for (size_t k = 0; k < 2; k++) /* they grow, with steps back */
            calls[k] = (call){clients[k]->lock, 2 * (i + 1) - (i % 3) * i + (int)k};
        for (size_t k = 0; k < 2; k++)
            actor_begin(clients[k]->actor, run, &calls[k]);
        for (size_t k = 0; k < 2; k++) {
            CHECK_INT(client_result(clients[k]), ZKL_OK);
            max = calls[k].permits > max ? calls[k].permits : max;
        }
        for (size_t k = 0; k < 2; k++)
            (void)snprintf(expected[k], sizeof(expected[k]), "permits=%d max=%d", calls[k].permits,
                           max);
        permits_read(name, data);
        const bool is_first = strcmp(data, expected[0]) == 0;
        CHECK(is_first || strcmp(data, expected[1]) == 0);
        last[is_first ? 0 : 1]++;
        races += count_sets(clients) - sets > 2;
    }
    test_note("%d pairs: the first was last %zu times, the second %zu; %zu found another version",
              ROUNDS, last[0], last[1], races);
    CHECK(races > 0);
    for (size_t k = 0; k < 2; k++)
        client_close(clients[k]);
}

/* Somebody deletes the queue with its record. Who waits by the handle records the number anew. */
static void an_acquire_that_waits_has_the_new_number(void) {
    const char *name = fresh_name("waits");
    client *c = permit_open(name, 1), *first = client_open(name, T_NORMAL);

    REQUIRE_INT(client_acquire(first, SOON_MS), ZKL_OK);
    client_queue_up(c, 2);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS); /* and it has agreed */
    CHECK_INT(zkl_set_permits(c->lock, 2), ZKL_OK);
    client_outage_begin(c);
    CHECK_INT(raw_delete_tree(fixture_raw(), lock_dir(name)), RAW_OK);
    client_outage_end(c);
    CHECK_INT(client_result(c), ZKL_OK);
    permits_check(name, "permits=2 max=2");
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(first);
    client_close(c);
}

/* ---- What it may not do ---- */

static void without_rights_it_is_denied(void) {
    static const int kept[] = {PERM_ALL & ~PERM_WRITE, PERM_ALL & ~PERM_READ};
    const char *name = fresh_name("denied");
    client *c = open_hasty(name, SOON_MS), *behind = permit_open(name, 1);

    permit_wait_in_front(behind, 2);
    for (size_t i = 0; i < COUNT(kept); i++) {
        REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(name), kept[i]), RAW_OK);
        CHECK_INT(zkl_set_permits(c->lock, 2), ZKL_DENIED);
        CHECK(events_logged(c->events, i == 0 ? "refuses to set" : "refuses to read"));
        REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(name), PERM_ALL), RAW_OK);
        permits_check(name, "permits=1 max=1");
    }
    CHECK(client_held(c) && !client_is_done(behind));
    CHECK_INT(zkl_set_permits(c->lock, 2), ZKL_OK);
    CHECK_INT(client_result(behind), ZKL_OK);
    client_close(behind);
    client_close(c);
}

/* A server's answer that is none of these. */
static void what_the_server_refuses_is_an_error(void) {
    static const proxy_kind kinds[] = {PROXY_GET, PROXY_MULTI};
    const char *name = fresh_name("refused");
    client *c = open_hasty(name, SOON_MS);

    for (size_t i = 0; i < COUNT(kinds); i++) {
        proxy_fail(c->proxy, kinds[i], kinds[i] == PROXY_GET ? name : NULL, 1, -8);
        CHECK_INT(zkl_set_permits(c->lock, 2), ZKL_SERVER);
        permits_check(name, "permits=1 max=1");
    }
    CHECK_INT(zkl_set_permits(c->lock, 2), ZKL_OK);
    CHECK(client_held(c));
    client_close(c);
}

/* ---- Nobody answers ---- */

enum {
    HASTE_MS = 400
};

static void check_unreachable(client *c, int permits) {
    const int64_t began_ms = clock_ms();

    CHECK_INT(zkl_set_permits(c->lock, permits), ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - began_ms, HASTE_MS - 1, HASTE_MS + 1000);
}

/* Without a connection, or on one where nothing comes back; the same call tells what was done. */
static void it_gives_up_in_time(void) {
    const char *name = fresh_name("unreachable");
    client *c = open_hasty(name, HASTE_MS);

    client_outage_begin(c);
    check_unreachable(c, 2);
    client_outage_end(c);
    permits_check(name, "permits=1 max=1");
    CHECK(client_held(c));
    CHECK_INT(client_release_wait(c), ZKL_OK); /* by the handle's number, which is the former */
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);

    proxy_rule(c->proxy, PROXY_HOLD_REPLY, PROXY_MULTI, NULL, 1, false);
    check_unreachable(c, 2);
    permits_check(name, "permits=2 max=2"); /* done, and unknown */
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(zkl_set_permits(c->lock, 2), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

/* It asks the next session. */
static void it_survives_an_expiry(void) {
    const char *name = fresh_name("expiry");
    client *c = permit_open(name, 1), *keeper = permit_open(name, 0);
    call to = {c->lock, 2};

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    REQUIRE_INT(client_release_wait(c), ZKL_OK);
    REQUIRE_INT(client_acquire(keeper, SOON_MS), ZKL_OK); /* the directory stays */
    const credentials its = session_credentials(c->session);
    client_outage_begin(c);
    actor_begin(c->actor, run, &to);
    credentials_expire(&its);
    CHECK(!client_is_done(c));
    client_outage_end(c);
    CHECK_INT(client_result(c), ZKL_OK);
    permits_check(name, "permits=2 max=2");
    CHECK(zkl_session_id(c->session) != its.id);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(keeper);
    client_close(c);
}

static void closing_the_session_ends_it(void) {
    const char *name = fresh_name("closed");
    client *c = permit_open(name, 1);
    call to = {c->lock, 2};

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_silence(c, true);
    actor_begin(c->actor, run, &to);
    WAIT_UNTIL(actor_is_blocked(c->actor), SOON_MS);
    CHECK(!client_is_done(c));
    session_close(c->session);
    c->owns_session = false;
    CHECK_INT(actor_result(c->actor, 1000), ZKL_CLOSED);
    client_close(c);
}

static void closing_the_lock_under_it_is_safe(void) {
    const char *name = fresh_name("closed-lock");
    client *c = permit_open(name, 1);
    call to = {c->lock, 2};

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    proxy_rule(c->proxy, PROXY_HOLD_REPLY, PROXY_GET, name, 1, false);
    actor_begin(c->actor, run, &to);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    client_close_lock(c);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    zkl_err err = client_result(c);
    CHECK(err == ZKL_OK || err == ZKL_CLOSED);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    client_close(c);
}

static const test_case Cases[] = {
    {"a lost request or reply costs nothing", a_lost_request_or_reply_costs_nothing},
    {"another version is read again", another_version_is_read_again},
    {"two at once leave one of both numbers", two_at_once_leave_one_of_both_numbers},
    {"an acquire that waits has the new number", an_acquire_that_waits_has_the_new_number},
    {"without rights it is denied", without_rights_it_is_denied},
    {"what the server refuses is an error", what_the_server_refuses_is_an_error},
    {"it gives up in time", it_gives_up_in_time},
    {"it survives an expiry", it_survives_an_expiry},
    {"closing the session ends it", closing_the_session_ends_it},
    {"closing the lock under it is safe", closing_the_lock_under_it_is_safe},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "set_permits", Cases);
}
