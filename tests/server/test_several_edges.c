/*
 * Several locks at once, and what a call that fails owes: nothing that it made is left behind, and
 * nothing that it counted.
 *
 * A directory in which no node has ever stood is left alone by the servers. The reaper looks ten
 * times a second here, and takes the others.
 */
#include "support/party.h"
#include "support/permits.h"

#include <stdio.h>

#define SEVERAL 3

static party *open_mutexes(void) {
    party *p = party_open_proxied(T_NORMAL);

    for (size_t i = 0; i < SEVERAL; i++)
        party_add(p, fresh_name("edge"), ZKL_MUTEX, 0);
    return p;
}

/* ---- Directories that were made for nothing ---- */

enum {
    READ_ONLY = 1 + 16, /* and to change that */
    ALL = 31
};

/* Of all locks but one. */
static void check_no_directories(party *p, size_t except) {
    for (size_t i = 0; i < p->count; i++)
        if (i != except)
            WAIT_UNTIL(!raw_exists(fixture_raw(), lock_dir(p->names[i])), SOON_MS);
}

/* Whatever they wait for: the refused one's place in the transaction is any. */
static void who_is_denied_leaves_no_directory(void) {
    for (size_t denied = 0; denied < SEVERAL; denied++) {
        party *p = open_mutexes();
        const char *dir = lock_dir(p->names[denied]);

        REQUIRE_INT(raw_make_path(fixture_raw(), dir), RAW_OK);
        REQUIRE_INT(raw_restrict(fixture_raw(), dir, READ_ONLY), RAW_OK);
        for (int is_try = 0; is_try < 2; is_try++) {
            CHECK_INT(party_acquire(p, is_try ? 0 : SOON_MS), ZKL_DENIED);
            check_no_directories(p, denied);
            CHECK(raw_exists(fixture_raw(), dir)); /* it was there before */
        }
        REQUIRE_INT(raw_restrict(fixture_raw(), dir, ALL), RAW_OK);
        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
        (void)party_check_holds(p);
        party_close(p);
    }
}

/* The directory of one may not be made; those of the others are deep. */
static void nor_does_who_may_not_make_one(void) {
    const char *closed = fresh_name("closed"), *open = fresh_name("open");
    party *p = party_open_proxied(T_NORMAL);
    char name[64];

    dir_make(closed);
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(closed), READ_ONLY), RAW_OK);
    (void)snprintf(name, sizeof(name), "%s/a/b", open);
    party_add(p, name, ZKL_MUTEX, 0);
    (void)snprintf(name, sizeof(name), "%s/a/b", closed);
    party_add(p, name, ZKL_MUTEX, 0);
    (void)snprintf(name, sizeof(name), "%s/a/c/d/e", open);
    party_add(p, name, ZKL_READ, 0);
    party_add(p, fresh_name("edge"), ZKL_SEMAPHORE, 2);
    for (int is_try = 0; is_try < 2; is_try++) {
        CHECK_INT(party_acquire(p, is_try ? 0 : SOON_MS), ZKL_DENIED);
        check_no_directories(p, p->count);
        if (server_is_ours()) /* another one's reaper looks once a minute */
            WAIT_UNTIL(!raw_exists(fixture_raw(), lock_dir(open)), SOON_MS);
    }
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(closed), ALL), RAW_OK);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(party_held(p), p->count);
    party_close(p);
}

/* So it is with one lock alone. */
static void nor_does_a_single_one(void) {
    client *c = client_open_proxied(fresh_name("alone"), T_NORMAL);

    proxy_fail(c->proxy, PROXY_CREATE, c->name, 2, RAW_NO_AUTH); /* the first finds no directory */
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_DENIED);
    CHECK(proxy_fired(c->proxy));
    CHECK_INT(proxy_count(c->proxy, PROXY_CONTAINER, c->name), 1);
    WAIT_UNTIL(!raw_exists(fixture_raw(), lock_dir(c->name)), SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

/* The denial is under way, and the directories have been made for it. */
static void begin_denied(party *p) {
    dir_make(p->names[2]);
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(p->names[2]), READ_ONLY), RAW_OK);
    proxy_rule(p->proxy, PROXY_HOLD_REPLY, PROXY_MULTI, NULL, 2, false);
    party_begin(p, SOON_MS);
    WAIT_UNTIL(proxy_fired(p->proxy), SOON_MS);
    CHECK(raw_exists(fixture_raw(), lock_dir(p->names[0])));
    CHECK(raw_exists(fixture_raw(), lock_dir(p->names[1])));
}

static void one_that_is_used_meanwhile_stays(void) {
    party *p = open_mutexes();
    client *other = client_open(p->names[0], T_NORMAL);

    begin_denied(p);
    CHECK_INT(client_acquire(other, 0), ZKL_OK);
    proxy_hold(p->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(party_result(p), ZKL_DENIED);
    WAIT_UNTIL(!raw_exists(fixture_raw(), lock_dir(p->names[1])), SOON_MS);
    CHECK(client_held(other));
    CHECK_INT(client_release(other), ZKL_OK);
    client_close(other);
    party_close(p);
}

/* An operator has put something into it, such as a number of permits. */
static void one_that_was_written_to_meanwhile_stays(void) {
    party *p = open_mutexes();

    begin_denied(p);
    permits_record(p->names[0], "permits=2 max=2");
    proxy_hold(p->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(party_result(p), ZKL_DENIED);
    WAIT_UNTIL(!raw_exists(fixture_raw(), lock_dir(p->names[1])), SOON_MS);
    CHECK_STAYS(raw_exists(fixture_raw(), lock_dir(p->names[0])), 200);
    party_close(p);
}

/* It comes back to a connection that is not there, and goes when there is one again. */
static void an_outage_does_not_keep_it(void) {
    party *p = open_mutexes();

    begin_denied(p);
    proxy_refuse(p->proxy, true);
    proxy_drop(p->proxy);
    WAIT_UNTIL(zkl_session_state(p->session) != ZKL_STATE_CONNECTED, SOON_MS);
    CHECK_INT(zkl_cancel(p->locks[1]), ZKL_OK);
    CHECK_INT(party_result(p), ZKL_CANCELED);
    proxy_hold(p->proxy, PROXY_TO_CLIENT, false);
    proxy_refuse(p->proxy, false);
    check_no_directories(p, 2);
    party_close(p);
}

int main(int argc, char **argv) {
    static const char *const options[] = {
        "--prop", "znode.container.checkIntervalMs=100",
        "--prop", "znode.container.maxPerMinute=600000",
        NULL,
    };
    static const test_case cases[] = {
        {"who is denied leaves no directory that was made for it",
         who_is_denied_leaves_no_directory},
        {"nor does who may not make one", nor_does_who_may_not_make_one},
        {"nor does a single one", nor_does_a_single_one},
        {"one that is used meanwhile stays", one_that_is_used_meanwhile_stays},
        {"one that was written to meanwhile stays", one_that_was_written_to_meanwhile_stays},
        {"an outage does not keep it", an_outage_does_not_keep_it},
    };
    fixture_start(options);
    return TEST_MAIN(argc, argv, "several_edges", cases);
}
