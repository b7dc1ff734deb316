/* Several locks at once, when requests and replies are lost, connections break and sessions end. */
#include "support/client.h"
#include "support/party.h"

#define SEVERAL 3

/* Their directories are there, and stay. */
static party *open_mutexes(int timeout_ms) {
    party *p = party_open_proxied(timeout_ms);

    for (size_t i = 0; i < SEVERAL; i++) {
        party_add(p, fresh_name("faults"), ZKL_MUTEX, 0);
        dir_make(p->names[i]);
    }
    return p;
}

static bool is_connected(party *p) {
    return zkl_session_state(p->session) == ZKL_STATE_CONNECTED;
}

/* One cut, and no connection, from the proxy's rule to this. */
static void end_outage(party *p) {
    WAIT_UNTIL(proxy_fired(p->proxy) && !is_connected(p), SOON_MS);
    proxy_refuse(p->proxy, false);
    WAIT_UNTIL(is_connected(p), SOON_MS);
}

static void check_one_set_and_release(party *p) {
    (void)party_check_holds(p);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(queue_length(p->names[i]), 1);
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
}

/* ---- The transaction ---- */

static void a_lost_reply_ends_in_one_set_of_nodes(void) {
    party *p = open_mutexes(T_NORMAL);

    for (int i = 0; i < 5; i++) {
        proxy_forget(p->proxy);
        proxy_rule(p->proxy, PROXY_CUT_REPLY, PROXY_MULTI, NULL, 1, false);
        CHECK_INT(party_acquire(p, ZKL_FOREVER), ZKL_OK);
        CHECK(proxy_fired(p->proxy));
        CHECK_INT(proxy_count(p->proxy, PROXY_MULTI, NULL), 1); /* they are found */
        check_one_set_and_release(p);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), 0);
    party_close(p);
}

static void a_lost_request_is_sent_again(void) {
    party *p = open_mutexes(T_NORMAL);

    for (int i = 0; i < 5; i++) {
        proxy_forget(p->proxy);
        proxy_rule(p->proxy, PROXY_CUT_REQUEST, PROXY_MULTI, NULL, 1, false);
        CHECK_INT(party_acquire(p, ZKL_FOREVER), ZKL_OK);
        CHECK(proxy_fired(p->proxy));
        CHECK_INT(proxy_count(p->proxy, PROXY_MULTI, NULL), 2);
        check_one_set_and_release(p);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), 0);
    party_close(p);
}

/* With directories to be made first. */
static void so_it_is_without_directories(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};

    for (size_t i = 0; i < 3 * COUNT(actions); i++) {
        party *p = party_open_proxied(T_NORMAL);

        for (size_t k = 0; k < SEVERAL; k++)
            party_add(p, fresh_name("new/a/b"), ZKL_MUTEX, 0);
        proxy_rule(p->proxy, actions[i % 2], PROXY_MULTI, NULL, 1 + i / 2, false);
        CHECK_INT(party_acquire(p, ZKL_FOREVER), ZKL_OK);
        check_one_set_and_release(p);
        party_close(p);
    }
}

/* A semaphore's permits are recorded by a transaction, too. */
static void so_it_is_with_all_kinds(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    static const zkl_kind kinds[] = {ZKL_SEMAPHORE, ZKL_READ, ZKL_WRITE};

    for (size_t i = 0; i < 2 * COUNT(actions); i++) {
        party *p = party_open_proxied(T_NORMAL);

        for (size_t k = 0; k < SEVERAL; k++) {
            party_add(p, fresh_name("kinds"), kinds[k], 2 * (kinds[k] == ZKL_SEMAPHORE));
            dir_make(p->names[k]);
        }
        proxy_rule(p->proxy, actions[i % 2], PROXY_MULTI, NULL, 1 + i / 2, false);
        CHECK_INT(party_acquire(p, ZKL_FOREVER), ZKL_OK);
        CHECK(proxy_fired(p->proxy));
        CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), 0);
        check_one_set_and_release(p);
        party_close(p);
    }
}

/* A node of the attempt is missing when they are looked for: to adopt the others would be to stand
 * before those in one queue that stand before us in another. */
