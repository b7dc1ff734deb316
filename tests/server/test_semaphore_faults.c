/*
 * A semaphore's waiters when something breaks: one in front, which watches the directory, and one
 * behind it, which watches only that one and relies on being told by it.
 */
#include "support/permits.h"

#include <string.h>

#define WAITERS 2

/* One permit. The first waiter is in front, the second behind it. */
typedef struct stage {
    const char *name;
    client *holder, *waiters[WAITERS];
} stage;

static stage stage_open(const char *name) {
    stage s = {.name = fresh_name(name)};

    s.holder = permit_open(s.name, 1);
    for (size_t i = 0; i < WAITERS; i++)
        s.waiters[i] = permit_open(s.name, 1);
    REQUIRE_INT(client_acquire(s.holder, SOON_MS), ZKL_OK);
    permit_wait_in_front(s.waiters[0], 2);
    permit_wait_behind(s.waiters[1], 3);
    /* The first one has seen the second. */
    WAIT_UNTIL(proxy_answered(s.waiters[0]->proxy, PROXY_LIST, s.name) >= 3, SOON_MS);
    return s;
}

/* Nothing is left of anybody. */
static void stage_close(stage *s) {
    for (size_t i = 0; i < WAITERS; i++)
        client_close(s->waiters[i]);
    client_close(s->holder);
    WAIT_UNTIL(queue_length(s->name) == 0, SOON_MS);
    if (server_is_ours())
        WAIT_UNTIL(server_number("wchs", "Total watches") == 0, SOON_MS);
}

/* One after the other, in this order, and each only when the one before has released. */
static void check_served(client *holder, client *first, client *second) {
    CHECK(!client_is_done(first) && !client_is_done(second));
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(first), ZKL_OK);
    CHECK(client_held(first) && !client_is_done(second));
    CHECK_INT(client_release(first), ZKL_OK);
    CHECK_INT(client_result(second), ZKL_OK);
    CHECK(client_held(second));
}

static void check_kept_places(const stage *s) {
    for (size_t i = 0; i < WAITERS; i++) {
        CHECK_INT(client_told(s->waiters[i], ZKL_EVENT_REQUEUED), 0);
        CHECK_INT(client_told(s->waiters[i], ZKL_EVENT_LOST), 0);
    }
}

/* ---- Connections ---- */

static void a_break_costs_no_place(void) {
    for (size_t who = 0; who < WAITERS; who++) {
        stage s = stage_open("break");

        for (size_t i = 0; i < 5; i++)
            client_flap(s.waiters[who]);
        CHECK_INT(queue_length(s.name), 3);
        check_served(s.holder, s.waiters[0], s.waiters[1]);
        check_kept_places(&s);
        stage_close(&s);
    }
}

/* Its watches fire when it comes back. */
static void a_release_during_an_outage_is_noticed(void) {
    stage s = stage_open("outage");
    client *first = s.waiters[0], *second = s.waiters[1];

    client_outage_begin(first);
    CHECK_INT(client_release_wait(s.holder), ZKL_OK);
    CHECK(!client_is_done(first) && !client_is_done(second));
    client_outage_end(first);
    CHECK_INT(client_result(first), ZKL_OK);
    client_outage_begin(second);
    CHECK_INT(client_release_wait(first), ZKL_OK);
    CHECK(!client_is_done(second));
    client_outage_end(second);
    CHECK_INT(client_result(second), ZKL_OK);
    check_kept_places(&s);
    stage_close(&s);
}

/* Who is in front is admitted and leaves; its mark and its end are missed. */
static void a_turn_that_was_missed_is_taken(void) {
    stage s = stage_open("missed");
    client *first = s.waiters[0], *second = s.waiters[1];

    client_outage_begin(second);
    CHECK_INT(client_release_wait(s.holder), ZKL_OK);
    CHECK_INT(client_result(first), ZKL_OK);
    CHECK_INT(client_release_wait(first), ZKL_OK);
    CHECK(!client_is_done(second));
    client_outage_end(second);
    CHECK_INT(client_result(second), ZKL_OK);
    check_kept_places(&s);
    stage_close(&s);
}

