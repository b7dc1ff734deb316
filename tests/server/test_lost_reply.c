/*
 * Replies that are lost with the connection: nobody knows then whether the server has done it. The
 * proxy cuts at the exact frame, before the server sees it or after it has done it.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

/* The client holds by the one node in the queue, and its token is that node's. */
static void check_holds_by_one_node(client *c) {
    char own[RAW_PATH_MAX] = "", first[RAW_PATH_MAX] = "";
    raw_stat stat = {0};

    CHECK(client_held(c));
    CHECK_INT(queue_length(c->name), 1);
    actor_node_path(c->actor, c->lock, own, sizeof(own));
    CHECK(raw_child_path(fixture_raw(), lock_dir(c->name), 0, first));
    CHECK_STRING(own, first);
    CHECK(raw_stat_of(fixture_raw(), own, &stat));
    CHECK_INT(client_token(c), stat.czxid);
    CHECK(stat.owner == zkl_session_id(c->session));
}

static void lose_create_replies(const char *name, int times, size_t creates_max) {
    client *c = client_open_proxied(name, T_NORMAL);

    for (int i = 0; i < times; i++) {
        proxy_forget(c->proxy);
        proxy_rule(c->proxy, PROXY_CUT_REPLY, PROXY_CREATE, name, 1, false);
        CHECK_INT(client_acquire(c, ZKL_FOREVER), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        check_holds_by_one_node(c);
        CHECK_RANGE(proxy_count(c->proxy, PROXY_CREATE, name), 1, creates_max);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(queue_length(name), 0);
    }
    client_close(c);
}

/* T10: the ghost that heads the queue elsewhere is found by its uuid and adopted. */
static void a_lost_create_reply_ends_in_one_node(void) {
    const char *name = fresh_name("adopt");

    /* Where neither directory nor root are there nothing was done; and before the root is there,
     * another one is in vain. */
    lose_create_replies(fresh_name("adopt-first"), 1, 4);
    dir_make(name);
    lose_create_replies(name, 4, 1);
}

static void a_create_that_never_arrived_is_made_again(void) {
    const char *name = fresh_name("never-arrived");
    client *c = client_open_proxied(name, T_NORMAL);

    dir_make(name);
    for (int i = 0; i < 5; i++) {
        proxy_forget(c->proxy);
        proxy_rule(c->proxy, PROXY_CUT_REQUEST, PROXY_CREATE, name, 1, false);
        CHECK_INT(client_acquire(c, ZKL_FOREVER), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        check_holds_by_one_node(c);
        CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), 2);
        CHECK_INT(client_release_wait(c), ZKL_OK);
    }
    client_close(c);
}

/* T10: given up while nobody knows whether there is a node, and while disconnected. */
static void an_abandoned_create_leaves_nothing(void) {
    const char *name = fresh_name("abandoned");
    client *c = client_open_proxied(name, T_LONG);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    for (int by_cancel = 0; by_cancel < 2; by_cancel++) {
        proxy_rule(c->proxy, PROXY_CUT_REPLY, PROXY_CREATE, name, 1, true);
        client_begin(c, by_cancel ? ZKL_FOREVER : 500);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
        if (by_cancel)
            CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
        CHECK_INT(actor_result(c->actor, 1500), by_cancel ? ZKL_CANCELED : ZKL_TIMEOUT);
        CHECK_INT(queue_length(name), 1); /* the ghost, for now */
        client_outage_end(c);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS); /* not only when the session ends */
        CHECK_INT(client_acquire(c, 0), ZKL_OK);
        check_holds_by_one_node(c);
        CHECK_INT(client_release_wait(c), ZKL_OK);
    }
    client_close(c);
}

/* T13, T16: neither the caller nor the next in the queue waits for a delete that went astray. */
static void a_given_up_wait_is_cleared_away_after_an_outage(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    const char *name = fresh_name("given-up");
    client *c = client_open_proxied(name, T_LONG);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    for (size_t i = 0; i < 2; i++) {
        proxy_rule(c->proxy, actions[i], PROXY_DELETE, name, 1, true);
        CHECK_INT(client_acquire(c, 300), ZKL_TIMEOUT);
        CHECK_RANGE(actor_took_ms(c->actor), 299, 1300);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        client_outage_begin(c); /* it is one by now; until the session knows */
        client_outage_end(c);
        WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    }
    uproot(holder);
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    client_close(c);
}