static void if_not_every_queue_shows_the_attempt_all_are_made_anew(void) {
    party *p = open_mutexes(T_LONG);

    for (size_t i = 0; i < SEVERAL; i++) {
        client *other = client_open(p->names[i], T_NORMAL);
        char old[SEVERAL][RAW_PATH_MAX];

        proxy_forget(p->proxy);
        proxy_rule(p->proxy, PROXY_CUT_REPLY, PROXY_MULTI, NULL, 1, true);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(p->proxy) && party_nodes(p) == SEVERAL, SOON_MS);
        for (size_t k = 0; k < SEVERAL; k++)
            party_node(p, k, old[k]);
        uproot(old[i]);
        CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
        end_outage(p);
        for (size_t k = 0; k < SEVERAL; k++)
            WAIT_UNTIL(queue_length(p->names[k]) == 1 + (k == i) &&
                           !raw_exists(fixture_raw(), old[k]),
                       SOON_MS);
        CHECK_INT(proxy_count(p->proxy, PROXY_MULTI, NULL), 2);
        CHECK(!actor_is_done(p->actor));
        const int64_t token = client_token(other);
        CHECK_INT(client_release_wait(other), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        CHECK(party_check_holds(p) > token);
        check_one_set_and_release(p);
        client_close(other);
    }
    party_close(p);
}

static void a_wait_given_up_without_a_reply_leaves_nothing(void) {
    party *p = open_mutexes(T_LONG);

    for (int by_cancel = 0; by_cancel < 2; by_cancel++) {
        proxy_rule(p->proxy, PROXY_CUT_REPLY, PROXY_MULTI, NULL, 1, true);
        party_begin(p, by_cancel ? ZKL_FOREVER : 500);
        WAIT_UNTIL(proxy_fired(p->proxy) && party_nodes(p) == SEVERAL, SOON_MS);
        if (by_cancel)
            CHECK_INT(zkl_cancel(p->locks[2]), ZKL_OK);
        CHECK_INT(party_result(p), by_cancel ? ZKL_CANCELED : ZKL_TIMEOUT);
        CHECK_RANGE(actor_took_ms(p->actor), 0, 2000);
        CHECK_INT(party_nodes(p), SEVERAL); /* for now */
        end_outage(p);
        party_check_deserted(p); /* not only when the session ends */
        CHECK_INT(party_acquire(p, 0), ZKL_OK);
        check_one_set_and_release(p);
    }
    party_close(p);
}

/* Others of the party's handles may be used again while it is under way. */
static void a_reply_that_comes_too_late_leaves_nothing(void) {
    party *p = open_mutexes(T_LONG);

    for (int i = 0; i < 4; i++) {
        proxy_rule(p->proxy, PROXY_HOLD_REPLY, PROXY_MULTI, NULL, 1, false);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(p->proxy), SOON_MS);
        CHECK_INT(party_nodes(p), SEVERAL);
        CHECK_INT(zkl_cancel(p->locks[1]), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_CANCELED);
        if (i % 2 == 1)
            party_begin(p, ZKL_FOREVER); /* behind the old ones, or when they are gone */
        proxy_hold(p->proxy, PROXY_TO_CLIENT, false);
        if (i % 2 == 1) {
            CHECK_INT(party_result(p), ZKL_OK);
            (void)party_check_holds(p);
            CHECK_INT(party_release(p), ZKL_OK);
        }
        party_check_deserted(p);
    }
    CHECK_INT(party_acquire(p, 0), ZKL_OK);
    check_one_set_and_release(p);
    party_close(p);
}

enum {
    SYSTEM_ERROR = -1,
    EPHEMERAL_ON_LOCAL_SESSION = -120,
    SESSION_EXPIRED = -112,
    THROTTLED = -127
};