static void more_permits_during_an_outage_are_noticed(void) {
    stage s = stage_open("more");

    for (size_t i = 0; i < WAITERS; i++)
        client_outage_begin(s.waiters[i]);
    CHECK_INT(zkl_set_permits(s.holder->lock, 3), ZKL_OK);
    for (size_t i = 0; i < WAITERS; i++) {
        CHECK(!client_is_done(s.waiters[i]));
        client_outage_end(s.waiters[i]);
        CHECK_INT(client_result(s.waiters[i]), ZKL_OK);
    }
    CHECK(client_held(s.holder));
    check_kept_places(&s);
    stage_close(&s);
}

/* It was behind, and comes to the front while it is away. */
static void a_mark_during_an_outage_is_noticed(void) {
    stage s = stage_open("mark");
    client *first = s.waiters[0], *second = s.waiters[1];

    client_outage_begin(second);
    CHECK_INT(zkl_set_permits(s.holder->lock, 2), ZKL_OK);
    CHECK_INT(client_result(first), ZKL_OK);
    client_outage_end(second);
    CHECK(!client_is_done(second));
    CHECK_INT(client_release(s.holder), ZKL_OK); /* nobody that it watched ends */
    CHECK_INT(client_result(second), ZKL_OK);
    CHECK(client_held(first));
    check_kept_places(&s);
    stage_close(&s);
}

/* ---- Places that are lost ---- */

static void await_requeued(stage *s, size_t who) {
    WAIT_UNTIL(client_told(s->waiters[who], ZKL_EVENT_REQUEUED) == 1, SOON_MS);
    WAIT_UNTIL(client_is_connected(s->waiters[who]) && client_nodes(s->waiters[who]) == 1 &&
                   queue_length(s->name) == 3,
               SOON_MS);
}

/* Whoever has lost its place comes last. */
static void check_served_anew(stage *s, size_t who) {
    client *lost = s->waiters[who], *kept = s->waiters[1 - who];

    await_requeued(s, who);
    check_served(s->holder, kept, lost);
    CHECK_INT(client_told(kept, ZKL_EVENT_REQUEUED), 0);
    CHECK_INT(client_told(lost, ZKL_EVENT_LOST), 0);
}

static void an_expiry_costs_the_place_and_nothing_else(void) {
    for (size_t who = 0; who < WAITERS; who++) {
        stage s = stage_open("expiry");

        session_expire(s.waiters[who]->session);
        check_served_anew(&s, who);
        stage_close(&s);
    }
}

static void a_deleted_node_costs_the_place_and_nothing_else(void) {
    for (size_t who = 0; who < WAITERS; who++) {
        stage s = stage_open("deleted");
        char path[RAW_PATH_MAX];

        client_node(s.waiters[who], path);
        uproot(path);
        check_served_anew(&s, who);
        stage_close(&s);
    }
}

static void a_deleted_node_of_a_holder_is_a_permit(void) {
    stage s = stage_open("holder");
    char path[RAW_PATH_MAX];

    client_node(s.holder, path);
    uproot(path);
    CHECK_INT(client_result(s.waiters[0]), ZKL_OK);
    CHECK_INT(client_release(s.waiters[0]), ZKL_OK);
    CHECK_INT(client_result(s.waiters[1]), ZKL_OK);
    check_kept_places(&s);
    stage_close(&s);
}

/* ---- Requests that are lost ---- */

/* Whatever is cut, and wherever, before the server sees it or after it has done it. */
static void a_cut_at_any_step_costs_neither_place_nor_node(void) {
    static const struct {
        proxy_kind kind;
        size_t nth;
    } steps[] = {{PROXY_CREATE, 1}, {PROXY_LIST, 1}, {PROXY_LIST, 2},
                 {PROXY_GET, 1},    {PROXY_GET, 2},  {PROXY_GET, 3}};
    const char *name = fresh_name("any-step");
    client *holder = permit_open(name, 1), *c = permit_open(name, 1);

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < 4 * COUNT(steps); i++) {
        const proxy_action action = i & 1 ? PROXY_CUT_REPLY : PROXY_CUT_REQUEST;
        const bool gives_up = i & 2;

        client_be_permit(c, 1); /* it knows nothing of the directory */
        session_close(c->session);
        c->session = session_open(proxy_hosts(c->proxy), T_NORMAL, c->events);
        client_be_permit(c, 1);
        proxy_rule(c->proxy, action, steps[i / 4].kind, name, steps[i / 4].nth, false);
        client_begin(c, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        if (gives_up) {
            CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
            CHECK_INT(client_result(c), ZKL_CANCELED);
            WAIT_UNTIL(client_is_connected(c) && queue_length(name) == 1, SOON_MS);
        } else {
            WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
            CHECK(!client_is_done(c));
            CHECK_INT(client_release_wait(holder), ZKL_OK);
            CHECK_INT(client_result(c), ZKL_OK);
            CHECK_INT(queue_length(name), 1);
            CHECK_INT(client_release_wait(c), ZKL_OK);
            REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        }
        CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 0);
    }
    client_close(c);
    client_close(holder);
}