/* T14: whatever is cut, and wherever, the wait goes on or leaves nothing. */
static void a_cut_at_any_step_costs_neither_place_nor_node(void) {
    static const struct {
        proxy_kind kind;
        size_t nth;
    } steps[] = {{PROXY_CREATE, 1}, {PROXY_LIST, 1}, {PROXY_GET, 1}, {PROXY_GET, 2}};
    const char *name = fresh_name("any-step");
    client *c = client_open_proxied(name, T_NORMAL);

    for (size_t i = 0; i < 4 * sizeof(steps) / sizeof(steps[0]); i++) {
        const proxy_action action = i & 1 ? PROXY_CUT_REPLY : PROXY_CUT_REQUEST;
        const bool give_up = i & 2;
        char holder[RAW_PATH_MAX];

        plant_contender(name, CURATOR, holder);
        proxy_rule(c->proxy, action, steps[i / 4].kind, name, steps[i / 4].nth, false);
        client_begin(c, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        if (give_up) {
            CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
            CHECK_INT(actor_result(c->actor, 1000), ZKL_CANCELED);
            WAIT_UNTIL(client_is_connected(c), SOON_MS);
            WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
            uproot(holder);
        } else {
            WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
            CHECK_STAYS(!client_is_done(c), 50);
            uproot(holder);
            CHECK_INT(client_result(c), ZKL_OK);
            check_holds_by_one_node(c);
            CHECK_INT(client_release_wait(c), ZKL_OK);
        }
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
        CHECK(client_told(c, ZKL_EVENT_REQUEUED) == 0);
    }
    client_close(c);
}

static void a_lost_directory_is_made_again(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};

    for (size_t i = 0; i < 2; i++) {
        const char *name = fresh_name("deep/down/here");
        client *c = client_open_proxied(name, T_LONG);

        proxy_rule(c->proxy, actions[i], PROXY_CONTAINER, name, 1, false);
        CHECK_INT(client_acquire(c, ZKL_FOREVER), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        check_holds_by_one_node(c);
        client_close(c);
    }
}

/* T31: a server keeps for good a directory that nobody has ever stood in. */
static void a_directory_is_stood_in_though_the_wait_ends_while_it_is_made(void) {
    const char *name = fresh_name("just-made");
    client *c = client_open_proxied(name, T_NORMAL);
    raw_stat stat = {0};

    CHECK_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    proxy_rule(c->proxy, PROXY_HOLD_REPLY, PROXY_CONTAINER, name, 1, false);
    client_begin(c, ZKL_FOREVER);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_CANCELED);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    WAIT_UNTIL(raw_stat_of(fixture_raw(), lock_dir(name), &stat) && stat.cversion >= 2, SOON_MS);
    CHECK_INT(stat.children, 0);
    client_close(c);
}

static void a_lost_delete_is_made_again(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    const char *name = fresh_name("delete");
    client *c = client_open_proxied(name, T_NORMAL);

    for (size_t i = 0; i < 6; i++) {
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        proxy_rule(c->proxy, actions[i % 2], PROXY_DELETE, name, 1, false);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        CHECK_INT(queue_length(name), 0);
        CHECK(!client_held(c));
    }
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

/* T16: elsewhere the object can neither be released nor acquired again. */
static void a_release_during_an_outage_returns_and_is_done_later(void) {
    const char *name = fresh_name("outage");
    client *c = client_open_proxied(name, T_LONG), *other = client_open(name, T_LONG);

    for (int waits = 0; waits < 2; waits++) {
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_queue_up(other, 2);
        client_outage_begin(c);
        int64_t began = clock_ms();
        if (waits)
            CHECK_INT(actor_release_wait(c->actor, c->lock, 200), ZKL_TIMEOUT);
        else
            CHECK_INT(client_release(c), ZKL_OK);
        CHECK_RANGE(clock_ms() - began, waits ? 199 : 0, waits ? 1200 : 200);
        CHECK(!client_held(c));
        CHECK_INT(client_release(c), ZKL_NOT_HELD);
        CHECK(!client_is_done(other)); /* the node is there, nothing has been sent */
        client_outage_end(c);
        CHECK_INT(client_result(other), ZKL_OK);
        CHECK_INT(client_release_wait(other), ZKL_OK);
    }
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(other);
    client_close(c);
}

/* T16: a session that is over has released everything. */
static void a_release_that_the_session_does_not_survive_is_a_release(void) {
    const char *name = fresh_name("outlived");
    client *c = client_open_proxied(name, T_LONG);
    const credentials its = session_credentials(c->session);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_outage_begin(c);
    CHECK_INT(client_release(c), ZKL_OK);
    credentials_expire(&its);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    client_outage_end(c);
    CHECK_INT(client_release(c), ZKL_NOT_HELD);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds_by_one_node(c);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

static const test_case Cases[] = {
    {"a lost create reply ends in one node, adopted (T10)", a_lost_create_reply_ends_in_one_node},
    {"a create that never arrived is made again", a_create_that_never_arrived_is_made_again},
    {"a create given up with its reply lost leaves nothing (T10)",
     an_abandoned_create_leaves_nothing},
    {"a wait given up is cleared away after an outage (T13, T16)",
     a_given_up_wait_is_cleared_away_after_an_outage},
    {"a cut at any step costs neither the place nor a node left behind (T14)",
     a_cut_at_any_step_costs_neither_place_nor_node},
    {"a directory whose creation was lost is made again", a_lost_directory_is_made_again},
    {"a directory is stood in though the wait ends while it is made",
     a_directory_is_stood_in_though_the_wait_ends_while_it_is_made},
    {"a lost delete is made again", a_lost_delete_is_made_again},
    {"a release during an outage returns at once and is done later (T16)",
     a_release_during_an_outage_returns_and_is_done_later},
    {"a release that the session does not survive is a release (T16)",
     a_release_that_the_session_does_not_survive_is_a_release},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "lost_reply", Cases);
}