static void a_refusal_is_told_or_tried_again(void) {
    static const struct {
        int code;
        zkl_err said;
    } refusals[] = {{RAW_NO_AUTH, ZKL_DENIED},
                    {EPHEMERAL_ON_LOCAL_SESSION, ZKL_SERVER},
                    {SYSTEM_ERROR, ZKL_OK},
                    {SESSION_EXPIRED, ZKL_OK},
                    {THROTTLED, ZKL_OK}};
    party *p = open_mutexes(T_NORMAL);

    for (size_t i = 0; i < COUNT(refusals); i++) {
        proxy_fail(p->proxy, PROXY_MULTI, NULL, 1, refusals[i].code);
        CHECK_INT(party_acquire(p, SOON_MS), refusals[i].said);
        CHECK(proxy_fired(p->proxy));
        if (refusals[i].said == ZKL_OK)
            CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
        check_one_set_and_release(p);
    }
    party_close(p);
}

/* ---- Any request ---- */

static void a_cut_at_any_step_costs_neither_place_nor_node(void) {
    static const struct {
        proxy_kind kind;
        size_t nth;
    } steps[] = {{PROXY_MULTI, 1}, {PROXY_LIST, 1}, {PROXY_LIST, 3}, {PROXY_GET, 1},
                 {PROXY_GET, 2},   {PROXY_GET, 3},  {PROXY_GET, 4}};
    party *p = open_mutexes(T_NORMAL);

    for (size_t i = 0; i < 2 * COUNT(steps); i++) {
        client *holder = client_open(p->names[1], T_NORMAL);

        CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        proxy_forget(p->proxy);
        proxy_rule(p->proxy, i % 2 == 0 ? PROXY_CUT_REQUEST : PROXY_CUT_REPLY, steps[i / 2].kind,
                   NULL, steps[i / 2].nth, false);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(p->proxy), SOON_MS);
        WAIT_UNTIL(is_connected(p) && party_nodes(p) == SEVERAL, SOON_MS);
        CHECK(!actor_is_done(p->actor));
        CHECK_INT(client_release(holder), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED) + party_told(p, ZKL_EVENT_LOST), 0);
        client_close(holder);
        check_one_set_and_release(p);
    }
    party_close(p);
}

static void a_delete_that_is_lost_is_repeated(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    party *p = open_mutexes(T_NORMAL);

    for (size_t i = 0; i < SEVERAL * COUNT(actions); i++) {
        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
        proxy_rule(p->proxy, actions[i % 2], PROXY_DELETE, NULL, 1 + i / 2, false);
        CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
        WAIT_UNTIL(proxy_fired(p->proxy), SOON_MS);
    }
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    check_one_set_and_release(p);
    party_close(p);
}

/* While they are made anew, too: when the nodes that are left are being deleted. */
static void a_cut_while_they_are_made_anew_does_no_harm(void) {
    static const struct {
        proxy_action action;
        proxy_kind kind;
        size_t nth;
    } steps[] = {{PROXY_CUT_REQUEST, PROXY_DELETE, 1}, {PROXY_CUT_REPLY, PROXY_DELETE, 1},
                 {PROXY_CUT_REQUEST, PROXY_DELETE, 2}, {PROXY_CUT_REPLY, PROXY_DELETE, 2},
                 {PROXY_CUT_REQUEST, PROXY_MULTI, 1},  {PROXY_CUT_REPLY, PROXY_MULTI, 1}};
    party *p = open_mutexes(T_NORMAL);

    for (size_t i = 0; i < SEVERAL * COUNT(steps); i++) {
        client *holder = client_open(p->names[1], T_NORMAL);
        const size_t requeued = party_told(p, ZKL_EVENT_REQUEUED);
        char path[RAW_PATH_MAX];

        CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        party_queue_up_behind(p, 1);
        party_node(p, i % SEVERAL, path);
        proxy_rule(p->proxy, steps[i / SEVERAL].action, steps[i / SEVERAL].kind, NULL,
                   steps[i / SEVERAL].nth, false);
        uproot(path);
        WAIT_UNTIL(proxy_fired(p->proxy), SOON_MS);
        WAIT_UNTIL(party_told(p, ZKL_EVENT_REQUEUED) >= requeued + SEVERAL, SOON_MS);
        CHECK_INT(client_release(holder), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        client_close(holder);
        check_one_set_and_release(p);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), SEVERAL * SEVERAL * COUNT(steps));
    CHECK_INT(party_told(p, ZKL_EVENT_LOST), 0);
    party_close(p);
}

/* ---- Connections ---- */