/* The number goes into a directory that has none, once. */
static void a_lost_record_is_made_again(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};

    for (size_t i = 0; i < COUNT(actions); i++) {
        const char *name = fresh_name("record");
        client *c = permit_open(name, 2);
        raw_stat stat = {0};

        dir_make(name);
        proxy_rule(c->proxy, actions[i], PROXY_MULTI, NULL, 1, false);
        CHECK_INT(client_acquire(c, ZKL_FOREVER), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        permits_check(name, "permits=2 max=2");
        CHECK(raw_stat_of(fixture_raw(), lock_dir(name), &stat) && stat.version == 1);
        CHECK_INT(queue_length(name), 1);
        client_close(c);
    }
}

/* ---- Marks ---- */

/*
 * Two permits, both out. The third waits in front, with another behind it, which sees the permit of
 * the first only if the third has marked its node.
 */
typedef struct row {
    const char *name;
    client *clients[4];
} row;

static row row_open(const char *name) {
    row r = {.name = fresh_name(name)};

    for (size_t i = 0; i < COUNT(r.clients); i++)
        r.clients[i] = permit_open(r.name, 2);
    for (size_t i = 0; i < 2; i++)
        REQUIRE_INT(client_acquire(r.clients[i], SOON_MS), ZKL_OK);
    permit_wait_in_front(r.clients[2], 3);
    permit_wait_behind(r.clients[3], 4);
    WAIT_UNTIL(proxy_answered(r.clients[2]->proxy, PROXY_LIST, r.name) >= 3, SOON_MS);
    proxy_forget(r.clients[2]->proxy);
    return r;
}

static void row_close(row *r) {
    for (size_t i = COUNT(r->clients); i-- > 0;)
        client_close(r->clients[i]);
}

/* The third is admitted, and then the fourth, while the third holds. */
static void check_told(row *r) {
    client *c = r->clients[2], *next = r->clients[3];
    char path[RAW_PATH_MAX];

    CHECK_INT(client_release(r->clients[1]), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    client_node(c, path);
    WAIT_UNTIL(permit_is_marked(path), SOON_MS);
    CHECK(!client_is_done(next));
    CHECK_INT(client_release(r->clients[0]), ZKL_OK);
    CHECK_INT(client_result(next), ZKL_OK);
    CHECK(client_held(c) && client_held(next));
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
}

static void who_is_admitted_marks_its_node(void) {
    row r = row_open("tells");

    check_told(&r);
    CHECK_INT(proxy_count(r.clients[2]->proxy, PROXY_MULTI, NULL), 1);
    CHECK_INT(proxy_count(r.clients[3]->proxy, PROXY_MULTI, NULL), 0); /* nobody is behind it */
    row_close(&r);
}

/* Once, even if it was done the first time. */
static void a_lost_mark_is_made_again(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};

    for (size_t i = 0; i < COUNT(actions); i++) {
        row r = row_open("lost-mark");
        client *c = r.clients[2];

        proxy_rule(c->proxy, actions[i], PROXY_MULTI, NULL, 1, false);
        check_told(&r);
        CHECK(proxy_fired(c->proxy));
        CHECK_INT(proxy_connects(c->proxy), 1);
        WAIT_UNTIL(proxy_count(c->proxy, PROXY_MULTI, NULL) >= 2, SOON_MS);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 2);
        row_close(&r);
    }
}

/* The server's answers: busy, no rights, and that the node has another version. */
static void a_refused_mark_is_made_again(void) {
    static const int codes[] = {-4, -7, RAW_NO_AUTH, -103};

    for (size_t i = 0; i < COUNT(codes); i++) {
        row r = row_open("refused");

        proxy_fail(r.clients[2]->proxy, PROXY_MULTI, NULL, 1, codes[i]);
        check_told(&r);
        CHECK(proxy_fired(r.clients[2]->proxy));
        row_close(&r);
    }
}

