/*
 * Error codes that a server gives on a bad day (T45). The proxy makes them: the request is not
 * done, and the reply says the code.
 */
#include "support/client.h"

#include <stdio.h>

enum {
    SYSTEM_ERROR = -1,
    RUNTIME_INCONSISTENCY = -2,
    UNIMPLEMENTED = -6,
    BAD_ARGUMENTS = -8,
    NO_CHILDREN_FOR_EPHEMERALS = -108,
    SESSION_EXPIRED = -112, /* being ended */
    UNKNOWN_SESSION = -12,  /* ended and forgotten */
    INVALID_CALLBACK = -113,
    SESSION_MOVED = -118,
    NOT_READ_ONLY = -119,
    EPHEMERAL_ON_LOCAL_SESSION = -120,
    THROTTLED = -127,
};

/* "Not now": nothing was done, and the same request later will be. */
static void a_server_that_is_busy_is_asked_again(void) {
    static const int codes[] = {THROTTLED, SESSION_MOVED, NOT_READ_ONLY};
    static const proxy_kind kinds[] = {PROXY_CREATE, PROXY_LIST, PROXY_GET, PROXY_DELETE};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        for (size_t j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
            const char *name = fresh_name("busy");
            client *c = client_open_proxied(name, T_NORMAL);
            char holder[RAW_PATH_MAX];

            plant_contender(name, CURATOR, holder);
            proxy_fail(c->proxy, kinds[j], name, 1, codes[i]);
            client_queue_up(c, 2);
            if (kinds[j] != PROXY_DELETE)
                WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
            uproot(holder);
            CHECK_INT(client_result(c), ZKL_OK);
            CHECK_INT(client_nodes(c), 1);
            CHECK_INT(client_release_wait(c), ZKL_OK);
            CHECK(proxy_fired(c->proxy));
            CHECK_INT(queue_length(name), 0);
            client_close(c);
        }
    }
}

static void check_is_refused(proxy_kind kind, size_t nth, int error) {
    const char *name = fresh_name("refused");
    client *c = client_open_proxied(name, T_NORMAL);
    char holder[RAW_PATH_MAX], code[16];

    plant_contender(name, CURATOR, holder);
    proxy_fail(c->proxy, kind, name, nth, error);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_SERVER);
    CHECK(proxy_fired(c->proxy));
    (void)snprintf(code, sizeof(code), "%d", error);
    CHECK(events_logged(c->events, lock_dir(name)));
    CHECK(events_logged(c->events, code));
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    uproot(holder);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

/* T14: no sense in asking again; the caller hears of it at whichever step, and no node stays. */
static void a_refusal_that_has_no_meaning_ends_the_acquire(void) {
    static const int codes[] = {UNIMPLEMENTED, BAD_ARGUMENTS, NO_CHILDREN_FOR_EPHEMERALS,
                                INVALID_CALLBACK, EPHEMERAL_ON_LOCAL_SESSION};
    static const struct {
        proxy_kind kind;
        size_t nth;
    } steps[] = {{PROXY_CREATE, 1}, {PROXY_LIST, 1}, {PROXY_GET, 1}, {PROXY_GET, 2}};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++)
            check_is_refused(steps[j].kind, steps[j].nth, codes[i]);
}

/*
 * A session that ends while its client comes back, on another server or the same, may be answered
 * pings for ever, and every write with "expired" or "unknown session". The client library takes
 * only the answer to a connect for the end.
 */
static void check_is_the_end(int code, bool by_heartbeat) {
    const char *name = fresh_name("undead");
    client *c = client_open_proxied(name, T_NORMAL);
    client *mine = client_open_on(c, fresh_name("mine"));
    const int64_t id = zkl_session_id(c->session);

    REQUIRE_INT(client_acquire(mine, SOON_MS), ZKL_OK);
    if (by_heartbeat) {
        proxy_fail(c->proxy, PROXY_BARRIER, NULL, 1, code);
    } else {
        proxy_fail(c->proxy, PROXY_CREATE, name, 1, code);
        client_begin(c, SOON_MS);
    }
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    WAIT_UNTIL(zkl_session_id(c->session) != id && zkl_session_id(c->session) != 0, SOON_MS);
    WAIT_UNTIL(client_told(mine, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(!client_held(mine));
    CHECK_INT(client_release(mine), ZKL_LOST);
    if (by_heartbeat)
        client_begin(c, SOON_MS);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(client_nodes(c), 1);
    client_close(mine);
    client_close(c);
}

static void an_answer_of_expired_is_the_end_of_the_session(void) {
    check_is_the_end(SESSION_EXPIRED, true);
    check_is_the_end(SESSION_EXPIRED, false);
    check_is_the_end(UNKNOWN_SESSION, true);
    check_is_the_end(UNKNOWN_SESSION, false);
}

/* What cannot be told from a lost reply is treated as one: barrier, search, go on. */
static void a_broken_server_is_a_lost_reply(void) {
    static const int codes[] = {SYSTEM_ERROR, RUNTIME_INCONSISTENCY};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        const char *name = fresh_name("broken");
        client *c = client_open_proxied(name, T_NORMAL);

        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        proxy_fail(c->proxy, PROXY_CREATE, name, 1, codes[i]);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        CHECK_INT(client_nodes(c), 1);
        CHECK_INT(queue_length(name), 1);
        client_close(c);
    }
}

/* A heartbeat that was not committed renews nothing, and is no reason to give up. */
static void a_heartbeat_that_fails_is_sent_again(void) {
    static const int codes[] = {THROTTLED, SESSION_MOVED, BAD_ARGUMENTS};
    client *c = client_open_proxied(fresh_name("beat"), 4 * T_SHORT);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        proxy_fail(c->proxy, PROXY_BARRIER, NULL, 1, codes[i]);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    }
    CHECK_STAYS(client_told(c, ZKL_EVENT_LOST) == 0, 4 * T_SHORT + 200);
    CHECK(client_held(c));
    client_close(c);
}

static const test_case Cases[] = {
    {"a server that is busy is asked again (T45)", a_server_that_is_busy_is_asked_again},
    {"a refusal that has no meaning ends the acquire and leaves nothing (T14, T45)",
     a_refusal_that_has_no_meaning_ends_the_acquire},
    {"an answer of \"expired\" is the end of the session",
     an_answer_of_expired_is_the_end_of_the_session},
    {"a broken server is a lost reply", a_broken_server_is_a_lost_reply},
    {"a heartbeat that fails is sent again", a_heartbeat_that_fails_is_sent_again},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "errors", Cases);
}