static void flap(party *p) {
    const size_t connects = proxy_connects(p->proxy);

    proxy_drop(p->proxy);
    WAIT_UNTIL(proxy_connects(p->proxy) > connects && is_connected(p), SOON_MS);
}

static void a_new_connection_costs_neither_place_nor_hold(void) {
    party *p = open_mutexes(T_NORMAL);
    client *holder = client_open(p->names[0], T_NORMAL);
    char before[SEVERAL][RAW_PATH_MAX], after[RAW_PATH_MAX];

    CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    party_queue_up_behind(p, 0);
    for (size_t i = 0; i < SEVERAL; i++)
        party_node(p, i, before[i]);
    for (int i = 0; i < 3; i++)
        flap(p);
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(party_result(p), ZKL_OK);
    const int64_t token = party_check_holds(p);
    for (int i = 0; i < 3; i++)
        flap(p);
    CHECK_INT(party_check_holds(p), token);
    for (size_t i = 0; i < SEVERAL; i++) {
        party_node(p, i, after);
        CHECK_STRING(after, before[i]);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED) + party_told(p, ZKL_EVENT_LOST), 0);
    check_one_set_and_release(p);
    client_close(holder);
    party_close(p);
}

/* What they wait for comes free while there is no connection. */
static void an_outage_while_they_wait_ends_in_a_grant(void) {
    party *p = open_mutexes(T_LONG);

    for (size_t i = 0; i < SEVERAL; i++) {
        client *holder = client_open(p->names[i], T_NORMAL);

        CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        party_queue_up_behind(p, i);
        proxy_refuse(p->proxy, true);
        proxy_drop(p->proxy);
        WAIT_UNTIL(!is_connected(p), SOON_MS);
        CHECK_INT(client_release_wait(holder), ZKL_OK);
        CHECK_STAYS(!actor_is_done(p->actor), 100);
        proxy_refuse(p->proxy, false);
        CHECK_INT(party_result(p), ZKL_OK);
        client_close(holder);
        check_one_set_and_release(p);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED) + party_told(p, ZKL_EVENT_LOST), 0);
    party_close(p);
}

/* One that was admitted has lost its node meanwhile, and another client has the lock. */
static void a_node_deleted_during_an_outage_is_missed_in_time(void) {
    party *p = open_mutexes(T_LONG);

    for (size_t i = 0; i < SEVERAL; i++) {
        const size_t other = (i + 1) % SEVERAL;
        client *holder = client_open(p->names[i], T_NORMAL);
        client *thief = client_open(p->names[other], T_NORMAL);
        char path[RAW_PATH_MAX];

        CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        party_queue_up_behind(p, i);
        party_node(p, other, path);
        proxy_refuse(p->proxy, true);
        proxy_drop(p->proxy);
        WAIT_UNTIL(!is_connected(p), SOON_MS);
        uproot(path);
        CHECK_INT(client_acquire(thief, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(holder), ZKL_OK);
        proxy_refuse(p->proxy, false);
        WAIT_UNTIL(party_told(p, ZKL_EVENT_REQUEUED) == (i + 1) * SEVERAL, SOON_MS);
        WAIT_UNTIL(party_nodes(p) == SEVERAL, SOON_MS);
        CHECK(!actor_is_done(p->actor) && client_held(thief));
        CHECK_INT(client_release_wait(thief), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        client_close(thief);
        client_close(holder);
        check_one_set_and_release(p);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_LOST), 0);
    party_close(p);
}

/* ---- Sessions ---- */

static void a_session_that_ends_while_they_wait_costs_the_place(void) {
    party *p = open_mutexes(T_NORMAL);

    for (size_t i = 0; i < SEVERAL; i++) {
        client *holder = client_open(p->names[i], T_NORMAL);
        const int64_t id = zkl_session_id(p->session);

        CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        party_queue_up_behind(p, i);
        session_expire(p->session);
        WAIT_UNTIL(is_connected(p) && zkl_session_id(p->session) != id, SOON_MS);
        WAIT_UNTIL(party_nodes(p) == SEVERAL, SOON_MS);
        CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), (i + 1) * SEVERAL);
        CHECK(!actor_is_done(p->actor));
        CHECK_INT(client_release(holder), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        client_close(holder);
        check_one_set_and_release(p);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_LOST), 0);
    party_close(p);
}