/* Another program has written to it, as the rules for later writes say. */
static void a_mark_keeps_what_others_have_written(void) {
    row r = row_open("kept");
    char path[RAW_PATH_MAX], text[1024];
    size_t length = sizeof(text) - 1;

    client_node(r.clients[2], path);
    REQUIRE_INT(raw_get(fixture_raw(), path, text, &length, NULL), RAW_OK);
    text[length] = '\0';
    REQUIRE(length + 16 < sizeof(text));
    memcpy(text + length, " ask=1", 7);
    REQUIRE_INT(raw_set(fixture_raw(), path, text, length + 6), RAW_OK);
    check_told(&r);
    length = sizeof(text) - 1;
    REQUIRE_INT(raw_get(fixture_raw(), path, text, &length, NULL), RAW_OK);
    text[length] = '\0';
    CHECK(strstr(text, " ask=1") != NULL && strstr(text, " touched=1") != NULL);
    row_close(&r);
}

/* ---- Waits that end ---- */

static void a_wait_given_up_hands_its_place_on(void) {
    for (size_t i = 0; i < 2 * WAITERS; i++) {
        const size_t who = i / 2;
        const bool is_canceled = i % 2;
        stage s = stage_open("given-up");
        client *c = s.waiters[who], *other = s.waiters[1 - who];

        CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
        CHECK_INT(client_result(c), ZKL_CANCELED);
        WAIT_UNTIL(queue_length(s.name) == 2, SOON_MS);
        if (!is_canceled) { /* it comes again, as the last, and for a while */
            CHECK_INT(client_acquire(c, 200), ZKL_TIMEOUT);
            CHECK_RANGE(actor_took_ms(c->actor), 199, 1200);
            WAIT_UNTIL(queue_length(s.name) == 2, SOON_MS);
        }
        CHECK(!client_is_done(other));
        CHECK_INT(client_release(s.holder), ZKL_OK);
        CHECK_INT(client_result(other), ZKL_OK);
        CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
        CHECK_INT(client_told(other, ZKL_EVENT_REQUEUED), 0);
        stage_close(&s);
    }
}

/* The lock, or its session. */
static void a_close_leaves_nothing_of_a_wait(void) {
    for (size_t i = 0; i < 2 * WAITERS; i++) {
        stage s = stage_open("closed");
        client *c = s.waiters[i / 2], *other = s.waiters[1 - i / 2];

        if (i % 2) {
            session_close(c->session);
            c->owns_session = false;
            CHECK_INT(queue_length(s.name), 2);
        } else {
            client_close_lock(c);
            WAIT_UNTIL(queue_length(s.name) == 2, SOON_MS);
        }
        CHECK_INT(client_result(c), ZKL_CLOSED);
        CHECK(!client_is_done(other));
        CHECK_INT(client_release(s.holder), ZKL_OK);
        CHECK_INT(client_result(other), ZKL_OK);
        stage_close(&s);
    }
}

static const test_case Cases[] = {
    {"a break costs no place", a_break_costs_no_place},
    {"a release during an outage is noticed", a_release_during_an_outage_is_noticed},
    {"a turn that was missed is taken", a_turn_that_was_missed_is_taken},
    {"more permits during an outage are noticed", more_permits_during_an_outage_are_noticed},
    {"a mark during an outage is noticed", a_mark_during_an_outage_is_noticed},
    {"an expiry costs the place and nothing else", an_expiry_costs_the_place_and_nothing_else},
    {"a deleted node costs the place and nothing else",
     a_deleted_node_costs_the_place_and_nothing_else},
    {"a deleted node of a holder is a permit", a_deleted_node_of_a_holder_is_a_permit},
    {"a cut at any step costs neither place nor node",
     a_cut_at_any_step_costs_neither_place_nor_node},
    {"a lost record is made again", a_lost_record_is_made_again},
    {"who is admitted marks its node", who_is_admitted_marks_its_node},
    {"a lost mark is made again", a_lost_mark_is_made_again},
    {"a refused mark is made again", a_refused_mark_is_made_again},
    {"a mark keeps what others have written", a_mark_keeps_what_others_have_written},
    {"a wait given up hands its place on", a_wait_given_up_hands_its_place_on},
    {"a close leaves nothing of a wait", a_close_leaves_nothing_of_a_wait},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "semaphore_faults", Cases);
}