static void a_session_that_ends_while_they_are_held_ends_all(void) {
    party *p = open_mutexes(T_NORMAL);

    for (size_t i = 1; i <= 2; i++) {
        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
        const int64_t token = party_check_holds(p);
        session_expire(p->session);
        WAIT_UNTIL(party_told(p, ZKL_EVENT_LOST) == i * SEVERAL, SOON_MS);
        CHECK_INT(party_held(p), 0);
        party_check_deserted(p);
        if (i == 1)
            CHECK_INT(party_release(p), ZKL_LOST);
        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK); /* clears what is lost */
        CHECK(party_check_holds(p) > token);
        check_one_set_and_release(p);
        CHECK_INT(party_release(p), ZKL_NOT_HELD);
    }
    party_close(p);
}

/* The nodes of the attempt go with their session. */
static void a_session_that_ends_without_a_reply_leaves_one_set(void) {
    party *p = open_mutexes(T_LONG);

    for (int i = 0; i < 3; i++) {
        const credentials c = session_credentials(p->session);

        proxy_rule(p->proxy, PROXY_CUT_REPLY, PROXY_MULTI, NULL, 1, true);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(p->proxy) && party_nodes(p) == SEVERAL, SOON_MS);
        credentials_expire(&c);
        party_check_deserted(p);
        end_outage(p);
        CHECK_INT(party_result(p), ZKL_OK);
        check_one_set_and_release(p);
    }
    party_close(p);
}

/* Nor does anything that was allocated for them stay: the leak sanitizer sees to that. */
static void one_closed_without_a_reply_leaves_nothing(void) {
    for (int with_handles = 0; with_handles < 2; with_handles++) {
        party *p = open_mutexes(T_LONG);

        proxy_rule(p->proxy, PROXY_HOLD_REPLY, PROXY_MULTI, NULL, 1, false);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(p->proxy) && party_nodes(p) == SEVERAL, SOON_MS);
        for (size_t i = 0; i < SEVERAL && with_handles; i++) {
            lock_close(p->locks[i]);
            p->locks[i] = NULL;
        }
        CHECK_INT(zkl_session_close(p->session), ZKL_OK);
        p->session = NULL;
        CHECK_INT(party_result(p), ZKL_CLOSED);
        party_check_deserted(p);
        party_close(p);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a lost reply ends in one set of nodes", a_lost_reply_ends_in_one_set_of_nodes},
        {"a lost request is sent again", a_lost_request_is_sent_again},
        {"so it is without directories", so_it_is_without_directories},
        {"so it is with all kinds", so_it_is_with_all_kinds},
        {"if not every queue shows the attempt, all are made anew",
         if_not_every_queue_shows_the_attempt_all_are_made_anew},
        {"a wait given up without a reply leaves nothing",
         a_wait_given_up_without_a_reply_leaves_nothing},
        {"a reply that comes too late leaves nothing", a_reply_that_comes_too_late_leaves_nothing},
        {"a refusal is told, or tried again", a_refusal_is_told_or_tried_again},
        {"a cut at any step costs neither place nor node",
         a_cut_at_any_step_costs_neither_place_nor_node},
        {"a delete that is lost is repeated", a_delete_that_is_lost_is_repeated},
        {"a cut while they are made anew does no harm",
         a_cut_while_they_are_made_anew_does_no_harm},
        {"a new connection costs neither place nor hold",
         a_new_connection_costs_neither_place_nor_hold},
        {"an outage while they wait ends in a grant", an_outage_while_they_wait_ends_in_a_grant},
        {"a node deleted during an outage is missed in time",
         a_node_deleted_during_an_outage_is_missed_in_time},
        {"a session that ends while they wait costs the place",
         a_session_that_ends_while_they_wait_costs_the_place},
        {"a session that ends while they are held ends all",
         a_session_that_ends_while_they_are_held_ends_all},
        {"a session that ends without a reply leaves one set",
         a_session_that_ends_without_a_reply_leaves_one_set},
        {"one closed without a reply leaves nothing", one_closed_without_a_reply_leaves_nothing},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "several_faults", cases);
}
